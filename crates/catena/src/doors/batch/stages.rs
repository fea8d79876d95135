//! The stages of methods with fixed steps, with a trajectory in each lane.

use crate::model::Model;
use crate::scalar::{Scalar, Vector, Wide};
use crate::state::step_kernel;

/// Buffers of the stages.
#[derive(Clone, Debug)]
pub(crate) struct Stages<V: Vector> {
    /// The present positions, those of the second stage and those of the stage that is evaluated.
    pub q: [Vec<Wide<V>>; 3],
    /// The present velocities, those of the second and third stage and those of the stage that is evaluated.
    pub v: [Vec<Wide<V>>; 4],
    /// Accelerations at the stages.
    pub a: [Vec<Wide<V>>; 4],
    pub delta: Vec<Wide<V>>,
    pub tau: Vec<Wide<V>>,
}

impl<V: Vector> Stages<V> {
    pub fn new(model: &Model) -> Self {
        let (q, v) = (
            vec![Wide::zero(); model.nq()],
            vec![Wide::zero(); model.nv()],
        );
        Stages {
            q: [q.clone(), q.clone(), q],
            v: [v.clone(), v.clone(), v.clone(), v.clone()],
            a: [v.clone(), v.clone(), v.clone(), v.clone()],
            delta: v.clone(),
            tau: v,
        }
    }
}

/// sum ← w x.
#[inline(always)]
fn scaled<V: Vector>(sum: &mut [Wide<V>], w: f64, x: &[Wide<V>]) {
    let w = Wide::constant(w);
    for k in 0..sum.len() {
        sum[k] = w * x[k];
    }
}

/// sum ← sum + w x.
#[inline(always)]
fn add_scaled<V: Vector>(sum: &mut [Wide<V>], w: f64, x: &[Wide<V>]) {
    let w = Wide::constant(w);
    for k in 0..sum.len() {
        sum[k] = w.mul_add(x[k], sum[k]);
    }
}

impl<V: Vector> Stages<V> {
    /// q and v of stage k + 1 of the classical method from the results of stages 1…k: (1)–(3).
    #[inline(always)]
    pub fn classical_stage(&mut self, model: &Model, k: usize, h: f64) {
        let Stages {
            q: [q, q_second, q_stage],
            v: [v1, v2, v3, v_stage],
            a,
            delta,
            ..
        } = self;
        let (ahead, velocity) = match k {
            1 => (0.5 * h, &*v1),
            2 => (0.5 * h, &*v2),
            _ => (h, &*v3),
        };
        scaled(delta, ahead, velocity);
        if k == 3 {
            add_scaled(delta, -0.5 * h, v1);
            q_stage.copy_from_slice(q_second);
        } else {
            q_stage.copy_from_slice(q);
        }
        step_kernel(model, q_stage, delta);
        v_stage.copy_from_slice(v1);
        add_scaled(v_stage, ahead, &a[k - 1]);
        match k {
            1 => {
                q_second.copy_from_slice(q_stage);
                v2.copy_from_slice(v_stage);
            }
            2 => v3.copy_from_slice(v_stage),
            _ => {}
        }
    }

    /// The step of the classical method: (4) and (5).
    #[inline(always)]
    pub fn classical_end(&mut self, model: &Model, h: f64) {
        let Stages {
            q: [q, ..],
            v: [v1, v2, v3, v4],
            a: [a1, a2, a3, a4],
            delta,
            ..
        } = self;
        let (one, two, three) = (h / 12.0, h / 6.0, h / 4.0);
        for (first, last) in [(three, -one), (-one, three)] {
            scaled(delta, first, v1);
            add_scaled(delta, two, v2);
            add_scaled(delta, two, v3);
            add_scaled(delta, last, v4);
            step_kernel(model, q, delta); // (4)
        }
        add_scaled(v1, h / 6.0, a1);
        add_scaled(v1, h / 3.0, a2);
        add_scaled(v1, h / 3.0, a3);
        add_scaled(v1, h / 6.0, a4); // (5)
    }

    /// The step of semi-implicit Euler.
    #[inline(always)]
    pub fn euler_end(&mut self, model: &Model, h: f64) {
        add_scaled(&mut self.v[0], h, &self.a[0]); // (1)
        scaled(&mut self.delta, h, &self.v[0]);
        step_kernel(model, &mut self.q[0], &self.delta); // (2)
    }
}
