//! A serial arm on a free base: kinds `space_accel` and `space_sim`.

use super::COMMON_KEYS;
use super::element::Element;
use super::multibody::read_loads;
use super::noise::{Sample, Subject, foundations};
use super::report::Numbers;
use super::response::{BodyMotion, Response, Situation, System, mechanical_quantity};
use super::serial::{add_links, case_builder, expect_kind};
use super::simulation::{RUN_KEYS, Run, read_controller, read_instants, turn_towards};
use catena::algorithm::factorization::EndEffector;
use catena::error::Result;
use catena::model::{Inertial, JointKind, JointSpec, LinkSpec};
use catena::simulate::Inputs;
use catena::spatial::{Mat3, Motion, Pose, Vec3};
use catena::{Model, State};

/// The free body among catena's bodies; the links follow it.
const BASE: usize = 1;

fn read_robot(model: &Element<'_>) -> Result<Model> {
    let object = model.object(&["kind", "gravity", "base", "links"])?;
    expect_kind(&object, "space_robot")?;
    let mut builder = case_builder(&object)?;
    let element = object.require("base")?;
    let base = element.object(&["mass", "inertia", "o1", "q1"])?;
    builder.links.push(LinkSpec {
        name: "base".into(),
        inertial: Some(Inertial {
            mass: base.require("mass")?.number()?,
            centre: Vec3::zero(),
            tensor: base.require("inertia")?.symmetric()?,
        }),
        place: element.place(),
        ..LinkSpec::default()
    });
    builder.joint(JointSpec::new("free", JointKind::Free, "world", "base"));
    add_links(&mut builder, "base", &object.require("links")?)?;
    if let Some(first) = builder.joints.get_mut(1) {
        let rotation = match base.get("q1") {
            Some(quaternion) => Mat3::from_quaternion(quaternion.quaternion()?),
            None => Mat3::identity(),
        };
        first.parent_from_joint = Pose::new(rotation, base.require("o1")?.vector()?);
    }
    model.build(&builder)
}

fn read_state(state: &Element<'_>, model: &Model) -> Result<State> {
    let object = state.object(&["x0", "quat0", "v0", "w0_body", "q", "qd"])?;
    let links = model.nv() - 6;
    let mut q = object.require("x0")?.numbers(3)?;
    q.extend(object.require("quat0")?.quaternion()?);
    q.extend(object.require("q")?.numbers(links)?);
    let mut v = object.require("v0")?.numbers(3)?;
    v.extend(object.require("w0_body")?.numbers(3)?);
    v.extend(object.require("qd")?.numbers(links)?);
    State::new(model, &q, &v).map_err(|error| state.blame(error))
}

/// Kind `space_accel`.
pub(super) fn accelerations<'a>(case: &Element<'a>) -> Result<Vec<Sample<'a, Robot>>> {
    let own_keys = ["model", "state", "tau", "xe", "samples"];
    let top = case.object(&[COMMON_KEYS, &own_keys].concat())?;
    let model = read_robot(&top.require("model")?)?;
    let bodies: Vec<usize> = model.bodies().collect();
    let mut samples = Vec::new();
    for element in top.require("samples")?.list()? {
        let sample = element.object(&["state", "tau", "xe", "external", "expected"])?;
        // values missing in a sample are those of the case
        let find = |key: &str| sample.get(key).or_else(|| top.get(key));
        let state = find("state").map_or_else(|| top.require("state"), Ok)?;
        let mut tau = vec![0.0; model.nv()];
        if let Some(efforts) = find("tau") {
            tau[6..].copy_from_slice(&efforts.numbers(model.nv() - 6)?);
        }
        let situation = Situation {
            state: read_state(&state, &model)?,
            tau,
            external: read_loads(&sample, &bodies)?,
        };
        let point = find("xe").map(|point| point.vector()).transpose()?;
        let robot = Robot::new(&model, situation, point.unwrap_or_default());
        samples.push(Sample {
            subject: robot.map_err(|error| element.blame(error))?,
            expected: sample.require("expected")?.open_object()?.quantities("")?,
            element,
        });
    }
    Ok(samples)
}

/// Kind `space_sim`.
pub(super) fn simulation<'a>(case: &Element<'a>) -> Result<Run<'a>> {
    let top = case.object(&[COMMON_KEYS, RUN_KEYS, &["state"]].concat())?;
    let model = read_robot(&top.require("model")?)?;
    let controller = read_controller(&top, |element| {
        let mut tau = vec![0.0; 6];
        tau.extend(element.numbers(model.nv() - 6)?);
        Ok(tau)
    })?;
    Ok(Run {
        initial: read_state(&top.require("state")?, &model)?,
        inputs: Inputs {
            controller,
            ..Inputs::default()
        },
        instants: read_instants(&top)?,
        stabilisation: Default::default(),
        model: model.clone(),
        view: Box::new(move |situation, sample| {
            let mut orientation = situation.state.q[3..7].to_vec();
            if let Some(expected) = sample.get("quat0") {
                turn_towards(&mut orientation, &expected.numbers(4)?);
            }
            Ok(Box::new(Flying {
                robot: Robot::new(&model, situation, Vec3::zero())?,
                orientation,
            }))
        }),
    })
}

