//! Elimination along a tree of systems in which each body is coupled to its parent by a joint.
//!
//! Per body i with parent a: y (K numbers, shared with its neighbours), the joint's own s (k numbers) and load l (K numbers) with
//!
//! ```text
//! y = T y_a + Π s + c                                         the joint's constraints             (1)
//! A y − l + Σ_c (T̄_c l_c + B_c y_c) = r                        balance, children c                 (2)
//! Θ l + Λ s + Ψ y = ρ                                          law of the joint                    (3)
//! ```
//!
//! From the tips to the base l = D y + b with D = A and b = −r where there are no children, and
//!
//! ```text
//! F = Θ D + Ψ,   (F Π + Λ) s = ρ − Θ b − F c − F T y_a   ⇒   s = s₀ + S y_a                            (4)
//! D_a += (T̄ D + B)(T + Π S),   b_a += T̄ b + (T̄ D + B)(c + Π s₀)                                         (5)
//! ```
//!
//! then from the base to the tips y, s, l. K is 6, or 12 where positions and velocities are separate. T̄ = Tᵣᵀ and Θ = P'ᵀ for every six
//! numbers, with the rigid transport Tᵣ and the joint's directions P'.

/// 6×6, by rows.
pub(super) type Mat6 = [[f64; 6]; 6];

/// One body of the tree. The joint's columns are stored in pools: `count` of them, from `first` on.
#[derive(Clone, Debug)]
pub(super) struct Node<const K: usize> {
    pub parent: usize,
    /// Index and count of the joint's numbers.
    pub first: usize,
    pub count: usize,
    /// Index of the joint's directions among all P'.
    pub freedom: usize,
    pub rigid: Mat6,
    pub t: [[f64; K]; K],
    pub b: [[f64; K]; K],
    /// A, then D.
    pub d: [[f64; K]; K],
    /// T̄ D + B.
    up: [[f64; K]; K],
    lu: usize,
}

impl<const K: usize> Node<K> {
    pub fn new(parent: usize, freedom: usize, nv: usize) -> Self {
        let zero = [[0.0; K]; K];
        Node {
            parent,
            first: freedom * (K / 6),
            count: nv * (K / 6),
            freedom,
            rigid: [[0.0; 6]; 6],
            t: zero,
            b: zero,
            d: zero,
            up: zero,
            lu: 0,
        }
    }
}

/// Matrices of a tree, to be filled and factorized.
#[derive(Clone, Debug)]
pub(super) struct Elimination<const K: usize> {
    /// Index 0 is the ground and not used.
    pub nodes: Vec<Node<K>>,
    /// Body of each freedom.
    owner: Vec<usize>,
    /// Π by columns.
    pub pi: Vec<[f64; K]>,
    /// Ψ by rows.
    pub psi: Vec<[f64; K]>,
    /// P' by columns for the loads, and zero for freedoms that are held.
    pub directions: Vec<[f64; 6]>,
    /// P' by columns for the other multipliers, where K is 12: never zero for held freedoms.
    pub free_directions: Vec<[f64; 6]>,
    /// Λ by rows, as many numbers in each as the joint has.
    pub lambda: Vec<[f64; 12]>,
    f: Vec<[f64; K]>,
    s: Vec<[f64; K]>,
    lu: Vec<f64>,
    order: Vec<usize>,
    /// Right-hand sides; afterwards y, l, s.
    pub r: Vec<[f64; K]>,
    pub c: Vec<[f64; K]>,
    pub rho: Vec<f64>,
}

