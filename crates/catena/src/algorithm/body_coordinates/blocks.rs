//! Derivatives of the equations of one body and its joint.
//!
//! Rotations change by δR = R [δθ]ₓ, coordinates of joints by ε (δq = N ε); δx = (δθ, δr), δu = (δω, δV), d = r − r_a, Ω = R_a ω_a, and
//! Tᵣ = [RᵀR_a, 0; −[d]ₓR_a, 1] the rigid transport:
//!
//! ```text
//! (1)  δx = g + Γ δu,   Γ = diag((σ − ½[ω]ₓ)/(σ² + ¼ω²), 1/σ),   Γ⁻¹ = diag(σ + ½[ω]ₓ + ωωᵀ/4σ, σ)
//! (2)  A_u δu + A_x δx − δw + Σ_c (Tᵣᵀ δw + B_i δx_c + B_a δx) = …
//!        B_i = [−R_aᵀR[n]ₓ, −R_aᵀ[f]ₓ; 0, 0],   B_a = [[R_aᵀ(R n + d×f)]ₓ, R_aᵀ[f]ₓ; 0, 0]
//! (3)  P'ᵀ δw + L δθ + K ε + (σJ + b) δv = …,   P' = diag(1, R) P,   L = [P_v × Rᵀf]ᵀ,   K = spring + ∂P/∂ε · w
//! (4)  δx = T̂ δx_a + P̂ ε + …,   T̂ = [Eα⁻¹Eβ Qᵀ, 0; −[R_a t]ₓR_a, 1],   P̂ = [Eα⁻¹Eβ P_ω; R_a Q P_v]
//!        Eα = ½(tr E − Eᵀ),   Eβ = ½(tr E − E)
//! (5)  δu = Tᵣ δu_a + Z_a δx_a + Z_i δx + P' δv + P_ε ε + …
//!        Z_a = [−RᵀR_a[ω_a]ₓ, 0; [d]ₓ[Ω]ₓR_a, −[Ω]ₓ],   Z_i = [[RᵀΩ]ₓ, 0; −R[P_v v]ₓ, [Ω]ₓ]
//! ```

use super::elimination::Mat6;
use super::residual::{BodyEquations, force, quaternion, times_pure, vector};
use super::{Acting, Layout, PARAMETERS, TURNING, VELOCITY};
use crate::dense::Lu3;
use crate::model::Model;
use crate::model::joint::{AnyJoint, any};
use crate::spatial::{Force, Mat3, Motion, Vec3};

/// Blocks of a body.
#[derive(Clone, Debug)]
pub(super) struct BodyBlock {
    /// Γ and Γ⁻¹ of the rotation.
    pub gain: Mat3<f64>,
    pub inverse: Mat3<f64>,
    /// A_x, with the B_a of the children.
    pub along_x: Mat6,
    /// A_u.
    pub along_u: Mat6,
    /// B_i, its three rows.
    pub geometric: [[f64; 6]; 3],
    /// B_a, its three rows, for the parent.
    pub on_parent: [[f64; 6]; 3],
    pub rigid: Mat6,
    pub z_parent: Mat6,
    pub z_own: Mat6,
    pub t_hat: Mat6,
    /// Eα⁻¹.
    pub turn_back: Mat3<f64>,
}

/// Blocks of a freedom of a joint.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreedomBlock {
    /// P', P_ε, P̂.
    pub p: [f64; 6],
    pub p_epsilon: [f64; 6],
    pub p_hat: [f64; 6],
    /// Row of L, row of K, and σJ + b of the freedom.
    pub theta: [f64; 3],
    pub epsilon: [f64; 6],
    pub rate: f64,
    /// The freedom's rows of the joint's Γ and Γ⁻¹.
    pub gain: [f64; 6],
    pub inverse: [f64; 6],
}

