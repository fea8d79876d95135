//! The Lagrangian matrix, sparse and symmetric (eqs. 10, 49, 63).
//!
//! ```text
//! [ J + δ E   −H  ] [ x ]   [  u ]
//! [ −Hᵀ      −ε E ] [ λ ] = [ −b ]          P K Pᵀ = L D Lᵀ,  the order of elimination found once per model
//! ```
//!
//! ε (and δ, where some body has no inertia about an axis) makes the matrix quasi-definite: it has factors in any order of
//! elimination, of known signs. Corrections with the residuals of the true equations (ε = δ = 0) remove it again, whether or not
//! rows are dependent: the error along a singular value σ of J^(−1/2) H shrinks by ε/(ε + σ²) each time, and λ never leaves
//! the span of the rows, so that it converges to the minimum-norm solution.

use crate::appendix::{Damped, MOST_CORRECTIONS, damped, handed_over};
use crate::dense::{Solved, Unknowns, refine_damped};
use crate::equations::Equations;
use crate::linear::SparseFactors;
use catena::error::Result;
use catena::spatial::Mat3;

/// The sparsity pattern of the matrix, its order of elimination and workspace for its factors.
pub(crate) struct Lagrangian {
    size: usize,
    /// Row and column of every entry on and above the diagonal.
    places: Vec<(usize, usize)>,
    /// Destination of each entry, in the order in which [`entries`] gives them.
    slot: Vec<usize>,
    values: Vec<f64>,
    factors: SparseFactors,
    signs: Vec<i8>,
}

/// δ relative to the inertia of a body.
const SHIFT: f64 = 1e-4;

/// Every entry on and above the diagonal: (row, column, value), in an order that depends on the structure only.
fn entries(
    equations: &Equations,
    delta: &[[f64; 2]],
    epsilon: f64,
    mut push: impl FnMut(usize, usize, f64),
) {
    let size = equations.unknowns();
    for body in 1..equations.inertia.len() {
        let at = 6 * (body - 1);
        let (mass, tensor) = equations.inertia[body];
        let rows = tensor.rows();
        for i in 0..3 {
            for j in i..3 {
                let shift = if i == j { delta[body][0] } else { 0.0 };
                push(at + i, at + j, rows[i][j] + shift);
            }
        }
        for k in 3..6 {
            push(at + k, at + k, mass + delta[body][1]);
        }
    }
    for (rotor, row) in &equations.freedoms {
        if *rotor == 0.0 {
            continue;
        }
        for (a, left) in &row.entries {
            for (b, right) in &row.entries {
                for i in 0..6 {
                    for j in 0..6 {
                        let (p, q) = (6 * (a - 1) + i, 6 * (b - 1) + j);
                        if p <= q {
                            push(p, q, rotor * left[i] * right[j]);
                        }
                    }
                }
            }
        }
    }
    for (k, row) in equations.rows.iter().enumerate() {
        for (body, h) in &row.entries {
            for (i, h) in h.iter().enumerate() {
                push(6 * (body - 1) + i, size + k, -h);
            }
        }
        push(size + k, size + k, -epsilon);
    }
}

/// δ of every body, for its rotations and for its mass: a small fraction of its own inertia where that vanishes in some direction, as for a
/// rod about its axis. Corrections remove its effect: the error shrinks by about √(δ ε)/h each time.
fn shifts(equations: &Equations) -> Vec<[f64; 2]> {
    let own = |tensor: &Mat3<f64>| (tensor.x.x + tensor.y.y + tensor.z.z) / 3.0;
    let mut largest = [0.0f64; 2];
    for (mass, tensor) in &equations.inertia {
        largest = [largest[0].max(own(tensor)), largest[1].max(*mass)];
    }
    let mut shifts = vec![[0.0; 2]; equations.inertia.len()];
    for (shift, (mass, tensor)) in shifts.iter_mut().zip(&equations.inertia).skip(1) {
        let mean = own(tensor);
        let volume = tensor.x.dot(tensor.y.cross(tensor.z));
        if volume <= 1e-6 * mean * mean * mean {
            // for point masses: the inertia of other bodies, or the mass at a distance of one metre
            let others = if largest[0] > 0.0 {
                largest[0]
            } else {
                largest[1]
            };
            shift[0] = SHIFT * mean.max(1e-3 * others);
        }
        if *mass <= 1e-6 * largest[1] {
            shift[1] = SHIFT * 1e-3 * largest[1];
        }
    }
    shifts
}

