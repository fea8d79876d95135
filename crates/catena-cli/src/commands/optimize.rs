//! `catena optimize STUDY`: the values of parameters that minimise a measure of a run, under bounds on other measures.

use crate::commands::sweep::Simulations;
use crate::number::{counted, six};
use crate::outcome::Outcome;
use crate::table::Table;
use crate::{interrupt, json, output};
use catena::error::{Error, ErrorKind, Result};
use catena_study::{Evaluation, Goal, Gradients, Optimum, Search, Study, optimize};
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The study, and where the result goes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Study file (.toml) with [optimize]: what varies within which bounds, what runs, what is minimised
    #[arg(value_name = "STUDY")]
    study: PathBuf,

    /// Write the result, with every point that was tried, to this file
    #[arg(short, long, value_name = "FILE.json")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long, requires = "output")]
    overwrite: bool,
}

/// Searches for the optimum.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    interrupt::watch();
    output::note_input(&arguments.study);
    if let Some(path) = &arguments.output {
        expect_output(path, arguments.overwrite)?;
    }
    let study = Study::read(&arguments.study)?;
    let goal = study.expect_goal()?.clone();
    let simulations = Simulations::new(study)?;
    if let Some(path) = &arguments.output {
        // the model and its files are known only now
        output::refuse_input(path)?;
    }
    let study = simulations.study();
    let is_terminal = std::io::stderr().is_terminal();
    let mut tried = 0;
    let found = optimize(study, &simulations, |point| {
        tried += 1;
        if is_terminal {
            let value = point.measures.as_ref().map(|m| six(m[goal.measure]));
            let value = value.unwrap_or_else(|_| "failed".into());
            let name = &study.measures[goal.measure].name;
            let _ = write!(std::io::stderr(), "\r{tried} runs, {name} {value} \x1b[K");
        }
        Ok(match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let optimum = found?;
    let result = Report {
        study,
        goal: &goal,
        optimum: &optimum,
    };
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&result.json()),
        false => result.text(),
    });
    if let Some(path) = &arguments.output {
        // the result is printed in any case
        match output::write_file(path, json::text(&result.json())) {
            Ok(()) => outcome = outcome.note(format!("wrote {}", path.display())),
            Err(error) => outcome.refusals.push(error.to_string()),
        }
    }
    if interrupt::asked() {
        let runs = counted(optimum.history.len(), "run", "runs");
        let error = interrupt::error().hint(format!("the result is the best of {runs}"));
        outcome.refusals.push(error.to_string());
    }
    if !optimum.is_feasible {
        outcome
            .failures
            .push("no point that was tried satisfies the constraints".into());
    }
    Ok(outcome)
}

/// Searches for the optimum of a study file, and returns what `--json` prints. `noted` is called after each run, and may end the search.
pub fn search(path: &Path, mut noted: impl FnMut() -> Result<()>) -> Result<Value> {
    let study = Study::read(path)?;
    let goal = study.expect_goal()?.clone();
    let simulations = Simulations::new(study)?;
    let study = simulations.study();
    let optimum = optimize(study, &simulations, |_| noted().map(ControlFlow::Continue))?;
    let report = Report {
        study,
        goal: &goal,
        optimum: &optimum,
    };
    Ok(report.json())
}

fn expect_output(path: &Path, overwrite: bool) -> Result<()> {
    output::expect_folder(path)?;
    output::refuse_input(path)?;
    let refuse = |kind, message: String, hint: &str| Err(Error::new(kind, message).hint(hint));
    if path.extension().is_none_or(|extension| extension != "json") {
        let message = format!("--output: {} is not named .json", path.display());
        return refuse(ErrorKind::Input, message, "the result is written as JSON");
    }
    if path.exists() && !overwrite {
        let message = format!("{} already exists", path.display());
        return refuse(
            ErrorKind::Exists,
            message,
            "choose another name, or add --overwrite",
        );
    }
    Ok(())
}

/// Source of the gradients, in words.
fn source(gradients: &Gradients) -> String {
    match &gradients.because {
        None => "sensitivities".into(),
        Some(reason) => format!(
            "differences from {}, because {reason}",
            counted(gradients.runs, "more run", "more runs")
        ),
    }
}

/// The result, as text or as JSON.
struct Report<'a> {
    study: &'a Study,
    goal: &'a Goal,
    optimum: &'a Optimum,
}

