//! Accelerations of closed chains: the tree in its reduced frames, and rows of the constraints that are chosen when code is generated.
//!
//! ```text
//! I v̇ − Jᵀ λ = τ − C v − g,   J v̇ = b                 J, b: independent rows
//! I dv̇ − Jᵀ dλ = −∂(I v̇ + C v + g − Jᵀ λ),   J dv̇ = −∂(J v̇ − b)             v̇ and λ held on the right
//! ```
//!
//! Straight-line code cannot determine the rank of J. Closed positions are therefore examined beforehand: rows that follow from others in all of them
//! are left out, and a mechanism whose independent rows differ between them is rejected. Positions at or near dead points, where the rank is lower,
//! are excluded: the code is not valid there.

use super::equations::{Traced, array, cost, passed_over, solve, unchanged};
use super::sample::{LIMIT, ROUNDINGS, SMALLEST, Sample};
use super::{CodeOptions, Function, Question};
use crate::derive::Keep;
use crate::{Expr, Program, jacobian, scope};
use catena::algorithm::constrained::chosen_rows::{
    Closing, RowsAt, forward_dynamics_closed, forward_dynamics_signed,
};
use catena::closed_chain::{ClosedChain, ClosedDerivatives, Regularity};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Reduced, Rule};
use catena::random::Random;
use catena::residual::{larger, largest, relative};
use catena::{Base, Model, Scalar, State, StateView};

/// Closed positions that are examined.
const POSITIONS: usize = 3;
/// Guesses from which they are assembled.
const GUESSES: u64 = 40;
/// Smallest pivot of the chosen rows, relative to the largest.
const INDEPENDENT: f64 = 1e-9;

/// The constraints of a model, for code.
#[derive(Clone, Debug)]
pub struct Loops {
    model: Model,
    /// Rows that imply all others, ascending.
    pub chosen: Vec<usize>,
    /// Regular closed states with their times.
    states: Vec<(f64, State)>,
    /// Whether positions at or near dead points were found, too.
    pub has_dead_points: bool,
}

impl Loops {
    /// Examines closed positions of a model with constraints; a tree has none. A mechanism whose independent rows differ between regular
    /// positions is rejected.
    pub fn new(model: &Model) -> Result<Option<Self>> {
        let Some(mut loops) = Loops::examined(model)? else {
            return Ok(None);
        };
        let mut chain = ClosedChain::new(model);
        let mut choices = vec![loops.chosen.clone()];
        for (time, state) in &loops.states {
            choices.push(chain.freedoms(*time, state)?.rows);
        }
        for chosen in choices {
            if loops.are_enough(&mut chain, &chosen)? {
                loops.chosen = chosen;
                return Ok(Some(loops));
            }
        }
        let message = format!(
            "the independent constraints of `{}` differ between its positions: straight-line code cannot choose among them",
            model.name()
        );
        Err(Error::new(ErrorKind::Unsupported, message).hint(
            "write constraints without redundant rows (a spherical or a universal joint instead of a revolute one)",
        ))
    }

