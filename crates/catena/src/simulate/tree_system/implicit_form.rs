//! The equations of motion in implicit form, and the forces for equations in other coordinates.

use super::TreeSystem;
use crate::error::Result;
use crate::model::Model;
use crate::simulate::dry_friction::{DryFriction, Mode};
use crate::spatial::Force;
use crate::state::{Base, position_rates};

impl TreeSystem {
    /// Evaluates the equations of motion in implicit form, see `implicit.rs`.
    pub(crate) fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        ydot: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let (q, v) = (&y[..nq], &y[nq..nq + nv]);
        let vdot = &ydot[nq..nq + nv];
        self.load(t, q, v);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        position_rates(&self.model, q, v, &mut out[..nq]);
        for (out, rate) in out.iter_mut().zip(&ydot[..nq]) {
            *out = rate - *out;
        }
        let powers = self.powers(vdot)?;
        let efforts = self.dynamics.inverse(&self.state, vdot, &self.external)?;
        for (out, (effort, tau)) in out[nq..].iter_mut().zip(efforts.iter().zip(&self.tau)) {
            *out = effort - tau;
        }
        for cushion in &self.cushions {
            out[nq + cushion.freedom] -= cushion.effort(&self.state.q, &self.state.v);
        }
        let DryFriction {
            freedoms,
            efforts,
            modes,
            ..
        } = &self.friction;
        for ((&k, effort), mode) in freedoms.iter().zip(efforts).zip(modes) {
            match mode {
                Mode::Held => out[nq + k] = vdot[k],
                _ => out[nq + k] -= effort,
            }
        }
        for i in 0..2 {
            out[nq + nv + i] = ydot[nq + nv + i] - powers[i];
        }
        Ok(())
    }

    /// −∂(power)/∂v and −∂(power lost)/∂v, without the changes of the forces themselves.
    pub(crate) fn power_slopes(
        &mut self,
        t: f64,
        y: &[f64],
        work: &mut [f64],
        lost: &mut [f64],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        for k in 0..nv {
            work[k] = -self.tau[k];
            let [_, stopped] = self.cushion_slopes(k);
            let damping = self.model.dofs[k].damping + stopped;
            lost[k] = -2.0 * damping * self.state.v[k];
        }
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            lost[k] += effort;
        }
        Ok(())
    }

    /// Prepares efforts (with dry friction) and external wrenches at an instant, for equations in other coordinates;
    /// returns the powers, without that of constraints.
    pub(crate) fn act(&mut self, t: f64, y: &[f64], vdot: &[f64]) -> Result<[f64; 2]> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        self.resist();
        if !self.model.forces().is_empty() {
            let mut loads = std::mem::take(&mut self.loads);
            let done = self
                .dynamics
                .loaded(&self.state, &self.external, &mut loads);
            self.loads = loads;
            done?;
        }
        self.tree_powers(vdot)
    }

    /// The result of [`act`](Self::act): the model without dry friction, efforts, wrenches on the bodies and the base's motion.
    pub(crate) fn acting(&self) -> (&Model, &[f64], &[Force<f64>], &Base<f64>) {
        let model = self.dynamics.model();
        let wrenches = match model.forces().is_empty() {
            true => &self.external,
            false => &self.loads,
        };
        (model, &self.resisted, wrenches, &self.state.base)
    }
}