impl BodyBlock {
    pub const fn zero() -> Self {
        let zero = [[0.0; 6]; 6];
        let none = Vec3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        };
        let mat = Mat3::from_columns(none, none, none);
        BodyBlock {
            gain: mat,
            inverse: mat,
            along_x: zero,
            along_u: zero,
            geometric: [[0.0; 6]; 3],
            on_parent: [[0.0; 6]; 3],
            rigid: zero,
            z_parent: zero,
            z_own: zero,
            t_hat: zero,
            turn_back: mat,
        }
    }
}

impl FreedomBlock {
    pub const fn zero() -> Self {
        FreedomBlock {
            p: [0.0; 6],
            p_epsilon: [0.0; 6],
            p_hat: [0.0; 6],
            theta: [0.0; 3],
            epsilon: [0.0; 6],
            rate: 0.0,
            gain: [0.0; 6],
            inverse: [0.0; 6],
        }
    }
}

/// Γ of a rotation with angular velocity ω, and its inverse.
pub(super) fn gains(sigma: f64, omega: Vec3<f64>) -> [Mat3<f64>; 2] {
    let turn = Mat3::skew(omega);
    let one = Mat3::identity();
    let scale = 1.0 / (sigma * sigma + 0.25 * omega.dot(omega));
    let outer = Mat3::from_columns(omega * omega.x, omega * omega.y, omega * omega.z);
    [
        (one * sigma - turn * 0.5) * scale,
        one * sigma + turn * 0.5 + outer * (0.25 / sigma),
    ]
}

/// (σ − ½ · ∘ ω)⁻¹ of a quaternion.
pub(super) fn untangled(sigma: f64, omega: Vec3<f64>, p: [f64; 4]) -> [f64; 4] {
    let scale = 1.0 / (sigma * sigma + 0.25 * omega.dot(omega));
    let turned = times_pure(p, omega);
    let mut out = [0.0; 4];
    for k in 0..4 {
        out[k] = scale * (sigma * p[k] + 0.5 * turned[k]);
    }
    out
}

/// 2 vec(p̄ ∘ δp)/|p|²: the rotation vector of a change of Euler parameters.
pub(super) fn rotation_of(p: [f64; 4], change: [f64; 4]) -> Vec3<f64> {
    let length = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    let (v, w) = (vector(&p[1..]), vector(&change[1..]));
    (w * p[0] - v * change[0] - v.cross(w)) * (2.0 / length)
}

/// Stiffness and damping that a controller adds to the model's own, per freedom.
pub(super) struct Gains<'a> {
    pub stiffness: &'a [f64],
    pub damping: &'a [f64],
    /// Whether external forces are constant in the world.
    pub forces_stay: bool,
}

