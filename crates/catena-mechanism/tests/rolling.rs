//! What rolls and glides: every formulation, freedoms of position and velocity, and linear equations against closed forms and the
//! published benchmark of the bicycle.

use catena::ClosedChain;
use catena::model::{
    ConstraintSpec, ContactSpec, JointKind, JointSpec, ModelBuilder, RuleSpec, embedded,
};
use catena::spatial::Vec3;
use catena::{Model, State};
use catena_mechanism::doctor::diagnose;
use catena_mechanism::{Formulation, Linearisation, Mechanism, SteadyMotion};
use faer::Mat;

fn model(name: &str) -> Model {
    embedded::model(name).expect("embedded")
}

/// The disk of the embedded model on a free joint.
fn free_disk() -> Model {
    let whole = embedded::builder("rolling-disk").expect("embedded");
    let mut builder = ModelBuilder::new("free-disk");
    builder.link("disk", whole.links[3].inertial.expect("it has mass"));
    builder.joint(JointSpec {
        start: vec![0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0],
        start_velocity: vec![3.0, 0.0, 0.0, 0.0, 6.0, 0.0],
        ..JointSpec::new("free", JointKind::Free, "world", "disk")
    });
    builder.constraint(whole.constraints[0].clone());
    builder.build().expect("sound")
}

/// A state that rolls, tilted and turning.
fn moving(model: &Model, seed: u64) -> State {
    let mut guess = State::start(model);
    let mut random = catena::random::Random::new(seed);
    let step: Vec<f64> = (0..model.nv()).map(|_| random.uniform(-0.4, 0.4)).collect();
    guess.step(model, &step);
    for v in &mut guess.v {
        *v += random.uniform(-1.0, 1.0);
    }
    let mut chain = ClosedChain::new(model);
    chain.assemble(0.0, &guess, &[]).expect("it rolls").state
}

/// All formulations find the same accelerations; the one for trees says why it does not.
#[test]
fn formulations_agree() {
    for model in [free_disk(), model("sleigh"), model("bicycle")] {
        let name = model.name().to_owned();
        let mut mechanism = Mechanism::new(&model);
        for seed in 1..4 {
            let state = moving(&model, seed);
            let tau: Vec<f64> = (0..model.nv()).map(|k| 0.3 * k as f64 - 0.5).collect();
            let mut solve =
                |formulation| mechanism.accelerations(formulation, 0.0, &state, &tau, &[]);
            let one = solve(Formulation::CutLoops).expect("regular");
            assert_eq!(one.rank, Some(one.rows), "{name}");
            for formulation in Formulation::ALL {
                if formulation == Formulation::TreeNullSpace {
                    let error = solve(formulation).expect_err("for trees");
                    assert!(error.message().contains("tree"), "{error}");
                    continue;
                }
                let other = solve(formulation).expect("regular");
                let scale = one.accelerations.iter().fold(1.0f64, |m, a| m.max(a.abs()));
                for (a, b) in one.accelerations.iter().zip(&other.accelerations) {
                    assert!(
                        (a - b).abs() < 1e-9 * scale,
                        "{name}, {}: {a} {b}",
                        formulation.name()
                    );
                }
                for (a, b) in one.multipliers.iter().zip(&other.multipliers) {
                    assert!(
                        (a - b).abs() < 1e-8 * (1.0 + a.abs().max(b.abs())),
                        "{name}, {}: {a} {b}",
                        formulation.name()
                    );
                }
            }
        }
    }
}

/// Freedoms of velocity and of position; a second contact at the same place is reported as dependent.
#[test]
fn freedoms_are_counted_apart() {
    for (name, rows, velocities, positions) in [
        ("rolling-disk", [3, 2], 3, 5),
        ("sleigh", [1, 1], 2, 3),
        ("bicycle", [6, 4], 3, 7),
    ] {
        let model = model(name);
        let found = diagnose(&model, 0.0, &State::start(&model), 4, 1).expect("sound");
        assert_eq!([found.rows, found.velocity_rows], rows, "{name}");
        assert_eq!(found.freedoms(), velocities, "{name}");
        for position in found.elsewhere.iter().chain([&found.here]) {
            assert_eq!(position.position_freedoms, positions, "{name}");
        }
        assert!(!found.elsewhere.is_empty(), "{name}");
        assert_eq!(found.redundant(), 0, "{name}");
    }
    let mut builder = embedded::builder("rolling-disk").expect("embedded");
    let slippery = ContactSpec {
        origin: Vec3::new(1.0, 0.0, 0.0),
        rolls: false,
        ..ContactSpec::wheel("disk", Vec3::new(0.0, 1.0, 0.0), 0.5)
    };
    let rule = RuleSpec::Contact(Box::new(slippery));
    builder.constraint(ConstraintSpec::new("again", rule));
    let model = builder.build().expect("sound");
    let found = diagnose(&model, 0.0, &State::start(&model), 3, 1).expect("sound");
    assert_eq!((found.redundant(), found.freedoms()), (1, 3));
    assert_eq!(found.dependent[0].name, "again");
    assert_eq!(found.dependent[0].words, "force along z");
}

