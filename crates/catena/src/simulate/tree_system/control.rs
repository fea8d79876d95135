//! Efforts of the controller and wrenches of loads, its sensor readings, and the instants of a sampled controller.

use super::TreeSystem;
use crate::algorithm::constrained::{Axes, Rows};
use crate::error::{Error, ErrorKind, Result};
use crate::simulate::control::{Hold, Law, Sensors};
use crate::simulate::inputs::Controller;
use crate::spatial::Force;
use crate::state::State;
use std::sync::Arc;

impl TreeSystem {
    /// Computes efforts and external wrenches at the loaded state.
    pub(super) fn drive(&mut self, t: f64) -> Result<()> {
        match &self.hold {
            // a command without lag has been written when it was taken
            Some(hold) if hold.is_late() => hold.efforts(t, &mut self.tau),
            Some(_) => {}
            None => {
                self.command(t)?;
                self.actuated.limit(&self.demand, &mut self.tau);
            }
        }
        let Self {
            inputs,
            state,
            dynamics,
            external,
            ..
        } = self;
        let done = inputs.external(t, state, dynamics, external);
        if let (Err(error), false) = (&done, self.inputs.loads.is_empty()) {
            self.complaint = Some(error.clone());
        }
        done
    }

    /// Efforts of a continuous controller at an instant, within the limits of the actuators.
    pub(in crate::simulate) fn efforts_at(
        &mut self,
        t: f64,
        q: &[f64],
        v: &[f64],
    ) -> Result<&[f64]> {
        self.load(t, q, v);
        self.drive(t)?;
        Ok(&self.tau)
    }

    /// Evaluates the demand of the controller at the loaded state.
    fn command(&mut self, t: f64) -> Result<()> {
        if matches!(self.inputs.controller, Controller::Own(_)) {
            return self.command_by_own(t);
        }
        let Self {
            inputs,
            state,
            model,
            dynamics,
            actuated,
            demand,
            ..
        } = self;
        inputs.efforts(t, state, model, dynamics, actuated, demand)
    }

    /// Evaluates the demand of a user-defined controller, lent meanwhile so that it can read sensors through the rest of the system.
    fn command_by_own(&mut self, t: f64) -> Result<()> {
        let Controller::Own(law) = &mut self.inputs.controller else {
            return Ok(());
        };
        let mut law = law.lend();
        let mut demand = std::mem::take(&mut self.demand);
        demand.fill(0.0);
        let done = match self.is_sampled() {
            true => self.ask_with_sensors(t, &mut law, &mut demand),
            false => {
                let mut sensors = Sensors::closed(self.model.tree());
                (law.control()).efforts(t, &self.state, &mut sensors, &mut demand)
            }
        };
        let done = done.and_then(|()| self.actuated.check(t, &demand, &self.model));
        self.complaint = done.as_ref().err().cloned();
        self.demand = demand;
        if let Controller::Own(place) = &mut self.inputs.controller {
            *place = law;
        }
        done
    }

    fn ask_with_sensors(&mut self, t: f64, law: &mut Law, demand: &mut [f64]) -> Result<()> {
        if self.model.sensors().is_empty() {
            let mut look = || Ok(Vec::new());
            let mut sensors = Sensors::new(&self.model.tree, &mut look);
            return law.control().efforts(t, &self.state, &mut sensors, demand);
        }
        let tree = Arc::clone(&self.model.tree);
        // the controller reads one copy of the state while sensors are measured with the other
        let mut asked = State {
            q: std::mem::take(&mut self.asked.q),
            v: std::mem::take(&mut self.asked.v),
            base: self.state.base,
        };
        asked.q.copy_from_slice(&self.state.q);
        asked.v.copy_from_slice(&self.state.v);
        let mut look = || self.measure(t, &asked);
        let mut sensors = Sensors::new(&tree, &mut look);
        let done = law.control().efforts(t, &asked, &mut sensors, demand);
        (self.asked.q, self.asked.v) = (asked.q, asked.v);
        done
    }

    /// Readings of the model's sensors at an instant, under the forces acting then: six numbers
    /// each ([`Sensor::measures`](crate::model::Sensor::measures)).
    pub fn measure(&mut self, t: f64, state: &State) -> Result<Vec<[f64; 6]>> {
        if self.model.sensors().is_empty() {
            return Ok(Vec::new());
        }
        let response = self.response(t, state)?;
        let mut wrenches = response.external;
        if let Some(constrained) = &response.constrained {
            let multipliers = &constrained.multipliers;
            self.add_constraint_wrenches(t, state, multipliers, &mut wrenches)?;
        }
        self.dynamics.measure(state, &response.vdot, &wrenches)
    }

