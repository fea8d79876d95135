//! Subjects of the counts: chains of revolute joints, and the algorithms run in counting numbers or in expressions.

use catena::algorithm::constrained::chosen_rows::forward_dynamics_closed;
use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::elements::{element_wrenches, generalized};
use catena::algorithm::factorization::Factorization;
use catena::algorithm::forward_dynamics::{
    ForwardDynamics, WalkerOrin, forward_dynamics, forward_dynamics_walker_orin,
};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::error::Result;
use catena::model::{Couplings, Inertial, JointKind, JointSpec, modified_dh};
use catena::random::Random;
use catena::scalar::{Count, Operations};
use catena::spatial::{Force, Mat3, Pose, Sym3, Vec3};
use catena::{Base, Matrix, Model, ModelBuilder, Scalar, State, StateView};
use catena_symbolic::generate::{self, CodeOptions, Question};
use std::f64::consts::FRAC_PI_2;

/// Placement of the axes of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Anywhere in the previous frame.
    Anywhere,
    /// At right angles to the previous one, at a distance.
    RightAngles,
}

/// A chain of n revolute joints. The first axis is vertical and passes through the origin; mass centres and inertia tensors are
/// full.
pub fn chain(n: usize, axes: Axes) -> Result<Model> {
    let mut builder = ModelBuilder::new(&format!("revolute-{n}"));
    let mut random = Random::new(1999);
    let mut parent = String::from("world");
    for k in 1..=n {
        parent = add_link(&mut builder, &mut random, axes, k, &parent);
    }
    builder.build()
}

/// An arm of n revolute joints on a free spacecraft, called `spacecraft`, `link1` … `linkn`.
pub fn space_robot(n: usize, axes: Axes) -> ModelBuilder {
    let mut builder = ModelBuilder::new(&format!("space-robot-{n}"));
    builder.gravity = Vec3::zero();
    let mut random = Random::new(1999);
    let inertial = full_inertial(&mut random);
    builder.link("spacecraft", inertial);
    builder.joint(JointSpec::new(
        "base",
        JointKind::Free,
        "world",
        "spacecraft",
    ));
    let mut parent = String::from("spacecraft");
    for k in 1..=n {
        parent = add_link(&mut builder, &mut random, axes, k, &parent);
    }
    builder
}

/// Mass, mass centre and tensor without zeros.
fn full_inertial(random: &mut Random) -> Inertial {
    let mut some = |low, high| random.uniform(low, high);
    let centre = Vec3::new(some(0.1, 0.2), some(0.1, 0.2), some(0.1, 0.2));
    let tensor = Sym3::new(
        some(0.1, 0.11),
        some(0.1, 0.11),
        some(0.1, 0.11),
        some(0.01, 0.02),
        some(0.01, 0.02),
        some(0.01, 0.02),
    );
    Inertial {
        mass: 1.0,
        centre,
        tensor,
    }
}

/// Adds link k on a revolute joint, and returns its name.
fn add_link(
    builder: &mut ModelBuilder,
    random: &mut Random,
    axes: Axes,
    k: usize,
    parent: &str,
) -> String {
    let mut inertial = full_inertial(random);
    let mut some = |low, high| random.uniform(low, high);
    let place = Vec3::new(some(0.2, 0.5), some(0.2, 0.5), some(0.2, 0.5));
    inertial.mass = some(0.5, 1.5);
    let turn = Mat3::from_quaternion(random.quaternion());
    let name = format!("link{k}");
    builder.link(&name, inertial);
    let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, parent, &name);
    if parent != "world" {
        joint.parent_from_joint = match axes {
            Axes::Anywhere => Pose::new(turn, place),
            Axes::RightAngles => modified_dh(place.x, FRAC_PI_2, place.y, 0.0),
        };
    }
    builder.joint(joint);
    name
}

