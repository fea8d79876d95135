//! Dry friction with stick and slip, and rest against rigid stops.
//!
//! A freedom with the friction level f slips in a direction s = ±1 or is held (sticks):
//!
//! ```text
//! slips   effort −f s on the freedom, as long as s v > 0                                              (1)
//! held    v = 0, v̇ = 0; the effort λ that this needs, as long as |λ| ≤ f                               (2)
//! ```
//!
//! Within a mode the equations are smooth, and stay so slightly beyond its end, so that the end, v = 0 in (1) and |λ| = f in (2), is
//! located like any event. There the modes of the freedoms at rest are chosen anew. With A the accelerations of those freedoms under
//! unit efforts on them, Eᵀ I⁻¹ E in a tree and its counterpart under the constraints in a closed chain, and a their accelerations
//! without friction, λ is the effort for which
//!
//! ```text
//! w = A λ + a,    |λ| < f and w = 0,   or λ = −f and w ≥ 0,   or λ = f and w ≤ 0                       (3)
//! ```
//!
//! which is the condition for the minimum of ½ λᵀA λ + aᵀλ over the box |λ| ≤ f (see `box_minimum.rs`). In a tree A is
//! positive definite and there is exactly one λ, whatever the coupling. Under constraints A may be singular: several held
//! freedoms can block the same motion. The accelerations w are still unique, the efforts are not. Then (2) ends where no
//! efforts within the levels can hold any longer, which is where the load factor
//!
//! ```text
//! t = least t for which there is λ' with A λ' = A λ, |λ'| ≤ t f                                        (4)
//! ```
//!
//! reaches 1. Starting from a t that is too small, the minimum of (3) over the box |λ'| ≤ t f leaves g = A (λ' − λ),
//! and no box smaller than that of
//!
//! ```text
//! t ← t + (λ' − λ)ᵀ g / Σ f |g|                                                                        (5)
//! ```
//!
//! suffices: g is the direction in which the held mechanism would yield. A few such steps find t (Dinkelbach 1967).
//!
//! A freedom that rests against a rigid stop is held, too. The stop only pushes, away from the limit: with it the box is
//!
//! ```text
//! −f ≤ λ < ∞   at a lower limit,     −∞ < λ ≤ f   at an upper one                                      (6)
//! ```
//!
//! without friction f = 0. All of the above still holds, with the finite sides of the boxes scaled in (4). Where stops without
//! friction hold the same motions of a closed chain, as many of them stay idle as make the efforts of the others unique.

use super::stops::{Stop, StopKind};
use crate::Dynamics;
use crate::box_minimum::{BoxMinimum, BoxProblem};
use crate::closed_chain::friction::{DEPENDENT, clean, dependency, independent};
use crate::dense::cholesky_solve;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;

/// Mode of a freedom with dry friction or a rigid stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Modes are not tracked: the sign of the velocity decides.
    BySign,
    /// It slips in this direction, 1 or −1.
    Slips(f64),
    /// It is held.
    Held,
    /// It has no friction and moves.
    Free,
}

impl Mode {
    pub fn to_word(self) -> u64 {
        match self {
            Mode::BySign => 0,
            Mode::Held => 1,
            Mode::Slips(s) if s > 0.0 => 2,
            Mode::Slips(_) => 3,
            Mode::Free => 4,
        }
    }

    pub fn from_word(word: u64) -> Option<Mode> {
        Some(match word {
            0 => Mode::BySign,
            1 => Mode::Held,
            2 => Mode::Slips(1.0),
            3 => Mode::Slips(-1.0),
            4 => Mode::Free,
            _ => return None,
        })
    }
}

/// Which limit a held freedom rests against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Touch {
    #[default]
    None,
    Lower,
    Upper,
    /// Both limits, which coincide.
    Both,
}

impl Touch {
    pub fn to_word(self) -> u64 {
        self as u64
    }

    pub fn from_word(word: u64) -> Option<Touch> {
        [Touch::None, Touch::Lower, Touch::Upper, Touch::Both]
            .into_iter()
            .find(|touch| touch.to_word() == word)
    }

