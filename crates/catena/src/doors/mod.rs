//! The checked entry points: states and inputs are tested, the fastest path of the processor is chosen, and no
//! non-finite number is returned.

mod batch;
pub mod closed_chain;
mod compiled_chain;
mod dynamics;
pub mod inverse_kinematics;
pub mod native;

pub use batch::{Batch, Drive, Failure, Feedback};
pub(crate) use batch::{Stepping, Trajectories, each};
pub use closed_chain::ClosedChain;
pub use compiled_chain::CompiledChain;
pub use dynamics::Dynamics;
pub(crate) use dynamics::{all_finite, too_large};
