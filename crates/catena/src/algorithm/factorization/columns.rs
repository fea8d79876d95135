//! I X = B for many columns at once, with the factors of [`Factorization`].
//!
//! The sweeps of `udu.rs` (Saha 1999, eqs. 33–37), in the axes of the base instead of those of the bodies: then nothing is
//! rotated, every joint is handled alike through its columns sₖ and ψₖ, and a pack of right-hand sides is swept
//! through the tree together:
//!
//! ```text
//! tips to base   ŷₖ = bₖ − sₖᵀ η,   η ← η + ψₖ ŷₖ,   η shifted to the parent
//! base to tips   xₖ = ŷₖ/m̂ₖ − ψₖᵀ μ,   μ ← μ + sₖ xₖ,   μ shifted to the child
//! ```
//!
//! Cost O(n) per column. For few freedoms it is faster to form U explicitly, Uᵢₖ = sᵢᵀ ψₖ, and to substitute with it: the same
//! factors and sweeps, with one product per pair instead of thirty per body.
//!
//! The inverse is half of the solution of I X = 1: a column is zero in the inward pass until its own freedom is reached, and
//! by symmetry only its entries up to that freedom are needed in the outward pass.

use super::Factorization;
use crate::algorithm::pack::{One, Pack, put, set_force, set_motion, spread_vec};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::{JointKind, Model, Tree};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Mat3, Motion, Vec3};
use crate::thresholds::EXPLICIT_TRIANGLE;

/// Many right-hand sides.
pub const CARD: Card = Card {
    name: "Many right-hand sides, inverse of I",
    question: "solve with the inertia matrix",
    call: "SolveColumns",
    file: "algorithm/factorization/columns.rs",
    order: "O(n) per column; inverse O(n²)",
    source: "Saha 1999, eqs. 33–37; in common axes",
};

/// Packs that are swept through the tree together.
const CHUNK: usize = 4;

/// Matrices of nv columns that fit into the panel.
const PANEL: usize = 3;

/// Which components of s are not zero by structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Rotation,
    Translation,
    Screw,
}

/// One freedom, in the axes of the base about the origin of its body.
#[derive(Clone, Copy, Debug)]
struct Freedom<S> {
    axis: Motion<S>,
    psi: Force<S>,
    inverse: S,
}

#[derive(Clone, Copy, Debug)]
struct BodyAt<S> {
    rotation: Mat3<S>,
    /// Origin of the body, from that of the tree's first body, and from that of the parent.
    origin: Vec3<S>,
    step: Vec3<S>,
}

/// One number of every pack of a chunk.
type Many<M> = [M; CHUNK];

/// Wrench or twist of every pack.
type Spatial<M> = [Many<M>; 6];

/// Workspace of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Columns<S: Scalar, K: Pack<S>> {
    body: Vec<BodyAt<S>>,
    freedom: Vec<Freedom<S>>,
    shape: Vec<Shape>,
    /// U by rows, where it is formed explicitly, and ψ in packs, about the origin of the tree's first body.
    u: Vec<S>,
    u_transposed: Vec<S>,
    psi: Vec<Force<K::Many>>,
    axis: Vec<Motion<K::Many>>,
    /// Freedoms on the path from each freedom to the base, in runs without gaps, and the index of each freedom's first run.
    way: Vec<(usize, usize)>,
    way_start: Vec<usize>,
    /// Right-hand sides, then solutions, in packs by rows, where U is formed explicitly.
    panel: Vec<K::Many>,
    /// One past the last freedom beyond each.
    end: Vec<usize>,
    x: Vec<Many<K::Many>>,
    through: Vec<Spatial<K::Many>>,
}

