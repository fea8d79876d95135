//! A model rebuilt with different joints, or copied several times, and the conversion of positions between the two.

use catena::elementary;
use catena::error::Result;
use catena::model::{
    AxisPair, ConstraintSpec, ContactSpec, Dof, JointKind, JointSpec, ModelBuilder, Rule, RuleSpec,
};
use catena::spatial::{Force, Vec3};
use catena::{Model, State};

/// How a hinge is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Stays,
    Becomes(JointKind),
    LeftOut,
}

/// Which freedom of the new joint corresponds to a freedom of the old one.
fn place(old: JointKind, new: JointKind, k: usize) -> usize {
    match (old, new) {
        (JointKind::Revolute | JointKind::Continuous, JointKind::Universal) => 1,
        (JointKind::Prismatic, JointKind::Cylindrical) => 1,
        _ => k,
    }
}

fn spec(name: &str, kind: JointKind, parent: &str, child: &str, pitch: f64) -> JointSpec {
    let (x, z) = (Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 0.0, 1.0));
    JointSpec {
        axes: AxisPair {
            first: if kind == JointKind::Universal { x } else { z },
            second: z,
        },
        pitch,
        ..JointSpec::new(name, kind, parent, child)
    }
}

/// A number of independent copies of the model on the same ground.
pub fn side_by_side(model: &Model, copies: usize) -> Result<Model> {
    let stays = |count: usize| vec![Fate::Stays; count];
    made_again(
        model,
        &stays(model.body_count()),
        &stays(model.constraints().len()),
        copies,
    )
}

/// A state of the model repeated for all copies.
pub fn state_side_by_side(state: &State, copies: usize) -> State {
    State {
        q: state.q.repeat(copies),
        v: state.v.repeat(copies),
        base: state.base,
    }
}

/// Wrenches on the bodies, the ground first, repeated for all copies.
pub fn loads_side_by_side(external: &[Force<f64>], copies: usize) -> Vec<Force<f64>> {
    match external.split_first() {
        None => Vec::new(),
        Some((ground, bodies)) => {
            let mut all = vec![*ground];
            all.extend(bodies.repeat(copies));
            all
        }
    }
}

