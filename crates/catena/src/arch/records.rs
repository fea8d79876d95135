//! Derivatives from body to body in registers: the results for a freedom are written as a record of vectors, and records become
//! packs of freedoms. The operations per freedom are then done pack by pack.

use super::motions::QuadMotion;
use super::quad::Quad;
use super::registers::{Links, Registers};
use crate::algorithm::derivatives::forward::{self, Free, Joined, take_out};
use crate::algorithm::derivatives::inverse::{
    self, Beyond, Body, Gathered, Outward, Pass, Sum, Visit,
};
use crate::algorithm::derivatives::pairs::PairRecord;
use crate::algorithm::derivatives::sweeps::SweepRecord;
use crate::algorithm::factorization::FactorsRef;
use crate::algorithm::pack::GROUP;
use crate::model::Model;
use crate::scalar::{Fused, Vector, Wide};
use crate::space::{Components, Freedom};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, RigidInertia, Sym3, Vec3};
use crate::state::StateView;

/// Vectors of a freedom from the outward pass.
#[derive(Clone, Copy, Debug)]
struct OfPass {
    axis: [Quad; 2],
    before: [Quad; 2],
    around: [Quad; 2],
    rate: [Quad; 2],
}

/// Record of a freedom for derivatives of inverse dynamics: its vectors, and sums over rigid bodies. Vectors are transposed in pairs.
#[derive(Clone, Copy, Debug)]
struct OfEfforts {
    pass: OfPass,
    /// The mass is in the fourth lane of the first moment.
    origin_first: [Quad; 2],
    /// Columns of both matrices.
    second_convective: [Quad; 6],
    /// Momentum, moment, force, and an unused slot.
    momentum_wrench: [Quad; 4],
}

/// Record of a freedom for derivatives of forward dynamics: its vectors, and sums over bodies that are free to move.
#[derive(Clone, Copy, Debug)]
struct OfAccelerations {
    pass: OfPass,
    /// 1/m̂ is in the fourth lane of β m̂.
    origin_back: [Quad; 2],
    psi: [Quad; 2],
    force: [Quad; 2],
    /// Columns of four matrices: rotational, coupling (transposed), translational, moments.
    matrices: [Quad; 12],
    /// Columns of the fifth, and an unused slot.
    forces: [Quad; 4],
}

impl OfPass {
    fn zero() -> Self {
        let none = [Quad::zero(); 2];
        OfPass {
            axis: none,
            before: none,
            around: none,
            rate: none,
        }
    }
}

impl OfEfforts {
    fn zero() -> Self {
        OfEfforts {
            pass: OfPass::zero(),
            origin_first: [Quad::zero(); 2],
            second_convective: [Quad::zero(); 6],
            momentum_wrench: [Quad::zero(); 4],
        }
    }
}

impl OfAccelerations {
    fn zero() -> Self {
        OfAccelerations {
            pass: OfPass::zero(),
            origin_back: [Quad::zero(); 2],
            psi: [Quad::zero(); 2],
            force: [Quad::zero(); 2],
            matrices: [Quad::zero(); 12],
            forces: [Quad::zero(); 4],
        }
    }
}

/// A record that the outward pass begins.
trait Begun {
    fn pass(&mut self) -> (&mut OfPass, &mut Quad);
}

impl Begun for OfEfforts {
    #[inline(always)]
    fn pass(&mut self) -> (&mut OfPass, &mut Quad) {
        (&mut self.pass, &mut self.origin_first[0])
    }
}

impl Begun for OfAccelerations {
    #[inline(always)]
    fn pass(&mut self) -> (&mut OfPass, &mut Quad) {
        (&mut self.pass, &mut self.origin_back[0])
    }
}

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
            of_efforts: vec![OfEfforts::zero(); freedoms],
            of_accelerations: vec![OfAccelerations::zero(); freedoms],
        }
    }

    /// Records for derivatives of inverse dynamics.
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

    /// Records for derivatives of forward dynamics, with its factors.
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

    /// Data for the entries of derivatives of inverse dynamics, pack by pack.
    #[inline(always)]
    pub fn fill_of_efforts<V: Vector>(&self, packs: &mut [PairRecord<Wide<V>>]) {
        fill_of_efforts(&self.of_efforts, packs);
    }

    /// Data for the sweeps of derivatives of forward dynamics.
    #[inline(always)]
    pub fn fill_of_accelerations<V: Vector>(&self, packs: &mut [SweepRecord<Wide<V>>]) {
        fill_of_accelerations(&self.of_accelerations, packs);
    }
}

/// Writes the results of the outward pass.
struct Passed<'a, R>(&'a mut [R]);

impl<R: Begun> Pass<Registers> for Passed<'_, R> {
    #[inline(always)]
    fn freedom(&mut self, at: usize, origin: Quad, freedom: &Freedom<Registers>) {
        let (pass, place) = self.0[at].pass();
        *pass = OfPass {
            axis: motion_pair(&freedom.axis),
            before: motion_pair(&freedom.before),
            around: motion_pair(&freedom.around),
            rate: motion_pair(&freedom.rate),
        };
        *place = origin;
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
        let (second, convective) = (sum.inertia.second, sum.convective);
        record.origin_first[1] = sum.inertia.first.blend::<0b1000>(sum.inertia.mass);
        record.second_convective[..3].copy_from_slice(&[second.x, second.y, second.z]);
        record.second_convective[3..].copy_from_slice(&[convective.x, convective.y, convective.z]);
        record.momentum_wrench[..3].copy_from_slice(&[
            sum.momentum,
            sum.force.moment,
            sum.force.force,
        ]);
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
            angular: record.pass.axis[0],
            linear: record.pass.axis[1],
        };
        let place = (self.constants.model.tree().dofs[at].body, at);
        let (psi, back) = take_out(&self.constants, self.factors, place, body, &axis, rest);
        let inertia = &whole.inertia;
        let matrices = [
            inertia.rotational,
            inertia.coupling,
            inertia.translational,
            whole.moments,
        ];
        for (columns, matrix) in record.matrices.chunks_exact_mut(3).zip(matrices) {
            columns.copy_from_slice(&[matrix.x, matrix.y, matrix.z]);
        }
        let forces = whole.forces;
        record.forces[..3].copy_from_slice(&[forces.x, forces.y, forces.z]);
        record.force = [whole.force.moment, whole.force.force];
        record.psi = [psi.moment, psi.force];
        record.origin_back[1] = back.blend::<0b1000>(Quad::splat(self.factors.inverse[at].0));
    }
}