/// All derivatives for body i and its joint. `equations` must have been evaluated or loaded at x.
pub(super) fn fill(
    model: &Model,
    layout: Layout,
    equations: &BodyEquations<f64>,
    acting: &Acting<'_, f64>,
    gains_of: &Gains<'_>,
    (x, xdot, sigma): (&[f64], &[f64], f64),
    i: usize,
    body: &mut BodyBlock,
    freedoms: &mut [FreedomBlock],
) {
    let info = model.tree().nodes[i];
    let a = info.parent;
    let at = layout.body(i);
    let (pose, above) = (equations.pose[i], equations.pose[a]);
    let (r, r_a) = (pose.rotation, above.rotation);
    let Motion {
        angular: omega,
        linear: _,
    } = equations.velocity[i];
    let omega_a = equations.velocity[a].angular;
    let load = force(&x[layout.load(i)..]);
    let d = pose.translation - above.translation;
    let turning = r_a * omega_a;
    let back = r.transpose() * r_a; // Rᵀ R_a

    // (1)
    [body.gain, body.inverse] = gains(sigma, omega);

    // (2)
    let inertia = model.moments(i);
    let (m, h) = (inertia.mass, inertia.first);
    let tensor = inertia.tensor().full();
    let (h_skew, omega_skew) = (Mat3::skew(h), Mat3::skew(omega));
    let spin = vector(&xdot[at + TURNING..]);
    let acceleration = r.transpose_times(vector(&xdot[at + VELOCITY..]) - model.gravity());
    let gyroscopic = tensor * sigma + omega_skew * tensor - Mat3::skew(tensor * omega);
    let pull = r * (h_skew * -sigma - Mat3::skew(omega.cross(h)) - omega_skew * h_skew);
    block(&mut body.along_u, 0, 0, gyroscopic);
    block(&mut body.along_u, 0, 3, h_skew * r.transpose() * sigma);
    block(&mut body.along_u, 3, 0, pull);
    block(&mut body.along_u, 3, 3, Mat3::identity() * (m * sigma));
    let mut outward = spin.cross(h) + omega.cross(omega.cross(h)); // a_h
    if let Some(external) = acting.external.get(i)
        && !gains_of.forces_stay
    {
        outward -= external.force;
    }
    body.along_x = [[0.0; 6]; 6];
    block(&mut body.along_x, 0, 0, h_skew * Mat3::skew(acceleration));
    block(&mut body.along_x, 3, 0, r * Mat3::skew(outward) * -1.0);
    let into = r_a.transpose();
    let pushed = into * Mat3::skew(load.force);
    let carried = into * (r * load.moment + d.cross(load.force));
    rows(
        &mut body.geometric,
        0,
        back.transpose() * Mat3::skew(load.moment) * -1.0,
    );
    rows(&mut body.geometric, 3, pushed * -1.0);
    rows(&mut body.on_parent, 0, Mat3::skew(carried));
    rows(&mut body.on_parent, 3, pushed);
    body.rigid = [[0.0; 6]; 6];
    block(&mut body.rigid, 0, 0, back);
    block(&mut body.rigid, 3, 0, Mat3::skew(d) * r_a * -1.0);
    block(&mut body.rigid, 3, 3, Mat3::identity());

    // the joint
    let nv = info.kind.nv();
    let setting = model.setting(i, &equations.angles);
    let v = &x[layout.nq + info.v..layout.nq + info.v + nv];
    let own = Force::new(load.moment, r.transpose_times(load.force));
    let mut columns = [Motion::zero(); 6];
    let mut rates = [[Motion::<f64>::zero(); 6]; 6]; // ∂ column k / ∂ε_j
    let joint_pose = any::pose(info.kind, setting, &equations.q[info.q..]);
    let joint = AnyJoint {
        kind: info.kind,
        setting,
        pose: &joint_pose,
    };
    for j in 0..nv {
        columns[j] = joint.column(j);
        let mut unit = [0.0; 6];
        unit[j] = 1.0;
        for k in 0..nv {
            rates[k][j] = joint.column_rate(k, &unit[..nv]);
        }
    }
    let mut relative = Motion::zero();
    for k in 0..nv {
        relative = relative + columns[k] * v[k];
    }

    // (5)
    let (turning_skew, zero) = (Mat3::skew(turning), Mat3::zero());
    block(&mut body.z_parent, 0, 0, back * Mat3::skew(omega_a) * -1.0);
    block(&mut body.z_parent, 0, 3, zero);
    block(&mut body.z_parent, 3, 0, Mat3::skew(d) * turning_skew * r_a);
    block(&mut body.z_parent, 3, 3, turning_skew * -1.0);
    block(&mut body.z_own, 0, 0, Mat3::skew(back * omega_a));
    block(&mut body.z_own, 0, 3, zero);
    block(
        &mut body.z_own,
        3,
        0,
        r * Mat3::skew(relative.linear) * -1.0,
    );
    block(&mut body.z_own, 3, 3, turning_skew);

    // (4)
    let q_back = joint_pose.rotation.transpose();
    let e = q_back * back.transpose();
    // under a large constraint violation, as in a damaged checkpoint, these are not the derivatives: the iteration diverges and the step is rejected
    let half_trace = Mat3::identity() * (0.5 * (e.x.x + e.y.y + e.z.z));
    let alpha = half_trace - e.transpose() * 0.5;
    let beta = half_trace - e * 0.5;
    let inverse = inverse_of(alpha);
    let turn = inverse * beta;
    body.turn_back = inverse;
    body.t_hat = [[0.0; 6]; 6];
    block(&mut body.t_hat, 0, 0, turn * q_back);
    let arm = r_a * joint_pose.translation;
    block(&mut body.t_hat, 3, 0, Mat3::skew(arm) * r_a * -1.0);
    block(&mut body.t_hat, 3, 3, Mat3::identity());

    let quaternion_at = info.kind.quaternion().unwrap_or(nv);
    let mut joint_gains = [Mat3::zero(); 2];
    if quaternion_at < nv {
        joint_gains = gains(sigma, vector(&v[quaternion_at..]));
    }
    for k in 0..nv {
        let freedom = &mut freedoms[k];
        let column = columns[k];
        freedom.p = six(column.angular, r * column.linear);
        freedom.p_hat = six(
            turn * column.angular,
            r_a * (joint_pose.rotation * column.linear),
        );
        let mut change = Motion::zero();
        for j in 0..nv {
            change = change + rates[j][k] * v[j];
        }
        freedom.p_epsilon = six(change.angular, r * change.linear);
        freedom.theta = column.linear.cross(own.force).to_array();
        freedom.epsilon = [0.0; 6];
        for j in 0..nv {
            freedom.epsilon[j] = own.dot(rates[k][j]);
        }
        let index = info.v + k;
        let dof = &model.dofs[index];
        if k < quaternion_at && quaternion_at == nv {
            freedom.epsilon[k] += dof.stiffness + gains_of.stiffness[index];
        }
        freedom.rate = sigma * dof.armature + dof.damping + gains_of.damping[index];
        freedom.gain = [0.0; 6];
        freedom.inverse = [0.0; 6];
        if k < quaternion_at {
            freedom.gain[k] = 1.0 / sigma;
            freedom.inverse[k] = sigma;
        } else {
            let row = k - quaternion_at;
            freedom.gain[quaternion_at..quaternion_at + 3]
                .copy_from_slice(&joint_gains[0].rows()[row]);
            freedom.inverse[quaternion_at..quaternion_at + 3]
                .copy_from_slice(&joint_gains[1].rows()[row]);
        }
        if acting.held.get(index) == Some(&true) {
            freedom.theta = [0.0; 3];
            freedom.epsilon = [0.0; 6];
            freedom.rate = sigma;
        }
    }
}

