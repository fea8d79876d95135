//! Motion in time: a model, its inputs and an integrator, with an audit at the end.
//!
//! ```text
//! Model + inputs → TreeSystem (an ODE on a manifold) → integrator → samples → audit
//! ```
//!
//! Integrators depend on [`System`](crate::integrate::System), not on models; samples are passed to the caller one by one.

mod audit;
mod base_motion;
mod bodies;
mod closing;
mod control;
mod dry_friction;
mod engine;
mod ensemble;
mod equations;
mod impact;
mod implicit;
mod inputs;
mod options;
mod pendulum;
mod run;
mod sensitivity;
mod stiffness;
mod stops;
mod tree_system;

pub use audit::{Audit, Breach, ElementEnergy, Errors, Finding, Held, Stopped};
pub use base_motion::{
    AnalyticBase, BaseMotion, BaseTable, PrescribedBase, RestingBase, Sinusoid, check_derivatives,
};
pub use closing::Drift;
pub use control::{ActuatorUse, Control, Duplicate, FrameLoad, Gains, Law, Sensors};
pub use ensemble::{Ensemble, EnsembleRun, Members, advance_together};
pub use equations::EquationsOfMotion;
pub use implicit::NewtonMatrix;
pub use inputs::{Controller, FrameWrench, Inputs, LineSpring, Table};
pub use options::{Integrator, SimulationOptions};
pub use run::{Happened, Sample, Simulation, verified_error};
pub use sensitivity::{CENTRAL, Neighbour, ONE_SIDED, Sensitivities};
pub use stiffness::{FastDamping, fastest_damping};
pub use stops::{Stop, StopKind};
pub use tree_system::{Constrained, EventFunction, Response, StateFunction, TreeSystem};
