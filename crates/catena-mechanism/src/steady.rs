//! The linear equations about a steady motion, and its modes; for trees, closed chains, and rolling systems.
//!
//! All velocities v are constant, v̇ = 0, as for a bicycle running straight ahead, or anything at rest. With the increments δ of
//! [`State::step`] and δv of the velocities, along the motion:
//!
//! ```text
//! δ̇  = δv − ω × δ   (quaternions; δ̇ = δv else)        δv̇ = ∂v̇/∂q δ + ∂v̇/∂v δv + ∂v̇/∂τ δτ                    (1)
//! J δ = 0  (holonomic rows),    J δv + ∂ξ̇/∂q δ = 0  (all rows)                                          (2)
//! (δ; δv) = Z x:   ẋ = A x + B δτ                                                                           (3)
//! ```
//!
//! (2) holds along (1), so Z x stays in it. With nonholonomic rows, x has more increments of position than of velocity.
//!
//! Where the positions of such a motion are not known, [`SteadyMotion::near`] searches for them: velocities are given, and Newton's method changes
//! positions along (2) until v̇ = 0, by minimum-norm steps where the motion does not depend on some of them. This finds the relative equilibria of
//! rotating systems: a governor, a conical pendulum.
//!
//! A steady motion has zero eigenvalues: for positions on which nothing depends, and for velocities that nothing changes. They form Jordan chains (a
//! larger velocity leads ever further away), whose round-off would contaminate small eigenvalues; so the null space of A is split off first,
//! repeatedly until the rest is regular:
//!
//! ```text
//! Qᵀ A Q = [0 C; 0 A'],   Q = [null space of A, its complement]                                             (4)
//! A' x' = λ x',   x = Q (C x'/λ; x')                                                                        (5)
//! ```

use crate::dense::RANK_TOLERANCE;
use crate::linear::{Eigen, Mat};
use crate::linearisation::{
    Mode, Modes, allowed_motions, diverged, matrix, normalised, with_ones_at,
};
use catena::ClosedChain;
use catena::algorithm::constrained::{Axes, CompleteOrthogonal, Rows};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Rule;
use catena::random::Random;
use catena::residual::{difference, larger, largest, largest_of, within};
use catena::scalar::{Dual, Scalar};
use catena::{Base, Matrix, Model, State};

/// Residual accelerations of a steady motion, relative to those of the tree with its constraints removed.
const STEADY: f64 = 1e-9;
/// Singular values of A below this fraction of the largest are zero.
const ZERO: f64 = 1e-12;
/// If A differs by more than this fraction of its largest entry along the motion, it is not constant.
const CHANGES: f64 = 1e-8;

/// Maximum number of steps of a search, and of halvings of a step.
const ITERATIONS: usize = 100;
const HALVINGS: usize = 40;
/// Longest step, rad or m.
const FARTHEST: f64 = 0.1;
/// Other guesses, within this many rad or m of the given positions, and how many of each.
const REACHES: [f64; 2] = [0.3, 1.0];
const GUESSES: u64 = 20;

type D1 = Dual<f64, 1>;

/// Meaning of an entry of x: a freedom, and whether it is the increment of its velocity.
pub type Variable = (usize, bool);

/// The linear equations about a steady motion.
#[derive(Clone, Debug)]
pub struct SteadyMotion {
    model: Model,
    /// The state through which the motion passes.
    pub state: State,
    /// The efforts that act.
    pub effort: Vec<f64>,
    /// Largest residual acceleration, m/s² or rad/s².
    pub residual: f64,
    /// Entries of x: freedoms k as increments of position (k, false) or of velocity (k, true).
    pub variables: Vec<Variable>,
    /// Z, 2nv × n: increments of all positions, then of all velocities.
    pub spread: Matrix,
    /// A, n × n.
    pub a: Matrix,
    /// B, n × nv.
    pub b: Matrix,
    /// How much (1) violates (2), relative to A.
    pub leaves: f64,
    /// Iterations that found the positions.
    pub iterations: usize,
    /// Whether they were found from the given positions, and not from others around them.
    pub from_guess: bool,
}

/// Result of the search for positions.
struct Search {
    state: State,
    vdot: Vec<f64>,
    iterations: usize,
    found: bool,
}

/// One step of (4): Q and C.
struct Split {
    basis: Mat,
    coupling: Mat,
}

/// Remainder of (4).
struct Regular {
    /// Real and imaginary parts.
    values: Vec<[f64; 2]>,
    vectors: Vec<Vec<[f64; 2]>>,
    splits: Vec<Split>,
}