    /// The box (6) of an effort with friction up to f.
    pub fn bounds(self, f: f64) -> (f64, f64) {
        let low = match self {
            Touch::Upper | Touch::Both => f64::NEG_INFINITY,
            _ => -f,
        };
        let high = match self {
            Touch::Lower | Touch::Both => f64::INFINITY,
            _ => f,
        };
        (low, high)
    }
}

/// Condition of a freedom, for the list of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Moves,
    /// Held by dry friction.
    Held,
    /// Against a limit.
    Rests(Touch),
}

/// An effort within this fraction of the level counts as the level.
const AT_LEVEL: f64 = 1e-9;

/// To find which freedoms yield in a mechanism whose holding efforts are not unique, levels are lowered by this fraction; freedoms that then
/// accelerate by more than the next fraction of what the friction could cause yield.
const LOWERED: f64 = 1e-7;
const MOVES: f64 = 1e-9;

/// Largest load factor (4) that is resolved.
const MOST_FACTOR: f64 = 1e3;

/// The freedoms of a model that have dry friction or a rigid stop, with their modes.
#[derive(Clone, Debug)]
pub(crate) struct DryFriction {
    /// Their velocity coordinates.
    pub freedoms: Vec<usize>,
    /// f.
    pub levels: Vec<f64>,
    pub modes: Vec<Mode>,
    /// The limits that those held rest against.
    pub touches: Vec<Touch>,
    /// Effort of the friction and the stop on each of them.
    pub efforts: Vec<f64>,
    /// Are the holding efforts unique?
    pub unique: bool,
    /// A column of I⁻¹.
    column: Vec<f64>,
    /// A, row by row, and its Cholesky factor.
    matrix: Vec<f64>,
    factor: Vec<f64>,
    chosen: Vec<usize>,
    solution: Vec<f64>,
    /// Positions at which A was computed, while it is that of the chosen freedoms in a closed chain.
    made_at: Option<Vec<f64>>,
}

impl DryFriction {
    pub fn new(model: &Model, stops: &[Stop]) -> Self {
        let is_stopped = |k: usize| {
            let rigid = |stop: &Stop| matches!(stop.kind, StopKind::Rigid { .. });
            stops.iter().any(|stop| stop.freedom == k && rigid(stop))
        };
        let freedoms: Vec<usize> = (0..model.nv())
            .filter(|&k| model.dofs[k].friction > 0.0 || is_stopped(k))
            .collect();
        let m = freedoms.len();
        DryFriction {
            levels: freedoms.iter().map(|&k| model.dofs[k].friction).collect(),
            modes: vec![Mode::BySign; m],
            touches: vec![Touch::None; m],
            efforts: vec![0.0; m],
            unique: true,
            column: vec![0.0; model.nv()],
            matrix: vec![0.0; m * m],
            factor: vec![0.0; m * m],
            chosen: Vec::with_capacity(m),
            solution: vec![0.0; m],
            made_at: None,
            freedoms,
        }
    }

    /// Is any freedom held?
    pub fn holds(&self) -> bool {
        self.modes.contains(&Mode::Held)
    }

    pub fn standing(&self, j: usize) -> Standing {
        match (self.modes[j], self.touches[j]) {
            (Mode::Held, Touch::None) => Standing::Held,
            (Mode::Held, touch) => Standing::Rests(touch),
            _ => Standing::Moves,
        }
    }

    /// Lets a freedom move in this direction.
    pub fn let_go(&mut self, j: usize, direction: f64) {
        self.touches[j] = Touch::None;
        self.modes[j] = match self.levels[j] > 0.0 {
            true => Mode::Slips(direction),
            false => Mode::Free,
        };
    }

    /// Distance of the effort from the boundary of its box, (2) and (6).
    pub fn spare(&self, j: usize) -> f64 {
        let (low, high) = self.touches[j].bounds(self.levels[j]);
        let spare = (self.efforts[j] - low).min(high - self.efforts[j]);
        match spare == f64::INFINITY {
            true => 1.0,
            false => spare,
        }
    }

