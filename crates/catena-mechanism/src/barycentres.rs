//! Augmented bodies of a floating tree in closed form (eqs. 26–38, after Wittenburg), in O(n²).
//!
//! To body i are added, at each of its hinges, the masses of all bodies beyond that hinge. The mass centre of this augmented body is its
//! barycentre; dᵢₖ leads from there to the hinge towards body k, dᵢᵢ to the mass centre of the body itself. With m the mass of all bodies
//! and wᵢ angular velocities, all in world axes:
//!
//! ```text
//! Kᵢᵢ = Iᵢ − Σₖ mₖ d̃ᵢₖ d̃ᵢₖ = Iᵢ − Σ_hinges m d̃ d̃ − mᵢ d̃ᵢᵢ d̃ᵢᵢ,      Kᵢⱼ = m d̃ᵢⱼ d̃ⱼᵢ                        (35)
//! Nᵢⱼ = −wⱼ × (Kⱼᵢ wⱼ) + m (dⱼᵢ × dᵢⱼ)(wⱼ·wⱼ)   (i ≠ j)                                                 (37)
//! K ω̇ = ū₂ + hinge torques,     ū₂ᵢ = −wᵢ × Kᵢᵢ wᵢ + Σₖ dᵢₖ × Fₖ + Gᵢ + Σⱼ Nᵢⱼ                            (38)
//! ```
//!
//! The product K = I + D̃ M D̃ᵀ, which serves any tree, takes O(n³). The closed form is for trees that float on one free joint and have no
//! other sliding joint.

use catena::Model;
use catena::algorithm::kinematics::Kinematics;
use catena::error::{Error, ErrorKind, Result};
use catena::model::JointKind;
use catena::spatial::{Mat3, Vec3};

/// The augmented bodies of a floating tree in one position. Bodies are numbered from 1.
#[derive(Clone, Debug)]
pub struct AugmentedBodies {
    n: usize,
    mass: f64,
    masses: Vec<f64>,
    barycentre: Vec<Vec3<f64>>,
    /// dᵢₖ by rows.
    d: Vec<Vec3<f64>>,
    /// Kᵢⱼ by rows.
    k: Vec<Mat3<f64>>,
}

