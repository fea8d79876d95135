//! Every formulation agrees with every other: motion of joints and bodies, loads in all hinges, rank.

use catena::ClosedChain;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::embedded;
use catena::model::{AxisPair, ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec};
use catena::random::Random;
use catena::residual::larger;
use catena::scalar::Count;
use catena::spatial::{Force, Mat3, Motion, Pose, Sym3, Vec3};
use catena::{Base, Model, ModelBuilder, State, StateView};
use catena_mechanism::{Formulation, Mechanism, Solution};
use catena_testing::draw::{numbers, wrenches};
use catena_testing::parallelogram;
use catena_testing::random_closed;

/// Random closed mechanisms that all formulations are compared on; docs/validation.md states the number.
const MECHANISMS: usize = 500;

/// Largest difference of two solutions: motions relative to the largest acceleration, loads relative to the largest load.
fn difference(a: &Solution, b: &Solution) -> [f64; 2] {
    let motion = |s: &Solution| -> Vec<f64> {
        let bodies = s.bodies.iter().flat_map(|m| m.to_array());
        s.accelerations.iter().copied().chain(bodies).collect()
    };
    let loads = |s: &Solution| -> Vec<f64> {
        let forces = s.tree.iter().chain(&s.constraints);
        let forces = forces.flat_map(|f| f.to_array());
        forces.chain(s.multipliers.iter().copied()).collect()
    };
    let compare = |a: Vec<f64>, b: Vec<f64>| {
        assert_eq!(a.len(), b.len());
        let scale = a.iter().chain(&b).fold(1.0f64, |m, x| m.max(x.abs()));
        a.iter()
            .zip(&b)
            .fold(0.0, |m, (a, b)| larger(m, (a - b).abs() / scale))
    };
    [compare(motion(a), motion(b)), compare(loads(a), loads(b))]
}

fn all(
    mechanism: &mut Mechanism,
    state: &State,
    tau: &[f64],
    external: &[Force<f64>],
) -> Vec<(Formulation, Solution)> {
    let tree = mechanism.model().constraints().is_empty();
    Formulation::ALL
        .into_iter()
        .filter(|&f| tree || f != Formulation::TreeNullSpace)
        .map(|f| {
            let solution = mechanism
                .accelerations(f, 0.0, state, tau, external)
                .unwrap_or_else(|error| panic!("{}: {error}", f.name()));
            (f, solution)
        })
        .collect()
}

#[test]
fn on_random_trees() {
    let mut worst = [0.0f64; 2];
    for seed in 1..=40 {
        let model = embedded::model(&format!("random-{}-{seed}", 1 + seed % 9)).expect("embedded");
        let mut random = Random::new(seed);
        let mut state = State::random(&model, seed);
        if seed % 2 == 0 {
            let x = numbers(&mut random, 6, 1.0);
            let motion =
                |x: &[f64]| Motion::new(Vec3::new(x[0], x[1], x[2]), Vec3::new(x[3], x[4], x[5]));
            state.base.velocity = motion(&x);
            state.base.acceleration = motion(&numbers(&mut random, 6, 1.0));
        }
        let tau = numbers(&mut random, model.nv(), 5.0);
        let external = wrenches(&mut random, &model, 2.0);
        let mut mechanism = Mechanism::new(&model);
        let found = all(&mut mechanism, &state, &tau, &external);
        for (formulation, solution) in &found {
            for (other, reference) in &found {
                let d = difference(solution, reference);
                assert!(
                    d[0] < 1e-9 && d[1] < 1e-9,
                    "seed {seed}, {} and {}: {d:?}",
                    formulation.name(),
                    other.name()
                );
                worst = [worst[0].max(d[0]), worst[1].max(d[1])];
            }
            assert!(solution.rank.is_none_or(|rank| rank == solution.rows));
            assert!(!solution.handed_over, "{}", formulation.name());
        }
    }
    println!(
        "worst difference of motions {:.1e}, of loads {:.1e}",
        worst[0], worst[1]
    );
}

