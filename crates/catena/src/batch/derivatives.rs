//! Derivatives of many states at once.

use super::lanes::{Work, not_positive};
use super::question::Question;
use super::{Batch, Failure, each};
use crate::Dynamics;
use crate::algorithm::derivatives::pack::One;
use crate::algorithm::derivatives::{forward, inverse};
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::error::Result;
use crate::model::Model;
use crate::scalar::{Scalar, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, check_length};

/// Matrices of larger models, times the lanes, no longer fit into the nearer caches: such states are computed one after
/// another, columns side by side in the registers.
const LARGE: usize = 32;

/// States of one thread: positions, velocities, inputs, and room for the results.
type Part<'a> = (((&'a [f64], &'a [f64]), &'a [f64]), &'a mut [f64]);

/// Workspaces of the derivatives of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Differentials<V: Vector> {
    inverse: inverse::Work<Wide<V>, One>,
    forward: forward::Recursion<Wide<V>, One>,
    sweeps: Sweeps<Wide<V>, One>,
    vdot: Vec<Wide<V>>,
}

impl<V: Vector> Differentials<V> {
    fn new(model: &Model) -> Self {
        Differentials {
            inverse: inverse::Work::new(model),
            forward: forward::Recursion::new(model),
            sweeps: Sweeps::new(model),
            vdot: vec![Wide::zero(); model.nv()],
        }
    }
}

/// ∂τ/∂q, then ∂τ/∂v.
#[derive(Clone, Copy)]
struct OfInverse;

