//! Models: a tree of rigid bodies and the joints between them.

mod actuator;
mod angles;
pub(crate) mod benchmark_models;
mod builder;
mod check;
mod closed_models;
pub mod constraint;
pub mod couplings;
mod devices;
pub mod embedded;
mod family;
mod force;
mod frame;
mod graph;
pub(crate) mod joint;
mod making;
mod reduced;
mod rolling_models;
mod sensor;
mod specs;
mod tree;

pub use actuator::{Actuator, ActuatorSpec};
pub(crate) use angles::Angles;
pub use builder::ModelBuilder;
pub(crate) use constraint::contact_rows;
pub use constraint::{
    Closure, Constraint, ConstraintSpec, ContactSpec, Coordinate, Law, Rule, RuleSpec, Surface,
};
pub use couplings::{Cluster, Couplings, Follower};
pub use family::Family;
pub use force::{
    BodyPoint, ConstantForce, Drag, ForceAxes, ForceElement, ForceLaw, ForceRule, ForceSpec,
    GravityGradient, Spring, Torsion,
};
pub use frame::FrameInfo;
pub use graph::SpanningTree;
pub(crate) use graph::reversed;
pub use joint::JointKind;
pub use reduced::Reduced;
pub use sensor::{Sensor, SensorKind, SensorRule, SensorSpec};
pub use specs::{AxisPair, Dof, FrameSpec, Inertial, JointSpec, LinkSpec, dh, modified_dh};
pub(crate) use tree::Node;
pub use tree::{BodyInfo, DofInfo, Tree};

use crate::error::Warning;
use crate::scalar::{Dual, Parameter, Scalar, Vector, Wide};
use crate::spatial::{Pose, RigidInertia, Vec3};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A checked, immutable tree of rigid bodies.
///
/// Linear couplings of coordinates (`mimic`, gears) are eliminated where there are no other constraints: [`nq`](Self::nq) and
/// [`nv`](Self::nv) are the numbers of independent coordinates, and [`couplings`](Self::couplings) gives those of the tree.
///
/// Bodies are numbered 1…n, parents before children; 0 is the ground (or the prescribed base). The tree itself (names,
/// parents, joint kinds) carries no numbers and is shared; the numbers are of type `P`, usually `f64` whatever scalar
/// the computation runs in (see [`Parameter`]).
#[derive(Clone, Debug)]
pub struct Model<P = f64> {
    pub(crate) tree: Arc<Tree>,
    pub(crate) bodies: Vec<BodyNumbers<P>>, // index = body number, 0 unused
    pub(crate) dofs: Vec<DofNumbers<P>>,    // index = velocity coordinate
    pub(crate) gravity: Vec3<P>,
    pub(crate) constraints: Vec<Constraint<P>>,
    pub(crate) couplings: Option<Arc<Couplings<P>>>,
    pub(crate) forces: Vec<ForceElement>,
}

/// The constants of one body and the joint that carries it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyNumbers<P> {
    /// Joint frame in the parent's body frame.
    pub placement: Pose<P>,
    /// Inertia about the origin of the body frame, which is on the joint.
    pub inertia: RigidInertia<P>,
    /// Advance per radian of a helical joint, m/rad.
    pub pitch: P,
}

/// The constants of one freedom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DofNumbers<P> {
    pub armature: P,
    pub damping: P,
    pub friction: P,
    pub stiffness: P,
    pub rest: P,
}

