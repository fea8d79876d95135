//! Several freedoms of one state in one register.
//!
//! The loops over pairs of freedoms treat every column alike. Where one state is computed at a time, a [`Pack`] holds
//! one quantity of neighbouring columns; where the scalar is already wide (many states) or not `f64`, a pack is one column.

use crate::scalar::{Fused, Scalar, Vector, Wide};
use crate::spatial::{Force, Motion, Vec3};
use std::fmt::Debug;
use std::marker::PhantomData;

/// How columns of the scalar `S` are grouped.
pub(crate) trait Pack<S: Scalar>: Copy + Debug + 'static {
    /// Columns per pack.
    const WIDTH: usize;

    /// One number per column.
    type Many: Scalar;

    /// A number broadcast to all columns.
    fn spread(one: S) -> Self::Many;

    /// The number of one column.
    fn lane(many: &Self::Many, lane: usize) -> S;

    /// Sets the number of one column.
    fn set(many: &mut Self::Many, lane: usize, one: S);

    /// Loads one number per column.
    fn load(from: &[S]) -> Self::Many;

    /// Stores one number per column.
    fn store(many: Self::Many, to: &mut [S]);

    /// Prefetches for writing.
    #[inline(always)]
    fn prefetch(_to: &[S], _at: usize) {}
}

/// One column at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct One;

impl<S: Scalar> Pack<S> for One {
    const WIDTH: usize = 1;
    type Many = S;

    #[inline(always)]
    fn spread(one: S) -> S {
        one
    }
    #[inline(always)]
    fn lane(many: &S, _lane: usize) -> S {
        *many
    }
    #[inline(always)]
    fn set(many: &mut S, _lane: usize, one: S) {
        *many = one;
    }
    #[inline(always)]
    fn load(from: &[S]) -> S {
        from[0]
    }
    #[inline(always)]
    fn store(many: S, to: &mut [S]) {
        to[0] = many;
    }
}

/// As many columns as the register has lanes. Only for code that runs where the processor has it (see [`Vector`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register<V>(PhantomData<V>);

impl<V: Vector> Pack<Fused> for Register<V> {
    const WIDTH: usize = V::LANES;
    type Many = Wide<V>;

    #[inline(always)]
    fn spread(one: Fused) -> Wide<V> {
        Wide(V::splat(one.0))
    }
    #[inline(always)]
    fn lane(many: &Wide<V>, lane: usize) -> Fused {
        Fused(many.0.lanes()[lane])
    }
    #[inline(always)]
    fn set(many: &mut Wide<V>, lane: usize, one: Fused) {
        many.0.lanes_mut()[lane] = one.0;
    }
    #[inline(always)]
    fn load(from: &[Fused]) -> Wide<V> {
        Wide(V::load(Fused::plain(&from[..V::LANES])))
    }
    #[inline(always)]
    fn store(many: Wide<V>, to: &mut [Fused]) {
        Fused::plain_mut(&mut to[..V::LANES]).copy_from_slice(many.0.lanes());
    }
    #[inline(always)]
    fn prefetch(to: &[Fused], at: usize) {
        crate::arch::prefetch(Fused::plain(to), at);
    }
}

/// Record of a freedom, with named fields; also an array of numbers, for code that treats all of them alike.
///
/// # Safety
///
/// The type is laid out as an array of `M`: `repr(C)`, with fields that are arrays of `M`. [`record!`] declares such types.
#[allow(unsafe_code)]
pub(crate) unsafe trait Record<M: Copy>: Copy {
    /// All numbers zero.
    fn zero() -> Self;

    /// All numbers in the order of the fields.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn numbers(&self) -> &[M] {
        let length = size_of::<Self>() / size_of::<M>();
        // SAFETY: the type is laid out as an array of that many `M`.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), length) }
    }

    /// All numbers, to be written.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn numbers_mut(&mut self) -> &mut [M] {
        let length = size_of::<Self>() / size_of::<M>();
        // SAFETY: the type is laid out as an array of that many `M`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), length) }
    }
}

/// Declares a [`Record`]: a struct of arrays of `M`, each with its length.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $length:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub(crate) struct $name<M> {
            $($(#[$field_about])* pub(crate) $field: [M; $length],)*
        }

        // SAFETY: `repr(C)`, and all fields are arrays of `M`: there is no padding between or after them.
        #[allow(unsafe_code)]
        unsafe impl<M: $crate::scalar::Scalar> $crate::algorithm::pack::Record<M> for $name<M> {
            #[inline(always)]
            fn zero() -> Self {
                $name {
                    $($field: [M::zero(); $length],)*
                }
            }
        }
    };
}
pub(crate) use record;

/// Destination of the records of freedoms, the last freedom first.
pub(crate) trait Sink<R> {
    /// Storage for the record of a freedom.
    fn room(&mut self, freedom: usize) -> &mut R;

    /// Called once that record is written.
    #[inline(always)]
    fn filled(&mut self, _freedom: usize) {}
}

