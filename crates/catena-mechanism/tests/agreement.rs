//! Every formulation agrees with every other: motion of joints and bodies, loads in all hinges, rank.

use catena::algorithm::constrained::ClosedChain;
use catena::model::embedded::{self, random_closed};
use catena::random::Random;
use catena::spatial::{Force, Motion, Vec3};
use catena::{Model, State};
use catena_mechanism::{Formulation, Mechanism, Solution};

fn random_vector(random: &mut Random, n: usize, reach: f64) -> Vec<f64> {
    (0..n).map(|_| random.uniform(-reach, reach)).collect()
}

fn random_loads(random: &mut Random, model: &Model) -> Vec<Force<f64>> {
    (0..=model.body_count())
        .map(|_| {
            let x = random_vector(random, 6, 2.0);
            Force::new(Vec3::new(x[0], x[1], x[2]), Vec3::new(x[3], x[4], x[5]))
        })
        .collect()
}

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
            .fold(0.0f64, |m, (a, b)| m.max((a - b).abs() / scale))
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
            let x = random_vector(&mut random, 6, 1.0);
            let motion =
                |x: &[f64]| Motion::new(Vec3::new(x[0], x[1], x[2]), Vec3::new(x[3], x[4], x[5]));
            state.base.velocity = motion(&x);
            state.base.acceleration = motion(&random_vector(&mut random, 6, 1.0));
        }
        let tau = random_vector(&mut random, model.nv(), 5.0);
        let external = random_loads(&mut random, &model);
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
        }
    }
    println!(
        "worst difference of motions {:.1e}, of loads {:.1e}",
        worst[0], worst[1]
    );
}

#[test]
fn on_random_closed_mechanisms() {
    let (mut seen, mut redundant) = (0, 0);
    let mut worst = [0.0f64; 2];
    let mut seed = 0;
    while seen < 100 && seed < 400 {
        seed += 1;
        let (builder, mut state) =
            random_closed(5 + seed as usize % 9, 1 + seed as usize % 3, seed).expect("possible");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (rank, _) = chain.rank(0.0, &state).expect("finite");
        if rank == model.nv() || chain.project(0.0, &mut state).is_err() {
            continue;
        }
        let mut random = Random::new(seed);
        let tau = random_vector(&mut random, model.nv(), 5.0);
        let external = random_loads(&mut random, &model);
        if chain.forward(0.0, &state, &tau, &external).is_err() {
            continue; // the driver wants what dependent rows forbid
        }
        seen += 1;
        let mut mechanism = Mechanism::new(&model);
        let found = all(&mut mechanism, &state, &tau, &external);
        let cut = &found
            .iter()
            .find(|(f, _)| *f == Formulation::CutLoops)
            .expect("there")
            .1;
        redundant += usize::from(cut.rank < Some(cut.rows));
        for (formulation, solution) in &found {
            let d = difference(solution, cut);
            assert!(
                d[0] < 1e-9 && d[1] < 1e-9,
                "seed {seed}, {}: {d:?}, {:?}, condition {:.1e}",
                formulation.name(),
                solution.assumptions,
                solution.condition,
            );
            worst = [worst[0].max(d[0]), worst[1].max(d[1])];
            assert!(solution.rank.is_none_or(|rank| Some(rank) == cut.rank));
        }
    }
    println!(
        "{seen} mechanisms, {redundant} redundant, worst difference of motions {:.1e}, of loads {:.1e}",
        worst[0], worst[1]
    );
    assert!(seen >= 100, "only {seen}");
}

/// Four-bars of revolute joints have three dependent rows per loop; all routes find the same shortest loads.
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
            if let Some(rank) = solution.rank {
                assert_eq!(solution.rows - rank, 3 * n, "{}", formulation.name());
            }
        }
    }
}
