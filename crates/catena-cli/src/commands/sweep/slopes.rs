//! Derivatives of the measures of a run with respect to the parameters of a study.
//!
//! ```text
//! dm/dp = ∂m/∂p + Σ ∂m/∂c dc/dp        m a measure, c the columns at the recorded instants
//! dc/dp = ∂c/∂p + ∂c/∂y S              y the motion, S its sensitivities
//! ```
//!
//! S comes from the variational equations ([`Simulation::sensitivities`]). The columns follow from the state at an instant;
//! they are differentiated by differences of fourth order, from setups with neighbouring values and from states near the motion.

use super::experiment::Simulations;
use super::measure::{self, Varied};
use crate::commands::simulate::Rest;
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::{CENTRAL, Neighbour, ONE_SIDED, Simulation};
use catena_study::{Parameter, SettingValue, Spread};

/// Distance of neighbouring values, as a fraction of the range of a parameter.
const REACH: f64 = 1e-3;

/// Discontinuous functions in formulas of settings.
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

/// A setup with the data to turn its samples into a table.
type SetUp = (Simulation, Rest);

/// Table values for this motion.
fn table((simulation, rest): &mut SetUp, motion: &[f64]) -> Result<Vec<f64>> {
    let samples = simulation.samples_along(motion)?;
    rest.rows(&samples)
}