impl SteadyMotion {
    /// The linear equations about the motion that passes this state under these efforts. Dry friction is left out: its derivative is zero.
    pub fn new(model: &Model, state: &State, effort: &[f64]) -> Result<Self> {
        if model.couplings().is_some() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("couplings of `{}` are eliminated", model.name()),
            )
            .hint("take `Model::with_couplings_as_constraints` and `State::of_tree`"));
        }
        let driver = model
            .constraints()
            .iter()
            .find(|c| matches!(c.rule, Rule::Driver { .. }));
        if let Some(driver) = driver {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "driver `{}` depends on time: linear equations about a steady motion do not",
                    driver.name
                ),
            )
            .hint("give a constant rate by a constraint of the type velocity"));
        }
        let still = Base::<f64>::fixed();
        if state.base.velocity != still.velocity || state.base.acceleration != still.acceleration {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the base moves: linear equations are those on a base at rest",
            ));
        }
        let made = SteadyMotion::at(model, state, effort, None)?;
        // a second later, or a radian, whichever is less
        let speed = largest(&state.v).max(1.0);
        let mut later = state.clone();
        let step: Vec<f64> = state.v.iter().map(|v| v / speed).collect();
        later.step(model, &step);
        ClosedChain::new(model).project(0.0, &mut later)?;
        let then = SteadyMotion::at(model, &later, effort, Some(&made.variables))?;
        let size = largest(made.a.as_slice()).max(1.0);
        let changed = difference(made.a.as_slice(), then.a.as_slice()) / size;
        if made.leaves.is_nan() || !within(larger(made.leaves, changed), CHANGES) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the linear equations of `{}` change along the motion: it has no modes",
                    model.name()
                ),
            )
            .hint("a body that spins must do so in a joint of its own (revolute), its mass centre must be on the axis, and its moments across the axis must be equal"));
        }
        Ok(made)
    }

    /// The equations at a state, in these variables or in variables chosen here.
    fn at(
        model: &Model,
        state: &State,
        effort: &[f64],
        variables: Option<&[Variable]>,
    ) -> Result<Self> {
        let nv = model.nv();
        let mut chain = ClosedChain::new(model);
        let found = chain.derivatives(0.0, state, effort, &[])?;
        let free = chain.tree().forward(state, effort, &[])?;
        let scale = largest(free).max(largest(&state.v)).max(1.0);
        let residual = largest(&found.vdot);
        if residual > STEADY * scale {
            let worst = (0..nv)
                .max_by(|&a, &b| found.vdot[a].abs().total_cmp(&found.vdot[b].abs()))
                .unwrap_or(0);
            let dof = &model.tree().dofs[worst];
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "this is not a steady motion of `{}`: `{}` accelerates with {:.6e} {}²",
                    model.name(),
                    dof.name,
                    found.vdot[worst],
                    dof.velocity_unit,
                ),
            )
            .hint(
                "give positions, velocities and efforts with which all velocities stay constant",
            ));
        }
        let along = increments(model, state, &found.accelerations);
        let (z, variables) = directions(model, state, variables)?;
        let n = variables.len();
        let independent: Vec<usize> = variables
            .iter()
            .map(|&(k, is_rate)| k + if is_rate { nv } else { 0 })
            .collect();
        let moved = &along * &z;
        let a = matrix(n, n, |i, j| moved[(independent[i], j)]);
        let stays = &z * &Mat::from_fn(n, n, |i, j| a[(i, j)]);
        let size = largest(a.as_slice()).max(f64::MIN_POSITIVE);
        let leaves = largest_of((0..2 * nv).flat_map(|i| {
            let (moved, stays) = (&moved, &stays);
            (0..n).map(move |j| (moved[(i, j)] - stays[(i, j)]).abs())
        }));
        let b = matrix(n, nv, |i, j| match independent[i].checked_sub(nv) {
            Some(k) => found.accelerations[2][(k, j)],
            None => 0.0,
        });
        Ok(SteadyMotion {
            model: model.clone(),
            state: state.clone(),
            effort: effort.to_vec(),
            residual,
            variables,
            spread: matrix(2 * nv, n, |i, j| z[(i, j)]),
            a,
            b,
            leaves: leaves / size,
            iterations: 0,
            from_guess: true,
        })
    }

    /// The equations about a motion with the velocities of `guess`, at positions found near its own. In closed chains the velocities are replaced by
    /// the nearest ones that keep the loops closed there.
    pub fn near(model: &Model, guess: &State, effort: &[f64]) -> Result<Self> {
        let first = Search::new(model, guess.clone(), effort)?;
        let (mut best, mut from_guess) = (first, true);
        'others: for (level, reach) in REACHES.into_iter().enumerate() {
            for seed in 0..GUESSES {
                if best.found {
                    break 'others;
                }
                let mut random = Random::new(1 + seed + GUESSES * level as u64);
                let step: Vec<f64> = (0..model.nv())
                    .map(|_| random.uniform(-reach, reach))
                    .collect();
                let mut other = guess.clone();
                other.step(model, &step);
                // a guess that cannot be closed, or is singular, is skipped
                if let Ok(search) = Search::new(model, other, effort)
                    && search.found
                {
                    (best, from_guess) = (search, false);
                }
            }
        }
        if !best.found {
            let worst = (0..model.nv())
                .max_by(|&a, &b| best.vdot[a].abs().total_cmp(&best.vdot[b].abs()))
                .unwrap_or(0);
            let dof = &model.tree().dofs[worst];
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "no positions of `{}` were found at which these velocities stay constant: `{}` accelerates with at least {:.6e} {}²",
                    model.name(),
                    dof.name,
                    best.vdot[worst].abs(),
                    dof.velocity_unit,
                ),
            )
            .hint("give positions nearer to a steady motion (`--q`), other velocities (`--v`), or the efforts that sustain it (`--tau`)"));
        }
        Ok(SteadyMotion {
            iterations: best.iterations,
            from_guess,
            ..SteadyMotion::new(model, &best.state, effort)?
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The positions at the end of an oscillation of this amplitude, closed; at rest, for drawing.
    pub fn displaced(&self, mode: &Mode, amplitude: f64) -> Result<State> {
        let step: Vec<f64> = mode.shape.iter().map(|x| amplitude * x[0]).collect();
        let mut state = self.state.clone();
        state.v.fill(0.0);
        state.step(&self.model, &step);
        let positions = self.variables.iter().filter(|(_, is_rate)| !is_rate);
        let kept: Vec<usize> = positions.map(|&(k, _)| k).collect();
        let mut chain = ClosedChain::new(&self.model);
        Ok(chain.assemble(0.0, &state, &kept)?.state)
    }

    /// λ and eigenvectors of the regular part of A, and how it was split off.
    fn regular(&self) -> Result<Regular> {
        let n = self.variables.len();
        let mut a = Mat::from_fn(n, n, |i, j| self.a[(i, j)]);
        let scale = largest(self.a.as_slice());
        let mut splits = Vec::new();
        loop {
            let size = a.nrows();
            let (values, v) = a.right_svd().map_err(|_| diverged())?;
            let zeros = values.iter().filter(|&&x| x <= ZERO * scale).count();
            if zeros == 0 {
                break;
            }
            // the right singular vectors, those of zero first
            let basis = Mat::from_fn(size, size, |i, j| v[(i, size - 1 - j)]);
            let turned = &basis.transpose() * &(&a * &basis);
            splits.push(Split {
                coupling: turned.submatrix(0, zeros, zeros, size - zeros),
                basis,
            });
            a = turned.submatrix(zeros, zeros, size - zeros, size - zeros);
            if a.nrows() == 0 {
                break;
            }
        }
        if a.nrows() == 0 {
            return Ok(Regular {
                values: Vec::new(),
                vectors: Vec::new(),
                splits,
            });
        }
        let Eigen { values, vectors } = a.eigen().map_err(|_| diverged())?;
        Ok(Regular {
            values,
            vectors,
            splits,
        })
    }

    /// Eigenvalues and mode shapes, slowest first, those of λ = 0 left out; and how many these are.
    pub fn modes(&self) -> Result<(Modes, usize)> {
        let Regular {
            values,
            vectors,
            splits,
        } = self.regular()?;
        let zeros = self.variables.len() - values.len();
        let nv = self.model.nv();
        let scale = largest(self.a.as_slice());
        let (mut list, mut residual) = (Vec::new(), 0.0f64);
        for (&value, vector) in values.iter().zip(&vectors) {
            let mut x = vector.clone();
            for split in splits.iter().rev() {
                x = split.whole(&x, value); // (5)
            }
            let parts = [0, 1].map(|p| x.iter().map(|x| x[p]).collect::<Vec<f64>>());
            let images = parts.clone().map(|part| self.a.times(&part));
            let long = largest_of(x.iter().map(|x| elementary::hypot(x[0], x[1])));
            for i in 0..x.len() {
                let [re, im] = [parts[0][i], parts[1][i]];
                let off = elementary::hypot(
                    images[0][i] - (value[0] * re - value[1] * im),
                    images[1][i] - (value[0] * im + value[1] * re),
                );
                residual = larger(residual, off / (scale * long));
            }
            if value[1] < 0.0 {
                continue;
            }
            let shape = (0..nv)
                .map(|k| {
                    [0, 1].map(|p| {
                        let terms = parts[p].iter().enumerate();
                        terms.map(|(j, x)| self.spread[(k, j)] * x).sum()
                    })
                })
                .collect();
            list.push(Mode {
                value,
                shape: normalised(shape),
            });
        }
        list.sort_by(|a, b| a.frequency().total_cmp(&b.frequency()));
        let modes = Modes {
            list,
            symmetric: false,
            residual,
        };
        Ok((modes, zeros))
    }
}

impl Split {
    /// x = Q (C x'/λ; x').
    fn whole(&self, x: &[[f64; 2]], [re, im]: [f64; 2]) -> Vec<[f64; 2]> {
        let square = re * re + im * im;
        let mut turned: Vec<[f64; 2]> = (0..self.coupling.nrows())
            .map(|i| {
                let [a, b] = [0, 1].map(|p| {
                    let terms = x.iter().enumerate();
                    terms
                        .map(|(j, x)| self.coupling[(i, j)] * x[p])
                        .sum::<f64>()
                });
                [(a * re + b * im) / square, (b * re - a * im) / square]
            })
            .collect();
        turned.extend_from_slice(x);
        (0..turned.len())
            .map(|i| {
                [0, 1].map(|p| {
                    let terms = turned.iter().enumerate();
                    terms.map(|(j, x)| self.basis[(i, j)] * x[p]).sum()
                })
            })
            .collect()
    }
}

impl Search {
    /// Newton's method for v̇ = 0 over the positions, with steps halved until it falls.
    fn new(model: &Model, mut state: State, effort: &[f64]) -> Result<Self> {
        let nv = model.nv();
        let mut chain = ClosedChain::new(model);
        let given = state.v.clone();
        let closed = |chain: &mut ClosedChain, state: &mut State| {
            state.v.copy_from_slice(&given);
            chain.project(0.0, state)
        };
        closed(&mut chain, &mut state)?;
        let mut vdot = chain
            .forward(0.0, &state, effort, &[])?
            .accelerations
            .to_vec();
        let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut iterations = 0;
        let scale = |chain: &mut ClosedChain, state: &State| {
            let free = chain.tree().forward(state, effort, &[])?;
            Ok::<_, Error>(largest(free).max(largest(&state.v)).max(1.0))
        };
        'search: while iterations < ITERATIONS && size(&vdot) > 0.0 {
            let found = chain.derivatives(0.0, &state, effort, &[])?;
            let (z, variables) = directions(model, &state, None)?;
            let free = variables.iter().filter(|(_, is_rate)| !is_rate).count();
            let slope = matrix(nv, free, |i, j| {
                let [by_q, by_v, _] = &found.accelerations;
                (0..nv)
                    .map(|k| by_q[(i, k)] * z[(k, j)] + by_v[(i, k)] * z[(nv + k, j)])
                    .sum()
            });
            let mut shortest = CompleteOrthogonal::new(free, nv);
            shortest.decompose(&slope, RANK_TOLERANCE, usize::MAX);
            let mut y: Vec<f64> = vdot.iter().map(|x| -x).collect();
            shortest.solve(&mut y);
            let along = slope.transpose().times(&y);
            let step: Vec<f64> = (0..nv)
                .map(|k| (0..free).map(|j| z[(k, j)] * along[j]).sum())
                .collect();
            // limited step, so that the nearest motion is found
            let mut share = 1.0 / (largest(&step) / FARTHEST).max(1.0);
            for _ in 0..HALVINGS {
                let mut next = state.clone();
                let part: Vec<f64> = step.iter().map(|x| share * x).collect();
                next.step(model, &part);
                let there = closed(&mut chain, &mut next).and_then(|()| {
                    let motion = chain.forward(0.0, &next, effort, &[])?;
                    Ok(motion.accelerations.to_vec())
                });
                if let Ok(there) = there
                    && size(&there) < size(&vdot)
                {
                    (state, vdot) = (next, there);
                    iterations += 1;
                    continue 'search;
                }
                share *= 0.5;
            }
            break;
        }
        let found = largest(&vdot) <= STEADY * scale(&mut chain, &state)?;
        Ok(Search {
            state,
            vdot,
            iterations,
            found,
        })
    }
}

