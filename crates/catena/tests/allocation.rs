//! No algorithm of a state allocates once its workspace is made.

use catena::algorithm::energy::mechanical_state;
use catena::algorithm::factorization::Factorization;
use catena::algorithm::forward_dynamics::{
    ForwardDynamics, WalkerOrin, forward_dynamics, forward_dynamics_walker_orin,
};
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use catena::model::embedded;
use catena::{Base, Batch, Dynamics, Matrix, State, StateView};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system allocator; counting touches only a thread-local cell.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: likewise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn the_counter_counts() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1.0; 100]))) > 0);
}

#[test]
fn algorithms_do_not_allocate() {
    for name in ["stanford", "zoo", "random-40-3", "pendulum-20"] {
        let model = embedded::model(name).unwrap();
        let s = State::random(&model, 3);
        let nv = model.nv();
        let (x, base) = (vec![0.3; nv], Base::fixed());
        let mut out = vec![0.0; nv];
        let mut square = Matrix::zeros(nv, nv);
        let mut wide = Matrix::zeros(6, nv);
        let mut inverse = InverseDynamics::new(&model);
        let mut forward = ForwardDynamics::new(&model);
        let mut twin = WalkerOrin::new(&model);
        let mut bodies = CompositeBodies::new(&model);
        let mut convective = CoriolisMatrix::new(&model);
        let mut factors = Factorization::new(&model);
        let mut kinematics = Kinematics::new(&model);
        let frame = model.tree().frames.last().unwrap().clone();
        let count = allocations(|| {
            inverse_dynamics(
                &model,
                StateView {
                    q: &s.q,
                    v: &s.v,
                    base: &base,
                },
                &x,
                &[],
                &mut inverse,
                &mut out,
            );
            forward_dynamics(
                &model,
                StateView {
                    q: &s.q,
                    v: &s.v,
                    base: &base,
                },
                &x,
                &[],
                &mut forward,
                &mut out,
            );
            forward_dynamics_walker_orin(
                &model,
                StateView {
                    q: &s.q,
                    v: &s.v,
                    base: &base,
                },
                &x,
                &[],
                &mut twin,
                &mut out,
            );
            inertia_matrix(&model, &s.q, &mut bodies, square.as_mut_slice());
            coriolis_matrix(
                &model,
                StateView {
                    q: &s.q,
                    v: &s.v,
                    base: &base,
                },
                &mut convective,
                &mut square,
            );
            factors.factorize(&model, &s.q);
            factors.solve(&model, &mut out);
            forward_kinematics(
                &model,
                StateView {
                    q: &s.q,
                    v: &s.v,
                    base: &base,
                },
                &x,
                &mut kinematics,
            );
            frame_jacobian(&model, &kinematics, &frame, &mut wide);
            std::hint::black_box(mechanical_state(&model, &s.q, &s.v, &kinematics));
        });
        assert_eq!(count, 0, "{name}");
    }
}

#[test]
fn the_checked_door_does_not_allocate() {
    for name in ["stanford", "zoo", "random-40-3"] {
        let model = embedded::model(name).unwrap();
        let s = State::random(&model, 3);
        let mut x = vec![0.3; model.nv()];
        let mut dynamics = Dynamics::new(&model);
        let frame = model.tree().frames.last().unwrap().clone();
        // matrices are made when they are first asked for
        dynamics.inertia(&s).unwrap();
        dynamics.coriolis(&s).unwrap();
        let derivatives = |dynamics: &mut Dynamics, x: &[f64]| {
            dynamics.inverse_derivatives(&s, x, &[]).unwrap();
            dynamics.forward_derivatives(&s, x, &[]).unwrap();
            dynamics.inverse_inertia(&s).unwrap();
            dynamics.regressor(&s, x).unwrap();
            dynamics.body_jacobian(&s, 1).unwrap();
            dynamics.centroidal_momentum(&s).unwrap();
        };
        derivatives(&mut dynamics, &x);
        let count = allocations(|| {
            derivatives(&mut dynamics, &x);
            dynamics.inverse(&s, &x, &[]).unwrap();
            dynamics.forward(&s, &x, &[]).unwrap();
            dynamics.inertia(&s).unwrap();
            dynamics.inertia_upper(&s).unwrap();
            dynamics.coriolis(&s).unwrap();
            dynamics.gravity(&s).unwrap();
            dynamics.factorize(&s).unwrap();
            dynamics.solve(&mut x).unwrap();
            dynamics.jacobian(&s, &frame).unwrap();
            dynamics.mechanical_state(&s).unwrap();
        });
        assert_eq!(count, 0, "{name}");
    }
}

#[test]
fn batches_do_not_allocate() {
    for name in ["stanford", "random-40-3"] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let s = State::random(&model, 3);
        let x = vec![0.3; nv];
        let mut of_inverse = vec![0.0; 2 * nv * nv];
        let mut of_forward = vec![0.0; 3 * nv * nv];
        let mut batch = Batch::new(&model);
        let mut run = || {
            batch
                .inverse_derivatives(&s.q, &s.v, &x, &mut of_inverse)
                .unwrap();
            batch
                .forward_derivatives(&s.q, &s.v, &x, &mut of_forward)
                .unwrap();
            let inertia = &mut of_forward[..nv * nv];
            batch.inertia(&s.q, inertia).unwrap();
            batch.inertia_upper(&s.q, inertia).unwrap();
        };
        // the workspaces are made at the first call
        run();
        assert_eq!(allocations(run), 0, "{name}");
    }
}
