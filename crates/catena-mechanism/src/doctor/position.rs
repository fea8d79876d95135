//! Closed positions, and the dependent rows of the constraints there.
//!
//! ```text
//! closing    (JᵀJ + μ E) δ = −Jᵀ ξ                         Levenberg's step; μ falls with |ξ|²
//! loops      Jₖ = Uₖ Sₖ Vₖᵀ: redundancy within a loop is the null space of Jₖᵀ
//! all        A = (Uₖᵀ Jₖ) of the remaining rows: A Aᵀ = L Lᵀ where it is well conditioned, Aᵀ P = Q R where it is not
//! ```
//!
//! Dependent rows are determined by Q R only: the product is used where its pivots show that all rows are independent.

use crate::dense::RANK_TOLERANCE;
use crate::linear::{Mat, Svd, solve_upper};
use catena::algorithm::constrained::{Axes, Block, Rows};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::elementary;
use catena::residual::largest;
use catena::skyline::Skyline;
use catena::{Model, State, StateView};

/// A loop counts as closed within this, m or rad.
const SHUT: f64 = 1e-10;

/// Singular values are compared with this, in m or rad, at least.
const LEAST: f64 = 1e-3;

/// The constraints of a model, evaluated on request.
pub(super) struct Loops<'a> {
    pub model: &'a Model,
    pub rows: Rows<f64>,
    pub kinematics: Kinematics<f64>,
    still: Vec<f64>,
}

/// Rows of the constraints at one position.
pub(super) struct Dependence {
    pub rank: usize,
    /// Smallest singular value of the independent rows, divided by the largest.
    pub smallest: f64,
    /// Orthonormal columns with Jᵀ · column = 0.
    pub null: Vec<Vec<f64>>,
}

impl<'a> Loops<'a> {
    pub fn new(model: &'a Model) -> Self {
        Loops {
            model,
            rows: Rows::new(model, Axes::Parent),
            kinematics: Kinematics::new(model),
            still: vec![0.0; model.nv()],
        }
    }

    /// ξ and J at a position.
    pub fn evaluate(&mut self, time: f64, state: &State) {
        forward_kinematics(
            self.model,
            StateView {
                q: &state.q,
                v: &self.still,
                base: &state.base,
            },
            &self.still,
            &mut self.kinematics,
        );
        let still = &self.still;
        self.rows
            .evaluate(self.model, time, &state.q, still, &self.kinematics);
    }

    /// Largest ξ of the last evaluation.
    pub fn open(&self) -> f64 {
        largest(&self.rows.residual)
    }