impl AugmentedBodies {
    /// The augmented bodies at the position of `kinematics`.
    pub fn new(model: &Model, kinematics: &Kinematics<f64>) -> Result<Self> {
        if let Some(why) = why_not(model) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("`{}` has no augmented bodies in closed form: {why}", model.name()),
            )
            .hint("they belong to trees that float on one free joint, with ball, universal and pin joints"));
        }
        let n = model.body_count();
        let (mut masses, mut centres) = (vec![0.0; n + 1], vec![Vec3::zero(); n + 1]);
        let mut tensors = vec![Mat3::zero(); n + 1];
        for i in 1..=n {
            let (inertial, pose) = (model.inertial(i), kinematics.world_from_body[i]);
            masses[i] = inertial.mass;
            centres[i] = pose.point(inertial.centre);
            tensors[i] = inertial.tensor.conjugate(pose.rotation).full();
        }
        let hinge = |i: usize| kinematics.world_from_body[i].translation;
        let tree = model.tree();
        // masses beyond every hinge, outward from the root
        let mut beyond = masses.clone();
        for i in (2..=n).rev() {
            beyond[tree.parent(i)] += beyond[i];
        }
        let mass = beyond[1];
        let mut made = AugmentedBodies {
            n,
            mass,
            barycentre: vec![Vec3::zero(); n + 1],
            d: vec![Vec3::zero(); n * n],
            k: vec![Mat3::zero(); n * n],
            masses,
        };
        for i in 1..=n {
            let children = (i + 1..=n).filter(|&child| tree.parent(child) == i);
            // mass and position at each hinge; the root has none towards its own free joint
            let mut points: Vec<(f64, Vec3<f64>)> = children
                .map(|child| (beyond[child], hinge(child)))
                .collect();
            if i != 1 {
                points.push((mass - beyond[i], hinge(i)));
            }
            points.push((made.masses[i], centres[i]));
            let first = points
                .iter()
                .fold(Vec3::zero(), |sum, (m, p)| sum + *p * *m);
            let barycentre = first * (1.0 / mass);
            made.barycentre[i] = barycentre;
            let own = points.iter().fold(tensors[i], |sum, (m, p)| {
                let skew = Mat3::skew(*p - barycentre);
                sum - skew * skew * *m
            });
            made.k[(i - 1) * n + i - 1] = own; // (35)
        }
        for i in 1..=n {
            // hinges towards the bodies beyond i, then towards all others
            for k in 1..=n {
                let mut at = k;
                while at > i && tree.parent(at) != i {
                    at = tree.parent(at);
                }
                let place = match k == i {
                    true => centres[i],
                    false if at > i => hinge(at),
                    false => hinge(i),
                };
                made.d[(i - 1) * n + k - 1] = place - made.barycentre[i];
            }
        }
        for i in 1..=n {
            for j in (1..=n).filter(|&j| j != i) {
                let product = Mat3::skew(made.d(i, j)) * Mat3::skew(made.d(j, i));
                made.k[(i - 1) * n + j - 1] = product * mass; // (35)
            }
        }
        Ok(made)
    }

    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.n
    }

    /// Mass of all bodies, which is that of every augmented body.
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// The barycentre of body i in the world.
    pub fn barycentre(&self, i: usize) -> Vec3<f64> {
        self.barycentre[i]
    }

    /// dᵢₖ.
    pub fn d(&self, i: usize, k: usize) -> Vec3<f64> {
        self.d[(i - 1) * self.n + k - 1]
    }

    /// Kᵢⱼ.
    pub fn k(&self, i: usize, j: usize) -> Mat3<f64> {
        self.k[(i - 1) * self.n + j - 1]
    }

    /// Kᵢⱼ from D only, as the block of I + D̃ M D̃ᵀ: for checking.
    pub fn k_by_product(
        &self,
        model: &Model,
        kinematics: &Kinematics<f64>,
        i: usize,
        j: usize,
    ) -> Mat3<f64> {
        let own = match i == j {
            true => {
                let rotation = kinematics.world_from_body[i].rotation;
                model.inertial(i).tensor.conjugate(rotation).full()
            }
            false => Mat3::zero(),
        };
        (1..=self.n).fold(own, |sum, k| {
            sum - Mat3::skew(self.d(i, k)) * Mat3::skew(self.d(j, k)) * self.masses[k]
        })
    }

    /// Σⱼ Nᵢⱼ for angular velocities w (index 0 unused).
    pub fn coupling(&self, i: usize, w: &[Vec3<f64>]) -> Vec3<f64> {
        let others = (1..=self.n).filter(|&j| j != i);
        others.fold(Vec3::zero(), |sum, j| {
            let square = w[j].dot(w[j]);
            let across = self.d(j, i).cross(self.d(i, j)) * (self.mass * square);
            sum + across - w[j].cross(self.k(j, i) * w[j]) // (37)
        })
    }

    /// ū₂ᵢ: the moment on augmented body i besides the torques in its hinges, under forces at the mass centres and torques on
    /// the bodies (index 0 unused).
    pub fn right_side(
        &self,
        i: usize,
        w: &[Vec3<f64>],
        forces: &[Vec3<f64>],
        torques: &[Vec3<f64>],
    ) -> Vec3<f64> {
        let lever = (1..=self.n).fold(Vec3::zero(), |sum, k| sum + self.d(i, k).cross(forces[k]));
        let gyration = w[i].cross(self.k(i, i) * w[i]);
        lever + torques[i] + self.coupling(i, w) - gyration // (38)
    }
}