impl<S: Scalar, K: Pack<S>> Columns<S, K> {
    /// A workspace that forms U explicitly for models with at most `triangle` freedoms.
    pub fn new<P>(model: &Model<P>, triangle: usize) -> Self {
        let tree = model.tree();
        let (n, nv) = (model.body_count() + 1, model.nv());
        let mut shape = Vec::with_capacity(nv);
        let mut end = vec![0; nv];
        let beyond = tree.ends();
        for i in 1..n {
            let kind = tree.bodies[i].kind;
            for (k, &(_, rotation)) in tree.dof_range(i).zip(kind.freedoms()) {
                end[k] = beyond[i];
                shape.push(if kind == JointKind::Helical {
                    Shape::Screw
                } else if rotation {
                    Shape::Rotation
                } else {
                    Shape::Translation
                });
            }
        }
        let is_written = nv <= triangle;
        let (way, way_start) = match is_written {
            true => ways(&end),
            false => (Vec::new(), Vec::new()),
        };
        let zero = [K::Many::zero(); CHUNK];
        let written = if is_written { nv.div_ceil(K::WIDTH) } else { 0 };
        Columns {
            body: vec![
                BodyAt {
                    rotation: Mat3::identity(),
                    origin: Vec3::zero(),
                    step: Vec3::zero(),
                };
                n
            ],
            freedom: vec![
                Freedom {
                    axis: Motion::zero(),
                    psi: Force::zero(),
                    inverse: S::zero(),
                };
                nv
            ],
            shape,
            u: vec![S::zero(); nv * written * K::WIDTH],
            u_transposed: vec![S::zero(); nv * written * K::WIDTH],
            psi: vec![Force::zero(); written],
            axis: vec![Motion::zero(); written],
            way,
            way_start,
            panel: vec![K::Many::zero(); nv * written * PANEL],
            end,
            x: vec![zero; nv],
            through: vec![[zero; 6]; n],
        }
    }

    /// Is U formed explicitly?
    #[inline(always)]
    pub fn written_out(&self) -> bool {
        !self.u.is_empty()
    }

    /// Takes over the factors.
    #[inline(always)]
    pub fn prepare<P: Parameter<S>>(&mut self, model: &Model<P>, factors: &Factorization<S>) {
        let tree = model.tree();
        for i in 1..=model.body_count() {
            let info = tree.nodes[i];
            let pose = factors.pose[i];
            let parent = &self.body[info.parent];
            let here = if info.parent == 0 {
                BodyAt {
                    rotation: pose.rotation,
                    origin: Vec3::zero(),
                    step: pose.translation,
                }
            } else {
                let step = parent.rotation * pose.translation;
                BodyAt {
                    rotation: parent.rotation * pose.rotation,
                    origin: parent.origin + step,
                    step,
                }
            };
            self.body[i] = here;
            self.take_over(model, factors, i, here);
        }
        self.write_out();
    }

