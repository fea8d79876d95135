//! Newton's corrections of the pendulum's equations by four schemes: J ΔX = E, then X ← X − ΔX, Ẋ ← Ẋ − σ ΔX.

use super::Pendulum;
use super::full::Full;
use super::linear::Linear;
use super::reduced::Reduced;
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::scalar::{Parameter, Scalar};

/// Newton's step of the n-body pendulum.
pub const CARD: Card = Card {
    name: "LINPEN: Newton step of the n-body pendulum",
    question: "implicit equations of a pendulum",
    call: "Newton",
    file: "algorithm/pendulum/newton.rs",
    order: "O(n) (linear), O(n³) (reduced, exact-full, numerical-full)",
    source: "Chou 1989, eqs. 1–63",
};

/// How the linear system of a Newton step is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// All 14n unknowns, Jacobian by differences of the residual.
    NumericalFull,
    /// All 14n unknowns, exact Jacobian.
    ExactFull,
    /// 3n unknowns after dimension reduction.
    Reduced,
    /// Linear cost.
    Linear,
}

impl Scheme {
    /// All schemes, in the paper's order.
    pub const ALL: [Scheme; 4] = [
        Scheme::NumericalFull,
        Scheme::ExactFull,
        Scheme::Reduced,
        Scheme::Linear,
    ];

    /// Name of the scheme, as users give it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::NumericalFull => "numerical-full",
            Scheme::ExactFull => "exact-full",
            Scheme::Reduced => "reduced",
            Scheme::Linear => "linear",
        }
    }

    /// The scheme of this name.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
        found.ok_or_else(|| {
            let names = Scheme::ALL.map(Scheme::name).join(", ");
            Error::new(
                ErrorKind::Input,
                format!("there is no Newton scheme `{name}`"),
            )
            .hint(format!("the schemes are {names}"))
        })
    }
}

/// The linear system of a Newton step, factorized; nothing is allocated after [`Newton::new`].
#[derive(Clone, Debug)]
pub struct Newton<S = f64> {
    scheme: Scheme,
    dependent: Vec<u8>,
    work: NewtonWork<S>,
}

#[derive(Clone, Debug)]
enum NewtonWork<S> {
    Full(Full<S>),
    Reduced(Reduced<S>),
    Linear(Linear<S>),
}

impl<S: Scalar<Mask = bool>> Newton<S> {
    /// A solver for this number of bodies.
    pub fn new(scheme: Scheme, bodies: usize) -> Self {
        Newton {
            scheme,
            dependent: vec![0; bodies],
            work: match scheme {
                Scheme::NumericalFull | Scheme::ExactFull => NewtonWork::Full(Full::new(bodies)),
                Scheme::Reduced => NewtonWork::Reduced(Reduced::new(bodies)),
                Scheme::Linear => NewtonWork::Linear(Linear::new(bodies)),
            },
        }
    }

    /// The scheme in use.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Linearizes at (X, Ẋ) with Ẋ = σ X + const, and factorizes.
    ///
    /// `dependent` holds u of every body; the equations that [`Newton::solve`] is given must be those of the same choice.
    pub fn factorize<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) -> Result<()> {
        self.dependent.copy_from_slice(dependent);
        let done = match (&mut self.work, self.scheme) {
            (NewtonWork::Full(full), scheme) => {
                if scheme == Scheme::NumericalFull {
                    full.differences(pendulum, dependent, x, xdot, sigma);
                } else {
                    full.exact(pendulum, dependent, x, xdot, sigma);
                }
                full.factorize()
                    .map_err(|unknown| unknown / super::UNKNOWNS)
            }
            (NewtonWork::Reduced(reduced), _) => {
                reduced.linearize(pendulum, x, xdot, sigma);
                reduced.factorize(pendulum, dependent)
            }
            (NewtonWork::Linear(linear), _) => {
                linear.factorize(pendulum, dependent, x, xdot, sigma)
            }
        };
        done.map_err(|body| {
            Error::new(
                ErrorKind::Singular,
                format!(
                    "Newton's system of the pendulum has no usable pivot at body {}",
                    body + 1
                ),
            )
            .hint("the values may not be finite, or the step is too long for the motion")
        })
    }

    /// ΔX with J ΔX = E.
    pub fn solve<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        e: &[S],
        correction: &mut [S],
    ) {
        match &mut self.work {
            NewtonWork::Full(full) => full.solve(e, correction),
            NewtonWork::Reduced(reduced) => reduced.solve(&self.dependent, e, correction),
            NewtonWork::Linear(linear) => linear.solve(pendulum, &self.dependent, e, correction),
        }
    }
}