/// Why a model has no augmented bodies in closed form.
fn why_not(model: &Model) -> Option<String> {
    let tree = model.tree();
    if !tree.is_free_floating() {
        return Some("it does not float".into());
    }
    if model.mass() <= 0.0 {
        return Some("it has no mass".into());
    }
    let mut others = tree.bodies[2..].iter();
    let slides = |kind: JointKind| kind.freedoms().iter().any(|&(_, rotation)| !rotation);
    let sliding = others.find(|body| slides(body.kind) || body.kind == JointKind::Helical);
    sliding.map(|body| format!("joint `{}` has a translational freedom", body.joint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::{ModelBuilder, embedded};
    use catena::random::Random;
    use catena::{Dynamics, State};

    /// A random tree on a free root, all other joints as chosen.
    fn floating(n: usize, seed: u64, kinds: &[JointKind]) -> Model {
        let mut builder: ModelBuilder = embedded::random_tree(n, seed);
        let root = builder.joints[0].child.clone();
        for (k, joint) in builder.joints.iter_mut().enumerate() {
            joint.dofs.clear();
            joint.kind = match k {
                0 => JointKind::Free,
                _ => kinds[k % kinds.len()],
            };
            if k > 0 && joint.parent == "world" {
                joint.parent.clone_from(&root);
            }
        }
        builder.build().expect("sound")
    }

    /// Σₖ mₖ dᵢₖ = 0, and K in closed form is I + D̃ M D̃ᵀ.
    #[test]
    fn closed_forms_are_the_product() {
        use JointKind::{Revolute, Spherical, Universal};
        for seed in 1..=20 {
            let n = 1 + (seed % 8) as usize;
            let model = floating(n, seed, &[Spherical, Revolute, Universal]);
            let state = State::random(&model, seed);
            let mut dynamics = Dynamics::new(&model);
            let still = vec![0.0; model.nv()];
            let kinematics = dynamics.kinematics(&state, &still).expect("finite").clone();
            let bodies = AugmentedBodies::new(&model, &kinematics).expect("floats");
            for i in 1..=n {
                let mean = (1..=n).fold(Vec3::zero(), |sum, k| {
                    sum + bodies.d(i, k) * model.inertial(k).mass
                });
                assert!(mean.norm() < 1e-13 * bodies.mass(), "{seed}: {mean:?}");
                for j in 1..=n {
                    let difference =
                        bodies.k(i, j) - bodies.k_by_product(&model, &kinematics, i, j);
                    for column in [difference.x, difference.y, difference.z] {
                        assert!(column.norm() < 1e-12 * bodies.mass(), "{seed}: {i} {j}");
                    }
                }
            }
        }
    }

    /// K ω̇ = ū₂ for spherical joints, with ω̇ from forward dynamics, under weight, a pull at every mass centre and torques.
    #[test]
    fn rotations_obey_the_closed_form() {
        for seed in 1..=20 {
            let n = 1 + (seed % 7) as usize;
            let model = floating(n, seed, &[JointKind::Spherical]);
            let state = State::random(&model, seed);
            let mut random = Random::new(seed);
            let mut some = || random.uniform(-1.0, 1.0);
            let mut vector = || Vec3::new(some(), some(), some());
            let pulls: Vec<Vec3<f64>> = (0..=n).map(|_| vector()).collect();
            let torques: Vec<Vec3<f64>> = (0..=n).map(|_| vector()).collect();
            let mut dynamics = Dynamics::new(&model);
            let still = vec![0.0; model.nv()];
            let at = dynamics.kinematics(&state, &still).expect("finite").clone();
            // wrenches in body axes about the bodies' origins
            let external: Vec<_> = (0..=n)
                .map(|i| match i {
                    0 => catena::spatial::Force::zero(),
                    i => {
                        let rotation = at.world_from_body[i].rotation;
                        let force = rotation.transpose_times(pulls[i]);
                        let torque = rotation.transpose_times(torques[i]);
                        let moment = torque + model.inertial(i).centre.cross(force);
                        catena::spatial::Force::new(moment, force)
                    }
                })
                .collect();
            let vdot = dynamics
                .forward(&state, &still, &external)
                .expect("regular");
            let vdot = vdot.to_vec();
            let moving = dynamics.kinematics(&state, &vdot).expect("finite").clone();
            let bodies = AugmentedBodies::new(&model, &moving).expect("floats");
            let outside = |i: usize, v: Vec3<f64>| moving.world_from_body[i].rotation * v;
            let w: Vec<Vec3<f64>> = (0..=n)
                .map(|i| outside(i, moving.velocity[i].angular))
                .collect();
            let rate: Vec<Vec3<f64>> = (0..=n)
                .map(|i| outside(i, moving.acceleration[i].angular))
                .collect();
            let forces: Vec<Vec3<f64>> = (0..=n)
                .map(|k| match k {
                    0 => Vec3::zero(),
                    k => pulls[k] + model.gravity() * model.inertial(k).mass,
                })
                .collect();
            for i in 1..=n {
                let left = (1..=n).fold(Vec3::zero(), |sum, j| sum + bodies.k(i, j) * rate[j]);
                let right = bodies.right_side(i, &w, &forces, &torques);
                let size = 1.0 + left.norm();
                assert!(
                    (left - right).norm() < 1e-9 * size,
                    "{seed} {i}: {left:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn sliding_and_grounded_trees_are_refused() {
        for (name, why) in [
            ("stanford", "does not float"),
            ("zoo", "translational freedom"),
        ] {
            let model = embedded::model(name).expect("embedded");
            let mut dynamics = Dynamics::new(&model);
            let still = vec![0.0; model.nv()];
            let at = dynamics
                .kinematics(&State::neutral(&model), &still)
                .expect("finite");
            let refused = AugmentedBodies::new(&model, at).expect_err("refused");
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }
}