    #[inline(always)]
    fn take_over<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        factors: &Factorization<S>,
        i: usize,
        here: BodyAt<S>,
    ) {
        let info = model.tree().nodes[i];
        let pose = factors.pose[i];
        let joint = model.joint_at(i, &factors.angles, &pose);
        let columns = joint.columns_in(here.rotation);
        for k in 0..info.kind.nv() {
            let psi = joint.restore(factors.psi[info.v + k]);
            self.freedom[info.v + k] = Freedom {
                axis: columns[k],
                psi: Force::new(here.rotation * psi.moment, here.rotation * psi.force),
                inverse: factors.inverse[info.v + k],
            };
        }
        if self.written_out() {
            for k in info.v..info.v + info.kind.nv() {
                let Freedom { axis, psi, .. } = self.freedom[k];
                let seen = here.origin.cross_add(psi.force, psi.moment);
                let pack = &mut self.psi[k / K::WIDTH];
                set_force::<S, K>(pack, k % K::WIDTH, Force::new(seen, psi.force));
                self.freedom[k].axis.linear = here.origin.cross_add(axis.angular, axis.linear);
                let pack = &mut self.axis[k / K::WIDTH];
                set_motion::<S, K>(pack, k % K::WIDTH, self.freedom[k].axis);
            }
        }
    }

    /// Uᵢₖ = sᵢᵀ ψₖ for the freedoms k beyond i; the other entries are not used.
    #[inline(always)]
    pub fn write_out(&mut self) {
        if !self.written_out() {
            return;
        }
        let packs = self.psi.len();
        let stride = packs * K::WIDTH;
        if K::WIDTH == 1 {
            // only what is used
            for i in 0..packs {
                for k in i + 1..self.end[i] {
                    let u = self.psi[k].dot(self.axis[i]);
                    K::store(u, &mut self.u[i * stride + k..]);
                    K::store(u, &mut self.u_transposed[k * stride + i..]);
                }
            }
            return;
        }
        for i in 0..self.freedom.len() {
            let axis = self.freedom[i].axis;
            let axis = Motion::new(spread::<S, K>(axis.angular), spread::<S, K>(axis.linear));
            let row = &mut self.u[i * stride..(i + 1) * stride];
            for g in i / K::WIDTH..packs {
                let u = self.psi[g].dot(axis);
                K::store(u, &mut row[g * K::WIDTH..(g + 1) * K::WIDTH]);
            }
            let psi = &self.psi[i / K::WIDTH];
            let lane = i % K::WIDTH;
            let psi = Force::new(
                spread_vec::<S, K>(&psi.moment, lane),
                spread_vec::<S, K>(&psi.force, lane),
            );
            let column = &mut self.u_transposed[i * stride..(i + 1) * stride];
            for g in 0..=i / K::WIDTH {
                let u = psi.dot(self.axis[g]);
                K::store(u, &mut column[g * K::WIDTH..(g + 1) * K::WIDTH]);
            }
        }
    }

    /// Both sweeps with explicit U, over a panel of `width` packs: X = `scale` I⁻¹ B.
    #[inline(always)]
    pub fn substitute(&mut self, width: usize, scale: S) {
        let mut first = 0;
        while first + 12 <= width {
            self.substitute_chunk::<12>(width, first, scale);
            first += 12;
        }
        while first + 6 <= width {
            self.substitute_chunk::<6>(width, first, scale);
            first += 6;
        }
        while first + 3 <= width {
            self.substitute_chunk::<3>(width, first, scale);
            first += 3;
        }
        while first < width {
            self.substitute_chunk::<1>(width, first, scale);
            first += 1;
        }
    }

    #[inline(always)]
    fn substitute_chunk<const C: usize>(&mut self, width: usize, first: usize, scale: S) {
        let nv = self.freedom.len();
        let stride = self.psi.len() * K::WIDTH;
        let x = &mut self.panel[..nv * width];
        for i in (0..nv).rev() {
            let end = self.end[i];
            let mut sum = [K::Many::zero(); C];
            let own = &x[i * width + first..][..C];
            sum.copy_from_slice(own);
            let u = &self.u[i * stride..i * stride + end];
            for k in i + 1..end {
                let u = K::spread(-u[k]);
                let y = &x[k * width + first..][..C];
                for c in 0..C {
                    sum[c] = u.mul_add(y[c], sum[c]);
                }
            }
            let own = &mut x[i * width + first..][..C];
            own.copy_from_slice(&sum);
        }
        for k in 0..nv {
            let inverse = K::spread(self.freedom[k].inverse * scale);
            let mut sum = [K::Many::zero(); C];
            let own = &x[k * width + first..][..C];
            for c in 0..C {
                sum[c] = own[c] * inverse;
            }
            let u = &self.u_transposed[k * stride..(k + 1) * stride];
            for run in self.way_start[k]..self.way_start[k + 1] {
                let (from, to) = self.way[run];
                for i in from..to {
                    let u = K::spread(-u[i]);
                    let y = &x[i * width + first..][..C];
                    for c in 0..C {
                        sum[c] = u.mul_add(y[c], sum[c]);
                    }
                }
            }
            let own = &mut x[k * width + first..][..C];
            own.copy_from_slice(&sum);
        }
    }

    /// Stores a matrix of the panel, from pack `first` on, by rows. Numbers that a pack writes past the end of its row are
    /// overwritten by the next.
    #[inline(always)]
    pub fn write(&self, width: usize, first: usize, columns: usize, out: &mut [S]) {
        for k in 0..self.freedom.len() {
            let packs = &self.panel[k * width + first..(k + 1) * width];
            let mut at = 0;
            for pack in packs {
                if at >= columns {
                    break;
                }
                put::<S, K>(out, k * columns + at, *pack);
                at += K::WIDTH;
            }
        }
    }

    /// X = `scale` I⁻¹ B in place, for several matrices with the same number of columns, stored by rows.
    #[inline(always)]
    pub fn solve<P, const N: usize>(
        &mut self,
        model: &Model<P>,
        matrices: [&mut [S]; N],
        columns: usize,
        scale: S,
    ) {
        let packs = columns.div_ceil(K::WIDTH);
        if self.written_out() {
            return self.solve_written_out(matrices, columns, scale);
        }
        let mut next = 0;
        while next < N * packs {
            let used = if N * packs - next < CHUNK {
                N * packs - next
            } else {
                CHUNK
            };
            for c in 0..used {
                let (matrix, first) = ((next + c) / packs, (next + c) % packs * K::WIDTH);
                for k in 0..self.x.len() {
                    let row = &matrices[matrix][k * columns..(k + 1) * columns];
                    self.x[k][c] = read::<S, K>(row, first);
                }
            }
            self.recursion(model.tree(), self.x.len(), scale);
            for c in 0..used {
                let (matrix, first) = ((next + c) / packs, (next + c) % packs * K::WIDTH);
                for k in 0..self.x.len() {
                    let row = &mut matrices[matrix][k * columns..(k + 1) * columns];
                    put::<S, K>(row, first, self.x[k][c]);
                }
            }
            next += used;
        }
    }

    #[inline(always)]
    fn solve_written_out<const N: usize>(
        &mut self,
        matrices: [&mut [S]; N],
        columns: usize,
        scale: S,
    ) {
        let nv = self.x.len();
        let most = PANEL * self.psi.len();
        for matrix in matrices {
            let mut first = 0;
            while first < columns {
                let width = (columns - first).div_ceil(K::WIDTH);
                let width = if width < most { width } else { most };
                let last = if first + width * K::WIDTH < columns {
                    first + width * K::WIDTH
                } else {
                    columns
                };
                for k in 0..nv {
                    let row = &matrix[k * columns + first..k * columns + last];
                    for c in 0..width {
                        self.panel[k * width + c] = read::<S, K>(row, c * K::WIDTH);
                    }
                }
                self.substitute(width, scale);
                for k in 0..nv {
                    let row = &mut matrix[k * columns + first..k * columns + last];
                    for c in 0..width {
                        put::<S, K>(row, c * K::WIDTH, self.panel[k * width + c]);
                    }
                }
                first = last;
            }
        }
    }

    /// Sets the packs of the panel from `first` on to the identity.
    #[inline(always)]
    pub fn identity(&mut self, width: usize, first: usize) {
        for k in 0..self.freedom.len() {
            let row = &mut self.panel[k * width + first..(k + 1) * width];
            for pack in row.iter_mut() {
                *pack = K::Many::zero();
            }
            K::set(&mut row[k / K::WIDTH], k % K::WIDTH, S::one());
        }
    }

    /// I⁻¹ into nv × nv numbers stored by rows.
    #[inline(always)]
    pub fn inverse<P>(&mut self, model: &Model<P>, inverse: &mut [S]) {
        let nv = self.x.len();
        if self.written_out() {
            let width = self.psi.len();
            self.identity(width, 0);
            self.substitute(width, S::one());
            return self.write(width, 0, nv, inverse);
        }
        let zero = [K::Many::zero(); CHUNK];
        let mut first = 0;
        while first < nv {
            let last = if first + CHUNK * K::WIDTH < nv {
                first + CHUNK * K::WIDTH
            } else {
                nv
            };
            // no joint is split: its freedoms are swept together
            let body = model.tree().dofs[last - 1].body;
            let rows = model.tree().nodes[body].v + model.tree().nodes[body].kind.nv();
            for k in 0..rows {
                self.x[k] = zero;
            }
            for k in first..last {
                let lane = k - first;
                K::set(&mut self.x[k][lane / K::WIDTH], lane % K::WIDTH, S::one());
            }
            self.recursion(model.tree(), rows, S::one());
            for k in 0..last {
                let row = &mut inverse[k * nv + first..k * nv + last];
                for c in 0..(last - first).div_ceil(K::WIDTH) {
                    put::<S, K>(row, c * K::WIDTH, self.x[k][c]);
                }
            }
            // the lower triangle
            for column in 0..first {
                for k in first..last {
                    inverse[k * nv + column] = inverse[column * nv + k];
                }
            }
            first = last;
        }
    }

    /// Both sweeps, from body to body.
    #[inline(always)]
    fn recursion(&mut self, tree: &Tree, rows: usize, scale: S) {
        let zero = [[K::Many::zero(); CHUNK]; 6];
        let bodies = tree.dofs[rows - 1].body;
        for i in 1..=bodies {
            if tree.nodes[i].gathers {
                self.through[i] = zero;
            }
        }
        // tips to base; `eta` comes from the body after this one
        let mut eta = zero;
        for i in (1..=bodies).rev() {
            let info = tree.nodes[i];
            if info.gathers {
                for part in 0..6 {
                    for c in 0..CHUNK {
                        eta[part][c] += self.through[i][part][c];
                    }
                }
            }
            for k in (info.v..info.v + info.kind.nv()).rev() {
                let f = &self.freedom[k];
                let rest = less_product::<S, K>(&eta, f.axis.to_array(), self.shape[k], &self.x[k]);
                self.x[k] = rest;
                add_product::<S, K>(&mut eta, f.psi.to_array(), Shape::Screw, &rest);
            }
            if info.parent == 0 {
                eta = zero;
            } else {
                let [_, _, _, fx, fy, fz] = eta;
                let [mx, my, mz, _, _, _] = &mut eta;
                cross_add::<S, K>([mx, my, mz], self.body[i].step, [&fx, &fy, &fz]);
                if info.parent + 1 != i {
                    let parent = &mut self.through[info.parent];
                    for part in 0..6 {
                        for c in 0..CHUNK {
                            parent[part][c] += eta[part][c];
                        }
                    }
                    eta = zero;
                }
            }
        }
        // base to tips
        let mut mu = zero;
        for i in 1..=bodies {
            let info = tree.nodes[i];
            if info.parent == 0 {
                mu = zero;
            } else {
                if info.parent + 1 != i {
                    mu = self.through[info.parent];
                }
                // ω × d = (−d) × ω
                let [ax, ay, az, _, _, _] = mu;
                let [_, _, _, lx, ly, lz] = &mut mu;
                cross_add::<S, K>([lx, ly, lz], -self.body[i].step, [&ax, &ay, &az]);
            }
            for k in info.v..info.v + info.kind.nv() {
                let f = &self.freedom[k];
                let inverse = K::spread(f.inverse * scale);
                let mut freed = self.x[k];
                for c in 0..CHUNK {
                    freed[c] *= inverse;
                }
                let x = less_product::<S, K>(&mu, f.psi.to_array(), Shape::Screw, &freed);
                self.x[k] = x;
                add_product::<S, K>(&mut mu, f.axis.to_array(), self.shape[k], &x);
            }
            if info.gathers {
                self.through[i] = mu;
            }
        }
    }
}

