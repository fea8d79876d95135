//! Numbers that count the operations done with them.

use super::{Parameter, Scalar};
use crate::elementary;
use std::cell::Cell;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Number of operations of each kind in a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Additions and subtractions.
    pub additions: u64,
    /// Multiplications.
    pub multiplications: u64,
    /// Divisions.
    pub divisions: u64,
    /// Square roots.
    pub square_roots: u64,
    /// Sine and cosine pairs: the sine and cosine of one angle count as one.
    pub sines: u64,
}

impl Operations {
    const NONE: Operations = Operations {
        additions: 0,
        multiplications: 0,
        divisions: 0,
        square_roots: 0,
        sines: 0,
    };

    /// Operations of all kinds together.
    pub fn total(self) -> u64 {
        self.additions + self.multiplications + self.divisions + self.square_roots + self.sines
    }

    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Operations {
            additions: with(self.additions, other.additions),
            multiplications: with(self.multiplications, other.multiplications),
            divisions: with(self.divisions, other.divisions),
            square_roots: with(self.square_roots, other.square_roots),
            sines: with(self.sines, other.sines),
        }
    }
}

impl Add for Operations {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b)
    }
}

impl Sub for Operations {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.combine(other, |a, b| a - b)
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operations {
            additions,
            multiplications,
            divisions,
            square_roots,
            sines,
        } = self;
        write!(
            formatter,
            "{additions} additions, {multiplications} multiplications, {divisions} divisions, \
             {square_roots} square roots, {sines} sines"
        )
    }
}

thread_local! {
    /// Operations of this thread since it started.
    static DONE: Cell<Operations> = const { Cell::new(Operations::NONE) };
}

/// What is known about a number in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Structure {
    Zero,
    One,
    MinusOne,
    Other,
}
use Structure::{MinusOne, One, Other, Zero};

/// A number that counts the operations done with it, in its thread.
///
/// It recognises zero, one and minus one written as constants, and does not count operations that such a number makes
/// unnecessary: products with them, sums with zero, negations. Every other number is ordinary, whatever its value, and
/// so is the sum of two ones. It also carries its value, so that a counted run can be checked.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    value: f64,
    structure: Structure,
}

impl Count {
    /// An ordinary number, even when it happens to be zero or one.
    #[inline]
    pub fn variable(value: f64) -> Self {
        Count {
            value,
            structure: Other,
        }
    }

    /// The number itself.
    #[inline]
    pub fn value(self) -> f64 {
        self.value
    }

    /// Runs `work` and returns its operations. Measurements can be nested: the outer one includes the inner one.
    pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Operations) {
        let before = DONE.get();
        let result = work();
        (result, DONE.get() - before)
    }

    /// An ordinary number that took an operation to compute.
    #[inline]
    fn computed(value: f64, charge: impl FnOnce(&mut Operations)) -> Self {
        let mut done = DONE.get();
        charge(&mut done);
        DONE.set(done);
        Self::variable(value)
    }
}

/// Numbers compare by value, whatever is known about them.
impl PartialEq for Count {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Add for Count {
    type Output = Self;
    #[inline(never)]
    fn add(self, other: Self) -> Self {
        match (self.structure, other.structure) {
            (Zero, _) => other,
            (_, Zero) => self,
            _ => Self::computed(self.value + other.value, |done| done.additions += 1),
        }
    }
}

impl Sub for Count {
    type Output = Self;
    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Count {
    type Output = Self;
    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        match (self.structure, other.structure) {
            (Zero, _) | (_, Zero) => Self::zero(),
            (One, _) => other,
            (_, One) => self,
            (MinusOne, _) => -other,
            (_, MinusOne) => -self,
            _ => Self::computed(self.value * other.value, |done| done.multiplications += 1),
        }
    }
}

impl Div for Count {
    type Output = Self;
    #[inline(never)]
    fn div(self, other: Self) -> Self {
        match (self.structure, other.structure) {
            (_, One) => self,
            (_, MinusOne) => -self,
            (Zero, Other) => self,
            _ => Self::computed(self.value / other.value, |done| done.divisions += 1),
        }
    }
}

impl Neg for Count {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        match self.structure {
            Zero => self,
            One => Self::constant(-1.0),
            MinusOne => Self::one(),
            Other => Self::variable(-self.value),
        }
    }
}

