//! Chou's n-body pendulum: a chain of rigid bodies on spherical joints, as an implicit system of differential and algebraic
//! equations.
//!
//! J. C. K. Chou, *A nearly-linear computational-cost scheme for the forward dynamics of an n-body pendulum*. The chain is not
//! reduced to minimal coordinates: every body keeps its mass centre R, velocity V, Euler parameters p and their rates s,
//! and E(X, Ẋ) = 0 holds constraints and dynamics together ([`residual`]). An implicit integrator sets Ẋ = σ X + const and
//! solves J ΔX = E, J = ∂E/∂X + σ ∂E/∂Ẋ, then X ← X − ΔX, Ẋ ← Ẋ − σ ΔX. [`Newton`] does that by the paper's four
//! schemes, the last of them in O(n) multiplications *and* additions (the paper's own needs O(n²) additions).
//!
//! | file | what |
//! |---|---|
//! | `euler.rs` | Euler parameters: E, G, A and their products |
//! | `unknowns.rs` | order of the unknowns, consistent initial values and rates |
//! | `residual.rs` | the six sets of equations, eqs. 3–35 |
//! | `blocks.rs` | exact Jacobian, block by block, eqs. 10–34 |
//! | `newton.rs` | the four schemes behind one interface |
//! | `full.rs` | all 14n unknowns at once, eq. 4 |
//! | `reduced.rs` | dimension reduction to 3n unknowns, eqs. 38–48 |
//! | `linear.rs` | linear cost, eqs. 49–56 and beyond |
//! | `implicit.rs` | the pendulum for the implicit integrator |
//! | `audit.rs` | energy and constraints of a motion |
//! | `cost.rs` | operations of a Newton step, counted |
//! | `tree.rs` | the pendulum as a tree of spherical joints |

mod audit;
mod blocks;
mod cost;
pub mod euler;
mod full;
mod implicit;
mod linear;
mod newton;
mod reduced;
mod residual;
mod tree;
mod unknowns;

pub use audit::{Departures, energies};
pub use blocks::{Blocks, jacobian, jacobian_times};
pub use cost::{StepCost, step_cost};
pub use implicit::ImplicitPendulum;
pub use linear::{Linear, VelocitySystem};
pub use newton::{CARD, Newton, Scheme};
pub use residual::{EQUATIONS, Equations, residual};
pub(crate) use tree::quaternion_of;
pub use unknowns::{UNKNOWNS, Unknowns, consistent_rates, consistent_values, dependent_parameters};

use crate::error::{Error, ErrorKind, Result};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Sym3, Vec3};

/// One body of a pendulum, in the paper's terms. Vectors and tensor are in body axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rod<P = f64> {
    /// Mass M.
    pub mass: P,
    /// Inertia tensor I about the mass centre.
    pub inertia: Sym3<P>,
    /// a: from the outboard joint (towards the free end) to the inboard joint.
    pub a: Vec3<P>,
    /// r: from the outboard joint to the mass centre.
    pub r: Vec3<P>,
}

/// A chain of bodies on spherical joints, hanging from a fixed pivot.
#[derive(Clone, Debug, PartialEq)]
pub struct Pendulum<P = f64> {
    /// Acceleration of gravity g.
    pub(super) gravity: Vec3<P>,
    /// The fixed point R_sp1.
    pub(super) pivot: Vec3<P>,
    pub(super) rods: Vec<Link<P>>,
}

/// A body with derived quantities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link<P> {
    rod: Rod<P>,
    /// c = a − r: the inboard joint relative to the mass centre.
    c: Vec3<P>,
    inverse_mass: P,
}

