//! Dry friction that slips or holds.
//!
//! A freedom with the friction level f slips in a direction s = ±1 or is held:
//!
//! ```text
//! slips   effort −f s on the freedom, as long as s v > 0                                              (1)
//! held    v = 0, v̇ = 0; the effort λ that this needs, as long as |λ| ≤ f                               (2)
//! ```
//!
//! Within a mode the equations are smooth, also a little beyond its end, so that the end, v = 0 in (1) and |λ| = f in (2), is
//! located as any event is. There the freedoms at rest choose their modes anew. With A = Eᵀ I⁻¹ E and a the accelerations
//! without friction on those freedoms, λ is the effort for which
//!
//! ```text
//! w = A λ + a,    |λ| < f and w = 0,   or λ = −f and w ≥ 0,   or λ = f and w ≤ 0                       (3)
//! ```
//!
//! which is the condition for the least of ½ λᵀA λ + aᵀλ over the box |λ| ≤ f: A is positive definite, so that there is
//! exactly one λ, whatever is coupled with what. It is found by exchanging all freedoms that break (3) at once, and one at a time,
//! the last first, should that ever not come to an end (Júdice & Pires 1994).

use crate::Dynamics;
use crate::error::Result;
use crate::model::Model;

/// What a freedom with dry friction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Nobody follows the modes: the sign of the velocity decides.
    BySign,
    /// It slips in this direction, 1 or −1.
    Slips(f64),
    /// It is held.
    Held,
}

impl Mode {
    pub fn to_word(self) -> u64 {
        match self {
            Mode::BySign => 0,
            Mode::Held => 1,
            Mode::Slips(s) if s > 0.0 => 2,
            Mode::Slips(_) => 3,
        }
    }

    pub fn from_word(word: u64) -> Option<Mode> {
        Some(match word {
            0 => Mode::BySign,
            1 => Mode::Held,
            2 => Mode::Slips(1.0),
            3 => Mode::Slips(-1.0),
            _ => return None,
        })
    }
}

/// The freedoms of a model that have dry friction, with their modes.
#[derive(Clone, Debug)]
pub(crate) struct DryFriction {
    /// Their velocity coordinates.
    pub freedoms: Vec<usize>,
    /// f.
    pub levels: Vec<f64>,
    pub modes: Vec<Mode>,
    /// Effort of the friction on each of them.
    pub efforts: Vec<f64>,
    /// A column of I⁻¹.
    column: Vec<f64>,
    /// A, row by row, and its Cholesky factor.
    matrix: Vec<f64>,
    factor: Vec<f64>,
    chosen: Vec<usize>,
    solution: Vec<f64>,
}

impl DryFriction {
    pub fn new(model: &Model) -> Self {
        let freedoms: Vec<usize> = (0..model.nv())
            .filter(|&k| model.dofs[k].friction > 0.0)
            .collect();
        let m = freedoms.len();
        DryFriction {
            levels: freedoms.iter().map(|&k| model.dofs[k].friction).collect(),
            modes: vec![Mode::BySign; m],
            efforts: vec![0.0; m],
            column: vec![0.0; model.nv()],
            matrix: vec![0.0; m * m],
            factor: vec![0.0; m * m],
            chosen: Vec::with_capacity(m),
            solution: vec![0.0; m],
            freedoms,
        }
    }

    /// Is any freedom held?
    pub fn holds(&self) -> bool {
        self.modes.contains(&Mode::Held)
    }

    /// Efforts of the friction at these velocities, in the modes there are: (1). Zero for those held.
    pub fn slip(&mut self, v: &[f64]) {
        for j in 0..self.freedoms.len() {
            let v = v[self.freedoms[j]];
            let sign = match self.modes[j] {
                Mode::Slips(s) => s,
                Mode::BySign if v != 0.0 => v.signum(),
                Mode::BySign | Mode::Held => 0.0,
            };
            self.efforts[j] = -self.levels[j] * sign;
        }
    }

