//! Derivatives of the measures of a run with respect to the parameters of a study.
//!
//! ```text
//! dm/dp = ∂m/∂p + Σ ∂m/∂c dc/dp        m a measure, c the columns at the recorded instants
//! dc/dp = ∂c/∂p + ∂c/∂y S              y the motion, S its sensitivities
//! ```
//!
//! S comes from the equations of motion in dual numbers ([`Simulation::sensitivities`]). The columns follow from the state at an instant;
//! they are differentiated by differences of fourth order, from set-ups with neighbouring values and from states beside the motion.

use super::experiment::Simulations;
use super::measure::{self, Varied};
use crate::commands::simulate::Rest;
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::{CENTRAL, Neighbour, ONE_SIDED, Simulation};
use catena_study::{Parameter, SettingValue, Spread};

/// Distance of neighbouring values, as a part of the range of a parameter.
const REACH: f64 = 1e-3;

/// Functions in formulas of settings that jump.
const JUMPS: &[&str] = &["step(", "sign("];

fn unsupported(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, reason)
}

/// Neighbouring values of a parameter within its range, each with its weight.
fn stencil(parameter: &Parameter, value: f64) -> Option<[(f64, f64); 4]> {
    let (low, high, h) = match parameter.spread {
        Spread::Uniform { low, high } => (low, high, REACH * (high - low)),
        Spread::LogUniform { low, high } => (low, high, REACH * value.min(high - low)),
        _ => return None,
    };
    let (offsets, h) = match () {
        () if value - 2.0 * h < low => (ONE_SIDED, h),
        () if value + 2.0 * h > high => (ONE_SIDED, -h),
        () => (CENTRAL, h),
    };
    Some(offsets.map(|(offset, weight)| (value + offset * h, weight / h)))
}

/// A set-up with what makes a table of its samples.
type SetUp = (Simulation, Rest);

/// The numbers of a table for a motion.
fn table((simulation, rest): &mut SetUp, motion: &[f64]) -> Result<Vec<f64>> {
    let samples = simulation.samples_along(motion)?;
    rest.rows(&samples)
}

impl Simulations {
    /// Why derivatives of these measures cannot be taken, as far as the study itself says so.
    fn expect_slopes(&self, wanted: &[usize]) -> Result<()> {
        let study = self.study();
        let names: Vec<&str> = study.parameters.iter().map(|p| p.name.as_str()).collect();
        for &k in wanted {
            let measure = &study.measures[k];
            if self.is_function(k) {
                let name = &measure.name;
                return Err(unsupported(format!("measure `{name}` is no formula")));
            }
            if let Some(reason) = measure::obstacle_to_slopes(measure, &names)? {
                return Err(unsupported(reason));
            }
        }
        for setting in &study.settings {
            let SettingValue::Texts(texts) = &setting.value else {
                continue;
            };
            let jumps = |text: &String| JUMPS.iter().any(|word| text.contains(word));
            if texts.iter().any(jumps) {
                return Err(unsupported(format!("`run.{}` jumps", setting.key)));
            }
        }
        Ok(())
    }

    /// The derivatives of these measures with respect to each value.
    pub(super) fn slopes_at(&self, values: &[f64], wanted: &[usize]) -> Result<Vec<Vec<f64>>> {
        self.expect_slopes(wanted)?;
        let study = self.study();
        let mut own = self.begin(values)?.split();
        if let Some(reason) = own.0.obstacle_to_sensitivities() {
            return Err(unsupported(reason));
        }
        let mut neighbours = Vec::new();
        let mut rests = Vec::new();
        for (k, parameter) in study.parameters.iter().enumerate() {
            let name = &parameter.name;
            let stencil = stencil(parameter, values[k])
                .ok_or_else(|| unsupported(format!("parameter `{name}` has no bounds")))?;
            let mut around = Vec::new();
            for (value, weight) in stencil {
                let mut values = values.to_vec();
                values[k] = value;
                let (run, rest) = self.begin(&values)?.split();
                around.push(Neighbour { weight, run });
                rests.push(rest);
            }
            neighbours.push(around);
        }
        let found = own.0.sensitivities(&neighbours)?;
        let rows = table(&mut own, &found.motion)?;
        let columns = own.1.columns();
        let mut rests = rests.into_iter();
        let mut slopes = Vec::new();
        for (k, around) in neighbours.into_iter().enumerate() {
            let mut slope = vec![0.0; rows.len()];
            for (Neighbour { weight, run }, rest) in around.into_iter().zip(&mut rests) {
                let there = table(&mut (run, rest), &found.motion)?;
                let numbers = slope.iter_mut().zip(&there).zip(&rows);
                numbers.for_each(|((slope, there), here)| *slope += weight * (there - here));
            }
            for (motion, weights) in found.beside(k) {
                let there = table(&mut own, &motion)?;
                let numbers = slope.iter_mut().zip(&there).zip(&rows).enumerate();
                for (at, ((slope, there), here)) in numbers {
                    *slope += weights[at / columns.len()] * (there - here);
                }
            }
            slopes.push(slope);
        }
        let names: Vec<&str> = study.parameters.iter().map(|p| p.name.as_str()).collect();
        let run = Varied {
            columns: &columns,
            rows: &rows,
            slopes: &slopes,
        };
        let measures = wanted.iter().map(|&k| &study.measures[k]);
        measures
            .map(|measure| measure::slopes(measure, &names, values, &run))
            .collect()
    }
}