/// For each freedom, the freedoms it is beyond, in runs without gaps.
fn ways(end: &[usize]) -> (Vec<(usize, usize)>, Vec<usize>) {
    let (mut way, mut way_start) = (Vec::new(), vec![0]);
    for k in 0..end.len() {
        let first = way.len();
        for i in (0..k).filter(|&i| end[i] > k) {
            match way[first..].last_mut() {
                Some((_, to)) if *to == i => *to = i + 1,
                _ => way.push((i, i + 1)),
            }
        }
        way_start.push(way.len());
    }
    (way, way_start)
}

/// b − aᵀ z, pack by pack.
#[inline(always)]
fn less_product<S: Scalar, K: Pack<S>>(
    z: &Spatial<K::Many>,
    a: [S; 6],
    shape: Shape,
    b: &Many<K::Many>,
) -> Many<K::Many> {
    let mut rest = *b;
    if shape != Shape::Translation {
        for part in 0..3 {
            let a = K::spread(-a[part]);
            for c in 0..CHUNK {
                rest[c] = a.mul_add(z[part][c], rest[c]);
            }
        }
    }
    if shape != Shape::Rotation {
        for part in 3..6 {
            let a = K::spread(-a[part]);
            for c in 0..CHUNK {
                rest[c] = a.mul_add(z[part][c], rest[c]);
            }
        }
    }
    rest
}

