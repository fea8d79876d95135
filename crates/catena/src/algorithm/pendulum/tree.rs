//! The pendulum as a tree of spherical joints, and back: absolute orientations in the pendulum, relative ones in the tree.

use super::euler::Four;
use super::{Pendulum, Rod, Unknowns, consistent_values};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Inertial, JointKind, JointSpec, Model, ModelBuilder};
use crate::spatial::{Mat3, Pose, Vec3};
use crate::state::State;

impl Pendulum {
    /// The pendulum of a model: a chain of spherical joints on the ground, without passive forces and rotors.
    ///
    /// Body axes are those of the model's body frames. The last body has no outboard joint; one is placed at its mass centre.
    pub fn of_model(model: &Model) -> Result<Self> {
        model.expect_no_forces("the pendulum of spherical joints")?;
        let tree = model.tree();
        let refuse = |what: String| {
            Err(Error::new(ErrorKind::Unsupported, format!("`{}` is not a pendulum: {what}", model.name()))
                .hint("a pendulum is a chain of spherical joints on the ground, such as `pendulum-3`, without springs, friction and rotors"))
        };
        for body in model.bodies() {
            let info = &tree.bodies[body];
            if info.kind != JointKind::Spherical {
                return refuse(format!("joint `{}` is not spherical", info.joint));
            }
            if info.parent + 1 != body {
                return refuse(format!("`{}` is on a branch of its own", info.name));
            }
            for k in tree.dof_range(body) {
                let dof = model.dof(k);
                if [dof.armature, dof.damping, dof.friction, dof.stiffness] != [0.0; 4] {
                    return refuse(format!(
                        "joint `{}` has passive forces or a rotor",
                        info.joint
                    ));
                }
            }
        }
        let rods = model.bodies().map(|body| {
            let inertial = model.inertial(body);
            let outboard = if body < model.body_count() {
                model.placement(body + 1).translation
            } else {
                inertial.centre
            };
            Rod {
                mass: inertial.mass,
                inertia: inertial.tensor,
                a: -outboard,
                r: inertial.centre - outboard,
            }
        });
        let rods: Vec<Rod> = rods.collect();
        Pendulum::new(model.gravity(), model.placement(1).translation, &rods)
    }

    /// The pendulum as a tree; every link frame is at the mass centre.
    pub fn model(&self) -> Result<Model> {
        let mut builder = ModelBuilder::new("pendulum");
        builder.gravity = self.gravity;
        let mut parent = String::from("world");
        let mut hinge = self.pivot;
        for (index, link) in self.rods.iter().enumerate() {
            let name = format!("rod{}", index + 1);
            builder.link(
                &name,
                Inertial {
                    mass: link.rod.mass,
                    centre: Vec3::zero(),
                    tensor: link.rod.inertia,
                },
            );
            let joint = format!("ball{}", index + 1);
            builder.joint(JointSpec {
                parent_from_joint: Pose::shift(hinge),
                joint_from_child: Pose::shift(-link.c),
                ..JointSpec::new(&joint, JointKind::Spherical, &parent, &name)
            });
            parent = name;
            hinge = -link.rod.r;
        }
        builder.build()
    }

    /// X of a state of the model that [`Pendulum::of_model`] was made of.
    pub fn values_of_state(&self, model: &Model, state: &State) -> Result<Vec<f64>> {
        let (mut orientations, mut velocities) = (Vec::new(), Vec::new());
        let mut before: (Four<f64>, Vec3<f64>) = ([1.0, 0.0, 0.0, 0.0], Vec3::zero());
        for body in model.bodies() {
            let mut relative = [0.0; 4];
            relative.copy_from_slice(&state.q[model.tree().q_range(body)]);
            let own = &state.v[model.tree().dof_range(body)];
            let placed = product(quaternion_of(model.placement(body).rotation), relative);
            let carried = Mat3::from_quaternion(placed).transpose_times(before.1);
            let p = product(before.0, placed);
            let omega = carried + Vec3::new(own[0], own[1], own[2]);
            orientations.push(p);
            velocities.push(omega);
            before = (p, omega);
        }
        consistent_values(self, &orientations, &velocities)
    }

    /// Positions q and velocities v of the model at X.
    pub fn state_of_values(&self, model: &Model, x: &[f64], q: &mut [f64], v: &mut [f64]) {
        let mut before: (Four<f64>, Vec3<f64>) = ([1.0, 0.0, 0.0, 0.0], Vec3::zero());
        for body in model.bodies() {
            let own = Unknowns::of(x, body - 1);
            let length = super::euler::dot(own.parameters, own.parameters).sqrt();
            let p = own.parameters.map(|x| x / length);
            let omega =
                super::euler::g_times(own.parameters, own.rates) * (2.0 / (length * length));
            let placement = quaternion_of(model.placement(body).rotation);
            let placed = product(conjugate(before.0), p);
            let carried = Mat3::from_quaternion(placed).transpose_times(before.1);
            let relative = product(conjugate(placement), placed);
            q[model.tree().q_range(body)].copy_from_slice(&relative);
            v[model.tree().dof_range(body)].copy_from_slice(&(omega - carried).to_array());
            before = (p, omega);
        }
    }
}

fn conjugate([w, x, y, z]: Four<f64>) -> Four<f64> {
    [w, -x, -y, -z]
}

/// The rotation b followed by a.
fn product([aw, ax, ay, az]: Four<f64>, [bw, bx, by, bz]: Four<f64>) -> Four<f64> {
    [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]
}

/// The unit quaternion of a rotation matrix, from the largest of its four squares.
pub(crate) fn quaternion_of(rotation: Mat3<f64>) -> Four<f64> {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation.rows();
    let squares = [
        1.0 + xx + yy + zz,
        1.0 + xx - yy - zz,
        1.0 - xx + yy - zz,
        1.0 - xx - yy + zz,
    ];
    let mut largest = 0;
    for k in 1..4 {
        if squares[k] > squares[largest] {
            largest = k;
        }
    }
    let unscaled = match largest {
        0 => [squares[0], zy - yz, xz - zx, yx - xy],
        1 => [zy - yz, squares[1], yx + xy, xz + zx],
        2 => [xz - zx, yx + xy, squares[2], zy + yz],
        _ => [yx - xy, xz + zx, zy + yz, squares[3]],
    };
    unscaled.map(|x| x / (2.0 * squares[largest].sqrt()))
}
