//! A three-vector in one register of four doubles, and a 3×3 matrix in three of them.
//!
//! The fourth lane of every value is zero (or does not matter, where a comment says so).

#![allow(unsafe_code)]

use crate::scalar::Fused;
use crate::spatial::{Mat3, Vec3};
use std::arch::x86_64::{
    __m256d, _mm_add_pd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd, _mm256_blend_pd,
    _mm256_castpd256_pd128, _mm256_extractf128_pd, _mm256_fmadd_pd, _mm256_fmsub_pd,
    _mm256_fnmadd_pd, _mm256_hadd_pd, _mm256_mul_pd, _mm256_permute_pd, _mm256_permute2f128_pd,
    _mm256_permute4x64_pd, _mm256_set_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_sub_pd,
    _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};
use std::ops::{Add, Mul, Sub};

/// (x, y, z, 0) in one AVX2 register.
///
/// Private to `arch`, where only the workspaces construct it that exist after AVX2 and FMA were detected (`one_state.rs`, `inertia.rs`,
/// `derivatives.rs`): this makes the intrinsics below sound. Everything down to them is `#[inline(always)]`, so that only register code remains.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Quad(__m256d);

/// A method that is one intrinsic (or a few).
macro_rules! intrinsic {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($argument: $type),*) -> $result {
            // SAFETY: a `Quad` exists only on a processor that has AVX2 and FMA.
            unsafe { $body }
        }
    )*};
}

impl Quad {
    intrinsic! {
        fn zero() -> Quad = Quad(_mm256_setzero_pd());
        fn new(x: f64, y: f64, z: f64) -> Quad = Quad(_mm256_set_pd(0.0, z, y, x));
        /// A number broadcast to all lanes.
        fn splat(x: f64) -> Quad = Quad(_mm256_set1_pd(x));
    }

    /// `self` · `factor` + `addend`.
    #[inline(always)]
    pub fn mul_add(self, factor: Quad, addend: Quad) -> Quad {
        // SAFETY: a `Quad` exists only on a processor that has AVX2 and FMA.
        unsafe { Quad(_mm256_fmadd_pd(self.0, factor.0, addend.0)) }
    }

    /// `self` · `factor` − `other`.
    #[inline(always)]
    pub fn mul_sub(self, factor: Quad, other: Quad) -> Quad {
        // SAFETY: as above.
        unsafe { Quad(_mm256_fmsub_pd(self.0, factor.0, other.0)) }
    }

    /// `minuend` − `self` · `factor`.
    #[inline(always)]
    pub fn taken_from(self, factor: Quad, minuend: Quad) -> Quad {
        // SAFETY: as above.
        unsafe { Quad(_mm256_fnmadd_pd(self.0, factor.0, minuend.0)) }
    }

    /// The lanes picked by the two-bit fields of `PICK`.
    #[inline(always)]
    pub fn permuted<const PICK: i32>(self) -> Quad {
        // SAFETY: as above.
        unsafe { Quad(_mm256_permute4x64_pd::<PICK>(self.0)) }
    }

    /// x in all lanes.
    #[inline(always)]
    pub fn xxx(self) -> Quad {
        self.permuted::<0b00_00_00_00>()
    }

    /// y in all lanes.
    #[inline(always)]
    pub fn yyy(self) -> Quad {
        self.permuted::<0b01_01_01_01>()
    }

    /// z in all lanes.
    #[inline(always)]
    pub fn zzz(self) -> Quad {
        self.permuted::<0b10_10_10_10>()
    }

    /// (y, z, x, 0).
    #[inline(always)]
    pub fn yzx(self) -> Quad {
        self.permuted::<0b11_00_10_01>()
    }

    /// (z, x, y, 0): undoes `yzx`.
    #[inline(always)]
    pub fn zxy(self) -> Quad {
        self.permuted::<0b11_01_00_10>()
    }

    /// (y, x, 0, z): the first two lanes exchanged, cheaper than a permutation across the register.
    #[inline(always)]
    pub fn swapped(self) -> Quad {
        // SAFETY: as above.
        unsafe { Quad(_mm256_permute_pd::<0b0101>(self.0)) }
    }

    /// The lanes of `other` whose bit is set in `LANES`, the others of `self`.
    #[inline(always)]
    pub fn blend<const LANES: i32>(self, other: Quad) -> Quad {
        // SAFETY: as above.
        unsafe { Quad(_mm256_blend_pd::<LANES>(self.0, other.0)) }
    }

