//! States in lanes: loading and storing of registers, and the loop over them.

use super::rooms::Rooms;
use crate::Dynamics;
use crate::arch::prefetch;
use crate::doors::native::Lanes;
use crate::error::Result;
use crate::model::Model;
use crate::scalar::{Scalar, Task, Vector, Wide};
use crate::spatial::{Force, Motion, Vec3};
use crate::state::{Base, State};
use crate::thresholds::NUMBERS_AHEAD;

/// Inputs of the states of a batch, one after another, or once for all of them. Inputs that are not needed are empty.
#[derive(Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    pub q: &'a [f64],
    pub v: &'a [f64],
    /// Accelerations or efforts.
    pub input: &'a [f64],
    /// One wrench per body 0…n and state.
    pub external: &'a [Force<f64>],
    /// Whether q, v and the input are common to all states.
    pub common: [bool; 3],
}

impl<'a> Given<'a> {
    /// Positions only.
    pub fn positions(q: &'a [f64]) -> Self {
        Given {
            q,
            ..Given::default()
        }
    }

    /// These inputs for this number of states: an input of the length of one state is common to all.
    pub fn of(mut self, model: &Model, states: usize) -> Self {
        let (nq, nv) = (model.nq(), model.nv());
        let lengths = [(self.q, nq), (self.v, nv), (self.input, nv)];
        self.common = lengths.map(|(x, width)| states != 1 && x.len() == width);
        self
    }

    /// q, v and the input of a state; empty where not given.
    pub fn at(&self, model: &Model, state: usize) -> [&'a [f64]; 3] {
        let (nq, nv) = (model.nq(), model.nv());
        let [q, v, input] = self.common;
        [
            row(self.q, nq, state, q),
            row(self.v, nv, state, v),
            row(self.input, nv, state, input),
        ]
    }

    /// The parts that belong to the first `part` of `all` states, and the rest.
    fn split(self, part: usize, all: usize) -> (Given<'a>, Given<'a>) {
        fn cut<T>(x: &[T], part: usize, all: usize, is_common: bool) -> (&[T], &[T]) {
            match is_common {
                true => (x, x),
                false => x.split_at(x.len() / all.max(1) * part),
            }
        }
        let common = self.common;
        let (q, q_rest) = cut(self.q, part, all, common[0]);
        let (v, v_rest) = cut(self.v, part, all, common[1]);
        let (input, input_rest) = cut(self.input, part, all, common[2]);
        let (external, external_rest) = cut(self.external, part, all, false);
        (
            Given {
                q,
                v,
                input,
                external,
                common,
            },
            Given {
                q: q_rest,
                v: v_rest,
                input: input_rest,
                external: external_rest,
                common,
            },
        )
    }
}

/// The numbers of a state among those of all, or the common ones.
fn row(x: &[f64], width: usize, state: usize, is_common: bool) -> &[f64] {
    match x.is_empty() || is_common {
        true => x,
        false => &x[state * width..(state + 1) * width],
    }
}

/// The states of a batch, and the destination of the results.
#[derive(Default)]
pub(crate) struct Job<'a> {
    pub given: Given<'a>,
    pub output: &'a mut [f64],
    /// Number of states.
    pub states: usize,
}

impl<'a> Job<'a> {
    /// The first `states` states, and the rest.
    pub fn split(self, states: usize) -> (Job<'a>, Job<'a>) {
        let (given, others) = self.given.split(states, self.states);
        let at = self.output.len() / self.states.max(1) * states;
        let (output, output_rest) = self.output.split_at_mut(at);
        (
            Job {
                given,
                output,
                states,
            },
            Job {
                given: others,
                output: output_rest,
                states: self.states - states,
            },
        )
    }
}

/// Inputs and outputs in the registers of one thread, and the code made for the model.
#[derive(Clone, Debug)]
pub(crate) struct Io<V: Vector> {
    /// Coordinates; these four are padded by up to a register of states.
    pub q: Vec<Wide<V>>,
    pub v: Vec<Wide<V>>,
    pub input: Vec<Wide<V>>,
    pub external: Vec<Force<Wide<V>>>,
    pub output: Vec<Wide<V>>,
    /// First position coordinate of every quaternion.
    quaternions: Vec<usize>,
    /// Code made for the model, and whether the base allows it.
    pub native: Lanes,
    pub still: bool,
}

