//! Trees and closed chains of bodies described about their mass centres: kinds `multibody_accel`, `multibody_redundant` and
//! `multibody_sim`.

use super::COMMON_KEYS;
use super::element::{Element, Object};
use super::graph;
use super::noise::{Sample, Subject, foundations};
use super::report::{Numbers, TOLERANCE};
use super::response::{BodyMotion, Closed, Load, Response, Situation, System, mechanical_quantity};
use super::serial::{case_builder, expect_kind};
use super::simulation::{RUN_KEYS, Run, read_controller, read_instants, turn_towards};
use catena::algorithm::constrained::Stabilisation;
use catena::error::Result;
use catena::model::{AxisPair, ConstraintSpec, Dof, Inertial, JointKind, JointSpec, LinkSpec};
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

/// A model, and the correspondence of catena's bodies to those of the case.
pub(super) struct Multibody {
    pub model: Model,
    /// Catena's number of each body of the case.
    pub bodies: Vec<usize>,
    /// Catena's number of the child of each joint of the case.
    pub children: Vec<usize>,
    /// Stabilisation of the loops' constraints.
    pub stabilisation: Stabilisation,
}

/// Reads a model of the form `multibody`.
pub(super) fn read_model(element: &Element<'_>) -> Result<Multibody> {
    let object = element.object(&["kind", "gravity", "bodies", "joints", "loops"])?;
    expect_kind(&object, "multibody")?;
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
            ..LinkSpec::default()
        });
    }
    let joints = object
        .require("joints")?
        .list_of(bodies.len(), "joints, one per body")?;
    for (index, joint) in joints.iter().enumerate() {
        builder.joint(read_joint(joint, index, bodies.len())?);
    }
    if let Some(loops) = object.get("loops") {
        for (index, cut) in loops.list()?.iter().enumerate() {
            builder.constraint(read_loop(cut, index, bodies.len())?);
        }
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
        stabilisation: Stabilisation::default(),
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
    let kind = read_kind(&object.require("type")?, &JOINT_TYPES)?;
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

/// The joint types that close loops.
const LOOP_TYPES: [JointKind; 3] = [
    JointKind::Revolute,
    JointKind::Universal,
    JointKind::Spherical,
];

/// A joint that closes a loop: its hinge and axes are given in both bodies.
fn read_loop(element: &Element<'_>, index: usize, bodies: usize) -> Result<ConstraintSpec> {
    let keys = [
        "type",
        "parent",
        "child",
        "lp",
        "lc",
        "axis_parent",
        "axis_child",
    ];
    let object = element.object(&keys)?;
    let kind = read_kind(&object.require("type")?, &LOOP_TYPES)?;
    let end = |key: &str| -> Result<String> {
        Ok(match object.require(key)?.index(-1, bodies)? {
            -1 => "world".into(),
            body => format!("body{body}"),
        })
    };
    let axis = |key: &str| -> Result<Vec3<f64>> {
        match (kind, object.get(key)) {
            (JointKind::Spherical, None) => Ok(Vec3::new(0.0, 0.0, 1.0)),
            (JointKind::Spherical, Some(axis)) => {
                Err(axis.error("has no meaning for a spherical joint"))
            }
            _ => object.require(key)?.direction(),
        }
    };
    let (on_parent, on_child) = (axis("axis_parent")?, axis("axis_child")?);
    // the joint's axis is z in both bodies; the first axis of a universal joint is x, fixed in the parent
    let parent_axes = match kind {
        JointKind::Universal => {
            let other = frame_with_z(on_parent);
            Mat3::from_columns(other.z, other.x, other.y)
        }
        _ => frame_with_z(on_parent),
    };
    let parent_from_joint = Pose::new(parent_axes, object.require("lp")?.vector()?);
    let child_from_joint = Pose::new(frame_with_z(on_child), object.require("lc")?.vector()?);
    let mut axes = AxisPair::default();
    if kind == JointKind::Universal {
        axes = AxisPair {
            first: Vec3::new(1.0, 0.0, 0.0),
            second: Vec3::new(0.0, 0.0, 1.0),
        };
    }
    Ok(ConstraintSpec::joint(JointSpec {
        parent_from_joint,
        joint_from_child: child_from_joint.inverse(),
        axes,
        place: element.place(),
        ..JointSpec::new(
            &format!("loop{index}"),
            kind,
            &end("parent")?,
            &end("child")?,
        )
    }))
}

/// Right-handed orthonormal axes with this unit vector as the third.
fn frame_with_z(z: Vec3<f64>) -> Mat3<f64> {
    // across the coordinate axis that is furthest from z
    let [x, y, _] = z.map(f64::abs).to_array();
    let helper = if x < 0.6 {
        Vec3::new(1.0, 0.0, 0.0)
    } else if y < 0.6 {
        Vec3::new(0.0, 1.0, 0.0)
    } else {
        Vec3::new(0.0, 0.0, 1.0)
    };
    let y = z.cross(helper);
    let y = y * (1.0 / y.norm());
    Mat3::from_columns(y.cross(z), y, z)
}

fn read_kind(element: &Element<'_>, types: &[JointKind]) -> Result<JointKind> {
    let name = element.text()?;
    let known = types.iter().copied().find(|kind| kind.name() == name);
    known.ok_or_else(|| {
        let names: Vec<_> = types.iter().map(|kind| kind.name()).collect();
        element
            .error(format!("names an unknown joint type \"{name}\""))
            .hint(format!("expected one of: {}", names.join(", ")))
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

/// Kinds `multibody_accel` and `multibody_redundant`.
pub(super) fn accelerations<'a>(case: &Element<'a>) -> Result<Vec<Sample<'a, Tree>>> {
    let own_keys = ["model", "samples", "alpha", "beta"];
    let top = case.object(&[COMMON_KEYS, SAMPLE_KEYS, &own_keys].concat())?;
    let mut multibody = read_model(&top.require("model")?)?;
    multibody.stabilisation = read_stabilisation(&top, &multibody.model)?;
    let multibody = Rc::new(multibody);
    let Some(samples) = top.get("samples") else {
        return Ok(vec![read_sample(&multibody, &top)?]);
    };
    if let Some(stray) = SAMPLE_KEYS.iter().find_map(|key| top.get(key)) {
        return Err(stray.error("is given beside `samples`: it belongs inside the samples"));
    }
    let samples = samples.list()?;
    let samples = samples.iter().map(|sample| {
        let object = sample.object(SAMPLE_KEYS)?;
        read_sample(&multibody, &object)
    });
    samples.collect()
}

/// α and β of stabilised constraints, both zero where a case has none.
fn read_stabilisation(top: &Object<'_>, model: &Model) -> Result<Stabilisation> {
    let number = |key: &str| match top.get(key) {
        None => Ok(0.0),
        Some(value) if model.constraints().is_empty() => {
            Err(value.error("has no meaning: the model has no loops"))
        }
        Some(value) => value.number(),
    };
    Ok(Stabilisation {
        alpha: number("alpha")?,
        beta: number("beta")?,
    })
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
    /// A state from positions and velocities, each a list for every joint; errors refer to `element`.
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
    let own_keys = ["q0", "qd0", "external", "alpha", "beta"];
    let top = case.object(&[COMMON_KEYS, RUN_KEYS, &own_keys].concat())?;
    let mut multibody = read_model(&top.require("model")?)?;
    multibody.stabilisation = read_stabilisation(&top, &multibody.model)?;
    let stabilisation = multibody.stabilisation;
    let multibody = Rc::new(multibody);
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
        stabilisation,
        view: Box::new(move |mut situation, sample| {
            let positions = multibody.positions(&situation.state, sample)?;
            situation.external.clone_from(&external);
            Ok(Box::new(TreeAtInstant {
                positions,
                tree: Tree::new(Rc::clone(&multibody), situation)?,
            }))
        }),
    })
}

