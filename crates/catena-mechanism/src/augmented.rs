//! Augmented bodies (eqs. 28–38, 51) and relative joint rates (eqs. 55–61), for any joints, trees and loops.
//!
//! The constraint forces in the tree's hinges are eliminated along the graph. With hinge i at oᵢ, mass centres cₖ, and the displacements
//! s of sliding hinges as additional unknowns (remark 5):
//!
//! ```text
//! dₖₖ = cₖ − oₖ,   dᵢₖ = o(next hinge from i to k) − oᵢ                                          D = −L̄ T      (remark 3)
//! a floating tree: minus the mass-weighted mean over its bodies, and the root's slide is that of the mass centre
//!                     dᵢₖ is then relative to the barycentre of augmented body i             D = −L T₂ μ   (28)
//! r̈ₖ = … + Σᵢ ω̇ᵢ × dᵢₖ + Σ p̄ s̈ = … + D̃ᵀ ω̇ + P̄ s̈,      y = (ω̇, s̈),  x = x₀ + Z (y − y₀)
//!
//! augmented   K = Zᵀ J Z = I + D̃ M D̃ᵀ (and slides),   K y − G λ = ū₂,   Gᵀ y = u₄               (28, 51)
//! relative    y = V v̇,  ω̇ of V along the paths, −Tᵀ P:   Vᵀ K V v̇ − Vᵀ G λ = Vᵀ ū₂              (55–61)
//! then        loads in the tree from its leaves to its roots:  f = T (M r̈ − u₁),  gᶜ = T (K ω̇ − ū₂)  (12, 56)
//! ```
//!
//! A floating tree without slides and rotors has K in closed form, in O(n²) ([`AugmentedBodies`]).
//!
//! G has the torques of the tree's hinges (51), or none of them (61), and everything that closes loops. x₀ has the paper's
//! centripetal terms; of N 1ₙ and ĥ' only the sum appears, in Zᵀ (u − J x₀). Where rows are dependent, the null-space component of the
//! loads is removed at the end, which leaves the loads of minimum norm.

use crate::appendix::rank_note;
use crate::barycentres::AugmentedBodies;
use crate::dense::{Solved, refine};
use crate::equations::Equations;
use crate::linear::{Col, Mat};
use crate::null_space::from_the_leaves;
use crate::saddle::Saddle;
use catena::Model;
use catena::algorithm::kinematics::Kinematics;
use catena::error::Result;
use catena::model::JointKind;
use catena::spatial::{Mat3, Vec3};

/// The remaining unknowns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// ω̇ of all bodies and slides (28, 51).
    Rotations,
    /// v̇ of all joints (55–61).
    JointRates,
}

/// A slide of a hinge: its body, the freedom it belongs to, direction in the world, and advance per unit of the freedom.
struct Slide {
    body: usize,
    freedom: usize,
    direction: Vec3<f64>,
    advance: f64,
}

/// Z: motions of all bodies (six rows each, rotations first) per unit of ω̇ of all bodies and of all slides.
struct Graph {
    z: Mat,
    slides: Vec<Slide>,
    /// Root of the tree a body belongs to, if that tree floats; 0 otherwise. Entry 0 is unused.
    floating: Vec<usize>,
    /// Mass of the tree with this root.
    mass: Vec<f64>,
}

