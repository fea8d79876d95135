//! Trees of bodies described about their mass centres: kinds `multibody_accel` and `multibody_sim`.

use super::COMMON_KEYS;
use super::element::{Element, Object};
use super::graph;
use super::noise::{Sample, Subject, foundations};
use super::report::Numbers;
use super::response::{BodyMotion, Load, Response, Situation, System, mechanical_quantity};
use super::serial::{case_builder, expect_kind};
use super::simulation::{RUN_KEYS, Run, read_controller, read_instants, turn_towards};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{AxisPair, Dof, Inertial, JointKind, JointSpec, LinkSpec};
use catena::simulate::{FrameWrench, Inputs};
use catena::spatial::{Force, Mat3, Motion, Pose, Vec3};
use catena::{Base, Model, State};
use std::rc::Rc;

/// The joint types of the format.
pub(super) const JOINT_TYPES: [JointKind; 8] = [
    JointKind::Revolute,
    JointKind::Prismatic,
    JointKind::Helical,
    JointKind::Cylindrical,
    JointKind::Universal,
    JointKind::Spherical,
    JointKind::Planar,
    JointKind::Free,
];

/// A model, and which of catena's bodies the case means.
pub(super) struct Multibody {
    pub model: Model,
    /// Catena's number of each body of the case.
    pub bodies: Vec<usize>,
    /// Catena's number of the child of each joint of the case.
    pub children: Vec<usize>,
}

/// Reads a model of the form `multibody`.
pub(super) fn read_model(element: &Element<'_>, case_kind: &str) -> Result<Multibody> {
    let object = element.object(&["kind", "gravity", "bodies", "joints", "loops"])?;
    expect_kind(&object, "multibody")?;
    if let Some(loops) = object.get("loops")
        && !loops.list()?.is_empty()
    {
        let message = format!("kind `{case_kind}` with loops is not supported yet");
        return Err(Error::new(ErrorKind::Unsupported, message).at(loops.place()));
    }
    let mut builder = case_builder(&object)?;
    let bodies = object.require("bodies")?.list()?;
    for (index, body) in bodies.iter().enumerate() {
        let keys = body.object(&["mass", "inertia"])?;
        builder.links.push(LinkSpec {
            name: format!("body{index}"),
            inertial: Some(Inertial {
                mass: keys.require("mass")?.number()?,
                centre: Vec3::zero(),
                tensor: keys.require("inertia")?.symmetric()?,
            }),
            place: body.place(),
        });
    }
    let joints = object
        .require("joints")?
        .list_of(bodies.len(), "joints, one per body")?;
    for (index, joint) in joints.iter().enumerate() {
        builder.joint(read_joint(joint, index, bodies.len())?);
    }
    let model = element.build(&builder)?;
    let number = |name: &str| {
        let missing = || element.error(format!("has no body `{name}` that moves"));
        model.tree().body(name).ok_or_else(missing)
    };
    Ok(Multibody {
        bodies: (0..bodies.len())
            .map(|index| number(&format!("body{index}")))
            .collect::<Result<_>>()?,
        children: builder
            .joints
            .iter()
            .map(|joint| number(&joint.child))
            .collect::<Result<_>>()?,
        model,
    })
}

