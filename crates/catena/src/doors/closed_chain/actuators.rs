//! Which efforts of chosen actuators produce a motion of a closed chain?
//!
//! The tree needs the efforts f = I v̇ + C v + … for the motion; actuators S and constraints share them:
//!
//! ```text
//! Sᵀ u + Jᵀ λ = f                     u: efforts of the actuators
//! Zᵀ Sᵀ u = Zᵀ f                      J Z = 0: projected on the freedoms of the mechanism         (Mufti 40)
//! u = (Zᵀ Sᵀ)⁺ Zᵀ f                   minimum norm where there are more actuators than freedoms
//! λ = (J Jᵀ)⁺ J (f − Sᵀ u)            minimum norm where rows are dependent
//! ```
//!
//! Fewer independent actuators than freedoms cannot produce an arbitrary motion, and are rejected.

use super::{ClosedChain, DENSE_ROWS, finite};
use crate::algorithm::constrained::CLOSED;
use crate::algorithm::constrained::complete_orthogonal::{
    CompleteOrthogonal, RANK_TOLERANCE, norm,
};
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::spatial::Force;
use crate::state::State;

/// Inverse dynamics of closed chains.
pub const CARD: Card = Card {
    name: "Efforts of chosen actuators",
    question: "inverse dynamics of closed chains",
    call: "ClosedChain::inverse",
    file: "doors/closed_chain/actuators.rs",
    order: "O(n m²)",
    source: "Mufti 1983, eq. 40 and appendix; Nakamura & Ghodoussi 1989",
};

/// Efforts that produce a motion.
#[derive(Clone, Debug)]
pub struct ClosedEfforts {
    /// Efforts of the actuators, in the order in which they were named.
    pub actuators: Vec<f64>,
    /// Efforts of all freedoms of the tree; zero where there is no actuator.
    pub efforts: Vec<f64>,
    /// λ, one per row.
    pub multipliers: Vec<f64>,
    /// Degrees of freedom of the mechanism.
    pub freedoms: usize,
    /// Degree of redundant actuation: this many efforts could be chosen freely; the solution has minimum norm.
    pub surplus: usize,
}

impl ClosedChain {
    /// Efforts of actuators at these velocity coordinates that produce the accelerations, which must be those of a closed
    /// mechanism ([`consistent_accelerations`](Self::consistent_accelerations) makes them so).
    pub fn inverse(
        &mut self,
        time: f64,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
        actuators: &[usize],
    ) -> Result<ClosedEfforts> {
        self.check_actuators(actuators)?;
        let needed = self.tree.inverse(state, vdot, external)?.to_vec();
        self.evaluate(time, state);
        self.check_closed()?;
        let rows = &self.work.rows;
        let mut second = vec![0.0; rows.count()];
        rows.times(vdot, &mut second);
        let scale = 1.0 + norm(&second).max(norm(&rows.bias));
        for (second, bias) in second.iter_mut().zip(&rows.bias) {
            *second += bias;
        }
        let (name, worst) = self.worst(&second);
        if worst.is_nan() || worst > CLOSED * scale {
            return Err(Error::new(
                ErrorKind::Input,
                format!("these accelerations violate constraint `{name}` by {worst:.3e} m/s² or rad/s²"),
            )
            .hint("give accelerations of the closed mechanism; `consistent_accelerations` finds those nearest to a guess"));
        }

        self.share(state, &needed, actuators)
    }

    /// Efforts of actuators at these velocity coordinates that move the closed mechanism as the given efforts of all freedoms do; of minimum norm
    /// where there are more actuators than freedoms.
    pub fn shared(
        &mut self,
        time: f64,
        state: &State,
        efforts: &[f64],
        actuators: &[usize],
    ) -> Result<ClosedEfforts> {
        self.check_actuators(actuators)?;
        self.tree.check_forward(state, efforts, &[])?;
        self.evaluate(time, state);
        self.check_closed()?;
        self.share(state, efforts, actuators)
    }

