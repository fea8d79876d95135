//! Accelerations at a state: by the recursions, under constraints, or by other equations of motion.

use super::TreeSystem;
use crate::error::Result;
use crate::simulate::dry_friction::Mode;
use crate::spatial::Force;
use crate::state::State;

/// Forces at an instant, and the accelerations they cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Efforts.
    pub tau: Vec<f64>,
    /// Efforts of dry friction, including holding efforts; zero where there is none.
    pub friction: Vec<f64>,
    /// Efforts of stops; zero where there are none.
    pub stops: Vec<f64>,
    /// Wrenches on the bodies 0…n in body axes about the bodies' origins; empty if there are none.
    pub external: Vec<Force<f64>>,
    /// Accelerations.
    pub vdot: Vec<f64>,
    /// Under constraints: their efforts Jᵀλ, their multipliers, and the violations by positions, velocities and accelerations.
    pub constrained: Option<Constrained>,
}

/// Forces and violations of the constraints at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constrained {
    /// Jᵀ λ: efforts of the constraints on the freedoms of the tree.
    pub efforts: Vec<f64>,
    /// λ, one per row.
    pub multipliers: Vec<f64>,
    /// Largest ξ (m, rad) and ξ̇, and ξ̈ relative to the accelerations involved.
    pub violations: [f64; 3],
}

impl TreeSystem {
    /// Efforts, external wrenches and accelerations at an instant.
    pub fn response(&mut self, t: f64, state: &State) -> Result<Response> {
        let mut vdot = vec![0.0; self.model.nv()];
        self.load(t, &state.q, &state.v);
        self.state.base = state.base;
        self.is_elsewhere = true;
        self.accelerate(t, &mut vdot)?;
        if let Some(closing) = &mut self.closing {
            closing.complete(t, &self.state, &self.resisted, &self.external)?;
        }
        let mut constrained = self.closing.as_ref().map(|closing| Constrained {
            efforts: closing.efforts(),
            multipliers: closing.multipliers().to_vec(),
            violations: closing.violations(),
        });
        if let Some(constrained) = &mut constrained {
            self.share_holding(t, constrained)?;
        }
        let mut friction = vec![0.0; self.model.nv()];
        let mut stops = vec![0.0; self.model.nv()];
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            [friction[k], stops[k]] = self.friction.parts(j);
        }
        for cushion in &self.cushions {
            stops[cushion.freedom] += cushion.effort(&self.state.q, &self.state.v);
        }
        Ok(Response {
            tau: self.tau.clone(),
            friction,
            stops,
            external: self.external.clone(),
            vdot,
            constrained,
        })
    }

    /// Where holding efforts are not unique, dry friction gets efforts within its levels, and the constraints carry the
    /// rest. The holding efforts are subtracted from the efforts of the constraints.
    fn share_holding(&mut self, t: f64, constrained: &mut Constrained) -> Result<()> {
        let before = self.friction.efforts.clone();
        if !self.friction.unique && self.friction.holds() {
            self.prepare_friction(t)?;
            self.friction.share()?;
        }
        let mut shifted = vec![0.0; self.model.nv()];
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            if self.friction.modes[j] == Mode::Held {
                constrained.efforts[k] -= self.friction.efforts[j];
                shifted[k] = before[j] - self.friction.efforts[j];
            }
        }
        if let (Some(closing), false) = (&mut self.closing, self.friction.unique) {
            // I x = E (λ − λ') + Jᵀ μ with x = 0: the load that the constraints carry instead
            let (_, change) = closing.respond(&shifted);
            for (multiplier, change) in constrained.multipliers.iter_mut().zip(change) {
                *multiplier -= change;
            }
        }
        Ok(())
    }

    /// Computes the mobility of the held freedoms at the loaded state.
    pub(super) fn prepare_friction(&mut self, t: f64) -> Result<()> {
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        closing.prepare(t, &self.state)?;
        if self.friction.is_prepared(&self.state.q) {
            return Ok(());
        }
        let held = self.friction.held();
        let freedoms: Vec<usize> = held.iter().map(|&j| self.friction.freedoms[j]).collect();
        let alone = closing.open_mobility(&self.state, &freedoms)?;
        let respond = |x: &mut [f64]| {
            let (answer, _) = closing.respond(x);
            x.copy_from_slice(answer);
            Ok(())
        };
        self.friction.prepare(held, &self.state.q, respond, &alone)
    }

    /// Evaluates the dynamics at the loaded state, into `vdot`.
    pub(in crate::simulate) fn accelerate(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        let holds = self.friction.holds();
        // with other equations, too: in a closed chain it projects the state, and evaluates the rows needed for violations and power
        if self.equations.is_none() || self.closing.is_some() || holds {
            self.forward(t, vdot)?;
        }
        if holds {
            match &self.closing {
                None => self.friction.hold(&mut self.dynamics, vdot)?,
                Some(closing) => {
                    for (&j, effort) in self.held.iter().zip(closing.holding_efforts()) {
                        self.friction.efforts[j] = *effort;
                    }
                }
            }
        }
        self.forward_by_equations(t, vdot)
    }
}

/// Accelerations that other equations give to freedoms that are held, up to this fraction of the largest, are round-off.
const STAYS: f64 = 1e-9;

impl TreeSystem {
    /// Computes accelerations by the equations that were chosen, if any, under the efforts of friction, including holding efforts.
    fn forward_by_equations(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        if self.equations.is_none() {
            return Ok(());
        }
        self.resist();
        let Some(chosen) = &mut self.equations else {
            return Ok(());
        };
        let rows = self.closing.as_ref().map_or(0, |c| c.multipliers().len());
        let mut multipliers = vec![0.0; rows];
        let (tau, external) = (&self.resisted, &self.external);
        let equations = &mut chosen.0;
        equations.solve(t, &self.state, tau, external, vdot, &mut multipliers)?;
        // held freedoms stay exactly at rest, not only to round-off
        let size = vdot.iter().fold(1.0f64, |size, x| size.max(x.abs()));
        for j in self.friction.held() {
            let own = &mut vdot[self.friction.freedoms[j]];
            if own.abs() < STAYS * size {
                *own = 0.0;
            }
        }
        if let Some(closing) = &mut self.closing {
            closing.adopt(vdot, &multipliers);
        }
        Ok(())
    }

    /// Computes accelerations from the current efforts and friction, by the recursions.
    pub(super) fn forward(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        let is_plain = self.equations.is_none() && self.closing.is_none();
        if is_plain && self.friction.freedoms.is_empty() && self.cushions.is_empty() {
            let Self {
                dynamics,
                state,
                tau,
                external,
                ..
            } = self;
            vdot.copy_from_slice(dynamics.forward(state, tau, external)?);
            return Ok(());
        }
        self.resist();
        let (tau, external) = (&self.resisted, &self.external);
        match &mut self.closing {
            Some(closing) => closing.accelerate(t, &mut self.state, tau, external, vdot),
            None => {
                let found = self.dynamics.forward(&self.state, tau, external)?;
                vdot.copy_from_slice(found);
                Ok(())
            }
        }
    }

    /// Efforts plus those of dry friction and soft stops.
    pub(super) fn resist(&mut self) {
        self.resisted.copy_from_slice(&self.tau);
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            self.resisted[k] += effort;
        }
        for cushion in &self.cushions {
            self.resisted[cushion.freedom] += cushion.effort(&self.state.q, &self.state.v);
        }
    }
}
