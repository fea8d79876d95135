//! The quantities that can be computed for many states at once.

use super::lanes::{LaneWork, Place, Transposed, not_positive};
use super::squares::Squares;
use crate::Dynamics;
use crate::algorithm::elements;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::algorithm::inertia_matrix::entries::{Entries, EntryRecord};
use crate::algorithm::inertia_matrix::{CompositeBodies, Part, composite_bodies};
use crate::algorithm::inverse_dynamics::{InverseDynamics, recursive_newton_euler};
use crate::algorithm::kinematics::{Kinematics, forward, jacobian};
use crate::algorithm::pack::Register;
use crate::doors::native::Wides;
use crate::error::Result;
use crate::model::{FrameInfo, Model};
use crate::scalar::{Fused, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, StateView};
use crate::thresholds::MATRICES_IN_LANES;

/// A quantity computed for the states in the lanes of a register. To add one: a field of [`LaneWork`] for its
/// workspace, an implementation of this trait, and a method of `Batch`.
pub(crate) trait Question: Copy + Sync {
    /// Whether the output is also an input.
    const IN_PLACE: bool = false;

    /// Whether it takes velocities, and accelerations or efforts.
    const NEEDS_VELOCITIES: bool = false;

    /// Whether a workspace keeps data of each of its states from one call to the next.
    const KEEPS: bool = false;

    /// Makes the workspace if there is none, for this number of registers of states.
    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, groups: usize);

    /// Computes the results from `q`, `v`, `input` (and `external` if loaded) of the workspace and stores them. The returned
    /// value is NaN in lanes that failed or have a non-finite result.
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V>;

    /// Computes one state through the checked entry point, to find why it failed.
    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()>;
}

#[derive(Clone, Copy)]
pub(crate) struct Inverse;

impl Question for Inverse {
    const NEEDS_VELOCITIES: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, _groups: usize) {
        work.inverse
            .get_or_insert_with(|| Box::new(InverseDynamics::new(model)));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(code) = &mut work.native.inverse
            && work.still
            && !loaded
        {
            code.run(&work.q, &work.v, &work.input, &mut work.output);
        } else if let Some(inverse) = &mut work.inverse {
            let external: &[Force<Wide<V>>] = if loaded { &work.external } else { &[] };
            let mut sum = Vec::new();
            let state = StateView {
                q: &work.q,
                v: &work.v,
                base,
            };
            let external = elements::loaded(model, state, external, &mut sum);
            recursive_newton_euler::kernel(
                model,
                state,
                &work.input[..model.nv()],
                external,
                inverse,
                &mut work.output[..model.nv()],
            );
        }
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.inverse(state, input, external).map(|_| ())
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Forward;

impl Question for Forward {
    const NEEDS_VELOCITIES: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, _groups: usize) {
        work.forward
            .get_or_insert_with(|| Box::new(ForwardDynamics::new(model)));
        // code writes pivots after its results
        work.make_room(work.native.forward.as_ref().map_or(0, Wides::outputs));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        work: &mut LaneWork<V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(code) = &mut work.native.forward
            && work.still
            && !loaded
        {
            code.run(&work.q, &work.v, &work.input, &mut work.output);
            bad = not_positive(&work.output[model.nv()..2 * model.nv()], bad);
        } else if let Some(forward) = &mut work.forward {
            forward_dynamics(
                model,
                StateView {
                    q: &work.q,
                    v: &work.v,
                    base,
                },
                &work.input[..model.nv()],
                if loaded { &work.external } else { &[] },
                forward,
                &mut work.output[..model.nv()],
            );
            bad = not_positive(&forward.factors.inverse, bad);
        }
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.forward(state, input, external).map(|_| ())
    }
}

/// The inertia matrix, or a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Inertia(pub Part);

impl Question for Inertia {
    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, _groups: usize) {
        let of_inertia = work.of_inertia.get_or_insert_with(|| {
            Box::new(OfInertia {
                composite: CompositeBodies::new(model),
                transposed: Transposed::new(model),
                entries: Entries::new::<Fused, Register<V>, f64>(model),
                whole: None,
                upper: None,
            })
        });
        let code = work.native.inertia.as_ref();
        if code.is_none() && model.nv() > MATRICES_IN_LANES {
            return;
        }
        let nv = model.nv();
        let squares = match self.0 {
            Part::Whole => &mut of_inertia.whole,
            Part::Upper => &mut of_inertia.upper,
        };
        let wanted = |k: usize| self.0 == Part::Whole || k % nv >= k / nv;
        let squares = squares.get_or_insert_with(|| match code {
            Some(code) => Squares::new(code.places(nv * nv), code.outputs(), wanted),
            None => Squares::new(&upper_entries(model), nv * nv, wanted),
        });
        let registers = squares.registers();
        work.make_room(registers);
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let Some(of_inertia) = &mut work.of_inertia else {
            return Wide(V::splat(f64::NAN)); // not prepared
        };
        let OfInertia {
            composite,
            transposed,
            entries,
            whole,
            upper,
        } = &mut **of_inertia;
        let (size, out) = (model.nv() * model.nv(), place.states());
        let squares = match self.0 {
            Part::Whole => whole,
            Part::Upper => upper,
        };
        if let Some(squares) = squares {
            squares.prefetch_first(out);
            if let Some(code) = &mut work.native.inertia {
                code.run(&work.q, &[], &[], &mut work.output);
            } else {
                let upper = &mut work.output[..size];
                composite_bodies::kernel(model, &work.q, composite, Part::Upper, upper);
            }
            return squares.write(&mut work.output, out, bad);
        }
        composite_bodies::records(model, &work.q, composite, transposed);
        for lane in 0..out.len() / size {
            let out = Fused::slice_mut(&mut out[lane * size..(lane + 1) * size]);
            let packs = &transposed.states[lane];
            let non_finite = entries.run::<Fused, Register<V>, f64>(model, packs, self.0, out);
            bad = in_lane(bad, lane, non_finite);
        }
        bad
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.inertia(state).map(|_| ())
    }
}