/// Springs and motors of a model act in every formulation: in a tree, and in a mechanism with loops.
#[test]
fn with_force_elements() {
    let governor = embedded::model("governor").expect("embedded");
    let squeezer = embedded::model("squeezer").expect("embedded");
    let start = State::start(&squeezer);
    for (model, state) in [(&governor, State::random(&governor, 3)), (&squeezer, start)] {
        let tau = vec![0.01; model.nv()];
        let found = all(&mut Mechanism::new(model), &state, &tau, &[]);
        let bare = model.clone().without_forces();
        let without = all(&mut Mechanism::new(&bare), &state, &tau, &[]);
        for ((formulation, solution), (_, other)) in found.iter().zip(&without) {
            let d = difference(solution, &found[0].1);
            let name = formulation.name();
            assert!(d[0] < 1e-8 && d[1] < 1e-8, "{} {name}: {d:?}", model.name());
            assert!(difference(solution, other)[0] > 0.1, "{name}");
        }
    }
}

/// A random pose about the origin.
fn random_pose(random: &mut Random) -> Pose<f64> {
    let x = numbers(random, 3, 1.0);
    Pose::new(
        Mat3::from_quaternion(random.quaternion()),
        Vec3::new(x[0], x[1], x[2]),
    )
}

/// A plane mechanism somewhere in space: a tree of pins and sliders, closed by pins and sliders at a random state. Some bodies are
/// rods without inertia about their own axis. Every loop has three dependent rows.
fn random_planar(bodies: usize, loops: usize, seed: u64) -> (ModelBuilder, State) {
    let mut random = Random::new(seed ^ 0x91a4e);
    let mut builder = ModelBuilder::new("planar");
    let plane = random_pose(&mut random);
    let in_plane = |random: &mut Random| {
        let x = numbers(random, 2, 1.0);
        Vec3::new(x[0], x[1], 0.0)
    };
    let slider = |random: &mut Random| AxisPair {
        first: {
            let (sin, cos) = random.uniform(-3.0, 3.0).sin_cos();
            Vec3::new(cos, sin, 0.0)
        },
        ..AxisPair::default()
    };
    let joint = |random: &mut Random, name: &str, parent: &str, child: &str, first: bool| {
        let slides = random.below(5) == 0;
        let at = Pose::shift(in_plane(random));
        JointSpec {
            parent_from_joint: if first { plane * at } else { at },
            axes: match slides {
                true => slider(random),
                false => AxisPair::default(),
            },
            ..JointSpec::new(
                name,
                if slides {
                    JointKind::Prismatic
                } else {
                    JointKind::Revolute
                },
                parent,
                child,
            )
        }
    };
    for k in 0..bodies {
        let mass = random.uniform(0.2, 3.0);
        let (rod, size) = (random.below(2) == 0, mass * random.uniform(0.01, 0.2));
        builder.link(
            &format!("link{k}"),
            Inertial {
                mass,
                centre: in_plane(&mut random),
                tensor: Sym3::from_upper(Mat3::from_rows([
                    [if rod { 0.0 } else { size }, 0.0, 0.0],
                    [0.0, size, 0.0],
                    [0.0, 0.0, if rod { size } else { 1.5 * size }],
                ])),
            },
        );
        let parent = match k {
            0 => "world".to_string(),
            _ if random.below(6) == 0 => "world".to_string(),
            _ => format!("link{}", k - 1 - random.below(k.min(3))),
        };
        let on_ground = parent == "world";
        builder.joint(joint(
            &mut random,
            &format!("joint{k}"),
            &parent,
            &format!("link{k}"),
            on_ground,
        ));
    }
    let model = builder.build().expect("a tree");
    let state = State::random(&model, seed);
    let mut kinematics = Kinematics::new(&model);
    let still = vec![0.0; model.nv()];
    forward_kinematics(&model, state.view(), &still, &mut kinematics);
    let frame = |name: &str| {
        let frame = model.tree().frames.iter().find(|f| f.name == name);
        kinematics.frame_pose(frame.expect("there"))
    };
    for k in 0..loops {
        // from the ground or an early body to a late one
        let parent = match random.below(2) {
            0 => "world".to_string(),
            _ => format!("link{}", random.below(bodies / 2)),
        };
        let child = format!("link{}", bodies / 2 + random.below(bodies - bodies / 2));
        let spec = joint(
            &mut random,
            &format!("loop{k}"),
            &parent,
            &child,
            parent == "world",
        );
        let world_from_joint = frame(&parent) * spec.parent_from_joint;
        // the joint stands at zero here, whatever the angle of the child
        let joint_from_child = world_from_joint.inverse() * frame(&child);
        builder.constraint(ConstraintSpec::joint(JointSpec {
            joint_from_child,
            ..spec
        }));
    }
    (builder, state)
}

