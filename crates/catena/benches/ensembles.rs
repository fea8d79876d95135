//! How many falls of the Stanford arm does a core compute in lanes, and how many one by one?   cargo bench -p catena --bench ensembles
//!
//! 1 s from random positions, DOP853 at rtol 1e-8, with code generated for the model in both. Prints µs of processor time per fall as JSON:
//! an ensemble on one thread, runs of `Simulation`, and runs of the integrator alone, without samples and audit. Then ns per step of semi-implicit
//! Euler of a chain of seven joints, 100 steps of 512 members: with code, with masses of their own, and those by the general recursion.

use catena::integrate::{Adaptive, FixedMethod, IntegratorOptions, Method, Tolerances};
use catena::model::{Family, embedded};
use catena::native::Compiled;
use catena::simulate::{
    Drift, Ensemble, Inputs, Integrator, Members, Simulation, SimulationOptions, TreeSystem,
};
use catena::{Cpu, Model, Result, State};
use catena_symbolic::generate::CodeOptions;
use catena_symbolic::native::{NativeOptions, compile, compile_family, for_simulation};
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

const FALLS: usize = 4096;
const SINGLE: usize = 256;
const TURNS: usize = 7;

/// Code that is generated once, as a program that runs many simulations would do it.
fn kept(model: &Model) -> Result<Compiled> {
    static CODE: OnceLock<Result<Compiled>> = OnceLock::new();
    CODE.get_or_init(|| for_simulation(model)).clone()
}

/// Processor time of this thread so far, s, where the system tells it (Linux): other programs do not disturb it.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}

/// µs per fall, of the best turn.
fn best(falls: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..TURNS {
        let begin = processor_time();
        let wall = Instant::now();
        run()?;
        let took = match begin.zip(processor_time()) {
            Some((begin, end)) => end - begin,
            None => wall.elapsed().as_secs_f64(),
        };
        best = best.min(took / falls as f64);
    }
    Ok(1e6 * best)
}

fn main() -> Result<()> {
    let model = embedded::model("stanford")?;
    let tolerances = Tolerances {
        relative: 1e-8,
        absolute: 1e-10,
    };
    let options = SimulationOptions {
        integrator: Integrator::Adaptive {
            method: Method::Dop853,
            tolerances,
            max_step: f64::INFINITY,
        },
        duration: 1.0,
        interval: 1.0,
    };
    let mut states: Vec<State> = (0..FALLS as u64)
        .map(|k| State::random(&model, k))
        .collect();
    states.iter_mut().for_each(|state| state.v.fill(0.0));
    let q: Vec<f64> = states.iter().flat_map(|state| state.q.clone()).collect();
    let v = vec![0.0; q.len()];
    let ensemble = Ensemble::new(&model, options.clone())?
        .with_code(&compile(&model, &NativeOptions::default())?)?;
    let members = Members {
        q: &q,
        v: &v,
        ..Members::default()
    };
    let lanes = best(FALLS, || {
        let run = black_box(ensemble.run(&members)?);
        assert!(run.failures.is_empty() && run.one_by_one.is_none());
        Ok(())
    })?;
    let mut system = TreeSystem::new(&model, Inputs::default(), Vec::new())?;
    system.compile(kept)?;
    let settings = IntegratorOptions {
        tolerances,
        ..IntegratorOptions::default()
    };
    let mut integrator = Adaptive::new(Method::Dop853, system.pack(&states[0]).len(), settings)?;
    let alone = best(SINGLE, || {
        for state in &states[..SINGLE] {
            let y = system.pack(state);
            integrator.start(&mut system, 0.0, &y)?;
            while integrator.time() < 1.0 {
                integrator.step(&mut system, 1.0)?;
            }
            black_box(integrator.y());
        }
        Ok(())
    })?;
    let single = best(SINGLE, || {
        for state in &states[..SINGLE] {
            let mut run = Simulation::with_compiler(
                &model,
                state,
                Inputs::default(),
                Vec::new(),
                options.clone(),
                Drift::default(),
                Some(kept),
            )?;
            let mut samples = Vec::new();
            while !run.finished() {
                run.advance(&mut samples)?;
            }
            black_box(run.finish());
        }
        Ok(())
    })?;
    let [same, own, general] = fixed_steps()?;
    println!(
        "{{\"lanes\": {lanes:.2}, \"integrator\": {alone:.2}, \"simulation\": {single:.2}, \"step\": {same:.1}, \"own_masses\": {own:.1}, \"own_masses_general\": {general:.1}}}"
    );
    Ok(())
}

/// ns per step: one model with its code, models that differ in the mass of the last link with the code of their family, and these by the general
/// recursion.
fn fixed_steps() -> Result<[f64; 3]> {
    const MEMBERS: usize = 512;
    const STEPS: usize = 100;
    let builder = embedded::builder("chain-7")?;
    let model = builder.build()?;
    let mut models = Vec::new();
    for k in 0..MEMBERS {
        let mut heavier = builder.clone();
        let last = heavier.links.last_mut().and_then(|l| l.inertial.as_mut());
        last.expect("a mass").mass += 0.01 * k as f64;
        models.push(heavier.build()?);
    }
    let options = SimulationOptions {
        integrator: Integrator::Fixed {
            method: FixedMethod::SemiImplicitEuler,
            step: 1e-3,
        },
        duration: 1e-3 * STEPS as f64,
        interval: 1e-3 * STEPS as f64,
    };
    let states = (0..MEMBERS as u64).map(|k| State::random(&model, k));
    let (q, v): (Vec<Vec<f64>>, Vec<Vec<f64>>) = states.map(|state| (state.q, state.v)).unzip();
    let (q, v) = (q.concat(), v.concat());
    let ensemble = Ensemble::new(&model, options)?;
    let family = Family::new(&model, models.iter(), CodeOptions::DUST)?;
    let family = compile_family(family, &models, Cpu::detect())?;
    let code = compile(&model, &NativeOptions::default())?;
    let time = |ensemble: &Ensemble, models: &[Model]| {
        let members = Members {
            q: &q,
            v: &v,
            models,
            ..Members::default()
        };
        let per_member = best(MEMBERS, || {
            let run = black_box(ensemble.run(&members)?);
            assert!(run.failures.is_empty() && run.one_by_one.is_none());
            Ok(())
        })?;
        Ok(1e3 * per_member / STEPS as f64)
    };
    Ok([
        time(&ensemble.clone().with_code(&code)?, &[])?,
        time(&ensemble.clone().with_family_code(&family)?, &models)?,
        time(&ensemble, &models)?,
    ])
}