    /// Adds the wrenches of the model's constraints on the bodies.
    fn add_constraint_wrenches(
        &mut self,
        t: f64,
        state: &State,
        multipliers: &[f64],
        wrenches: &mut Vec<Force<f64>>,
    ) -> Result<()> {
        let kinematics = self.dynamics.kinematics(state, &self.still)?;
        let mut rows = Rows::new(&self.model, Axes::Parent);
        rows.evaluate(&self.model, t, &state.q, &state.v, kinematics);
        if rows.residual.len() < multipliers.len() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "sensors cannot be measured under constraints of one's own: what wrenches they exert on the bodies is not known",
            ));
        }
        wrenches.resize(self.model.body_count() + 1, Force::zero());
        rows.add_wrenches(&self.model, kinematics, multipliers, wrenches);
        Ok(())
    }

    /// Error of the controller or of a load, if any: no shorter step helps.
    pub(crate) fn take_complaint(&mut self) -> Option<Error> {
        self.complaint.take()
    }

    /// Does this freedom have an actuator?
    pub(crate) fn drives(&self, freedom: usize) -> bool {
        self.actuated.drives[freedom]
    }

    /// Is the controller sampled?
    pub(crate) fn is_sampled(&self) -> bool {
        self.hold.is_some()
    }

    /// When a sampled controller runs next, s.
    pub(crate) fn next_sampling(&self) -> f64 {
        self.hold.as_ref().map_or(f64::INFINITY, Hold::next_time)
    }

    /// Runs a sampled controller at its next instant, whose state is y.
    pub(crate) fn sample(&mut self, y: &[f64]) -> Result<()> {
        let t = self.next_sampling();
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.command(t)?;
        if let Some(hold) = &mut self.hold {
            let (actuated, demand) = (&self.actuated, &self.demand);
            hold.take(|command| actuated.limit(demand, command));
            hold.efforts(t, &mut self.tau);
        }
        Ok(())
    }

    /// Demand of the controller at an instant; its last demand, if it is sampled.
    pub(crate) fn demand(&mut self, t: f64, y: &[f64]) -> Result<&[f64]> {
        if self.hold.is_none() {
            let (nq, nv) = (self.model.nq(), self.model.nv());
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            self.command(t)?;
        }
        Ok(&self.demand)
    }

    /// The command that is held, the demand behind it and the state of the controller, for a checkpoint.
    pub(crate) fn control_checkpoint(&self) -> Vec<u64> {
        let saved = match &self.inputs.controller {
            Controller::Own(law) => law.save(),
            _ => Some(Vec::new()),
        };
        let mut words = match &saved {
            None => vec![0, 0],
            Some(numbers) => vec![1, numbers.len() as u64],
        };
        words.extend(saved.into_iter().flatten().map(f64::to_bits));
        if let Some(hold) = &self.hold {
            words.extend(self.demand.iter().map(|x| x.to_bits()));
            words.extend(hold.checkpoint());
        }
        words
    }

    /// Restores the output of [`control_checkpoint`](Self::control_checkpoint) and returns the remaining words.
    pub(crate) fn restore_control<'a>(&mut self, words: &'a [u64]) -> Result<&'a [u64]> {
        let foreign = || {
            Error::new(
                ErrorKind::Input,
                "the checkpoint does not belong to this run",
            )
        };
        let [is_saved, count, rest @ ..] = words else {
            return Err(foreign());
        };
        if *is_saved == 0 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the run cannot be resumed: its controller keeps a state that was not saved",
            )
            .hint("start the run anew, or let the controller save its state"));
        }
        let (saved, mut rest) = rest.split_at_checked(*count as usize).ok_or_else(foreign)?;
        if let Controller::Own(law) = &mut self.inputs.controller {
            let saved: Vec<f64> = saved.iter().map(|word| f64::from_bits(*word)).collect();
            law.control().restore(&saved)?;
        }
        if let Some(hold) = &mut self.hold {
            let (demand, after) = rest
                .split_at_checked(self.demand.len())
                .ok_or_else(foreign)?;
            for (x, word) in self.demand.iter_mut().zip(demand) {
                *x = f64::from_bits(*word);
            }
            rest = hold.restore(after).ok_or_else(foreign)?;
            hold.efforts(hold.time(), &mut self.tau);
        }
        Ok(rest)
    }
}
