//! Builds a model, with the checks that need states of it: a freedom without inertia, a wheel that tilts against the wheel it rolls on.

use crate::algorithm::factorization::Factorization;
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::model::constraint::{Rule, Surface};
use crate::model::{Model, ModelBuilder};
use crate::residual::within;
use crate::scalar::DoubleDouble;
use crate::spatial::Pose;
use crate::state::State;

/// Seeds of the states at which pivots and axes are examined.
const STATES: std::ops::RangeInclusive<u64> = 1..=3;

impl ModelBuilder {
    /// Checks everything and builds the model.
    pub fn build(&self) -> Result<Model> {
        let mut model = self.assembled()?;
        parallel_axes(&model)?;
        match mobility(&model)? {
            None => {}
            Some(error) if self.allow_immobile && !self.strict => {
                model.warn(Warning {
                    message: format!(
                        "{}; accelerations and simulations are rejected",
                        error.message()
                    ),
                    place: error.place().clone(),
                });
            }
            Some(error) => return Err(error),
        }
        model.eliminate_couplings()?;
        Ok(model)
    }
}

/// No freedom is without inertia: m̂ of every freedom is positive at some state.
///
/// Three random states are tried; a freedom whose m̂ stays below 1e-12 of the inertia around it in all of them has nothing
/// to resist its effort, unless [`sharp_pivots`] finds a small inertia.
///
/// The error for a freedom without inertia is returned as a value: a reader may turn it into a warning.
fn mobility(model: &Model) -> Result<Option<Error>> {
    let mut factors = Factorization::new(model);
    let mut best = vec![0.0f64; model.nv()];
    for seed in STATES {
        let state = State::random(model, seed);
        factors.factorize(model, &state.q);
        for (best, pivot) in best.iter_mut().zip(factors.relative_pivots(model)) {
            *best = best.max(pivot);
        }
    }
    if best.iter().all(|&pivot| pivot >= 1e-12) {
        return Ok(None);
    }
    let known = sharp_pivots(model);
    // from the tips: a freedom without inertia invalidates the pivots of all before it
    for (k, &pivot) in best.iter().enumerate().rev() {
        if pivot < 1e-12 && !known[k] {
            let dof = &model.tree().dofs[k];
            let body = &model.tree().bodies[dof.body];
            let carried = factors.articulated_inertia(dof.body);
            if !(carried.rotational.trace() + carried.translational.trace()).is_finite() {
                return Err(Error::new(
                    ErrorKind::Physics,
                    format!(
                        "inertia of body `{}` and what it carries overflows",
                        body.name
                    ),
                )
                .at(body.place.clone())
                .hint("masses and lengths are in kg and m"));
            }
            let error = Error::new(
                ErrorKind::Physics,
                format!(
                    "joint `{}` cannot be moved by finite forces: body `{}` and what it carries have no inertia along its freedom `{}`",
                    body.joint, body.name, dof.name
                ),
            )
            .at(body.place.clone())
            .hint(format!(
                "give `{}` mass and inertia, give the joint a rotor (`armature`), or make the joint fixed",
                body.name
            ));
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// Which pivots are genuine inertia of the model, however small, and not round-off, at one of the states?
///
/// Such a pivot is the same, to three digits at least, in `f64` and in double-double arithmetic, and
/// also if every number of the model is changed in its last digit. It is more than 1e-26 of the inertia around it: a mass whose distance
/// from an axis is round-off leaves the square of that.
fn sharp_pivots(model: &Model) -> Vec<bool> {
    let models = [
        model.clone(),
        model.with_other_last_digits(1),
        model.with_other_last_digits(2),
    ];
    let mut known = vec![false; model.nv()];
    for seed in STATES {
        let state = State::random(model, seed);
        let mut plain = Factorization::new(model);
        plain.factorize(model, &state.q);
        let plain = plain.relative_pivots(model);
        let q: Vec<DoubleDouble> = state.q.iter().map(|&q| q.into()).collect();
        let sharp = models.each_ref().map(|model| {
            let mut factors = Factorization::<DoubleDouble>::new(model);
            factors.factorize(model, &q);
            factors.relative_pivots(model)
        });
        for (k, known) in known.iter_mut().enumerate() {
            let pivot = sharp[0][k].value();
            let same = |other: f64| (other - pivot).abs() < 1e-3 * pivot;
            *known |= pivot > 1e-26
                && same(plain[k])
                && sharp[1..].iter().all(|pivots| same(pivots[k].value()));
        }
    }
    known
}

/// Checks that the joints keep the axes of wheels on wheels parallel: only then do they touch in the plane of both.
fn parallel_axes(model: &Model) -> Result<()> {
    for constraint in model.constraints() {
        let Rule::Contact {
            surface: Surface::Cylinder(_),
            between,
            wheel: true,
            ..
        } = &constraint.rule
        else {
            continue;
        };
        for seed in STATES {
            let state = State::random(model, seed).of_tree(model);
            let mut bodies = Kinematics::new(model);
            let still = vec![0.0; state.v.len()];
            forward_kinematics(model, state.view(), &still, &mut bodies);
            let axis = |body: usize, frame: &Pose<f64>| {
                bodies.world_from_body[body].rotation * frame.rotation.z
            };
            let track = axis(between.parent, &between.parent_from_joint);
            let wheel = axis(between.child, &between.child_from_joint);
            if !within(track.cross(wheel).norm(), 1e-9) {
                let message = format!(
                    "constraint `{}`: the joints let the wheel tilt against the axis of what it rolls on",
                    constraint.name
                );
                return Err(Error::new(ErrorKind::Model, message).at(constraint.place.clone()).hint(
                    "carry both by joints that keep their axes parallel, planar or revolute ones; or leave out the wheel's axis for a sphere",
                ));
            }
        }
    }
    Ok(())
}