impl<P> Model<P> {
    /// The tree: names, parents, joints, frames, assumptions.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.tree.name
    }

    /// Number of moving bodies n.
    pub fn body_count(&self) -> usize {
        self.tree.bodies.len() - 1
    }

    /// The numbers of the moving bodies, 1…n.
    pub fn bodies(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.body_count()
    }

    /// Number of independent position coordinates.
    #[inline]
    pub fn nq(&self) -> usize {
        match &self.couplings {
            None => self.tree.nq,
            Some(couplings) => couplings.nq(),
        }
    }

    /// Number of independent velocity coordinates, the freedoms.
    #[inline]
    pub fn nv(&self) -> usize {
        match &self.couplings {
            None => self.tree.nv,
            Some(couplings) => couplings.nv(),
        }
    }

    /// The couplings that were eliminated, if there are any.
    pub fn couplings(&self) -> Option<&Couplings<P>> {
        self.couplings.as_deref()
    }

    /// Name, unit and limits of an independent freedom.
    pub fn freedom(&self, k: usize) -> &DofInfo {
        match &self.couplings {
            None => &self.tree.dofs[k],
            Some(couplings) => &self.tree.dofs[couplings.freedoms()[k]],
        }
    }

    /// Whether this freedom of the tree is independent. Otherwise it follows others.
    #[inline(always)]
    pub(crate) fn is_independent(&self, tree_freedom: usize) -> bool {
        match &self.couplings {
            None => true,
            Some(couplings) => couplings.is_independent(tree_freedom),
        }
    }

    /// Names, units and limits of the independent freedoms.
    pub fn freedoms(&self) -> Vec<&DofInfo> {
        (0..self.nv()).map(|k| self.freedom(k)).collect()
    }

    /// Adds a warning to those that the model carries.
    pub(crate) fn warn(&mut self, warning: Warning) {
        Arc::make_mut(&mut self.tree).warnings.push(warning);
    }

    /// The constraints in addition to the joints of the tree: loops, drivers, and couplings that are not eliminated.
    pub fn constraints(&self) -> &[Constraint<P>] {
        &self.constraints
    }

    /// Number of scalar conditions of all constraints.
    pub fn constraint_rows(&self) -> usize {
        self.constraints.iter().map(Constraint::rows).sum()
    }

    /// Number of nonholonomic conditions among these: rolling, knife edges, velocity constraints.
    pub fn velocity_rows(&self) -> usize {
        let own = |c: &Constraint<P>| c.rows() - c.position_rows();
        self.constraints.iter().map(own).sum()
    }

    /// Rejects a model with nonholonomic rows, where only holonomic ones are supported: `what` says where.
    pub fn expect_position_rows(&self, what: &str) -> crate::Result<()> {
        let found = self
            .constraints
            .iter()
            .find(|c| c.rows() > c.position_rows());
        match found {
            None => Ok(()),
            Some(constraint) => Err(crate::Error::new(
                crate::ErrorKind::Unsupported,
                format!(
                    "constraint `{}` ({}) of `{}` constrains velocities only, which {what} does not support",
                    constraint.name,
                    constraint.kind(),
                    self.name()
                ),
            )
            .hint("`forward`, `inverse`, `simulate`, `linearize`, `compare` and `doctor` take such constraints")),
        }
    }

    /// Algorithms for trees do not handle constraints: rejects a model that has any.
    pub fn expect_tree(&self) -> crate::Result<()> {
        match self.constraints.len() {
            0 => Ok(()),
            count => Err(crate::Error::new(
                crate::ErrorKind::Input,
                format!(
                    "model `{}` has {count} constraint{} besides its joints, which the algorithms for trees do not support",
                    self.name(),
                    if count == 1 { "" } else { "s" }
                ),
            )
            .hint("use `closed_chain::ClosedChain` (`catena forward`, `assemble` and `simulate` do), or `Model::open_tree` for the tree with its loops open")),
        }
    }

    /// Gravity, inertial components.
    pub fn gravity(&self) -> Vec3<P>
    where
        P: Copy,
    {
        self.gravity
    }
}