impl Question for OfInverse {
    const NEEDS_VELOCITIES: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut Work<V>, _groups: usize) {
        work.differentials
            .get_or_insert_with(|| Box::new(Differentials::new(model)));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        _group: usize,
        work: &mut Work<V>,
        bad: Wide<V>,
    ) -> Wide<V> {
        if let Some(code) = &mut work.native.inverse_derivatives
            && work.still
            && !loaded
        {
            code.run(&work.q, &work.v, &work.input, &mut work.output);
            return bad;
        }
        let external = if loaded { &work.external[..] } else { &[] };
        let size = model.nv() * model.nv();
        let (dq, dv) = work.output[..2 * size].split_at_mut(size);
        if let Some(differentials) = &mut work.differentials {
            inverse::kernel::<Wide<V>, f64, One, false>(
                model,
                [&work.q, &work.v, &work.input[..model.nv()]],
                base,
                external,
                None,
                &mut differentials.inverse,
                [dq, dv, &mut []],
            );
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

    fn prepare<V: Vector>(self, model: &Model, work: &mut Work<V>, _groups: usize) {
        work.differentials
            .get_or_insert_with(|| Box::new(Differentials::new(model)));
        work.forward
            .get_or_insert_with(|| Box::new(ForwardDynamics::new(model)));
        work.make_room_for_code();
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        _group: usize,
        work: &mut Work<V>,
        bad: Wide<V>,
    ) -> Wide<V> {
        let size = model.nv() * model.nv();
        if let Some(code) = &mut work.native.forward_derivatives
            && work.still
            && !loaded
        {
            code.run(&work.q, &work.v, &work.input, &mut work.output);
            return not_positive(
                &work.output[3 * size + model.nv()..3 * size + 2 * model.nv()],
                bad,
            );
        }
        let external = if loaded { &work.external[..] } else { &[] };
        let (dq, rest) = work.output[..3 * size].split_at_mut(size);
        let (dv, dtau) = rest.split_at_mut(size);
        let (Some(differentials), Some(forward)) = (&mut work.differentials, &mut work.forward)
        else {
            return bad;
        };
        let Differentials {
            forward: recursion,
            sweeps,
            vdot,
            ..
        } = &mut **differentials;
        articulated_bodies::kernel(
            model,
            &work.q,
            &work.v,
            &work.input[..model.nv()],
            base,
            external,
            forward,
            vdot,
        );
        forward::kernel(
            model,
            [&work.q, &work.v, vdot],
            base,
            external,
            &forward.factors,
            recursion,
            sweeps,
            [dq, dv, dtau],
        );
        not_positive(&forward.factors.inverse, bad)
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

impl Batch {
    /// ∂τ/∂q and ∂τ/∂v for every state: first the one, then the other, nv × nv numbers each, by rows (row: effort; column:
    /// freedom), states after one another. Conventions as in [`Dynamics::inverse_derivatives`].
    pub fn inverse_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        vdot: &[f64],
        derivatives: &mut [f64],
    ) -> Result<()> {
        self.model.expect_tree()?;
        let nv = self.model.nv();
        if nv <= LARGE {
            return self.ask(OfInverse, [q, v, vdot], &[], derivatives, 2 * nv * nv);
        }
        self.one_by_one(
            [q, v, vdot],
            derivatives,
            2 * nv * nv,
            |door, state, input, out| {
                let found = door.inverse_derivatives(state, input, &[])?;
                let (dq, dv) = out.split_at_mut(nv * nv);
                dq.copy_from_slice(found.dq.as_slice());
                dv.copy_from_slice(found.dv.as_slice());
                Ok(())
            },
        )
    }

    /// ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ for every state, laid out as by [`inverse_derivatives`](Self::inverse_derivatives).
    pub fn forward_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        derivatives: &mut [f64],
    ) -> Result<()> {
        self.model.expect_tree()?;
        let nv = self.model.nv();
        if nv <= LARGE {
            return self.ask(OfForward, [q, v, tau], &[], derivatives, 3 * nv * nv);
        }
        self.one_by_one(
            [q, v, tau],
            derivatives,
            3 * nv * nv,
            |door, state, input, out| {
                let found = door.forward_derivatives(state, input, &[])?;
                for (out, matrix) in
                    out.chunks_exact_mut(nv * nv)
                        .zip([&found.dq, &found.dv, &found.dtau])
                {
                    out.copy_from_slice(matrix.as_slice());
                }
                Ok(())
            },
        )
    }

    /// Large models, state after state through the checked door, in threads.
    fn one_by_one(
        &mut self,
        [q, v, input]: [&[f64]; 3],
        output: &mut [f64],
        size: usize,
        answer: impl Fn(&mut Dynamics, &State, &[f64], &mut [f64]) -> Result<()> + Sync,
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let states = output.len() / size;
        check_length("results of a batch", output.len(), states * size)?;
        check_length("positions of a batch", q.len(), states * nq)?;
        check_length("velocities of a batch", v.len(), states * nv)?;
        check_length("inputs of a batch", input.len(), states * nv)?;
        let threads = self.thread_count();
        while self.doors.len() < threads {
            let door = match &self.compiled {
                Some(compiled) => Dynamics::with_compiled(compiled),
                None => Dynamics::with_cpu(&self.model, self.cpu),
            };
            self.doors.push((door, State::neutral(&self.model)));
        }
        let chunk = states.div_ceil(threads).max(1);
        let base = self.base;
        let run = |(((q, v), input), output): Part<'_>,
                   (door, state): &mut (Dynamics, State),
                   failed: &mut Vec<Failure>| {
            state.base = base;
            for k in 0..input.len() / nv {
                state.q.copy_from_slice(&q[k * nq..(k + 1) * nq]);
                state.v.copy_from_slice(&v[k * nv..(k + 1) * nv]);
                let input = &input[k * nv..(k + 1) * nv];
                let out = &mut output[k * size..(k + 1) * size];
                if let Err(error) = answer(door, state, input, out) {
                    failed.push(Failure { state: k, error });
                }
            }
        };
        self.failures.clear();
        if threads == 1 {
            run(
                (((q, v), input), output),
                &mut self.doors[0],
                &mut self.failures,
            );
            return self.first_failure();
        }
        let parts = (q.chunks(chunk * nq))
            .zip(v.chunks(chunk * nv))
            .zip(input.chunks(chunk * nv))
            .zip(output.chunks_mut(chunk * size));
        let mut tasks: Vec<_> = parts
            .zip(&mut self.doors)
            .map(|(part, door)| (Some(part), door, Vec::new()))
            .collect();
        each(&mut tasks, |(part, door, failed)| {
            if let Some(part) = part.take() {
                run(part, door, failed);
            }
        });
        for (task, (_, _, failed)) in tasks.into_iter().enumerate() {
            for failure in failed {
                self.failures.push(Failure {
                    state: task * chunk + failure.state,
                    ..failure
                });
            }
        }
        self.first_failure()
    }
}