    /// Splits an effort into the parts of friction and of the stop, the latter as small as possible.
    pub fn parts(&self, j: usize) -> [f64; 2] {
        let (effort, level) = (self.efforts[j], self.levels[j]);
        match self.touches[j] {
            Touch::None => [effort, 0.0],
            _ => {
                let friction = effort.clamp(-level, level);
                [friction, effort - friction]
            }
        }
    }

    /// Indices of the held ones among the freedoms with friction or a stop.
    pub fn held(&self) -> Vec<usize> {
        (0..self.modes.len())
            .filter(|&j| self.modes[j] == Mode::Held)
            .collect()
    }

    /// Efforts of the friction at these velocities, in the current modes: (1). Zero for those held.
    pub fn slip(&mut self, v: &[f64]) {
        for j in 0..self.freedoms.len() {
            let v = v[self.freedoms[j]];
            let sign = match self.modes[j] {
                Mode::Slips(s) => s,
                Mode::BySign if v != 0.0 => v.signum(),
                Mode::BySign | Mode::Held | Mode::Free => 0.0,
            };
            self.efforts[j] = -self.levels[j] * sign;
        }
    }

    /// Applies the holding efforts in a tree: `vdot` is without them on entry, and the inertia is factorized. (2)
    pub fn hold(&mut self, dynamics: &mut Dynamics, vdot: &mut [f64]) -> Result<()> {
        self.chosen = self.held();
        let m = self.chosen.len();
        self.responses(|x| dynamics.solve(x))?;
        for a in 0..m {
            self.solution[a] = -vdot[self.freedoms[self.chosen[a]]];
        }
        self.factor[..m * m].copy_from_slice(&self.matrix[..m * m]);
        cholesky_solve(&mut self.factor[..m * m], &mut self.solution[..m]);
        for a in 0..m {
            self.efforts[self.chosen[a]] = self.solution[a];
        }
        // v̇ ← v̇ + I⁻¹ E λ
        self.column.fill(0.0);
        for a in 0..m {
            self.column[self.freedoms[self.chosen[a]]] = self.solution[a];
        }
        dynamics.solve(&mut self.column)?;
        for (vdot, more) in vdot.iter_mut().zip(&self.column) {
            *vdot += more;
        }
        for a in 0..m {
            vdot[self.freedoms[self.chosen[a]]] = 0.0;
        }
        Ok(())
    }

    /// Computes A of the chosen freedoms; `respond` turns efforts into accelerations, in place.
    fn responses(&mut self, mut respond: impl FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        let m = self.chosen.len();
        self.made_at = None;
        for b in 0..m {
            self.column.fill(0.0);
            self.column[self.freedoms[self.chosen[b]]] = 1.0;
            respond(&mut self.column)?;
            for a in 0..m {
                self.matrix[a * m + b] = self.column[self.freedoms[self.chosen[a]]];
            }
        }
        Ok(())
    }

    /// Computes A in a closed chain, symmetric to the last digit. `alone` is the mobility of each freedom in the open tree: a freedom whose mobility
    /// is negligible in comparison cannot move.
    fn closed_responses(
        &mut self,
        respond: impl FnMut(&mut [f64]) -> Result<()>,
        alone: &[f64],
    ) -> Result<()> {
        self.responses(respond)?;
        let m = self.chosen.len();
        clean(&mut self.matrix[..m * m], alone);
        Ok(())
    }