/// A tree at an instant of its motion.
struct TreeAtInstant {
    tree: Tree,
    positions: Numbers,
}

impl Subject for TreeAtInstant {
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

    fn routes(&self) -> Vec<&'static str> {
        self.tree.routes()
    }

    fn floors(&self, name: &str) -> Vec<f64> {
        self.tree.floors(name)
    }

    fn foundations(&mut self) -> Result<Numbers> {
        self.tree.foundations()
    }
}

fn normalise(quaternion: &mut [f64], element: &Element<'_>) -> Result<()> {
    // a quaternion whose squares overflow is rejected, not scaled
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length < 1e-12 || !length.is_finite() {
        return Err(element.error("is not a rotation: its quaternion has no usable length"));
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
        let mut system = System::of_links(&multibody.model, multibody.stabilisation);
        Ok(Tree {
            multibody,
            responses: system.responses(&situation)?,
            system,
            situation,
        })
    }

    /// A quantity from the response of every method.
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

    /// A load in every joint of the case, in its order, then in every loop.
    fn loads(
        &self,
        load: impl Fn(&BodyMotion) -> Vec3<f64>,
        of_loop: impl Fn(&Force<f64>) -> Vec3<f64>,
    ) -> Vec<Numbers> {
        let children = &self.multibody.children;
        let responses = self.responses.iter().filter(|response| response.has_loads);
        let loads = responses.map(|response| {
            let tree = children.iter().map(|&body| load(&response.bodies[body]));
            Numbers::list(tree.chain(response.loops.iter().map(&of_loop)))
        });
        loads.collect()
    }

    /// A quantity that only a closed chain has, from the methods that give it.
    fn of_loops(&self, quantity: impl Fn(&Closed) -> Option<f64>) -> Option<Vec<Numbers>> {
        let closed = self.responses.iter().filter_map(|r| r.closed.as_ref());
        let numbers: Vec<Numbers> = closed.filter_map(quantity).map(Numbers::from).collect();
        (!numbers.is_empty()).then_some(numbers)
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
            "hinge_force" => self.loads(|body| body.hinge_force, |load| -load.force),
            "hinge_torque" => self.loads(|body| body.hinge_torque, |load| -load.moment),
            "constraint_rows" | "constraint_rank" => {
                let model = &multibody.model;
                let tree = (6 * model.body_count() - model.nv()) as f64;
                let loops = self.of_loops(|closed| match name {
                    "constraint_rows" => Some(tree + model.constraint_rows() as f64),
                    _ => closed.rank.map(|rank| tree + rank as f64),
                });
                loops.unwrap_or_else(|| vec![tree.into()])
            }
            "min_norm" => return Ok(self.of_loops(|closed| Some(closed.norm))),
            "loop_gap" => return Ok(self.of_loops(|closed| Some(closed.gap))),
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

    fn routes(&self) -> Vec<&'static str> {
        self.responses.iter().map(|r| r.route).collect()
    }

    /// Maximal coordinates have all accelerations and all loads in one system of equations: its round-off scales with the largest.
    fn floors(&self, name: &str) -> Vec<f64> {
        let loads = match name {
            "joint_acc" | "body_lin_acc" | "body_ang_acc" => false,
            "hinge_force" | "hinge_torque" | "min_norm" => true,
            _ => return Vec::new(),
        };
        let routes = self.responses.iter().filter(|r| r.has_loads || !loads);
        let floors = routes.map(|response| match response.maximal {
            true => TOLERANCE * response.largest(loads),
            false => 0.0,
        });
        floors.collect()
    }

    fn foundations(&mut self) -> Result<Numbers> {
        foundations(self.system.dynamics(), &self.situation.state)
    }
}
