//! Chou's n-body pendulum, a chain of spherical joints on a fixed pivot: kind `pendulum_sim`.
//!
//! The case describes every body by its absolute orientation and angular velocity, catena by those relative to the body
//! before it. With a_i from the outboard to the inboard joint of body i and r_i from the outboard joint to its mass centre,
//! both in its axes, the joints are at a_i − r_i (inboard) and −r_i (outboard) from the mass centre.

use super::COMMON_KEYS;
use super::element::{Element, Object};
use super::noise::{Subject, foundations};
use super::report::Numbers;
use super::response::{BodyMotion, Response, Situation, System, mechanical_quantity};
use super::serial::{case_builder, expect_kind};
use super::simulation::{Run, read_instants, turn_towards};
use catena::error::Result;
use catena::model::{Inertial, JointKind, JointSpec, LinkSpec};
use catena::simulate::Inputs;
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Model, State};

type Quaternion = [f64; 4];

fn read_model(element: &Element<'_>) -> Result<Model> {
    let object = element.object(&["kind", "gravity", "pivot", "mass", "inertia", "a", "r"])?;
    expect_kind(&object, "pendulum")?;
    let mut builder = case_builder(&object)?;
    let masses = object.require("mass")?.list()?;
    let per_body = |key: &str, what: &str| object.require(key)?.list_of(masses.len(), what);
    let tensors = per_body("inertia", "3×3 matrices, one per body")?;
    let lengths = per_body("a", "vectors, one per body")?;
    let centres = per_body("r", "vectors, one per body")?;
    let mut parent = String::from("world");
    let mut hinge = object.require("pivot")?.vector()?;
    for (index, mass) in masses.iter().enumerate() {
        let name = format!("body{index}");
        builder.links.push(LinkSpec {
            name: name.clone(),
            inertial: Some(Inertial {
                mass: mass.number()?,
                centre: Vec3::zero(),
                tensor: tensors[index].symmetric()?,
            }),
            place: mass.place(),
            ..LinkSpec::default()
        });
        let centre = centres[index].vector()?;
        let inboard = lengths[index].vector()? - centre;
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(hinge),
            joint_from_child: Pose::shift(-inboard),
            place: mass.place(),
            ..JointSpec::new(
                &format!("joint{index}"),
                JointKind::Spherical,
                &parent,
                &name,
            )
        });
        parent = name;
        hinge = -centre;
    }
    element.build(&builder)
}

/// Kind `pendulum_sim`.
pub(super) fn simulation<'a>(case: &Element<'a>) -> Result<Run<'a>> {
    let own_keys = ["model", "p0", "w0_body", "samples"];
    let top = case.object(&[COMMON_KEYS, &own_keys].concat())?;
    let model = read_model(&top.require("model")?)?;
    Ok(Run {
        initial: read_state(&top, &model)?,
        inputs: Inputs::default(),
        instants: read_instants(&top)?,
        stabilisation: Default::default(),
        model: model.clone(),
        view: Box::new(move |situation, sample| {
            Ok(Box::new(Pendulum::new(&model, situation, sample)?))
        }),
    })
}

/// Relative orientations and angular velocities from the absolute ones.
fn read_state(top: &Object<'_>, model: &Model) -> Result<State> {
    let count = model.body_count();
    let quaternions = top.require("p0")?.list_of(count, "quaternions")?;
    let velocities = top.require("w0_body")?.list_of(count, "vectors")?;
    let mut q = vec![0.0; model.nq()];
    let mut v = vec![0.0; model.nv()];
    let mut before = ([1.0, 0.0, 0.0, 0.0], Vec3::zero());
    for (body, (p, omega)) in model.bodies().zip(quaternions.iter().zip(&velocities)) {
        let (p, omega) = (p.quaternion()?, omega.vector()?);
        let [w, x, y, z] = before.0;
        let relative = product([w, -x, -y, -z], p);
        let carried = Mat3::from_quaternion(relative).transpose_times(before.1);
        q[model.tree().q_range(body)].copy_from_slice(&relative);
        v[model.tree().dof_range(body)].copy_from_slice(&(omega - carried).to_array());
        before = (p, omega);
    }
    State::new(model, &q, &v).map_err(|error| top.element.blame(error))
}

