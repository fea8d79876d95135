//! The number-free part of a model: names, parents, joints, frames, and Mufti's graph matrices.

use super::{FrameInfo, JointKind};
use crate::error::{Place, Warning};
use crate::spatial::Pose;

/// One moving body and the joint that carries it.
#[derive(Clone, Debug)]
pub struct BodyInfo {
    /// Name of the link that gave the body its name.
    pub name: String,
    /// Other links joined to it rigidly.
    pub merged: Vec<String>,
    /// Name of the joint that carries it.
    pub joint: String,
    /// Kind of that joint.
    pub kind: JointKind,
    /// Number of the parent body; 0 is the ground.
    pub parent: usize,
    /// First position coordinate.
    pub q: usize,
    /// First velocity coordinate.
    pub v: usize,
    /// The body's link frame in its body frame.
    pub body_from_link: Pose<f64>,
    /// Where the joint was defined.
    pub place: Place,
}

/// Data of a body for the recursions, without the names: small enough to stay in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub kind: JointKind,
    /// Does any child other than body + 1 add its quantities here?
    pub gathers: bool,
    pub parent: usize,
    pub q: usize,
    pub v: usize,
    /// First angle among all angles of the model.
    pub angle: usize,
}

/// Names and limits of one freedom.
#[derive(Clone, Debug)]
pub struct DofInfo {
    /// Body it moves.
    pub body: usize,
    /// Readable name: the joint's, with a suffix where the joint has several freedoms.
    pub name: String,
    /// Unit of the velocity coordinate.
    pub velocity_unit: &'static str,
    /// Unit of the force conjugate to it.
    pub force_unit: &'static str,
    /// Lower and upper position limit, where given.
    pub limits: Option<(f64, f64)>,
    /// Ratio of the speeds after and before an impact on an enforced limit.
    pub restitution: f64,
    /// Stiffness of a soft limit; 0: it is rigid.
    pub stop_stiffness: f64,
    /// Damping of a soft limit.
    pub stop_damping: f64,
    /// Speed limit, if given.
    pub max_velocity: Option<f64>,
    /// Effort limit, if given.
    pub max_effort: Option<f64>,
}

/// A directed tree of bodies: parents before children, 0 is the ground.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Name of the model.
    pub name: String,
    /// Bodies; entry 0 is the ground.
    pub bodies: Vec<BodyInfo>,
    /// The bodies as the recursions need them.
    pub(crate) nodes: Vec<Node>,
    /// Freedoms, by velocity coordinate.
    pub dofs: Vec<DofInfo>,
    /// Named frames: every link of the model file, and additional frames.
    pub frames: Vec<FrameInfo>,
    /// The actuators that the model names, see [`Model::actuators`](super::Model::actuators).
    pub actuators: Vec<super::Actuator>,
    /// The sensors that the model names.
    pub sensors: Vec<super::Sensor>,
    /// What was assumed, merged, normalised or left out when the model was built.
    pub assumptions: Vec<String>,
    /// Warnings about the model, which do not prevent its use.
    pub warnings: Vec<Warning>,
    /// Initial positions of the model: neutral unless joints specify others, see
    /// [`State::start`](crate::State::start).
    pub start: Vec<f64>,
    /// Velocities of the initial state, at rest unless joints specify others.
    pub start_velocity: Vec<f64>,
    /// Number of position coordinates.
    pub nq: usize,
    /// Number of velocity coordinates.
    pub nv: usize,
    /// Position coordinates that are angles, in order.
    pub(crate) angles: Vec<usize>,
    /// Whether any joint has a spring, damping or friction.
    pub(crate) has_passive_forces: bool,
    /// Whether any joint has a rotor.
    pub(crate) has_rotors: bool,
    /// Whether the parent of every body except the first is the previous body.
    pub(crate) is_chain: bool,
}

impl Tree {
    /// The tree of a model whose numbers may change: all of them count, including those that are zero.
    pub(crate) fn with_everything(&self) -> Self {
        Tree {
            has_passive_forces: true,
            has_rotors: true,
            ..self.clone()
        }
    }

    /// The parent's number; 0 is the ground.
    #[inline(always)]
    pub fn parent(&self, body: usize) -> usize {
        self.nodes[body].parent
    }

