//! Three-dimensional space for the recursions: vectors, matrices, poses and the constants of bodies, whatever their
//! representation.
//!
//! A recursion over a [`Space`] is written once for every number type. [`Components`] holds a vector as three numbers,
//! of any [`Scalar`]: `f64`, lanes of states, dual numbers, counts, symbols. `arch::Registers` holds a vector of one state in one
//! AVX2 register: a rotation is three multiply-adds instead of nine. `tests/paths.rs` compares both on every model.
//!
//! They differ in layout, not in mathematics. Hence a few types that are all vectors in components:
//!
//! | type | in registers |
//! |---|---|
//! | [`Spread`](Space::Spread) | each component in all lanes: a vector about to be multiplied by a matrix |
//! | [`Lever`](Space::Lever) | with its components permuted: a left factor of cross products |
//! | [`Crosses`](Space::Crosses) | a sum of cross products that is still to be permuted, once for all of them |
//!
//! Functions are `#[inline(always)]` and free of closures, which would not be compiled for the caller's instruction set.

mod components;
mod joints;

pub(crate) use components::Components;
pub(crate) use joints::{BodyMotion, Freed, Freedom, JointIn, Other, Sliding, Turning, in_space};

use crate::model::Angles;
use crate::model::joint::Setting;
use crate::model::{Node, Tree};
use crate::scalar::Scalar;
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, RigidInertia, Vec3};
use std::fmt::Debug;
use std::ops::{Add, Sub};