/// The robot at an instant of its motion.
struct Flying {
    robot: Robot,
    /// Quaternion of the base, with the sign that the sample gives it.
    orientation: Vec<f64>,
}

impl Subject for Flying {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        let State { q, v, .. } = &self.robot.situation.state;
        let own = match name {
            "x0" => &q[..3],
            "quat0" => &self.orientation,
            "w0_body" => &v[3..6],
            "q" => &q[7..],
            "qd" => &v[6..],
            "w0_inertial" => return self.robot.quantity("w0"),
            _ => return self.robot.quantity(name),
        };
        Ok(Some(vec![own.into()]))
    }

    fn foundations(&mut self) -> Result<Numbers> {
        self.robot.foundations()
    }
}

/// The robot under given loads.
pub(super) struct Robot {
    system: System,
    situation: Situation,
    /// The point E, from the mass centre of the base in its axes.
    point: Vec3<f64>,
    responses: Vec<Response>,
}

impl Robot {
    fn new(model: &Model, situation: Situation, point: Vec3<f64>) -> Result<Self> {
        let mut system = System::new(model);
        Ok(Robot {
            responses: system.responses(&situation)?,
            system,
            situation,
            point,
        })
    }

    /// A quantity from the response of every method.
    fn each<'a, T: Into<Numbers>>(&'a self, quantity: impl Fn(&'a Response) -> T) -> Vec<Numbers> {
        self.responses.iter().map(|r| quantity(r).into()).collect()
    }

    /// A quantity of the base.
    fn base(&self, quantity: impl Fn(&BodyMotion) -> Vec3<f64>) -> Vec<Numbers> {
        self.each(|response| quantity(&response.bodies[BASE]))
    }

    /// A quantity of the base and every link.
    fn bodies(&self, quantity: impl Fn(&BodyMotion) -> Vec3<f64>) -> Vec<Numbers> {
        self.each(|response| Numbers::list(response.bodies[BASE..].iter().map(&quantity)))
    }

    /// The paper's variables; none where the factorization fails.
    fn end_effector(&mut self) -> Result<Option<EndEffector<f64>>> {
        let factors = self
            .system
            .dynamics()
            .factorization(&self.situation.state)?;
        let model = self.system.model();
        Ok(EndEffector::new(model, &factors, BASE, self.point))
    }

    /// t_e = (ω; v_E), by the paper's variables and from the motion of the body.
    fn twist(&mut self) -> Result<Vec<Numbers>> {
        let mut routes = Vec::new();
        if let Some(end_effector) = self.end_effector()? {
            let twist = end_effector.twist(&self.situation.state.v[..6]);
            routes.push(Numbers::list(twist.to_array()));
        }
        let body = &self.responses[0].bodies[BASE];
        let arm = body.rotation * self.point;
        let omega = body.angular_velocity;
        let twist = Motion::new(omega, body.velocity + omega.cross(arm));
        routes.push(Numbers::list(twist.to_array()));
        Ok(routes)
    }

    /// ṫ_e = (ω̇; a_E), by the paper's variables and from the motion of the body.
    fn twist_rate(&mut self) -> Result<Vec<Numbers>> {
        let end_effector = self.end_effector()?;
        let mut routes = Vec::new();
        for response in &self.responses {
            if let Some(end_effector) = &end_effector {
                let rates = &self.situation.state.v[..6];
                let rate = end_effector.twist_rate(rates, &response.vdot[..6]);
                routes.push(Numbers::list(rate.to_array()));
            }
            let body = &response.bodies[BASE];
            let arm = body.rotation * self.point;
            let (omega, alpha) = (body.angular_velocity, body.angular_acceleration);
            let turning = alpha.cross(arm) + omega.cross(omega.cross(arm));
            let rate = Motion::new(alpha, body.acceleration + turning);
            routes.push(Numbers::list(rate.to_array()));
        }
        Ok(routes)
    }
}

impl Subject for Robot {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "w0" => self.base(|body| body.angular_velocity),
            "v0" => self.base(|body| body.velocity),
            "base_lin_acc" => self.base(|body| body.acceleration),
            "base_ang_acc" => self.base(|body| body.angular_acceleration),
            "body_lin_acc" => self.bodies(|body| body.acceleration),
            "body_ang_acc" => self.bodies(|body| body.angular_acceleration),
            "theta_dd" => self.each(|response| &response.vdot[6..]),
            "t_e" => self.twist()?,
            "te_dot" => self.twist_rate()?,
            _ => {
                let response = &self.responses[0];
                return mechanical_quantity(name, &mut self.system, &self.situation, response);
            }
        }))
    }

    fn foundations(&mut self) -> Result<Numbers> {
        foundations(self.system.dynamics(), &self.situation.state)
    }
}