    fn size(&self) -> f64 {
        self.rows.residual.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// JᵀJ.
    fn normal(&self) -> Skyline {
        let mut first: Vec<usize> = (0..self.model.nv()).collect();
        for block in self.rows.blocks() {
            if let Some(&least) = block.columns.first() {
                for &column in &block.columns {
                    first[column] = first[column].min(least);
                }
            }
        }
        let mut normal = Skyline::new(first);
        for block in self.rows.blocks() {
            for k in 0..block.rows {
                let row = self.rows.row(block, k);
                for (i, &column) in block.columns.iter().enumerate() {
                    for (j, &other) in block.columns[..=i].iter().enumerate() {
                        normal.add(column, other, row[i] * row[j]);
                    }
                }
            }
        }
        normal
    }

    /// Closes the loops from a guess. False if it does not converge.
    pub fn close(&mut self, time: f64, state: &mut State) -> bool {
        self.evaluate(time, state);
        let (mut size, mut damping) = (self.size(), 1e-3);
        for _ in 0..60 {
            if self.open() < 1e-15 || !size.is_finite() {
                break;
            }
            let normal = self.normal();
            let largest = normal.largest().max(1e-24);
            let mut downhill = vec![0.0; self.model.nv()];
            let against: Vec<f64> = self.rows.residual.iter().map(|x| -x).collect();
            self.rows.add_transpose_times(&against, &mut downhill);
            let mut improved = false;
            for _ in 0..12 {
                let mut damped = normal.clone();
                damped.shift(largest * (damping * size * size).clamp(1e-13, 1e6));
                let mut delta = downhill.clone();
                if damped.factorize(0.0) {
                    damped.solve(&mut delta);
                    let mut tried = state.clone();
                    tried.step(self.model, &delta);
                    self.evaluate(time, &tried);
                    let next = self.size();
                    if next < size {
                        (*state, size, improved) = (tried, next, true);
                        damping = (damping * 0.2).max(1e-6);
                        break;
                    }
                }
                damping = (damping * 5.0).max(1e-9);
                // near convergence only round-off is left, and damping does not help
                if size < 1e-12 {
                    break;
                }
            }
            if !improved {
                self.evaluate(time, state);
                break;
            }
        }
        self.open() < SHUT
    }

    /// Removes from v the component that violates the constraints at the position of the last evaluation.
    pub fn make_tangent(&self, v: &mut [f64]) {
        let mut normal = self.normal();
        normal.shift(1e-12 * normal.largest().max(1e-24));
        if !normal.factorize(0.0) {
            return;
        }
        for _ in 0..2 {
            let mut rate = vec![0.0; self.rows.count()];
            self.rows.times(v, &mut rate);
            let mut wrong = vec![0.0; v.len()];
            self.rows.add_transpose_times(&rate, &mut wrong);
            normal.solve(&mut wrong);
            for (v, wrong) in v.iter_mut().zip(&wrong) {
                *v -= wrong;
            }
        }
    }

    /// Which rows depend on each other at the position of the last evaluation.
    pub fn dependence(&self) -> Dependence {
        self.find_dependence(true)
    }

    /// Rank and number of dependent rows alone: singular values of large matrices take most of the time.
    pub fn rank(&self) -> (usize, usize) {
        let found = self.find_dependence(false);
        (found.rank, found.null.len())
    }

    fn find_dependence(&self, with_smallest: bool) -> Dependence {
        let blocks = self.rows.blocks();
        let count = self.rows.count();
        let parts: Vec<Part> = blocks.iter().map(|b| Part::new(&self.rows, b)).collect();
        // where no row has an effect, round-off is all there is
        let scale = parts.iter().fold(LEAST, |m, part| m.max(part.largest()));
        let mut null = Vec::new();
        // rows of A: their constraint, their vector U there, and their entries
        let mut kept: Vec<(usize, usize)> = Vec::new();
        for (index, (part, block)) in parts.iter().zip(blocks).enumerate() {
            for k in 0..block.rows {
                if part.value(k) > RANK_TOLERANCE * scale {
                    kept.push((index, k));
                } else {
                    let mut column = vec![0.0; count];
                    for i in 0..block.rows {
                        column[block.first + i] = part.left[(i, k)];
                    }
                    null.push(column);
                }
            }
        }
        let entry = |at: (usize, usize)| (&blocks[at.0].columns[..], parts[at.0].across(at.1));
        let entries: Vec<_> = kept.iter().map(|&at| entry(at)).collect();
        if let Some(smallest) = independent(&entries, self.model.nv()) {
            return Dependence {
                rank: kept.len(),
                smallest,
                null,
            };
        }
        let (rank, smallest, dependent) = decomposed(&entries, self.model.nv(), with_smallest);
        for y in dependent {
            let mut column = vec![0.0; count];
            for (&(index, k), y) in kept.iter().zip(&y) {
                for i in 0..blocks[index].rows {
                    column[blocks[index].first + i] += y * parts[index].left[(i, k)];
                }
            }
            null.push(column);
        }
        Dependence {
            rank,
            smallest,
            null,
        }
    }
}

/// Singular value decomposition of the rows of one constraint.
struct Part {
    left: Mat,
    values: Vec<f64>,
    /// Uᵀ J, row by row.
    rows: Vec<Vec<f64>>,
}

impl Part {
    fn new(rows: &Rows<f64>, block: &Block) -> Self {
        let width = block.columns.len();
        let own = Mat::from_fn(block.rows, width, |i, j| rows.row(block, i)[j]);
        let (left, values) = match own.svd() {
            _ if width == 0 => (Mat::identity(block.rows), Vec::new()),
            Ok(Svd { u, values, .. }) => (u, values),
            Err(_) => (Mat::identity(block.rows), vec![f64::NAN; block.rows]),
        };
        let across = &left.transpose() * &own;
        let rows = (0..block.rows)
            .map(|k| (0..width).map(|j| across[(k, j)]).collect())
            .collect();
        Part { left, values, rows }
    }

    fn largest(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }

    fn value(&self, k: usize) -> f64 {
        self.values.get(k).copied().unwrap_or(0.0)
    }

