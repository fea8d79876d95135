//! The integrators of a run behind one interface: a step, dense output within it, and a restart within it.
//!
//! y = (q, v, W, D) as in [`TreeSystem`]. Fixed-step methods integrate q and v only; work and dissipation
//! are then integrated by the trapezoidal rule from powers at the ends of the steps.

use super::bodies::BodiesEngine;
use super::implicit::{NewtonMatrix, TreeImplicit, TreeNewton};
use super::options::Integrator;
use super::pendulum::PendulumEngine;
use super::tree_system::TreeSystem;
use crate::algorithm::body_coordinates::Formulation;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::bdf::{Bdf, BdfOptions};
use crate::integrate::{self, Adaptive, Fixed, Statistics, StepOutcome, System};

pub(super) enum Engine {
    Adaptive(Box<Adaptive>),
    Bdf(Box<Bdf>, Box<TreeNewton>),
    Pendulum(Box<PendulumEngine>),
    Bodies(Box<BodiesEngine>),
    Fixed(Box<Even>),
}

/// Fixed steps, with the integrals.
pub(super) struct Even {
    engine: Fixed,
    /// W and D, and their rates, at the present time and at the beginning of the last step.
    now: [[f64; 2]; 2],
    old: [[f64; 2]; 2],
    /// y at the end of a step.
    end: Vec<f64>,
    /// Velocities after two steps of half the size.
    twice: Vec<f64>,
}

