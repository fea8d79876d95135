//! The quantities that can be computed for many states at once.

use super::lanes::{Io, Place, Question, in_lane, not_positive};
use super::rooms::{OfInertia, Rooms, Transposed};
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

#[derive(Clone, Copy)]
pub(crate) struct Inverse;

impl Question for Inverse {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = &'w mut InverseDynamics<Wide<V>>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        rooms
            .inverse
            .get_or_insert_with(|| Box::new(InverseDynamics::new(model)))
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        inverse: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(code) = &mut io.native.inverse
            && io.still
            && !loaded
        {
            code.run(&io.q, &io.v, &io.input, &mut io.output);
        } else {
            let external: &[Force<Wide<V>>] = if loaded { &io.external } else { &[] };
            let mut sum = Vec::new();
            let state = StateView {
                q: &io.q,
                v: &io.v,
                base,
            };
            let external = elements::loaded(model, state, external, &mut sum);
            recursive_newton_euler::kernel(
                model,
                state,
                &io.input[..model.nv()],
                external,
                inverse,
                &mut io.output[..model.nv()],
            );
        }
        io.hand_out(place, bad)
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

    type Ready<'w, V: Vector> = &'w mut ForwardDynamics<Wide<V>>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        // code writes pivots after its results
        io.make_room(io.native.forward.as_ref().map_or(0, Wides::outputs));
        rooms.forward(model)
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        forward: &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(code) = &mut io.native.forward
            && io.still
            && !loaded
        {
            code.run(&io.q, &io.v, &io.input, &mut io.output);
            bad = not_positive(&io.output[model.nv()..2 * model.nv()], bad);
        } else {
            forward_dynamics(
                model,
                StateView {
                    q: &io.q,
                    v: &io.v,
                    base,
                },
                &io.input[..model.nv()],
                if loaded { &io.external } else { &[] },
                forward,
                &mut io.output[..model.nv()],
            );
            bad = not_positive(&forward.factors.inverse, bad);
        }
        io.hand_out(place, bad)
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
    type Ready<'w, V: Vector> = OfInertiaReady<'w, V>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        let of_inertia = rooms.of_inertia.get_or_insert_with(|| {
            Box::new(OfInertia {
                composite: CompositeBodies::new(model),
                transposed: Transposed::new(model),
                entries: Entries::new::<Fused, Register<V>, f64>(model),
                whole: None,
                upper: None,
            })
        });
        let OfInertia {
            composite,
            transposed,
            entries,
            whole,
            upper,
        } = &mut **of_inertia;
        let code = io.native.inertia.as_ref();
        let nv = model.nv();
        if code.is_none() && nv > MATRICES_IN_LANES {
            return OfInertiaReady::ByState {
                composite,
                transposed,
                entries,
            };
        }
        let squares = match self.0 {
            Part::Whole => whole,
            Part::Upper => upper,
        };
        let wanted = |k: usize| self.0 == Part::Whole || k % nv >= k / nv;
        let squares = squares.get_or_insert_with(|| match code {
            Some(code) => Squares::new(code.places(nv * nv), code.outputs(), wanted),
            None => Squares::new(&upper_entries(model), nv * nv, wanted),
        });
        io.make_room(squares.registers());
        OfInertiaReady::InLanes { composite, squares }
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        ready: &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let (size, out) = (model.nv() * model.nv(), place.states());
        let (composite, transposed, entries) = match ready {
            OfInertiaReady::InLanes { composite, squares } => {
                squares.prefetch_first(out);
                if let Some(code) = &mut io.native.inertia {
                    code.run(&io.q, &[], &[], &mut io.output);
                } else {
                    let upper = &mut io.output[..size];
                    composite_bodies::kernel(model, &io.q, composite, Part::Upper, upper);
                }
                return squares.write(&mut io.output, out, bad);
            }
            OfInertiaReady::ByState {
                composite,
                transposed,
                entries,
            } => (composite, transposed, entries),
        };
        composite_bodies::records(model, &io.q, composite, *transposed);
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

/// How inertia matrices are computed.
pub(crate) enum OfInertiaReady<'w, V: Vector> {
    /// With a state in each lane to the end: small ones, and by generated code.
    InLanes {
        composite: &'w mut CompositeBodies<Wide<V>>,
        squares: &'w mut Squares<V>,
    },
    /// State after state, with a column in each lane.
    ByState {
        composite: &'w mut CompositeBodies<Wide<V>>,
        transposed: &'w mut Transposed<V, EntryRecord<Wide<V>>>,
        entries: &'w mut Entries<Wide<V>>,
    },
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

/// Factors of I(q), one set per state, kept.
#[derive(Clone, Copy)]
pub(crate) struct Factorize;

impl Question for Factorize {
    const KEEPS: bool = true;

    type Ready<'w, V: Vector> = &'w mut [Factorization<Wide<V>>];

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        groups: usize,
    ) -> Self::Ready<'w, V> {
        rooms
            .factors
            .resize_with(groups, || Factorization::new(model));
        &mut rooms.factors
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        factors: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let factors = &mut factors[place.group::<V>()];
        factors.factorize_kernel(model, &io.q);
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

    type Ready<'w, V: Vector> = &'w mut [Factorization<Wide<V>>];

    fn prepare<'w, V: Vector>(
        self,
        _model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        &mut rooms.factors
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        factors: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let (nv, factors) = (model.nv(), &mut factors[place.group::<V>()]);
        for k in 0..self.right_hand_sides {
            factors.solve_kernel(model, &mut io.output[k * nv..(k + 1) * nv]);
        }
        io.hand_out(place, bad)
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
    type Ready<'w, V: Vector> = &'w mut Kinematics<Wide<V>>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        rooms.kinematics(model)
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        kinematics: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        forward::poses_kernel(model, &io.q, base, kinematics);
        jacobian::kernel(model, kinematics, self.0, &mut io.output[..6 * model.nv()]);
        io.hand_out(place, bad)
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
    type Ready<'w, V: Vector> = &'w mut Kinematics<Wide<V>>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        rooms.kinematics(model)
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        kinematics: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        forward::poses_kernel(model, &io.q, base, kinematics);
        let pose = kinematics.world_from_body[self.0.body] * self.0.body_from_frame.lift();
        let columns = [
            pose.rotation.x,
            pose.rotation.y,
            pose.rotation.z,
            pose.translation,
        ];
        for k in 0..4 {
            io.output[3 * k] = columns[k].x;
            io.output[3 * k + 1] = columns[k].y;
            io.output[3 * k + 2] = columns[k].z;
        }
        io.hand_out(place, bad)
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