/// An algorithm that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Recursive Newton–Euler.
    Inverse,
    /// Articulated bodies, O(n).
    Articulated,
    /// Newton–Euler, I = U D Uᵀ by recursion, two substitutions, O(n): Saha's scheme.
    Factorization,
    /// Newton–Euler, composite bodies, elimination, O(n³): Walker and Orin's third method.
    WalkerOrin,
    /// The inertia matrix by composite bodies.
    Inertia,
    /// Newton–Euler, and a factorization over clusters of coupled joints, O(n).
    Clusters,
    /// Articulated bodies, and independent rows of the constraints.
    ChosenRows,
}

impl Algorithm {
    /// The algorithms of trees.
    pub const ALL: [Algorithm; 5] = [
        Algorithm::Inverse,
        Algorithm::Articulated,
        Algorithm::Factorization,
        Algorithm::WalkerOrin,
        Algorithm::Inertia,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Inverse => "inverse dynamics, Newton–Euler",
            Algorithm::Articulated => "forward dynamics, articulated bodies",
            Algorithm::Factorization => "forward dynamics, U D Uᵀ",
            Algorithm::WalkerOrin => "forward dynamics, Walker–Orin",
            Algorithm::Inertia => "inertia matrix",
            Algorithm::Clusters => "forward dynamics, clusters of coupled joints",
            Algorithm::ChosenRows => "forward dynamics of the closed chain",
        }
    }
}

/// The operations of an algorithm on this model as the library runs it: exact zeros and ones among the model's numbers cost nothing,
/// everything else does.
pub fn recursion(model: &Model, couplings: Option<&Couplings>, algorithm: Algorithm) -> Operations {
    if let Some(couplings) = couplings {
        return coupled(model, couplings, algorithm);
    }
    let n = model.nv();
    let count =
        |numbers: &[f64]| -> Vec<Count> { numbers.iter().map(|x| Count::variable(*x)).collect() };
    let state = State::random(model, 1);
    let (q, v) = (count(&state.q), count(&state.v));
    let x = vec![Count::variable(0.1); n];
    let rest = vec![Count::zero(); n];
    let (base, mut out) = (Base::fixed(), rest.clone());
    let state = StateView {
        q: &q,
        v: &v,
        base: &base,
    };
    let ((), operations) = match algorithm {
        Algorithm::Inverse => {
            let mut work = InverseDynamics::new(model);
            Count::measure(|| inverse_dynamics(model, state, &x, &[], &mut work, &mut out))
        }
        Algorithm::Articulated => {
            let mut work = ForwardDynamics::new(model);
            Count::measure(|| forward_dynamics(model, state, &x, &[], &mut work, &mut out))
        }
        Algorithm::Factorization => {
            let mut work = InverseDynamics::new(model);
            let mut factors = Factorization::new(model);
            Count::measure(|| {
                inverse_dynamics(model, state, &rest, &[], &mut work, &mut out);
                for (bias, effort) in out.iter_mut().zip(&x) {
                    *bias = *effort - *bias;
                }
                factors.factorize(model, &q);
                factors.solve(model, &mut out);
            })
        }
        Algorithm::WalkerOrin => {
            let mut work = WalkerOrin::new(model);
            Count::measure(|| {
                forward_dynamics_walker_orin(model, state, &x, &[], &mut work, &mut out)
            })
        }
        Algorithm::Inertia => {
            let mut work = CompositeBodies::new(model);
            let mut matrix = vec![Count::zero(); n * n];
            Count::measure(|| inertia_matrix(model, &q, &mut work, &mut matrix))
        }
        Algorithm::Clusters | Algorithm::ChosenRows => unreachable!("a tree has no constraints"),
    };
    operations
}