impl<P: Copy> Model<P> {
    /// Maps every number of the model except those of force elements: to dual numbers, to symbols, to other masses.
    pub fn map<T: Copy>(&self, f: impl Fn(P) -> T) -> Model<T> {
        let vec = |v: Vec3<P>| v.map(&f);
        Model {
            tree: Arc::clone(&self.tree),
            bodies: self
                .bodies
                .iter()
                .map(|b| {
                    let s = b.inertia.second;
                    BodyNumbers {
                        placement: constraint::map_pose(b.placement, &f),
                        inertia: RigidInertia {
                            mass: f(b.inertia.mass),
                            first: vec(b.inertia.first),
                            second: crate::spatial::Sym3::new(
                                f(s.xx),
                                f(s.yy),
                                f(s.zz),
                                f(s.xy),
                                f(s.xz),
                                f(s.yz),
                            ),
                        },
                        pitch: f(b.pitch),
                    }
                })
                .collect(),
            dofs: self
                .dofs
                .iter()
                .map(|d| DofNumbers {
                    armature: f(d.armature),
                    damping: f(d.damping),
                    friction: f(d.friction),
                    stiffness: f(d.stiffness),
                    rest: f(d.rest),
                })
                .collect(),
            gravity: vec(self.gravity),
            constraints: self.constraints.iter().map(|c| c.map(&f)).collect(),
            couplings: (self.couplings.as_ref()).map(|couplings| Arc::new(couplings.map(&f))),
            forces: self.forces.clone(),
        }
    }

    /// Every number of the model except those of force elements, in the order of [`map`](Self::map).
    pub(crate) fn numbers(&self) -> Vec<P> {
        let numbers = RefCell::new(Vec::new());
        self.map(|x| numbers.borrow_mut().push(x));
        numbers.into_inner()
    }

    /// The tree alone: the model without its constraints and couplings, every loop open.
    #[must_use]
    pub fn open_tree(mut self) -> Self {
        self.constraints.clear();
        self.couplings = None;
        self
    }

    /// The model with its holonomic conditions only: rolling bodies slide without friction, knife edges and velocity constraints
    /// are removed.
    #[must_use]
    pub fn without_velocity_rows(mut self) -> Self {
        self.constraints.retain(|c| c.position_rows() > 0);
        for constraint in &mut self.constraints {
            if let Rule::Contact { rolls, .. } = &mut constraint.rule {
                *rolls = false;
            }
        }
        self
    }

    /// The model with its couplings as constraints in addition to the joints, solved with multipliers: all coordinates of the
    /// tree are coordinates of the model again.
    #[must_use]
    pub fn with_couplings_as_constraints(mut self) -> Self {
        if let Some(couplings) = self.couplings.take() {
            self.constraints.extend_from_slice(couplings.constraints());
        }
        self
    }

    /// The constants from which the joint that carries a body is set up.
    #[inline(always)]
    pub(crate) fn setting<'a, S: Scalar>(
        &self,
        body: usize,
        angles: &'a Angles<S>,
    ) -> joint::Setting<'a, S>
    where
        P: Parameter<S>,
    {
        let numbers = &self.bodies[body];
        let first = self.tree.nodes[body].angle;
        joint::Setting {
            placement: numbers.placement.lift(),
            pitch: numbers.pitch.lift(),
            sin: &angles.sin[first..],
            cos: &angles.cos[first..],
        }
    }

    /// The joint that carries a body, at a state.
    #[inline(always)]
    pub(crate) fn joint_at<'a, S: Scalar>(
        &self,
        body: usize,
        angles: &'a Angles<S>,
        pose: &'a Pose<S>,
    ) -> joint::AnyJoint<'a, S>
    where
        P: Parameter<S>,
    {
        joint::AnyJoint {
            kind: self.tree.nodes[body].kind,
            setting: self.setting(body, angles),
            pose,
        }
    }

    /// Inertia of a body about the origin of its frame.
    #[inline(always)]
    pub(crate) fn inertia<S: Scalar>(&self, body: usize) -> RigidInertia<S>
    where
        P: Parameter<S>,
    {
        self.bodies[body].inertia.lift()
    }
}