/// Random mechanisms of three kinds, in turn: in space, in space with loops closed twice, in a plane.
fn random_mechanism(seed: u64) -> (&'static str, Model, State) {
    let size = 4 + seed as usize % 9;
    let loops = 1 + (seed / 4) as usize % 3;
    if seed % 4 == 3 {
        let (builder, state) = random_planar(size, loops, seed);
        return ("plane", builder.build().expect("sound"), state);
    }
    let (mut builder, state) = random_closed(size + 1, loops, seed).expect("possible");
    if seed % 4 != 2 {
        return ("space", builder.build().expect("sound"), state);
    }
    for k in 0..builder.constraints.len() {
        let mut again = builder.constraints[k].clone();
        if let RuleSpec::Joint(joint) = &mut again.rule {
            // a point of every rotational joint, constrained a second time
            if matches!(joint.kind, JointKind::Revolute | JointKind::Universal) {
                (again.name, joint.name) = (format!("again{k}"), format!("again{k}"));
                joint.kind = JointKind::Spherical;
                builder.constraint(again);
            }
        }
    }
    ("doubled", builder.build().expect("sound"), state)
}

/// Mobile mechanisms, closed, with consistent velocities, under efforts and loads. Results that a formulation computed by itself are
/// counted: none of them may hand over to another, and only the null space of the graph, which is for trees, may refuse.
#[test]
fn on_random_closed_mechanisms() {
    let (mut seen, mut redundant, mut tried) = (0, 0, 0);
    let mut worst = [0.0f64; 2];
    let mut own = vec![0; Formulation::ALL.len()];
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    while seen < MECHANISMS && tried < 4000 {
        tried += 1;
        let seed = tried;
        let (kind, model, mut state) = random_mechanism(seed);
        let mut chain = ClosedChain::new(&model);
        let (rank, _) = chain.rank(0.0, &state).expect("finite");
        if rank == model.nv() || chain.project(0.0, &mut state).is_err() {
            continue;
        }
        let mut random = Random::new(seed);
        let tau = numbers(&mut random, model.nv(), 5.0);
        let external = wrenches(&mut random, &model, 2.0);
        if chain.forward(0.0, &state, &tau, &external).is_err() {
            continue; // the driver contradicts dependent rows
        }
        seen += 1;
        match kinds.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
        let mut mechanism = Mechanism::new(&model);
        let found = all(&mut mechanism, &state, &tau, &external);
        let cut = &found
            .iter()
            .find(|(f, _)| *f == Formulation::CutLoops)
            .expect("there")
            .1;
        redundant += usize::from(cut.rank < Some(cut.rows));
        for (formulation, solution) in &found {
            let index = Formulation::ALL.iter().position(|f| f == formulation);
            own[index.expect("one of them")] += usize::from(!solution.handed_over);
            let d = difference(solution, cut);
            assert!(
                d[0] < 1e-9 && d[1] < 1e-9,
                "seed {seed} ({kind}), {}: {d:?}, {:?}, condition {:.1e}",
                formulation.name(),
                solution.assumptions,
                solution.condition,
            );
            worst = [worst[0].max(d[0]), worst[1].max(d[1])];
            assert!(
                solution.rank.is_none_or(|rank| Some(rank) == cut.rank),
                "seed {seed} ({kind}), {}: {:?} {:?}",
                formulation.name(),
                solution.rank,
                cut.rank
            );
        }
    }
    println!(
        "{seen} mechanisms of {tried}, {kinds:?}, {redundant} redundant, worst difference of motions {:.1e}, of loads {:.1e}",
        worst[0], worst[1]
    );
    for (formulation, own) in Formulation::ALL.iter().zip(&own) {
        println!("{:20} {own} by itself", formulation.name());
    }
    assert!(
        seen >= MECHANISMS && redundant >= 150,
        "{seen}, {redundant}"
    );
    for (formulation, own) in Formulation::ALL.iter().zip(&own) {
        let expected = match formulation {
            Formulation::TreeNullSpace => 0,
            _ => seen,
        };
        assert_eq!(*own, expected, "{} by itself", formulation.name());
    }
}