/// The operations that turn the force elements of a tree into efforts Jᵀ w and add these to given ones: motion of the bodies, wrenches, projection.
pub fn elements(tree: &Model, couplings: Option<&Couplings>) -> Operations {
    let count =
        |numbers: &[f64]| -> Vec<Count> { (numbers.iter().map(|x| Count::variable(*x))).collect() };
    let mut state = State::random(tree, 1);
    state.base = Base::fixed();
    let (q, v) = (count(&state.q), count(&state.v));
    let (still, base) = (vec![Count::zero(); tree.nv()], Base::fixed());
    let mut motion = Kinematics::new(tree);
    let mut efforts = still.clone();
    let ((), mut operations) = Count::measure(|| {
        let mut wrenches = vec![Force::zero(); tree.body_count() + 1];
        let state = StateView {
            q: &q,
            v: &v,
            base: &base,
        };
        forward_kinematics(tree, state, &still, &mut motion);
        element_wrenches(tree, &motion, &mut wrenches);
        generalized(tree, &motion, &mut wrenches, &mut efforts);
        if let Some(couplings) = couplings {
            couplings.contract(&efforts, &mut vec![Count::zero(); couplings.nv()]);
        }
    });
    operations.additions += couplings.map_or(tree.nv(), Couplings::nv) as u64;
    operations
}

/// The operations of the accelerations of a closed chain, by these rows of its constraints.
pub fn closed(model: &Model, chosen: &[usize]) -> Operations {
    let x = |n: usize| vec![Count::variable(0.1); n];
    let state = State::random(model, 1);
    let q: Vec<Count> = state.q.iter().map(|x| Count::variable(*x)).collect();
    let (v, tau) = (x(model.nv()), x(model.nv()));
    let (time, base) = (Count::variable(0.1), Base::fixed());
    let state = StateView {
        q: &q,
        v: &v,
        base: &base,
    };
    let (_, operations) =
        Count::measure(|| forward_dynamics_closed(model, chosen, time, state, &tau, &[]));
    operations
}

/// The operations of an algorithm on the independent freedoms of a tree with couplings.
fn coupled(tree: &Model, couplings: &Couplings, algorithm: Algorithm) -> Operations {
    let x = |n: usize| vec![Count::variable(0.1); n];
    let (q, v) = (x(couplings.nq()), x(couplings.nv()));
    let (mut out, base) = (v.clone(), Base::fixed());
    let mut work = CoupledDynamics::new(tree, couplings);
    let state = StateView {
        q: &q,
        v: &v,
        base: &base,
    };
    let ((), operations) = match algorithm {
        Algorithm::Inverse => Count::measure(|| {
            work.inverse(tree, couplings, state, &v, &[], &mut out);
        }),
        Algorithm::Inertia => {
            let mut work = CompositeBodies::new(tree);
            let mut matrix = Matrix::zeros(tree.nv(), tree.nv());
            let mut all = vec![Count::zero(); tree.nq()];
            Count::measure(|| {
                couplings.expand_positions(&q, &mut all);
                inertia_matrix(tree, &all, &mut work, matrix.as_mut_slice());
                couplings.congruence(&matrix);
            })
        }
        _ => Count::measure(|| {
            work.forward(tree, couplings, state, &v, &[], &mut out);
        }),
    };
    operations
}

/// The operations of the simplified straight-line program of an algorithm, if there is one.
pub fn program(model: &Model, algorithm: Algorithm) -> Result<Option<Operations>> {
    let (question, traced) = match algorithm {
        Algorithm::Inverse => (Question::Inverse, ""),
        Algorithm::Articulated => (Question::Forward, "articulated bodies"),
        Algorithm::WalkerOrin => (Question::Forward, "Newton–Euler"),
        Algorithm::Inertia => (Question::Inertia, ""),
        Algorithm::Clusters => (Question::Forward, "articulated clusters"),
        Algorithm::ChosenRows => (Question::Forward, ""),
        Algorithm::Factorization => return Ok(None),
    };
    if model.nv() == 0 {
        return Ok(None);
    }
    let ways = generate::programs(model, question, &CodeOptions::default())?;
    let own = ways.iter().filter(|(_, method)| method.starts_with(traced));
    let counts = own.map(|(program, _)| program.operation_count());
    Ok(counts.min_by_key(|count| both(*count).iter().sum::<i64>()))
}

/// Multiplications and divisions, additions and subtractions, as the papers count.
pub fn both(operations: Operations) -> [i64; 2] {
    [
        (operations.multiplications + operations.divisions) as i64,
        operations.additions as i64,
    ]
}