impl Pendulum {
    /// A pendulum of these bodies, the first one on the pivot.
    ///
    /// Masses and inertia tensors must be positive; everything must be finite.
    pub fn new(gravity: Vec3<f64>, pivot: Vec3<f64>, rods: &[Rod]) -> Result<Self> {
        let refuse = |kind, message: String| Err(Error::new(kind, message));
        if rods.is_empty() {
            return refuse(
                ErrorKind::Model,
                "a pendulum needs at least one body".into(),
            );
        }
        let finite = |v: Vec3<f64>| v.to_array().iter().all(|x| x.is_finite());
        if !finite(gravity) || !finite(pivot) {
            return refuse(
                ErrorKind::Model,
                "gravity and pivot of a pendulum must be finite".into(),
            );
        }
        for (index, rod) in rods.iter().enumerate() {
            let number = index + 1;
            if !finite(rod.a) || !finite(rod.r) {
                return refuse(
                    ErrorKind::Model,
                    format!("vectors of body {number} of the pendulum must be finite"),
                );
            }
            if !(rod.mass > 0.0 && rod.mass.is_finite()) {
                return refuse(
                    ErrorKind::Physics,
                    format!(
                        "mass of body {number} of the pendulum is {} kg, it must be positive",
                        rod.mass
                    ),
                );
            }
            let Sym3 {
                xx,
                yy,
                zz,
                xy,
                xz,
                yz,
            } = rod.inertia;
            let second = xx * yy - xy * xy;
            let third =
                xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
            if !(xx > 0.0 && second > 0.0 && third > 0.0 && third.is_finite()) {
                return Err(Error::new(
                    ErrorKind::Physics,
                    format!(
                        "inertia tensor of body {number} of the pendulum is not positive definite"
                    ),
                )
                .hint("it is taken about the mass centre, in body axes, in kg·m²"));
            }
        }
        let links = rods.iter().map(|rod| Link {
            rod: *rod,
            c: rod.a - rod.r,
            inverse_mass: 1.0 / rod.mass,
        });
        Ok(Pendulum {
            gravity,
            pivot,
            rods: links.collect(),
        })
    }
}

impl<P: Copy> Pendulum<P> {
    /// Number of bodies n.
    pub fn bodies(&self) -> usize {
        self.rods.len()
    }

    /// One body, counted from 0 at the pivot.
    pub fn rod(&self, index: usize) -> &Rod<P> {
        &self.rods[index].rod
    }

    /// Acceleration of gravity.
    pub fn gravity(&self) -> Vec3<P> {
        self.gravity
    }

    /// The fixed point the first body hangs on.
    pub fn pivot(&self) -> Vec3<P> {
        self.pivot
    }

    /// The pendulum with its constants in another number type.
    pub fn map<T>(&self, f: impl Fn(P) -> T + Copy) -> Pendulum<T> {
        Pendulum {
            gravity: self.gravity.map(f),
            pivot: self.pivot.map(f),
            rods: self.rods.iter().map(|link| link.map(f)).collect(),
        }
    }
}

impl<P: Copy> Link<P> {
    fn map<T>(&self, f: impl Fn(P) -> T + Copy) -> Link<T> {
        let Rod {
            mass,
            inertia,
            a,
            r,
        } = self.rod;
        let Sym3 {
            xx,
            yy,
            zz,
            xy,
            xz,
            yz,
        } = inertia;
        Link {
            rod: Rod {
                mass: f(mass),
                inertia: Sym3 {
                    xx: f(xx),
                    yy: f(yy),
                    zz: f(zz),
                    xy: f(xy),
                    xz: f(xz),
                    yz: f(yz),
                },
                a: a.map(f),
                r: r.map(f),
            },
            c: self.c.map(f),
            inverse_mass: f(self.inverse_mass),
        }
    }

    /// The body's constants as numbers of the computation.
    #[inline(always)]
    fn lift<S: Scalar>(&self) -> Link<S>
    where
        P: Parameter<S>,
    {
        Link {
            rod: Rod {
                mass: self.rod.mass.lift(),
                inertia: self.rod.inertia.lift(),
                a: self.rod.a.lift(),
                r: self.rod.r.lift(),
            },
            c: self.c.lift(),
            inverse_mass: self.inverse_mass.lift(),
        }
    }
}
