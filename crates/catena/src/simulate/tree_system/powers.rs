//! External power and dissipated power: Ẇ and Ḋ of the energy balance.

use super::TreeSystem;
use crate::algorithm::passive;
use crate::error::Result;
use crate::spatial::Motion;
use crate::state::State;

impl TreeSystem {
    /// Power of external actions, and power dissipated by damping and friction, at an instant.
    pub(crate) fn powers_at(&mut self, t: f64, y: &[f64]) -> Result<[f64; 2]> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = std::mem::take(&mut self.vdot);
        let prepared = match self.powers_need_accelerations() {
            true => self.accelerate(t, &mut vdot),
            false => self.drive(t).map(|()| self.friction.slip(&self.state.v)),
        };
        let done = prepared.and_then(|()| self.powers(&vdot));
        self.vdot = vdot;
        done
    }

    /// Whether powers depend on accelerations: those of a moving base, of constraints and of holding friction do.
    fn powers_need_accelerations(&self) -> bool {
        !self.inputs.base.is_fixed() || self.closing.is_some() || self.friction.holds()
    }

    /// Power of efforts, external wrenches and the base, and power lost to damping and friction.
    pub(super) fn powers(&mut self, vdot: &[f64]) -> Result<[f64; 2]> {
        let mut powers = self.tree_powers(vdot)?;
        if let Some(closing) = &self.closing {
            powers[0] += closing.power(&self.state.v);
        }
        Ok(powers)
    }

    /// Power of efforts, external wrenches and the base without that of constraints, and dissipated power.
    pub(super) fn tree_powers(&mut self, vdot: &[f64]) -> Result<[f64; 2]> {
        let state = &self.state;
        let mut work: f64 = self.tau.iter().zip(&state.v).map(|(tau, v)| tau * v).sum();
        if !self.external.is_empty() {
            let kinematics = self.dynamics.kinematics(state, &self.still)?;
            let pairs = self.external.iter().zip(&kinematics.velocity);
            // wrenches on the base itself have no effect
            work += pairs.skip(1).map(|(f, v)| f.dot(*v)).sum::<f64>();
        }
        if !self.inputs.base.is_fixed() {
            self.dynamics.inverse(state, vdot, &self.external)?;
            let rotation = state.base.pose.rotation;
            let twist = Motion::new(
                rotation.transpose_times(state.base.velocity.angular),
                rotation.transpose_times(state.base.velocity.linear),
            );
            work += self.dynamics.joint_wrench(0)?.dot(twist);
        }
        let mut lost = 0.0;
        if !self.model.forces().is_empty() {
            let [brought_in, dissipated] = self.dynamics.force_powers(state)?;
            work += brought_in;
            lost += dissipated;
        }
        let model = self.dynamics.model();
        let damped = self.damped.iter();
        lost += damped
            .map(|&k| passive::dissipative_force(model, &state.v, k) * state.v[k])
            .sum::<f64>();
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            lost -= effort * state.v[k];
        }
        let cushions = self.cushions.iter();
        lost += cushions
            .map(|cushion| cushion.lost(&state.q, &state.v))
            .sum::<f64>();
        Ok([work, lost])
    }

    /// Energy in the springs of soft stops, J.
    pub(crate) fn stored(&self, state: &State) -> f64 {
        let cushions = self.cushions.iter();
        cushions.map(|cushion| cushion.stored(&state.q)).sum()
    }
}
