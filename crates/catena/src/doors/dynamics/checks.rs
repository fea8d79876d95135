//! Checks that reject states and forces that do not belong to the model, pivots that are not positive, and non-finite results.

use super::Dynamics;
pub(crate) use crate::elementary::all_finite;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{FrameInfo, Model};
use crate::spatial::Force;
use crate::state::{Base, State, check_length};

impl Dynamics {
    /// Checks that this is a state of the model.
    pub(crate) fn check(&self, state: &State) -> Result<()> {
        self.check_state(state).map(|_| ())
    }

    /// Checks that these are a state, efforts and wrenches of the model. Returns whether wrenches act, including those of force elements.
    pub(crate) fn check_forward(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<bool> {
        self.check_state(state)?;
        self.check_vector("efforts", tau)?;
        self.load(state, external)
    }

    /// Checks that this is a state of the model. Returns whether its base is at rest at the origin.
    pub(super) fn check_state(&self, state: &State) -> Result<bool> {
        check_length("positions q", state.q.len(), self.model.nq())?;
        check_length("velocities v", state.v.len(), self.model.nv())?;
        if !(all_finite(&state.q) && all_finite(&state.v)) {
            return Err(State::new(&self.model, &state.q, &state.v)
                .err()
                .unwrap_or_else(|| Error::new(ErrorKind::Input, "the state is not finite")));
        }
        let is_at_rest = self.check_base(&state.base)?;
        for &(body, k) in &self.quaternions {
            let p = &state.q[k..k + 4];
            let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
            if (squared - 1.0).abs() > 1e-9 {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "quaternion of joint `{}` has length {:.9}, not 1",
                        self.model.tree().bodies[body].joint,
                        squared.sqrt()
                    ),
                )
                .hint("make states with `State::new`, which normalises, and move them with `State::step`"));
            }
        }
        Ok(is_at_rest)
    }

    /// Checks that the motion of the base is finite and its rotation valid. Returns whether the base is at rest at the origin.
    fn check_base(&self, base: &Base<f64>) -> Result<bool> {
        if base.is_fixed() {
            return Ok(true);
        }
        let r = base.pose.rotation;
        let parts = [
            r.x,
            r.y,
            r.z,
            base.pose.translation,
            base.velocity.angular,
            base.velocity.linear,
            base.acceleration.angular,
            base.acceleration.linear,
        ];
        if parts.iter().any(|v| !all_finite(&v.to_array())) {
            return Err(Error::new(
                ErrorKind::Input,
                "the motion of the base is not finite",
            ));
        }
        let error = r.transpose() * r - crate::spatial::Mat3::identity();
        let worst = error.x.norm().max(error.y.norm()).max(error.z.norm());
        if worst > 1e-9 || r.x.cross(r.y).dot(r.z) < 0.0 {
            return Err(Error::new(
                ErrorKind::Input,
                "the orientation of the base is not a rotation matrix",
            ));
        }
        Ok(false)
    }

    pub(super) fn check_vector(&self, what: &str, x: &[f64]) -> Result<()> {
        check_length(what, x.len(), self.model.nv())?;
        if all_finite(x) {
            return Ok(());
        }
        match x.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(k) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "{what}: entry of `{}` is {}",
                    self.model.tree().dofs[k].name,
                    x[k]
                ),
            )
            .hint("every number must be finite")),
        }
    }

    pub(super) fn check_external(&self, external: &[Force<f64>]) -> Result<()> {
        if external.is_empty() {
            return Ok(());
        }
        check_length(
            "external wrenches (one per body, the ground included)",
            external.len(),
            self.model.body_count() + 1,
        )?;
        if let Some(body) = external
            .iter()
            .position(|f| f.to_array().iter().any(|x| !x.is_finite()))
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the external wrench on body `{}` is not finite",
                    self.model.tree().bodies[body].name
                ),
            ));
        }
        Ok(())
    }

    pub(super) fn check_body(&self, body: usize) -> Result<()> {
        if body <= self.model.body_count() {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Input,
                format!(
                    "there is no body {body}: model `{}` has {}",
                    self.model.name(),
                    self.model.body_count()
                ),
            ))
        }
    }

    pub(crate) fn singular(&self, k: usize, inverse: f64) -> Error {
        singular(&self.model, k, inverse)
    }
}