/// Workspace of one thread for one register type.
#[derive(Clone, Debug)]
pub(crate) struct LaneWork<V: Vector> {
    pub io: Io<V>,
    rooms: Rooms<V>,
    /// States that failed.
    pub failed: Vec<usize>,
}

impl<V: Vector> LaneWork<V> {
    pub fn new(model: &Model) -> Self {
        let bodies = &model.tree().bodies[1..];
        LaneWork {
            io: Io {
                q: padded(model.nq()),
                v: padded(model.nv()),
                input: padded(model.nv()),
                external: Vec::new(),
                output: Vec::new(),
                quaternions: bodies
                    .iter()
                    .filter_map(|body| body.kind.quaternion().map(|k| body.q + k))
                    .map(|k| match model.couplings() {
                        None => k,
                        // quaternions are not coupled
                        Some(couplings) => couplings.positions().partition_point(|&at| at < k),
                    })
                    .collect(),
                native: Lanes::default(),
                still: true,
            },
            rooms: Rooms::new(),
            failed: Vec::new(),
        }
    }

    /// Allocates what is missing, before the hot loop.
    pub fn prepare<Q: Question>(&mut self, question: Q, model: &Model, job: &Job<'_>) {
        let size = job.output.len() / job.states.max(1);
        self.io.make_room(size);
        if !job.given.external.is_empty() && self.io.external.is_empty() {
            self.io.external = vec![Force::zero(); model.body_count() + 1];
        }
        self.failed.clear();
        ready(question, model, &mut self.io, &mut self.rooms, job.states);
    }

    /// Register by register; unused lanes of the last register repeat the last state.
    #[inline(always)]
    pub fn run<Q: Question>(
        &mut self,
        question: Q,
        model: &Model,
        base: &Base<f64>,
        job: &mut Job<'_>,
    ) {
        let states = job.states;
        let size = job.output.len() / states.max(1);
        let LaneWork { io, rooms, failed } = self;
        io.still = base.is_fixed();
        let mut ready = ready(question, model, io, rooms, states);
        let base: Base<Wide<V>> = Base {
            pose: base.pose.lift(),
            velocity: Motion::new(base.velocity.angular.lift(), base.velocity.linear.lift()),
            acceleration: Motion::new(
                base.acceleration.angular.lift(),
                base.acceleration.linear.lift(),
            ),
        };
        let mut group = 0;
        while group * V::LANES < states {
            let first = group * V::LANES;
            let used = V::LANES.min(states - first);
            let bad = V::apart(TakeIn {
                io,
                model,
                job,
                first,
                used,
            });
            if Q::IN_PLACE {
                gather(&mut io.output, job.output, size, first, used);
            }
            let loaded = !job.given.external.is_empty();
            let mut place = Place {
                all: &mut *job.output,
                size,
                first,
                used,
            };
            let bad = question.answer(model, &base, loaded, io, &mut ready, bad, &mut place);
            if !V::all(bad.0.less(V::splat(1.0))) {
                for lane in 0..used {
                    if bad.lane(lane).is_nan() {
                        failed.push(first + lane);
                    }
                }
            }
            group += 1;
        }
    }
}

impl<V: Vector> Io<V> {
    /// Storage for this number of registers of output.
    pub fn make_room(&mut self, registers: usize) {
        if self.output.len() < registers {
            self.output = padded(registers);
        }
    }

    /// Stores the output, a state in each lane; the returned value is NaN in lanes with non-finite results.
    #[inline(always)]
    pub fn hand_out(&self, place: &mut Place<'_>, bad: Wide<V>) -> Wide<V> {
        V::apart(HandOut {
            from: &self.output,
            place,
            bad,
        })
    }