    /// Chooses the modes of the freedoms in `resting`, those at a limit with their touch: (3), (6). `free` are the accelerations without
    /// friction and stops on them, `respond` turns efforts into accelerations; under constraints `alone` is the mobility of each
    /// freedom in `resting` in the open tree. `released` has just reached its level: it moves, even if round-off puts it a little
    /// below.
    pub fn choose(
        &mut self,
        resting: &[usize],
        released: Option<usize>,
        free: &[f64],
        respond: impl FnMut(&mut [f64]) -> Result<()>,
        alone: Option<&[f64]>,
    ) -> Result<()> {
        self.chosen = resting.to_vec();
        match alone {
            Some(alone) => self.closed_responses(respond, alone)?,
            None => self.responses(respond)?,
        }
        let m = resting.len();
        let matrix = &self.matrix[..m * m];
        let largest = free.iter().fold(0.0f64, |m, a| m.max(a.abs()));
        let a: Vec<f64> = (0..m)
            .map(|i| {
                let a = free[self.freedoms[resting[i]]];
                // immobile freedoms must not accelerate by round-off
                match matrix[i * m + i] == 0.0 && a.abs() <= DEPENDENT * largest {
                    true => 0.0,
                    false => a,
                }
            })
            .collect();
        let boxes = self.boxes(resting);
        let is_definite = alone.is_none() || independent(matrix, m) == m;
        let mut found = match is_definite {
            true => problem(matrix, &a, &boxes, 1.0, |p| p.solve_definite())?,
            false => least_in_levels(matrix, &a, &boxes, 1.0)?,
        };
        // distances of the efforts from the boundaries of their boxes
        let ends = |i: usize, x: f64| {
            let (f, touch) = boxes[i];
            let (low, high) = touch.bounds(f);
            [x - low, high - x]
        };
        let mut gives_way: Vec<bool> = (0..m)
            .map(|i| {
                let is_released = released == Some(resting[i]);
                let slack = match is_released {
                    true => AT_LEVEL * boxes[i].0,
                    false => 0.0,
                };
                // the effort of a stop without friction has just become zero: there is no level to compare with
                let is_bare = boxes[i].0 == 0.0;
                (is_released && is_bare) || ends(i, found.x[i]).iter().any(|end| *end <= slack)
            })
            .collect();
        if !is_definite {
            let lowered = least_in_levels(matrix, &a, &boxes, 1.0 - LOWERED)?;
            for i in 0..m {
                let f = boxes[i].0;
                if f == 0.0 {
                    continue;
                }
                let row = &matrix[i * m..(i + 1) * m];
                let levels = row.iter().zip(&boxes);
                let reach: f64 = levels.map(|(a, (f, _))| (a * f).abs()).sum();
                let is_at_end = |end: &f64| *end <= 2.0 * LOWERED * f;
                gives_way[i] = ends(i, found.x[i]).iter().any(is_at_end)
                    && lowered.gradient[i].abs() > MOVES * reach.max(a[i].abs());
            }
            let bare: Vec<usize> = (0..m)
                .filter(|&i| boxes[i].0 == 0.0 && !gives_way[i])
                .collect();
            for i in idle(matrix, &mut found.x, bare) {
                gives_way[i] = true;
            }
        }
        for (i, &j) in resting.iter().enumerate() {
            let lambda = found.x[i];
            self.efforts[j] = lambda;
            self.modes[j] = Mode::Held;
            if gives_way[i] {
                // at the boundary of its box, the effort opposes the motion
                let [low, high] = ends(i, lambda);
                self.let_go(j, if low <= high { 1.0 } else { -1.0 });
            }
        }
        self.unique = alone.is_none() || self.held_are_independent();
        Ok(())
    }

    fn boxes(&self, of: &[usize]) -> Vec<Side> {
        of.iter()
            .map(|&j| (self.levels[j], self.touches[j]))
            .collect()
    }

    /// Determines whether the holding efforts are unique; A is that of the chosen ones.
    pub fn count_ways(&mut self) {
        self.unique = self.held_are_independent();
    }

    /// Are the holding efforts unique? A is that of the chosen ones.
    fn held_are_independent(&self) -> bool {
        let m = self.chosen.len();
        let held: Vec<usize> = (0..m)
            .filter(|&i| self.modes[self.chosen[i]] == Mode::Held)
            .collect();
        let n = held.len();
        let mut block = vec![0.0; n * n];
        for (i, &a) in held.iter().enumerate() {
            for (j, &b) in held.iter().enumerate() {
                block[i * n + j] = self.matrix[a * m + b];
            }
        }
        independent(&block, n) == n
    }

    /// Is A that of those held at positions q?
    pub fn is_prepared(&self, q: &[f64]) -> bool {
        self.made_at.as_deref() == Some(q) && self.chosen == self.held()
    }

    /// Prepares the computation of efforts that are not unique: A of those held at positions q.
    pub fn prepare(
        &mut self,
        held: Vec<usize>,
        q: &[f64],
        respond: impl FnMut(&mut [f64]) -> Result<()>,
        alone: &[f64],
    ) -> Result<()> {
        self.chosen = held;
        self.closed_responses(respond, alone)?;
        self.made_at = Some(q.to_vec());
        Ok(())
    }