impl Engine {
    /// An integrator at time 0.
    pub fn new(integrator: Integrator, system: &mut TreeSystem, y: &[f64]) -> Result<Self> {
        match integrator {
            Integrator::Adaptive {
                method,
                tolerances,
                max_step,
            } => {
                let options = integrate::IntegratorOptions {
                    tolerances,
                    max_step,
                    ..integrate::IntegratorOptions::default()
                };
                let mut engine = Adaptive::new(method, y.len(), options)?;
                engine.start(system, 0.0, y)?;
                Ok(Engine::Adaptive(Box::new(engine)))
            }
            Integrator::Bdf {
                tolerances,
                max_step,
                max_order,
                matrix,
            } => {
                let options = BdfOptions {
                    tolerances,
                    max_step,
                    max_order,
                    ..BdfOptions::default()
                };
                let is_closed = !system.model().constraints().is_empty();
                let formulation = match matrix {
                    NewtonMatrix::Bodies(formulation) => Some(formulation),
                    // loops are closed in body coordinates
                    NewtonMatrix::Automatic if is_closed => Some(Formulation::default()),
                    _ if is_closed => {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "loops are integrated implicitly in body coordinates only",
                        )
                        .hint("leave out the choice of the Newton matrix, or choose an explicit method such as dopri5"));
                    }
                    _ => None,
                };
                if let Some(formulation) = formulation {
                    let engine = BodiesEngine::new(system, options, formulation, y)?;
                    return Ok(Engine::Bodies(Box::new(engine)));
                }
                if let NewtonMatrix::Pendulum(scheme) = matrix {
                    let engine = PendulumEngine::new(system, options, scheme, y)?;
                    let mut engine = Engine::Pendulum(Box::new(engine));
                    engine.restart(system, 0.0, y, f64::INFINITY)?;
                    return Ok(engine);
                }
                let engine = Bdf::new(y.len(), options)?;
                let newton = TreeNewton::new(system, matrix);
                let mut engine = Engine::Bdf(Box::new(engine), Box::new(newton));
                engine.restart(system, 0.0, y, f64::INFINITY)?;
                Ok(engine)
            }
            Integrator::Fixed { method, step } => {
                let (nq, nv) = (system.model().nq(), system.model().nv());
                let mut engine = Fixed::new(method, nq, nv, step)?;
                let mut y = y.to_vec();
                system.project(0.0, &mut y);
                engine.start(0.0, &y[..nq], &y[nq..nq + nv])?;
                let now = [[0.0; 2], system.powers_at(0.0, &y)?];
                Ok(Engine::Fixed(Box::new(Even {
                    engine,
                    now,
                    old: now,
                    end: y,
                    twice: vec![0.0; nv],
                })))
            }
        }
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        match self {
            Engine::Adaptive(engine) => engine.time(),
            Engine::Bdf(engine, _) => engine.time(),
            Engine::Pendulum(engine) => engine.bdf.time(),
            Engine::Bodies(engine) => engine.bdf.time(),
            Engine::Fixed(even) => even.engine.time(),
        }
    }

    pub fn statistics(&self) -> Statistics {
        match self {
            Engine::Adaptive(engine) => engine.statistics(),
            Engine::Bdf(engine, _) => implicit_statistics(engine),
            Engine::Pendulum(engine) => implicit_statistics(&engine.bdf),
            Engine::Bodies(engine) => implicit_statistics(&engine.bdf),
            Engine::Fixed(even) => even.engine.statistics(),
        }
    }

    /// The component with the largest error, as far as known.
    pub fn worst_component(&self) -> Option<usize> {
        match self {
            Engine::Adaptive(engine) => engine.worst_component(),
            // its messages already name the component
            Engine::Bdf(..) | Engine::Pendulum(_) | Engine::Bodies(_) | Engine::Fixed(_) => None,
        }
    }

    /// One step. Fixed steps may end after `end`.
    pub fn step(&mut self, system: &mut TreeSystem, end: f64) -> Result<StepOutcome> {
        match self {
            Engine::Adaptive(engine) => engine.step(system, end),
            Engine::Bdf(engine, newton) => {
                let t = engine.time();
                let end = end.min(system.next_kink(t.next_up()));
                engine.step(&mut TreeImplicit { system, newton }, end)
            }
            Engine::Pendulum(engine) => engine.step(end),
            Engine::Bodies(engine) => engine.step(system, end),
            Engine::Fixed(even) => {
                let outcome = even.engine.step(system)?;
                even.old = even.now;
                pack(even.engine.q(), even.engine.v(), [0.0; 2], &mut even.end);
                let power = system.powers_at(outcome.t, &even.end)?;
                even.now = [even.integrals(outcome.t - outcome.t_old, power), power];
                Ok(outcome)
            }
        }
    }

    /// y at a time within the last step, or at the present time.
    pub fn interpolate(&mut self, system: &mut TreeSystem, t: f64, y: &mut [f64]) -> Result<()> {
        match self {
            Engine::Adaptive(engine) => engine.interpolate(system, t, y),
            Engine::Bdf(engine, newton) => {
                engine.interpolate(&mut TreeImplicit { system, newton }, t, y)
            }
            Engine::Pendulum(engine) => engine.interpolate(t, y),
            Engine::Bodies(engine) => engine.interpolate(system, t, y),
            Engine::Fixed(even) => {
                let (nq, nv) = (system.model().nq(), system.model().nv());
                let (q, rest) = y.split_at_mut(nq);
                even.engine.interpolate(system, t, q, &mut rest[..nv])?;
                let integrals = if t == even.engine.time() {
                    even.now[0]
                } else {
                    let power = system.powers_at(t, y)?;
                    even.integrals(t - even.engine.before().0, power)
                };
                y[nq + nv..].copy_from_slice(&integrals);
                Ok(())
            }
        }
    }

    /// A fixed step for the auditor: its size, the velocities at its beginning and at its end, and those at the end of two steps of
    /// half the size; none for variable steps. Velocities that cannot be computed are NaN.
    pub fn halved(&mut self, system: &mut TreeSystem) -> Option<(f64, [&[f64]; 3])> {
        let Engine::Fixed(even) = self else {
            return None;
        };
        let Even { engine, twice, .. } = &mut **even;
        let halves = engine.in_halves(system, twice);
        let (t, q, v) = (engine.time(), engine.q(), engine.v());
        let outcome = halves.and_then(|()| system.keep_lasting(t, q, v, twice));
        if outcome.is_err() {
            twice.fill(f64::NAN);
        }
        let (t_old, _, before) = engine.before();
        Some((t - t_old, [before, v, twice]))
    }

    /// Time and y at the beginning of the last step.
    pub fn before(&self, y: &mut [f64]) -> f64 {
        match self {
            Engine::Adaptive(engine) => {
                let (t, old) = engine.before();
                y.copy_from_slice(old);
                t
            }
            Engine::Bdf(engine, _) => engine.before(y),
            Engine::Pendulum(engine) => engine.before(y),
            Engine::Bodies(engine) => engine.before(y),
            Engine::Fixed(even) => {
                let (t, q, v) = even.engine.before();
                pack(q, v, even.old[0], y);
                t
            }
        }
    }

    /// Restarts from a time within the last step. A variable first step is not longer than `longest`.
    pub fn restart(
        &mut self,
        system: &mut TreeSystem,
        t: f64,
        y: &[f64],
        longest: f64,
    ) -> Result<()> {
        match self {
            Engine::Adaptive(engine) => {
                engine.start(system, t, y)?;
                engine.limit_next_size(longest);
                Ok(())
            }
            Engine::Bdf(engine, newton) => {
                let mut rate = vec![0.0; y.len()];
                system.derivative(t, y, &mut rate)?;
                engine.start(&mut TreeImplicit { system, newton }, t, y, &rate)?;
                if longest.is_finite() {
                    engine.limit_next_size(longest);
                }
                Ok(())
            }
            Engine::Pendulum(engine) => {
                engine.restart(system, t, y)?;
                if longest.is_finite() {
                    engine.bdf.limit_next_size(longest);
                }
                Ok(())
            }
            Engine::Bodies(engine) => {
                engine.restart(system, t, y)?;
                if longest.is_finite() {
                    engine.bdf.limit_next_size(longest);
                }
                Ok(())
            }
            Engine::Fixed(even) => {
                let (nq, nv) = (system.model().nq(), system.model().nv());
                even.engine.restart(t, &y[..nq], &y[nq..nq + nv])?;
                even.now = [[y[nq + nv], y[nq + nv + 1]], system.powers_at(t, y)?];
                Ok(())
            }
        }
    }

    /// Restarts where only a force has changed its sign: explicit methods keep their step size.
    pub fn resume(&mut self, system: &mut TreeSystem, t: f64, y: &[f64]) -> Result<()> {
        match self {
            Engine::Adaptive(engine) => engine.resume(system, t, y),
            _ => self.restart(system, t, y, f64::INFINITY),
        }
    }

    pub fn checkpoint(&self) -> Vec<u64> {
        match self {
            Engine::Adaptive(engine) => engine.checkpoint(),
            Engine::Bdf(engine, _) => engine.checkpoint(),
            Engine::Pendulum(engine) => engine.bdf.checkpoint(),
            Engine::Bodies(engine) => engine.checkpoint(),
            Engine::Fixed(even) => {
                let numbers = even.now.iter().chain(&even.old).flatten();
                let mut words: Vec<u64> = numbers.map(|x| x.to_bits()).collect();
                words.extend(even.engine.checkpoint());
                words
            }
        }
    }

    pub fn restore(&mut self, system: &mut TreeSystem, checkpoint: &[u64]) -> Result<()> {
        match self {
            Engine::Adaptive(engine) => engine.restore(checkpoint),
            Engine::Bdf(engine, newton) => {
                engine.restore(&mut TreeImplicit { system, newton }, checkpoint)
            }
            Engine::Pendulum(engine) => engine.restore(checkpoint),
            Engine::Bodies(engine) => engine.restore(system, checkpoint),
            Engine::Fixed(even) => {
                let Some((numbers, rest)) = checkpoint.split_at_checked(8) else {
                    return Err(Error::new(
                        ErrorKind::Input,
                        "the checkpoint does not belong to this run",
                    ));
                };
                let into = even.now.iter_mut().chain(&mut even.old).flatten();
                for (x, word) in into.zip(numbers) {
                    *x = f64::from_bits(*word);
                }
                even.engine.restore(rest)
            }
        }
    }
}

impl Even {
    /// W and D a time h after the beginning of the last step.
    fn integrals(&self, h: f64, power: [f64; 2]) -> [f64; 2] {
        let [start, rate] = self.old;
        [0, 1].map(|k| start[k] + 0.5 * h * (rate[k] + power[k]))
    }
}

fn pack(q: &[f64], v: &[f64], integrals: [f64; 2], y: &mut [f64]) {
    let (positions, rest) = y.split_at_mut(q.len());
    let (velocities, last) = rest.split_at_mut(v.len());
    positions.copy_from_slice(q);
    velocities.copy_from_slice(v);
    last.copy_from_slice(&integrals);
}

fn implicit_statistics(engine: &Bdf) -> Statistics {
    let cost = engine.statistics();
    Statistics {
        steps: cost.steps,
        rejected: cost.error_failures + cost.convergence_failures,
        evaluations: cost.residuals,
    }
}
