//! Derivatives of many states at once.

use super::Batch;
use super::lanes::{Given, Io, Place, Question, in_lane, not_positive};
use super::rooms::{OfAccelerations, OfEfforts, Rooms, Transposed};
use super::squares::Squares;
use crate::Dynamics;
use crate::algorithm::derivatives::pairs::Pairs;
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::derivatives::{forward, inverse};
use crate::algorithm::elements;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::algorithm::pack::{One, Register};
use crate::doors::native::{Kernel, Wides};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Fused, Scalar, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, StateView};
use crate::thresholds::MATRICES_IN_LANES;

/// Destinations of the matrices that code computes with a state in each lane.
fn squares<V: Vector>(kernel: Kernel, model: &Model, code: Option<&Wides>) -> Option<Squares<V>> {
    let code = code?;
    let places = code.places(kernel.matrices(model.nv()));
    Some(Squares::new(places, code.outputs(), |_| true))
}

/// ∂τ/∂q, then ∂τ/∂v.
#[derive(Clone, Copy)]
struct OfInverse;

impl Question for OfInverse {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = &'w mut OfEfforts<V>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        let native = &io.native.inverse_derivatives;
        let of_efforts = rooms.of_efforts.get_or_insert_with(|| {
            Box::new(OfEfforts {
                recursion: inverse::PairRecursion::new(model),
                transposed: Transposed::new(model),
                pairs: match model.nv() <= MATRICES_IN_LANES {
                    true => Pairs::new::<Wide<V>, One, f64>(model),
                    false => Pairs::new::<Fused, Register<V>, f64>(model),
                },
                squares: squares::<V>(Kernel::InverseDerivatives, model, native.as_ref()),
            })
        });
        let registers = of_efforts.squares.as_ref().map_or(0, Squares::registers);
        io.make_room(registers);
        of_efforts
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        of_efforts: &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let OfEfforts {
            recursion,
            transposed,
            pairs,
            squares,
        } = &mut **of_efforts;
        if let (Some(code), Some(squares)) = (&mut io.native.inverse_derivatives, squares)
            && io.still
            && !loaded
        {
            let out = place.states();
            squares.prefetch_first(out);
            code.run(&io.q, &io.v, &io.input, &mut io.output);
            return squares.write(&mut io.output, out, bad);
        }
        let external = if loaded { &io.external[..] } else { &[] };
        let nv = model.nv();
        let size = nv * nv;
        let state = StateView {
            q: &io.q,
            v: &io.v,
            base,
        };
        let mut sum = Vec::new();
        let external = elements::loaded(model, state, external, &mut sum);
        let vdot = &io.input[..nv];
        if nv <= MATRICES_IN_LANES {
            recursion.run(model, state, vdot, external);
            let (dq, dv) = io.output[..2 * size].split_at_mut(size);
            let out = [dq, dv, &mut []];
            pairs.run::<Wide<V>, One, f64, false>(model, &recursion.freedoms, out);
            return io.hand_out(place, bad);
        }
        recursion.run_into(model, state, vdot, external, transposed);
        let out = place.states();
        for lane in 0..out.len() / (2 * size) {
            let out = &mut out[lane * 2 * size..(lane + 1) * 2 * size];
            let (dq, dv) = Fused::slice_mut(out).split_at_mut(size);
            let (out, state) = ([dq, dv, &mut []], &transposed.states[lane]);
            let non_finite = pairs.run::<Fused, Register<V>, f64, false>(model, state, out);
            bad = in_lane(bad, lane, non_finite);
        }
        if model.tree().has_passive_forces {
            bad = overflowing(bad, 2 * size, out);
        }
        bad
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        dynamics
            .inverse_derivatives(state, input, external)
            .map(|_| ())
    }
}

/// ∂v̇/∂q, then ∂v̇/∂v, then ∂v̇/∂τ.
#[derive(Clone, Copy)]
struct OfForward;