    /// Number of the body with this link name.
    pub fn body(&self, name: &str) -> Option<usize> {
        (1..self.bodies.len()).find(|&i| self.bodies[i].name == name)
    }

    /// The frame with this name.
    pub fn frame(&self, name: &str) -> Option<&FrameInfo> {
        self.frames.iter().find(|f| f.name == name)
    }

    /// Velocity coordinates of the joint that carries a body.
    pub fn dof_range(&self, body: usize) -> std::ops::Range<usize> {
        let b = &self.bodies[body];
        b.v..b.v + b.kind.nv()
    }

    /// One past the last velocity coordinate of the subtree of each body; those of a subtree are contiguous.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let mut end = vec![0; self.bodies.len()];
        for i in (1..self.bodies.len()).rev() {
            end[i] = end[i].max(self.dof_range(i).end);
            end[self.parent(i)] = end[self.parent(i)].max(end[i]);
        }
        end
    }

    /// Position coordinates of the joint that carries a body.
    pub fn q_range(&self, body: usize) -> std::ops::Range<usize> {
        let b = &self.bodies[body];
        b.q..b.q + b.kind.nq()
    }

    /// The bodies from this one down to the ground, excluding the ground.
    pub fn path_to_ground(&self, body: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = body;
        std::iter::from_fn(move || {
            let here = at;
            (here != 0).then(|| {
                at = self.parent(here);
                here
            })
        })
    }

    /// Largest number of joints between a body and the ground.
    pub fn depth(&self) -> usize {
        let mut depth = vec![0; self.bodies.len()];
        for i in 1..self.bodies.len() {
            depth[i] = depth[self.parent(i)] + 1;
        }
        depth.into_iter().max().unwrap_or(0)
    }

    /// Whether exactly one body is attached to the ground, by a free joint.
    pub fn is_free_floating(&self) -> bool {
        let on_ground: Vec<_> = (1..self.bodies.len())
            .filter(|&i| self.parent(i) == 0)
            .collect();
        matches!(on_ground[..], [root] if self.bodies[root].kind == JointKind::Free)
    }

    /// Mufti's incidence matrix S = (−e₁, C) of the tree with the ground as body 0, n×n: column j is the arc (joint) into
    /// body j+1; +1 at the body it leaves (the ground has no row), −1 at the body it enters.
    ///
    /// Without a joint to the ground the first column belongs to the fictitious arc into the root, and the rest is C.
    pub fn incidence_matrix(&self) -> Vec<Vec<i8>> {
        let n = self.bodies.len() - 1;
        let mut s = vec![vec![0; n]; n];
        for body in 1..=n {
            s[body - 1][body - 1] = -1;
            if self.parent(body) != 0 {
                s[self.parent(body) - 1][body - 1] = 1;
            }
        }
        s
    }

    /// Mufti's path matrix T = S⁻¹: entry (k, l) is −1 if joint k lies on the path from the ground to body l, else 0.
    pub fn path_matrix(&self) -> Vec<Vec<i8>> {
        let n = self.bodies.len() - 1;
        let mut t = vec![vec![0; n]; n];
        for body in 1..=n {
            for on_path in self.path_to_ground(body) {
                t[on_path - 1][body - 1] = -1;
            }
        }
        t
    }

    /// Mufti's regular labelling: the current leaves get the highest free numbers and are removed, repeatedly.
    /// Entry i−1 is the label of body i.
    ///
    /// The numbering used everywhere else is already regular in the sense that matters (parents first, so S is upper
    /// triangular); this is the paper's own choice among such numberings.
    pub fn regular_labelling(&self) -> Vec<usize> {
        let n = self.bodies.len() - 1;
        let mut children = vec![0usize; n + 1];
        for body in 1..=n {
            children[self.parent(body)] += 1;
        }
        let mut label = vec![0; n];
        let mut next = n;
        let mut leaves: Vec<usize> = (1..=n).filter(|&i| children[i] == 0).collect();
        while !leaves.is_empty() {
            let mut uncovered = Vec::new();
            for &leaf in leaves.iter().rev() {
                label[leaf - 1] = next;
                next -= 1;
                let parent = self.parent(leaf);
                children[parent] -= 1;
                if parent != 0 && children[parent] == 0 {
                    uncovered.push(parent);
                }
            }
            uncovered.sort_unstable();
            leaves = uncovered;
        }
        label
    }
}