/// The matrix of (1).
fn increments(model: &Model, state: &State, slopes: &[Matrix; 3]) -> Mat {
    let nv = model.nv();
    let mut along = Mat::from_fn(2 * nv, 2 * nv, |i, j| match (i < nv, j < nv) {
        (true, _) => f64::from(u8::from(j == nv + i)),
        (false, true) => slopes[0][(i - nv, j)],
        (false, false) => slopes[1][(i - nv, j - nv)],
    });
    for body in model.bodies() {
        let info = &model.tree().bodies[body];
        if let Some(first) = info.kind.quaternion() {
            let at = info.v + first;
            for i in 0..3 {
                // −ω × δ
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                along[(at + i, at + k)] -= state.v[at + j];
                along[(at + i, at + j)] += state.v[at + k];
            }
        }
    }
    along
}

/// Z of (2) and the entries of x: positions that the holonomic rows leave free, then velocities that all rows leave free.
fn directions(
    model: &Model,
    state: &State,
    chosen: Option<&[Variable]>,
) -> Result<(Mat, Vec<Variable>)> {
    let nv = model.nv();
    let Rates { jacobian, slope } = Rates::new(model, state);
    let mut on_positions = Vec::new();
    let mut first = 0;
    for constraint in model.constraints() {
        on_positions.extend(first..first + constraint.position_rows());
        first += constraint.rows();
    }
    let own = matrix(on_positions.len(), nv, |k, j| {
        jacobian[(on_positions[k], j)]
    });
    let free = |rows: &Matrix, rates: bool| {
        let (z, independent) = allowed_motions(rows, nv)?;
        let kept: Vec<usize> = chosen
            .into_iter()
            .flatten()
            .filter(|(_, is_rate)| *is_rate == rates)
            .map(|&(k, _)| k)
            .collect();
        if kept.len() != independent.len() {
            return Ok((z, independent));
        }
        Ok::<_, Error>((with_ones_at(&z, &kept), kept))
    };
    let (positions, of_positions) = free(&own, false)?;
    let (rates, of_rates) = free(&jacobian, true)?;
    let (p, r) = (of_positions.len(), of_rates.len());
    let mut z = Mat::zeros(2 * nv, p + r);
    let mut shortest = CompleteOrthogonal::new(nv, jacobian.rows());
    shortest.decompose(&jacobian, RANK_TOLERANCE, usize::MAX);
    let transposed = jacobian.transpose();
    for j in 0..p {
        let along: Vec<f64> = (0..nv).map(|k| positions[(k, j)]).collect();
        // δv = −J⁺ (∂ξ̇/∂q δ), minus the contribution of the independent velocities
        let mut y: Vec<f64> = slope.times(&along).iter().map(|x| -x).collect();
        shortest.solve(&mut y);
        let follows = transposed.times(&y);
        for k in 0..nv {
            z[(k, j)] = along[k];
            let own = of_rates.iter().enumerate();
            let free: f64 = own.map(|(i, &at)| rates[(k, i)] * follows[at]).sum();
            z[(nv + k, j)] = follows[k] - free;
        }
    }
    for j in 0..r {
        for k in 0..nv {
            z[(nv + k, p + j)] = rates[(k, j)];
        }
    }
    let name = |list: Vec<usize>, is_rate: bool| list.into_iter().map(move |k| (k, is_rate));
    let variables = name(of_positions, false).chain(name(of_rates, true));
    Ok((z, variables.collect()))
}

/// J and ∂ξ̇/∂q of all rows.
struct Rates {
    jacobian: Matrix,
    slope: Matrix,
}

impl Rates {
    fn new(model: &Model, state: &State) -> Self {
        let (nv, m) = (model.nv(), model.constraint_rows());
        let mut slope = Matrix::zeros(m, nv);
        let still = vec![D1::zero(); nv];
        let mut kinematics = Kinematics::new(model);
        let mut rows = Rows::new(model, Axes::Parent);
        for direction in 0..nv {
            let mut moving: State<D1> = state.lift();
            let mut step = still.clone();
            step[direction] = D1::variable(0.0, 0);
            moving.step(model, &step);
            forward_kinematics(model, moving.view(), &still, &mut kinematics);
            rows.evaluate(model, D1::zero(), &moving.q, &moving.v, &kinematics);
            for row in 0..m {
                slope[(row, direction)] = rows.rate[row].derivative[0];
            }
        }
        let jacobian = rows.dense(nv);
        Rates {
            jacobian: matrix(m, nv, |i, j| jacobian[(i, j)].value),
            slope,
        }
    }
}
