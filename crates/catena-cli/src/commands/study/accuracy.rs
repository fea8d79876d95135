//! `catena study accuracy`: errors of the algorithms on badly conditioned systems, against double-double arithmetic.

use super::{FORMAT, Found, markdown_table};
use crate::number::{residual, rough};
use crate::referee;
use catena::algorithm::constrained::{Axes, Rows};
use catena::algorithm::forward_dynamics::{
    ForwardDynamics, WalkerOrin, forward_dynamics, forward_dynamics_walker_orin,
};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::closed_chain::{Accuracy, ClosedChain};
use catena::dense::Lu;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec, embedded};
use catena::random::Random;
use catena::residual::{larger, largest, relative};
use catena::scalar::{DoubleDouble, Scalar};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_plot::Chart;
use serde_json::{Value, json};

/// Random states of each system; of the longest chains fewer.
const STATES: u64 = 20;
const STATES_OF_LONG: u64 = 2;
/// Chains longer than this count as long, and have no dense matrix.
const LONG: usize = 300;

/// Largest errors over all states, relative to the largest exact number.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    inverse: f64,
    forward: f64,
    /// Error by the inertia matrix and its Cholesky factors; none where the chain is long.
    dense: Option<f64>,
    /// Relative difference of the efforts that inverse dynamics returns.
    returned: f64,
    /// ‖I‖ ‖I⁻¹‖ in the largest row sums.
    condition: Option<f64>,
}

/// A system of a family.
struct Line {
    label: String,
    /// The varied parameter of the family.
    at: f64,
    errors: Errors,
}

/// A family of systems, from well-conditioned to ill-conditioned beyond `f64`.
struct Family {
    name: &'static str,
    what: &'static str,
    varied: &'static str,
    lines: Vec<Line>,
}

/// Measures.
pub fn find() -> Result<Found> {
    let families = [
        heavy_hand()?,
        light_hand()?,
        slender_rods()?,
        close_axes()?,
        long_chains()?,
    ];
    let loops = close_rods()?;
    let bars = four_bars()?;
    let page = page(&families, &loops, &bars);
    let mut chart = Chart::new(
        "Errors of forward dynamics",
        "condition of the inertia matrix",
        "largest relative error of the accelerations",
    )
    .log(true, true);
    for (name, of) in [
        ("recursion, O(n)", (|e| Some(e.forward)) as fn(Errors) -> _),
        ("inertia matrix and Cholesky", |e| e.dense),
    ] {
        let mut points: Vec<[f64; 2]> = families
            .iter()
            .flat_map(|family| &family.lines)
            .filter_map(|line| Some([line.errors.condition?, of(line.errors)?]))
            .filter(|[_, error]| *error > 0.0 && error.is_finite())
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let (x, y) = points.iter().map(|[x, y]| (*x, *y)).unzip();
        chart = chart.marked_series(name, x, y);
    }
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("accuracy.md".into(), page),
            ("accuracy.svg".into(), chart.svg(640, 420)),
        ],
        record: json!({
            "format": FORMAT,
            "study": "accuracy",
            "families": families.iter().map(Family::to_json).collect::<Value>(),
            "loops": loops.iter().map(|one| json!({ "distance": one.distance, "error": one.error, "estimate": one.estimate })).collect::<Value>(),
            "four_bars": bars.iter().map(FourBars::to_json).collect::<Value>(),
        }),
    })
}

/// A chain of seven joints whose last link has this many times the mass and inertia.
fn with_last_link(factor: f64) -> Result<Model> {
    let mut builder = embedded::builder("chain-7")?;
    if let Some(own) = builder
        .links
        .last_mut()
        .and_then(|link| link.inertial.as_mut())
    {
        own.mass *= factor;
        own.tensor = own.tensor.map(|x| factor * x);
    }
    builder.build()
}

fn heavy_hand() -> Result<Family> {
    let powers = [0, 3, 6, 9, 12];
    Ok(Family {
        name: "Heavy hand",
        what: "Seven equal links on revolute joints; the last has this many times the mass and inertia of the others.",
        varied: "ratio",
        lines: lines(&powers, |power| with_last_link(10f64.powi(power)))?,
    })
}

