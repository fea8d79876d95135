//! The factors of I(q) as computed by recursions in a space.

use crate::model::Angles;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::space::Space;
use crate::spatial::Pose;

/// Factors in a space other than components; those of components are a [`Factorization`](super::Factorization).
#[derive(Clone, Debug)]
pub(crate) struct Factors<E: Space> {
    angles: Angles<E::Number>,
    pose: Vec<E::Pose>,
    articulated: Vec<E::Articulated>,
    /// ψₖ per freedom, in the axes the joint eliminates in.
    psi: Vec<E::Wrench>,
    /// 1/m̂ₖ per freedom.
    pub inverse: Vec<E::Number>,
}

/// Where a recursion writes them.
pub(crate) struct FactorsMut<'a, E: Space> {
    pub angles: &'a mut Angles<E::Number>,
    pub pose: &'a mut [E::Pose],
    /// M̂ of bodies where the tree branches, or of all (`Space::KEEPS_INERTIAS`).
    pub articulated: &'a mut [E::Articulated],
    pub psi: &'a mut [E::Wrench],
    pub inverse: &'a mut [E::Number],
}

/// References to them for reading.
#[derive(Clone, Copy)]
pub(crate) struct FactorsRef<'a, E: Space> {
    pub angles: &'a Angles<E::Number>,
    pub pose: &'a [E::Pose],
    pub psi: &'a [E::Wrench],
    pub inverse: &'a [E::Number],
}

impl<E: Space> Factors<E> {
    /// Storage for the factors of this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        Factors {
            angles: E::angles(model.tree()),
            pose: vec![E::pose(Pose::identity()); n],
            articulated: vec![E::no_inertia(); n],
            psi: vec![E::wrench(E::zero(), E::zero()); nv],
            inverse: vec![E::Number::zero(); nv],
        }
    }

    #[inline(always)]
    pub fn parts(&mut self) -> FactorsMut<'_, E> {
        FactorsMut {
            angles: &mut self.angles,
            pose: &mut self.pose,
            articulated: &mut self.articulated,
            psi: &mut self.psi,
            inverse: &mut self.inverse,
        }
    }

    #[inline(always)]
    pub fn found(&self) -> FactorsRef<'_, E> {
        FactorsRef {
            angles: &self.angles,
            pose: &self.pose,
            psi: &self.psi,
            inverse: &self.inverse,
        }
    }
}
