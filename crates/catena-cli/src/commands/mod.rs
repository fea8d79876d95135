//! One file per command.

pub mod algorithms;
pub mod assemble;
pub mod benchmark;
pub mod check;
pub mod closed_forward;
pub mod closed_inverse;
pub mod completions;
pub mod convert;
pub mod count;
pub mod derivatives;
pub mod evaluate;
pub mod export_case;
pub mod factor;
pub mod forward;
pub mod generate;
pub mod info;
pub mod inverse;
pub mod man;
pub mod models;
pub mod plot;
pub mod regressor;
pub mod simulate;
pub mod study;
pub mod tour;
pub mod verify;