fn light_hand() -> Result<Family> {
    let powers = [-3, -6, -9, -12];
    Ok(Family {
        name: "Light hand",
        what: "The same chain with a last link that is lighter.",
        varied: "ratio",
        lines: lines(&powers, |power| with_last_link(10f64.powi(power)))?,
    })
}

fn slender_rods() -> Result<Family> {
    let powers = [-1, -2, -4, -6, -8];
    Ok(Family {
        name: "Slender rods",
        what: "Seven rods of 1 m and 1 kg, connected by spherical joints, with this radius.",
        varied: "radius, m",
        lines: lines(&powers, |power| {
            let radius = 10f64.powi(power);
            let mut builder = ModelBuilder::new("rods");
            let across = (3.0 * radius * radius + 1.0) / 12.0;
            let rod = Inertial {
                mass: 1.0,
                centre: Vec3::new(0.0, 0.0, -0.5),
                tensor: Sym3::new(across, across, 0.5 * radius * radius, 0.0, 0.0, 0.0),
            };
            chained(&mut builder, 7, JointKind::Spherical, rod, -1.0);
            builder.build()
        })?,
    })
}

/// Links in a row, each joint this far along z of the link before.
fn chained(builder: &mut ModelBuilder, n: usize, kind: JointKind, link: Inertial, length: f64) {
    let mut parent = "world".to_string();
    for k in 1..=n {
        let name = format!("link{k}");
        builder.link(&name, link);
        let mut joint = JointSpec::new(&format!("joint{k}"), kind, &parent, &name);
        if k > 1 {
            joint.parent_from_joint = Pose::shift(Vec3::new(0.0, 0.0, length));
        }
        builder.joint(joint);
        parent = name;
    }
}

fn close_axes() -> Result<Family> {
    let powers = [-1, -2, -3, -4, -5, -6];
    Ok(Family {
        name: "Close axes",
        what: "An arm on two parallel axes at this distance, with a link of 1 g between them: both rotations move the hand almost alike.",
        varied: "distance, m",
        lines: lines(&powers, |power| {
            let distance = 10f64.powi(power);
            let mut builder = ModelBuilder::new("axes");
            let small = Inertial {
                mass: 1e-3,
                centre: Vec3::new(0.5 * distance, 0.0, 0.0),
                tensor: Sym3::new(1e-9, 1e-9, 1e-3 * distance * distance, 0.0, 0.0, 0.0),
            };
            let arm = Inertial {
                mass: 1.0,
                centre: Vec3::new(0.3, 0.0, 0.0),
                tensor: Sym3::new(0.01, 0.03, 0.03, 0.0, 0.0, 0.0),
            };
            builder.link("between", small).link("arm", arm);
            builder.joint(JointSpec::new(
                "first",
                JointKind::Revolute,
                "world",
                "between",
            ));
            let mut second = JointSpec::new("second", JointKind::Revolute, "between", "arm");
            second.parent_from_joint = Pose::shift(Vec3::new(distance, 0.0, 0.0));
            builder.joint(second);
            builder.build()
        })?,
    })
}

fn long_chains() -> Result<Family> {
    let mut all = Vec::new();
    for n in [10, 100, 1000, 10_000] {
        for kind in ["chain", "spherical-chain"] {
            let model = embedded::model(&format!("{kind}-{n}"))?;
            all.push(Line {
                label: format!("{kind}-{n}"),
                at: n as f64,
                errors: measure(&model)?,
            });
        }
    }
    Ok(Family {
        name: "Long chains",
        what: "Equal links on revolute or spherical joints, all angles random.",
        varied: "chain",
        lines: all,
    })
}

fn lines(powers: &[i32], make: impl Fn(i32) -> Result<Model>) -> Result<Vec<Line>> {
    powers
        .iter()
        .map(|&power| {
            Ok(Line {
                label: format!("1e{power}"),
                at: 10f64.powi(power),
                errors: measure(&make(power)?)?,
            })
        })
        .collect()
}

