//! From a guess to a closed state: positions, velocities and accelerations that satisfy all constraints.
//!
//! Positions by Levenberg and Marquardt on the manifold of the joints, with steps of minimum norm (rad and m weighted equally);
//! some coordinates may be held:
//!
//! ```text
//! δ = −Jᵀ (J Jᵀ + μ E)⁻¹ ξ,   q ← q ⊕ δ        μ falls with |ξ|², so the last steps are Newton's and converge quadratically
//! w = −J⁺ ξ̇,                  v ← v + w        minimum-norm change of the velocities; held ones stay
//! ```
//!
//! With more than [`DENSE_ROWS`] rows J Jᵀ is stored within its envelope, which is O(m) for loops in series, and the minimum-norm change is found by
//! steps of the same kind with a small μ, repeated until they vanish:
//!
//! ```text
//! w ← w − Jᵀ (J Jᵀ + μ E)⁻¹ (J w + c)           the part along a singular value σ shrinks by μ/(σ² + μ)
//! ```
//!
//! A mechanism may have several branches; the guess selects one. Where it leads to none, as from a stretched position, at which no step closes the
//! loop to first order, other guesses around it are tried, near ones first, and the closed position nearest to the guess is taken. A false closure is
//! impossible: the residual is that of [`Rows`](crate::algorithm::constrained::Rows), which has no zero where a revolute or fixed joint is rotated by
//! 180°.

use super::{ClosedChain, DENSE_ROWS, finite};
use crate::algorithm::constrained::complete_orthogonal::{CompleteOrthogonal, norm};
use crate::card::Card;
use crate::dense::cholesky_solve;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::residual::difference;
use crate::skyline::Skyline;
use crate::state::State;

/// Assembly.
pub const CARD: Card = Card {
    name: "Assembly by Levenberg–Marquardt",
    question: "a closed state near a guess",
    call: "ClosedChain::assemble",
    file: "doors/closed_chain/assembly.rs",
    order: "O(n m²) per iteration; many loops in a row O(m)",
    source: "Levenberg 1944; Marquardt 1963; Nocedal & Wright 2006, sec. 10.3",
};

/// Residual that counts as closed, m or rad.
const CLOSED: f64 = 1e-10;

/// Maximum number of iterations.
const MOST_ITERATIONS: usize = 200;

/// How far other guesses are from the one given, rad and m, and how many are tried at each distance.
const REACHES: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const GUESSES: u64 = 8;

/// Rank tolerance for velocities.
const RANK: f64 = 1e-9;

/// μ of repeated steps, relative to the square of the longest row: round-off of the products is 1e-16 of that. Singular values above 1e-5 of the
/// longest row take a few steps, those below 1e-6 are not resolved and count as what no step can remove.
const REPEATED: f64 = 1e-12;

/// Maximum number of repeated steps.
const MOST_REPEATED: usize = 40;

/// A repeated step this small, relative to the sum of all, is round-off.
const VANISHED: f64 = 1e-16;

/// Result of an assembly.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The closed state, with velocities that keep it closed.
    pub state: State,
    /// Number of iterations.
    pub iterations: usize,
    /// Largest ξ and ξ̇ left, m or rad and m/s or rad/s.
    pub residuals: [f64; 2],
    /// Number of rows, and how many are independent at this state.
    pub rows: [usize; 2],
    /// Remaining degrees of freedom: nv minus the independent rows.
    pub freedoms: usize,
}