fn read_joint(element: &Element<'_>, index: usize, bodies: usize) -> Result<JointSpec> {
    let object = element.object(&[
        "type",
        "parent",
        "child",
        "lp",
        "lc",
        "q0",
        "axes",
        "pitch",
        "armature",
        "damping",
        "friction",
        "stiffness",
        "rest",
    ])?;
    let kind = read_kind(&object.require("type")?)?;
    let parent = object.require("parent")?.index(-1, bodies)?;
    let child = match object.get("child") {
        Some(child) => child.index(0, bodies)?,
        None => index as i64,
    };
    let hinge = |key: &str| match object.get(key) {
        Some(point) => point.vector(),
        // a free joint is measured from origin to mass centre unless the case says otherwise
        None if kind == JointKind::Free => Ok(Vec3::zero()),
        None => object.require(key)?.vector(),
    };
    let (on_parent, on_child) = (hinge("lp")?, hinge("lc")?);
    let turn = match object.get("q0") {
        Some(quaternion) => Mat3::from_quaternion(quaternion.quaternion()?),
        None => Mat3::identity(),
    };
    let axes = read_axes(&object, kind)?;
    let (parent_from_joint, joint_from_child) = match kind {
        // R_c = R_p R0 R(q)
        JointKind::Spherical | JointKind::Free => {
            (Pose::new(turn, on_parent), Pose::shift(-on_child))
        }
        // R_c = R_p exp(n θ) R0, with slides along two directions: they are the joint frame's x and y
        JointKind::Planar => {
            let normal = axes.first.cross(axes.second);
            let slides = Mat3::from_columns(axes.first, axes.second, normal);
            let rest = slides.transpose() * turn;
            (
                Pose::new(slides, on_parent),
                Pose::new(rest, -(rest * on_child)),
            )
        }
        // R_c = R_p exp(u θ) R0
        _ => (Pose::shift(on_parent), Pose::new(turn, -(turn * on_child))),
    };
    let pitch = match (kind, object.get("pitch")) {
        (JointKind::Helical, _) => object.require("pitch")?.number()?,
        (_, None) => 0.0,
        (_, Some(pitch)) => return Err(pitch.error("belongs to helical joints only")),
    };
    let parent = match parent {
        -1 => "world".into(),
        body => format!("body{body}"),
    };
    Ok(JointSpec {
        parent_from_joint,
        joint_from_child,
        axes: match kind {
            JointKind::Planar => AxisPair::default(),
            _ => axes,
        },
        pitch,
        dofs: read_dofs(&object, kind)?,
        place: element.place(),
        ..JointSpec::new(
            &format!("joint{index}"),
            kind,
            &parent,
            &format!("body{child}"),
        )
    })
}

fn read_kind(element: &Element<'_>) -> Result<JointKind> {
    let name = element.text()?;
    let known = JOINT_TYPES.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| {
        let names: Vec<_> = JOINT_TYPES.iter().map(|kind| kind.name()).collect();
        element
            .error(format!("names an unknown joint type \"{name}\""))
            .hint(format!("known are: {}", names.join(", ")))
    })
}

/// The axes of a joint in parent axes, of unit length and, where there are two, orthogonal.
fn read_axes(joint: &Object<'_>, kind: JointKind) -> Result<AxisPair> {
    let count = match kind {
        JointKind::Spherical | JointKind::Free => 0,
        JointKind::Universal | JointKind::Planar => 2,
        _ => 1,
    };
    let mut axes = AxisPair::default();
    if count == 0 {
        return match joint.get("axes") {
            None => Ok(axes),
            Some(given) => Err(given.error(format!("has no meaning for a {kind} joint"))),
        };
    }
    let given = joint.require("axes")?;
    let list = given.list_of(count, if count == 1 { "axis" } else { "axes" })?;
    axes.first = list[0].direction()?;
    if count == 2 {
        let second = list[1].direction()?;
        let across = second - axes.first * axes.first.dot(second);
        let length = across.norm();
        if length < 1e-6 {
            return Err(given.error("must be two different directions: these are parallel"));
        }
        axes.second = across * (1.0 / length);
    }
    Ok(axes)
}

/// Rotors, friction and springs, where a joint has any.
fn read_dofs(joint: &Object<'_>, kind: JointKind) -> Result<Vec<Dof>> {
    let mut dofs = vec![Dof::default(); kind.nv()];
    let mut any = false;
    let mut fill = |key: &str, field: fn(&mut Dof) -> &mut f64| -> Result<()> {
        if let Some(list) = joint.get(key) {
            any = true;
            for (dof, number) in dofs.iter_mut().zip(list.numbers(kind.nv())?) {
                *field(dof) = number;
            }
        }
        Ok(())
    };
    fill("armature", |dof| &mut dof.armature)?;
    fill("damping", |dof| &mut dof.damping)?;
    fill("friction", |dof| &mut dof.friction)?;
    fill("stiffness", |dof| &mut dof.stiffness)?;
    fill("rest", |dof| &mut dof.rest)?;
    Ok(if any { dofs } else { Vec::new() })
}

