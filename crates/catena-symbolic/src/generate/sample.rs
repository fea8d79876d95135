//! Numbers for the tests of generated code, computed by the library on the original model.

use super::equations::{chosen_frame, direction, eliminated, parameters, upper_places};
use super::{CodeOptions, Question};
use crate::derive::with_parameters;
use catena::algorithm::coupled::CoupledDynamics;
use catena::error::Result;
use catena::model::Couplings;
use catena::random::Random;
use catena::residual::{larger, largest, relative};
use catena::scalar::Dual;
use catena::{Base, Dynamics, Model, State, StateView};

/// One call of a function: the numbers of all inputs, then those of all outputs.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub inputs: Vec<f64>,
    pub outputs: Vec<f64>,
    /// Allowed difference of code from the outputs, relative to the largest of them.
    pub limit: f64,
}

/// Allowed difference of code, relative to the largest number of a result, on a well-conditioned model.
pub(super) const LIMIT: f64 = 1e-12;

/// Where larger, this many times the effect of a change of the model's last digits is allowed.
pub(super) const ROUNDINGS: f64 = 100.0;

/// Smallest scale that differences are relative to.
pub(super) const SMALLEST: f64 = 1e-3;

/// States per function.
const COUNT: u64 = 3;

/// The samples, and how much snapping changed their numbers.
///
/// With a tolerance above the default the numbers are those of the snapped model, whose code is tested.
pub(super) fn samples(
    model: &Model,
    question: Question,
    options: &CodeOptions,
) -> Result<(Vec<Sample>, f64)> {
    let nothing = vec![0.0; model.nq()];
    let parameters = parameters(model, options);
    if !parameters.is_empty() {
        return Ok((
            parametric_samples(model, question, options, &parameters)?,
            0.0,
        ));
    }
    let mut snapped = (model.clone().open_tree()).in_common_normal_frames(options.dust);
    if let Some(couplings) = model.couplings() {
        let shifted = couplings.shifted(&snapped.offset);
        snapped.offset = (couplings.positions().iter())
            .map(|&k| snapped.offset[k])
            .collect();
        snapped.model = snapped.model.with_couplings(Some(shifted));
    }
    let mut samples = Vec::new();
    let mut error = 0.0f64;
    for seed in 0..COUNT {
        let given = sample(model, &nothing, question, options, seed)?;
        if options.dust <= CodeOptions::DUST {
            samples.push(given);
            continue;
        }
        let moved = sample(&snapped.model, &snapped.offset, question, options, seed)?;
        let size = largest(&given.outputs).max(SMALLEST);
        error = larger(error, relative(&given.outputs, &moved.outputs, size));
        samples.push(moved);
    }
    Ok((samples, error))
}

/// Samples with the parameters of the model first, and then with others: masses and tensors 1.2, everything else 0.9 times as large, springs at rest
/// elsewhere.
fn parametric_samples(
    model: &Model,
    question: Question,
    options: &CodeOptions,
    parameters: &[(String, f64)],
) -> Result<Vec<Sample>> {
    let nothing = vec![0.0; model.nq()];
    let swept = model.clone().open_tree().swept(options.dust);
    let mut samples = Vec::new();
    for seed in 0..COUNT {
        let numbers: Vec<f64> = parameters
            .iter()
            .map(|(name, value)| match name {
                _ if seed == 0 => *value,
                name if name.starts_with(['m', 'J']) => 1.2 * value,
                name if name.starts_with("rest") => 0.9 * value + 0.1,
                _ => 0.9 * value,
            })
            .collect();
        let changed = match seed {
            0 => model.clone(),
            _ => {
                let changed = with_parameters(&swept, options.parameters, &numbers);
                changed.with_couplings(model.couplings().cloned())
            }
        };
        let mut sample = sample(&changed, &nothing, question, options, seed)?;
        sample.inputs.extend(numbers);
        samples.push(sample);
    }
    Ok(samples)
}

/// A call at a random state, of a model whose positions are those of the user with `offset` added.
fn sample(
    model: &Model,
    offset: &[f64],
    question: Question,
    options: &CodeOptions,
    seed: u64,
) -> Result<Sample> {
    let nv = model.nv();
    let mut state = State::random(model, 100 + seed);
    state.base = Base::fixed();
    let mut inputs = state.q.clone();
    for (q, offset) in state.q.iter_mut().zip(offset) {
        *q += offset;
    }
    let mut random = Random::new(200 + seed);
    let x: Vec<f64> = (0..nv).map(|_| random.uniform(-2.0, 2.0)).collect();
    let (reads_v, reads_x) = match question {
        Question::Bias | Question::Energy => (true, false),
        Question::Inverse
        | Question::Forward
        | Question::InverseByPosition
        | Question::InverseByVelocity
        | Question::ForwardByPosition
        | Question::ForwardByVelocity => (true, true),
        _ => (false, false),
    };
    if !reads_v {
        state.v.fill(0.0);
    }
    let outputs = outputs(model, question, options, &state, &x)?;
    let mut limit = LIMIT;
    for seed in 1..=2 {
        let changed = model.with_other_last_digits(seed);
        // a nearly singular model may become singular when its last digits change
        if let Ok(moved) = self::outputs(&changed, question, options, &state, &x) {
            let spread = relative(&moved, &outputs, largest(&outputs).max(SMALLEST));
            limit = larger(limit, ROUNDINGS * spread);
        }
    }
    if reads_v {
        inputs.extend(&state.v);
    }
    if reads_x {
        inputs.extend(&x);
    }
    Ok(Sample {
        inputs,
        outputs,
        limit,
    })
}

