//! Stand-ins for the types of [`super`] where there are no SIMD registers: uninhabited types.

use super::{Cpu, Of};
use crate::algorithm::inertia_matrix::Part;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::State;

/// An uninhabited type, with functions that are never called.
macro_rules! absent {
    ($name:ident: $(fn $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[derive(Clone, Debug)]
        pub(crate) enum $name {}

        impl $name {
            pub fn new(_model: &Model, _cpu: Cpu) -> Option<Self> {
                None
            }
            $(
                #[allow(unused_variables)]
                pub fn $function(&self, $($argument: $type),*) $(-> $result)? {
                    match *self {}
                }
            )*
        }
    };
}

absent!(OneState:
    fn load(external: &[Force<f64>]);
    fn inverse(model: &Model, state: &State, vdot: &[f64], loaded: bool, tau: &mut [f64]);
    fn joint_wrench(body: usize) -> Force<f64>;
    fn forward(model: &Model, state: &State, tau: &[f64], loaded: bool, vdot: &mut [f64]) -> &[f64];
    fn factorize(model: &Model, q: &[f64]) -> &[f64];
    fn bring_factors();
    fn solve(model: &Model, x: &mut [f64]);
);

absent!(InertiaMatrix:
    fn inertia(model: &Model, q: &[f64], part: Part, inertia: &mut [f64]);
);

absent!(Derivatives:
    fn run(of: Of, one: &OneState, model: &Model, state: &State, vdot: &[f64], loaded: bool, out: [&mut [f64]; 3]) -> bool;
    fn inverse_inertia(one: &OneState, model: &Model, out: &mut [f64]);
);
