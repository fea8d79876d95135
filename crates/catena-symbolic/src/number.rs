//! Constants of a graph: exact ratios as long as they are small, doubles otherwise.

/// A non-negative number; signs are kept in the handles (see [`Handle`](crate::graph::Handle)).
///
/// A double that is a ratio of small integers is stored as one, so that equal numbers compare equal, however they were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    /// Numerator and denominator in lowest terms.
    Ratio(u64, u64),
    /// The bits of a double that is not a small ratio.
    Float(u64),
}

/// Largest numerator and denominator: both are exact in a double, and products fit 128 bits.
const LARGEST: u128 = 1 << 53;
/// Doubles with up to this many binary places are stored as ratios.
const BINARY_PLACES: i32 = 30;

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Number {
    pub const ZERO: Number = Number::Ratio(0, 1);
    pub const ONE: Number = Number::Ratio(1, 1);

    /// The ratio, if it is small enough.
    pub fn ratio(numerator: u128, denominator: u128) -> Option<Self> {
        let common = gcd(numerator, denominator);
        if common == 0 || denominator == 0 {
            return None;
        }
        let (n, d) = (numerator / common, denominator / common);
        (n <= LARGEST && d <= LARGEST).then_some(Number::Ratio(n as u64, d as u64))
    }

    /// The absolute value of a double.
    pub fn from_size(x: f64) -> Self {
        let x = x.abs();
        let scaled = x * 2f64.powi(BINARY_PLACES);
        if x <= LARGEST as f64 && scaled <= LARGEST as f64 && scaled.fract() == 0.0 {
            let ratio = Number::ratio(scaled as u128, 1 << BINARY_PLACES);
            return ratio.unwrap_or(Number::Float(x.to_bits()));
        }
        if x <= LARGEST as f64 && x.fract() == 0.0 {
            return Number::Ratio(x as u64, 1);
        }
        Number::Float(x.to_bits())
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        match self {
            Number::Ratio(n, d) => n as f64 / d as f64,
            Number::Float(bits) => f64::from_bits(bits),
        }
    }

    /// a + b, or a − b with `minus`: whether the result is negative, and its absolute value.
    pub fn add(self, other: Self, minus: bool) -> (bool, Self) {
        if let (Number::Ratio(a, b), Number::Ratio(c, d)) = (self, other) {
            let (left, right) = (a as u128 * d as u128, c as u128 * b as u128);
            let (negative, size) = match minus {
                false => (false, left + right),
                true => (left < right, left.abs_diff(right)),
            };
            if let Some(sum) = Number::ratio(size, b as u128 * d as u128) {
                return (negative, sum);
            }
        }
        let other = if minus { -other.value() } else { other.value() };
        let sum = self.value() + other;
        (sum < 0.0, Number::from_size(sum))
    }

    /// a · b.
    pub fn mul(self, other: Self) -> Self {
        if let (Number::Ratio(a, b), Number::Ratio(c, d)) = (self, other)
            && let Some(product) = Number::ratio(a as u128 * c as u128, b as u128 * d as u128)
        {
            return product;
        }
        Number::from_size(self.value() * other.value())
    }

    /// 1/a.
    pub fn recip(self) -> Self {
        match self {
            Number::Ratio(n, d) if n != 0 => Number::Ratio(d, n),
            _ => Number::from_size(1.0 / self.value()),
        }
    }

    /// √a, exact where it can be.
    pub fn sqrt(self) -> Self {
        if let Number::Ratio(n, d) = self {
            let root = |x: u64| (x as f64).sqrt() as u64;
            let (p, q) = (root(n), root(d));
            if p * p == n && q * q == d {
                return Number::Ratio(p, q);
            }
        }
        Number::from_size(self.value().sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_stay_exact() {
        let third = Number::ratio(1, 3).unwrap();
        let sixth = Number::ratio(1, 6).unwrap();
        assert_eq!(third.add(sixth, false), (false, Number::from_size(0.5)));
        assert_eq!(sixth.add(third, true), (true, sixth));
        assert_eq!(third.mul(third), Number::Ratio(1, 9));
        assert_eq!(third.recip(), Number::from_size(3.0));
        assert_eq!(Number::Ratio(4, 9).sqrt(), Number::Ratio(2, 3));
    }

    #[test]
    fn equal_doubles_are_equal_numbers() {
        assert_eq!(Number::from_size(-0.75), Number::Ratio(3, 4));
        assert_eq!(Number::from_size(0.0), Number::ZERO);
        assert!(matches!(Number::from_size(0.1), Number::Float(_)));
        let tenth = Number::from_size(0.1);
        assert_eq!(tenth.mul(tenth).value(), 0.1 * 0.1);
        for x in [1e300, 1e-300, 0.1, 3.5, 1e15, f64::INFINITY] {
            assert_eq!(Number::from_size(x).value(), x);
        }
    }
}