    /// (4) of those held, [prepared](Self::prepare); their efforts are one solution that holds.
    pub fn load_factor(&self) -> Result<f64> {
        let m = self.chosen.len();
        let lambda: Vec<f64> = self.chosen.iter().map(|&j| self.efforts[j]).collect();
        load_factor(&self.matrix[..m * m], &lambda, &self.boxes(&self.chosen))
    }

    /// Shares the holding efforts among the held freedoms, within the levels if possible: of all the efforts that hold, the
    /// smallest in the metric of the diagonal of A.
    pub fn share(&mut self) -> Result<()> {
        let m = self.chosen.len();
        let matrix = &self.matrix[..m * m];
        let lambda: Vec<f64> = self.chosen.iter().map(|&j| self.efforts[j]).collect();
        let a: Vec<f64> = (0..m).map(|i| -dot(matrix, &lambda, i)).collect();
        let found = least_in_levels(matrix, &a, &self.boxes(&self.chosen), 1.0)?;
        for (&j, x) in self.chosen.iter().zip(found.x) {
            self.efforts[j] = x;
        }
        Ok(())
    }
}

/// Level of friction and touch of a held freedom, which give its box (6).
type Side = (f64, Touch);

/// Of the stops in `bare`, whose efforts hold the same motions, those that can be idle: the efforts of the others are unique and
/// equivalent (Carathéodory).
fn idle(matrix: &[f64], x: &mut [f64], mut bare: Vec<usize>) -> Vec<usize> {
    let m = x.len();
    let mut idle = Vec::new();
    loop {
        let n = bare.len();
        let entry = |k: usize| matrix[bare[k / n] * m + bare[k % n]];
        let block: Vec<f64> = (0..n * n).map(entry).collect();
        // A z = 0: along z the efforts change and their effect does not
        let Some(z) = dependency(&block, n) else {
            return idle;
        };
        // the first effort that vanishes, forward or backward
        let ratio = |i: usize| x[bare[i]] / z[i];
        let moving = (0..n).filter(|&i| z[i] != 0.0);
        let Some(first) = moving.min_by(|&i, &j| ratio(i).abs().total_cmp(&ratio(j).abs())) else {
            return idle;
        };
        let step = ratio(first);
        for i in 0..n {
            x[bare[i]] -= step * z[i];
        }
        x[bare[first]] = 0.0;
        idle.push(bare.remove(first));
    }
}

/// Row i of A times x.
fn dot(matrix: &[f64], x: &[f64], i: usize) -> f64 {
    let n = x.len();
    matrix[i * n..(i + 1) * n]
        .iter()
        .zip(x)
        .map(|(a, x)| a * x)
        .sum()
}

/// The λ of (3) for this fraction of the levels.
fn least_in_levels(matrix: &[f64], a: &[f64], boxes: &[Side], fraction: f64) -> Result<BoxMinimum> {
    problem(matrix, a, boxes, fraction, |p| p.solve())
}