/// λ² = (A m g r − C (C + m r²) Ω²) / (A (A + m r²)): an upright disk is steady above Ω² = g/3r.
#[test]
fn a_fast_disk_stays_upright() {
    let model = model("rolling-disk");
    let (mass, radius, gravity) = (2.0f64, 0.5, 9.81);
    let (across, along) = (mass * radius * radius / 4.0, mass * radius * radius / 2.0);
    let lever = mass * radius * radius;
    for speed in [0.0, 0.7, 3.0, 9.0] {
        let mut state = State::start(&model);
        state.v.iter_mut().for_each(|v| *v *= speed / 3.0);
        let linear = SteadyMotion::new(&model, &state, &[0.0; 6]).expect("steady");
        assert!(linear.leaves < 1e-13, "{speed}: {:.1e}", linear.leaves);
        let (modes, zeros) = linear.modes().expect("found");
        let omega = speed / radius;
        let square = (across * mass * gravity * radius - along * (along + lever) * omega * omega)
            / (across * (across + lever));
        assert_eq!(zeros, 6, "{speed}");
        let root = square.abs().sqrt();
        let expected = match square < 0.0 {
            true => vec![[0.0, root]],
            false => vec![[-root, 0.0], [root, 0.0]],
        };
        assert_eq!(modes.list.len(), expected.len(), "{speed}");
        for mode in &modes.list {
            let near = expected
                .iter()
                .any(|x| (x[0] - mode.value[0]).hypot(x[1] - mode.value[1]) < 1e-11 * (1.0 + root));
            assert!(near, "{speed}: {:?}, expected {expected:?}", mode.value);
        }
        assert!(modes.residual < 1e-12);
    }
    // a free joint's axes spin with the disk, and the equations in them change
    let free = free_disk();
    let error = SteadyMotion::new(&free, &State::start(&free), &[0.0; 6]).expect_err("changes");
    assert!(
        error.message().contains("change along the motion"),
        "{error}"
    );
    // the leaning motion that falls at rest is no equilibrium of second order
    let error = Linearisation::new(&model, &State::start(&model), &[0.0; 6]).expect_err("rolls");
    assert!(error.message().contains("constrains velocities"), "{error}");
    // pushed, it does not continue in steady motion
    let error = SteadyMotion::new(
        &model,
        &State::start(&model),
        &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    )
    .expect_err("pushed");
    assert!(error.message().contains("not a steady motion"), "{error}");
}

fn bicycle(speed: f64) -> SteadyMotion {
    let model = model("bicycle");
    let mut state = State::start(&model);
    state.v.iter_mut().for_each(|v| *v *= speed / 4.6);
    SteadyMotion::new(&model, &state, &[0.0; 9]).expect("steady")
}

/// Eigenvalues of the modes, both of a pair.
fn eigenvalues(speed: f64) -> Vec<[f64; 2]> {
    let (modes, zeros) = bicycle(speed).modes().expect("found");
    assert_eq!(zeros, 6, "{speed}");
    let both = modes.list.iter().flat_map(|mode| match mode.value {
        [re, im] if im > 0.0 => vec![[re, im], [re, -im]],
        real => vec![real],
    });
    both.collect()
}