impl<P: Copy> BodyNumbers<P> {
    /// All numbers of the body and its joint, in a fixed order.
    fn to_array(self) -> [P; 23] {
        let (r, t, i) = (
            self.placement.rotation,
            self.placement.translation,
            self.inertia,
        );
        let (h, s) = (i.first, i.second);
        [
            r.x.x, r.x.y, r.x.z, r.y.x, r.y.y, r.y.z, r.z.x, r.z.y, r.z.z, t.x, t.y, t.z, i.mass,
            h.x, h.y, h.z, s.xx, s.yy, s.zz, s.xy, s.xz, s.yz, self.pitch,
        ]
    }

    fn from_array(n: [P; 23]) -> Self {
        BodyNumbers {
            placement: Pose::new(
                crate::spatial::Mat3 {
                    x: Vec3::new(n[0], n[1], n[2]),
                    y: Vec3::new(n[3], n[4], n[5]),
                    z: Vec3::new(n[6], n[7], n[8]),
                },
                Vec3::new(n[9], n[10], n[11]),
            ),
            inertia: RigidInertia {
                mass: n[12],
                first: Vec3::new(n[13], n[14], n[15]),
                second: crate::spatial::Sym3::new(n[16], n[17], n[18], n[19], n[20], n[21]),
            },
            pitch: n[22],
        }
    }
}

impl<V: Vector> Model<Wide<V>> {
    /// A model with the numbers of this one in every lane, and the structure of its tree; other lanes may get joints with springs, damping
    /// or rotors where it has none.
    pub(crate) fn in_lanes(model: &Model) -> Self {
        let mut wide = model.map(Wide::constant);
        wide.tree = Arc::new(model.tree.with_everything());
        wide
    }

    /// Sets a lane to the numbers of a model of the same structure.
    pub(crate) fn set_lane(&mut self, lane: usize, model: &Model) {
        fn set<V: Vector, const N: usize>(
            mut wide: [Wide<V>; N],
            lane: usize,
            numbers: [f64; N],
        ) -> [Wide<V>; N] {
            for (wide, number) in wide.iter_mut().zip(numbers) {
                wide.0.lanes_mut()[lane] = number;
            }
            wide
        }
        for (wide, body) in self.bodies.iter_mut().zip(&model.bodies) {
            *wide = BodyNumbers::from_array(set(wide.to_array(), lane, body.to_array()));
        }
        for (wide, dof) in self.dofs.iter_mut().zip(&model.dofs) {
            let before = [
                wide.armature,
                wide.damping,
                wide.friction,
                wide.stiffness,
                wide.rest,
            ];
            let numbers = [
                dof.armature,
                dof.damping,
                dof.friction,
                dof.stiffness,
                dof.rest,
            ];
            let [armature, damping, friction, stiffness, rest] = set(before, lane, numbers);
            *wide = DofNumbers {
                armature,
                damping,
                friction,
                stiffness,
                rest,
            };
        }
        let gravity = set(self.gravity.to_array(), lane, model.gravity.to_array());
        self.gravity = Vec3::from_array(gravity);
    }
}

impl Model<Dual<f64, 1>> {
    /// A model with the derivatives of its [numbers](Model::numbers) in one direction. Joints may get springs, damping or rotors where it has
    /// none.
    pub(crate) fn varied(model: &Model, slopes: &[f64]) -> Self {
        let next = Cell::new(0);
        let mut varied = model.map(|value| {
            let k = next.replace(next.get() + 1);
            Dual {
                value,
                derivative: [slopes[k]],
            }
        });
        varied.tree = Arc::new(model.tree.with_everything());
        varied
    }
}

impl<P: Copy> Model<P> {
    /// Whether another model has the same bodies and joints, in the same order, with any numbers.
    pub fn is_alike<T>(&self, other: &Model<T>) -> bool {
        let (nodes, others) = (&self.tree.nodes, &other.tree.nodes);
        nodes.len() == others.len()
            && nodes
                .iter()
                .zip(others)
                .all(|(a, b)| (a.kind, a.parent) == (b.kind, b.parent))
    }

    /// Mass, first and second moments of a body about the origin of its frame.
    pub fn moments(&self, body: usize) -> RigidInertia<P> {
        self.bodies[body].inertia
    }
}

