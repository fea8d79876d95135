//! Sines and cosines of the joint angles.

use super::Tree;
use crate::scalar::Scalar;

/// Sine and cosine of all angles of a model, in one pass.
#[derive(Clone, Debug)]
pub(crate) struct Angles<S> {
    pub angle: Vec<S>,
    pub sin: Vec<S>,
    pub cos: Vec<S>,
}

impl<S: Scalar> Angles<S> {
    pub fn new(tree: &Tree) -> Self {
        let zero = vec![S::zero(); tree.angles.len()];
        Angles {
            angle: zero.clone(),
            sin: zero.clone(),
            cos: zero,
        }
    }

    #[inline(always)]
    pub fn fill(&mut self, tree: &Tree, q: &[S]) {
        for (angle, &k) in self.angle.iter_mut().zip(&tree.angles) {
            *angle = q[k];
        }
        S::sin_cos_all(&self.angle, &mut self.sin, &mut self.cos);
    }

    /// Sines and cosines of another workspace.
    pub fn fill_from(&mut self, other: &Self) {
        let count = self.sin.len().min(other.sin.len());
        self.sin[..count].copy_from_slice(&other.sin[..count]);
        self.cos[..count].copy_from_slice(&other.cos[..count]);
    }
}
