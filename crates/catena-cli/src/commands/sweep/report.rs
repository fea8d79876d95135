//! Summary of the samples of a study, as text or as JSON.

use crate::json;
use crate::number::{counted, six};
use crate::table::Table;
use catena_study::{Influence, Method, Sample, Study, Summary, influences};
use serde_json::{Value, json};

/// Reasons of failures in the list.
const REASONS: usize = 5;

/// The samples of a study.
pub struct Report<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its samples.
    pub samples: &'a [Sample],
}

impl Report<'_> {
    /// The available numbers of a measure.
    fn numbers(&self, measure: usize) -> Vec<f64> {
        let good = self
            .samples
            .iter()
            .filter_map(|sample| sample.measures.as_ref().ok());
        good.map(|measures| measures[measure]).collect()
    }

    /// Reasons of failures, the most frequent first, each with its count and its first sample.
    fn reasons(&self) -> Vec<(&str, usize, usize)> {
        let mut reasons: Vec<(&str, usize, usize)> = Vec::new();
        for sample in self.samples {
            let Err(reason) = &sample.measures else {
                continue;
            };
            match reasons.iter_mut().find(|(known, ..)| known == reason) {
                Some((_, count, _)) => *count += 1,
                None => reasons.push((reason, 1, sample.index)),
            }
        }
        reasons.sort_by_key(|&(_, count, first)| (usize::MAX - count, first));
        reasons
    }

    fn failures(&self) -> usize {
        self.samples
            .iter()
            .filter(|sample| sample.measures.is_err())
            .count()
    }

    /// The summary as text.
    pub fn text(&self) -> String {
        let study = self.study;
        let seed = study
            .design
            .seed()
            .map_or(String::new(), |seed| format!(", seed {seed}"));
        let mut text = format!(
            "{}: {} of {}, design {}{seed}, {} failed\n\n",
            study.name,
            counted(self.samples.len(), "sample", "samples"),
            study.model,
            study.design.name(),
            self.failures()
        );
        let parameters = Table::new()
            .text(
                "parameter",
                study.parameters.iter().map(|p| p.name.as_str()),
            )
            .text("unit", study.parameters.iter().map(|p| p.unit.as_str()))
            .text(
                "values",
                study.parameters.iter().map(|p| p.spread.describe(six)),
            );
        text += &parameters.render();
        text += "\n";
        let summaries: Vec<Option<Summary>> = (0..study.measures.len())
            .map(|k| Summary::new(&self.numbers(k)))
            .collect();
        let column = |of: &dyn Fn(&Summary) -> Option<f64>| -> Vec<String> {
            let cell = |summary: &Option<Summary>| {
                summary.as_ref().and_then(of).map_or(String::new(), six)
            };
            summaries.iter().map(cell).collect()
        };
        let measures = Table::new()
            .text("measure", study.measures.iter().map(|m| m.name.as_str()))
            .text("unit", study.measures.iter().map(|m| m.unit.as_str()))
            .written("mean", column(&|s| Some(s.mean)))
            .written("deviation", column(&|s| s.deviation))
            .written("min", column(&|s| Some(s.min)))
            .written("5 %", column(&|s| Some(s.quantiles[0])))
            .written("50 %", column(&|s| Some(s.quantiles[1])))
            .written("95 %", column(&|s| Some(s.quantiles[2])))
            .written("max", column(&|s| Some(s.max)));
        text += &measures.render();
        for k in 0..study.measures.len() {
            text += &self.ranking(k);
        }
        let reasons = self.reasons();
        if !reasons.is_empty() {
            text += "\nfailures\n";
            for (reason, count, first) in reasons.iter().take(REASONS) {
                let reason = reason.lines().next().unwrap_or_default();
                text += &format!("  {count} × {reason} (first: sample {first})\n");
            }
            if reasons.len() > REASONS {
                text += &format!("  and {} more reasons\n", reasons.len() - REASONS);
            }
        }
        text
    }

    /// Which parameter matters for a measure.
    fn ranking(&self, measure: usize) -> String {
        let name = &self.study.measures[measure].name;
        let Some((method, found, used)) = influences(self.study, self.samples, measure) else {
            return String::new();
        };
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by(|&a, &b| found[b].weight().total_cmp(&found[a].weight()));
        let names = order
            .iter()
            .map(|&k| self.study.parameters[k].name.as_str());
        let table = Table::new().text("parameter", names);
        // without the sign of a zero
        let two = |x: f64| format!("{:.3}", (1000.0 * x).round() / 1000.0 + 0.0);
        let cells = |of: &dyn Fn(&Influence) -> f64| -> Vec<String> {
            order.iter().map(|&k| two(of(&found[k]))).collect()
        };
        let (head, table) = match method {
            Method::Sobol => {
                let pick = |which: usize| {
                    move |influence: &Influence| match influence {
                        Influence::Indices {
                            first,
                            total,
                            errors,
                        } => [*first, errors[0], *total, errors[1]][which],
                        Influence::Correlation(rho) => *rho,
                    }
                };
                let table = table
                    .written("first order", cells(&pick(0)))
                    .written("±", cells(&pick(1)))
                    .written("total", cells(&pick(2)))
                    .written("±", cells(&pick(3)));
                ("shares of the variance (Sobol's indices)", table)
            }
            Method::Correlation => {
                let rho = |influence: &Influence| match influence {
                    Influence::Correlation(rho) => *rho,
                    Influence::Indices { total, .. } => *total,
                };
                ("rank correlation", table.written("ρ", cells(&rho)))
            }
        };
        format!(
            "\nwhat `{name}` depends on: {head}, from {}\n{}",
            counted(used, "sample", "samples"),
            table.render()
        )
    }

    /// The summary as JSON, with every digit.
    pub fn json(&self) -> Value {
        let study = self.study;
        let influence = |(k, influence): (usize, &Influence)| {
            let name = &study.parameters[k].name;
            match influence {
                Influence::Indices {
                    first,
                    total,
                    errors,
                } => json!({
                    "parameter": name,
                    "first": first,
                    "first_error": errors[0],
                    "total": total,
                    "total_error": errors[1],
                }),
                Influence::Correlation(rho) => {
                    json!({ "parameter": name, "rank_correlation": rho })
                }
            }
        };
        let measure = |(k, measure): (usize, &catena_study::Measure)| {
            let summary = Summary::new(&self.numbers(k));
            let influences = influences(study, self.samples, k).map(|(_, found, _)| found);
            let influences = influences
                .iter()
                .flat_map(|found| found.iter().enumerate().map(influence));
            json!({
                "name": measure.name,
                "unit": measure.unit,
                "count": summary.as_ref().map_or(0, |s| s.count),
                "mean": summary.as_ref().map(|s| s.mean),
                "deviation": summary.as_ref().and_then(|s| s.deviation),
                "min": summary.as_ref().map(|s| s.min),
                "max": summary.as_ref().map(|s| s.max),
                "quantiles": summary.as_ref().map(|s| json::numbers(&s.quantiles)),
                "influences": influences.collect::<Vec<Value>>(),
            })
        };
        let reason = |(reason, count, first): &(&str, usize, usize)| json!({ "reason": reason, "count": count, "first_sample": first });
        json!({
            "format": "catena-sweep/1",
            "study": study.name,
            "model": study.model,
            "design": study.design.name(),
            "seed": study.design.seed(),
            "samples": self.samples.len(),
            "failed": self.failures(),
            "failures": self.reasons().iter().map(reason).collect::<Vec<Value>>(),
            "measures": study.measures.iter().enumerate().map(measure).collect::<Vec<Value>>(),
        })
    }
}