impl Model<f64> {
    /// Total mass of the moving bodies.
    pub fn mass(&self) -> f64 {
        self.bodies[1..].iter().map(|b| b.inertia.mass).sum()
    }

    /// Mass, mass centre (in the body's own frame) and inertia tensor about the mass centre of one body.
    pub fn inertial(&self, body: usize) -> Inertial {
        Inertial::from_moments(self.bodies[body].inertia)
    }

    /// Joint frame of a body's joint in the parent's body frame. A body's frame has its origin on its joint; z is the axis
    /// of the joint (universal: x and z; planar: x and y are the directions of sliding), and at rest it coincides with the joint frame.
    pub fn placement(&self, body: usize) -> Pose<f64> {
        self.bodies[body].placement
    }

    /// Advance per radian of the joint of a body, m/rad; 0 unless it is helical.
    pub fn pitch(&self, body: usize) -> f64 {
        self.bodies[body].pitch
    }

    /// Rotor inertia, passive forces and limits of a freedom of the tree.
    pub fn dof(&self, k: usize) -> Dof {
        let (numbers, info) = (&self.dofs[k], &self.tree.dofs[k]);
        Dof {
            armature: numbers.armature,
            damping: numbers.damping,
            friction: numbers.friction,
            stiffness: numbers.stiffness,
            rest: numbers.rest,
            limits: info.limits,
            restitution: info.restitution,
            stop_stiffness: info.stop_stiffness,
            stop_damping: info.stop_damping,
            max_velocity: info.max_velocity,
            max_effort: info.max_effort,
        }
    }

    /// A hash of everything that enters the equations of motion of the tree: joints, parents, placements,
    /// inertias, rotors, passive forces, gravity, force elements, eliminated couplings, bit by bit. Names and constraints are left out.
    pub fn fingerprint(&self) -> u64 {
        let mut print = Fingerprint::new();
        for (node, body) in self.tree.nodes.iter().zip(&self.bodies) {
            print.words([node.parent, node.q, node.v].map(|n| n as u64));
            print.bytes(node.kind.name().as_bytes());
            let r = body.placement.rotation;
            for v in [
                r.x,
                r.y,
                r.z,
                body.placement.translation,
                body.inertia.first,
            ] {
                print.words(v.to_array().map(f64::to_bits));
            }
            let s = body.inertia.second;
            print.words([s.xx, s.yy, s.zz, s.xy, s.xz, s.yz].map(f64::to_bits));
            print.words([body.inertia.mass, body.pitch].map(f64::to_bits));
        }
        for d in &self.dofs {
            let numbers = [d.armature, d.damping, d.friction, d.stiffness, d.rest];
            print.words(numbers.map(f64::to_bits));
        }
        print.words(self.gravity.to_array().map(f64::to_bits));
        for follower in self.couplings.iter().flat_map(|c| c.followers()) {
            let at = [follower.coordinate.v, follower.terms.len()];
            print.words(at.map(|n| n as u64));
            print.words([follower.offset.to_bits()]);
            for (source, ratio) in &follower.terms {
                print.words([source.v as u64, ratio.to_bits()]);
            }
        }
        for element in &self.forces {
            // as many digits as needed to distinguish numbers
            print.bytes(format!("{:?}", element.law).as_bytes());
        }
        print.0
    }

    /// A copy with every number perturbed by one unit of rounding, up or down at random: the resulting change of a result is an error that
    /// no algorithm in `f64` can avoid.
    #[must_use]
    pub fn with_other_last_digits(&self, seed: u64) -> Self {
        let random = std::cell::RefCell::new(crate::random::Random::new(seed));
        self.map(|x| {
            let up = random.borrow_mut().below(2) == 0;
            x * (1.0 + if up { f64::EPSILON } else { -f64::EPSILON })
        })
    }