/// The model with other joints: one change for every body's joint and one for every constraint.
pub(crate) fn made_again(
    model: &Model,
    joints: &[Fate],
    constraints: &[Fate],
    copies: usize,
) -> Result<Model> {
    let tree = model.tree();
    let n = model.body_count();
    let name = |body: usize, copy: usize| match body {
        0 => "world".to_string(),
        k => format!("body {}", copy * n + k),
    };
    let called = |name: &str, copy: usize| match copy {
        0 => name.to_string(),
        k => format!("{name} {}", k + 1),
    };
    let kinds: Vec<JointKind> = std::iter::once(JointKind::Fixed)
        .chain(model.bodies().map(|body| match joints[body - 1] {
            Fate::Becomes(kind) => kind,
            _ => tree.bodies[body].kind,
        }))
        .collect();
    let mut builder = ModelBuilder::new(model.name());
    builder.gravity = model.gravity();
    builder.allow_unphysical = true; // the model's contents were accepted before
    for copy in 0..copies {
        for body in model.bodies() {
            let (info, kind) = (&tree.bodies[body], kinds[body]);
            let mut dofs = vec![Dof::default(); kind.nv()];
            if kind.quaternion().is_none() || kind == info.kind {
                for k in 0..info.kind.nv() {
                    dofs[place(info.kind, kind, k)] = model.dof(info.v + k);
                }
            }
            builder.link(&name(body, copy), model.inertial(body));
            builder.joint(JointSpec {
                parent_from_joint: model.placement(body),
                dofs,
                ..spec(
                    &called(&info.joint, copy),
                    kind,
                    &name(info.parent, copy),
                    &name(body, copy),
                    model.pitch(body),
                )
            });
        }
    }
    let names = builder.build()?; // without constraints: for the names of the freedoms
    let freedom = |v: usize, copy: usize| {
        let body = tree.dofs[v].body;
        let info = &tree.bodies[body];
        let k = place(info.kind, kinds[body], v - info.v);
        let first = names.tree().bodies[copy * n + body].v;
        names.tree().dofs[first + k].name.clone()
    };
    for copy in 0..copies {
        for (constraint, fate) in model.constraints().iter().zip(constraints) {
            let own = called(&constraint.name, copy);
            let rule = match (&constraint.rule, fate) {
                (_, Fate::LeftOut) => continue,
                (Rule::Joint(closure), fate) => {
                    let kind = match fate {
                        Fate::Becomes(kind) => *kind,
                        _ => closure.kind,
                    };
                    let (parent, child) = (name(closure.parent, copy), name(closure.child, copy));
                    RuleSpec::Joint(Box::new(JointSpec {
                        parent_from_joint: closure.parent_from_joint,
                        joint_from_child: closure.child_from_joint.inverse(),
                        ..spec(&own, kind, &parent, &child, closure.pitch)
                    }))
                }
                (Rule::Distance { between, length }, _) => RuleSpec::Distance {
                    parent: name(between.parent, copy),
                    child: name(between.child, copy),
                    parent_point: between.parent_from_joint.translation,
                    child_point: between.child_from_joint.translation,
                    length: *length,
                },
                (Rule::Coupling { terms, offset }, _) => RuleSpec::Coupling {
                    terms: terms
                        .iter()
                        .map(|(at, c)| (freedom(at.v, copy), *c))
                        .collect(),
                    offset: *offset,
                },
                (
                    Rule::Driver {
                        coordinate: at,
                        law,
                    },
                    _,
                ) => RuleSpec::Driver {
                    coordinate: freedom(at.v, copy),
                    law: law.clone(),
                },
                (
                    Rule::Contact {
                        surface,
                        between,
                        wheel,
                        radius,
                        rolls,
                    },
                    _,
                ) => RuleSpec::Contact(Box::new(ContactSpec {
                    parent: name(between.parent, copy),
                    child: name(between.child, copy),
                    surface: *surface,
                    origin: between.parent_from_joint.translation,
                    normal: between.parent_from_joint.rotation.z,
                    centre: between.child_from_joint.translation,
                    axis: wheel.then_some(between.child_from_joint.rotation.z),
                    radius: *radius,
                    rolls: *rolls,
                })),
                (Rule::KnifeEdge { between }, _) => RuleSpec::KnifeEdge {
                    parent: name(between.parent, copy),
                    child: name(between.child, copy),
                    point: between.child_from_joint.translation,
                    across: between.child_from_joint.rotation.z,
                },
                (Rule::Velocity { terms, rate }, _) => RuleSpec::Velocity {
                    terms: terms.iter().map(|&(k, c)| (freedom(k, copy), c)).collect(),
                    rate: *rate,
                },
            };
            builder.constraint(ConstraintSpec::new(&own, rule));
        }
    }
    builder.build().map(Model::with_couplings_as_constraints)
}