impl Graph {
    fn new(model: &Model, equations: &Equations, kinematics: &Kinematics<f64>) -> Self {
        let tree = model.tree();
        let n = model.body_count();
        let mut slides = Vec::new();
        for body in 1..=n {
            let info = &tree.bodies[body];
            for k in 0..info.kind.nv() {
                let linear = kinematics.joint_column(model, body, k).linear;
                let advance = linear.norm();
                if advance > 1e-12 {
                    let rotation = kinematics.world_from_body[body].rotation;
                    slides.push(Slide {
                        body,
                        freedom: info.v + k,
                        direction: rotation * (linear * (1.0 / advance)),
                        advance,
                    });
                }
            }
        }
        let (mut floating, mut mass) = (vec![0; n + 1], vec![0.0; n + 1]);
        for body in 1..=n {
            let parent = tree.parent(body);
            floating[body] = match parent {
                0 if tree.bodies[body].kind == JointKind::Free => body,
                0 => 0,
                _ => floating[parent],
            };
            mass[floating[body]] += equations.inertia[body].0;
        }
        for body in 1..=n {
            if mass[floating[body]] <= 0.0 {
                floating[body] = 0;
            }
        }
        let mut graph = Graph {
            z: Mat::zeros(6 * n, 3 * n + slides.len()),
            slides,
            floating,
            mass,
        };
        let origin = |body: usize| kinematics.world_from_body[body].translation;
        for body in 1..=n {
            for i in 0..3 {
                graph.z[(6 * (body - 1) + i, 3 * (body - 1) + i)] = 1.0;
            }
            // ω̇ᵢ × dᵢₖ for every i on the path, and the slides there
            let (mut at, mut to) = (body, equations.centre[body]);
            while at != 0 {
                let block = Mat3::skew(origin(at) - to); // −d̃
                let rows = block.rows();
                for i in 0..3 {
                    for j in 0..3 {
                        graph.z[(6 * (body - 1) + 3 + i, 3 * (at - 1) + j)] = rows[i][j];
                    }
                }
                for (index, slide) in graph.slides.iter().enumerate() {
                    if slide.body == at {
                        for (i, x) in slide.direction.to_array().into_iter().enumerate() {
                            graph.z[(6 * (body - 1) + 3 + i, 3 * n + index)] = x;
                        }
                    }
                }
                (at, to) = (tree.parent(at), origin(at));
            }
        }
        graph.about_barycentres(equations);
        graph
    }

    /// Subtracts the mean over the bodies of a floating tree from all columns except those of its own slides: D = −L T₂ μ.
    fn about_barycentres(&mut self, equations: &Equations) {
        let n = self.floating.len() - 1;
        for column in 0..self.z.ncols() {
            let moved = match column.checked_sub(3 * n) {
                Some(slide) => self.slides[slide].body,
                None => column / 3 + 1,
            };
            let root = self.floating[moved];
            if root == 0 || column >= 3 * n && moved == root {
                continue;
            }
            let mean = self.mean(root, equations, &|row| self.z[(row, column)]);
            for body in (1..=n).filter(|&body| self.floating[body] == root) {
                for i in 0..3 {
                    self.z[(6 * (body - 1) + 3 + i, column)] -= mean[i];
                }
            }
        }
    }

    /// Mass-weighted mean of a motion of the bodies of a floating tree.
    fn mean(&self, root: usize, equations: &Equations, motion: &dyn Fn(usize) -> f64) -> [f64; 3] {
        let mut mean = [0.0; 3];
        for body in 1..self.floating.len() {
            if self.floating[body] == root {
                let share = equations.inertia[body].0 / self.mass[root];
                for (i, mean) in mean.iter_mut().enumerate() {
                    *mean += share * motion(6 * (body - 1) + 3 + i);
                }
            }
        }
        mean
    }

    /// K = Zᵀ J Z.
    fn product(&self, equations: &Equations) -> Mat {
        let size = equations.unknowns();
        let mut inertial = Mat::zeros(size, self.z.ncols()); // J Z
        let mut image = vec![0.0; size];
        for k in 0..self.z.ncols() {
            equations.inertia_times(&self.z.col(k).0, &mut image);
            for i in 0..size {
                inertial[(i, k)] = image[i];
            }
        }
        &self.z.transpose() * &inertial
    }

    /// K of a floating tree without rotors and slides, in O(n²): Kᵢⱼ = m d̃ᵢⱼ d̃ⱼᵢ (35), and the whole mass for the root's slides.
    fn closed_form(
        &self,
        model: &Model,
        equations: &Equations,
        kinematics: &Kinematics<f64>,
    ) -> Option<Mat> {
        let has_rotors = equations.freedoms.iter().any(|freedom| freedom.0 != 0.0);
        let bodies = AugmentedBodies::new(model, kinematics).ok();
        let bodies = bodies.filter(|_| !has_rotors)?;
        let n = bodies.bodies();
        let mut k = Mat::zeros(self.z.ncols(), self.z.ncols());
        for i in 1..=n {
            for j in 1..=n {
                for (a, row) in bodies.k(i, j).rows().into_iter().enumerate() {
                    for (b, x) in row.into_iter().enumerate() {
                        k[(3 * (i - 1) + a, 3 * (j - 1) + b)] = x;
                    }
                }
            }
        }
        for (a, one) in self.slides.iter().enumerate() {
            for (b, other) in self.slides.iter().enumerate() {
                k[(3 * n + a, 3 * n + b)] = bodies.mass() * one.direction.dot(other.direction);
            }
        }
        Some(k)
    }

