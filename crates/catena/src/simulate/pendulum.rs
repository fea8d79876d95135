//! A chain of spherical joints integrated by Chou's implicit equations instead of in joint coordinates.
//!
//! The integrator's unknowns are X = (R, V, P, S) of every body; y = (q, v, W, D) of a run is computed from them. Only
//! gravity may act: no efforts, no wrenches, no events, a base at rest. Then no work is done and W = D = 0.

use super::inputs::Controller;
use super::tree_system::TreeSystem;
use crate::algorithm::pendulum::{ImplicitPendulum, Pendulum, Scheme, UNKNOWNS, consistent_rates};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::StepOutcome;
use crate::integrate::bdf::{Bdf, BdfOptions};
use crate::model::Model;

/// Implicit integration of a pendulum.
pub(super) struct PendulumEngine {
    pub bdf: Bdf,
    problem: ImplicitPendulum,
    model: Model,
    x: Vec<f64>,
}

impl PendulumEngine {
    /// The system as a pendulum, at y.
    pub fn new(
        system: &TreeSystem,
        options: BdfOptions,
        scheme: Scheme,
        y: &[f64],
    ) -> Result<Self> {
        let inputs = system.inputs();
        let refuse = |what: &str| {
            Err(Error::new(
                ErrorKind::Unsupported,
                format!("a pendulum in implicit equations {what}"),
            )
            .hint("leave out the Newton scheme: bdf then moves the joint coordinates, which take everything"))
        };
        if !matches!(inputs.controller, Controller::None)
            || !inputs.wrenches.is_empty()
            || !inputs.loads.is_empty()
        {
            return refuse("is moved by its weight only, without efforts and wrenches");
        }
        if !inputs.base.is_fixed() {
            return refuse("hangs from a base at rest");
        }
        if !system.event_functions().is_empty() {
            return refuse("is not watched for events");
        }
        let model = system.model().clone();
        let pendulum = Pendulum::of_model(&model)?;
        let x = pendulum.values_of_state(&model, &system.unpack(0.0, y))?;
        Ok(PendulumEngine {
            bdf: Bdf::new(pendulum.bodies() * UNKNOWNS, options)?,
            problem: ImplicitPendulum::new(&pendulum, scheme, &x),
            model,
            x,
        })
    }

    /// Starts at y.
    pub fn restart(&mut self, system: &TreeSystem, t: f64, y: &[f64]) -> Result<()> {
        let pendulum = self.problem.pendulum().clone();
        self.x = pendulum.values_of_state(&self.model, &system.unpack(t, y))?;
        let mut rates = vec![0.0; self.x.len()];
        consistent_rates(&pendulum, &self.x, &mut rates)?;
        self.bdf.start(&mut self.problem, t, &self.x, &rates)
    }

    pub fn step(&mut self, end: f64) -> Result<StepOutcome> {
        self.bdf.step(&mut self.problem, end)
    }

    pub fn interpolate(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        self.bdf.interpolate(&mut self.problem, t, &mut self.x)?;
        self.write(&self.x, y);
        Ok(())
    }

    /// Time at the beginning of the last step; y there is written.
    pub fn before(&self, y: &mut [f64]) -> f64 {
        let mut x = vec![0.0; self.x.len()];
        let t = self.bdf.before(&mut x);
        self.write(&x, y);
        t
    }

    pub fn restore(&mut self, checkpoint: &[u64]) -> Result<()> {
        self.bdf.restore(&mut self.problem, checkpoint)
    }

    fn write(&self, x: &[f64], y: &mut [f64]) {
        let (q, rest) = y.split_at_mut(self.model.nq());
        let (v, integrals) = rest.split_at_mut(self.model.nv());
        let pendulum = self.problem.pendulum();
        pendulum.state_of_values(&self.model, x, q, v);
        integrals.fill(0.0);
    }
}