impl<const K: usize> Elimination<K> {
    /// Parent, first freedom and number of freedoms of the bodies 1…n.
    pub fn new(joints: impl Iterator<Item = (usize, usize, usize)>) -> Self {
        let mut nodes = vec![Node::new(0, 0, 0)];
        let (mut freedom, mut lu) = (0, 0);
        for (parent, first, nv) in joints {
            let mut node = Node::new(parent, first, nv);
            node.lu = lu;
            lu += node.count * node.count;
            freedom += nv;
            nodes.push(node);
        }
        let mut owner = vec![0; freedom];
        for (i, node) in nodes.iter().enumerate().skip(1) {
            owner[node.freedom..node.freedom + node.count / (K / 6)].fill(i);
        }
        let (n, total) = (nodes.len(), freedom * (K / 6));
        Elimination {
            nodes,
            owner,
            pi: vec![[0.0; K]; total],
            psi: vec![[0.0; K]; total],
            directions: vec![[0.0; 6]; freedom],
            free_directions: vec![[0.0; 6]; freedom],
            lambda: vec![[0.0; 12]; total],
            f: vec![[0.0; K]; total],
            s: vec![[0.0; K]; total],
            lu: vec![0.0; lu],
            order: vec![0; total],
            r: vec![[0.0; K]; n],
            c: vec![[0.0; K]; n],
            rho: vec![0.0; total],
        }
    }

    /// Index of the joint's number for a freedom: the first, or the second of two where K is 12.
    pub fn place(&self, freedom: usize, second: bool) -> usize {
        let node = &self.nodes[self.owner[freedom]];
        let nv = node.count / (K / 6);
        node.first + (freedom - node.freedom) + if second { nv } else { 0 }
    }

    /// Row j of Θ times a vector of K numbers.
    fn theta(&self, node: &Node<K>, j: usize, x: &[f64; K]) -> f64 {
        let nv = node.count / (K / 6);
        let (chunk, direction) = if j < nv && K > 6 {
            (0, &self.free_directions[node.freedom + j])
        } else {
            (K - 6, &self.directions[node.freedom + j % nv])
        };
        let mut sum = 0.0;
        for m in 0..6 {
            sum += direction[m] * x[chunk + m];
        }
        sum
    }