/// Four-bars of revolute joints have three dependent rows per loop; all formulations find the same minimum-norm loads.
#[test]
fn on_planar_redundant_mechanisms() {
    for n in [1usize, 3] {
        let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
        let mut q = vec![0.0; model.nq()];
        let mut v = vec![0.0; model.nv()];
        for k in 0..model.nv() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            (q[k], v[k]) = (1.1 * sign, -0.8 * sign);
        }
        let state = State::new(&model, &q, &v).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        let tau = vec![0.3; model.nv()];
        let found = all(&mut mechanism, &state, &tau, &[]);
        for (formulation, solution) in &found {
            let d = difference(solution, &found[0].1);
            assert!(
                d[0] < 1e-10 && d[1] < 1e-10,
                "{n}, {}: {d:?}",
                formulation.name()
            );
            assert!(!solution.handed_over, "{}", formulation.name());
            if let Some(rank) = solution.rank {
                assert_eq!(solution.rows - rank, 3 * n, "{}", formulation.name());
                let note = format!("{} of {} rows are dependent", 3 * n, solution.rows);
                let mut notes = solution.assumptions.iter();
                assert!(
                    notes.any(|told| told.starts_with(&note)),
                    "{}: {:?}",
                    formulation.name(),
                    solution.assumptions
                );
            }
        }
    }
}

/// Another unit of mass changes neither motion nor rank, and loads by its factor. What is solved has the same condition, but for the
/// matrix of Lagrange's equations, in which masses stand next to numbers without a unit; it is never better than 1.
#[test]
fn the_unit_of_mass_does_not_matter() {
    for seed in [3, 7, 11, 15] {
        let (builder, mut state) = random_planar(6, 2, seed);
        let mut heavier = builder.clone();
        // a power of four, whose square root is exact, too
        for link in &mut heavier.links {
            let inertial = link.inertial.as_mut().expect("it has mass");
            inertial.mass *= 4096.0;
            inertial.tensor = Sym3::zero().add_scaled(inertial.tensor, 4096.0);
        }
        let [light, heavy] = [builder, heavier].map(|builder| builder.build().expect("sound"));
        let mut chain = ClosedChain::new(&light);
        if chain.project(0.0, &mut state).is_err() {
            continue;
        }
        let tau = numbers(&mut Random::new(seed), light.nv(), 5.0);
        let more: Vec<f64> = tau.iter().map(|x| 4096.0 * x).collect();
        let found = all(&mut Mechanism::new(&light), &state, &tau, &[]);
        let again = all(&mut Mechanism::new(&heavy), &state, &more, &[]);
        for ((formulation, mut a), (_, b)) in found.into_iter().zip(again) {
            let name = formulation.name();
            let loads = a.tree.iter_mut().chain(&mut a.constraints);
            loads.for_each(|load| *load = *load * 4096.0);
            a.multipliers.iter_mut().for_each(|x| *x *= 4096.0);
            let d = difference(&a, &b);
            assert!(d[0] < 1e-9 && d[1] < 1e-9, "{name}: {d:?}");
            assert_eq!(a.rank, b.rank, "{name}");
            // without damping, corrections have round-off only to remove
            let damped = [Formulation::Lagrangian, Formulation::Proximal].contains(&formulation);
            assert!(a.corrections <= 1 || damped, "{name}: {}", a.corrections);
            assert!(a.condition >= 1.0, "{name}: {}", a.condition);
            let apart = (a.condition / b.condition - 1.0).abs();
            assert!(
                apart < 1e-9 || formulation == Formulation::Lagrangian,
                "{name}: condition {} and {}",
                a.condition,
                b.condition
            );
        }
    }
}