/// The pendulum at an instant of its motion.
struct Pendulum {
    system: System,
    situation: Situation,
    responses: Vec<Response>,
    /// Absolute orientation of every body and its rate, with the signs that the sample gives them.
    orientations: Vec<(Quaternion, Quaternion)>,
}

impl Pendulum {
    fn new(model: &Model, situation: Situation, sample: &Object<'_>) -> Result<Self> {
        let mut system = System::of_links(model, Default::default());
        let responses = system.responses(&situation)?;
        let mut orientations = Vec::new();
        let mut before = [1.0, 0.0, 0.0, 0.0];
        for body in model.bodies() {
            let mut relative = [0.0; 4];
            relative.copy_from_slice(&situation.state.q[model.tree().q_range(body)]);
            let p = product(before, relative);
            let [x, y, z] = body_velocity(&responses[0].bodies[body]).to_array();
            let s = product(p, [0.0, x, y, z]).map(|x| 0.5 * x);
            orientations.push((p, s));
            before = p;
        }
        align(&mut orientations, sample)?;
        Ok(Pendulum {
            system,
            situation,
            responses,
            orientations,
        })
    }

    /// A vector of every body, by every method.
    fn per_body(&self, vector: impl Fn(&BodyMotion) -> Vec3<f64>) -> Vec<Numbers> {
        self.routes(|_| true, vector)
    }

    fn routes(
        &self,
        wanted: impl Fn(&Response) -> bool,
        vector: impl Fn(&BodyMotion) -> Vec3<f64>,
    ) -> Vec<Numbers> {
        let bodies = self.system.model().bodies();
        let responses = self.responses.iter().filter(|response| wanted(response));
        responses
            .map(|response| {
                let bodies = bodies.clone();
                Numbers::list(bodies.map(|body| vector(&response.bodies[body])))
            })
            .collect()
    }
}

impl Subject for Pendulum {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "p" => vec![Numbers::list(
                self.orientations.iter().map(|(p, _)| Numbers::list(*p)),
            )],
            "s" => vec![Numbers::list(
                self.orientations.iter().map(|(_, s)| Numbers::list(*s)),
            )],
            "w_body" => self.per_body(body_velocity),
            "R" => self.per_body(|body| body.position),
            "V" => self.per_body(|body| body.velocity),
            "Vdot" => self.per_body(|body| body.acceleration),
            "wdot_body" => {
                self.per_body(|body| body.rotation.transpose_times(body.angular_acceleration))
            }
            "joint_force_on_child" => {
                self.routes(|response| response.has_loads, |body| -body.hinge_force)
            }
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

fn body_velocity(body: &BodyMotion) -> Vec3<f64> {
    body.rotation.transpose_times(body.angular_velocity)
}

/// p and −p are the same orientation, but s = ṗ must have the sign of its p: both follow the sample's p, or its s if it has
/// no p.
fn align(orientations: &mut [(Quaternion, Quaternion)], sample: &Object<'_>) -> Result<()> {
    let count = orientations.len();
    if let Some(expected) = sample.get("p") {
        let expected = expected.list_of(count, "quaternions")?;
        for ((p, s), expected) in orientations.iter_mut().zip(&expected) {
            if turn_towards(p, &expected.numbers(4)?) {
                *s = s.map(|x| -x);
            }
        }
    } else if let Some(expected) = sample.get("s") {
        let expected = expected.list_of(count, "rates of quaternions")?;
        for ((_, s), expected) in orientations.iter_mut().zip(&expected) {
            turn_towards(s, &expected.numbers(4)?);
        }
    }
    Ok(())
}

/// The rotation b followed by a.
fn product([aw, ax, ay, az]: Quaternion, [bw, bx, by, bz]: Quaternion) -> Quaternion {
    [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]
}