/// The loads `external` of a sample; `bodies` are catena's numbers of the bodies of the case. None at all is an empty list.
pub(super) fn read_loads(sample: &Object<'_>, bodies: &[usize]) -> Result<Vec<Load>> {
    let Some(external) = sample.get("external") else {
        return Ok(Vec::new());
    };
    let mut loads = vec![Load::default(); bodies.len() + 1];
    let items = external.list_of(bodies.len(), "loads, one per body")?;
    for (item, &body) in items.iter().zip(bodies) {
        if item.is_null() {
            continue;
        }
        let object = item.object(&["force", "torque"])?;
        let part = |key: &str| object.get(key).map_or(Ok(Vec3::zero()), |v| v.vector());
        loads[body] = Load {
            force: part("force")?,
            torque: part("torque")?,
        };
    }
    Ok(loads)
}

/// Keys of one sample.
const SAMPLE_KEYS: &[&str] = &[
    "q",
    "qd",
    "tau",
    "external",
    "base_motion",
    "state",
    "expected",
];

/// Kind `multibody_accel`.
pub(super) fn accelerations<'a>(case: &Element<'a>) -> Result<Vec<Sample<'a, Tree>>> {
    let own_keys = ["model", "samples", "alpha", "beta"];
    let top = case.object(&[COMMON_KEYS, SAMPLE_KEYS, &own_keys].concat())?;
    refuse_stabilisation(&top, "multibody_accel")?;
    let multibody = Rc::new(read_model(&top.require("model")?, "multibody_accel")?);
    let Some(samples) = top.get("samples") else {
        return Ok(vec![read_sample(&multibody, &top)?]);
    };
    if let Some(stray) = SAMPLE_KEYS.iter().find_map(|key| top.get(key)) {
        return Err(stray.error("stands beside `samples`: it belongs inside the samples"));
    }
    let samples = samples.list()?;
    let samples = samples.iter().map(|sample| {
        let object = sample.object(SAMPLE_KEYS)?;
        read_sample(&multibody, &object)
    });
    samples.collect()
}

fn refuse_stabilisation(top: &Object<'_>, case_kind: &str) -> Result<()> {
    match top.get("alpha").or_else(|| top.get("beta")) {
        None => Ok(()),
        Some(key) => {
            let message = format!(
                "kind `{case_kind}` with stabilised constraints (`alpha`, `beta`) is not supported yet"
            );
            Err(Error::new(ErrorKind::Unsupported, message).at(key.place()))
        }
    }
}

fn read_sample<'a>(multibody: &Rc<Multibody>, sample: &Object<'a>) -> Result<Sample<'a, Tree>> {
    let situation = read_situation(multibody, sample)?;
    let tree = Tree::new(Rc::clone(multibody), situation);
    let mut expected = Vec::new();
    if let Some(state) = sample.get("state") {
        expected.extend(state.open_object()?.quantities("state.")?);
    }
    expected.extend(sample.require("expected")?.open_object()?.quantities("")?);
    Ok(Sample {
        element: sample.element.clone(),
        subject: tree.map_err(|error| sample.element.blame(error))?,
        expected,
    })
}

fn read_situation(multibody: &Multibody, sample: &Object<'_>) -> Result<Situation> {
    let [q, qd] = [sample.require("q")?, sample.require("qd")?];
    let mut state = multibody.read_state(&sample.element, &q, &qd)?;
    if let Some(motion) = sample.get("base_motion") {
        state.base = read_base(&motion)?;
    }
    let tau = match sample.get("tau") {
        Some(tau) => multibody.read_freedoms(&tau)?,
        None => vec![0.0; multibody.model.nv()],
    };
    Ok(Situation {
        state,
        tau,
        external: read_loads(sample, &multibody.bodies)?,
    })
}