/// The result of the library.
fn outputs(
    model: &Model,
    question: Question,
    options: &CodeOptions,
    state: &State,
    x: &[f64],
) -> Result<Vec<f64>> {
    let mut dynamics = Dynamics::new(model);
    let rest = vec![0.0; model.nv()];
    Ok(match question {
        Question::Inverse => dynamics.inverse(state, x, &[])?.to_vec(),
        Question::Forward => dynamics.forward(state, x, &[])?.to_vec(),
        Question::Inertia => dynamics.inertia(state)?.as_slice().to_vec(),
        Question::InertiaUpper => {
            let inertia = dynamics.inertia(state)?;
            let places = upper_places(model).into_iter();
            places.map(|place| inertia[place]).collect()
        }
        Question::Factor if model.couplings().is_some() => {
            let (u, d) = eliminated(dynamics.inertia(state)?.clone());
            let mut numbers = u.as_slice().to_vec();
            numbers.extend(d);
            numbers
        }
        Question::Factor => {
            let factors = dynamics.factorization(state)?;
            let mut numbers = factors.u(model).as_slice().to_vec();
            numbers.extend(factors.d());
            numbers
        }
        Question::Bias | Question::Gravity => dynamics.inverse(state, &rest, &[])?.to_vec(),
        Question::Jacobian => {
            let frame = chosen_frame(model, options)?;
            dynamics.jacobian(state, frame)?.as_slice().to_vec()
        }
        Question::Pose => {
            let pose = dynamics.frame_pose(state, chosen_frame(model, options)?)?;
            let mut numbers: Vec<f64> = pose.rotation.rows().into_iter().flatten().collect();
            numbers.extend(pose.translation.to_array());
            numbers
        }
        Question::Energy => {
            let energies = dynamics.mechanical_state(state)?;
            vec![energies.kinetic, energies.gravitational + energies.elastic]
        }
        Question::ForwardByEffort if model.couplings().is_some() => {
            dynamics.inverse_inertia(state)?.as_slice().to_vec()
        }
        Question::ForwardByEffort => dynamics
            .factorization(state)?
            .inverse_matrix(model)
            .as_slice()
            .to_vec(),
        Question::InverseByPosition
        | Question::InverseByVelocity
        | Question::ForwardByPosition
        | Question::ForwardByVelocity => derivative(model, question, state, x),
    })
}

/// Columns by dual numbers, one direction at a time.
fn derivative(model: &Model, question: Question, state: &State, x: &[f64]) -> Vec<f64> {
    use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
    use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
    type D = Dual<f64, 1>;
    let lift =
        |numbers: &[f64]| -> Vec<D> { numbers.iter().map(|x| D::constant_value(*x)).collect() };
    let by_q = matches!(
        question,
        Question::InverseByPosition | Question::ForwardByPosition
    );
    let forward = matches!(
        question,
        Question::ForwardByPosition | Question::ForwardByVelocity
    );
    if let Some(couplings) = model.couplings() {
        return coupled_derivative(model, couplings, (by_q, forward), state, x);
    }
    let nv = model.nv();
    let mut matrix = vec![0.0; nv * nv];
    let mut inverse_work = InverseDynamics::<D>::new(model);
    let mut forward_work = ForwardDynamics::<D>::new(model);
    for column in 0..nv {
        let (mut q, mut v, x) = (lift(&state.q), lift(&state.v), lift(x));
        if by_q {
            let body = &model.tree().bodies[model.tree().dofs[column].body];
            for (at, from) in direction(body.kind, column - body.v) {
                let rate = from.map_or(1.0, |(from, half)| half * state.q[body.q + from]);
                q[body.q + at].derivative[0] = rate;
            }
        } else {
            v[column].derivative[0] = 1.0;
        }
        let mut out = lift(&vec![0.0; nv]);
        let base = Base::fixed();
        if forward {
            forward_dynamics(
                model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &base,
                },
                &x,
                &[],
                &mut forward_work,
                &mut out,
            );
        } else {
            inverse_dynamics(
                model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &base,
                },
                &x,
                &[],
                &mut inverse_work,
                &mut out,
            );
        }
        for row in 0..nv {
            matrix[row * nv + column] = out[row].derivative[0];
        }
    }
    matrix
}

/// A derivative for a model with couplings, column by column in dual numbers.
fn coupled_derivative(
    model: &Model,
    couplings: &Couplings,
    (by_q, forward): (bool, bool),
    state: &State,
    x: &[f64],
) -> Vec<f64> {
    type D = Dual<f64, 1>;
    let (nv, tree) = (model.nv(), model.clone().open_tree());
    let x: Vec<D> = x.iter().map(|x| D::constant_value(*x)).collect();
    let mut work = CoupledDynamics::<D>::new(&tree, couplings);
    let mut matrix = vec![0.0; nv * nv];
    for column in 0..nv {
        let mut at: State<D> = state.lift();
        let mut delta = vec![D::constant_value(0.0); nv];
        delta[column] = D::variable(0.0, 0);
        match by_q {
            true => at.step(model, &delta),
            false => at.v[column] += delta[column],
        }
        let mut out = vec![D::constant_value(0.0); nv];
        match forward {
            true => work.forward(&tree, couplings, at.view(), &x, &[], &mut out),
            false => work.inverse(&tree, couplings, at.view(), &x, &[], &mut out),
        }
        for row in 0..nv {
            matrix[row * nv + column] = out[row].derivative[0];
        }
    }
    matrix
}