impl Report<'_> {
    fn best(&self) -> &Evaluation {
        &self.optimum.history[self.optimum.best]
    }

    fn verb(&self) -> &'static str {
        match self.goal.sign > 0.0 {
            true => "minimise",
            false => "maximise",
        }
    }

    /// The bounds of a measure, in words.
    fn bounds(&self, measure: usize) -> String {
        let own = self.goal.limits.iter().filter(|l| l.measure == measure);
        let words = own.map(|limit| {
            let sign = if limit.sign > 0.0 { "≤" } else { "≥" };
            format!("{sign} {}", six(limit.bound))
        });
        words.collect::<Vec<String>>().join(", ")
    }

    /// Why runs failed.
    fn failures(&self) -> Vec<&str> {
        let history = self.optimum.history.iter();
        let reasons = history.filter_map(|point| point.measures.as_ref().err());
        reasons.map(String::as_str).collect()
    }

    /// The constraints that the best point violates, one in a line.
    fn violations(&self) -> String {
        let Ok(measures) = &self.best().measures else {
            return String::new();
        };
        let limits = self.goal.limits.iter();
        let violated = limits.filter(|limit| limit.excess(measures) > limit.allowed());
        let lines = violated.map(|limit| {
            let name = &self.study.measures[limit.measure].name;
            let side = if limit.sign > 0.0 { "above" } else { "below" };
            let (excess, bound) = (six(limit.excess(measures)), six(limit.bound));
            format!("violated: {name} is {excess} {side} its bound {bound}\n")
        });
        lines.collect()
    }

    fn text(&self) -> String {
        let (study, best) = (self.study, self.best());
        let objective = &study.measures[self.goal.measure].name;
        let mut runs = counted(self.optimum.history.len(), "run", "runs");
        let failures = self.failures();
        if let Some(first) = failures.first() {
            runs += &format!(", {} failed ({first})", failures.len());
        }
        if let Some(gradients) = &self.optimum.gradients {
            runs += &format!(" and {}", counted(gradients.count, "gradient", "gradients"));
        }
        let mut text = format!(
            "{}: {} {objective} of {}, {runs}; {}\n",
            study.name,
            self.verb(),
            study.model,
            self.optimum.end
        );
        if let Some(gradients) = &self.optimum.gradients {
            text += &format!("gradients: {}\n", source(gradients));
        }
        text += "\n";
        let parameters = Table::new()
            .text(
                "parameter",
                study.parameters.iter().map(|p| p.name.as_str()),
            )
            .text("unit", study.parameters.iter().map(|p| p.unit.as_str()))
            .written("value", best.values.iter().map(|x| six(*x)))
            .text(
                "within",
                study.parameters.iter().map(|p| p.spread.describe(six)),
            );
        text += &parameters.render();
        text += "\n";
        let cell = |point: &Evaluation, k: usize| match &point.measures {
            Ok(measures) => six(measures[k]),
            Err(_) => "–".into(),
        };
        let all = 0..study.measures.len();
        let first = &self.optimum.history[0];
        let wanted = |k: usize| match k == self.goal.measure {
            true => format!("{} {}", self.verb(), self.bounds(k))
                .trim_end()
                .into(),
            false => self.bounds(k),
        };
        let measures = Table::new()
            .text("measure", study.measures.iter().map(|m| m.name.as_str()))
            .text("unit", study.measures.iter().map(|m| m.unit.as_str()))
            .written("at the start", all.clone().map(|k| cell(first, k)))
            .written("found", all.clone().map(|k| cell(best, k)))
            .text("wanted", all.map(wanted));
        text += &measures.render();
        let violations = self.violations();
        if !violations.is_empty() {
            text += "\n";
            text += &violations;
        }
        text
    }

    fn point(&self, point: &Evaluation) -> Value {
        let mut map = Map::new();
        let values = self.study.parameters.iter().zip(&point.values);
        let values: Map<String, Value> = values.map(|(p, x)| (p.name.clone(), json!(x))).collect();
        map.insert("parameters".into(), values.into());
        match &point.measures {
            Ok(measures) => {
                let measures = self.study.measures.iter().zip(measures);
                let measures: Map<String, Value> =
                    measures.map(|(m, x)| (m.name.clone(), json!(x))).collect();
                map.insert("measures".into(), measures.into());
                map.insert("satisfies".into(), point.is_feasible().into());
            }
            Err(reason) => {
                map.insert("failure".into(), reason.as_str().into());
            }
        }
        map.into()
    }

    fn json(&self) -> Value {
        let study = self.study;
        let limits = self.goal.limits.iter().map(|limit| {
            let key = if limit.sign > 0.0 { "high" } else { "low" };
            json!({"measure": study.measures[limit.measure].name, key: limit.bound})
        });
        let history: Vec<Value> = self.optimum.history.iter().map(|p| self.point(p)).collect();
        let mut result = json!({
            "format": "catena-optimize/1",
            "study": study.name,
            "model": study.model,
            self.verb(): study.measures[self.goal.measure].name,
            "method": match self.goal.search {
                Search::Cobyla => "cobyla",
                Search::Slsqp => "slsqp",
            },
            "constraints": limits.collect::<Vec<Value>>(),
            "runs": history.len(),
            "failed": self.failures().len(),
            "end": self.optimum.end,
            "best": self.optimum.best,
        });
        if let (Value::Object(result), Value::Object(best)) = (&mut result, self.point(self.best()))
        {
            if let Some(gradients) = &self.optimum.gradients {
                let told = json!({
                    "count": gradients.count,
                    "runs": gradients.runs,
                    "differences_because": gradients.because,
                });
                result.insert("gradients".into(), told);
            }
            result.extend(best);
            result.insert("history".into(), history.into());
        }
        result
    }
}