impl AddAssign for Count {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Count {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl MulAssign for Count {
    #[inline]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// Comparisons and selections cost nothing.
impl Scalar for Count {
    type Mask = bool;

    #[inline(never)]
    fn constant(x: f64) -> Self {
        let structure = if x == 0.0 {
            Zero
        } else if x == 1.0 {
            One
        } else if x == -1.0 {
            MinusOne
        } else {
            Other
        };
        Count {
            value: x,
            structure,
        }
    }
    #[inline]
    fn less(self, other: Self) -> bool {
        self.value < other.value
    }
    #[inline(never)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        let chosen = if mask { yes } else { no };
        if yes.structure == no.structure {
            chosen
        } else {
            Self::variable(chosen.value)
        }
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        match self.structure {
            Zero | One => self,
            _ => Self::computed(self.value.sqrt(), |done| done.square_roots += 1),
        }
    }
    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        if self.structure == Zero {
            return (self, Self::one());
        }
        let (sin, cos) = elementary::sin_cos(self.value);
        (
            Self::computed(sin, |done| done.sines += 1),
            Self::variable(cos),
        )
    }
}

impl Parameter<Count> for Count {
    #[inline]
    fn lift(self) -> Count {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `work` takes these additions, multiplications, divisions, square roots and sines.
    fn takes(counts: [u64; 5], work: impl FnOnce()) {
        let [additions, multiplications, divisions, square_roots, sines] = counts;
        let expected = Operations {
            additions,
            multiplications,
            divisions,
            square_roots,
            sines,
        };
        assert_eq!(Count::measure(work).1, expected);
    }

    #[test]
    fn ordinary_numbers_are_charged() {
        let (x, y) = (Count::variable(3.0), Count::variable(0.0));
        takes([2, 0, 0, 0, 0], || assert_eq!((x + y - x).value(), 0.0));
        takes([0, 2, 0, 0, 0], || assert_eq!((x * y * x).value(), 0.0));
        takes([0, 0, 1, 0, 0], || assert_eq!((y / x).value(), 0.0));
        takes([0, 0, 0, 1, 0], || assert_eq!(y.sqrt().value(), 0.0));
        takes([0, 0, 0, 0, 1], || assert_eq!(y.sin_cos().1.value(), 1.0));
        takes([1, 1, 0, 0, 0], || {
            assert_eq!(x.mul_add(x, x).value(), 12.0)
        });
        takes([0, 1, 0, 0, 0], || {
            assert_eq!((x * Count::constant(2.0)).value(), 6.0)
        });
        takes([1, 0, 0, 0, 0], || {
            assert_eq!((Count::one() + Count::one()).value(), 2.0)
        });
    }

    #[test]
    fn structure_is_free() {
        let (x, zero, one) = (Count::variable(3.0), Count::zero(), Count::one());
        takes([0; 5], || {
            assert_eq!((x + zero).value(), 3.0);
            assert_eq!((zero - x).value(), -3.0);
            assert_eq!((x * one).value(), 3.0);
            assert_eq!((-one * x).value(), -3.0);
            assert_eq!((x / -one).value(), -3.0);
            assert_eq!((x * zero * x + zero / x).structure, Zero);
            assert_eq!((-one * -one).structure, One);
            assert_eq!(zero.sin_cos().1.structure, One);
            assert_eq!(one.sqrt().structure, One);
            assert_eq!(Count::select(x.less(one), zero, zero).structure, Zero);
            assert_eq!(Count::select(x.less(one), zero, one).structure, Other);
        });
    }

    #[test]
    fn measurements_nest_and_add_up() {
        let x = Count::variable(2.0);
        let (inner, outer) =
            Count::measure(|| Count::measure(|| x * x + x).1 + Count::measure(|| x * x).1);
        assert_eq!(inner, outer);
        assert_eq!(outer.total(), 3);
        assert_eq!(outer - inner, Operations::default());
        let text = "1 additions, 2 multiplications, 0 divisions, 0 square roots, 0 sines";
        assert_eq!(outer.to_string(), text);
        let lifted: Count = x.lift();
        assert_eq!(lifted.value(), 2.0);
    }
}
