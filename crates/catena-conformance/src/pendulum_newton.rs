//! One Newton step of Chou's pendulum: kind `pendulum_newton`.
//!
//! The case gives X and Ẋ of every body, σ, and the dependent Euler parameter u of every body. Expected are the residuals
//! E(X, Ẋ), the corrections ΔX of J ΔX = E, which are computed by all four schemes, and the velocity system J_R ΔV = E_R.

use super::element::{Element, Object};
use super::noise::{Sample, Subject};
use super::report::Numbers;
use super::serial::expect_kind;
use super::{COMMON_KEYS, unknown_quantity};
use catena::algorithm::pendulum::euler::rotation;
use catena::algorithm::pendulum::{
    Equations, Linear, Newton, Pendulum, Rod, Scheme, UNKNOWNS, Unknowns, residual,
};
use catena::error::{Error, ErrorKind, Result};

/// Values, their rates, σ and u.
pub(super) struct Step {
    pendulum: Pendulum,
    x: Vec<f64>,
    xdot: Vec<f64>,
    sigma: f64,
    dependent: Vec<u8>,
    equations: Vec<f64>,
    /// Corrections by every scheme, once they are known; the linear one first.
    corrections: Option<Vec<Vec<f64>>>,
}

/// Kind `pendulum_newton`.
pub(super) fn steps<'a>(case: &Element<'a>) -> Result<Vec<Sample<'a, Step>>> {
    let own_keys = ["model", "sigma", "u", "X", "Xdot", "expected"];
    let top = case.object(&[COMMON_KEYS, &own_keys].concat())?;
    let pendulum = read_pendulum(&top.require("model")?)?;
    let n = pendulum.bodies();
    let sigma = top.require("sigma")?;
    if sigma.number()? <= 0.0 {
        return Err(sigma.error("must be positive"));
    }
    let choices = top.require("u")?.list_of(n, "numbers, one per body")?;
    let mut dependent = Vec::new();
    for choice in &choices {
        dependent.push(choice.index(0, 4)? as u8);
    }
    let x = read_values(&top.require("X")?, n)?;
    for (body, choice) in choices.iter().enumerate() {
        let p = Unknowns::of(&x, body).parameters;
        if p[dependent[body] as usize] == 0.0 {
            return Err(choice.error("is a parameter that is zero: it is divided by"));
        }
    }
    let xdot = read_values(&top.require("Xdot")?, n)?;
    let mut equations = vec![0.0; x.len()];
    residual(&pendulum, &dependent, &x, &xdot, &mut equations);
    Ok(vec![Sample {
        element: case.clone(),
        expected: read_expected(&top.require("expected")?.open_object()?)?,
        subject: Step {
            pendulum,
            x,
            xdot,
            sigma: sigma.number()?,
            dependent,
            equations,
            corrections: None,
        },
    }])
}

/// Expected quantities; `residual` and `delta` are objects of them.
fn read_expected<'a>(expected: &Object<'a>) -> Result<Vec<(String, Element<'a>)>> {
    let mut all = Vec::new();
    for (name, element) in expected.quantities("")? {
        match name.as_str() {
            "residual" | "delta" => {
                all.extend(element.open_object()?.quantities(&format!("{name}."))?);
            }
            "JR" | "ER" => all.push((name, element)),
            _ => return Err(unknown_quantity(&element, &name)),
        }
    }
    Ok(all)
}

fn read_pendulum(element: &Element<'_>) -> Result<Pendulum> {
    let object = element.object(&["kind", "gravity", "pivot", "mass", "inertia", "a", "r"])?;
    expect_kind(&object, "pendulum")?;
    let masses = object.require("mass")?.list()?;
    let per_body = |key: &str, what: &str| object.require(key)?.list_of(masses.len(), what);
    let tensors = per_body("inertia", "3×3 matrices, one per body")?;
    let lengths = per_body("a", "vectors, one per body")?;
    let centres = per_body("r", "vectors, one per body")?;
    let mut rods = Vec::new();
    for (index, mass) in masses.iter().enumerate() {
        rods.push(Rod {
            mass: mass.number()?,
            inertia: tensors[index].symmetric()?,
            a: lengths[index].vector()?,
            r: centres[index].vector()?,
        });
    }
    let gravity = object.require("gravity")?.vector()?;
    let pivot = object.require("pivot")?.vector()?;
    Pendulum::new(gravity, pivot, &rods).map_err(|error| element.blame(error))
}