    /// f = `needed`, at a state whose rows are evaluated.
    fn share(
        &mut self,
        state: &State,
        needed: &[f64],
        actuators: &[usize],
    ) -> Result<ClosedEfforts> {
        let nv = self.model.nv();
        if self.row_count() > DENSE_ROWS && actuators.len() == nv {
            return self.share_among_all(state, needed, actuators);
        }
        self.require_dense()?;
        let jacobian = self.work.rows.dense(nv);
        let m = jacobian.rows();
        let mut motions = CompleteOrthogonal::new(m, nv);
        motions.decompose(&jacobian.transpose(), RANK_TOLERANCE, usize::MAX);
        let freedoms = nv - motions.rank();
        // A = Zᵀ Sᵀ and Zᵀ f
        let mut felt = Matrix::zeros(freedoms, actuators.len());
        let mut z = vec![0.0; nv];
        let mut y = vec![0.0; freedoms];
        let mut basis = Matrix::zeros(freedoms, nv);
        for k in 0..freedoms {
            motions.null_vector(k, &mut z);
            for (j, &actuator) in actuators.iter().enumerate() {
                felt[(k, j)] = z[actuator];
            }
            y[k] = z.iter().zip(needed).map(|(z, f)| z * f).sum();
            basis.row_mut(k).copy_from_slice(&z);
        }
        let mut shares = CompleteOrthogonal::new(actuators.len(), freedoms);
        shares.decompose(&felt, RANK_TOLERANCE, usize::MAX);
        if shares.rank() < freedoms {
            return Err(self.under_actuated(&basis, actuators, freedoms, shares.rank()));
        }
        shares.solve(&mut y);
        let mut efforts = vec![0.0; nv];
        let mut chosen = vec![0.0; actuators.len()];
        for (j, &actuator) in actuators.iter().enumerate() {
            chosen[j] = (0..freedoms).map(|k| felt[(k, j)] * y[k]).sum();
            efforts[actuator] = chosen[j];
        }
        let rest: Vec<f64> = needed.iter().zip(&efforts).map(|(f, u)| f - u).collect();
        let mut multipliers = jacobian.times(&rest);
        let mut wrenches = CompleteOrthogonal::new(nv, m);
        wrenches.decompose(&jacobian, RANK_TOLERANCE, usize::MAX);
        wrenches.solve(&mut multipliers);
        finite("the efforts of the actuators", &efforts)?;
        finite("the multipliers of the constraints", &multipliers)?;
        Ok(ClosedEfforts {
            actuators: chosen,
            efforts,
            multipliers,
            freedoms,
            surplus: actuators.len() - freedoms,
        })
    }

    /// [`share`](Self::share) where every freedom has an actuator: u = f − Jᵀ λ with λ = (J Jᵀ)⁺ J f, by sparse products.
    fn share_among_all(
        &mut self,
        state: &State,
        needed: &[f64],
        actuators: &[usize],
    ) -> Result<ClosedEfforts> {
        self.factorize(state)?;
        let (m, nv) = (self.row_count(), self.model.nv());
        let free = vec![true; nv];
        let mut c = vec![0.0; m];
        self.work.rows.times(needed, &mut c);
        let found = self.repeated(&free, &c)?;
        let efforts: Vec<f64> = needed.iter().zip(&found.x).map(|(f, x)| f + x).collect();
        // y carries round-off outside the range of J, divided by the small μ: its part inside is J x of the shortest x with J x = −y
        let inside = self.repeated(&free, &found.y)?;
        let mut multipliers = vec![0.0; m];
        self.work.rows.times(&inside.x, &mut multipliers);
        finite("the efforts of the actuators", &efforts)?;
        finite("the multipliers of the constraints", &multipliers)?;
        let freedoms = nv - self.work.rank();
        Ok(ClosedEfforts {
            actuators: actuators.iter().map(|&k| efforts[k]).collect(),
            efforts,
            multipliers,
            freedoms,
            surplus: nv - freedoms,
        })
    }

    fn check_actuators(&self, actuators: &[usize]) -> Result<()> {
        let nv = self.model.nv();
        let mut named = vec![false; nv];
        for &actuator in actuators {
            let trouble = if actuator >= nv {
                format!(
                    "there is no velocity coordinate {actuator} for an actuator: the model has {nv}"
                )
            } else if std::mem::replace(&mut named[actuator], true) {
                format!(
                    "actuator `{}` is named twice",
                    self.model.tree().dofs[actuator].name
                )
            } else {
                continue;
            };
            return Err(Error::new(ErrorKind::Input, trouble));
        }
        Ok(())
    }

    /// The error with a motion that the actuators cannot control.
    fn under_actuated(
        &self,
        basis: &Matrix,
        actuators: &[usize],
        freedoms: usize,
        governed: usize,
    ) -> Error {
        // a motion of the mechanism with all actuators at rest: Z y with (Zᵀ Sᵀ)ᵀ y = 0
        let mut felt = Matrix::zeros(freedoms, actuators.len());
        for k in 0..freedoms {
            for (j, &actuator) in actuators.iter().enumerate() {
                felt[(k, j)] = basis[(k, actuator)];
            }
        }
        let mut idle = CompleteOrthogonal::new(actuators.len(), freedoms);
        idle.decompose(&felt, RANK_TOLERANCE, usize::MAX);
        let mut y = vec![0.0; freedoms];
        idle.null_vector(0, &mut y);
        let mut motion = vec![0.0f64; self.model.nv()];
        for (k, y) in y.iter().enumerate() {
            for (x, z) in motion.iter_mut().zip(basis.row(k)) {
                *x += y * z;
            }
        }
        let largest = (0..motion.len()).fold(0, |best, k| {
            if motion[k].abs() > motion[best].abs() {
                k
            } else {
                best
            }
        });
        let name = &self.model.tree().dofs[largest].name;
        Error::new(
            ErrorKind::Input,
            format!(
                "the mechanism has {freedoms} freedoms at this state and the actuators govern {governed} of them: `{name}` moves while all of them stand still"
            ),
        )
        .hint(format!("add actuators, `{name}` for one"))
    }
}