/// z ← z + a x, pack by pack.
#[inline(always)]
fn add_product<S: Scalar, K: Pack<S>>(
    z: &mut Spatial<K::Many>,
    a: [S; 6],
    shape: Shape,
    x: &Many<K::Many>,
) {
    if shape != Shape::Translation {
        for part in 0..3 {
            let a = K::spread(a[part]);
            for c in 0..CHUNK {
                z[part][c] = a.mul_add(x[c], z[part][c]);
            }
        }
    }
    if shape != Shape::Rotation {
        for part in 3..6 {
            let a = K::spread(a[part]);
            for c in 0..CHUNK {
                z[part][c] = a.mul_add(x[c], z[part][c]);
            }
        }
    }
}

/// z ← z + d × f, pack by pack.
#[inline(always)]
fn cross_add<S: Scalar, K: Pack<S>>(
    [zx, zy, zz]: [&mut Many<K::Many>; 3],
    d: Vec3<S>,
    [fx, fy, fz]: [&Many<K::Many>; 3],
) {
    let d = Vec3::new(K::spread(d.x), K::spread(d.y), K::spread(d.z));
    for c in 0..CHUNK {
        let f = Vec3::new(fx[c], fy[c], fz[c]);
        let sum = d.cross_add(f, Vec3::new(zx[c], zy[c], zz[c]));
        (zx[c], zy[c], zz[c]) = (sum.x, sum.y, sum.z);
    }
}

