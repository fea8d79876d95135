//! What is found for a freedom on the way through the bodies: a record of vectors, and how records become packs of freedoms.

use crate::algorithm::derivatives::forward::{self, Joined};
use crate::algorithm::derivatives::inverse::{self, Freedom, Gathered};
use crate::algorithm::derivatives::{pairs, sweeps};
use crate::algorithm::pack::GROUP;
use crate::arch::Quad;
use crate::scalar::{Vector, Wide};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, RigidInertia, Sym3, Vec3};

/// Where the vectors of a freedom are in its record, two by two: first what the way out finds,
pub(super) const AXIS: usize = 0;
pub(super) const BEFORE: usize = 2;
pub(super) const AROUND: usize = 4;
pub(super) const RATE: usize = 6;
pub(super) const ORIGIN: usize = 8;
/// then sums over rigid bodies, the mass in the fourth lane of the first moment,
pub(super) const FIRST: usize = 9;
pub(super) const SECOND: usize = 10;
pub(super) const CONVECTIVE: usize = 13;
pub(super) const MOMENTUM: usize = 16;
pub(super) const FORCE: usize = 17;
pub(super) const OF_EFFORTS: usize = 20;
/// or over bodies that are free to move, 1/m̂ in the fourth lane of β m̂.
pub(super) const BACK: usize = 9;
pub(super) const PSI: usize = 10;
pub(super) const FREE_FORCE: usize = 12;
pub(super) const ROTATIONAL: usize = 14;
pub(super) const COUPLING: usize = 17;
pub(super) const TRANSLATIONAL: usize = 20;
pub(super) const MOMENTS: usize = 23;
pub(super) const FORCES: usize = 26;
pub(super) const OF_ACCELERATIONS: usize = 30;

/// What the entries of derivatives of inverse dynamics need, pack by pack.
#[inline(always)]
pub(super) fn fill_of_efforts<V: Vector>(
    records: &[[Quad; OF_EFFORTS]],
    packs: &mut [pairs::Numbers<Wide<V>>],
) {
    for pack in 0..packs.len() {
        let records = &records[pack * V::LANES..(pack + 1) * V::LANES];
        let [origin, first] = pair::<V, _>(records, ORIGIN);
        let [second_x, second_y] = vectors::<V, _>(records, SECOND);
        let [second_z, convective_x] = vectors(records, SECOND + 2);
        let [convective_y, convective_z] = vectors(records, CONVECTIVE + 1);
        let [momentum, moment] = vectors(records, MOMENTUM);
        let [force, _] = vectors(records, FORCE + 1);
        let gathered = Gathered {
            freedom: freedom(records),
            origin: vector(origin),
            sum: inverse::Sum {
                inertia: RigidInertia {
                    mass: first[3],
                    first: vector(first),
                    second: symmetric(second_x, second_y, second_z),
                },
                convective: Mat3::from_columns(convective_x, convective_y, convective_z),
                momentum,
                force: Force::new(moment, force),
            },
        };
        inverse::numbers(&gathered, &mut packs[pack]);
    }
}

/// The same for the sweeps of derivatives of forward dynamics.
#[inline(always)]
pub(super) fn fill_of_accelerations<V: Vector>(
    records: &[[Quad; OF_ACCELERATIONS]],
    packs: &mut [sweeps::Numbers<Wide<V>>],
) {
    for pack in 0..packs.len() {
        let lanes = &records[pack * V::LANES..(pack + 1) * V::LANES];
        let reference = records[pack * V::LANES / GROUP * GROUP][ORIGIN].to_fused();
        let reference = Vec3::new(
            Wide(V::splat(reference.x.0)),
            Wide(V::splat(reference.y.0)),
            Wide(V::splat(reference.z.0)),
        );
        let [origin, back] = pair::<V, _>(lanes, ORIGIN);
        let [psi_moment, psi_force] = vectors(lanes, PSI);
        let [moment, force] = vectors(lanes, FREE_FORCE);
        let [rotational_x, rotational_y] = vectors(lanes, ROTATIONAL);
        let [rotational_z, coupling_x] = vectors(lanes, ROTATIONAL + 2);
        let [coupling_y, coupling_z] = vectors(lanes, COUPLING + 1);
        let [translational_x, translational_y] = vectors(lanes, TRANSLATIONAL);
        let [translational_z, moments_x] = vectors(lanes, TRANSLATIONAL + 2);
        let [moments_y, moments_z] = vectors(lanes, MOMENTS + 1);
        let [forces_x, forces_y] = vectors(lanes, FORCES);
        let [forces_z, _] = vectors(lanes, FORCES + 2);
        let joined = Joined {
            free: forward::Free {
                inertia: ArticulatedInertia {
                    rotational: symmetric(rotational_x, rotational_y, rotational_z),
                    coupling: Mat3::from_columns(coupling_x, coupling_y, coupling_z).transpose(),
                    translational: symmetric(translational_x, translational_y, translational_z),
                },
                moments: Mat3::from_columns(moments_x, moments_y, moments_z),
                forces: Mat3::from_columns(forces_x, forces_y, forces_z),
                force: Force::new(moment, force),
            },
            psi: Force::new(psi_moment, psi_force),
            back: vector(back) * back[3],
            inverse: back[3],
        };
        let (origin, numbers) = (vector(origin), &mut packs[pack]);
        forward::numbers(&freedom(lanes), origin, reference, &joined, numbers);
    }
}

/// Two vectors of as many freedoms as there are lanes, with a freedom in each lane.
#[inline(always)]
fn pair<V: Vector, const N: usize>(records: &[[Quad; N]], at: usize) -> [[Wide<V>; 4]; 2] {
    let mut turned = [Wide(V::splat(0.0)); 8];
    let mut done = 0;
    while done < 8 {
        let mut rows: [&[f64]; 8] = [&[]; 8];
        for lane in 0..V::LANES {
            rows[lane] = &Quad::numbers(&records[lane])[4 * at + done..][..V::LANES];
        }
        let square = V::transposed(rows);
        for lane in 0..V::LANES {
            turned[done + lane] = Wide(square[lane]);
        }
        done += V::LANES;
    }
    let [a, b, c, d, e, f, g, h] = turned;
    [[a, b, c, d], [e, f, g, h]]
}

#[inline(always)]
fn vector<V: Vector>(lanes: [Wide<V>; 4]) -> Vec3<Wide<V>> {
    Vec3::new(lanes[0], lanes[1], lanes[2])
}

#[inline(always)]
fn vectors<V: Vector, const N: usize>(records: &[[Quad; N]], at: usize) -> [Vec3<Wide<V>>; 2] {
    let [one, other] = pair(records, at);
    [vector(one), vector(other)]
}

#[inline(always)]
fn motion<V: Vector, const N: usize>(records: &[[Quad; N]], at: usize) -> Motion<Wide<V>> {
    let [angular, linear] = vectors(records, at);
    Motion::new(angular, linear)
}

/// A symmetric matrix from its columns.
#[inline(always)]
fn symmetric<V: Vector>(x: Vec3<Wide<V>>, y: Vec3<Wide<V>>, z: Vec3<Wide<V>>) -> Sym3<Wide<V>> {
    Sym3::from_upper(Mat3::from_columns(x, y, z))
}

#[inline(always)]
fn freedom<V: Vector, const N: usize>(records: &[[Quad; N]]) -> Freedom<Wide<V>> {
    Freedom {
        axis: motion(records, AXIS),
        before: motion(records, BEFORE),
        around: motion(records, AROUND),
        rate: motion(records, RATE),
    }
}
