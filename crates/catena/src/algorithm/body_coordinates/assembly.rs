//! Matrices of the elimination from the derivatives of one body and its joint; the equations are at the top of `newton.rs`.

use super::blocks::{BodyBlock, FreedomBlock, six, untangled};
use super::elimination::{Elimination, Mat6};
use super::residual::{times_pure, vector};
use super::{Formulation, Layout};
use crate::spatial::{Mat3, Vec3};

/// δp = (σ − ½ · ∘ ω)⁻¹ (r + ½ p ∘ δω).
pub(super) fn parameters(
    sigma: f64,
    omega: Vec3<f64>,
    p: [f64; 4],
    rhs: &[f64],
    change: Vec3<f64>,
) -> [f64; 4] {
    let mut sum = times_pure(p, change);
    for (sum, r) in sum.iter_mut().zip(rhs) {
        *sum = 0.5 * *sum + r;
    }
    untangled(sigma, omega, sum)
}

/// Eα⁻¹ on the rotational rows of (4).
pub(super) fn turn_back(body: &BodyBlock, given: &mut [f64; 6]) {
    let turned = body.turn_back * vector(given);
    given[..3].copy_from_slice(&turned.to_array());
}

pub(super) fn add_scaled(sum: &mut Mat6, m: &Mat6, scale: f64) {
    for (sum, m) in sum.iter_mut().zip(m) {
        for (sum, m) in sum.iter_mut().zip(m) {
            *sum += scale * m;
        }
    }
}

pub(super) fn dot6(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    let mut sum = 0.0;
    for k in 0..6 {
        sum += a[k] * b[k];
    }
    sum
}

/// Γ y.
pub(super) fn gamma_times(body: &BodyBlock, sigma: f64, y: &[f64; 6]) -> [f64; 6] {
    six(body.gain * vector(y), vector(&y[3..]) * (1.0 / sigma))
}

/// Γ⁻¹ y.
pub(super) fn inverse_gamma_times(body: &BodyBlock, sigma: f64, y: &[f64; 6]) -> [f64; 6] {
    six(body.inverse * vector(y), vector(&y[3..]) * sigma)
}

/// m Γ, where Γ is that of a body.
pub(super) fn times_gamma(row: &[f64; 6], body: &BodyBlock, sigma: f64) -> [f64; 6] {
    let turned = body.gain.transpose_times(vector(row));
    six(turned, vector(&row[3..]) * (1.0 / sigma))
}

/// (1 − Z_i Γ)⁻¹, block by block.
pub(super) struct OwnInverse {
    upper: Mat3<f64>,
    lower: Mat3<f64>,
    coupling: Mat3<f64>,
}

pub(super) fn own_inverse(body: &BodyBlock, sigma: f64) -> OwnInverse {
    let part = |row: usize, column: usize| {
        Mat3::from_rows([0, 1, 2].map(|k| {
            let row = &body.z_own[row + k];
            [row[column], row[column + 1], row[column + 2]]
        }))
    };
    let invert = |m: Mat3<f64>| match crate::dense::Lu3::new(Mat3::identity() - m) {
        Some(lu) => lu.solve_rows(Mat3::identity()),
        None => Mat3::zero(),
    };
    OwnInverse {
        upper: invert(part(0, 0) * body.gain),
        lower: invert(part(3, 3) * (1.0 / sigma)),
        coupling: part(3, 0) * body.gain,
    }
}

impl OwnInverse {
    pub fn times(&self, x: &[f64; 6]) -> [f64; 6] {
        let upper = self.upper * vector(x);
        six(
            upper,
            self.lower * (vector(&x[3..]) + self.coupling * upper),
        )
    }
}

