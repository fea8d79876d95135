//! Laws of closed mechanisms, checked at random closed positions by independent methods.
//!
//! They complement the laws of trees in [`catena::laws`], with the same kind of results. A mechanism is set at rest or in motion at closed states
//! that assembly finds from random guesses, under random efforts. Positions at or near dead points are left out: there accelerations and multipliers
//! are not determined to the accuracy that the laws require.

use crate::{Formulation, Mechanism, Solution};
use catena::algorithm::constrained::{Axes, Rows};
use catena::algorithm::energy::mechanical_state;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::closed_chain::{Assembled, ClosedChain, Regularity};
use catena::laws::{LawResult, Results};
use catena::model::Rule;
use catena::random::Random;
use catena::residual::{difference, larger, largest, ratio, relative};
use catena::scalar::{Dual, Scalar};
use catena::{Dynamics, Model, State};
use std::ops::Range;

/// The law of assembly.
const CLOSES: &str = "loops can be closed";

/// A law that only multiplies and adds.
const ROUNDING: f64 = 1e-11;

/// Formulations agree to this, or to round-off times the condition number of the system solved.
pub const AGREEMENT: f64 = 1e-9;
/// Round-off, per unit of the condition.
pub const ROUND_OFF: f64 = 1e-15;

/// Guesses that are tried for each state.
const GUESSES: u64 = 20;

/// Guesses searched for the best position, with which others are compared.
const COMPARED: u64 = 4;

/// Maximum number of rows of constraints for which all formulations are compared.
pub const MOST_ROWS: usize = 300;

type D1 = Dual<f64, 1>;

/// Largest differences of motions and of loads, relative to the largest of each.
pub fn differences(a: &Solution, b: &Solution) -> [f64; 2] {
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
        let scale = largest(&a).max(largest(&b)).max(1.0);
        relative(&a, &b, scale)
    };
    [compare(motion(a), motion(b)), compare(loads(a), loads(b))]
}