impl Simulations {
    /// Rejects measures whose derivatives cannot be taken, as far as the study itself shows.
    fn expect_slopes(&self, wanted: &[usize]) -> Result<()> {
        let study = self.study();
        let names = study.variables();
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
            let here = values[k];
            let mut around = Vec::new();
            for (value, weight) in stencil {
                let mut values = values.to_vec();
                values[k] = value;
                let (run, rest) = self.begin(&values)?.split();
                around.push(Neighbour {
                    offset: value - here,
                    weight,
                    run,
                });
                rests.push(rest);
            }
            neighbours.push(around);
        }
        let found = own.0.sensitivities(&neighbours)?;
        let rows = table(&mut own, &found.motion)?;
        let columns = own.1.columns();
        let columns = columns.names();
        let mut rests = rests.into_iter();
        let mut slopes = Vec::new();
        for (k, around) in neighbours.into_iter().enumerate() {
            let mut slope = vec![0.0; rows.len()];
            for (Neighbour { weight, run, .. }, rest) in around.into_iter().zip(&mut rests) {
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
        let names = study.variables();
        let run = Varied {
            columns,
            rows: &rows,
            slopes: &slopes,
        };
        let measures = wanted.iter().map(|&k| &study.measures[k]);
        measures
            .map(|measure| measure::slopes(measure, &names, values, &run))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::random::Random;
    use catena_study::{Experiment, Study};
    use std::path::Path;

    const PARAMETERS: &str = r#"
[[parameter]]
name = "payload"
path = "link.link6.mass"
relative = true
uniform = [0.5, 2]
[[parameter]]
name = "damping"
path = "joint.joint1.damping"
uniform = [0, 3]
[[parameter]]
name = "fall"
path = "gravity"
loguniform = [5, 20]
[[parameter]]
name = "lean"
path = "q.joint2"
uniform = [0.2, 1]
[[parameter]]
name = "speed"
path = "v.joint1"
uniform = [-2, 2]
[[parameter]]
name = "gain"
uniform = [1, 40]
"#;

    fn simulations(run: &str, measures: &[&str]) -> Simulations {
        let mut text = format!(
            "format = \"catena-study/1\"\nmodel = \"stanford\"\n{PARAMETERS}\n[run]\n{run}\n"
        );
        for (k, formula) in measures.iter().enumerate() {
            text += &format!("[[measure]]\nname = \"m{k}\"\nvalue = \"{formula}\"\n");
        }
        text += "[optimize]\nminimise = \"m0\"\n";
        let study = Study::parse(&text, Path::new("study.toml")).expect("a study");
        Simulations::new(study).expect("simulations")
    }

    const MEASURES: [&str; 7] = [
        "last(q.joint2) * last(v.joint1) + fall",
        "integral(kinetic) - last(work) / (1 + last(dissipated))",
        "rms(tau.joint1) + mean(a.joint2)",
        "max(abs(v.joint2)) / payload",
        "min(frame.link6.z) * last(frame.link6.vx)",
        "last(joint.joint2.fx) + last(elastic) + last(gravitational)",
        "first(kinetic) * gain",
    ];

    /// Derivatives of measures against differences of whole runs, at random parameters: runs have a tolerance of 1e-11, differences
    /// of fourth order divide that by steps of 0.002 of the ranges.
    #[test]
    fn derivatives_are_those_of_the_runs() {
        let mut random = Random::new(8);
        let pd = "controller = \"pd\"\nto = \"joint1=40deg, joint2=60deg\"\nkp = \"{gain}\"\nkd = 0.2\nunlimited = true";
        let computed = "controller = \"computed-torque\"\nto = \"joint1=40deg\"\nkp = \"{gain}\"";
        let open = "effort = [\"joint1={gain}*sin(3*t)\", \"joint2=-0.1*{gain}*v.joint2\"]";
        let rk4 = format!("{pd}\nmethod = \"rk4\"\nstep = 2e-3");
        let adaptive = "rtol = 1e-11\natol = 1e-13\n";
        for run in [
            format!("{adaptive}{pd}"),
            format!("{adaptive}{computed}"),
            format!("{adaptive}{open}"),
            rk4,
        ] {
            let run = format!("duration = 0.4\ninterval = 0.05\naudit = \"report\"\n{run}");
            let simulations = simulations(&run, &MEASURES);
            let parameters = &simulations.study().parameters;
            let values: Vec<f64> = parameters
                .iter()
                .map(|p| {
                    p.spread
                        .quantile(random.uniform(0.1, 0.9))
                        .expect("a value")
                })
                .collect();
            let wanted: Vec<usize> = (0..MEASURES.len()).collect();
            let found = simulations.slopes(&values, &wanted).expect("derivatives");
            for k in 0..values.len() {
                let h = 2e-3 * parameters[k].spread.slope(values[k]).expect("bounds");
                let at = |x: f64| {
                    let mut values = values.clone();
                    values[k] = x;
                    simulations.measure(&values).expect("measures")
                };
                let mut slopes = vec![0.0; MEASURES.len()];
                for (offset, weight) in CENTRAL {
                    let there = at(values[k] + offset * h);
                    for (slope, x) in slopes.iter_mut().zip(there) {
                        *slope += weight / h * x;
                    }
                }
                for (m, formula) in MEASURES.iter().enumerate() {
                    let (a, b) = (found[m][k], slopes[m]);
                    let size = at(values[k])[m].abs() / h.abs() * 1e-3;
                    assert!(
                        (a - b).abs() <= 1e-6 * (b.abs() + size) + 1e-9,
                        "{formula} by {}: {a}, {b}\n{run}",
                        parameters[k].name
                    );
                }
            }
        }
    }

    /// Measures without derivatives say why.
    #[test]
    fn obstacles_are_named() {
        let free = "duration = 0.1\neffort = \"joint1={gain}\"";
        for (run, measure, reason) in [
            (free, "steps + 1", "depends on `steps`"),
            (free, "last(error.energy)", "which is round-off"),
            (
                "duration = 0.1\neffort = \"joint1={gain}*step(t-0.05)\"",
                "last(q.joint1)",
                "`run.effort` jumps",
            ),
            (
                "duration = 0.1\neffort = \"joint1={gain}\"\nmethod = \"bdf\"",
                "last(q.joint1)",
                "depend on the past",
            ),
        ] {
            let simulations = simulations(run, &[measure]);
            let values = [1.0, 1.0, 9.81, 0.5, 0.1, 2.0];
            let error = simulations.slopes(&values, &[0]).expect_err(reason);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains(reason), "{error}");
        }
        let simulations = simulations("duration = \"{gain}\"", &["last(q.joint1)"]);
        let error = simulations
            .slopes(&[1.0, 1.0, 9.81, 0.5, 0.1, 1.5], &[0])
            .expect_err("other times");
        assert!(error.message().contains("how time is stepped"), "{error}");
    }
}