    /// V: y per unit of v̇.
    fn of_joint_rates(
        &self,
        model: &Model,
        equations: &Equations,
        kinematics: &Kinematics<f64>,
    ) -> Mat {
        let tree = model.tree();
        let n = model.body_count();
        let mut v = Mat::zeros(self.z.ncols(), model.nv());
        for body in 1..=n {
            for joint in tree.path_to_ground(body) {
                let rotation = kinematics.world_from_body[joint].rotation;
                for k in 0..tree.bodies[joint].kind.nv() {
                    let axis = rotation * kinematics.joint_column(model, joint, k).angular;
                    for (i, x) in axis.to_array().into_iter().enumerate() {
                        v[(3 * (body - 1) + i, tree.bodies[joint].v + k)] = x;
                    }
                }
            }
        }
        for (index, slide) in self.slides.iter().enumerate() {
            v[(3 * n + index, slide.freedom)] = slide.advance;
        }
        // the slide of a floating root is that of the mass centre: the effect of rotations about the root's hinge is added back
        for (index, slide) in self.slides.iter().enumerate() {
            if self.floating[slide.body] != slide.body || slide.body == 0 {
                continue;
            }
            let at_root = 6 * (slide.body - 1) + 3;
            let lever =
                equations.centre[slide.body] - kinematics.world_from_body[slide.body].translation;
            for column in 0..model.nv() {
                // the root's mass centre moves by ω̇ × lever and the slides of its hinge; in Z the mean is subtracted
                let turn = Vec3::new(
                    v[(3 * (slide.body - 1), column)],
                    v[(3 * (slide.body - 1) + 1, column)],
                    v[(3 * (slide.body - 1) + 2, column)],
                );
                let wanted = turn.cross(lever).dot(slide.direction);
                let mut found = 0.0;
                for (i, part) in slide.direction.to_array().into_iter().enumerate() {
                    for k in 0..self.z.ncols() {
                        let own = k >= 3 * n && self.slides[k - 3 * n].body == slide.body;
                        if !own {
                            found += part * self.z[(at_root + i, k)] * v[(k, column)];
                        }
                    }
                }
                v[(3 * n + index, column)] += wanted - found;
            }
        }
        v
    }
}