impl Question for OfForward {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = (&'w mut OfAccelerations<V>, &'w mut ForwardDynamics<Wide<V>>);

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        let native = &io.native.forward_derivatives;
        let of_accelerations = rooms.of_accelerations.get_or_insert_with(|| {
            Box::new(OfAccelerations {
                recursion: forward::Recursion::new(model),
                transposed: Transposed::new(model),
                sweeps: Sweeps::new(model),
                in_lanes: (model.nv() <= MATRICES_IN_LANES).then(|| Sweeps::new(model)),
                vdot: vec![Wide::zero(); model.nv()],
                squares: squares::<V>(Kernel::ForwardDerivatives, model, native.as_ref()),
            })
        });
        let registers = (of_accelerations.squares.as_ref()).map_or(0, Squares::registers);
        io.make_room(registers);
        let make = || Box::new(ForwardDynamics::new(model));
        (of_accelerations, rooms.forward.get_or_insert_with(make))
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        (of_accelerations, forward): &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let nv = model.nv();
        let size = nv * nv;
        let OfAccelerations {
            recursion,
            transposed,
            sweeps,
            in_lanes,
            vdot,
            squares,
        } = &mut **of_accelerations;
        if let (Some(code), Some(squares)) = (&mut io.native.forward_derivatives, squares)
            && io.still
            && !loaded
        {
            let out = place.states();
            squares.prefetch_first(out);
            code.run(&io.q, &io.v, &io.input, &mut io.output);
            // the inverses of the pivots come last
            let pivots = &io.output[code.outputs() - nv..code.outputs()];
            let bad = not_positive(pivots, bad);
            return squares.write(&mut io.output, out, bad);
        }
        let external = if loaded { &io.external[..] } else { &[] };
        let state = StateView {
            q: &io.q,
            v: &io.v,
            base,
        };
        let tau = &io.input[..nv];
        forward_dynamics(model, state, tau, external, forward, vdot);
        bad = not_positive(&forward.factors.inverse, bad);
        let mut sum = Vec::new();
        let external = elements::loaded(model, state, external, &mut sum);
        let factors = &forward.factors;
        if let Some(sweeps) = in_lanes {
            recursion.run(model, state, vdot, external, factors);
            let (dq, rest) = io.output[..3 * size].split_at_mut(size);
            let (dv, dtau) = rest.split_at_mut(size);
            sweeps.run(model, &recursion.freedoms, [dq, dv, dtau]);
            return io.hand_out(place, bad);
        }
        recursion.run_into(model, state, vdot, external, factors, transposed);
        let out = place.states();
        for lane in 0..out.len() / (3 * size) {
            let out = &mut out[lane * 3 * size..(lane + 1) * 3 * size];
            let (dq, rest) = Fused::slice_mut(out).split_at_mut(size);
            let (dv, dtau) = rest.split_at_mut(size);
            let non_finite = sweeps.run(model, &transposed.states[lane], [dq, dv, dtau]);
            bad = in_lane(bad, lane, non_finite);
        }
        if model.tree().has_passive_forces {
            bad = overflowing(bad, 3 * size, out);
        }
        bad
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        dynamics
            .forward_derivatives(state, input, external)
            .map(|_| ())
    }
}

/// `bad`, with NaN for states with non-finite results: springs and dampers are added after the entries have been
/// tested.
fn overflowing<V: Vector>(mut bad: Wide<V>, size: usize, out: &[f64]) -> Wide<V> {
    for (lane, result) in out.chunks_exact(size.max(1)).enumerate() {
        if result.iter().any(|x| !x.is_finite()) {
            bad.0.lanes_mut()[lane] = f64::NAN;
        }
    }
    bad
}

/// How Jᵀ ∂w/∂q and Jᵀ ∂w/∂v of the force elements enter the matrices of a quantity.
trait ForceSlopes: Question {
    /// Matrices per state.
    const MATRICES: usize;