    /// Factorizes the matrices by (4) and (5); the error is the freedom without a pivot.
    pub fn factorize(&mut self) -> Result<(), usize> {
        for i in (1..self.nodes.len()).rev() {
            let node = &self.nodes[i];
            let (first, k) = (node.first, node.count);
            // columns of D, for Θ D
            for j in 0..k {
                let mut row = self.psi[first + j];
                let nv = k / (K / 6);
                let (chunk, direction) = if j < nv && K > 6 {
                    (0, &self.free_directions[node.freedom + j])
                } else {
                    (K - 6, &self.directions[node.freedom + j % nv])
                };
                for m in 0..6 {
                    if direction[m] != 0.0 {
                        for (f, d) in row.iter_mut().zip(&node.d[chunk + m]) {
                            *f += direction[m] * d;
                        }
                    }
                }
                self.f[first + j] = row;
            }
            let pivot = &mut self.lu[node.lu..node.lu + k * k];
            for j in 0..k {
                for m in 0..k {
                    pivot[j * k + m] =
                        self.lambda[first + j][m] + dot(&self.f[first + j], &self.pi[first + m]);
                }
            }
            if let Err(column) = lu_factorize(pivot, &mut self.order[first..first + k]) {
                return Err(node.freedom + column % (k / (K / 6)));
            }
            let parent = node.parent;
            if parent == 0 {
                for s in &mut self.s[first..first + k] {
                    *s = [0.0; K];
                }
                continue;
            }
            // S = −(F Π + Λ)⁻¹ F T, column by column
            let pivot = &self.lu[node.lu..node.lu + k * k];
            let mut column = [0.0; 12];
            for m in 0..K {
                for j in 0..k {
                    let mut sum = 0.0;
                    for (f, t) in self.f[first + j].iter().zip(&node.t) {
                        sum -= f * t[m];
                    }
                    column[j] = sum;
                }
                lu_solve(pivot, &self.order[first..first + k], &mut column[..k]);
                for j in 0..k {
                    self.s[first + j][m] = column[j];
                }
            }
            // T̄ D + B
            let mut up = node.b;
            for chunk in (0..K).step_by(6) {
                for row in 0..6 {
                    for m in 0..6 {
                        let factor = node.rigid[m][row];
                        if factor != 0.0 {
                            for (u, d) in up[chunk + row].iter_mut().zip(&node.d[chunk + m]) {
                                *u += factor * d;
                            }
                        }
                    }
                }
            }
            let mut closed = node.t;
            for j in 0..k {
                let (pi, s) = (&self.pi[first + j], &self.s[first + j]);
                for (row, pi) in closed.iter_mut().zip(pi) {
                    if *pi != 0.0 {
                        for (t, s) in row.iter_mut().zip(s) {
                            *t += pi * s;
                        }
                    }
                }
            }
            self.nodes[i].up = up;
            let target = &mut self.nodes[parent].d;
            for (row, up) in target.iter_mut().zip(&up) {
                for (factor, closed) in up.iter().zip(&closed) {
                    if *factor != 0.0 {
                        for (d, x) in row.iter_mut().zip(closed) {
                            *d += factor * x;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Solves for the right-hand sides in `r`, `c`, `rho`, in place: y overwrites `c`, l `r`, and s `rho`.
    pub fn solve(&mut self) {
        for r in &mut self.r[1..] {
            for r in r.iter_mut() {
                *r = -*r; // b
            }
        }
        for i in (1..self.nodes.len()).rev() {
            let node = &self.nodes[i];
            let (first, k, parent) = (node.first, node.count, node.parent);
            let (b, mut c) = (self.r[i], self.c[i]);
            for j in 0..k {
                self.rho[first + j] -= self.theta(node, j, &b) + dot(&self.f[first + j], &c);
            }
            lu_solve(
                &self.lu[node.lu..node.lu + k * k],
                &self.order[first..first + k],
                &mut self.rho[first..first + k],
            ); // s₀
            if parent == 0 {
                continue;
            }
            for j in 0..k {
                let s = self.rho[first + j];
                for (c, pi) in c.iter_mut().zip(&self.pi[first + j]) {
                    *c += pi * s;
                }
            }
            let target = &mut self.r[parent];
            for (b, up) in target.iter_mut().zip(&node.up) {
                *b += dot(up, &c);
            }
            for chunk in (0..K).step_by(6) {
                for row in 0..6 {
                    for m in 0..6 {
                        target[chunk + row] += node.rigid[m][row] * b[chunk + m];
                    }
                }
            }
        }
        for i in 1..self.nodes.len() {
            let node = &self.nodes[i];
            let (first, k) = (node.first, node.count);
            let mut y = self.c[i];
            if node.parent != 0 {
                let above = &self.c[node.parent];
                for (y, t) in y.iter_mut().zip(&node.t) {
                    *y += dot(t, above);
                }
                for j in 0..k {
                    self.rho[first + j] += dot(&self.s[first + j], above);
                }
            }
            for j in 0..k {
                let s = self.rho[first + j];
                for (y, pi) in y.iter_mut().zip(&self.pi[first + j]) {
                    *y += pi * s;
                }
            }
            for (l, d) in self.r[i].iter_mut().zip(&node.d) {
                *l += dot(d, &y);
            }
            self.c[i] = y;
        }
    }
}

fn dot<const K: usize>(a: &[f64; K], b: &[f64; K]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

/// Factorizes a small matrix by rows, LU with row pivoting; the error is the column without a pivot.
fn lu_factorize(a: &mut [f64], order: &mut [usize]) -> Result<(), usize> {
    let k = order.len();
    for c in 0..k {
        let mut pivot = c;
        for row in c + 1..k {
            if a[row * k + c].abs() > a[pivot * k + c].abs() {
                pivot = row;
            }
        }
        order[c] = pivot;
        let p = a[pivot * k + c];
        if p == 0.0 || !p.is_finite() {
            return Err(c);
        }
        if pivot != c {
            for m in 0..k {
                a.swap(pivot * k + m, c * k + m);
            }
        }
        let inverse = 1.0 / p;
        for row in c + 1..k {
            let factor = a[row * k + c] * inverse;
            a[row * k + c] = factor;
            for m in c + 1..k {
                a[row * k + m] -= factor * a[c * k + m];
            }
        }
        a[c * k + c] = inverse;
    }
    Ok(())
}

fn lu_solve(a: &[f64], order: &[usize], x: &mut [f64]) {
    let k = order.len();
    for c in 0..k {
        x.swap(c, order[c]);
        for m in 0..c {
            x[c] -= a[c * k + m] * x[m];
        }
    }
    for c in (0..k).rev() {
        for m in c + 1..k {
            x[c] -= a[c * k + m] * x[m];
        }
        x[c] *= a[c * k + c];
    }
}