    /// The wrenches on all bodies.
    #[inline(always)]
    fn load(
        &mut self,
        external: &[Force<f64>],
        first: usize,
        used: usize,
        mut bad: Wide<V>,
    ) -> Wide<V> {
        let bodies = self.external.len();
        for i in 1..bodies {
            let mut parts = [Wide::<V>::zero(); 6];
            for lane in 0..V::LANES {
                let state = first + if lane < used { lane } else { used - 1 };
                let Force {
                    moment: n,
                    force: f,
                } = external[state * bodies + i];
                let numbers = [n.x, n.y, n.z, f.x, f.y, f.z];
                for part in 0..6 {
                    parts[part].0.lanes_mut()[lane] = numbers[part];
                }
            }
            bad = non_finite(&parts, bad);
            self.external[i] = Force::new(
                Vec3::new(parts[0], parts[1], parts[2]),
                Vec3::new(parts[3], parts[4], parts[5]),
            );
        }
        bad
    }
}

/// The workspace of a quantity. Not inlined: it is made once, and the loop that uses it is compiled for several registers.
#[inline(never)]
fn ready<'w, Q: Question, V: Vector>(
    question: Q,
    model: &Model,
    io: &mut Io<V>,
    rooms: &'w mut Rooms<V>,
    states: usize,
) -> Q::Ready<'w, V> {
    question.prepare(model, io, rooms, states.div_ceil(V::LANES))
}

/// A quantity computed for the states in the lanes of a register. To add one: a field of [`Rooms`] for its
/// workspace, an implementation of this trait, and a method of `Batch`.
pub(crate) trait Question: Copy + Sync {
    /// Whether the output is also an input.
    const IN_PLACE: bool = false;

    /// Whether it takes velocities, and accelerations or efforts.
    const NEEDS_VELOCITIES: bool = false;

    /// Whether a workspace keeps data of each of its states from one call to the next.
    const KEEPS: bool = false;

    /// The prepared workspace it computes in.
    type Ready<'w, V: Vector>;

    /// The workspace, made if there is none, for this number of registers of states.
    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        groups: usize,
    ) -> Self::Ready<'w, V>;

    /// Computes the results from `q`, `v`, `input` (and `external` if loaded) of the workspace and stores them. The returned
    /// value is NaN in lanes that failed or have a non-finite result.
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        ready: &mut Self::Ready<'_, V>,
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

/// The destination of the results of the states in a register.
pub(crate) struct Place<'a> {
    /// The results of all states.
    all: &'a mut [f64],
    /// Numbers per state.
    size: usize,
    /// The states in the register.
    first: usize,
    used: usize,
}

impl Place<'_> {
    /// The results of the states in the register, one after another.
    #[inline(always)]
    pub fn states(&mut self) -> &mut [f64] {
        &mut self.all[self.first * self.size..(self.first + self.used) * self.size]
    }

    /// Number of the register.
    #[inline(always)]
    pub fn group<V: Vector>(&self) -> usize {
        self.first / V::LANES
    }
}

/// Loads the arguments of some states into the registers. Returns zero in the lanes of valid states, NaN in the others.
struct TakeIn<'a, 'b, V: Vector> {
    io: &'a mut Io<V>,
    model: &'a Model,
    job: &'a Job<'b>,
    first: usize,
    used: usize,
}

impl<V: Vector> Task for TakeIn<'_, '_, V> {
    type Output = Wide<V>;

    #[inline(always)]
    fn run(self) -> Wide<V> {
        let TakeIn {
            io,
            model,
            job,
            first,
            used,
        } = self;
        let (nq, nv) = (model.nq(), model.nv());
        let mut bad = Wide::<V>::zero();
        let common = job.given.common;
        if !job.given.q.is_empty() {
            bring(&mut io.q, job.given.q, nq, first, used, common[0]);
            bad = non_finite(&io.q[..nq], bad);
            for &k in &io.quaternions {
                bad = unlike_one(&io.q[k..k + 4], bad);
            }
        }
        if !job.given.v.is_empty() {
            bring(&mut io.v, job.given.v, nv, first, used, common[1]);
            bad = non_finite(&io.v[..nv], bad);
        }
        if !job.given.input.is_empty() {
            bring(&mut io.input, job.given.input, nv, first, used, common[2]);
            bad = non_finite(&io.input[..nv], bad);
        }
        if !job.given.external.is_empty() {
            bad = io.load(job.given.external, first, used, bad);
        }
        bad
    }
}

/// Stores the results of some states.
struct HandOut<'a, 'b, V: Vector> {
    from: &'a [Wide<V>],
    place: &'a mut Place<'b>,
    bad: Wide<V>,
}