    /// Adds them to the matrices of one state.
    fn add(nv: usize, slopes: &[Matrix; 2], matrices: &mut [f64]);
}

impl ForceSlopes for OfInverse {
    const MATRICES: usize = 2;

    fn add(_: usize, slopes: &[Matrix; 2], matrices: &mut [f64]) {
        let slopes = slopes.iter().flat_map(Matrix::as_slice);
        for (to, slope) in matrices.iter_mut().zip(slopes) {
            *to -= slope;
        }
    }
}

impl ForceSlopes for OfForward {
    const MATRICES: usize = 3;

    /// I ∂v̇ = … + Jᵀ ∂w.
    fn add(nv: usize, slopes: &[Matrix; 2], matrices: &mut [f64]) {
        let (of_state, inverse_inertia) = matrices.split_at_mut(2 * nv * nv);
        for (matrix, slope) in of_state.chunks_exact_mut(nv * nv).zip(slopes) {
            for i in 0..nv {
                for k in 0..nv {
                    for j in 0..nv {
                        matrix[i * nv + j] += inverse_inertia[i * nv + k] * slope[(k, j)];
                    }
                }
            }
        }
    }
}

impl Batch {
    /// Computes ∂τ/∂q and ∂τ/∂v for every state: first the one, then the other, nv × nv numbers each, by rows (row: effort; column:
    /// freedom), states after one another. Conventions as in [`Dynamics::inverse_derivatives`].
    pub fn inverse_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        vdot: &[f64],
        derivatives: &mut [f64],
    ) -> Result<()> {
        self.model.expect_tree()?;
        let given = Given {
            q,
            v,
            input: vdot,
            ..Given::default()
        };
        if self.is_coupled() {
            return self.coupled_inverse_derivatives(given, derivatives);
        }
        let nv = self.model.nv();
        let done = self.ask(OfInverse, given, derivatives, 2 * nv * nv);
        self.add_force_slopes(OfInverse, given, derivatives, done)
    }

    /// Computes ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ for every state, laid out as by [`inverse_derivatives`](Self::inverse_derivatives).
    pub fn forward_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        derivatives: &mut [f64],
    ) -> Result<()> {
        self.model.expect_tree()?;
        let given = Given {
            q,
            v,
            input: tau,
            ..Given::default()
        };
        if self.is_coupled() {
            return self.coupled_forward_derivatives(given, derivatives);
        }
        let nv = self.model.nv();
        let done = self.ask(OfForward, given, derivatives, 3 * nv * nv);
        self.add_force_slopes(OfForward, given, derivatives, done)
    }

    /// Adds the derivatives of the force elements, state by state; the recursions took their wrenches as constant in body axes.
    fn add_force_slopes<Q: ForceSlopes>(
        &mut self,
        question: Q,
        given: Given<'_>,
        derivatives: &mut [f64],
        done: Result<()>,
    ) -> Result<()> {
        let refused = done.is_err() && self.failures.is_empty();
        if self.model.forces().is_empty() || refused {
            return done;
        }
        let nv = self.model.nv();
        let size = (Q::MATRICES * nv * nv).max(1);
        let given = given.of(&self.model, derivatives.len() / size);
        let mut overflown = Vec::new();
        for (k, own) in derivatives.chunks_exact_mut(size).enumerate() {
            if self.failures.iter().any(|failure| failure.state == k) {
                continue;
            }
            let [q, v, _] = given.at(&self.model, k);
            let state = State {
                q: q.to_vec(),
                v: v.to_vec(),
                base: self.base,
            };
            Q::add(nv, &elements::slopes(&self.model, &state), own);
            if own.iter().any(|x| !x.is_finite()) {
                overflown.push(k);
            }
        }
        match overflown.is_empty() {
            true => done,
            false => self.explain_states(question, &overflown, given),
        }
    }
}
