//! Derivatives from body to body in registers: the results for a freedom are written as a record of vectors, and records become
//! packs of freedoms. The operations per freedom are then done pack by pack.

use super::quad::{Quad, QuadMat};
use super::registers::{Links, QuadMotion, Registers};
use crate::algorithm::derivatives::forward::{self, Free, Joined, take_out};
use crate::algorithm::derivatives::inverse::{
    self, Beyond, Body, Gathered, Outward, Pass, Sum, Visit,
};
use crate::algorithm::derivatives::{pairs, sweeps};
use crate::algorithm::factorization::FactorsRef;
use crate::algorithm::pack::GROUP;
use crate::model::Model;
use crate::scalar::{Fused, Vector, Wide};
use crate::space::{Components, Freedom};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, RigidInertia, Sym3, Vec3};
use crate::state::StateView;

/// Where the vectors of a freedom are in its record, two by two: first those of the outward pass,
const AXIS: usize = 0;
const BEFORE: usize = 2;
const AROUND: usize = 4;
const RATE: usize = 6;
const ORIGIN: usize = 8;
/// then sums over rigid bodies, the mass in the fourth lane of the first moment,
const FIRST: usize = 9;
const SECOND: usize = 10;
const CONVECTIVE: usize = 13;
const MOMENTUM: usize = 16;
const FORCE: usize = 17;
const OF_EFFORTS: usize = 20;
/// or over bodies that are free to move, 1/m̂ in the fourth lane of β m̂.
const BACK: usize = 9;
const PSI: usize = 10;
const FREE_FORCE: usize = 12;
const ROTATIONAL: usize = 14;
const COUPLING: usize = 17;
const TRANSLATIONAL: usize = 20;
const MOMENTS: usize = 23;
const FORCES: usize = 26;
const OF_ACCELERATIONS: usize = 30;

type OfEfforts = [Quad; OF_EFFORTS];
type OfAccelerations = [Quad; OF_ACCELERATIONS];

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadDerivatives {
    outward: Outward<Registers>,
    sums: Vec<Sum<Registers>>,
    free: Vec<Free<Registers>>,
    of_efforts: Vec<OfEfforts>,
    of_accelerations: Vec<OfAccelerations>,
}

impl QuadDerivatives {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let n = model.body_count() + 1;
        // whole packs of any width
        let freedoms = model.nv().next_multiple_of(8);
        QuadDerivatives {
            outward: Outward::new(model),
            sums: vec![Sum::none(); n],
            free: vec![Free::none(); n],
            of_efforts: vec![[Quad::zero(); OF_EFFORTS]; freedoms],
            of_accelerations: vec![[Quad::zero(); OF_ACCELERATIONS]; freedoms],
        }
    }

    /// For derivatives of inverse dynamics.
    #[inline(always)]
    pub fn of_efforts(
        &mut self,
        constants: Links<'_>,
        state: StateView<'_, Fused>,
        vdot: &[Fused],
        external: &[Force<Fused>],
    ) {
        let (model, outward) = (constants.model, &mut self.outward);
        let records = &mut self.of_efforts[..];
        outward.run(model, &constants, state, vdot, None, &mut Passed(records));
        let (forks, visit) = (&mut self.sums, &mut Summed(records));
        outward.back(model, &constants, state, vdot, external, None, forks, visit);
    }

    /// For derivatives of forward dynamics, with its factors.
    #[inline(always)]
    pub fn of_accelerations(
        &mut self,
        constants: Links<'_>,
        factors: FactorsRef<'_, Registers>,
        state: StateView<'_, Fused>,
        vdot: &[Fused],
        external: &[Force<Fused>],
    ) {
        let (model, outward) = (constants.model, &mut self.outward);
        let (known, records) = (Some(factors), &mut self.of_accelerations[..]);
        outward.run(model, &constants, state, vdot, known, &mut Passed(records));
        let visit = &mut TakenOut {
            constants,
            factors,
            records,
        };
        let forks = &mut self.free;
        outward.back(
            model, &constants, state, vdot, external, known, forks, visit,
        );
    }

    /// What the entries of derivatives of inverse dynamics need, pack by pack.
    #[inline(always)]
    pub fn fill_of_efforts<V: Vector>(&self, packs: &mut [pairs::Numbers<Wide<V>>]) {
        fill_of_efforts(&self.of_efforts, packs);
    }

    /// What the sweeps of derivatives of forward dynamics need.
    #[inline(always)]
    pub fn fill_of_accelerations<V: Vector>(&self, packs: &mut [sweeps::Numbers<Wide<V>>]) {
        fill_of_accelerations(&self.of_accelerations, packs);
    }
}