impl Multibody {
    /// A state from positions and velocities, each a list for every joint; `element` is to blame if they do not fit.
    fn read_state(
        &self,
        element: &Element<'_>,
        q: &Element<'_>,
        qd: &Element<'_>,
    ) -> Result<State> {
        let tree = self.model.tree();
        let mut all = vec![0.0; self.model.nq()];
        let positions = q.list_of(self.children.len(), "lists, one per joint")?;
        for (element, &body) in positions.iter().zip(&self.children) {
            let range = tree.q_range(body);
            let mut numbers = element.numbers(range.len())?;
            if let Some(start) = tree.bodies[body].kind.quaternion() {
                normalise(&mut numbers[start..], element)?;
            }
            all[range].copy_from_slice(&numbers);
        }
        let v = self.read_freedoms(qd)?;
        State::new(&self.model, &all, &v).map_err(|error| element.blame(error))
    }

    /// A number for every freedom, given as a list for every joint.
    fn read_freedoms(&self, element: &Element<'_>) -> Result<Vec<f64>> {
        let mut all = vec![0.0; self.model.nv()];
        let lists = element.list_of(self.children.len(), "lists, one per joint")?;
        for (list, &body) in lists.iter().zip(&self.children) {
            let range = self.model.tree().dof_range(body);
            all[range.clone()].copy_from_slice(&list.numbers(range.len())?);
        }
        Ok(all)
    }

    /// Positions as a case lists them; a quaternion gets the sign that the sample gives it.
    fn positions(&self, state: &State, sample: &Object<'_>) -> Result<Numbers> {
        let tree = self.model.tree();
        let expected = sample.get("q").map(|q| q.list()).transpose()?;
        let mut lists = Vec::new();
        for (joint, &body) in self.children.iter().enumerate() {
            let mut own = state.q[tree.q_range(body)].to_vec();
            let expected = expected.as_ref().and_then(|lists| lists.get(joint));
            if let (Some(start), Some(expected)) = (tree.bodies[body].kind.quaternion(), expected) {
                let expected = expected.numbers(own.len())?;
                turn_towards(&mut own[start..], &expected[start..]);
            }
            lists.push(own);
        }
        Ok(Numbers::list(lists))
    }
}

/// Kind `multibody_sim`.
pub(super) fn simulation<'a>(case: &Element<'a>) -> Result<Run<'a>> {
    const KIND: &str = "multibody_sim";
    let own_keys = ["q0", "qd0", "external", "alpha", "beta"];
    let top = case.object(&[COMMON_KEYS, RUN_KEYS, &own_keys].concat())?;
    refuse_stabilisation(&top, KIND)?;
    let multibody = Rc::new(read_model(&top.require("model")?, KIND)?);
    let [q0, qd0] = [top.require("q0")?, top.require("qd0")?];
    let initial = multibody.read_state(case, &q0, &qd0)?;
    let external = read_loads(&top, &multibody.bodies)?;
    let mut wrenches = Vec::new();
    for (load, body) in external.iter().zip(0..) {
        // the frame of a link has its origin at the mass centre
        let frames = &multibody.model.tree().frames;
        let name = |index: usize| format!("body{index}");
        let link = multibody.bodies.iter().position(|&other| other == body);
        if let Some(link) = link
            && let Some(frame) = frames.iter().position(|frame| frame.name == name(link))
        {
            let wrench = Force::new(load.torque, load.force);
            wrenches.push(FrameWrench { frame, wrench });
        }
    }
    let inputs = Inputs {
        controller: read_controller(&top, |element| multibody.read_freedoms(element))?,
        wrenches,
        ..Inputs::default()
    };
    Ok(Run {
        model: multibody.model.clone(),
        initial,
        inputs,
        instants: read_instants(&top)?,
        view: Box::new(move |mut situation, sample| {
            let positions = multibody.positions(&situation.state, sample)?;
            situation.external.clone_from(&external);
            Ok(Box::new(Moving {
                positions,
                tree: Tree::new(Rc::clone(&multibody), situation)?,
            }))
        }),
    })
}

/// A tree at an instant of its motion.
struct Moving {
    tree: Tree,
    positions: Numbers,
}

impl Subject for Moving {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "q" => vec![self.positions.clone()],
            "qd" => {
                let Multibody {
                    model, children, ..
                } = &*self.tree.multibody;
                let ranges = children.iter().map(|&body| model.tree().dof_range(body));
                let v = &self.tree.situation.state.v;
                vec![Numbers::list(ranges.map(|range| &v[range]))]
            }
            "r" | "R" | "w" | "v" => return self.tree.quantity(&format!("state.{name}")),
            _ => return self.tree.quantity(name),
        }))
    }

    fn foundations(&mut self) -> Result<Numbers> {
        self.tree.foundations()
    }
}