#[inline(always)]
fn motion_pair(motion: &QuadMotion) -> [Quad; 2] {
    [motion.angular, motion.linear]
}

/// Data for the entries of derivatives of inverse dynamics, pack by pack.
#[inline(always)]
fn fill_of_efforts<V: Vector>(records: &[OfEfforts], packs: &mut [PairRecord<Wide<V>>]) {
    for pack in 0..packs.len() {
        let records = &records[pack * V::LANES..(pack + 1) * V::LANES];
        let [origin, first] = pair::<V, _>(records, |r| &r.origin_first);
        let [second_x, second_y] = vectors::<V, _>(records, |r| &r.second_convective[..2]);
        let [second_z, convective_x] = vectors(records, |r| &r.second_convective[2..4]);
        let [convective_y, convective_z] = vectors(records, |r| &r.second_convective[4..]);
        let [momentum, moment] = vectors(records, |r| &r.momentum_wrench[..2]);
        let [force, _] = vectors(records, |r| &r.momentum_wrench[2..]);
        let gathered = Gathered {
            freedom: freedom(records, |r| &r.pass),
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
        inverse::brackets(&gathered, &mut packs[pack]);
    }
}

/// Data for the sweeps of derivatives of forward dynamics, pack by pack.
#[inline(always)]
fn fill_of_accelerations<V: Vector>(
    records: &[OfAccelerations],
    packs: &mut [SweepRecord<Wide<V>>],
) {
    for pack in 0..packs.len() {
        let lanes = &records[pack * V::LANES..(pack + 1) * V::LANES];
        let reference = records[pack * V::LANES / GROUP * GROUP].origin_back[0].to_fused();
        let reference = Vec3::new(
            Wide(V::splat(reference.x.0)),
            Wide(V::splat(reference.y.0)),
            Wide(V::splat(reference.z.0)),
        );
        let [origin, back] = pair::<V, _>(lanes, |r| &r.origin_back);
        let [psi_moment, psi_force] = vectors(lanes, |r| &r.psi);
        let [moment, force] = vectors(lanes, |r| &r.force);
        let [rotational_x, rotational_y] = vectors(lanes, |r| &r.matrices[..2]);
        let [rotational_z, coupling_x] = vectors(lanes, |r| &r.matrices[2..4]);
        let [coupling_y, coupling_z] = vectors(lanes, |r| &r.matrices[4..6]);
        let [translational_x, translational_y] = vectors(lanes, |r| &r.matrices[6..8]);
        let [translational_z, moments_x] = vectors(lanes, |r| &r.matrices[8..10]);
        let [moments_y, moments_z] = vectors(lanes, |r| &r.matrices[10..]);
        let [forces_x, forces_y] = vectors(lanes, |r| &r.forces[..2]);
        let [forces_z, _] = vectors(lanes, |r| &r.forces[2..]);
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
        let (freedom, origin) = (freedom(lanes, |r| &r.pass), vector(origin));
        forward::terms(&freedom, origin, reference, &joined, &mut packs[pack]);
    }
}

/// Two vectors of as many freedoms as there are lanes, with a freedom in each lane.
#[inline(always)]
fn pair<V: Vector, R>(records: &[R], of: impl Fn(&R) -> &[Quad]) -> [[Wide<V>; 4]; 2] {
    let mut transposed = [Wide(V::splat(0.0)); 8];
    let mut done = 0;
    while done < 8 {
        let mut rows: [&[f64]; 8] = [&[]; 8];
        for lane in 0..V::LANES {
            rows[lane] = &Quad::numbers(of(&records[lane]))[done..][..V::LANES];
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
fn vectors<V: Vector, R>(records: &[R], of: impl Fn(&R) -> &[Quad]) -> [Vec3<Wide<V>>; 2] {
    let [one, other] = pair(records, of);
    [vector(one), vector(other)]
}

#[inline(always)]
fn motion<V: Vector, R>(records: &[R], of: impl Fn(&R) -> &[Quad]) -> Motion<Wide<V>> {
    let [angular, linear] = vectors(records, of);
    Motion::new(angular, linear)
}

/// A symmetric matrix from its columns.
#[inline(always)]
fn symmetric<V: Vector>(x: Vec3<Wide<V>>, y: Vec3<Wide<V>>, z: Vec3<Wide<V>>) -> Sym3<Wide<V>> {
    Sym3::from_upper(Mat3::from_columns(x, y, z))
}

#[inline(always)]
fn freedom<V: Vector, R>(
    records: &[R],
    pass: impl Fn(&R) -> &OfPass,
) -> Freedom<Components<Wide<V>>> {
    Freedom {
        axis: motion(records, |r| &pass(r).axis),
        before: motion(records, |r| &pass(r).before),
        around: motion(records, |r| &pass(r).around),
        rate: motion(records, |r| &pass(r).rate),
    }
}