/// The position of the old model as one of the new.
pub(crate) fn moved(old: &Model, new: &Model, state: &State) -> State {
    let mut moved: State = State::neutral(new);
    moved.base = state.base;
    for body in old.bodies() {
        let (from, to) = (&old.tree().bodies[body], &new.tree().bodies[body]);
        let own = &state.q[from.q..from.q + from.kind.nq()];
        if from.kind == to.kind {
            moved.q[to.q..to.q + to.kind.nq()].copy_from_slice(own);
        } else if to.kind == JointKind::Spherical {
            // a rotation about z; for a universal joint about x, then z
            let (angle, tilt) = match from.kind {
                JointKind::Universal => (own[1], own[0]),
                _ => (own[0], 0.0),
            };
            let (sx, cx) = elementary::sin_cos(tilt / 2.0);
            let (sz, cz) = elementary::sin_cos(angle / 2.0);
            let turn = [cx * cz, sx * cz, -sx * sz, cx * sz];
            moved.q[to.q..to.q + 4].copy_from_slice(&turn);
        } else {
            for (k, x) in own.iter().enumerate() {
                moved.q[to.q + place(from.kind, to.kind, k)] = *x;
            }
            if from.kind == JointKind::Helical {
                moved.q[to.q + 1] = old.pitch(body) * own[0];
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::Dynamics;
    use catena::model::{Inertial, ModelBuilder};
    use catena::spatial::{Pose, Sym3};

    /// A joint replaced by one with more freedoms keeps the pose of the body, and the springs and dampers of its freedoms.
    #[test]
    fn weaker_joints_have_the_same_positions() {
        use JointKind::{
            Continuous, Cylindrical, Helical, Prismatic, Revolute, Spherical, Universal,
        };
        for (old, new, kept) in [
            (Revolute, Spherical, None),
            (Revolute, Cylindrical, Some(0)),
            (Revolute, Universal, Some(1)),
            (Continuous, Universal, Some(1)),
            (Continuous, Cylindrical, Some(0)),
            (Prismatic, Cylindrical, Some(1)),
            (Helical, Cylindrical, Some(0)),
            (Universal, Spherical, None),
            (Revolute, Revolute, Some(0)),
        ] {
            let mut builder = ModelBuilder::new("m");
            let body = Inertial {
                mass: 2.0,
                centre: Vec3::new(0.1, 0.2, 0.3),
                tensor: Sym3::new(1.0, 1.1, 1.2, 0.0, 0.0, 0.0),
            };
            builder.link("a", body).link("b", body);
            builder.joint(JointSpec::new("first", Revolute, "world", "a"));
            let dofs = (0..old.nv()).map(|k| Dof {
                damping: 2.0 + k as f64,
                ..Dof::default()
            });
            builder.joint(JointSpec {
                parent_from_joint: Pose::shift(Vec3::new(0.3, -0.2, 0.5)),
                dofs: dofs.collect(),
                ..spec("second", old, "a", "b", 0.25)
            });
            let model = builder.build().expect("sound");
            let fates = [Fate::Stays, Fate::Becomes(new)];
            let made = made_again(&model, &fates, &[], 1).expect("sound");
            let mut state = State::neutral(&model);
            for (q, x) in state.q.iter_mut().zip([0.4, 0.7, -0.9]) {
                *q = x;
            }
            let pose = |model: &Model, state: &State| {
                let still = vec![0.0; model.nv()];
                let mut dynamics = Dynamics::new(model);
                let found = dynamics.kinematics(state, &still).expect("finite");
                found.world_from_body[2]
            };
            let (before, after) = (
                pose(&model, &state),
                pose(&made, &moved(&model, &made, &state)),
            );
            let turned = before.rotation.transpose() * after.rotation;
            let apart = (turned - catena::spatial::Mat3::identity()).rows();
            let apart = apart.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
            let away = (before.translation - after.translation).norm();
            assert!(
                apart < 1e-15 && away < 1e-15,
                "{old:?} {new:?}: {apart} {away}"
            );
            let first = made.tree().bodies[2].v;
            let damping: Vec<f64> = (0..new.nv()).map(|k| made.dof(first + k).damping).collect();
            let mut wanted = vec![0.0; new.nv()];
            if let Some(kept) = kept {
                wanted[kept] = 2.0;
            }
            assert_eq!(damping, wanted, "{old:?} {new:?}");
        }
    }

    /// Wrenches of the ground stand once, those of the bodies as often as there are copies.
    #[test]
    fn loads_of_copies() {
        let load = |x: f64| Force::new(Vec3::new(x, 0.0, 0.0), Vec3::zero());
        let found = loads_side_by_side(&[load(1.0), load(2.0), load(3.0)], 2);
        assert_eq!(found, [1.0, 2.0, 3.0, 2.0, 3.0].map(load));
        assert!(loads_side_by_side(&[], 3).is_empty());
    }
}