    fn across(&self, k: usize) -> &[f64] {
        &self.rows[k]
    }
}

type SparseRow<'a> = (&'a [usize], &'a [f64]);

fn dot(a: SparseRow<'_>, b: SparseRow<'_>) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.0.len() && j < b.0.len() {
        match a.0[i].cmp(&b.0[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a.1[i] * b.1[j];
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

/// Ratio of the smallest to the largest singular value of A, if A Aᵀ shows clearly that all rows are independent.
fn independent(rows: &[SparseRow<'_>], width: usize) -> Option<f64> {
    if rows.is_empty() {
        return Some(1.0);
    }
    let mut seen = vec![usize::MAX; width];
    let mut first: Vec<usize> = (0..rows.len()).collect();
    for (i, (columns, values)) in rows.iter().enumerate() {
        for (&column, value) in columns.iter().zip(*values) {
            if *value != 0.0 {
                seen[column] = seen[column].min(i);
                first[i] = first[i].min(seen[column]);
            }
        }
    }
    let mut product = Skyline::new(first);
    if product.work() > 1e9 {
        return None;
    }
    for i in 0..rows.len() {
        for j in product.first(i)..=i {
            product.add(i, j, dot(rows[i], rows[j]));
        }
    }
    if !product.factorize(1e-7) {
        return None;
    }
    let mut x: Vec<f64> = (0..rows.len())
        .map(|k| 1.0 + elementary::sin(k as f64))
        .collect();
    let mut growth = 0.0;
    for _ in 0..30 {
        normalise(&mut x);
        product.solve(&mut x);
        growth = norm(&x);
    }
    let mut y: Vec<f64> = (0..width)
        .map(|k| 1.0 + elementary::cos(k as f64))
        .collect();
    let mut square = 0.0;
    for _ in 0..20 {
        normalise(&mut y);
        let mut next = vec![0.0; width];
        for (columns, values) in rows {
            let along: f64 = columns.iter().zip(*values).map(|(&c, v)| v * y[c]).sum();
            for (&c, v) in columns.iter().zip(*values) {
                next[c] += along * v;
            }
        }
        square = norm(&next);
        y = next;
    }
    Some(1.0 / (growth * square).sqrt())
}

/// Rank of A, ratio of the smallest to the largest singular value (NaN if it is not requested), and vectors y with Aᵀ y = 0.
fn decomposed(
    rows: &[SparseRow<'_>],
    width: usize,
    with_smallest: bool,
) -> (usize, f64, Vec<Vec<f64>>) {
    let mut transposed = Mat::zeros(width, rows.len());
    for (k, (columns, values)) in rows.iter().enumerate() {
        for (&column, &value) in columns.iter().zip(*values) {
            transposed[(column, k)] = value;
        }
    }
    let qr = transposed.pivoted_qr();
    let (r, order) = (qr.r(), qr.order());
    let rank = qr.rank(RANK_TOLERANCE);
    let triangle = r.submatrix(0, 0, rank, rank);
    let smallest = match with_smallest {
        true => {
            let values = triangle.singular_values().unwrap_or_default();
            match (values.first(), values.last()) {
                (Some(first), Some(last)) => last / first,
                _ => 1.0,
            }
        }
        false => f64::NAN,
    };
    let free = rows.len() - rank;
    let mut solved = Mat::from_fn(rank, free, |i, j| -r[(i, rank + j)]);
    solve_upper(&triangle, &mut solved);
    let mut null = Mat::zeros(rows.len(), free);
    for j in 0..free {
        for i in 0..rank {
            null[(order[i], j)] = solved[(i, j)];
        }
        null[(order[rank + j], j)] = 1.0;
    }
    let null = null.qr().thin_q();
    let columns = (0..free).map(|j| null.col(j).0).collect();
    (rank, smallest, columns)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn normalise(x: &mut [f64]) {
    let factor = 1.0 / norm(x).max(f64::MIN_POSITIVE);
    for x in x {
        *x *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::{JointKind, RuleSpec};

    /// Orthogonal rows of lengths 3, 1 and ½, whose lengths are the singular values, by both methods; a fourth that depends on two of them is found
    /// by the decomposition.
    #[test]
    fn singular_values_of_orthogonal_rows() {
        let columns = [0, 1, 2, 4];
        let rows = [
            [1.8, 2.4, 0.0, 0.0],
            [-0.8, 0.6, 0.0, 0.0],
            [0.0, 0.0, 0.3, 0.4],
        ];
        let entries: Vec<SparseRow<'_>> = rows.iter().map(|row| (&columns[..], &row[..])).collect();
        let smallest = independent(&entries, 5).expect("independent");
        assert!((smallest - 0.5 / 3.0).abs() < 1e-9, "{smallest}");
        let (rank, smallest, null) = decomposed(&entries, 5, true);
        assert_eq!((rank, null.len()), (3, 0));
        assert!((smallest - 0.5 / 3.0).abs() < 1e-14, "{smallest}");
        // twice the first less the third
        let sum = [3.6, 4.8, -0.3, -0.4];
        let entries: Vec<_> = entries
            .into_iter()
            .chain([(&columns[..], &sum[..])])
            .collect();
        assert_eq!(independent(&entries, 5), None);
        let (rank, _, null) = decomposed(&entries, 5, true);
        assert_eq!((rank, null.len()), (3, 1));
        let size = null[0][3];
        for (y, expected) in null[0].iter().zip([-2.0, 0.0, 1.0, 1.0]) {
            assert!((y - size * expected).abs() < 1e-14, "{null:?}");
        }
    }

    /// The rank alone is that of the whole decomposition, where rows of different constraints depend on each other: a loop that is closed twice.
    /// It takes no singular values.
    #[test]
    fn rank_takes_no_singular_values() {
        let mut builder = catena::model::embedded::builder("four-bar-1").expect("embedded");
        let mut again = builder.constraints[0].clone();
        again.name = "again".into();
        if let RuleSpec::Joint(joint) = &mut again.rule {
            joint.kind = JointKind::Spherical;
        }
        builder.constraints.push(again);
        let model = builder.build().expect("sound");
        let mut loops = Loops::new(&model);
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        loops.evaluate(0.0, &state);
        let found = loops.dependence();
        assert_eq!((found.rank, found.null.len()), (2, 6));
        assert!(found.smallest > 0.1, "{}", found.smallest);
        assert_eq!(loops.rank(), (2, 6));
        assert!(loops.find_dependence(false).smallest.is_nan());
    }

    /// Products of rows that have some columns in common, all or none.
    #[test]
    fn products_of_sparse_rows() {
        let of = |a: &[usize], b: &[usize]| {
            let values = |columns: &[usize]| -> Vec<f64> {
                columns.iter().map(|&c| 1.0 + c as f64).collect()
            };
            dot((a, &values(a)), (b, &values(b)))
        };
        for (a, b, product) in [
            (&[0, 2, 5][..], &[0, 2, 5][..], 1.0 + 9.0 + 36.0),
            (&[0, 2, 5], &[1, 3, 4], 0.0),
            (&[0, 2, 5], &[2, 3, 5, 6], 9.0 + 36.0),
            (&[4], &[0, 1, 2, 3, 4], 25.0),
            (&[0, 1, 2, 3, 4], &[4, 7], 25.0),
            (&[], &[1], 0.0),
        ] {
            assert_eq!((of(a, b), of(b, a)), (product, product), "{a:?} {b:?}");
        }
    }

    /// Velocities lose the component that violates the constraints, and nothing else.
    #[test]
    fn velocities_become_tangent() {
        let model = catena::model::embedded::model("four-bar-1").expect("embedded");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut loops = Loops::new(&model);
        loops.evaluate(0.0, &state);
        for given in [[1.0, 0.0, 0.0], [0.3, -0.7, 2.0], [1.0, -1.0, 1.0]] {
            let mut v = given.to_vec();
            loops.make_tangent(&mut v);
            // the parallelogram moves along (1, −1, 1); how far is known to round-off divided by the shift that makes the matrix regular
            let along = (given[0] - given[1] + given[2]) / 3.0;
            assert!((v[0] - along).abs() < 1e-3, "{given:?}: {v:?} {along}");
            assert!(
                (v[0] + v[1]).abs() < 1e-12 && (v[0] - v[2]).abs() < 1e-12,
                "{v:?}"
            );
        }
    }

    /// From guesses at a distance the loops close to round-off, and to the nearest position.
    #[test]
    fn guesses_are_closed() {
        let model = catena::model::embedded::model("four-bar-1").expect("embedded");
        let mut loops = Loops::new(&model);
        for (q, away) in [
            ([1.2, -1.2, 1.2], 1e-15),
            ([1.25, -1.2, 1.18], 0.1),
            ([1.4, -1.0, 1.1], 0.4),
            ([0.6, -1.5, 1.4], 1.1),
        ] {
            let mut state = State::new(&model, &q, &[0.0; 3]).expect("finite");
            assert!(loops.close(0.0, &mut state), "{q:?}");
            assert!(loops.open() < 1e-14, "{q:?}: {:e}", loops.open());
            // the residuals that are left are those of the state that is returned
            let open = loops.open();
            loops.evaluate(0.0, &state);
            assert_eq!(loops.open(), open);
            let moved = state.q.iter().zip(&q);
            let moved = moved.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(moved <= away, "{q:?}: {moved}");
        }
    }
}