/// Writes the results of the outward pass.
struct Passed<'a, const N: usize>(&'a mut [[Quad; N]]);

impl<const N: usize> Pass<Registers> for Passed<'_, N> {
    #[inline(always)]
    fn freedom(&mut self, at: usize, origin: Quad, freedom: &Freedom<Registers>) {
        let record = &mut self.0[at];
        write_motion(record, AXIS, &freedom.axis);
        write_motion(record, BEFORE, &freedom.before);
        write_motion(record, AROUND, &freedom.around);
        write_motion(record, RATE, &freedom.rate);
        record[ORIGIN] = origin;
    }
}

/// Writes sums over rigid bodies.
struct Summed<'a>(&'a mut [OfEfforts]);

impl Visit<Registers> for Summed<'_> {
    type Beyond = Sum<Registers>;

    const FINDS_AGAIN: bool = false;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        _body: &Body<Registers>,
        _freedom: &Freedom<Registers>,
        sum: &Sum<Registers>,
        _rest: &mut Sum<Registers>,
    ) {
        let record = &mut self.0[at];
        record[FIRST] = sum.inertia.first.blend::<0b1000>(sum.inertia.mass);
        write_matrix(record, SECOND, sum.inertia.second);
        write_matrix(record, CONVECTIVE, sum.convective);
        record[MOMENTUM] = sum.momentum;
        record[FORCE] = sum.force.moment;
        record[FORCE + 1] = sum.force.force;
    }
}

/// Eliminates every freedom and writes sums over bodies that are free to move.
struct TakenOut<'a> {
    constants: Links<'a>,
    factors: FactorsRef<'a, Registers>,
    records: &'a mut [OfAccelerations],
}

impl Visit<Registers> for TakenOut<'_> {
    type Beyond = Free<Registers>;

    const FINDS_AGAIN: bool = false;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<Registers>,
        _freedom: &Freedom<Registers>,
        whole: &Free<Registers>,
        rest: &mut Free<Registers>,
    ) {
        let record = &mut self.records[at];
        let axis = QuadMotion {
            angular: record[AXIS],
            linear: record[AXIS + 1],
        };
        let place = (self.constants.model.tree().dofs[at].body, at);
        let (psi, back) = take_out(&self.constants, self.factors, place, body, &axis, rest);
        write_matrix(record, ROTATIONAL, whole.inertia.rotational);
        write_matrix(record, COUPLING, whole.inertia.coupling);
        write_matrix(record, TRANSLATIONAL, whole.inertia.translational);
        write_matrix(record, MOMENTS, whole.moments);
        write_matrix(record, FORCES, whole.forces);
        record[FREE_FORCE] = whole.force.moment;
        record[FREE_FORCE + 1] = whole.force.force;
        record[PSI] = psi.moment;
        record[PSI + 1] = psi.force;
        record[BACK] = back.blend::<0b1000>(Quad::splat(self.factors.inverse[at].0));
    }
}

#[inline(always)]
fn write_motion<const N: usize>(record: &mut [Quad; N], at: usize, motion: &QuadMotion) {
    record[at] = motion.angular;
    record[at + 1] = motion.linear;
}

#[inline(always)]
fn write_matrix<const N: usize>(record: &mut [Quad; N], at: usize, m: QuadMat) {
    record[at] = m.x;
    record[at + 1] = m.y;
    record[at + 2] = m.z;
}

/// What the entries of derivatives of inverse dynamics need, pack by pack.
#[inline(always)]
fn fill_of_efforts<V: Vector>(
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

/// What the sweeps of derivatives of forward dynamics need, pack by pack.
#[inline(always)]
fn fill_of_accelerations<V: Vector>(
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
    let mut transposed = [Wide(V::splat(0.0)); 8];
    let mut done = 0;
    while done < 8 {
        let mut rows: [&[f64]; 8] = [&[]; 8];
        for lane in 0..V::LANES {
            rows[lane] = &Quad::numbers(&records[lane])[4 * at + done..][..V::LANES];
        }
        let square = V::transposed(rows);
        for lane in 0..V::LANES {
            transposed[done + lane] = Wide(square[lane]);
        }
        done += V::LANES;
    }
    let [a, b, c, d, e, f, g, h] = transposed;
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
fn freedom<V: Vector, const N: usize>(records: &[[Quad; N]]) -> Freedom<Components<Wide<V>>> {
    Freedom {
        axis: motion(records, AXIS),
        before: motion(records, BEFORE),
        around: motion(records, AROUND),
        rate: motion(records, RATE),
    }
}