/// M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0 of lean and steer, the published matrices.
fn published(speed: f64) -> Vec<[f64; 2]> {
    let m = [
        [80.81722, 2.319_413_322_087_09],
        [2.319_413_322_087_09, 0.297_841_881_996_86],
    ];
    let c1 = [
        [0.0, 33.866_413_914_924_94],
        [-0.850_356_414_569_78, 1.685_403_973_975_60],
    ];
    let k0 = [
        [-80.95, -2.599_516_852_498_72],
        [-2.599_516_852_498_72, -0.803_294_884_586_18],
    ];
    let k2 = [[0.0, 76.597_345_895_732_22], [0.0, 2.654_315_237_946_04]];
    let det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    let inverse = [
        [m[1][1] / det, -m[0][1] / det],
        [-m[1][0] / det, m[0][0] / det],
    ];
    let a = Mat::from_fn(4, 4, |i, j| match (i < 2, j < 2) {
        (true, _) => f64::from(u8::from(j == i + 2)),
        (false, true) => -(0..2)
            .map(|k| inverse[i - 2][k] * (9.81 * k0[k][j] + speed * speed * k2[k][j]))
            .sum::<f64>(),
        (false, false) => -(0..2)
            .map(|k| inverse[i - 2][k] * speed * c1[k][j - 2])
            .sum::<f64>(),
    });
    let found = a.eigen().expect("small");
    found
        .S()
        .column_vector()
        .iter()
        .map(|x| [x.re, x.im])
        .collect()
}

/// The eigenvalues over the speeds of the benchmark, against its matrices and, at 0 and 5 m/s, its table.
#[test]
fn the_bicycle_has_the_published_eigenvalues() {
    let compare = |speed: f64, expected: &[[f64; 2]]| {
        let found = eigenvalues(speed);
        assert_eq!(found.len(), 4, "{speed}");
        for x in expected {
            let near = found.iter().map(|y| (x[0] - y[0]).hypot(x[1] - y[1]));
            let near = near.fold(f64::INFINITY, f64::min);
            let scale = 1.0 + x[0].hypot(x[1]);
            assert!(near < 2e-11 * scale, "{speed}: {x:?} {near:.1e} {found:?}");
        }
    };
    for k in 0..=10 {
        compare(f64::from(k), &published(f64::from(k)));
    }
    let (slow, fast) = (3.131_643_247_906_56, 5.530_943_717_653_93);
    compare(0.0, &[[slow, 0.0], [-slow, 0.0], [fast, 0.0], [-fast, 0.0]]);
    let (re, im) = (-0.775_341_882_195_85, 4.464_867_713_788_23);
    let (capsize, castering) = (-0.322_866_429_004_09, -14.078_389_692_798_22);
    compare(
        5.0,
        &[[re, im], [re, -im], [capsize, 0.0], [castering, 0.0]],
    );
    let linear = bicycle(5.0);
    assert!(linear.leaves < 1e-12 && linear.residual < 1e-10);
    let rates = linear.variables.iter().filter(|(_, is_rate)| *is_rate);
    assert_eq!((linear.variables.len(), rates.count()), (10, 3));
}

/// The speed near a guess at which a real part vanishes: inverse interpolation through four speeds.
fn vanishing(near: f64, part: impl Fn(&[[f64; 2]]) -> f64) -> f64 {
    let points: Vec<(f64, f64)> = [-1.5, -0.5, 0.5, 1.5]
        .map(|k| {
            let speed = near + 1e-3 * k;
            (part(&eigenvalues(speed)), speed)
        })
        .to_vec();
    let terms = points.iter().enumerate().map(|(i, (x, speed))| {
        let others = points.iter().enumerate().filter(|(j, _)| *j != i);
        speed * others.map(|(_, (y, _))| y / (y - x)).product::<f64>()
    });
    terms.sum()
}

/// It stays upright by itself from the weave speed to the capsize speed, to ten digits.
#[test]
fn the_bicycle_is_self_stable_between_two_speeds() {
    let weave = vanishing(4.2924, |all| {
        let pair = all.iter().find(|x| x[1] > 0.0);
        pair.expect("it weaves")[0]
    });
    assert!((weave - 4.292_382_536_341_11).abs() < 2e-10, "{weave:.14}");
    let capsize = vanishing(6.0243, |all| {
        let real = all.iter().filter(|x| x[1] == 0.0).map(|x| x[0]);
        real.max_by(f64::total_cmp).expect("it capsizes")
    });
    assert!(
        (capsize - 6.024_262_015_388_37).abs() < 2e-10,
        "{capsize:.14}"
    );
    for (speed, stable) in [(4.0, false), (4.6, true), (5.9, true), (8.0, false)] {
        let grows = eigenvalues(speed).iter().any(|x| x[0] > 0.0);
        assert_eq!(grows, !stable, "{speed}");
    }
}