/// g of body i, (1): the change of positions due to the kinematic equations alone, without a change of velocities.
pub(super) fn offset(
    layout: Layout,
    equations: &BodyEquations<f64>,
    (x, sigma): (&[f64], f64),
    rhs: &[f64],
    i: usize,
) -> [f64; 6] {
    let at = layout.body(i);
    let p = quaternion(&x[at + PARAMETERS..]);
    let change = untangled(
        sigma,
        equations.velocity[i].angular,
        quaternion(&rhs[at + PARAMETERS..]),
    );
    six(rotation_of(p, change), vector(&rhs[at..]) * (1.0 / sigma))
}

fn inverse_of(m: Mat3<f64>) -> Mat3<f64> {
    match Lu3::new(m) {
        Some(lu) => {
            let one = Mat3::identity();
            Mat3::from_columns(lu.solve(one.x), lu.solve(one.y), lu.solve(one.z))
        }
        None => Mat3::zero(),
    }
}

pub(super) fn six(a: Vec3<f64>, b: Vec3<f64>) -> [f64; 6] {
    [a.x, a.y, a.z, b.x, b.y, b.z]
}

/// Writes a 3×3 block.
fn block(m: &mut Mat6, row: usize, column: usize, b: Mat3<f64>) {
    for (m, b) in m[row..].iter_mut().zip(b.rows()) {
        m[column..column + 3].copy_from_slice(&b);
    }
}

fn rows(m: &mut [[f64; 6]; 3], column: usize, b: Mat3<f64>) {
    for (m, b) in m.iter_mut().zip(b.rows()) {
        m[column..column + 3].copy_from_slice(&b);
    }
}