impl<V: Vector> Task for HandOut<'_, '_, V> {
    type Output = Wide<V>;

    #[inline(always)]
    fn run(self) -> Wide<V> {
        let Place {
            all,
            size,
            first,
            used,
        } = self.place;
        scatter(self.from, all, *size, *first, *used, self.bad)
    }
}

/// `bad`, with NaN where any of these numbers is non-finite.
#[inline(always)]
pub(crate) fn non_finite<V: Vector>(numbers: &[Wide<V>], bad: Wide<V>) -> Wide<V> {
    let zero = Wide::zero();
    // four independent sums
    let mut sums = [bad, zero, zero, zero];
    let whole = numbers.len() / 4 * 4;
    let mut k = 0;
    while k < whole {
        sums[0] = numbers[k].mul_add(zero, sums[0]);
        sums[1] = numbers[k + 1].mul_add(zero, sums[1]);
        sums[2] = numbers[k + 2].mul_add(zero, sums[2]);
        sums[3] = numbers[k + 3].mul_add(zero, sums[3]);
        k += 4;
    }
    while k < numbers.len() {
        sums[0] = numbers[k].mul_add(zero, sums[0]);
        k += 1;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// `bad`, with NaN where any of these numbers is not positive and finite.
#[inline(always)]
pub(crate) fn not_positive<V: Vector>(numbers: &[Wide<V>], mut bad: Wide<V>) -> Wide<V> {
    let (zero, nan) = (Wide::zero(), Wide::constant(f64::NAN));
    for k in 0..numbers.len() {
        let finite = numbers[k].mul_add(zero, bad);
        bad = Wide::select(zero.less(numbers[k]), finite, nan);
    }
    bad
}

/// `bad`, with NaN for a state whose result has NaN in any column.
#[inline(always)]
pub(crate) fn in_lane<V: Vector>(mut bad: Wide<V>, lane: usize, columns: Wide<V>) -> Wide<V> {
    if !V::all(columns.0.less(V::splat(1.0))) {
        bad.0.lanes_mut()[lane] = f64::NAN;
    }
    bad
}

/// `bad`, with NaN where a quaternion is not of unit length.
#[inline(always)]
fn unlike_one<V: Vector>(p: &[Wide<V>], bad: Wide<V>) -> Wide<V> {
    let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    let error = squared - Wide::one();
    let nan = Wide::constant(f64::NAN);
    let near = (error * error).less(Wide::constant(QUATERNION * QUATERNION));
    Wide::select(near, bad, nan)
}

/// How far the squared length of a quaternion may be from 1.
pub(crate) const QUATERNION: f64 = 1e-9;

/// Storage for `size` registers in blocks.
fn padded<V: Vector>(size: usize) -> Vec<Wide<V>> {
    vec![Wide::zero(); size.next_multiple_of(V::LANES)]
}

/// Where the blocks of `size` columns begin: one after another, the last one aligned with the end of the columns, if there are
/// enough.
#[inline(always)]
fn square_start<V: Vector>(square: usize, size: usize) -> usize {
    let start = square * V::LANES;
    if size < V::LANES {
        0
    } else if start + V::LANES <= size {
        start
    } else {
        size - V::LANES
    }
}

/// Loads coordinates of some states, or the common ones into all lanes.
#[inline(always)]
fn bring<V: Vector>(
    into: &mut [Wide<V>],
    from: &[f64],
    size: usize,
    first: usize,
    used: usize,
    is_common: bool,
) {
    if !is_common {
        gather(into, from, size, first, used);
        return;
    }
    for k in 0..size {
        into[k] = Wide::constant(from[k]);
    }
}

/// Coordinates of `used` states from `first` on, one state per lane: blocks of as many coordinates as lanes, transposed.
/// `into` is padded.
#[inline(always)]
fn gather<V: Vector>(into: &mut [Wide<V>], from: &[f64], size: usize, first: usize, used: usize) {
    // fewer coordinates than lanes: a square reaches into the next state, but must not reach beyond the end
    let reach = (first + V::LANES - 1) * size + size.max(V::LANES);
    if used < V::LANES || reach > from.len() {
        gather_slowly(into, from, size, first, used);
        return;
    }
    for square in 0..size.div_ceil(V::LANES) {
        let column = square_start::<V>(square, size);
        let mut rows: [&[f64]; 8] = [&[]; 8];
        for lane in 0..V::LANES {
            let start = (first + lane) * size + column;
            rows[lane] = &from[start..start + V::LANES];
        }
        let square = V::transposed(rows);
        let into = &mut into[column..column + V::LANES];
        for k in 0..V::LANES {
            into[k] = Wide(square[k]);
        }
    }
}

/// Loads coordinates number by number; remaining lanes repeat the last state.
#[inline(never)]
fn gather_slowly<V: Vector>(
    into: &mut [Wide<V>],
    from: &[f64],
    size: usize,
    first: usize,
    used: usize,
) {
    for k in 0..size {
        let lanes = into[k].0.lanes_mut();
        for lane in 0..V::LANES {
            lanes[lane] = from[(first + lane.min(used - 1)) * size + k];
        }
    }
}

/// Stores results, with NaN in `bad` where a number is non-finite. A block may write into the next state's numbers,
/// which that state then overwrites; the last state of a register is written exactly.
#[inline(always)]
fn scatter<V: Vector>(
    from: &[Wide<V>],
    into: &mut [f64],
    size: usize,
    first: usize,
    used: usize,
    mut bad: Wide<V>,
) -> Wide<V> {
    if used < V::LANES {
        scatter_slowly(from, into, size, first, used);
        return non_finite(&from[..size], bad);
    }
    if size < V::LANES {
        let rows = square(from);
        for lane in 0..V::LANES - 1 {
            let at = (first + lane) * size;
            if at + V::LANES <= into.len() {
                rows[lane].store(&mut into[at..at + V::LANES]);
            } else {
                into[at..at + size].copy_from_slice(&rows[lane].0.lanes()[..size]);
            }
        }
        let (last, at) = (V::LANES - 1, (first + V::LANES - 1) * size);
        into[at..at + size].copy_from_slice(&rows[last].0.lanes()[..size]);
        return non_finite(&from[..size], bad);
    }
    for k in 0..size.div_ceil(V::LANES) {
        let column = square_start::<V>(k, size);
        let from = &from[column..column + V::LANES];
        bad = non_finite(from, bad);
        let rows = square(from);
        for lane in 0..V::LANES {
            let at = (first + lane) * size + column;
            if column + NUMBERS_AHEAD < size {
                prefetch(into, at + NUMBERS_AHEAD);
            }
            rows[lane].store(&mut into[at..at + V::LANES]);
        }
    }
    bad
}

/// The first registers, as many as lanes, transposed.
#[inline(always)]
fn square<V: Vector>(from: &[Wide<V>]) -> [Wide<V>; 8] {
    let from = &from[..V::LANES];
    let mut rows: [&[f64]; 8] = [&[]; 8];
    for k in 0..V::LANES {
        rows[k] = from[k].0.lanes();
    }
    let square = V::transposed(rows);
    let mut transposed = [Wide::zero(); 8];
    for k in 0..V::LANES {
        transposed[k] = Wide(square[k]);
    }
    transposed
}

/// Transposes number by number.
#[inline(never)]
fn scatter_slowly<V: Vector>(
    from: &[Wide<V>],
    into: &mut [f64],
    size: usize,
    first: usize,
    used: usize,
) {
    for k in 0..size {
        for lane in 0..used {
            into[(first + lane) * size + k] = from[k].lane(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_went() {
        fn check<V: Vector>() {
            for size in 1..20 {
                for states in 1..20 {
                    let numbers: Vec<f64> = (0..size * states).map(|k| k as f64).collect();
                    let mut back = vec![-1.0; size * states];
                    let mut wide = padded::<V>(size);
                    let mut first = 0;
                    while first < states {
                        let used = V::LANES.min(states - first);
                        gather(&mut wide, &numbers, size, first, used);
                        for lane in 0..used {
                            for k in 0..size {
                                assert_eq!(wide[k].lane(lane), numbers[(first + lane) * size + k]);
                            }
                        }
                        let bad = Wide::zero();
                        scatter(&wide, &mut back, size, first, used, bad);
                        first += used;
                    }
                    assert_eq!(back, numbers);
                }
            }
        }
        crate::arch::in_every_register!(check);
    }
}