/// The errors of all algorithms over random states.
fn measure(model: &Model) -> Result<Errors> {
    let nv = model.nv();
    let is_long = nv > LONG;
    let mut dynamics = Dynamics::new(model);
    let mut errors = Errors {
        dense: (!is_long).then_some(0.0),
        condition: (!is_long).then_some(0.0),
        ..Errors::default()
    };
    let states = if is_long { STATES_OF_LONG } else { STATES };
    for seed in 1..=states {
        let state = State::random(model, seed);
        let mut random = Random::new(seed);
        let mut draw =
            |size: f64| -> Vec<f64> { (0..nv).map(|_| random.uniform(-size, size)).collect() };
        let (tau, given) = (draw(5.0), draw(5.0));
        let found = dynamics.inverse(&state, &given, &[])?;
        let exact = referee::efforts(model, &state, &given, &[]);
        errors.inverse = larger(errors.inverse, referee::error(found, &exact));

        let found = dynamics.forward(&state, &tau, &[])?.to_vec();
        let exact = dynamics.forward_double_double(&state, &tau, &[])?;
        errors.forward = larger(errors.forward, referee::error(&found, &exact));

        let nothing = vec![0.0; nv];
        let bias = largest(dynamics.inverse(&state, &nothing, &[])?);
        let back = dynamics.inverse(&state, &found, &[])?;
        errors.returned = larger(
            errors.returned,
            relative(back, &tau, bias.max(largest(&tau))),
        );

        if let Some(worst) = &mut errors.dense {
            let mut other = vec![0.0; nv];
            let mut work = WalkerOrin::new(model);
            forward_dynamics_walker_orin(model, state.view(), &tau, &[], &mut work, &mut other);
            *worst = larger(*worst, referee::error(&other, &exact));
        }
        if let Some(worst) = &mut errors.condition {
            let [whole, inverse] = [
                row_sum(dynamics.inertia(&state)?.as_slice(), nv),
                row_sum(dynamics.inverse_inertia(&state)?.as_slice(), nv),
            ];
            *worst = larger(*worst, whole * inverse);
        }
    }
    Ok(errors)
}

fn row_sum(entries: &[f64], n: usize) -> f64 {
    let rows = entries.chunks_exact(n);
    rows.map(|row| row.iter().map(|x| x.abs()).sum())
        .fold(0.0, larger)
}

/// A plate on two rods at a distance from each other.
struct CloseRods {
    distance: f64,
    /// Error of the accelerations; none where the rows count as dependent.
    error: Option<f64>,
    /// The estimate of the commands.
    estimate: f64,
}

/// A four-bar of rods of 1, 1.25 and 0.75 m on 1.5 m of ground: all of them can be collinear, where two branches meet.
struct FourBars {
    /// Angle of the first rod from there, rad.
    angle: f64,
    /// Mass of the second rod, kg; the others have 1 kg.
    mass: f64,
    /// Smallest singular value of the independent rows, as a fraction of the largest.
    smallest: f64,
    accuracy: Accuracy,
}

impl FourBars {
    fn to_json(&self) -> Value {
        json!({
            "angle": self.angle,
            "mass": self.mass,
            "smallest_singular_value": self.smallest,
            "arithmetic": self.accuracy.arithmetic,
            "closing": self.accuracy.closing,
            "violation": self.accuracy.violation,
        })
    }
}

