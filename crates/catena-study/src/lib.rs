//! Studies: one model, many runs.
//!
//! A [`Study`] says what varies, what runs and what is measured. A sample is a pure function: its index gives the values of the parameters
//! ([`Study::values`]), and an [`Experiment`] turns them into measures. Nothing depends on which thread computes a sample, or when, so
//! that samples may be computed in any order, on any number of cores, and after an interruption.
//!
//! ```text
//! study file → Study → index → values → Experiment → measures → Journal → results, Summary, sensitivity
//! ```
//!
//! [`optimize`] searches for values that minimise a measure. A [`Ledger`] keeps track of missing samples; [`carry_out`] runs them on several threads,
//! and other machines may run them, too. A [`Journal`] stores each as soon as it is computed, and survives a kill; [`write_results`] sorts them into
//! one file. This crate does not know what an experiment is: the program builds one from the options of `catena simulate`.

pub mod accelerations;
mod csv_list;
mod design;
mod distribution;
mod journal;
mod ledger;
mod model_path;
mod optimum;
mod pictures;
mod results;
mod runner;
mod sensitivity;
mod study;
mod summary;

pub use design::{Design, Points};
pub use distribution::Spread;
pub use journal::{Journal, Origin, lines_of, samples_of};
pub use ledger::{Carried, Ledger, Mode};
pub use model_path::{ModelText, Pointer as ModelPointer};
pub use optimum::{Evaluation, Gradients, Optimum, optimize};
pub use pictures::distributions;
pub use results::{ResultFormat, write_results};
pub use runner::{Experiment, Sample, carry_out};
pub use sensitivity::{Influence, Method, influences, rank_correlation, sobol_indices};
pub use study::{Goal, Limit, Measure, Parameter, PathText, Search, Setting, SettingValue, Study};
pub use summary::Summary;