/// Matrices of body i with positions eliminated.
pub(super) fn narrow(
    tree: &mut Elimination<6>,
    i: usize,
    bodies: &[BodyBlock],
    freedoms: &[FreedomBlock],
    layout: Layout,
    sigma: f64,
) {
    let node = &mut tree.nodes[i];
    let (body, above) = (&bodies[i], &bodies[node.parent]);
    let nv = node.count;
    let own = &freedoms[node.freedom..node.freedom + nv];
    node.rigid = body.rigid;
    for k in 0..6 {
        let stiff = times_gamma(&body.along_x[k], body, sigma);
        for m in 0..6 {
            node.d[k][m] = body.along_u[k][m] + stiff[m];
        }
        node.b[k] = match k {
            0..3 => times_gamma(&body.geometric[k], body, sigma),
            _ => [0.0; 6],
        };
    }
    // columns of T and Π, then the coefficient of δu
    let by_position = layout.formulation == Formulation::Index3;
    let inverse = own_inverse(body, sigma);
    let close = |column: &[f64; 6]| {
        if by_position {
            inverse_gamma_times(body, sigma, column)
        } else {
            inverse.times(column)
        }
    };
    if node.parent != 0 {
        let mut t: Mat6 = [[0.0; 6]; 6];
        for k in 0..6 {
            t[k] = if by_position {
                times_gamma(&body.t_hat[k], above, sigma)
            } else {
                let mut row = times_gamma(&body.z_parent[k], above, sigma);
                for (row, rigid) in row.iter_mut().zip(&body.rigid[k]) {
                    *row += rigid;
                }
                row
            };
        }
        for m in 0..6 {
            let column = close(&[t[0][m], t[1][m], t[2][m], t[3][m], t[4][m], t[5][m]]);
            for k in 0..6 {
                node.t[k][m] = column[k];
            }
        }
    }
    for j in 0..nv {
        let mut column = if by_position { [0.0; 6] } else { own[j].p };
        for freedom in own {
            let gain = freedom.gain[j];
            let part = if by_position {
                &freedom.p_hat
            } else {
                &freedom.p_epsilon
            };
            if gain != 0.0 {
                for (c, p) in column.iter_mut().zip(part) {
                    *c += gain * p;
                }
            }
        }
        tree.pi[node.first + j] = close(&column);
        let freedom = &own[j];
        let turned = body.gain.transpose_times(vector(&freedom.theta));
        tree.psi[node.first + j] = six(turned, Vec3::zero());
        let lambda = &mut tree.lambda[node.first + j];
        for m in 0..nv {
            let mut sum = 0.0;
            for (k, other) in own.iter().enumerate() {
                sum += freedom.epsilon[k] * other.gain[m];
            }
            lambda[m] = sum;
        }
        lambda[j] += freedom.rate;
    }
}

/// Matrices of body i with positions and velocities.
pub(super) fn wide(
    tree: &mut Elimination<12>,
    i: usize,
    bodies: &[BodyBlock],
    freedoms: &[FreedomBlock],
    sigma: f64,
) {
    let node = &mut tree.nodes[i];
    let body = &bodies[i];
    let nv = node.count / 2;
    let own = &freedoms[node.freedom..node.freedom + nv];
    node.rigid = body.rigid;
    node.d = [[0.0; 12]; 12];
    node.b = [[0.0; 12]; 12];
    node.t = [[0.0; 12]; 12];
    let inverse = body.inverse.rows();
    for k in 0..6 {
        if k < 3 {
            node.d[k][..3].copy_from_slice(&inverse[k]);
            node.b[6 + k][..6].copy_from_slice(&body.geometric[k]);
        } else {
            node.d[k][k] = sigma;
        }
        node.d[k][6 + k] = -1.0;
        node.d[6 + k][..6].copy_from_slice(&body.along_x[k]);
        node.d[6 + k][6..].copy_from_slice(&body.along_u[k]);
        node.t[k][..6].copy_from_slice(&body.t_hat[k]);
        node.t[6 + k][6..].copy_from_slice(&body.rigid[k]);
        for m in 0..6 {
            let mut sum = body.z_parent[k][m];
            for l in 0..6 {
                sum += body.z_own[k][l] * body.t_hat[l][m];
            }
            node.t[6 + k][m] = sum;
        }
    }
    for (j, freedom) in own.iter().enumerate() {
        let (position, velocity) = (node.first + j, node.first + nv + j);
        let (pi, psi) = (&mut tree.pi, &mut tree.psi);
        pi[velocity] = [0.0; 12];
        pi[velocity][6..].copy_from_slice(&freedom.p);
        pi[position][..6].copy_from_slice(&freedom.p_hat);
        for k in 0..6 {
            pi[position][6 + k] = freedom.p_epsilon[k] + dot6(&body.z_own[k], &freedom.p_hat);
        }
        psi[position] = [0.0; 12];
        psi[velocity] = [0.0; 12];
        psi[velocity][..3].copy_from_slice(&freedom.theta);
        let lambda = &mut tree.lambda;
        lambda[position] = [0.0; 12];
        lambda[position][..nv].copy_from_slice(&freedom.inverse[..nv]);
        lambda[position][nv + j] = -1.0;
        lambda[velocity] = [0.0; 12];
        lambda[velocity][..nv].copy_from_slice(&freedom.epsilon[..nv]);
        lambda[velocity][nv + j] = freedom.rate;
    }
}
