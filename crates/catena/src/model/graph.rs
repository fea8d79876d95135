//! A mechanism given as a graph: bodies, and joints between any two of them.
//!
//! Joints that carry bodies form a spanning tree; the others are cut, and become constraints. The tree is chosen so that the joints with
//! the most freedoms are cut, which gives the fewest rows; among equals, joints preferably keep their direction, then paths from the
//! ground are short, and last the order of the file decides. Joints with rotors, springs or friction are cut only on request: a cut
//! joint has no coordinate that these could act on.
//!
//! Mufti's matrices (1983, section 2 and eqs. 62–63): C of the tree is [`Tree::incidence_matrix`](super::Tree::incidence_matrix), T
//! = S⁻¹ is [`Tree::path_matrix`](super::Tree::path_matrix), C* of the cut joints is [`Model::cut_incidence_matrix`].

use super::specs::WORLD;
use super::{AxisPair, Constraint, ConstraintSpec, Dof, JointKind, JointSpec, Model, ModelBuilder};
use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Which joints carry bodies, and which close loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanningTree {
    /// Joints of the tree, parents first.
    pub tree: Vec<String>,
    /// Joints of the tree whose parent and child were exchanged.
    pub reversed: Vec<String>,
    /// Joints that were cut.
    pub cut: Vec<String>,
}

impl ModelBuilder {
    /// Makes a tree with constraints from joints that form loops. `cut` names joints to be cut; others are chosen. The
    /// choices are noted among the assumptions.
    pub fn span(&mut self, cut: &[&str]) -> Result<SpanningTree> {
        for name in cut {
            if !self.joints.iter().any(|joint| joint.name == *name) {
                return Err(Error::new(
                    ErrorKind::Model,
                    format!("there is no joint `{name}` to cut"),
                ));
            }
        }
        let mut at: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (k, joint) in self.joints.iter().enumerate() {
            at.entry(&joint.parent).or_default().push(k);
            at.entry(&joint.child).or_default().push(k);
        }
        // Prim's algorithm: the best of all joints that lead out of the tree is next
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut chosen: Vec<(usize, bool)> = Vec::new();
        let mut roots: Vec<&str> = vec![WORLD];
        let is_child = |name: &str| self.joints.iter().any(|joint| joint.child == name);
        let (children, others): (Vec<_>, Vec<_>) = self
            .links
            .iter()
            .map(|link| link.name.as_str())
            .partition(|name| is_child(name));
        roots.extend(others);
        roots.extend(children);
        for root in roots {
            // unconnected links are reported elsewhere
            if !reached.insert(root) {
                continue;
            }
            let mut waiting = BTreeSet::new();
            let mut here = (root, 0);
            loop {
                for &k in at.get(here.0).into_iter().flatten() {
                    let joint = &self.joints[k];
                    let reversed = joint.child == here.0;
                    if !cut.contains(&joint.name.as_str()) {
                        let passive = joint.dofs.iter().all(|dof| *dof == Dof::default());
                        waiting.insert((passive, joint.kind.nv(), reversed, here.1, k));
                    }
                }
                let next = loop {
                    let Some((_, _, reversed, depth, k)) = waiting.pop_first() else {
                        break None;
                    };
                    let joint = &self.joints[k];
                    let far = match reversed {
                        true => joint.parent.as_str(),
                        false => joint.child.as_str(),
                    };
                    if reached.insert(far) {
                        chosen.push((k, reversed));
                        break Some((far, depth + 1));
                    }
                };
                match next {
                    Some(next) => here = next,
                    None => break,
                }
            }
        }
        let mut found = SpanningTree::default();
        let mut joints = Vec::new();
        for &(k, backwards) in &chosen {
            let joint = &self.joints[k];
            found.tree.push(joint.name.clone());
            if backwards {
                found.reversed.push(joint.name.clone());
                joints.push(reversed(joint));
            } else {
                joints.push(joint.clone());
            }
        }
        let mut in_tree = vec![false; self.joints.len()];
        for &(k, _) in &chosen {
            in_tree[k] = true;
        }
        let mut constraints = Vec::new();
        for (joint, _) in self.joints.iter().zip(&in_tree).filter(|(_, tree)| !**tree) {
            found.cut.push(joint.name.clone());
            constraints.push(ConstraintSpec::joint(joint.clone()));
        }
        for (k, joint) in self.joints.iter().enumerate() {
            let has_start = !joint.start.is_empty() || !joint.start_velocity.is_empty();
            let is_reversed =
                found.reversed.contains(&joint.name) && !joint.kind.keeps_coordinates();
            if has_start && (!in_tree[k] || is_reversed) {
                self.assumptions.push(format!(
                    "the start of joint `{}` is not used: it {}",
                    joint.name,
                    match in_tree[k] {
                        true => "has other coordinates with parent and child exchanged",
                        false => "closes a loop and has no coordinates",
                    }
                ));
            }
        }
        self.joints = joints;
        self.constraints.splice(0..0, constraints);
        if !found.cut.is_empty() {
            self.assumptions.push(format!(
                "joints that close loops were cut: {}{}",
                found.cut.join(", "),
                match found.reversed.is_empty() {
                    true => String::new(),
                    false => format!(
                        "; parent and child exchanged: {}",
                        found.reversed.join(", ")
                    ),
                }
            ));
        }
        Ok(found)
    }
}

/// The joint with parent and child exchanged. Coordinates of joints about and along axes keep their values (those of a universal joint are
/// swapped); those of spherical, planar and free joints are those of the inverse motion.
pub(crate) fn reversed(joint: &JointSpec) -> JointSpec {
    let AxisPair { first, second } = joint.axes;
    let mut dofs = joint.dofs.clone();
    let (mut start, mut start_velocity) = (joint.start.clone(), joint.start_velocity.clone());
    let axes = match joint.kind {
        JointKind::Universal => {
            dofs.reverse();
            start.reverse();
            start_velocity.reverse();
            AxisPair {
                first: -second,
                second: -first,
            }
        }
        kind if !kind.keeps_coordinates() => {
            start.clear();
            start_velocity.clear();
            joint.axes
        }
        JointKind::Fixed => joint.axes,
        _ => AxisPair {
            first: -first,
            second,
        },
    };
    JointSpec {
        parent: joint.child.clone(),
        child: joint.parent.clone(),
        parent_from_joint: joint.joint_from_child.inverse(),
        joint_from_child: joint.parent_from_joint.inverse(),
        axes,
        dofs,
        start,
        start_velocity,
        ..joint.clone()
    }
}

impl<P> Model<P> {
    /// Mufti's C*, n × n*: a column for each constraint that joins two bodies, with +1 at the body its arc leaves (the parent)
    /// and −1 at the body it enters; the ground has no row.
    pub fn cut_incidence_matrix(&self) -> Vec<Vec<i8>> {
        let joining: Vec<[usize; 2]> = self
            .constraints()
            .iter()
            .filter_map(Constraint::bodies)
            .collect();
        let mut incidence = vec![vec![0; joining.len()]; self.body_count()];
        for (column, [parent, child]) in joining.into_iter().enumerate() {
            for (body, sign) in [(parent, 1), (child, -1)] {
                if body != 0 {
                    incidence[body - 1][column] += sign;
                }
            }
        }
        incidence
    }
}