    /// The three components, each broadcast, for products of a matrix with this vector.
    #[inline(always)]
    pub fn spread(self) -> [Quad; 3] {
        [self.xxx(), self.yyy(), self.zzz()]
    }

    /// The components in memory, each broadcast as it is loaded: no shuffles.
    #[inline(always)]
    pub fn spread_from_memory(&self) -> [Quad; 3] {
        [
            self.spread_lane(0),
            self.spread_lane(1),
            self.spread_lane(2),
        ]
    }

    /// One component in memory, broadcast as it is loaded.
    #[inline(always)]
    pub fn spread_lane(&self, lane: usize) -> Quad {
        debug_assert!(lane < 4);
        // SAFETY: a `Quad` is four doubles in memory.
        Quad::splat(unsafe { *std::ptr::from_ref(self).cast::<f64>().add(lane) })
    }

    /// The lanes of many.
    #[inline(always)]
    pub fn numbers(many: &[Quad]) -> &[f64] {
        // SAFETY: a `Quad` is four doubles in memory.
        unsafe { std::slice::from_raw_parts(many.as_ptr().cast(), 4 * many.len()) }
    }

    /// z.
    #[inline(always)]
    pub fn z(self) -> f64 {
        // SAFETY: as above.
        unsafe { _mm_cvtsd_f64(_mm256_extractf128_pd::<1>(self.0)) }
    }

    /// x + y + z + w: the fourth lane must be zero.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        // SAFETY: as above.
        unsafe {
            let low = _mm256_castpd256_pd128(self.0);
            let pair = _mm_add_pd(low, _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(pair) + _mm_cvtsd_f64(_mm_unpackhi_pd(pair, pair))
        }
    }

    /// (sum of the lanes of a, sum of those of b, the same of c, 0).
    #[inline(always)]
    pub fn sums(a: Quad, b: Quad, c: Quad) -> Quad {
        // SAFETY: as above.
        unsafe {
            let first = _mm256_hadd_pd(a.0, b.0); // (a0+a1, b0+b1, a2+a3, b2+b3)
            let second = _mm256_hadd_pd(c.0, _mm256_setzero_pd()); // (c0+c1, 0, c2+c3, 0)
            let low = _mm256_permute2f128_pd::<0x20>(first, second);
            let high = _mm256_permute2f128_pd::<0x31>(first, second);
            Quad(_mm256_add_pd(low, high))
        }
    }

    /// a × b, where a is constant and `a_yzx` is known too.
    #[inline(always)]
    pub fn cross_of(a: Quad, a_yzx: Quad, b: Quad) -> Quad {
        // the third component of a × b is a.x b.y − a.y b.x, and so on cyclically
        a.mul_sub(b.yzx(), a_yzx * b).yzx()
    }

    #[inline(always)]
    pub fn from_vec3(v: Vec3<f64>) -> Quad {
        Quad::new(v.x, v.y, v.z)
    }

    #[inline(always)]
    pub fn from_fused(v: Vec3<Fused>) -> Quad {
        Quad::new(v.x.0, v.y.0, v.z.0)
    }

    #[inline(always)]
    pub fn to_fused(self) -> Vec3<Fused> {
        // SAFETY: as above; four doubles.
        let lanes: [f64; 4] = unsafe { std::mem::transmute(self.0) };
        Vec3::new(Fused(lanes[0]), Fused(lanes[1]), Fused(lanes[2]))
    }
}

/// Operators of one instruction.
macro_rules! operator {
    ($($trait:ident $method:ident $instruction:ident;)*) => {$(
        impl $trait for Quad {
            type Output = Quad;
            #[inline(always)]
            fn $method(self, other: Quad) -> Quad {
                // SAFETY: a `Quad` exists only on a processor that has AVX2.
                unsafe { Quad($instruction(self.0, other.0)) }
            }
        }
    )*};
}
operator! {
    Add add _mm256_add_pd;
    Sub sub _mm256_sub_pd;
    Mul mul _mm256_mul_pd;
}

/// A 3×3 matrix by columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadMat {
    pub x: Quad,
    pub y: Quad,
    pub z: Quad,
}

impl QuadMat {
    #[inline(always)]
    pub fn zero() -> Self {
        let o = Quad::zero();
        QuadMat { x: o, y: o, z: o }
    }

    /// ã times a factor, by columns.
    #[inline(always)]
    pub fn skew(a: Quad, factor: f64) -> Self {
        // (0, a.z, −a.y), (−a.z, 0, a.x), (a.y, −a.x, 0)
        QuadMat {
            x: a.permuted::<0b11_01_10_00>() * Quad::new(0.0, factor, -factor),
            y: a.permuted::<0b11_00_01_10>() * Quad::new(-factor, 0.0, factor),
            z: a.swapped() * Quad::new(factor, -factor, 0.0),
        }
    }