impl Lagrangian {
    /// Finds the order of elimination for matrices of this structure.
    pub fn new(equations: &Equations) -> Self {
        let mut given: Vec<(usize, usize)> = Vec::new();
        let none = vec![[0.0; 2]; equations.inertia.len()];
        entries(equations, &none, 0.0, |row, column, _| {
            given.push((row, column));
        });
        let mut places = given.clone();
        places.sort_unstable();
        places.dedup();
        let size = equations.unknowns() + equations.rows.len();
        let slot = given
            .iter()
            .map(|place| places.partition_point(|other| other < place))
            .collect();
        let signs = (0..size)
            .map(|k| if k < equations.unknowns() { 1 } else { -1 })
            .collect();
        Lagrangian {
            size,
            values: vec![0.0; places.len()],
            factors: SparseFactors::new(size, &places),
            places,
            slot,
            signs,
        }
    }

    /// Factorizes and solves; equations of another structure are not accepted.
    pub fn solve(&mut self, equations: &Equations) -> Result<Solved> {
        let delta = shifts(equations);
        let tried = damped(equations, |epsilon| {
            Ok(self.attempt(equations, &delta, epsilon))
        })?;
        let Damped {
            unknowns,
            condition,
            damping,
        } = match tried {
            Ok(tried) => tried,
            Err(residual) => return handed_over(equations, residual),
        };
        Ok(Solved {
            assumptions: vec![format!(
                "λ damped by ε = {damping:.1e}, the damping removed by corrections"
            )],
            unknowns,
            rank: None,
            condition,
            handed_over: false,
        })
    }

    /// Factorizes with this damping, and corrects.
    fn attempt(
        &mut self,
        equations: &Equations,
        delta: &[[f64; 2]],
        epsilon: f64,
    ) -> (Unknowns, f64) {
        self.values.fill(0.0);
        let (values, slot) = (&mut self.values, &self.slot);
        let mut next = 0;
        entries(equations, delta, epsilon, |_, _, value| {
            values[slot[next]] += value;
            next += 1;
        });
        // a pivot with the wrong sign is round-off: ε replaces it
        self.factors
            .factorize(&self.values, &self.signs, 1e-6 * epsilon, epsilon);
        let unknown = equations.unknowns();
        let mut both = vec![0.0; self.size];
        let unknowns = refine_damped(equations, MOST_CORRECTIONS, epsilon, |u, right| {
            both[..unknown].copy_from_slice(u);
            for (to, b) in both[unknown..].iter_mut().zip(right) {
                *to = -b;
            }
            self.factors.solve(&mut both);
            (both[..unknown].to_vec(), both[unknown..].to_vec())
        });
        let condition = self.condition();
        (unknowns, condition)
    }

