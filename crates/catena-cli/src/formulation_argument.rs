//! The option that names a formulation of the equations of motion.

use crate::names;
use catena::error::{Error, ErrorKind, Result};
use catena_mechanism::Formulation;
use clap::Args;

/// Which formulation.
#[derive(Args, Debug)]
pub struct FormulationArgument {
    /// Solve by this formulation (see `catena compare`) instead of the recursion for trees or, for closed chains, the one that counts fewest
    /// operations
    #[arg(long, value_name = "NAME")]
    formulation: Option<String>,
}

impl FormulationArgument {
    /// Whether one is requested.
    pub fn is_given(&self) -> bool {
        self.formulation.is_some()
    }

    /// The requested one.
    pub fn formulation(&self) -> Result<Option<Formulation>> {
        let Some(name) = &self.formulation else {
            return Ok(None);
        };
        let known = || Formulation::ALL.into_iter().map(Formulation::name);
        let unknown = || {
            let hint = match names::nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the formulations are {}",
                    known().collect::<Vec<_>>().join(", ")
                ),
            };
            Error::new(
                ErrorKind::Input,
                format!("there is no formulation `{name}`"),
            )
            .hint(hint)
        };
        Formulation::named(name).map(Some).ok_or_else(unknown)
    }
}

/// A formulation with the equations of the paper.
pub fn described(formulation: Formulation) -> String {
    format!("{} (Mufti {})", formulation.name(), formulation.source())
}