    #[inline(always)]
    pub fn from_columns(m: Mat3<f64>) -> Self {
        QuadMat {
            x: Quad::from_vec3(m.x),
            y: Quad::from_vec3(m.y),
            z: Quad::from_vec3(m.z),
        }
    }

    #[inline(always)]
    pub fn from_fused(m: Mat3<Fused>) -> Self {
        QuadMat {
            x: Quad::from_fused(m.x),
            y: Quad::from_fused(m.y),
            z: Quad::from_fused(m.z),
        }
    }

    #[inline(always)]
    pub fn to_fused(self) -> Mat3<Fused> {
        Mat3::from_columns(self.x.to_fused(), self.y.to_fused(), self.z.to_fused())
    }

    /// The matrix times a vector whose components are broadcast.
    #[inline(always)]
    pub fn times(self, v: [Quad; 3]) -> Quad {
        self.x.mul_add(v[0], self.y.mul_add(v[1], self.z * v[2]))
    }

    /// The matrix times a vector whose components are broadcast, plus c.
    #[inline(always)]
    pub fn times_add(self, v: [Quad; 3], c: Quad) -> Quad {
        self.x.mul_add(v[0], self.y * v[1]) + self.z.mul_add(v[2], c)
    }

    /// M Rᵀ; the entries of R are broadcast from memory.
    #[inline(always)]
    pub fn times_transposed(self, r: &QuadMat) -> QuadMat {
        let (x, y, z) = (&r.x, &r.y, &r.z);
        QuadMat {
            x: self.times([x.spread_lane(0), y.spread_lane(0), z.spread_lane(0)]),
            y: self.times([x.spread_lane(1), y.spread_lane(1), z.spread_lane(1)]),
            z: self.times([x.spread_lane(2), y.spread_lane(2), z.spread_lane(2)]),
        }
    }

    /// Products of the columns with a vector: the transposed matrix times v.
    #[inline(always)]
    pub fn transpose_times(self, v: Quad) -> Quad {
        Quad::sums(self.x * v, self.y * v, self.z * v)
    }

    #[inline(always)]
    pub fn transpose(self) -> Self {
        // SAFETY: a `Quad` exists only on a processor that has AVX2.
        unsafe {
            let zero = _mm256_setzero_pd();
            let low = _mm256_unpacklo_pd(self.x.0, self.y.0); // (x0, y0, x2, y2)
            let high = _mm256_unpackhi_pd(self.x.0, self.y.0); // (x1, y1, 0, 0)
            let last_low = _mm256_unpacklo_pd(self.z.0, zero); // (z0, 0, z2, 0)
            let last_high = _mm256_unpackhi_pd(self.z.0, zero); // (z1, 0, 0, 0)
            QuadMat {
                x: Quad(_mm256_permute2f128_pd::<0x20>(low, last_low)),
                y: Quad(_mm256_permute2f128_pd::<0x20>(high, last_high)),
                z: Quad(_mm256_permute2f128_pd::<0x31>(low, last_low)),
            }
        }
    }

    #[inline(always)]
    pub fn plus(self, b: Self) -> Self {
        QuadMat {
            x: self.x + b.x,
            y: self.y + b.y,
            z: self.z + b.z,
        }
    }
}

/// Ω = ω̃̇ + ω̃ ω̃.
#[inline(always)]
pub(crate) fn turning(omega: Quad, [x, y, z]: [Quad; 3], alpha: Quad) -> QuadMat {
    let squared = x.mul_add(x, y.mul_add(y, z * z));
    let skew = QuadMat::skew(alpha, 1.0);
    QuadMat {
        x: squared.taken_from(Quad::new(1.0, 0.0, 0.0), omega.mul_add(x, skew.x)),
        y: squared.taken_from(Quad::new(0.0, 1.0, 0.0), omega.mul_add(y, skew.y)),
        z: squared.taken_from(Quad::new(0.0, 0.0, 1.0), omega.mul_add(z, skew.z)),
    }
}

/// a × b + c, all with their components still to be permuted once (`yzx`): sums of such products are permuted
/// together.
#[inline(always)]
pub(crate) fn around(a: Quad, a_yzx: Quad, b: Quad, c: Quad) -> Quad {
    a.mul_add(b.yzx(), a_yzx.taken_from(b, c))
}
