//! Many states of a closed chain: code generated for the model, if any, computes them in the lanes. The general algorithm computes
//! every other state, one by one on all threads: those that the code leaves to it (open loops, dead points, a change of rank), and all
//! of them where there is no code.

use super::lanes::{Given, Io, Job, LaneWork, Place, Question, not_positive};
use super::rooms::Rooms;
use super::{Batch, Failed, Failure, Works, each};
use crate::ClosedChain;
use crate::Dynamics;
use crate::arch::Visitor;
use crate::doors::native::Wides;
use crate::error::Result;
use crate::model::Model;
use crate::scalar::{Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State};

/// Additional data of a batch of a closed chain.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    /// One per thread, made when first needed.
    works: Vec<ClosedWork>,
    /// The time of drivers.
    pub time: f64,
}

#[derive(Clone, Debug)]
struct ClosedWork {
    chain: ClosedChain,
    state: State,
}

impl Closed {
    pub fn new() -> Self {
        Closed {
            works: Vec::new(),
            time: 0.0,
        }
    }
}

/// Code for the lanes. Lanes for which it has no result are reported as failed.
#[derive(Clone, Copy)]
struct ByCode;

impl Question for ByCode {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = ();

    fn prepare<'w, V: Vector>(
        self,
        _model: &Model,
        io: &mut Io<V>,
        _rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        io.make_room(io.native.closed.as_ref().map_or(0, Wides::outputs));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        _ready: &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        if let Some(code) = &mut io.native.closed {
            code.run(&io.q, &io.v, &io.input, &mut io.output);
            let signs = model.nv() + model.constraint_rows()..code.outputs();
            bad = not_positive(&io.output[signs], bad);
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
        Ok(()) // the general algorithm gives the reason
    }
}

/// The states of one thread, and their results, which begin at state `first`.
struct Share<'a> {
    work: &'a mut ClosedWork,
    states: &'a [usize],
    first: usize,
    vdot: &'a mut [f64],
    failures: Vec<Failure>,
}

impl Batch {
    pub(super) fn closed_forward(&mut self, given: Given<'_>, vdot: &mut [f64]) -> Result<()> {
        self.failures.clear();
        let (states, given) = self.count_states::<ByCode>(given, vdot.len(), self.model.nv())?;
        let by_code =
            self.works.visit(HaveCode) && given.external.is_empty() && self.base.is_fixed();
        let left: Vec<usize> = match by_code {
            true => {
                let job = Job {
                    given,
                    output: &mut *vdot,
                    states,
                };
                self.run(ByCode, job);
                self.works.visit(Failed)
            }
            false => (0..states).collect(),
        };
        if !left.is_empty() {
            self.one_by_one(&left, given, vdot);
        }
        self.first_failure()
    }

    /// Runs the general algorithm at these states, in ascending order, divided among the threads.
    fn one_by_one(&mut self, left: &[usize], given: Given<'_>, vdot: &mut [f64]) {
        let threads = self.works.len();
        let Some(closed) = &mut self.closed else {
            return;
        };
        let (model, time, base) = (&self.model, closed.time, self.base);
        let chunk = left.len().div_ceil(threads);
        let count = left.len().div_ceil(chunk);
        if closed.works.len() < count {
            let work = ClosedWork {
                chain: ClosedChain::new(model),
                state: State::neutral(model),
            };
            closed.works.resize(count, work);
        }
        let (nv, bodies) = (model.nv(), model.body_count() + 1);
        let (mut rest, mut begun) = (vdot, 0);
        let mut shares = Vec::with_capacity(count);
        for (states, work) in left.chunks(chunk).zip(&mut closed.works) {
            let end = states[states.len() - 1] + 1;
            let (vdot, others) = std::mem::take(&mut rest).split_at_mut((end - begun) * nv);
            shares.push(Share {
                work,
                states,
                first: begun,
                vdot,
                failures: Vec::new(),
            });
            (rest, begun) = (others, end);
        }
        each(&mut shares, |share| {
            let ClosedWork { chain, state } = &mut *share.work;
            state.base = base;
            for &k in share.states {
                let [q, v, tau] = given.at(model, k);
                state.q.copy_from_slice(q);
                state.v.copy_from_slice(v);
                let external = match given.external.is_empty() {
                    true => &[],
                    false => &given.external[k * bodies..(k + 1) * bodies],
                };
                let out = &mut share.vdot[(k - share.first) * nv..(k - share.first + 1) * nv];
                match chain.forward(time, state, tau, external) {
                    Ok(motion) => out.copy_from_slice(motion.accelerations),
                    Err(error) => share.failures.push(Failure { state: k, error }),
                }
            }
        });
        // shares are in the order of the states
        for share in &mut shares {
            self.failures.append(&mut share.failures);
        }
    }
}

/// Whether there is code for accelerations of closed chains in every workspace.
struct HaveCode;

impl Visitor<Works> for HaveCode {
    type Output = bool;

    fn visit<V: Vector + Send + Sync>(self, works: &mut Vec<LaneWork<V>>) -> bool {
        works.iter().all(|work| work.io.native.closed.is_some())
    }
}