fn four_bars() -> Result<Vec<FourBars>> {
    let mut found = Vec::new();
    for (mass, powers) in [
        (1.0, &[0, -1, -2, -3, -4][..]),
        (1e6, &[0, -1, -2][..]),
        (1e12, &[0][..]),
    ] {
        for &power in powers {
            let angle = 10f64.powi(power);
            let model = four_bar(mass)?;
            let mut chain = ClosedChain::new(&model);
            // approximate position of the other two rods; the third one points back
            let guess = [angle, -1.5 * angle, std::f64::consts::PI - 0.5 * angle];
            let still = State::new(&model, &guess, &[0.0; 3])?;
            let mut state = chain.assemble(0.0, &still, &[0])?.state;
            let freedoms = chain.freedoms(0.0, &state)?;
            let first = freedoms.basis[(0, 0)];
            for (k, v) in state.v.iter_mut().enumerate() {
                *v = freedoms.basis[(k, 0)] / first;
            }
            let (rank, values) = chain.rank(0.0, &state)?;
            let motion = chain.forward(0.0, &state, &[1.0, 0.0, 0.0], &[])?;
            let accelerations = motion.accelerations.to_vec();
            found.push(FourBars {
                angle,
                mass,
                smallest: values[rank - 1] / values[0],
                accuracy: chain.accuracy(0.0, &state, &[1.0, 0.0, 0.0], &[], &accelerations)?,
            });
        }
    }
    Ok(found)
}

fn four_bar(mass: f64) -> Result<Model> {
    let mut builder = ModelBuilder::new("four-bar");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let at = |x: f64| Pose::shift(Vec3::new(x, 0.0, 0.0));
    let mut parent = ("world".to_string(), 0.0);
    for (k, (length, mass)) in [(1.0, 1.0), (1.25, mass), (0.75, 1.0)]
        .into_iter()
        .enumerate()
    {
        let across = mass * length * length / 12.0;
        let rod = Inertial {
            mass,
            centre: Vec3::new(0.5 * length, 0.0, 0.0),
            tensor: Sym3::new(0.01 * across, across, across, 0.0, 0.0, 0.0),
        };
        let name = format!("rod{}", k + 1);
        builder.link(&name, rod);
        let joint = format!("joint{}", k + 1);
        builder.joint(JointSpec {
            parent_from_joint: at(parent.1),
            ..JointSpec::new(&joint, JointKind::Revolute, &parent.0, &name)
        });
        parent = (name, length);
    }
    builder.constraint(ConstraintSpec::joint(JointSpec {
        parent_from_joint: at(parent.1),
        joint_from_child: at(-1.5),
        ..JointSpec::new("pin", JointKind::Revolute, &parent.0, "world")
    }));
    builder.build()
}

/// A plate in a plane that two parallel rods of 1 m hold: the rows differ by their distance.
fn close_rods() -> Result<Vec<CloseRods>> {
    [-1, -3, -5, -7, -8, -10]
        .map(|power| {
            let distance = 10f64.powi(power);
            let model = plate(distance)?;
            let mut chain = ClosedChain::new(&model);
            let state = State::new(&model, &[1.0, 0.0, 0.0], &[0.0, 0.5, 0.0])?;
            let tau = [1.0, -0.5, 0.3];
            let motion = chain.forward(0.0, &state, &tau, &[])?;
            let exact = exact_closed(&model, &state, &tau)?;
            let error = (motion.rank == 2).then(|| referee::error(motion.accelerations, &exact));
            let found = motion.accelerations.to_vec();
            let estimate = chain.accuracy(0.0, &state, &tau, &[], &found)?.arithmetic;
            Ok(CloseRods {
                distance,
                error,
                estimate,
            })
        })
        .into_iter()
        .collect()
}

fn plate(distance: f64) -> Result<Model> {
    let mut builder = ModelBuilder::new("plate");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let plate = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.1, 0.2, 0.0),
        tensor: Sym3::new(0.01, 0.02, 0.03, 0.0, 0.0, 0.0),
    };
    builder.link("plate", plate);
    builder.joint(JointSpec::new("plane", JointKind::Planar, "world", "plate"));
    for (name, y) in [("one", 0.0), ("other", distance)] {
        let point = Vec3::new(0.0, y, 0.0);
        builder.constraint(ConstraintSpec {
            name: name.into(),
            rule: RuleSpec::Distance {
                parent: "world".into(),
                child: "plate".into(),
                parent_point: point,
                child_point: point,
                length: 1.0,
            },
            place: Default::default(),
        });
    }
    builder.build()
}