/// R, V, P, S of every body, in one vector.
fn read_values(element: &Element<'_>, bodies: usize) -> Result<Vec<f64>> {
    let object = element.object(&["R", "V", "P", "S"])?;
    let mut values = vec![0.0; bodies * UNKNOWNS];
    for (key, at, count) in [("R", 0, 3), ("V", 3, 3), ("P", 6, 4), ("S", 10, 4)] {
        let lists = object.require(key)?.list_of(bodies, "lists of numbers")?;
        for (body, list) in lists.iter().enumerate() {
            let at = body * UNKNOWNS + at;
            values[at..at + count].copy_from_slice(&list.numbers(count)?);
        }
    }
    Ok(values)
}

impl Step {
    fn corrections(&mut self) -> Result<&[Vec<f64>]> {
        if self.corrections.is_none() {
            let mut all = Vec::new();
            for scheme in Scheme::ALL.into_iter().rev() {
                let mut newton = Newton::new(scheme, self.pendulum.bodies());
                let mut correction = vec![0.0; self.x.len()];
                newton.factorize(
                    &self.pendulum,
                    &self.dependent,
                    &self.x,
                    &self.xdot,
                    self.sigma,
                )?;
                newton.solve(&self.pendulum, &self.equations, &mut correction);
                all.push(correction);
            }
            self.corrections = Some(all);
        }
        Ok(self.corrections.as_deref().unwrap_or_default())
    }

    fn residuals<N: Into<Numbers>>(&self, part: impl Fn(Equations) -> N) -> Vec<Numbers> {
        let bodies = 0..self.pendulum.bodies();
        vec![Numbers::list(
            bodies.map(|body| part(Equations::of(&self.equations, body))),
        )]
    }

    fn deltas<N: Into<Numbers>>(
        &mut self,
        part: impl Fn(Unknowns) -> N + Copy,
    ) -> Result<Vec<Numbers>> {
        let bodies = self.pendulum.bodies();
        let corrections = self.corrections()?.iter();
        Ok(corrections
            .map(|x| Numbers::list((0..bodies).map(|body| part(Unknowns::of(x, body)))))
            .collect())
    }

    fn velocity_system(&self) -> Result<catena::algorithm::pendulum::VelocitySystem<f64>> {
        let mut linear = Linear::new(self.pendulum.bodies());
        linear
            .factorize(
                &self.pendulum,
                &self.dependent,
                &self.x,
                &self.xdot,
                self.sigma,
            )
            .map_err(|body| {
                let message = format!("body {} has no usable pivot", body + 1);
                Error::new(ErrorKind::Singular, message)
            })?;
        Ok(linear.velocity_system(&self.pendulum, &self.dependent, &self.equations))
    }
}

impl Subject for Step {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "residual.G" => self.residuals(|e| e.joint),
            "residual.Gdot" => self.residuals(|e| e.joint_rate),
            "residual.I1" => self.residuals(|e| e.length),
            "residual.I2" => self.residuals(|e| e.length_rate),
            "residual.I3" => self.residuals(|e| Numbers::list(e.rates)),
            "residual.F" => self.residuals(|e| e.moment),
            "delta.R" => self.deltas(|x| x.position)?,
            "delta.V" => self.deltas(|x| x.velocity)?,
            "delta.P" => self.deltas(|x| Numbers::list(x.parameters))?,
            "delta.S" => self.deltas(|x| Numbers::list(x.rates))?,
            "JR" => vec![Numbers::from(&self.velocity_system()?.matrix)],
            "ER" => vec![Numbers::from(self.velocity_system()?.right)],
            _ => return Ok(None),
        }))
    }

    /// Entries of the matrices A, which are rotations as far as X is consistent, and the logarithm of σ.
    fn foundations(&mut self) -> Result<Numbers> {
        let bodies = 0..self.pendulum.bodies();
        let rotations = bodies.map(|body| rotation(Unknowns::of(&self.x, body).parameters));
        Ok(Numbers::list([
            Numbers::from(self.sigma.ln()),
            Numbers::list(rotations),
        ]))
    }
}
