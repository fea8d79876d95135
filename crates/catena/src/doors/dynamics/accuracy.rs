//! How many digits do the accelerations of a tree have?
//!
//! The recursion keeps every digit of light, slender and nearly redundant parts, and loses them where the heaviest body is at the tip of a chain.
//! Neither the efforts that inverse dynamics returns nor a second method in `f64` tells how many: the same recursion at the same numbers in
//! [`DoubleDouble`] does.

use super::{Dynamics, finite_result, too_large};
use crate::algorithm::coupled::CoupledDynamics;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::error::Result;
use crate::residual::{larger, largest_of, ratio};
use crate::scalar::DoubleDouble;
use crate::spatial::Force;
use crate::state::{State, check_length};

impl Dynamics {
    /// The error of accelerations under these forces, found by [`forward`](Self::forward) or otherwise: their largest difference from double-double
    /// arithmetic at the same state, relative to the largest acceleration, or to 1 rad/s² or m/s² where all are smaller, because near an equilibrium
    /// they are small differences of forces, without correct digits. Closed chains have [`ClosedChain::accuracy`](crate::ClosedChain::accuracy). It
    /// costs about as much as fifty evaluations and allocates its workspace.
    ///
    /// ```
    /// use catena::{Dynamics, State, model::embedded};
    ///
    /// let model = embedded::model("chain-7")?;
    /// let (mut dynamics, state) = (Dynamics::new(&model), State::random(&model, 1));
    /// let found = dynamics.forward(&state, &[0.0; 7], &[])?.to_vec();
    /// assert!(dynamics.accuracy(&state, &[0.0; 7], &[], &found)? < 1e-13);
    /// # Ok::<(), catena::Error>(())
    /// ```
    pub fn accuracy(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        found: &[f64],
    ) -> Result<f64> {
        check_length("accelerations", found.len(), self.model().nv())?;
        finite_result("accelerations", self.model(), found)?;
        let exact = self.forward_double_double(state, tau, external)?;
        let scale = largest_of(exact.iter().map(|a| a.value().abs()));
        let errors = found.iter().zip(&exact);
        let errors = errors.map(|(&a, right)| (DoubleDouble::from(a) - *right).value().abs());
        let error = ratio(largest_of(errors), larger(scale, 1.0));
        // finite numbers may differ by more than the largest one
        match error.is_finite() {
            true => Ok(error),
            false => Err(too_large("the error of the accelerations")),
        }
    }

    /// The accelerations that efforts produce, in double-double arithmetic (32 digits) at the same numbers.
    pub fn forward_double_double(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<Vec<DoubleDouble>> {
        // states and forces are checked as in `f64`, and so is whether there are accelerations at all
        self.forward(state, tau, external)?;
        let model = self.model();
        let exact = state.lift();
        let tau: Vec<DoubleDouble> = tau.iter().map(|&x| x.into()).collect();
        let load = |f: &Force<f64>| Force::new(f.moment.lift(), f.force.lift());
        let external: Vec<Force<DoubleDouble>> = external.iter().map(load).collect();
        let mut vdot = tau.clone();
        match model.couplings() {
            Some(couplings) => {
                let tree = model.clone().open_tree();
                CoupledDynamics::new(&tree, couplings).forward(
                    &tree,
                    couplings,
                    exact.view(),
                    &tau,
                    &external,
                    &mut vdot,
                );
            }
            None => forward_dynamics(
                model,
                exact.view(),
                &tau,
                &external,
                &mut ForwardDynamics::new(model),
                &mut vdot,
            ),
        }
        let rounded: Vec<f64> = vdot.iter().map(|a| a.value()).collect();
        finite_result("the accelerations in double-double", model, &rounded)?;
        Ok(vdot)
    }
}