pub(crate) fn solve(
    unknown: Unknown,
    equations: &Equations,
    model: &Model,
    kinematics: &Kinematics<f64>,
) -> Result<Solved> {
    let graph = Graph::new(model, equations, kinematics);
    let size = equations.unknowns();
    let mut k = match graph.closed_form(model, equations, kinematics) {
        Some(k) => k,
        None => graph.product(equations),
    };
    let mut z = graph.z.clone();
    let tree_rows = equations.first_constraint_row();
    let mut left: Vec<usize> = (tree_rows..equations.rows.len()).collect();
    match unknown {
        Unknown::Rotations => {
            // rows of the tree with a torque: pure forces do no work on Z
            let turning = (0..tree_rows).filter(|&r| equations.wrench[r].moment.norm() > 1e-12);
            left = turning.chain(left).collect();
        }
        Unknown::JointRates => {
            let v = graph.of_joint_rates(model, equations, kinematics);
            k = &v.transpose() * &(&k * &v); // (61)
            z = &z * &v;
        }
    }
    let mut g = Mat::zeros(z.ncols(), left.len());
    let mut motion = vec![0.0; size];
    for column in 0..z.ncols() {
        for (i, x) in motion.iter_mut().enumerate() {
            *x = z[(i, column)];
        }
        for (at, &row) in left.iter().enumerate() {
            g[(column, at)] = equations.rows[row].dot(&motion);
        }
    }
    let saddle = Saddle::new(k, g)?;
    // loads of the tree that balance given loads of the remaining rows
    let complete = |needed: &mut [f64], mu: &dyn Fn(usize) -> f64| {
        for (at, &row) in left.iter().enumerate() {
            equations.rows[row].add_to(-mu(at), needed);
        }
        let mut lambda = from_the_leaves(equations, model, kinematics, needed);
        for (at, &row) in left.iter().enumerate() {
            lambda[row] += mu(at);
        }
        lambda
    };
    let null = saddle.null();
    let mut idle = Mat::zeros(equations.rows.len(), null.ncols());
    for c in 0..null.ncols() {
        let lambda = complete(&mut vec![0.0; size], &|at| null[(at, c)]);
        for (i, x) in lambda.into_iter().enumerate() {
            idle[(i, c)] = x;
        }
    }
    let idle = idle.qr().thin_q();
    let (across_idle, across) = (idle.transpose(), z.transpose());
    let mut first = true;
    let unknowns = refine(equations, 4, |u, right| {
        // b = Hᵀ x₀ for the tree; residuals of it are round-off
        let particular = match std::mem::take(&mut first) {
            true => equations.still.clone(),
            false => vec![0.0; size],
        };
        let mut force = vec![0.0; size];
        equations.inertia_times(&particular, &mut force);
        let free = &across * &Col::from_fn(size, |i| u[i] - force[i]); // ū₂
        let b = Col::from_fn(left.len(), |at| {
            right[left[at]] - equations.rows[left[at]].dot(&particular)
        });
        let (y, mu) = saddle.solve(free, &b);
        let mut x = (&z * &y).0;
        for (x, before) in x.iter_mut().zip(&particular) {
            *x += before;
        }
        let mut needed = vec![0.0; size];
        equations.inertia_times(&x, &mut needed);
        for (needed, u) in needed.iter_mut().zip(u) {
            *needed -= u;
        }
        let lambda = complete(&mut needed, &|at| mu[at]); // (12), (56)
        let lambda = Col(lambda);
        let idling = &idle * &(&across_idle * &lambda);
        (x, (lambda - &idling).0)
    });
    let rank = equations.rows.len() - null.ncols();
    let mut assumptions = Vec::new();
    saddle.note(&mut assumptions);
    rank_note(equations.rows.len(), rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition: saddle.condition(),
        assumptions,
        handed_over: false,
    })
}

#[cfg(test)]
mod tests {
    use super::Graph;
    use crate::Mechanism;
    use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
    use catena::model::embedded;
    use catena::model::{JointKind, ModelBuilder};
    use catena::spatial::{Mat3, Vec3};
    use catena::{Model, State};

    /// A random tree of spherical joints on a free root.
    fn floating(seed: u64) -> Model {
        let mut builder: ModelBuilder = embedded::random_tree(6, seed);
        let root = builder.joints[0].child.clone();
        for (k, joint) in builder.joints.iter_mut().enumerate() {
            joint.dofs.clear();
            joint.kind = match k {
                0 => JointKind::Free,
                _ => JointKind::Spherical,
            };
            if k > 0 && joint.parent == "world" {
                joint.parent.clone_from(&root);
            }
        }
        builder.build().expect("sound")
    }