/// Workspaces of inertia matrices, of one thread: bodies with a state in each lane, then state after state with a column in each
/// lane. Matrices with a state in each lane would be eight times too large for the first- and second-level caches.
#[derive(Clone, Debug)]
pub(crate) struct OfInertia<V: Vector> {
    composite: CompositeBodies<Wide<V>>,
    transposed: Transposed<V, EntryRecord<Wide<V>>>,
    entries: Entries<Wide<V>>,
    /// Destinations of the numbers of small matrices, and of matrices computed by generated code.
    whole: Option<Squares<V>>,
    upper: Option<Squares<V>>,
}

/// Index of each entry of I in its upper triangle by rows; none between branches of the tree.
fn upper_entries(model: &Model) -> Vec<Option<u32>> {
    let (nv, tree) = (model.nv(), model.tree());
    let ends = tree.ends();
    let entry = |k: usize| {
        let (row, column) = ((k / nv).min(k % nv), (k / nv).max(k % nv));
        (column < ends[tree.dofs[row].body]).then_some((row * nv + column) as u32)
    };
    (0..nv * nv).map(entry).collect()
}

/// `bad`, with NaN for a state whose result has NaN in any column.
#[inline(always)]
pub(crate) fn in_lane<V: Vector>(mut bad: Wide<V>, lane: usize, columns: Wide<V>) -> Wide<V> {
    if !V::all(columns.0.less(V::splat(1.0))) {
        bad.0.lanes_mut()[lane] = f64::NAN;
    }
    bad
}

/// Factors of I(q), one set per state, kept.
#[derive(Clone, Copy)]
pub(crate) struct Factorize;

impl Question for Factorize {
    const KEEPS: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, groups: usize) {
        work.factors
            .resize_with(groups, || Factorization::new(model));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let factors = &mut work.factors[place.group::<V>()];
        factors.factorize_kernel(model, &work.q);
        not_positive(&factors.inverse, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.factorize(state)
    }
}

/// I x = b with those factors, for one or more right-hand sides per state.
#[derive(Clone, Copy)]
pub(crate) struct Solve {
    pub right_hand_sides: usize,
}

impl Question for Solve {
    const IN_PLACE: bool = true;
    const KEEPS: bool = true;

    fn prepare<V: Vector>(self, _model: &Model, _work: &mut LaneWork<V>, _groups: usize) {}

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let (nv, factors) = (model.nv(), &mut work.factors[place.group::<V>()]);
        for k in 0..self.right_hand_sides {
            factors.solve_kernel(model, &mut work.output[k * nv..(k + 1) * nv]);
        }
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        _dynamics: &mut Dynamics,
        _state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        Ok(())
    }
}

/// Jacobian of a frame.
#[derive(Clone, Copy)]
pub(crate) struct FrameJacobian<'a>(pub &'a FrameInfo);

impl Question for FrameJacobian<'_> {
    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, _groups: usize) {
        work.kinematics
            .get_or_insert_with(|| Box::new(Kinematics::new(model)));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(kinematics) = &mut work.kinematics {
            forward::poses_kernel(model, &work.q, base, kinematics);
            jacobian::kernel(
                model,
                kinematics,
                self.0,
                &mut work.output[..6 * model.nv()],
            );
        }
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.jacobian(state, self.0).map(|_| ())
    }
}

/// Pose of a frame: rotation by columns, then translation.
#[derive(Clone, Copy)]
pub(crate) struct FramePose<'a>(pub &'a FrameInfo);

impl Question for FramePose<'_> {
    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, groups: usize) {
        FrameJacobian(self.0).prepare(model, work, groups);
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(kinematics) = &mut work.kinematics {
            forward::poses_kernel(model, &work.q, base, kinematics);
            let pose = kinematics.world_from_body[self.0.body] * self.0.body_from_frame.lift();
            let columns = [
                pose.rotation.x,
                pose.rotation.y,
                pose.rotation.z,
                pose.translation,
            ];
            for k in 0..4 {
                work.output[3 * k] = columns[k].x;
                work.output[3 * k + 1] = columns[k].y;
                work.output[3 * k + 2] = columns[k].z;
            }
        }
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.frame_pose(state, self.0).map(|_| ())
    }
}