    /// How a coordinate follows others: `finger2 = 0.5 + 2 finger1`.
    pub fn following(&self, follower: &Follower) -> String {
        let name = |k: usize| &self.tree.dofs[k].name;
        let mut text = format!("{} =", name(follower.coordinate.v));
        if follower.offset != 0.0 || follower.terms.is_empty() {
            text += &format!(" {}", follower.offset);
        }
        for (at, ratio) in &follower.terms {
            let sign = match (text.ends_with('='), *ratio < 0.0) {
                (true, false) => "",
                (false, false) => " +",
                (_, true) => " −",
            };
            text += sign;
            if ratio.abs() != 1.0 {
                text += &format!(" {}", ratio.abs());
            }
            text += &format!(" {}", self.freedom(at.v).name);
        }
        text
    }

    /// This tree with these couplings, which were eliminated for a model of the same tree.
    #[must_use]
    pub fn with_couplings(mut self, couplings: Option<Couplings>) -> Self {
        self.couplings = couplings.map(Arc::new);
        self
    }

    /// Eliminates the couplings, unless there are other constraints, or a translation of a joint with a quaternion is coupled:
    /// then all are solved together, with multipliers.
    pub(crate) fn eliminate_couplings(&mut self) -> crate::Result<()> {
        let tree = &self.tree;
        let is_plain = |at: &Coordinate| {
            let body = &tree.bodies[tree.dofs[at.v].body];
            body.kind.quaternion().is_none()
        };
        let is_coupling = |c: &Constraint| match &c.rule {
            Rule::Coupling { terms, .. } => terms.iter().all(|(at, _)| is_plain(at)),
            _ => false,
        };
        if self.constraints.is_empty() || !self.constraints.iter().all(is_coupling) {
            return Ok(());
        }
        let constraints = std::mem::take(&mut self.constraints);
        let (couplings, redundant) = Couplings::eliminate(&self.tree, constraints)?;
        for name in redundant {
            let note = format!("coupling `{name}` follows from those before it: it adds nothing");
            Arc::make_mut(&mut self.tree).assumptions.push(note);
        }
        self.couplings = Some(Arc::new(couplings));
        Ok(())
    }

    /// A copy in another uniform gravity field.
    #[must_use]
    pub fn with_gravity(mut self, gravity: [f64; 3]) -> Self {
        self.gravity = Vec3::from_array(gravity);
        self
    }

    /// A copy with modified friction in the joints: for every freedom of the tree, `of` maps its damping and dry friction to new
    /// values. Neither may be negative.
    #[must_use]
    pub fn with_friction(mut self, of: impl Fn(usize, [f64; 2]) -> [f64; 2]) -> Self {
        for (k, dof) in self.dofs.iter_mut().enumerate() {
            [dof.damping, dof.friction] = of(k, [dof.damping, dof.friction]);
        }
        let has_some = |dof: &DofNumbers<f64>| {
            dof.damping != 0.0 || dof.friction != 0.0 || dof.stiffness != 0.0
        };
        let has_passive_forces = self.dofs.iter().any(has_some);
        Arc::make_mut(&mut self.tree).has_passive_forces = has_passive_forces;
        self
    }

    /// A copy without springs, damping and friction in the joints; rotor inertia stays.
    #[must_use]
    pub fn without_passive_forces(mut self) -> Self {
        for dof in &mut self.dofs {
            dof.damping = 0.0;
            dof.friction = 0.0;
            dof.stiffness = 0.0;
        }
        let tree = Arc::make_mut(&mut self.tree);
        tree.has_passive_forces = false;
        self
    }
}

/// A hash of words in the manner of Fowler, Noll and Vo (FNV-1a), a word at a time. The product carries bits upward only, so that two changed
/// signs would undo each other; the shift brings high bits down again.
struct Fingerprint(u64);

impl Fingerprint {
    fn new() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.words([u64::from(byte)]);
        }
    }

    fn words<const N: usize>(&mut self, words: [u64; N]) {
        for word in words {
            self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 29;
        }
    }
}