    /// Holds what is held: v̇ comes in without the holding efforts, the inertia is factorized. (2)
    pub fn hold(&mut self, dynamics: &mut Dynamics, vdot: &mut [f64]) -> Result<()> {
        self.chosen.clear();
        for j in 0..self.modes.len() {
            if self.modes[j] == Mode::Held {
                self.chosen.push(j);
            }
        }
        let m = self.chosen.len();
        self.responses(dynamics)?;
        for a in 0..m {
            self.solution[a] = -vdot[self.freedoms[self.chosen[a]]];
        }
        self.factorize_and_solve(m);
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

    /// A of the chosen freedoms.
    fn responses(&mut self, dynamics: &mut Dynamics) -> Result<()> {
        let m = self.chosen.len();
        for b in 0..m {
            self.column.fill(0.0);
            self.column[self.freedoms[self.chosen[b]]] = 1.0;
            dynamics.solve(&mut self.column)?;
            for a in 0..m {
                self.matrix[a * m + b] = self.column[self.freedoms[self.chosen[a]]];
            }
        }
        Ok(())
    }

    /// A x = b for the whole matrix: b in `solution`, x out.
    fn factorize_and_solve(&mut self, m: usize) {
        self.factor[..m * m].copy_from_slice(&self.matrix[..m * m]);
        cholesky_solve(&mut self.factor[..m * m], &mut self.solution[..m]);
    }

    /// Chooses the modes of the freedoms in `resting`: (3). `free` are the accelerations without friction on them, and the
    /// inertia is factorized.
    pub fn choose(
        &mut self,
        dynamics: &mut Dynamics,
        resting: &[usize],
        free: &[f64],
    ) -> Result<()> {
        self.chosen.clear();
        self.chosen.extend_from_slice(resting);
        self.responses(dynamics)?;
        let m = resting.len();
        let a: Vec<f64> = resting.iter().map(|&j| free[self.freedoms[j]]).collect();
        let f: Vec<f64> = resting.iter().map(|&j| self.levels[j]).collect();
        let lambda = least_in_a_box(&self.matrix[..m * m], &a, &f);
        for (&j, (&lambda, &f)) in resting.iter().zip(lambda.iter().zip(&f)) {
            self.efforts[j] = lambda;
            self.modes[j] = match lambda.abs() < f {
                true => Mode::Held,
                // at its level, friction pushes against the motion
                false => Mode::Slips(-lambda.signum()),
            };
        }
        Ok(())
    }
}

/// A x = b by Cholesky's factors, in place; A symmetric and positive definite, row by row.
fn cholesky_solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    for j in 0..n {
        for i in j..n {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = if i == j {
                sum.sqrt()
            } else {
                sum / a[j * n + j]
            };
        }
    }
    for i in 0..n {
        for k in 0..i {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Inside,
    Low,
    High,
}

/// The λ of (3).
fn least_in_a_box(matrix: &[f64], a: &[f64], f: &[f64]) -> Vec<f64> {
    let n = a.len();
    let mut places = vec![Place::Inside; n];
    let mut lambda = vec![0.0; n];
    // after this many exchanges at once, one at a time
    let patience = 10 + n;
    for round in 0..patience + 40 * n + 100 {
        for k in 0..n {
            lambda[k] = match places[k] {
                Place::Inside => 0.0,
                Place::Low => -f[k],
                Place::High => f[k],
            };
        }
        let inside: Vec<usize> = (0..n).filter(|&k| places[k] == Place::Inside).collect();
        let m = inside.len();
        let mut block = vec![0.0; m * m];
        let mut right = vec![0.0; m];
        for (i, &k) in inside.iter().enumerate() {
            right[i] = -a[k] - (0..n).map(|l| matrix[k * n + l] * lambda[l]).sum::<f64>();
            for (j, &l) in inside.iter().enumerate() {
                block[i * m + j] = matrix[k * n + l];
            }
        }
        cholesky_solve(&mut block, &mut right);
        for (&k, x) in inside.iter().zip(right) {
            lambda[k] = x;
        }
        let wanted = |k: usize| -> Place {
            let w = a[k] + (0..n).map(|l| matrix[k * n + l] * lambda[l]).sum::<f64>();
            match places[k] {
                Place::Inside if lambda[k] > f[k] => Place::High,
                Place::Inside if lambda[k] < -f[k] => Place::Low,
                Place::Low if w < 0.0 => Place::Inside,
                Place::High if w > 0.0 => Place::Inside,
                place => place,
            }
        };
        let next: Vec<Place> = (0..n).map(wanted).collect();
        let Some(last) = (0..n).rev().find(|&k| next[k] != places[k]) else {
            return lambda;
        };
        if round < patience {
            places = next;
        } else {
            places[last] = next[last];
        }
    }
    // only round-off goes round in circles: whatever is outside goes to the wall
    for (lambda, f) in lambda.iter_mut().zip(f) {
        *lambda = lambda.clamp(-f, *f);
    }
    lambda
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// (3) holds on random problems, ill-conditioned ones and such with strong coupling included.
    #[test]
    fn the_conditions_hold() {
        let mut random = Random::new(7);
        for trial in 0..2000 {
            let n = 1 + trial % 9;
            let b: Vec<f64> = (0..n * n).map(|_| random.uniform(-1.0, 1.0)).collect();
            let small = 10f64.powf(random.uniform(-6.0, 0.0));
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    matrix[i * n + j] = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum();
                }
                matrix[i * n + i] += small;
            }
            let a: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
            let f: Vec<f64> = (0..n).map(|_| random.uniform(0.01, 2.0)).collect();
            let lambda = least_in_a_box(&matrix, &a, &f);
            for k in 0..n {
                let w = a[k] + (0..n).map(|l| matrix[k * n + l] * lambda[l]).sum::<f64>();
                let noise = 1e-12 * (1.0 + lambda.iter().map(|x| x.abs()).sum::<f64>());
                assert!(lambda[k].abs() <= f[k]);
                if lambda[k] == f[k] {
                    assert!(w <= noise, "{trial}: {w}");
                } else if lambda[k] == -f[k] {
                    assert!(w >= -noise, "{trial}: {w}");
                } else {
                    assert!(w.abs() <= noise, "{trial}: {w}");
                }
            }
        }
    }
}