    /// Do these rows imply all others at every state?
    fn are_enough(&self, chain: &mut ClosedChain, chosen: &[usize]) -> Result<bool> {
        let model = &self.model;
        for (time, state) in &self.states {
            let rank = chain.regularity(*time, state)?.rank;
            let rows = RowsAt::new(model, chosen, *time, state.view());
            let mut factors = chain.tree().factorization(state)?;
            let closing = Closing::new(rows.jacobian, |x| factors.solve(model, x));
            let pivots = closing.pivots();
            let least = INDEPENDENT * largest(pivots);
            if rank != chosen.len() || !pivots.iter().all(|&pivot| pivot >= least) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds closed positions of a model with constraints, and chooses rows where their rank is highest. For code that detects where
    /// these rows are not enough.
    pub(crate) fn examined(model: &Model) -> Result<Option<Self>> {
        if model.constraints().is_empty() {
            return Ok(None);
        }
        let mut chain = ClosedChain::new(model);
        let mut found: Vec<(f64, State, Regularity)> = Vec::new();
        let (mut closed_positions, mut has_dead_points) = (0, false);
        for k in 0..GUESSES {
            if found.len() == POSITIONS {
                break;
            }
            let time = 0.1 * found.len() as f64;
            if let Ok(closed) = chain.assemble_from(time, &guess(model, k), &[]) {
                let regularity = chain.regularity(time, &closed.state)?;
                found.push((time, closed.state, regularity));
                closed_positions += 1;
            }
            let grades = found.iter().map(|(_, _, regularity)| *regularity);
            if let Some(best) = grades.reduce(Regularity::or) {
                let before = found.len();
                found.retain(|(_, _, regularity)| regularity.is_regular(best));
                has_dead_points |= found.len() < before;
            }
        }
        let states: Vec<(f64, State)> = found.into_iter().map(|(t, state, _)| (t, state)).collect();
        if closed_positions < POSITIONS {
            let message = format!(
                "no closed positions of `{}` were found from {GUESSES} guesses: its constraints cannot be examined",
                model.name()
            );
            return Err(Error::new(ErrorKind::Model, message)
                .hint("give its joints a `start` near a closed position"));
        }
        let mut chosen = Vec::new();
        for (time, state) in &states {
            let found = chain.freedoms(*time, state)?.rows;
            if found.len() > chosen.len() {
                chosen = found;
            }
        }
        Ok(Some(Loops {
            model: model.clone(),
            chosen,
            states,
            has_dead_points,
        }))
    }

    /// The name of each row.
    pub fn names(&self) -> Vec<String> {
        let constraints = self.model.constraints().iter();
        let rows = constraints.flat_map(|constraint| {
            (1..=constraint.rows()).map(|k| format!("{} {k}", constraint.name))
        });
        rows.collect()
    }

    /// Remarks about them in the header of a file.
    pub(super) fn head(&self) -> Vec<String> {
        let names = self.names();
        let mut lines = vec![
            "Constraints close loops. The accelerations of forward and their derivatives are those of the closed mechanism, at positions".into(),
            "and velocities that satisfy the constraints; every other function is that of the tree with its loops open: the efforts of".into(),
            "inverse contain those of the constraints.".into(),
            "Multipliers, one per independent row of a constraint:".into(),
        ];
        for (k, &row) in self.chosen.iter().enumerate() {
            lines.push(format!("  {k:3}  {}", names[row]));
        }
        let others: Vec<&str> = (0..names.len())
            .filter(|row| !self.chosen.contains(row))
            .map(|row| names[row].as_str())
            .collect();
        if !others.is_empty() {
            lines.push(format!(
                "Rows that follow from these, and are left out: {}.",
                others.join(", ")
            ));
        }
        lines.extend(self.note());
        lines
    }

    /// Remark on dead points, where the code is not valid.
    pub fn note(&self) -> Option<String> {
        self.has_dead_points.then(|| {
            "The mechanism has dead points, where further rows depend on each other: not valid there.".into()
        })
    }

    pub(crate) fn has_drivers(&self) -> bool {
        let mut rules = self.model.constraints().iter().map(|c| &c.rule);
        rules.any(|rule| matches!(rule, Rule::Driver { .. }))
    }

    /// Rejects options that code for closed chains does not support.
    pub(super) fn expect_possible(&self, question: Question, options: &CodeOptions) -> Result<()> {
        let refused = |what: &str, hint: &str| {
            let message = format!("code for the closed chain `{}` {what}", self.model.name());
            Err(Error::new(ErrorKind::Unsupported, message).hint(hint))
        };
        if options.parameters != Keep::default() {
            return refused(
                "has no parameters: its loops would open",
                "leave the parameters out, or open the loops",
            );
        }
        if options.dust > CodeOptions::DUST {
            return refused(
                "keeps the model's numbers: snapped lengths would open its loops",
                "leave --snap out",
            );
        }
        let slopes = matches!(
            question,
            Question::ForwardByPosition | Question::ForwardByVelocity
        );
        if slopes && self.chosen.len() < self.model.constraint_rows() {
            return refused(
                &format!(
                    "has no derivatives by q and v: {} of its {} constraint rows depend on others, and the derivatives are unique only along closed motions",
                    self.model.constraint_rows() - self.chosen.len(),
                    self.model.constraint_rows()
                ),
                "`catena derivatives` gives those of the library; or write constraints without redundant rows",
            );
        }
        Ok(())
    }

    /// Traces the accelerations or their derivatives.
    pub(super) fn function(&self, question: Question, options: &CodeOptions) -> Result<Function> {
        self.expect_possible(question, options)?;
        let (nq, nv, m) = (self.model.nq(), self.model.nv(), self.chosen.len());
        let q = array("q", nq, "positions");
        let v = array("v", nv, "velocities");
        let tau = array("tau", nv, "efforts");
        let slopes = |meaning| vec![array("derivative", nv * nv, meaning)];
        let (mut inputs, outputs) = match question {
            Question::ForwardByPosition => (vec![q, v, tau], slopes("∂v̇/∂q")),
            Question::ForwardByVelocity => (vec![q, v, tau], slopes("∂v̇/∂v")),
            Question::ForwardByEffort => (vec![q], slopes("∂v̇/∂τ")),
            _ => (
                vec![q, v, tau],
                vec![
                    array("vdot", nv, "accelerations"),
                    array("multipliers", m, "multipliers of the constraints"),
                ],
            ),
        };
        if self.has_drivers() && question != Question::ForwardByEffort {
            inputs.push(array("time", 1, "time of the drivers, s"));
        }
        let (program, method) = self
            .programs(question, options)?
            .into_iter()
            .min_by_key(|(program, _)| cost(program))
            .expect("there is at least one way");
        let samples = (0..self.states.len()).map(|k| self.sample(question, k));
        Ok(Function {
            question,
            samples: samples.collect::<Result<Vec<Sample>>>()?,
            snapping_error: 0.0,
            inputs,
            outputs,
            method,
            program,
        })
    }

    /// The variants of the computation.
    pub(super) fn programs(
        &self,
        question: Question,
        options: &CodeOptions,
    ) -> Result<Vec<(Program, &'static str)>> {
        self.expect_possible(question, options)?;
        let tree = self.model.clone().open_tree();
        let frames = [tree.reduced(options.dust), unchanged(&tree, options)];
        let methods = match question {
            Question::Forward => [
                "Newton–Euler, composite bodies, elimination; chosen rows of the constraints",
                "Newton–Euler, composite bodies, elimination in given frames; chosen rows of the constraints",
            ],
            _ => ["derivative of the constrained equations"; 2],
        };
        let mut ways = Vec::new();
        if !passed_over(self.model.nv()) || question != Question::Forward {
            for (reduced, method) in frames.iter().zip(methods) {
                ways.push((self.traced(question, reduced, options), method));
            }
        }
        if question == Question::Forward {
            let program = scope(|| {
                let model = self.model.map(Expr::constant);
                let [v, tau] = ["v", "tau"].map(|name| Expr::symbols(name, model.nv()));
                let (q, time) = (Expr::symbols("q", model.nq()), Expr::symbols("time", 1)[0]);
                let state = StateView {
                    q: &q,
                    v: &v,
                    base: &Base::fixed(),
                };
                let (mut vdot, lambda) =
                    forward_dynamics_closed(&model, &self.chosen, time, state, &tau, &[]);
                vdot.extend(lambda);
                Program::new(&vdot)
            });
            ways.push((
                program,
                "articulated bodies; chosen rows of the constraints",
            ));
        }
        Ok(ways)
    }

    /// Closed states of the model, with their times: those at which its rows were examined.
    pub(crate) fn states(&self) -> &[(f64, State)] {
        &self.states
    }

    /// The program of [`Kernel::Closed`](catena::native::Kernel::Closed): v̇, a multiplier for every row (zero for those that are left
    /// out), and the numbers that are positive where these are valid. The cheapest of several variants is used.
    pub(crate) fn kernel(&self, options: &CodeOptions) -> Result<Program> {
        self.expect_possible(Question::Forward, options)?;
        let tree = self.model.clone().open_tree();
        let mut ways = vec![scope(|| {
            let model = self.model.map(Expr::constant);
            let [v, tau] = ["v", "tau"].map(|name| Expr::symbols(name, model.nv()));
            let (q, time) = (Expr::symbols("q", model.nq()), Expr::symbols("time", 1)[0]);
            let state = StateView {
                q: &q,
                v: &v,
                base: &Base::fixed(),
            };
            let [vdot, lambda, signs] =
                forward_dynamics_signed(&model, &self.chosen, time, state, &tau);
            Program::new(&self.outputs_of_code(vdot, &lambda, signs))
        })];
        if !passed_over(self.model.nv()) {
            for reduced in [tree.reduced(options.dust), unchanged(&tree, options)] {
                ways.push(scope(|| {
                    let t = Traced::new(&reduced, &tree, options);
                    let given = self.model.map(Expr::constant);
                    let (q, time) = (Expr::symbols("q", given.nq()), Expr::symbols("time", 1)[0]);
                    let state = StateView {
                        q: &q,
                        v: &t.v(),
                        base: &Base::fixed(),
                    };
                    let rows = RowsAt::new(&given, &self.chosen, time, state);
                    let (free, factors) = t.forward();
                    let closing = Closing::new(rows.jacobian.clone(), |x| solve(&factors, x));
                    let mut vdot = free.clone();
                    let lambda = closing.apply(&rows.right, &mut vdot);
                    let mut signs: Vec<Expr> = factors.1.iter().map(|d| d.recip()).collect();
                    signs.extend(rows.signs(&closing, &free, &vdot));
                    Program::new(&self.outputs_of_code(vdot, &lambda, signs))
                }));
            }
        }
        Ok(ways
            .into_iter()
            .min_by_key(cost)
            .expect("there is at least one way"))
    }

    fn outputs_of_code(&self, vdot: Vec<Expr>, lambda: &[Expr], signs: Vec<Expr>) -> Vec<Expr> {
        let mut all = vec![Expr::zero(); self.model.constraint_rows()];
        for (&row, &lambda) in self.chosen.iter().zip(lambda) {
            all[row] = lambda;
        }
        [vdot, all, signs].concat()
    }

    fn traced(&self, question: Question, reduced: &Reduced, options: &CodeOptions) -> Program {
        let tree = self.model.clone().open_tree();
        scope(|| {
            let t = Traced::new(reduced, &tree, options);
            let v = match question {
                Question::ForwardByEffort => t.rest(),
                _ => t.v(),
            };
            // kinematics of the constraints in the frames of the model: reduced ones have other bodies
            let given = self.model.map(Expr::constant);
            let (q, time) = (Expr::symbols("q", given.nq()), Expr::symbols("time", 1)[0]);
            let state = StateView {
                q: &q,
                v: &v,
                base: &Base::fixed(),
            };
            let rows = RowsAt::new(&given, &self.chosen, time, state);
            let (mut vdot, factors) = t.forward();
            let closing = Closing::new(rows.jacobian.clone(), |x| solve(&factors, x));
            let lambda = closing.apply(&rows.right, &mut vdot);
            let (nv, m) = (t.nv(), lambda.len());
            let by_position = |x: &[Expr]| t.by_position(x);
            let by_velocity = |x: &[Expr]| jacobian(x, &v);
            let slopes: &dyn Fn(&[Expr]) -> Vec<Expr> = match question {
                Question::Forward => {
                    vdot.extend(lambda);
                    return Program::new(&vdot);
                }
                Question::ForwardByPosition => &by_position,
                Question::ForwardByVelocity => &by_velocity,
                _ => {
                    let none = vec![Expr::zero(); m];
                    let mut inverse = vec![Expr::zero(); nv * nv];
                    for column in 0..nv {
                        let mut x = t.rest();
                        x[column] = Expr::one();
                        solve(&factors, &mut x);
                        closing.apply(&none, &mut x);
                        for row in 0..nv {
                            inverse[row * nv + column] = x[row];
                        }
                    }
                    return Program::new(&inverse);
                }
            };
            let (held, loads) = (t.x("vdot"), Expr::symbols("lambda", m));
            let mut equations = t.inverse(&v, &held);
            for (row, &load) in loads.iter().enumerate() {
                for (equation, &entry) in equations.iter_mut().zip(rows.jacobian.row(row)) {
                    *equation -= entry * load;
                }
            }
            let kept = rows.jacobian.times(&held);
            equations.extend(kept.into_iter().zip(&rows.right).map(|(kept, b)| kept - *b));
            let replace: Vec<(Expr, Expr)> = held
                .into_iter()
                .chain(loads)
                .zip(vdot.into_iter().chain(lambda))
                .collect();
            let slopes = crate::substitute(&slopes(&equations), &replace);
            let mut derivative = vec![Expr::zero(); nv * nv];
            for column in 0..nv {
                let of = |row: usize| -slopes[row * nv + column];
                let mut x: Vec<Expr> = (0..nv).map(of).collect();
                let right: Vec<Expr> = (nv..nv + m).map(of).collect();
                solve(&factors, &mut x);
                closing.apply(&right, &mut x);
                for row in 0..nv {
                    derivative[row * nv + column] = x[row];
                }
            }
            Program::new(&derivative)
        })
    }

    /// A call at one of the closed states, computed by the library.
    fn sample(&self, question: Question, k: usize) -> Result<Sample> {
        let (time, state) = &self.states[k];
        let mut random = Random::new(200 + k as u64);
        let tau: Vec<f64> = (0..self.model.nv())
            .map(|_| random.uniform(-2.0, 2.0))
            .collect();
        let outputs = self.outputs(&self.model, question, *time, state, &tau)?;
        let mut limit = LIMIT;
        for seed in 1..=2 {
            let changed = self.model.with_other_last_digits(seed);
            if let Ok(moved) = self.outputs(&changed, question, *time, state, &tau) {
                let spread = relative(&moved, &outputs, largest(&outputs).max(SMALLEST));
                limit = larger(limit, ROUNDINGS * spread);
            }
        }
        let mut inputs = state.q.clone();
        if question != Question::ForwardByEffort {
            inputs.extend(&state.v);
            inputs.extend(&tau);
            if self.has_drivers() {
                inputs.push(*time);
            }
        }
        Ok(Sample {
            inputs,
            outputs,
            limit,
        })
    }

    fn outputs(
        &self,
        model: &Model,
        question: Question,
        time: f64,
        state: &State,
        tau: &[f64],
    ) -> Result<Vec<f64>> {
        let mut chain = ClosedChain::new(model);
        let which = match question {
            Question::ForwardByPosition => 0,
            Question::ForwardByVelocity => 1,
            Question::ForwardByEffort => 2,
            _ => {
                let motion = chain.forward(time, state, tau, &[])?;
                let mut numbers = motion.accelerations.to_vec();
                if motion.multipliers.len() == self.chosen.len() {
                    numbers.extend(motion.multipliers);
                } else {
                    // the multipliers of the chosen rows are equivalent to those of all rows
                    let (rows, state) = (&self.chosen, state.view());
                    numbers.extend(forward_dynamics_closed(model, rows, time, state, tau, &[]).1);
                }
                return Ok(numbers);
            }
        };
        let ClosedDerivatives { accelerations, .. } = chain.derivatives(time, state, tau, &[])?;
        Ok(accelerations[which].as_slice().to_vec())
    }
}

/// A random state, or one near the model's initial state.
fn guess(model: &Model, k: u64) -> State {
    let random = State::random(model, 100 + k);
    if k.is_multiple_of(2) {
        return random;
    }
    let mut source = Random::new(100 + k);
    let mut near = State::start(model);
    let step: Vec<f64> = (0..model.nv()).map(|_| source.uniform(-0.3, 0.3)).collect();
    near.step(model, &step);
    near.v = random.v;
    near
}