/// Runs every law of closed mechanisms on `states` closed states; none for a tree.
pub fn run(model: &Model, states: usize, seed: u64) -> Vec<LawResult> {
    let mut results = Results::default();
    if model.constraints().is_empty() {
        return results.0;
    }
    let mut chain = ClosedChain::new(model);
    let mut mechanism = Mechanism::new(model);
    let seeds: Vec<u64> = (0..states.max(1) as u64)
        .map(|k| seed.wrapping_add(k.wrapping_mul(7919)))
        .collect();
    for (seed, drawn) in seeds.iter().copied().zip(regular(&mut chain, &seeds)) {
        let (law, gap) = match &drawn {
            Ok(found) => (CLOSES, larger(found.residuals[0], found.residuals[1])),
            Err(Irregular::AtDeadPoint) => {
                ("loops can be closed away from dead points", f64::INFINITY)
            }
            Err(Irregular::Open) => (CLOSES, f64::INFINITY),
        };
        results.add(law, "assembly from random guesses", gap, 1e-9);
        let Ok(found) = drawn else { continue };
        let mut random = Random::new(seed ^ 0xC105ED);
        let tau: Vec<f64> = (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        motion(model, &mut chain, &found.state, &tau, &mut results);
        if model.constraint_rows() <= MOST_ROWS {
            formulations(&mut mechanism, &found.state, &tau, &mut results);
        }
    }
    results.0
}

/// Why random guesses led to no regular position.
enum Irregular {
    /// Closed positions were found, none of them away from dead points.
    AtDeadPoint,
    Open,
}

/// A closed state for each seed, away from dead points.
fn regular(chain: &mut ClosedChain, seeds: &[u64]) -> Vec<Result<Assembled, Irregular>> {
    let mut next = |seed: u64, guesses: &mut Range<u64>| {
        guesses.find_map(|k| {
            let guess = guess(chain.model(), k, seed.wrapping_add(k));
            let found = chain.assemble(0.0, &guess, &[]).ok()?;
            let regularity = chain.regularity(0.0, &found.state).ok()?;
            Some((found, regularity))
        })
    };
    // whether a position is regular is known only relative to the best one, which may be found late
    let mut best = Regularity {
        rank: 0,
        least: 0.0,
    };
    let mut compared = 0..COMPARED;
    while let Some((_, regularity)) = next(seeds[0], &mut compared) {
        best = best.or(regularity);
    }
    let mut guesses = vec![0..GUESSES; seeds.len()];
    let mut drawn: Vec<Option<(Assembled, Regularity)>> = Vec::new();
    for (&seed, guesses) in seeds.iter().zip(&mut guesses) {
        drawn.push(next(seed, guesses));
    }
    let is_closed: Vec<bool> = drawn.iter().map(Option::is_some).collect();
    loop {
        let grades = drawn.iter().flatten().map(|(_, regularity)| *regularity);
        best = grades.fold(best, Regularity::or);
        let at_dead_point = drawn
            .iter()
            .position(|found| matches!(found, Some((_, grade)) if !grade.is_regular(best)));
        let Some(k) = at_dead_point else { break };
        drawn[k] = next(seeds[k], &mut guesses[k]);
    }
    let drawn = drawn.into_iter().zip(is_closed);
    let drawn = drawn.map(|(found, is_closed)| match found {
        Some((found, _)) => Ok(found),
        None if is_closed => Err(Irregular::AtDeadPoint),
        None => Err(Irregular::Open),
    });
    drawn.collect()
}

/// A random state, or one near the model's initial state with random velocities.
fn guess(model: &Model, k: u64, seed: u64) -> State {
    let random = State::random(model, seed);
    if k.is_multiple_of(2) {
        return random;
    }
    let mut source = Random::new(seed);
    let reach = 0.3 / k as f64;
    let mut near = State::start(model);
    let step: Vec<f64> = (0..model.nv())
        .map(|_| source.uniform(-reach, reach))
        .collect();
    near.step(model, &step);
    near.v = random.v;
    near
}

/// The accelerations keep the loops closed, the loads do no work, energy is conserved, and inverse dynamics returns the applied efforts.
fn motion(
    model: &Model,
    chain: &mut ClosedChain,
    state: &State,
    tau: &[f64],
    results: &mut Results,
) {
    let (law, routes) = (
        "forward dynamics of closed chains",
        "accelerations are found",
    );
    let Ok(motion) = chain.forward(0.0, state, tau, &[]) else {
        results.add(law, routes, f64::INFINITY, ROUNDING);
        return;
    };
    let (vdot, lambda) = (motion.accelerations.to_vec(), motion.multipliers.to_vec());

    // the state moves in time: derivatives of dual numbers are rates
    let mut moving: State<D1> = state.lift();
    let rates: Vec<D1> = state.v.iter().map(|&v| dual(0.0, v)).collect();
    moving.step(model, &rates);
    moving.v = state
        .v
        .iter()
        .zip(&vdot)
        .map(|(&v, &a)| dual(v, a))
        .collect();
    let mut kinematics = Kinematics::new(model);
    let still = vec![D1::constant(0.0); model.nv()];
    forward_kinematics(model, moving.view(), &still, &mut kinematics);
    let mut rows = Rows::new(model, Axes::Parent);
    let now = dual(0.0, 1.0);
    rows.evaluate(model, now, &moving.q, &moving.v, &kinematics);
    let rate: Vec<f64> = rows.rate.iter().map(|x| x.derivative[0]).collect();
    let size = largest(&vdot).max(largest(&state.v).powi(2)).max(1e-3);
    results.add(
        "loops stay closed",
        "accelerations, and rate of the velocities of the rows by dual numbers",
        ratio(largest(&rate), size),
        1e-10,
    );

    let mut efforts = vec![0.0; model.nv()];
    let Ok(rows) = chain.rows(0.0, state) else {
        return;
    };
    rows.add_transpose_times(&lambda, &mut efforts);
    let power: f64 = efforts.iter().zip(&state.v).map(|(f, v)| f * v).sum();
    // a mechanism without degrees of freedom is at rest up to round-off
    let scale = largest(&efforts) * largest(&state.v).max(1e-3);
    let has_drivers = model
        .constraints()
        .iter()
        .any(|constraint| matches!(constraint.rule, Rule::Driver { .. } | Rule::Velocity { .. }));
    if !has_drivers {
        results.add(
            "constraint forces do no work",
            "multipliers, and velocities that keep the loops closed",
            ratio(power.abs(), scale),
            1e-9,
        );
    }

    for (effort, tau) in efforts.iter_mut().zip(tau) {
        *effort += tau;
    }
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let (difference, largest) = match dynamics.inverse(state, &vdot, &[]) {
        Ok(back) => (
            difference(back, &efforts),
            largest(back).max(largest(&efforts)),
        ),
        Err(_) => (f64::INFINITY, 1.0),
    };
    results.add(
        "inverse dynamics returns efforts and constraint forces",
        "forward dynamics of the closed chain, inverse dynamics of the tree",
        ratio(difference, largest),
        1e-9,
    );

    let energies = mechanical_state(model, &moving.q, &moving.v, &kinematics);
    let rate = energies.kinetic + energies.gravitational + energies.elastic;
    let mut dissipated = dissipated_power(model, &mut dynamics, state);
    dissipated += match dynamics.force_actions(state) {
        Ok(actions) => actions.iter().map(|a| a.dissipated - a.work).sum(),
        Err(_) => f64::NAN,
    };
    let given: f64 = tau.iter().zip(&state.v).map(|(t, v)| t * v).sum();
    let kinetic = energies.kinetic.derivative[0].abs();
    let size = kinetic.max(given.abs()).max(power.abs()).max(scale);
    results.add(
        "energy rate = power of the efforts, closed chains",
        "energies by dual numbers, accelerations under the constraints",
        ratio(
            (rate.derivative[0] - given - power + dissipated).abs(),
            size,
        ),
        1e-9,
    );
}

/// Power dissipated by damping and friction: efforts with passive forces minus those without, except springs, times the velocities.
fn dissipated_power(model: &Model, dynamics: &mut Dynamics, state: &State) -> f64 {
    let still = vec![0.0; model.nv()];
    let mut at_rest = state.clone();
    at_rest.v.fill(0.0);
    let bare = model.clone().open_tree().without_passive_forces();
    let mut bare = Dynamics::new(&bare);
    let effort = |dynamics: &mut Dynamics, state: &State| -> Vec<f64> {
        match dynamics.inverse(state, &still, &[]) {
            Ok(tau) => tau.to_vec(),
            Err(_) => vec![f64::NAN; still.len()],
        }
    };
    let all = effort(dynamics, state);
    let springs = effort(dynamics, &at_rest);
    let moving = effort(&mut bare, state);
    let weight = effort(&mut bare, &at_rest);
    (0..still.len())
        .map(|k| (all[k] - moving[k] - (springs[k] - weight[k])) * state.v[k])
        .sum()
}

/// Every formulation against cut loops on the tree: motion and loads.
fn formulations(mechanism: &mut Mechanism, state: &State, tau: &[f64], results: &mut Results) {
    let mut solve = |f: Formulation| mechanism.accelerations(f, 0.0, state, tau, &[]);
    let Ok(reference) = solve(Formulation::CutLoops) else {
        return;
    };
    let solutions: Vec<(Formulation, Solution)> = Formulation::ALL
        .into_iter()
        .filter_map(|formulation| Some((formulation, solve(formulation).ok()?)))
        .collect();
    let svd = solutions
        .iter()
        .find(|(formulation, _)| *formulation == Formulation::RankBySvd);
    let condition = svd.map_or(0.0, |(_, solution)| solution.condition);
    for (formulation, solution) in &solutions {
        if *formulation == Formulation::CutLoops {
            continue;
        }
        let [motion, loads] = differences(solution, &reference);
        results.add(
            "motion and loads of closed chains",
            formulation.name(),
            larger(motion, loads),
            allowed(condition),
        );
    }
}

/// Difference of two formulations that is allowed where the rows have this condition.
fn allowed(condition: f64) -> f64 {
    AGREEMENT.max(ROUND_OFF * condition)
}

fn dual(value: f64, derivative: f64) -> D1 {
    D1 {
        value,
        derivative: [derivative],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::{ConstraintSpec, Dof, Law, RuleSpec, embedded};

    fn four_bar(dof: Dof, rate: Option<f64>) -> Model {
        let mut builder = embedded::builder("four-bar-1").expect("embedded");
        for joint in &mut builder.joints {
            joint.dofs = vec![dof; joint.kind.nv()];
        }
        if let Some(rate) = rate {
            let rule = RuleSpec::Driver {
                coordinate: "foot0".into(),
                law: Law::Polynomial(vec![1.2, rate]),
            };
            builder.constraint(ConstraintSpec::new("motor", rule));
        }
        builder.build().expect("sound")
    }

    fn passive() -> Dof {
        Dof {
            damping: 0.7,
            stiffness: 3.0,
            rest: 0.2,
            friction: 0.4,
            armature: 0.1,
            ..Dof::default()
        }
    }

    /// Damping and friction dissipate, springs do not: Σ (d v + f sign v) v.
    #[test]
    fn power_that_is_dissipated() {
        let model = four_bar(passive(), None);
        let mut dynamics = Dynamics::new(&model.clone().open_tree());
        let state = State::new(&model, &[1.2, -1.1, 0.9], &[2.0, -0.5, 0.25]).expect("finite");
        let power = dissipated_power(&model, &mut dynamics, &state);
        let wanted: f64 = state.v.iter().map(|v| 0.7 * v * v + 0.4 * v.abs()).sum();
        assert!((power - wanted).abs() < 1e-12, "{power} {wanted}");
    }

    /// The laws hold with passive forces and rotors; the law that loads do no work is left out where a driver does work.
    #[test]
    fn laws_of_mechanisms_with_passive_forces() {
        for (rate, count) in [
            (None, 5 + Formulation::ALL.len() - 2),
            (Some(0.4), 4 + Formulation::ALL.len() - 2),
        ] {
            let found = run(&four_bar(passive(), rate), 3, 1);
            for law in &found {
                assert!(law.holds(), "{law:?}");
            }
            // well-conditioned: the allowed difference of formulations is not widened
            let compared = |law: &&LawResult| law.law == "motion and loads of closed chains";
            assert!(
                found
                    .iter()
                    .filter(compared)
                    .all(|law| law.tolerance == AGREEMENT)
            );
            let idle = found
                .iter()
                .any(|law| law.law == "constraint forces do no work");
            assert_eq!(idle, rate.is_none());
            // every formulation but the reference and that of trees
            assert_eq!(found.len(), count, "{found:#?}");
        }
    }

    /// Round-off grows with the condition, beyond what is allowed anyway from 10⁶ on.
    #[test]
    fn ill_conditioned_rows_may_differ_more() {
        assert_eq!(allowed(1.0), AGREEMENT);
        assert_eq!(allowed(0.9e6), AGREEMENT);
        assert_eq!(allowed(f64::NAN), AGREEMENT);
        assert!((allowed(1e9) / 1e-6 - 1.0).abs() < 1e-12);
    }

    /// Differences are relative to the largest number of either, which is at least 1.
    #[test]
    fn differences_are_relative() {
        let model = four_bar(Dof::default(), None);
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        let one = mechanism
            .accelerations(Formulation::CutLoops, 0.0, &state, &[0.0; 3], &[])
            .expect("regular");
        assert_eq!(differences(&one, &one), [0.0; 2]);
        let motions = one.bodies.iter().flat_map(|m| m.to_array());
        let motions = motions.chain(one.accelerations.iter().copied());
        let motions = motions.fold(1.0f64, |m, x| m.max(x.abs()));
        let loads = one.tree.iter().chain(&one.constraints);
        let loads = loads.flat_map(|f| f.to_array());
        let loads = loads.chain(one.multipliers.iter().copied());
        let loads = loads.fold(1.0f64, |m, x| m.max(x.abs()));
        let near = |found: [f64; 2], wanted: [f64; 2]| {
            // the change may be in the largest number itself
            (0..2).all(|k| (found[k] - wanted[k]).abs() <= 1e-2 * wanted[k])
        };
        let mut other = one.clone();
        other.accelerations[1] += 1e-3;
        assert!(near(differences(&one, &other), [1e-3 / motions, 0.0]));
        let mut other = one.clone();
        other.bodies[2].linear.x -= 1e-3;
        assert!(near(differences(&one, &other), [1e-3 / motions, 0.0]));
        let mut other = one.clone();
        other.multipliers[0] += 1e-3;
        assert!(near(differences(&one, &other), [0.0, 1e-3 / loads]));
        let mut other = one.clone();
        other.tree[1].force.y += 1e-3;
        assert!(near(differences(&one, &other), [0.0, 1e-3 / loads]));
    }

    /// Odd guesses are near the initial state, each one nearer, on either side of it; their velocities are random.
    #[test]
    fn guesses_come_nearer() {
        let model = four_bar(Dof::default(), None);
        let start: State = State::start(&model);
        for k in [1, 3, 5] {
            let mut steps = Vec::new();
            for seed in 0..30 {
                let near = guess(&model, k, seed);
                steps.extend(near.q.iter().zip(&start.q).map(|(a, b)| a - b));
                assert_eq!(near.v, State::random(&model, seed).v);
                assert_eq!(guess(&model, k + 1, seed).q, State::random(&model, seed).q);
            }
            let reach = 0.3 / k as f64;
            let (low, high) = steps
                .iter()
                .fold((0.0f64, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            assert!(-reach <= low && low < -0.8 * reach, "{low}");
            assert!(0.8 * reach < high && high <= reach, "{high}");
        }
    }
}