    /// Barycentres of augmented bodies: Σₖ mₖ dᵢₖ = 0, Kᵢᵢ = Iᵢ − Σₖ mₖ d̃ᵢₖ d̃ᵢₖ and Kᵢⱼ = m d̃ᵢⱼ d̃ⱼᵢ (35), which the general product
    /// Zᵀ J Z does not use; and the mass centre's acceleration is decoupled.
    #[test]
    fn barycentres() {
        for seed in 1..=5 {
            let model = floating(seed);
            let state = State::random(&model, seed);
            let mut mechanism = Mechanism::new(&model);
            mechanism
                .equations(0.0, &state, &vec![0.0; model.nv()], &[])
                .expect("finite");
            let (equations, _, kinematics) = mechanism.parts();
            let graph = Graph::new(&model, equations, kinematics);
            let n = model.body_count();
            let product = graph.product(equations);
            let closed = graph.closed_form(&model, equations, kinematics);
            let closed = closed.expect("floats, without rotors");
            let size = model.mass();
            for i in 0..product.nrows() {
                for j in 0..product.ncols() {
                    let difference = (product[(i, j)] - closed[(i, j)]).abs();
                    assert!(difference < 1e-12 * size, "{seed}: {i} {j}");
                }
            }
            let d = |i: usize, k: usize| {
                // ω̇ᵢ × dᵢₖ is the block −d̃ᵢₖ
                let entry = |a: usize, b: usize| graph.z[(6 * (k - 1) + 3 + a, 3 * (i - 1) + b)];
                Vec3::new(entry(1, 2), entry(2, 0), entry(0, 1))
            };
            let total: f64 = (1..=n).map(|k| equations.inertia[k].0).sum();
            let mut image = vec![0.0; 6 * n];
            let mut product = |i: usize, j: usize| {
                equations.inertia_times(&graph.z.col(j).0, &mut image);
                let along = graph.z.col(i);
                (0..6 * n).map(|r| along[r] * image[r]).sum::<f64>()
            };
            for i in 1..=n {
                let mut mean = Vec3::zero();
                for k in 1..=n {
                    mean += d(i, k) * equations.inertia[k].0;
                }
                assert!(mean.norm() < 1e-13 * total);
                for j in 1..=n {
                    let expected = match i == j {
                        true => {
                            let mut own = equations.inertia[i].1.rows();
                            for k in 1..=n {
                                let skew = Mat3::skew(d(i, k));
                                let square = (skew * skew).rows();
                                for a in 0..3 {
                                    for b in 0..3 {
                                        own[a][b] -= equations.inertia[k].0 * square[a][b];
                                    }
                                }
                            }
                            own
                        }
                        false => (Mat3::skew(d(i, j)) * Mat3::skew(d(j, i)) * total).rows(),
                    };
                    for a in 0..3 {
                        for b in 0..3 {
                            let found = product(3 * (i - 1) + a, 3 * (j - 1) + b);
                            assert!(
                                (found - expected[a][b]).abs() < 1e-12 * total,
                                "{seed}: {i} {j}"
                            );
                        }
                    }
                }
                for s in 0..3 {
                    assert!(product(3 * (i - 1), 3 * n + s).abs() < 1e-12 * total);
                }
            }
        }
    }

    /// Two floating trees of random joints; the second root is the fourth body.
    fn floating_pair(seed: u64) -> Model {
        let mut builder: ModelBuilder = embedded::random_tree(7, seed);
        for (k, joint) in builder.joints.iter_mut().enumerate() {
            joint.dofs.clear();
            if k == 0 || k == 3 {
                joint.kind = JointKind::Free;
                joint.parent = "world".to_string();
            } else if joint.parent == "world" {
                joint.parent = format!("body{k}");
            }
        }
        builder.build().expect("sound")
    }

    /// Z V v̇ are the accelerations that forward kinematics finds at rest: V's columns have the right share of the slides of floating
    /// roots, which Z takes as those of mass centres. Results do not tell, because any share spans the same motions.
    #[test]
    fn joint_rates_give_the_motion_of_every_body() {
        for seed in 1..=20 {
            let model = floating_pair(seed);
            let mut mechanism = Mechanism::new(&model);
            let random = State::random(&model, seed);
            let state = State::new(&model, &random.q, &vec![0.0; model.nv()]).expect("finite");
            mechanism
                .equations(0.0, &state, &vec![0.0; model.nv()], &[])
                .expect("finite");
            let (equations, _, kinematics) = mechanism.parts();
            let graph = Graph::new(&model, equations, kinematics);
            let motions = &graph.z * &graph.of_joint_rates(&model, equations, kinematics);
            let mut expected = Kinematics::new(&model);
            for freedom in 0..model.nv() {
                let mut rates = vec![0.0; model.nv()];
                rates[freedom] = 1.0;
                forward_kinematics(&model, state.view(), &rates, &mut expected);
                for body in 1..=model.body_count() {
                    let rotation = expected.world_from_body[body].rotation;
                    let turn = rotation * expected.acceleration[body].angular;
                    let centre = expected.mass_centre(&model, body)[2];
                    let both = turn.to_array().into_iter().chain(centre.to_array());
                    for (i, x) in both.enumerate() {
                        let found = motions[(6 * (body - 1) + i, freedom)];
                        assert!(
                            (found - x).abs() < 1e-12 * (1.0 + x.abs()),
                            "seed {seed}, body {body}, freedom {freedom}, {i}: {found} {x}"
                        );
                    }
                }
            }
        }
    }
}
