//! The subject of `view`, `report` and `render`: a model or a run.

use crate::model_argument::ModelOptions;
use crate::output;
use crate::state_file::whole;
use catena::Model;
use catena::error::{Error, Result};
use catena_io::run::{Format, Run, read_run};
use catena_symbolic::derive::{Derivation, Keep, Style};
use catena_view::scene::{Subject, model_of_run};
use catena_view::{Budget, visual};
use std::path::Path;

/// Equations of more freedoms do not fit a page.
const FEW: usize = 3;

/// A model or a run, as the page shows it.
pub struct Sight {
    /// Data for the page.
    pub subject: Subject,
    /// The model.
    pub model: Model,
    /// The run, if it is one.
    pub run: Option<Run>,
    /// Items that could not be shown.
    pub notes: Vec<String>,
}

impl Sight {
    /// A run by its extension, else a model.
    pub fn of(
        name: &str,
        options: &ModelOptions,
        budget: Budget,
        visuals: Option<&Path>,
    ) -> Result<Self> {
        let path = Path::new(name);
        if Format::from_path(path).is_ok() {
            options.expect_none(&format!("the run {name} has its own"))?;
            return Sight::of_run(path, budget, visuals);
        }
        let model = options.of(name).whole_model()?;
        let shows = path.extension().is_some_and(|extension| {
            let extension = extension.to_string_lossy().to_lowercase();
            ["urdf", "xml", "mjcf"].contains(&extension.as_str())
        });
        let visuals = visuals.or(shows.then_some(path));
        let subject = with_equations(Subject::of_model(model.name(), &model), &model);
        Sight::with_visuals(subject, model, None, visuals)
    }

    /// A run and the model recorded in it.
    pub fn of_run(path: &Path, budget: Budget, visuals: Option<&Path>) -> Result<Self> {
        output::note_input(path);
        let run = read_run(path)?;
        let here = |error: Error| error.at(whole(path));
        let model = model_of_run(&run).map_err(here)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let subject = Subject::of_run(&name, &run, &model, budget).map_err(here)?;
        let dropped = (run.dropped > 0).then(|| output::left_out(path, run.dropped));
        let mut sight = Sight::with_visuals(subject, model, Some(run), visuals)?;
        sight.notes.extend(dropped);
        Ok(sight)
    }

    fn with_visuals(
        subject: Subject,
        model: Model,
        run: Option<Run>,
        visuals: Option<&Path>,
    ) -> Result<Self> {
        let (shapes, notes) = match visuals {
            Some(path) => visual::of_file(path, &model)?,
            None => Default::default(),
        };
        Ok(Sight {
            subject: subject.with_visuals(&shapes),
            model,
            run,
            notes,
        })
    }
}

/// Adds the equations of motion of a small tree, as a page with MathML.
pub fn with_equations(subject: Subject, model: &Model) -> Subject {
    if model.nv() > FEW || !model.constraints().is_empty() {
        return subject;
    }
    match Derivation::new(model, Keep::default(), Style::Closed, false) {
        Ok(derivation) => subject.with_equations(&derivation.document().html()),
        // models with features that have no formula have no equations to show
        Err(_) => subject,
    }
}