fn normalise(quaternion: &mut [f64], element: &Element<'_>) -> Result<()> {
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length < 1e-12 || !length.is_finite() {
        return Err(element.error("holds no rotation: its quaternion has no usable length"));
    }
    quaternion.iter_mut().for_each(|x| *x /= length);
    Ok(())
}

fn read_base(element: &Element<'_>) -> Result<Base<f64>> {
    let object = element.object(&["r", "v", "a", "quat", "w", "alpha"])?;
    let vector = |key: &str| object.get(key).map_or(Ok(Vec3::zero()), |v| v.vector());
    let rotation = match object.get("quat") {
        Some(quaternion) => Mat3::from_quaternion(quaternion.quaternion()?),
        None => Mat3::identity(),
    };
    Ok(Base {
        pose: Pose::new(rotation, vector("r")?),
        velocity: Motion::new(vector("w")?, vector("v")?),
        acceleration: Motion::new(vector("alpha")?, vector("a")?),
    })
}

/// The tree under given loads.
pub(super) struct Tree {
    multibody: Rc<Multibody>,
    system: System,
    situation: Situation,
    responses: Vec<Response>,
}

impl Tree {
    fn new(multibody: Rc<Multibody>, situation: Situation) -> Result<Self> {
        let mut system = System::of_links(&multibody.model);
        Ok(Tree {
            multibody,
            responses: system.responses(&situation)?,
            system,
            situation,
        })
    }

    /// The same quantity from the response of every route.
    fn each(&self, quantity: impl Fn(&Response) -> Numbers) -> Vec<Numbers> {
        self.responses.iter().map(quantity).collect()
    }

    /// A quantity of every body of the case, in its order.
    fn per_body<T: Into<Numbers>>(&self, quantity: impl Fn(&BodyMotion) -> T) -> Vec<Numbers> {
        let bodies = &self.multibody.bodies;
        self.each(|response| {
            Numbers::list(bodies.iter().map(|&body| quantity(&response.bodies[body])))
        })
    }

    /// A load in every joint of the case, in its order.
    fn loads(&self, load: impl Fn(&BodyMotion) -> Vec3<f64>) -> Vec<Numbers> {
        let children = &self.multibody.children;
        let responses = self.responses.iter().filter(|response| response.has_loads);
        let loads = responses.map(|response| {
            Numbers::list(children.iter().map(|&body| load(&response.bodies[body])))
        });
        loads.collect()
    }

    fn joint_accelerations(&self) -> Vec<Numbers> {
        let tree = self.multibody.model.tree();
        let children = &self.multibody.children;
        self.each(|response| {
            let joints = children.iter().map(|&body| tree.dof_range(body));
            Numbers::list(joints.map(|range| &response.vdot[range]))
        })
    }
}

impl Subject for Tree {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        let multibody = &self.multibody;
        Ok(Some(match name {
            "state.r" => self.per_body(|body| body.position),
            "state.R" => self.per_body(|body| body.rotation),
            "state.w" => self.per_body(|body| body.angular_velocity),
            "state.v" => self.per_body(|body| body.velocity),
            "joint_acc" => self.joint_accelerations(),
            "body_lin_acc" => self.per_body(|body| body.acceleration),
            "body_ang_acc" => self.per_body(|body| body.angular_acceleration),
            "hinge_force" => self.loads(|body| body.hinge_force),
            "hinge_torque" => self.loads(|body| body.hinge_torque),
            "constraint_rows" | "constraint_rank" => {
                let model = &multibody.model;
                let rows = 6 * model.body_count() - model.nv();
                vec![(rows as f64).into()]
            }
            "incidence_C" => vec![graph::incidence(multibody)],
            "T" => vec![graph::paths(multibody)],
            "D_barycentre" => vec![graph::barycentres(multibody, &self.responses[0])],
            "K" => {
                let inertia = self.system.dynamics().inertia(&self.situation.state)?;
                graph::rotational_inertia(multibody, &self.responses[0], inertia)
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