fn problem(
    matrix: &[f64],
    a: &[f64],
    boxes: &[Side],
    fraction: f64,
    solve: impl Fn(&BoxProblem<'_>) -> Option<BoxMinimum>,
) -> Result<BoxMinimum> {
    let bounds = boxes.iter().map(|(f, touch)| touch.bounds(fraction * f));
    let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.unzip();
    let problem = BoxProblem {
        matrix,
        linear: a,
        lower: &lower,
        upper: &upper,
    };
    solve(&problem).ok_or_else(|| {
        Error::new(
            ErrorKind::Integration,
            "the efforts of dry friction and stops cannot be found to round-off",
        )
        .hint("inertias or friction levels may be too far apart for double precision, or a driver pushes a joint against its stop")
    })
}

/// (4).
fn load_factor(matrix: &[f64], lambda: &[f64], boxes: &[Side]) -> Result<f64> {
    let n = lambda.len();
    let a: Vec<f64> = (0..n).map(|i| -dot(matrix, lambda, i)).collect();
    let mut t = 0.0;
    let mut x = vec![0.0; n];
    // at most as many steps as there are directions
    for _ in 0..2 * n + 10 {
        let mut power = 0.0;
        let mut resisted = 0.0;
        for i in 0..n {
            let row = &matrix[i * n..(i + 1) * n];
            let g = a[i] + dot(matrix, &x, i);
            let terms: f64 = row.iter().zip(&x).map(|(a, x)| (a * x).abs()).sum();
            if g.abs() > 1e-10 * (a[i].abs() + terms) {
                power += g * (x[i] - lambda[i]);
                resisted += boxes[i].0 * g.abs();
            }
        }
        let more = power / resisted;
        // stops would have to pull, and no friction helps
        if power > 0.0 && (resisted == 0.0 || t + more > MOST_FACTOR) {
            return Ok(MOST_FACTOR);
        }
        // nothing yields beyond round-off
        if resisted == 0.0 || more.is_nan() || more <= 1e-14 * t {
            break;
        }
        t += more; // (5)
        x = least_in_levels(matrix, &a, boxes, t)?.x;
    }
    Ok(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn untouched(f: &[f64]) -> Vec<Side> {
        f.iter().map(|f| (*f, Touch::None)).collect()
    }

    /// A mechanism of one freedom, held at several joints that turn c times as fast: Σ c λ holds the load, at most t Σ |c| f.
    #[test]
    fn load_factor_of_one_freedom() {
        let mut random = Random::new(3);
        for trial in 0..500 {
            let n = 2 + trial % 7;
            let c: Vec<f64> = (0..n).map(|_| random.uniform(-2.0, 2.0)).collect();
            let f: Vec<f64> = (0..n).map(|_| random.uniform(0.01, 1.0)).collect();
            let lambda: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
            let matrix: Vec<f64> = (0..n * n).map(|k| c[k / n] * c[k % n]).collect();
            let load: f64 = c.iter().zip(&lambda).map(|(c, x)| c * x).sum();
            let most: f64 = c.iter().zip(&f).map(|(c, f)| c.abs() * f).sum();
            let t = load_factor(&matrix, &lambda, &untouched(&f)).unwrap();
            let exact = load.abs() / most;
            assert!(
                (t - exact).abs() < 1e-12 * (1.0 + exact),
                "{trial}: {t} {exact}"
            );
        }
    }

    /// Of several freedoms: efforts within t f have the same effect as λ, and efforts within slightly less do not.
    #[test]
    fn load_factor_of_several_freedoms() {
        let mut random = Random::new(4);
        for trial in 0..500 {
            let n = 2 + trial % 9;
            let rank = 1 + random.below(n);
            let b: Vec<f64> = (0..n * rank).map(|_| random.uniform(-1.0, 1.0)).collect();
            let matrix: Vec<f64> = (0..n * n)
                .map(|k| {
                    (0..rank)
                        .map(|r| b[(k / n) * rank + r] * b[(k % n) * rank + r])
                        .sum()
                })
                .collect();
            let f: Vec<f64> = (0..n).map(|_| random.uniform(0.01, 1.0)).collect();
            let lambda: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
            let a: Vec<f64> = (0..n).map(|i| -dot(&matrix, &lambda, i)).collect();
            let size = a.iter().fold(0.0f64, |m, a| m.max(a.abs()));
            let boxes = untouched(&f);
            let t = load_factor(&matrix, &lambda, &boxes).unwrap();
            let left = |t: f64| {
                let found = least_in_levels(&matrix, &a, &boxes, t).unwrap();
                found.gradient.iter().fold(0.0f64, |m, g| m.max(g.abs())) / size
            };
            assert!(left(t * (1.0 + 1e-9)) < 1e-8, "{trial}: {t} {:e}", left(t));
            assert!(left(t * (1.0 - 1e-3)) > 1e-8, "{trial}: {t}");
            if rank == n {
                let ratios = lambda.iter().zip(&f).map(|(x, f)| x.abs() / f);
                let exact = ratios.fold(0.0f64, f64::max);
                // to the accuracy with which A can be inverted
                assert!((t - exact).abs() < 1e-5 * exact, "{trial}: {t} {exact}");
            }
        }
    }
}
