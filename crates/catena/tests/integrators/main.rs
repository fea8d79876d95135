//! Integrators: coefficients, orders, long runs, events, restarts, failures, cost.

mod accounts;
mod accuracy;
mod coefficients;
mod events;
mod failures;
#[allow(dead_code)]
#[path = "../implicit_problems/mod.rs"]
mod implicit_problems;
mod orders;
mod restarts;
mod statistics;
mod systems;

use catena::integrate::{Fixed, FixedMethod, IntegratorOptions, Method};
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;
use systems::*;

/// Counts the allocations of this thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code)]
// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as for the caller.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for the caller.
        unsafe { Heap.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn runs_do_not_allocate() {
    let count = || ALLOCATIONS.with(Cell::get);
    for method in Method::ALL {
        let mut system = BODY;
        let mut run = begin(
            method,
            IntegratorOptions::default(),
            &mut system,
            &BODY_START,
        )
        .unwrap();
        let mut y = [0.0; 7];
        let before = count();
        for _ in 0..50 {
            run.step(&mut system, 1e9).unwrap();
            let middle = run.time() - 1e-6;
            run.interpolate(&mut system, middle, &mut y).unwrap();
        }
        run.start(&mut system, 0.0, &BODY_START).unwrap();
        assert_eq!(count(), before, "{method}");
    }
    for method in FixedMethod::ALL {
        let mut run = Fixed::new(method, 4, 3, 0.01).unwrap();
        run.start(0.0, &BODY_START[..4], &BODY_START[4..]).unwrap();
        let before = count();
        for _ in 0..50 {
            run.step(&mut BODY.clone()).unwrap();
        }
        assert_eq!(count(), before, "{method}");
    }
}