/// Why freedom k, the last without a usable pivot, has none: 1/m̂ is 0 or NaN where m̂ overflowed.
#[cold]
pub(super) fn singular(model: &Model, k: usize, inverse: f64) -> Error {
    let dof = model.freedom(k);
    let body = &model.tree().bodies[dof.body];
    if inverse == 0.0 || inverse.is_nan() {
        return Error::new(
            ErrorKind::Input,
            format!(
                "the inertia of body `{}` and what it carries overflows at this state, seen along `{}`",
                body.name, dof.name
            ),
        )
        .at(body.place.clone())
        .hint("masses, lengths or positions are too large for double precision");
    }
    Error::new(
            ErrorKind::Singular,
            format!(
                "joint `{}` cannot be accelerated at this state: body `{}` and what it carries have no inertia along `{}`",
                body.joint, body.name, dof.name
            ),
        )
        .at(body.place.clone())
        .hint("give the body inertia, give the joint a rotor (`armature`), or make the joint fixed")
}

/// Checks that every freedom has a pivot to divide by.
pub(crate) fn check_pivots_of(model: &Model, inverse: &[f64]) -> Result<()> {
    match not_positive(inverse) {
        None => Ok(()),
        Some(k) => Err(singular(model, k, inverse[k])),
    }
}

/// Are all inverse pivots positive and finite? Has no branch per entry, since as a rule all are.
pub(super) fn all_positive(inverse: &[f64]) -> bool {
    let mut all = true;
    for x in inverse {
        all &= (*x > 0.0) & (*x < f64::INFINITY);
    }
    all
}

/// The last freedom whose inverse pivot is not a positive number.
fn not_positive(inverse: &[f64]) -> Option<usize> {
    match all_positive(inverse) {
        true => None,
        false => inverse.iter().rposition(|x| !(x.is_finite() && *x > 0.0)),
    }
}

/// Are all numbers so small that products of five of them and a million summands are finite?
pub(super) fn modest(x: &[f64]) -> bool {
    let mut all = true;
    for x in x {
        all &= x.abs() < 1e50;
    }
    all
}

/// Are all numbers of a model that enter its inertia matrix that small?
pub(super) fn modest_model(model: &Model) -> bool {
    let bodies = model.bodies().all(|i| {
        let (body, s) = (&model.bodies[i], model.bodies[i].inertia.second);
        modest(&[
            body.pitch,
            body.inertia.mass,
            s.xx,
            s.yy,
            s.zz,
            s.xy,
            s.xz,
            s.yz,
        ]) && modest(&body.inertia.first.to_array())
            && modest(&body.placement.translation.to_array())
    });
    bodies && model.dofs.iter().all(|dof| modest(&[dof.armature]))
}

pub(super) fn finite_result(what: &str, model: &Model, x: &[f64]) -> Result<()> {
    if all_finite(x) {
        return Ok(());
    }
    let k = x.iter().position(|x| !x.is_finite()).unwrap_or(0);
    Err(overflow(what, model, k))
}

/// Rejects a non-finite quantity of a frame.
pub(super) fn finite_frame(what: &str, frame: &FrameInfo, x: &[f64]) -> Result<()> {
    if all_finite(x) {
        return Ok(());
    }
    Err(too_large(&format!("the {what} of frame `{}`", frame.name)))
}

/// Rejects non-finite results.
#[cold]
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::Input, format!("{what} overflows"))
        .hint("positions, velocities or forces are too large for double precision")
}

#[cold]
pub(super) fn overflow(what: &str, model: &Model, freedom: usize) -> Error {
    let name = &model.freedom(freedom).name;
    Error::new(
        ErrorKind::Input,
        format!("{what}: the result for `{name}` overflows"),
    )
    .hint("positions, velocities or forces are too large for double precision")
}