    /// Hager's estimate of ‖K‖₁ ‖K⁻¹‖₁ of the damped matrix.
    fn condition(&self) -> f64 {
        let size = self.size;
        if size == 0 {
            return 1.0;
        }
        let mut sums = vec![0.0f64; size];
        for (&(row, column), value) in self.places.iter().zip(&self.values) {
            sums[column] += value.abs();
            if row != column {
                sums[row] += value.abs();
            }
        }
        let norm = sums.iter().fold(0.0f64, |m, x| m.max(*x));
        let mut x = vec![1.0 / size as f64; size];
        let mut estimate = 0.0f64;
        let mut last = usize::MAX;
        for _ in 0..5 {
            self.factors.solve(&mut x);
            let length: f64 = x.iter().map(|x| x.abs()).sum();
            estimate = estimate.max(length);
            for x in &mut x {
                *x = if *x < 0.0 { -1.0 } else { 1.0 };
            }
            self.factors.solve(&mut x);
            let mut at = 0;
            for k in 0..size {
                if x[k].abs() > x[at].abs() {
                    at = k;
                }
            }
            if at == last {
                break;
            }
            last = at;
            x.fill(0.0);
            x[at] = 1.0;
        }
        norm * estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::spatial::Vec3;

    /// A rod, a point mass and a body without mass get δ where they lack inertia, a solid body gets none; all in proportion to the unit of mass.
    #[test]
    fn only_what_is_singular_is_shifted_and_units_do_not_matter() {
        let body = |mass: f64, [x, y, z]: [f64; 3]| {
            let tensor = Mat3 {
                x: Vec3::new(x, 0.0, 0.0),
                y: Vec3::new(0.0, y, 0.0),
                z: Vec3::new(0.0, 0.0, z),
            };
            (mass, tensor)
        };
        let of = |unit: f64| {
            let bodies = [
                (0.0, [0.0; 3]),
                (2.0, [0.3, 0.4, 0.5]),
                (2.0, [0.0, 0.4, 0.4]),
                (2.0, [0.0; 3]),
                (0.0, [0.3, 0.4, 0.5]),
            ];
            shifts(&Equations {
                inertia: bodies
                    .map(|(mass, moments)| body(unit * mass, moments.map(|x| unit * x)))
                    .to_vec(),
                ..Equations::default()
            })
        };
        let one = of(1.0);
        let shifted: Vec<[bool; 2]> = one.iter().map(|own| own.map(|x| x > 0.0)).collect();
        let [solid, turning, moving] = [[false, false], [true, false], [false, true]];
        assert_eq!(shifted, [solid, solid, turning, turning, moving]);
        // far below the inertia of the bodies
        assert!(one.iter().flatten().all(|x| *x < 1e-3), "{one:?}");
        for power in [-15, 15] {
            let unit = 4f64.powi(power);
            let scaled: Vec<[f64; 2]> = one.iter().map(|own| own.map(|x| unit * x)).collect();
            assert_eq!(of(unit), scaled);
        }
    }

    /// ‖K‖₁ ‖K⁻¹‖₁ of small matrices by hand.
    #[test]
    fn conditions_of_small_matrices() {
        let of = |size: usize, places: &[(usize, usize)], values: &[f64], signs: &[i8]| {
            let mut factors = SparseFactors::new(size, places);
            factors.factorize(values, signs, 1e-12, 1.0);
            Lagrangian {
                size,
                places: places.to_vec(),
                slot: Vec::new(),
                values: values.to_vec(),
                factors,
                signs: signs.to_vec(),
            }
            .condition()
        };
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-14;
        assert_eq!(of(0, &[], &[], &[]), 1.0);
        let diagonal = [(0, 0), (1, 1), (2, 2)];
        assert!(near(of(3, &diagonal, &[4.0, 0.5, 8.0], &[1; 3]), 16.0));
        assert!(near(
            of(3, &diagonal, &[0.25, 4.0, -2.0], &[1, 1, -1]),
            16.0
        ));
        let full = [(0, 0), (0, 1), (1, 1)];
        // the inverse of [2 1; 1 4] is [4 −1; −1 2]/7, that of [3 −1; −1 −2] is [2 −1; −1 −3]/7, of which the estimate finds the first column
        assert!(near(of(2, &full, &[2.0, 1.0, 4.0], &[1; 2]), 25.0 / 7.0));
        assert!(near(of(2, &full, &[3.0, -1.0, -2.0], &[1, -1]), 12.0 / 7.0));
        // all columns of the inverse but one have a sum of zero: the largest entry selects the next column; the inverse of [1 1; 1 −1] is half of it
        assert!(near(of(2, &full, &[1.0, 1.0, -1.0], &[1, -1]), 2.0));
    }

    /// Entries on and above the diagonal make the matrix of J, H and ε, also with rotors and in loops.
    #[test]
    fn entries_are_those_of_the_dense_matrices() {
        use catena::State;
        use catena::model::embedded;
        let mut seen = 0;
        for (name, armature) in [("four-bar-1", 0.3), ("stewart", 0.0), ("chain-3", 0.2)] {
            let mut builder = embedded::builder(name).expect("embedded");
            for joint in &mut builder.joints {
                joint.dofs = vec![
                    catena::model::Dof {
                        armature,
                        ..Default::default()
                    };
                    joint.kind.nv()
                ];
            }
            let model = builder.build().expect("sound");
            let state = State::start(&model);
            let mut mechanism = crate::Mechanism::new(&model);
            mechanism.stabilise(catena::algorithm::constrained::Stabilisation::critical(1.0));
            let still = vec![0.0; model.nv()];
            let equations = mechanism
                .equations(0.0, &state, &still, &[])
                .expect("finite");
            let (j, h) = (
                crate::dense::inertia(equations),
                crate::dense::hinges(equations),
            );
            let (size, rows) = (h.nrows(), h.ncols());
            let delta: Vec<[f64; 2]> = (0..=model.body_count())
                .map(|k| [0.25 * k as f64, 0.5 * k as f64])
                .collect();
            let mut found = crate::linear::Mat::zeros(size + rows, size + rows);
            entries(equations, &delta, 0.125, |row, column, value| {
                assert!(row <= column);
                found[(row, column)] += value;
            });
            for row in 0..size + rows {
                for column in row..size + rows {
                    let wanted = match (row < size, column < size) {
                        (true, true) if row == column => {
                            j[(row, row)] + delta[row / 6 + 1][usize::from(row % 6 >= 3)]
                        }
                        (true, true) => j[(row, column)],
                        (true, false) => -h[(row, column - size)],
                        _ => -0.125 * f64::from(u8::from(row == column)),
                    };
                    let apart = (found[(row, column)] - wanted).abs();
                    assert!(
                        apart < 1e-12 * wanted.abs().max(1.0),
                        "{name}: {row} {column}"
                    );
                    seen += usize::from(wanted != 0.0);
                }
            }
        }
        assert!(seen > 300, "{seen}");
    }

    /// Point masses only: a thousandth of the mass at a metre takes the place of the inertia they lack.
    #[test]
    fn shifts_of_point_masses() {
        let point = |mass: f64| (mass, Mat3::zero());
        let found = shifts(&Equations {
            inertia: vec![point(0.0), point(2.0), point(5.0)],
            ..Equations::default()
        });
        let wanted = SHIFT * (1e-3 * 5.0);
        assert_eq!(found, [[0.0; 2], [wanted, 0.0], [wanted, 0.0]]);
    }
}