impl ClosedChain {
    /// A closed state near a guess, from that guess or, where it leads to none, from others around it. `held` names
    /// velocity coordinates that keep the guess's position and velocity; a quaternion is held if all three of its angular velocities are.
    pub fn assemble(&mut self, time: f64, guess: &State, held: &[usize]) -> Result<Assembled> {
        let free = self.free(guess, held)?;
        let mut state = guess.clone();
        let first = match self.close(time, &mut state, &free) {
            Ok(iterations) => return self.assembled(time, state, &free, iterations),
            Err(error) => error,
        };
        for (level, reach) in REACHES.into_iter().enumerate() {
            let mut nearest: Option<(f64, Assembled)> = None;
            for seed in 0..GUESSES {
                let mut random = Random::new(seed + GUESSES * level as u64 + 1);
                let step: Vec<f64> = free
                    .iter()
                    .map(|&free| {
                        if free {
                            random.uniform(-reach, reach)
                        } else {
                            0.0
                        }
                    })
                    .collect();
                let mut other = guess.clone();
                other.step(&self.model, &step);
                let Ok(iterations) = self.close(time, &mut other, &free) else {
                    continue;
                };
                let found = self.assembled(time, other, &free, iterations)?;
                let distance = difference(&found.state.q, &guess.q);
                if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                    nearest = Some((distance, found));
                }
            }
            if let Some((_, found)) = nearest {
                return Ok(found);
            }
        }
        let tried = REACHES.len() as u64 * GUESSES;
        Err(first.hint(match held {
            [] => format!("{tried} other guesses about it lead to none either: check the lengths of the loop"),
            _ => format!(
                "{tried} other guesses about it lead to none either: hold fewer coordinates, or check the lengths of the loop"
            ),
        }))
    }

    /// The closed state that this guess leads to, without trying others: for surveys of many guesses.
    pub fn assemble_from(&mut self, time: f64, guess: &State, held: &[usize]) -> Result<Assembled> {
        let free = self.free(guess, held)?;
        let mut state = guess.clone();
        let iterations = self.close(time, &mut state, &free)?;
        self.assembled(time, state, &free, iterations)
    }

    /// Which velocity coordinates are not held.
    fn free(&self, guess: &State, held: &[usize]) -> Result<Vec<bool>> {
        self.tree.check(guess)?;
        let nv = self.model.nv();
        let mut free = vec![true; nv];
        for &k in held {
            match free.get_mut(k) {
                Some(free) => *free = false,
                None => {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!("there is no velocity coordinate {k} to hold: the model has {nv}"),
                    ));
                }
            }
        }
        Ok(free)
    }

    /// A closed position with velocities that keep it closed.
    fn assembled(
        &mut self,
        time: f64,
        mut state: State,
        free: &[bool],
        iterations: usize,
    ) -> Result<Assembled> {
        self.make_velocities_consistent(time, &mut state, free)?;
        self.evaluate(time, &state);
        self.factorize(&state)?;
        let (_, position) = self.worst(&self.work.rows.residual);
        let (_, velocity) = self.worst(&self.work.rows.rate);
        let rank = self.work.rank();
        for numbers in [&state.q[..], &state.v, &[position, velocity]] {
            finite("the closed state", numbers)?;
        }
        Ok(Assembled {
            state,
            iterations,
            residuals: [position, velocity],
            rows: [self.work.rows.count(), rank],
            freedoms: free.len() - rank,
        })
    }

    /// Accelerations that are consistent with a closed state and nearest to the guess `vdot` (rad/s² and m/s² weighted equally).
    pub fn consistent_accelerations(
        &mut self,
        time: f64,
        state: &State,
        vdot: &[f64],
    ) -> Result<Vec<f64>> {
        self.tree.check(state)?;
        crate::state::check_length("accelerations", vdot.len(), self.model.nv())?;
        self.evaluate(time, state);
        let mut rate = vec![0.0; self.work.rows.count()];
        self.work.rows.times(vdot, &mut rate);
        for (rate, bias) in rate.iter_mut().zip(&self.work.rows.bias) {
            *rate += bias;
        }
        let free = vec![true; vdot.len()];
        let (change, outside) = self.shortest(&free, &rate)?;
        let scale = norm(&rate).max(norm(&self.work.rows.bias));
        if outside.is_nan() || outside > 1e-6 * scale {
            return Err(Error::new(
                ErrorKind::Singular,
                format!(
                    "no accelerations keep the constraints at this state: {outside:.3e} of {scale:.3e} m/s² or rad/s² contradict each other"
                ),
            ));
        }
        let vdot: Vec<f64> = vdot.iter().zip(&change).map(|(a, d)| a + d).collect();
        finite("accelerations", &vdot)?;
        Ok(vdot)
    }

    /// J with the columns of held coordinates set to zero.
    fn free_jacobian(&self, free: &[bool]) -> Matrix {
        let mut jacobian = self.work.rows.dense(free.len());
        for row in 0..jacobian.rows() {
            for (x, &free) in jacobian.row_mut(row).iter_mut().zip(free) {
                if !free {
                    *x = 0.0;
                }
            }
        }
        jacobian
    }

    /// The minimum-norm x of free coordinates with J x = −c, and the part of c that cannot be satisfied.
    fn shortest(&self, free: &[bool], c: &[f64]) -> Result<(Vec<f64>, f64)> {
        if c.len() > DENSE_ROWS {
            let found = self.repeated(free, c)?;
            return Ok((found.x, found.outside));
        }
        let jacobian = self.free_jacobian(free);
        let mut decomposition = CompleteOrthogonal::new(free.len(), c.len());
        decomposition.decompose(&jacobian, RANK, usize::MAX);
        let mut y: Vec<f64> = c.iter().map(|c| -c).collect();
        let outside = decomposition.solve(&mut y);
        Ok((transpose_times(&jacobian, &y), outside))
    }

    /// [`shortest`](Self::shortest) for many rows, by repeated steps; it also returns y of x = Jᵀ y.
    pub(super) fn repeated(&self, free: &[bool], c: &[f64]) -> Result<Shortest> {
        let rows = &self.work.rows;
        let mut products = self.products(free)?;
        products.shift(REPEATED * products.largest().max(1e-24));
        if !products.factorize(0.0) {
            return Err(self.dependent_products());
        }
        let mut found = Shortest {
            x: vec![0.0; free.len()],
            y: vec![0.0; c.len()],
            outside: norm(c),
        };
        let (mut left, mut reach) = (c.to_vec(), vec![0.0; c.len()]);
        let mut before = f64::INFINITY;
        for _ in 0..MOST_REPEATED {
            products.solve(&mut left);
            let step = self.free_transpose_times(free, &left);
            let size = norm(&step);
            if size.is_nan() || size > 0.5 * before {
                break;
            }
            before = size;
            for (x, step) in found.x.iter_mut().zip(&step) {
                *x -= step;
            }
            for (y, left) in found.y.iter_mut().zip(&left) {
                *y -= left;
            }
            rows.times(&found.x, &mut reach);
            for ((left, reach), c) in left.iter_mut().zip(&reach).zip(c) {
                *left = reach + c;
            }
            found.outside = norm(&left);
            if size <= VANISHED * norm(&found.x) {
                break;
            }
        }
        Ok(found)
    }

    fn dependent_products(&self) -> Error {
        Error::new(
            ErrorKind::Singular,
            format!(
                "the products of the {} rows of the constraints cannot be factorized at this state",
                self.row_count()
            ),
        )
        .hint("rows may be not finite, or differ in size by more than eight powers of ten")
    }

    /// Jᵀ y of the free coordinates.
    fn free_transpose_times(&self, free: &[bool], y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; free.len()];
        self.work.rows.add_transpose_times(y, &mut x);
        for (x, &free) in x.iter_mut().zip(free) {
            if !free {
                *x = 0.0;
            }
        }
        x
    }

    /// J Jᵀ of the free coordinates inside its envelope: rows have a product where they share one.
    fn products(&self, free: &[bool]) -> Result<Skyline> {
        let rows = &self.work.rows;
        let blocks = rows.blocks();
        let mut touching: Vec<Vec<usize>> = vec![Vec::new(); free.len()];
        let mut first = vec![0; rows.count()];
        for (index, block) in blocks.iter().enumerate() {
            let mut start = block.first;
            for &column in block.columns.iter().filter(|&&column| free[column]) {
                touching[column].push(index);
                start = start.min(blocks[touching[column][0]].first);
            }
            first[block.first..block.first + block.rows].fill(start);
        }
        super::modest("J Jᵀ inside its envelope", Skyline::numbers(&first))?;
        let mut products = Skyline::new(first);
        let mut own = vec![0.0; free.len()];
        for (index, block) in blocks.iter().enumerate() {
            let shared = block.columns.iter().flat_map(|&column| &touching[column]);
            let mut others: Vec<usize> = shared.copied().filter(|&k| k <= index).collect();
            others.sort_unstable();
            others.dedup();
            for k in 0..block.rows {
                let i = block.first + k;
                for (&column, &x) in block.columns.iter().zip(rows.row(block, k)) {
                    own[column] = if free[column] { x } else { 0.0 };
                }
                for other in others.iter().map(|&other| &blocks[other]) {
                    for l in 0..other.rows {
                        let j = other.first + l;
                        if j > i {
                            break;
                        }
                        let entries = other.columns.iter().zip(rows.row(other, l));
                        let product: f64 = entries.map(|(&column, x)| own[column] * x).sum();
                        products.add(i, j, product);
                    }
                }
                for &column in &block.columns {
                    own[column] = 0.0;
                }
            }
        }
        Ok(products)
    }

    /// J Jᵀ, dense or inside its envelope.
    fn normal(&self, free: &[bool]) -> Result<Normal> {
        let m = self.work.rows.count();
        if m > DENSE_ROWS {
            return Ok(Normal::Envelope(self.products(free)?));
        }
        let jacobian = self.free_jacobian(free);
        let mut products = Matrix::zeros(m, m);
        for i in 0..m {
            for j in 0..=i {
                let product: f64 = jacobian
                    .row(i)
                    .iter()
                    .zip(jacobian.row(j))
                    .map(|(x, y)| x * y)
                    .sum();
                products[(i, j)] = product;
            }
        }
        Ok(Normal::Dense { jacobian, products })
    }

    /// −Jᵀ (J Jᵀ + μ E)⁻¹ ξ.
    fn damped_step(&self, normal: &Normal, mu: f64, residual: &[f64], free: &[bool]) -> Vec<f64> {
        let mut y: Vec<f64> = residual.iter().map(|xi| -xi).collect();
        match normal {
            Normal::Dense { jacobian, products } => {
                let mut damped = products.clone();
                for k in 0..y.len() {
                    damped[(k, k)] += mu;
                }
                cholesky_solve(damped.as_mut_slice(), &mut y);
                transpose_times(jacobian, &y)
            }
            Normal::Envelope(products) => {
                let mut damped = products.clone();
                damped.shift(mu);
                match damped.factorize(0.0) {
                    true => damped.solve(&mut y),
                    // NaN makes the caller reject the step and increase μ
                    false => y.fill(f64::NAN),
                }
                self.free_transpose_times(free, &y)
            }
        }
    }

    fn close(&mut self, time: f64, state: &mut State, free: &[bool]) -> Result<usize> {
        if let Some(positions) = &mut self.positions {
            return positions.close(time, state, free);
        }
        self.evaluate(time, state);
        let mut size = self.size();
        let mut damping = 1e-3;
        let mut iterations = 0;
        while iterations < MOST_ITERATIONS && size.is_finite() {
            let (_, worst) = self.worst(&self.work.rows.residual);
            if worst < CLOSED {
                break;
            }
            iterations += 1;
            let residual = self.work.rows.residual.clone();
            let normal = self.normal(free)?;
            let largest = normal.longest_row();
            let mut improved = false;
            for _ in 0..30 {
                // relative to |ξ|², which makes final convergence quadratic, but never below round-off of the products
                let mu = largest * largest * (damping * size * size).clamp(1e-14, 1e6);
                let delta = self.damped_step(&normal, mu, &residual, free);
                let mut tried = state.clone();
                tried.step(&self.model, &delta);
                if delta.iter().all(|d| d.is_finite()) {
                    self.evaluate(time, &tried);
                    let next = self.size();
                    if next < size {
                        (*state, size, improved) = (tried, next, true);
                        damping = (damping * 0.2).max(1e-6);
                        break;
                    }
                }
                damping = (damping * 5.0).max(1e-9);
            }
            if !improved {
                self.evaluate(time, state);
                break;
            }
        }
        self.polish(time, state, free)?;
        let (name, worst) = self.worst(&self.work.rows.residual);
        if worst < CLOSED {
            return Ok(iterations);
        }
        Err(Error::new(
            ErrorKind::Input,
            format!(
                "constraint `{name}` cannot be closed from this guess: {worst:.3e} m or rad are left after {iterations} iterations"
            ),
        ))
    }

    /// Takes Newton steps down to round-off, with dependent rows left out.
    fn polish(&mut self, time: f64, state: &mut State, free: &[bool]) -> Result<()> {
        self.evaluate(time, state);
        let mut size = self.size();
        for _ in 0..6 {
            if !(1e-15..1e-2).contains(&size) {
                break;
            }
            let (delta, _) = self.shortest(free, &self.work.rows.residual)?;
            let mut tried = state.clone();
            tried.step(&self.model, &delta);
            self.evaluate(time, &tried);
            let next = self.size();
            if next.is_nan() || next >= size {
                self.evaluate(time, state);
                break;
            }
            (*state, size) = (tried, next);
        }
        Ok(())
    }

    fn make_velocities_consistent(
        &mut self,
        time: f64,
        state: &mut State,
        free: &[bool],
    ) -> Result<()> {
        self.evaluate(time, state);
        let rate = self.work.rows.rate.clone();
        let (change, outside) = self.shortest(free, &rate)?;
        let scale = norm(&rate).max(1e-3);
        if outside > 1e-9 * scale {
            let (name, _) = self.worst(&rate);
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "no velocities of the free coordinates keep constraint `{name}`: {outside:.3e} m/s or rad/s are left"
                ),
            )
            .hint("hold fewer coordinates, or hold them at velocities that the mechanism can have"));
        }
        for (v, change) in state.v.iter_mut().zip(&change) {
            *v += change;
        }
        Ok(())
    }

    /// Length of ξ.
    fn size(&self) -> f64 {
        norm(&self.work.rows.residual)
    }
}

/// A minimum-norm solution of J x = −c, x = Jᵀ y, and the length of the remainder of c.
pub(super) struct Shortest {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub outside: f64,
}

/// J Jᵀ of the free coordinates.
enum Normal {
    Dense { jacobian: Matrix, products: Matrix },
    Envelope(Skyline),
}

impl Normal {
    /// Length of the longest row of J.
    fn longest_row(&self) -> f64 {
        match self {
            Normal::Dense { jacobian, .. } => {
                let rows = (0..jacobian.rows()).map(|k| norm(jacobian.row(k)));
                rows.fold(1e-12, f64::max)
            }
            Normal::Envelope(products) => products.largest().sqrt().max(1e-12),
        }
    }
}

fn transpose_times(jacobian: &Matrix, y: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; jacobian.columns()];
    for (k, &y) in y.iter().enumerate() {
        for (x, &entry) in x.iter_mut().zip(jacobian.row(k)) {
            *x += entry * y;
        }
    }
    x
}