#[inline(always)]
fn spread<S: Scalar, K: Pack<S>>(v: Vec3<S>) -> Vec3<K::Many> {
    Vec3::new(K::spread(v.x), K::spread(v.y), K::spread(v.z))
}

/// A pack of a row, zeros past its end.
#[inline(always)]
fn read<S: Scalar, K: Pack<S>>(row: &[S], first: usize) -> K::Many {
    let rest = &row[first..];
    if rest.len() >= K::WIDTH {
        K::load(&rest[..K::WIDTH])
    } else {
        let mut pack = K::Many::zero();
        for (lane, x) in rest.iter().enumerate() {
            K::set(&mut pack, lane, *x);
        }
        pack
    }
}

/// I X = B for many columns with the factors of one configuration.
#[derive(Clone, Debug)]
pub struct SolveColumns<S: Scalar>(Columns<S, One>);

impl<S: Scalar> SolveColumns<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        SolveColumns(Columns::new(model, EXPLICIT_TRIANGLE))
    }

    /// Takes over the factors.
    pub fn prepare<P: Parameter<S>>(&mut self, model: &Model<P>, factors: &Factorization<S>) {
        self.0.prepare(model, factors);
    }

    /// X = I⁻¹ B in place: `x` has nv rows and any number of columns.
    pub fn solve<P>(&mut self, model: &Model<P>, x: &mut Matrix<S>) {
        let columns = x.columns();
        self.0.solve(model, [x.as_mut_slice()], columns, S::one());
    }

    /// I⁻¹.
    pub fn inverse<P>(&mut self, model: &Model<P>, inverse: &mut Matrix<S>) {
        self.0.inverse(model, inverse.as_mut_slice());
    }
}