/// Operations of every formulation are counted: along the tree each further loop takes the same number, all rows together take more
/// and more. A tree alone costs what its forward dynamics costs.
#[test]
fn operations_are_counted() {
    let counted = |model: &Model, formulation: Formulation| {
        let state = match model.constraints().is_empty() {
            true => State::random(model, 1),
            false => parallelogram(model, 1.1, -0.8),
        };
        let (mut mechanism, tau) = (Mechanism::new(model), vec![0.3; model.nv()]);
        let solution = mechanism.counted(formulation, 0.0, &state, &tau, &[]);
        solution.expect("closed").operations.expect("counted")
    };
    let rows =
        [1usize, 2, 3, 4].map(|n| embedded::model(&format!("four-bar-{n}")).expect("embedded"));
    let steps = |formulation: Formulation| -> Vec<f64> {
        let counts: Vec<f64> = rows
            .iter()
            .map(|model| counted(model, formulation))
            .collect();
        counts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let along = steps(Formulation::AlongTree);
    assert!(
        along[0] > 100.0 && along.iter().all(|step| *step == along[0]),
        "{along:?}"
    );
    let together = steps(Formulation::CutLoops);
    assert!(
        together[2] > 1.2 * together[1] && together[1] > 1.2 * together[0],
        "{together:?}"
    );
    // the same work takes the same number again, and a larger mechanism takes more
    for formulation in Formulation::ALL {
        if formulation == Formulation::TreeNullSpace {
            continue;
        }
        let [small, again, large] =
            [0, 0, 1].map(|index: usize| counted(&rows[index], formulation));
        assert!(
            small > 10.0 && small == again && large > small,
            "{}: {small} {again} {large}",
            formulation.name()
        );
    }
    let arm = embedded::model("stanford").expect("embedded");
    let (q, v) = ([0.1; 6].map(Count::variable), [0.2; 6].map(Count::variable));
    let (base, mut vdot, mut work) = (Base::fixed(), v, ForwardDynamics::new(&arm));
    let ((), alone) = Count::measure(|| {
        let state = StateView {
            q: &q,
            v: &v,
            base: &base,
        };
        forward_dynamics(&arm, state, &v, &[], &mut work, &mut vdot);
    });
    let alone = (alone.multiplications + alone.divisions) as f64;
    let found = counted(&arm, Formulation::CutLoops);
    // and one more solution with the factors, for multipliers that are none
    assert!((alone..1.3 * alone).contains(&found), "{alone} {found}");
}

/// The default reports its choice and the reason, and is one of the formulations; names are unique.
#[test]
fn the_default_says_why() {
    for (name, expected) in [
        ("four-bar-1", Formulation::CutLoops),
        ("stanford", Formulation::CutLoops),
        ("four-bar-40", Formulation::Lagrangian),
    ] {
        let model = embedded::model(name).expect("embedded");
        let q: Vec<f64> = (0..model.nq())
            .map(|k| if k % 2 == 0 { 1.1 } else { -1.1 })
            .collect();
        let state = State::new(&model, &q, &vec![0.0; model.nv()]).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        assert_eq!(mechanism.choice().0, expected);
        let tau = vec![0.0; model.nv()];
        let chosen = mechanism.chosen(0.0, &state, &tau, &[]).expect("closed");
        let start = format!("by {}: ", expected.name());
        assert!(chosen.assumptions[0].starts_with(&start), "{name}");
        let other = mechanism
            .accelerations(Formulation::RelativeRates, 0.0, &state, &tau, &[])
            .expect("closed");
        let d = difference(&chosen, &other);
        assert!(d[0] < 1e-9 && d[1] < 1e-9, "{name}: {d:?}");
    }
    for formulation in Formulation::ALL {
        assert_eq!(Formulation::named(formulation.name()), Some(formulation));
    }
    assert_eq!(Formulation::named("magic"), None);
}