/// Accelerations under independent constraints: I a = f + Jᵀ λ, J a = b, in double-double arithmetic.
fn exact_closed(model: &Model, state: &State, tau: &[f64]) -> Result<Vec<DoubleDouble>> {
    let exact_state = state.lift::<DoubleDouble>();
    let nv = model.nv();
    let mut kinematics = Kinematics::new(model);
    let still = vec![DoubleDouble::zero(); nv];
    forward_kinematics(model, exact_state.view(), &still, &mut kinematics);
    let mut rows = Rows::new(model, Axes::default());
    let time = DoubleDouble::zero();
    rows.evaluate(model, time, &exact_state.q, &exact_state.v, &kinematics);
    let count = rows.count();
    let mut work = ForwardDynamics::new(model);
    let mut accelerate = |tau: &[DoubleDouble]| {
        let mut vdot = still.clone();
        forward_dynamics(model, exact_state.view(), tau, &[], &mut work, &mut vdot);
        vdot
    };
    let tau = referee::lifted(tau);
    let free = accelerate(&tau);
    let mut columns = Vec::new();
    let mut lu = Lu::new(count);
    for k in 0..count {
        let mut unit = vec![DoubleDouble::zero(); count];
        unit[k] = DoubleDouble::one();
        let mut pushed = tau.clone();
        rows.add_transpose_times(&unit, &mut pushed);
        let mut column = accelerate(&pushed);
        column
            .iter_mut()
            .zip(&free)
            .for_each(|(x, free)| *x -= *free);
        let mut image = vec![DoubleDouble::zero(); count];
        rows.times(&column, &mut image);
        for (i, x) in image.into_iter().enumerate() {
            lu.matrix_mut()[(i, k)] = x;
        }
        columns.push(column);
    }
    lu.factorize()
        .map_err(|_| Error::new(ErrorKind::Singular, "the rows are dependent"))?;
    let mut right = vec![DoubleDouble::zero(); count];
    rows.times(&free, &mut right);
    for (right, bias) in right.iter_mut().zip(&rows.bias) {
        *right = -*bias - *right;
    }
    let mut lambda = vec![DoubleDouble::zero(); count];
    lu.solve(&right, &mut lambda);
    let mut found = free;
    for (column, lambda) in columns.iter().zip(&lambda) {
        for (a, x) in found.iter_mut().zip(column) {
            *a += *x * *lambda;
        }
    }
    Ok(found)
}

impl Family {
    fn to_json(&self) -> Value {
        let lines: Value = self
            .lines
            .iter()
            .map(|line| {
                let e = line.errors;
                json!({
                    "system": line.label,
                    "at": line.at,
                    "condition": e.condition,
                    "inverse": e.inverse,
                    "forward": e.forward,
                    "dense": e.dense,
                    "returned": e.returned,
                })
            })
            .collect();
        json!({ "family": self.name, "lines": lines })
    }

    fn table(&self) -> String {
        let some = |x: Option<f64>| x.map_or_else(|| "–".to_string(), residual);
        let rows: Vec<Vec<String>> = self
            .lines
            .iter()
            .map(|line| {
                let e = line.errors;
                vec![
                    line.label.clone(),
                    some(e.condition),
                    rough(e.inverse),
                    rough(e.forward),
                    some(e.dense),
                    rough(e.returned),
                ]
            })
            .collect();
        let head = [
            self.varied,
            "condition of I",
            "inverse dynamics",
            "forward dynamics",
            "I and Cholesky",
            "efforts returned",
        ];
        format!(
            "## {}\n\n{}\n\n{}",
            self.name,
            self.what,
            markdown_table(&head, &rows)
        )
    }
}