impl<R> Sink<R> for [R] {
    #[inline(always)]
    fn room(&mut self, freedom: usize) -> &mut R {
        &mut self[freedom]
    }
}

/// Sets the vector of one column.
#[inline(always)]
pub(crate) fn set_vec<S: Scalar, K: Pack<S>>(many: &mut Vec3<K::Many>, lane: usize, one: Vec3<S>) {
    K::set(&mut many.x, lane, one.x);
    K::set(&mut many.y, lane, one.y);
    K::set(&mut many.z, lane, one.z);
}

/// Sets the twist of one column.
#[inline(always)]
pub(crate) fn set_motion<S: Scalar, K: Pack<S>>(
    many: &mut Motion<K::Many>,
    lane: usize,
    one: Motion<S>,
) {
    set_vec::<S, K>(&mut many.angular, lane, one.angular);
    set_vec::<S, K>(&mut many.linear, lane, one.linear);
}

/// Sets the wrench of one column.
#[inline(always)]
pub(crate) fn set_force<S: Scalar, K: Pack<S>>(
    many: &mut Force<K::Many>,
    lane: usize,
    one: Force<S>,
) {
    set_vec::<S, K>(&mut many.moment, lane, one.moment);
    set_vec::<S, K>(&mut many.force, lane, one.force);
}

/// Broadcasts the vector of one column to all columns.
#[inline(always)]
pub(crate) fn spread_vec<S: Scalar, K: Pack<S>>(
    many: &Vec3<K::Many>,
    lane: usize,
) -> Vec3<K::Many> {
    Vec3::new(
        K::spread(K::lane(&many.x, lane)),
        K::spread(K::lane(&many.y, lane)),
        K::spread(K::lane(&many.z, lane)),
    )
}

/// Writes a pack at `at`: all of it with `ROOM`, else as far as it fits.
#[inline(always)]
pub(crate) fn write<S: Scalar, K: Pack<S>, const ROOM: bool>(
    out: &mut [S],
    at: usize,
    many: K::Many,
) {
    if ROOM {
        K::store(many, &mut out[at..at + K::WIDTH]);
    } else {
        put::<S, K>(out, at, many);
    }
}

/// Writes a pack to a row that starts at `at`, as far as it fits.
#[inline(always)]
pub(crate) fn put<S: Scalar, K: Pack<S>>(out: &mut [S], at: usize, many: K::Many) {
    let room = &mut out[at..];
    if room.len() >= K::WIDTH {
        K::store(many, &mut room[..K::WIDTH]);
    } else {
        for (lane, out) in room.iter_mut().enumerate() {
            *out = K::lane(&many, lane);
        }
    }
}

/// The pack that a row is in, and its lane there.
#[inline(always)]
pub(crate) fn row_in<S: Scalar, K: Pack<S>, R>(packs: &[R], row: usize) -> (&R, usize) {
    (&packs[row / K::WIDTH], row % K::WIDTH)
}

/// Broadcasts the numbers of one lane to all columns.
#[inline(always)]
pub(crate) fn spread<S: Scalar, K: Pack<S>, const C: usize>(
    numbers: &[K::Many; C],
    lane: usize,
) -> [K::Many; C] {
    let mut all = [K::Many::zero(); C];
    for i in 0..C {
        all[i] = K::spread(K::lane(&numbers[i], lane));
    }
    all
}

/// Dot product in two independent sums; symmetric in the two arguments to the last bit.
#[inline(always)]
pub(crate) fn dot<M: Scalar>(a: &[M; 6], b: &[M; 6]) -> M {
    let one = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
    let other = a[5].mul_add(b[5], a[4].mul_add(b[4], a[3] * b[3]));
    one + other
}

/// Freedoms that share a reference point.
pub(crate) const GROUP: usize = 8;

/// Shift of positions from one reference point to another.
#[inline(always)]
pub(crate) fn between<M: Scalar>(from: [M; 3], to: [M; 3]) -> [M; 3] {
    [from[0] - to[0], from[1] - to[1], from[2] - to[2]]
}

/// c ← c + a × b.
#[inline(always)]
pub(crate) fn cross_add<M: Scalar>(c: &mut [M], a: [M; 3], b: [M; 3]) {
    c[0] = a[1].mul_add(b[2], (-a[2]).mul_add(b[1], c[0]));
    c[1] = a[2].mul_add(b[0], (-a[0]).mul_add(b[2], c[1]));
    c[2] = a[0].mul_add(b[1], (-a[1]).mul_add(b[0], c[2]));
}

/// A wrench about a point in which the present one is at `d`.
#[inline(always)]
pub(crate) fn move_wrench<M: Scalar>(wrench: &mut [M; 6], d: [M; 3]) {
    let [_, _, _, x, y, z] = *wrench;
    cross_add(&mut wrench[..3], d, [x, y, z]);
}

/// A motion likewise.
#[inline(always)]
pub(crate) fn move_motion<M: Scalar>(motion: &mut [M; 6], d: [M; 3]) {
    let [x, y, z, _, _, _] = *motion;
    cross_add(&mut motion[3..], d, [x, y, z]);
}
