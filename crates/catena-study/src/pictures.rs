//! Distributions of the measures, and measures over parameters, as charts.

use crate::distribution::Spread;
use crate::runner::Sample;
use crate::study::Study;
use catena_plot::{Chart, Figure};

/// Maximum number of bars of a histogram.
const BARS: usize = 40;

/// A figure with a row for each measure: its histogram, then the measure over each parameter.
pub fn distributions(study: &Study, samples: &[Sample]) -> Figure {
    let good: Vec<(&Sample, &Vec<f64>)> = samples
        .iter()
        .filter_map(|sample| Some((sample, sample.measures.as_ref().ok()?)))
        .collect();
    let mut charts = Vec::new();
    for (m, measure) in study.measures.iter().enumerate() {
        let y: Vec<f64> = good.iter().map(|(_, measures)| measures[m]).collect();
        let label = with_unit(&measure.name, &measure.unit);
        let (x, shares) = histogram(&y);
        charts.push(
            Chart::new(&measure.name, label.as_str(), "share of samples").series("", x, shares),
        );
        for (k, parameter) in study.parameters.iter().enumerate() {
            let x: Vec<f64> = good.iter().map(|(sample, _)| sample.values[k]).collect();
            let below = match &parameter.spread {
                Spread::Words(words) => {
                    let numbered = words.iter().enumerate();
                    let words = numbered.map(|(k, word)| format!("{k} {word}"));
                    with_unit(&parameter.name, &words.collect::<Vec<_>>().join(", "))
                }
                _ => with_unit(&parameter.name, &parameter.unit),
            };
            let chart = Chart::new("", below.as_str(), label.as_str());
            charts.push(chart.marked_series("", apart(&x), apart(&y)));
        }
    }
    Figure {
        title: study.name.clone(),
        charts,
        columns: study.parameters.len() + 1,
    }
}

/// Points without a line between them: a line ends at a non-finite number.
fn apart(numbers: &[f64]) -> Vec<f64> {
    numbers.iter().flat_map(|&x| [x, f64::NAN]).collect()
}

fn with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.into(),
        unit => format!("{name} ({unit})"),
    }
}

/// The outline of a histogram: x, and the share of the numbers in each bar.
fn histogram(numbers: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        // all the same, or none
        let x = numbers.first().copied().into_iter().collect::<Vec<f64>>();
        let share = vec![1.0; x.len()];
        return (x, share);
    }
    let bars = (2.0 * (numbers.len() as f64).cbrt())
        .ceil()
        .clamp(4.0, BARS as f64) as usize;
    let mut counts = vec![0usize; bars];
    for x in numbers {
        let bar = ((x - low) / (high - low) * bars as f64) as usize;
        counts[bar.min(bars - 1)] += 1;
    }
    let edge = |k: usize| low + (high - low) * k as f64 / bars as f64;
    let (mut x, mut y) = (vec![low], vec![0.0]);
    for (k, count) in counts.iter().enumerate() {
        let share = *count as f64 / numbers.len() as f64;
        x.extend([edge(k), edge(k + 1)]);
        y.extend([share, share]);
    }
    x.push(high);
    y.push(0.0);
    (x, y)
}