fn page(families: &[Family], loops: &[CloseRods], bars: &[FourBars]) -> String {
    let tables: Vec<String> = families.iter().map(Family::table).collect();
    let rows: Vec<Vec<String>> = loops
        .iter()
        .map(|one| {
            let error = one
                .error
                .map_or_else(|| "counted as dependent".into(), rough);
            vec![rough(one.distance), error, rough(one.estimate)]
        })
        .collect();
    let bars: Vec<Vec<String>> = bars
        .iter()
        .map(|one| {
            let numbers = [
                one.mass,
                one.angle,
                one.smallest,
                one.accuracy.arithmetic,
                one.accuracy.closing,
            ];
            numbers.map(rough).to_vec()
        })
        .collect();
    format!(
        "# Accuracy to expect\n\n\
         Made by `catena study accuracy`: largest errors of double precision over {STATES} random states ({STATES_OF_LONG} of chains with more than {LONG} freedoms), against the \
         same recursions in double-double arithmetic (32 digits) on the same numbers, and for loops against multipliers from an elimination in it. Errors are relative to the largest effort or acceleration. *I and \
         Cholesky* is Walker and Orin's method, by the inertia matrix, with no result where a pivot is not positive at one of the states; *efforts returned* is what `catena forward` prints as its check: the relative \
         difference of the efforts that inverse dynamics returns for the accelerations.\n\n\
         Inverse dynamics multiplies and adds only: its errors stay at round-off. Forward dynamics by recursion never forms the inertia matrix. It stays \
         accurate to round-off where light, slender or nearly redundant parts make that matrix ill-conditioned, and where Cholesky factors lose all accuracy; it \
         loses as many digits as the matrix where the heaviest body is at the tip.\n\n\
         The efforts returned do not measure the error of the accelerations. For slender rods they are wrong although the accelerations are correctly rounded: rounding them to \
         double precision changes the efforts. For a heavy hand they agree although the accelerations have lost digits. So `catena forward` also \
         compares with the second method, and where the two differ by more than 1e-9 double-double arithmetic decides: the errors of both are printed, and the exit code is 1 \
         if the accelerations have lost more than that. Above 1000 freedoms it takes the place of the second method, which costs O(n³); `catena evaluate` shows the error by \
         double-double arithmetic of every state, and `catena simulate` compares at the beginning, before it goes on, and at the end of a run, with the same exit code. The exit code is 1, too, where pivots of \
         `catena factor` or accelerations of `catena derivatives --forward` have lost digits, and where the condition of the inertia matrix leaves a law of `catena check` undecided. `Dynamics::accuracy` in Rust and \
         `Model.accuracy` in Python return the error of the accelerations at a state.\n\n\
         Closed chains lose digits in two ways, and the commands show both (`ClosedChain::accuracy` in the library). First, by round-off: the same equations are solved in double-double \
         arithmetic with as many independent rows. Second, because a state is closed to round-off only, which near a singular position changes the accelerations much more: they are compared with \
         those of the nearest state that is closed to 32 digits. For random four-bars near a singular position, with mass ratios to 1e12, the larger of the two is \
         the true error to ten digits (`cargo test -p catena --test closed_accuracy`). The effect of rounding the state itself is not included. \
         A state that its user has closed to a few digits only does not lead to exit code 1 for that reason.\n\n\
         ![Errors of forward dynamics](accuracy.svg)\n\n{}\n\
         ## Close rods\n\n\
         A plate in a plane, held by two parallel rods of 1 m at this distance from each other: their rows differ by no more than that. Rows whose singular values are below \
         1e-9 of the largest count as dependent, and `catena evaluate`, `forward` and `doctor` say so. *Estimate* is what these commands show.\n\n{}\n\
         ## Flat four-bars\n\n\
         Rods of 1, 1.25 and 0.75 m on 1.5 m of ground, the second one with this mass, the others with 1 kg; the first one turns with 1 rad/s at this angle from the position in which all of them are collinear and \
         two branches meet. *Smallest singular value* is that of the independent rows, as a fraction of the largest.\n\n{}",
        tables.join("\n"),
        markdown_table(
            &["distance, m", "error of the accelerations", "estimate"],
            &rows
        ),
        markdown_table(
            &[
                "mass, kg",
                "angle, rad",
                "smallest singular value",
                "error, same state",
                "error, nearest closed state",
            ],
            &bars
        )
    )
}