/// A representation of vectors and matrices, with its operations.
pub(crate) trait Space: Copy + Debug + 'static {
    /// A coordinate, a rate, an effort.
    type Number: Scalar;
    /// A vector.
    type Vector: Copy + Debug + Add<Output = Self::Vector> + Sub<Output = Self::Vector>;
    /// A vector whose components are ready to be factors.
    type Spread: Copy + Debug;
    /// A vector ready to be the left factor of cross products.
    type Lever: Copy;
    /// A sum of cross products.
    type Crosses: Copy;
    /// Moment about a body's origin, and force.
    type Wrench: Copy + Debug;
    /// A twist or a twist rate: angular part, and linear part of the body's origin.
    type Motion: Copy + Debug;
    /// A matrix.
    type Matrix: Copy + Debug;
    /// Mass, first and second moments of bodies rigidly joined.
    type Moments: Copy + Debug;
    /// An articulated inertia.
    type Articulated: Copy + Debug;
    /// Pose of a body in its parent, for both directions.
    type Pose: Copy + Debug;
    /// The part of a pose needed from the body to its parent.
    type Kept: Copy + Debug;
    /// The constants of a joint and the sines and cosines of its angles.
    type Setting<'a>: Copy;
    /// Mass and moments of a body.
    type Inertia<'a>: Copy;

    /// Whether recursions store the articulated inertias of all bodies.
    const KEEPS_INERTIAS: bool;

    /// Storage for the sines and cosines of a model.
    fn angles(tree: &Tree) -> Angles<Self::Number>;
    /// Sines and cosines at these positions.
    fn fill(angles: &mut Angles<Self::Number>, tree: &Tree, q: &[Self::Number]);

    /// 0.
    fn zero() -> Self::Vector;
    /// A vector from its components.
    fn vector(v: Vec3<Self::Number>) -> Self::Vector;
    /// The components of a vector.
    fn components(v: Self::Vector) -> Vec3<Self::Number>;
    /// A vector ready to be multiplied by matrices.
    fn spread(v: Self::Vector) -> Self::Spread;
    /// The third component of a vector.
    fn z(v: Self::Vector) -> Self::Number;
    /// A vector with another third component.
    fn with_z(v: Self::Vector, z: Self::Number) -> Self::Vector;
    /// v + (0, 0, z).
    fn plus_z(v: Self::Vector, z: Self::Number) -> Self::Vector;
    /// v × (0, 0, rate).
    fn cross_z(v: Self::Vector, rate: Self::Number) -> Self::Vector;
    /// v × (0, 0, rate) + (0, 0, along).
    fn across_z(v: Self::Vector, rate: Self::Number, along: Self::Number) -> Self::Vector;

    /// A vector ready to be crossed with others.
    fn lever(v: Self::Vector) -> Self::Lever;
    /// v x + c.
    fn scale_add(v: Self::Vector, x: Self::Number, c: Self::Vector) -> Self::Vector;
    /// a × b + c.
    fn cross_plus(a: Self::Lever, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// a × b.
    fn cross(a: Self::Lever, b: Self::Vector) -> Self::Vector;
    /// The vector of a sum of cross products.
    fn settle(sum: Self::Crosses) -> Self::Vector;

    /// A wrench from moment and force.
    fn wrench(moment: Self::Vector, force: Self::Vector) -> Self::Wrench;
    /// The moment of a wrench.
    fn moment(f: &Self::Wrench) -> Self::Vector;
    /// The force of a wrench.
    fn force(f: &Self::Wrench) -> Self::Vector;
    /// A wrench from numbers.
    #[inline(always)]
    fn wrench_of(f: Force<Self::Number>) -> Self::Wrench {
        Self::wrench(Self::vector(f.moment), Self::vector(f.force))
    }
    /// A wrench in numbers.
    #[inline(always)]
    fn wrench_numbers(f: &Self::Wrench) -> Force<Self::Number> {
        Force::new(
            Self::components(Self::moment(f)),
            Self::components(Self::force(f)),
        )
    }

    /// f + g.
    #[inline(always)]
    fn wrench_sum(f: &Self::Wrench, g: &Self::Wrench) -> Self::Wrench {
        Self::wrench(
            Self::moment(f) + Self::moment(g),
            Self::force(f) + Self::force(g),
        )
    }
    /// f + g x.
    fn add_scaled(f: &Self::Wrench, g: &Self::Wrench, x: Self::Number) -> Self::Wrench;

    /// A motion from its angular and linear part.
    fn motion(angular: Self::Vector, linear: Self::Vector) -> Self::Motion;
    /// The angular part of a motion.
    fn angular(m: &Self::Motion) -> Self::Vector;
    /// The linear part of a motion.
    fn linear(m: &Self::Motion) -> Self::Vector;
    /// A motion from numbers.
    #[inline(always)]
    fn motion_of(m: Motion<Self::Number>) -> Self::Motion {
        Self::motion(Self::vector(m.angular), Self::vector(m.linear))
    }
    /// A motion in numbers.
    #[inline(always)]
    fn motion_numbers(m: &Self::Motion) -> Motion<Self::Number> {
        Motion::new(
            Self::components(Self::angular(m)),
            Self::components(Self::linear(m)),
        )
    }
    /// m + n.
    #[inline(always)]
    fn motion_sum(m: &Self::Motion, n: &Self::Motion) -> Self::Motion {
        Self::motion(
            Self::angular(m) + Self::angular(n),
            Self::linear(m) + Self::linear(n),
        )
    }
    /// m + n x.
    #[inline(always)]
    fn motion_add_scaled(m: &Self::Motion, n: &Self::Motion, x: Self::Number) -> Self::Motion {
        Self::motion(
            Self::scale_add(Self::angular(n), x, Self::angular(m)),
            Self::scale_add(Self::linear(n), x, Self::linear(m)),
        )
    }
    /// m × n: the rate of change of a motion n that moves with the twist m.
    #[inline(always)]
    fn motion_cross(m: &Self::Motion, n: &Self::Motion) -> Self::Motion {
        let omega = Self::lever(Self::angular(m));
        let sliding = Self::cross(Self::lever(Self::linear(m)), Self::angular(n));
        Self::motion(
            Self::cross(omega, Self::angular(n)),
            Self::cross_plus(omega, Self::linear(n), sliding),
        )
    }
    /// Linear part of a motion at r: v + ω × r.
    fn linear_at(m: &Self::Motion, r: Self::Lever) -> Self::Vector;

    /// M v.
    fn times(m: &Self::Matrix, v: Self::Spread) -> Self::Vector;
    /// M v + c.
    fn times_plus(m: &Self::Matrix, v: Self::Spread, c: Self::Vector) -> Self::Vector;
    /// 0.
    fn no_matrix() -> Self::Matrix;
    /// The sum of two.
    fn matrix_sum(a: Self::Matrix, b: Self::Matrix) -> Self::Matrix;
    /// M x.
    fn matrix_scaled(m: Self::Matrix, x: f64) -> Self::Matrix;
    /// ã x.
    fn skew_scaled(a: Self::Vector, x: f64) -> Self::Matrix;
    /// M + ã b̃ = M + b aᵀ − (a·b) 1.
    fn plus_cross_cross(m: Self::Matrix, a: &Self::Vector, b: Self::Vector) -> Self::Matrix;
    /// M + ã N.
    fn plus_cross_columns(m: Self::Matrix, a: Self::Lever, n: &Self::Matrix) -> Self::Matrix;
    /// M − a bᵀ.
    fn minus_outer(m: Self::Matrix, a: Self::Vector, b: Self::Spread) -> Self::Matrix;
    /// Mᵀ a + Nᵀ b.
    fn transposes_times(
        m: &Self::Matrix,
        a: Self::Vector,
        n: &Self::Matrix,
        b: Self::Vector,
    ) -> Self::Vector;
    /// The third column of a matrix.
    fn column_z(m: &Self::Matrix) -> Self::Vector;
    /// A matrix in numbers.
    fn matrix_numbers(m: &Self::Matrix) -> Mat3<Self::Number>;
    /// Ω = ω̃̇ + ω̃ ω̃: the acceleration of a point ρ of a rotating body is a + Ω ρ.
    fn angular_rate(omega: Self::Vector, spread: Self::Spread, alpha: Self::Vector)
    -> Self::Matrix;

    /// A pose from numbers.
    fn pose(pose: Pose<Self::Number>) -> Self::Pose;
    /// The placement of the joint, rotated about its z by its angle.
    fn turned(setting: Self::Setting<'_>) -> Self::Pose;
    /// The placement of the joint, moved along its z.
    fn slid(setting: Self::Setting<'_>, q: Self::Number) -> Self::Pose;
    /// The part of a pose that the inward pass needs.
    fn kept(pose: &Self::Pose) -> &Self::Kept;
    /// A pose in numbers.
    fn pose_numbers(kept: &Self::Kept) -> Pose<Self::Number>;
    /// r, of a pose.
    fn translation(kept: &Self::Kept) -> Self::Vector;
    /// R, of a pose.
    fn rotation(kept: &Self::Kept) -> Self::Matrix;
    /// M R.
    fn times_rotation(m: &Self::Matrix, kept: &Self::Kept) -> Self::Matrix;
    /// Rᵀ v.
    fn back(pose: &Self::Pose, v: Self::Spread) -> Self::Vector;
    /// Rᵀ v + c.
    fn back_plus(pose: &Self::Pose, v: Self::Spread, c: Self::Vector) -> Self::Vector;
    /// Rᵀ v + (0, 0, z).
    fn back_plus_z(pose: &Self::Pose, v: Self::Spread, z: Self::Number) -> Self::Vector;
    /// R v.
    fn turn(kept: &Self::Kept, v: Self::Spread) -> Self::Vector;
    /// R v + c.
    fn turn_plus(kept: &Self::Kept, v: Self::Spread, c: Self::Vector) -> Self::Vector;

    /// Acceleration at r in the parent due to its angular velocity ω, in body axes: Rᵀ (ω × (ω × r)) = ω' × (ω' × Rᵀ r) with
    /// ω' = Rᵀ ω, which is known too.
    fn centripetal(
        pose: &Self::Pose,
        omega: Self::Spread,
        turned: Self::Vector,
        r: Self::Spread,
    ) -> Self::Vector;

    /// The joint's constants in numbers.
    fn setting<'a: 'a>(setting: Self::Setting<'a>) -> Setting<'a, Self::Number>;
    /// Translation of the joint's placement.
    fn arm(setting: Self::Setting<'_>) -> Self::Lever;
    /// Translation of the joint's placement, ready to be multiplied by matrices.
    fn arm_spread(setting: Self::Setting<'_>) -> Self::Spread;
    /// M r + c, with r the translation of the joint's placement.
    fn times_arm_plus(
        m: &Self::Matrix,
        setting: Self::Setting<'_>,
        c: Self::Vector,
    ) -> Self::Vector;

    /// m a, with the mass of a body.
    fn mass_times(inertia: Self::Inertia<'_>, a: Self::Vector) -> Self::Vector;
    /// M h + c, with the first moment of a body.
    fn times_first_plus(
        m: &Self::Matrix,
        inertia: Self::Inertia<'_>,
        c: Self::Vector,
    ) -> Self::Vector;
    /// h × a, with the first moment of a body.
    fn first_cross(inertia: Self::Inertia<'_>, a: Self::Vector) -> Self::Crosses;
    /// Σⱼ σⱼ × Mⱼ + c = vee(M Σ) + c, over the columns of the second moment Σ of a body and of M.
    fn second_crosses_plus(
        inertia: Self::Inertia<'_>,
        m: &Self::Matrix,
        c: Self::Crosses,
    ) -> Self::Crosses;
    /// h, the first moment of a body.
    fn first(inertia: Self::Inertia<'_>) -> Self::Vector;
    /// Σ v, with the second moment of a body.
    fn second_times(inertia: Self::Inertia<'_>, v: Self::Spread) -> Self::Vector;

    /// No mass.
    fn no_moments() -> Self::Moments;
    /// Moments of a body, in the axes to which `axes` rotates its own.
    fn moments(inertia: Self::Inertia<'_>, axes: &Self::Matrix) -> Self::Moments;
    /// Moments of a body, in its own axes.
    fn own_moments(inertia: Self::Inertia<'_>) -> Self::Moments;
    /// Moments in numbers.
    fn moments_numbers(moments: &Self::Moments) -> RigidInertia<Self::Number>;
    /// The sum of two.
    fn add_moments(a: Self::Moments, b: Self::Moments) -> Self::Moments;
    /// Moments about an origin in which the present one is at `arm`.
    fn shifted(moments: Self::Moments, arm: &Self::Vector) -> Self::Moments;
    /// Moments of a body in the axes and about the origin of its parent.
    fn moments_seen(moments: Self::Moments, kept: &Self::Kept) -> Self::Moments;
    /// Momentum of a rotation about z at unit rate.
    fn momentum_about_z(moments: &Self::Moments) -> Self::Wrench;
    /// Momentum of a translation along z at unit rate.
    fn momentum_along_z(moments: &Self::Moments) -> Self::Wrench;

    /// The first moment.
    fn first_of(moments: &Self::Moments) -> Self::Vector;
    /// ω̃ Σ.
    fn second_spun(moments: &Self::Moments, omega: Self::Lever) -> Self::Matrix;
    /// Linear momentum ω × h + m v.
    fn linear_momentum(
        moments: &Self::Moments,
        omega: Self::Lever,
        v: Self::Vector,
    ) -> Self::Vector;
    /// The wrench that gives the origin the acceleration `a` while a point ρ has Ω ρ in addition.
    fn newton_euler(
        moments: &Self::Moments,
        turning: &Self::Matrix,
        a: Self::Vector,
    ) -> Self::Wrench;

    /// No inertia.
    fn no_inertia() -> Self::Articulated;
    /// The articulated inertia of a rigid body.
    fn rigid(inertia: Self::Inertia<'_>) -> Self::Articulated;
    /// The articulated inertia of rigid bodies of these moments.
    fn rigid_of(moments: &Self::Moments) -> Self::Articulated;
    /// The articulated inertia about a point in which the present one is at `d`.
    fn moved(inertia: Self::Articulated, d: &Self::Vector) -> Self::Articulated;
    /// M̂ − ψ ψᵀ m̂, whatever the direction of the freedom.
    fn without(
        inertia: Self::Articulated,
        psi: &Self::Wrench,
        inverse: Self::Number,
    ) -> Self::Articulated;
    /// An articulated inertia from numbers.
    fn articulated(inertia: ArticulatedInertia<Self::Number>) -> Self::Articulated;
    /// An articulated inertia in numbers.
    fn articulated_numbers(inertia: Self::Articulated) -> ArticulatedInertia<Self::Number>;
    /// The sum of two.
    fn joined(a: Self::Articulated, b: Self::Articulated) -> Self::Articulated;
    /// The wrench that gives a twist rate.
    fn inertia_times(inertia: &Self::Articulated, m: &Self::Motion) -> Self::Wrench;
    /// The remaining inertia of a body in its parent's frame; `r` is the translation of the pose.
    fn seen(rest: Self::Articulated, pose: &Self::Pose, r: Self::Lever) -> Self::Articulated;
    /// The remaining inertia of a body in its parent's frame, plus the inertia of the parent.
    fn seen_with(
        rest: Self::Articulated,
        pose: &Self::Pose,
        r: Self::Lever,
        parent: Self::Inertia<'_>,
    ) -> Self::Articulated;
    /// Eliminates the rotation about z, with this rotor inertia: `spatial::elimination`.
    fn without_rotation_z(inertia: Self::Articulated, rotor: Self::Number) -> Eliminated<Self>;
    /// Eliminates the translation along z.
    fn without_translation_z(inertia: Self::Articulated, rotor: Self::Number) -> Eliminated<Self>;
    /// ψᵀ ṫ of a body whose twist rate is ṫ = B ṫₚ + β; `r` is the translation of the pose.
    fn along(
        psi: &Self::Wrench,
        rate: &Self::Motion,
        parent: &Self::Motion,
        beta: &Self::Motion,
        pose: &Self::Pose,
        r: Self::Lever,
    ) -> Self::Number;

    /// Destination of ψ of a joint with several freedoms, in numbers: its final place or this buffer.
    fn psi_room<'a>(
        psi: &'a mut [Self::Wrench],
        room: &'a mut [Force<Self::Number>; 6],
    ) -> &'a mut [Force<Self::Number>];
    /// Copies the contents of the buffer to their final place.
    fn psi_written(psi: &mut [Self::Wrench], room: &[Force<Self::Number>; 6]);
    /// ψ of a joint with several freedoms in numbers, from its place or by way of this buffer.
    fn psi_numbers<'a>(
        psi: &'a [Self::Wrench],
        room: &'a mut [Force<Self::Number>; 6],
    ) -> &'a [Force<Self::Number>];
}

/// The articulated inertia after an elimination, and its factors.
pub(crate) struct Eliminated<E: Space> {
    /// M̂'.
    pub rest: E::Articulated,
    /// ψ = M̂ p / m̂.
    pub psi: E::Wrench,
    /// 1/m̂.
    pub inverse: E::Number,
}

/// Access of a space to the constants of a model.
pub(crate) trait Constants<E: Space> {
    /// Body i in the tree.
    fn node(&self, i: usize) -> Node;
    /// Constants of the joint that carries body i.
    fn setting<'a>(&'a self, i: usize, angles: &'a Angles<E::Number>) -> E::Setting<'a>;
    /// Inertia of body i.
    fn inertia(&self, i: usize) -> E::Inertia<'_>;
}
