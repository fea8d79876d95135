//! Mean, spread and quantiles of a measure.

/// A measure over all samples that did not fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Samples.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with count − 1 in the denominator; none for a single sample.
    pub deviation: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// The quantiles of [`Summary::SHARES`].
    pub quantiles: [f64; 3],
}

impl Summary {
    /// The shares of the samples that are below the quantiles.
    pub const SHARES: [f64; 3] = [0.05, 0.5, 0.95];

    /// Summarises these numbers, which are finite; none if there are none.
    pub fn new(numbers: &[f64]) -> Option<Summary> {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|x| (x - mean) * (x - mean)).sum();
        Some(Summary {
            count,
            mean,
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min,
            max,
            quantiles: Summary::SHARES.map(|share| quantile(&sorted, share)),
        })
    }
}

/// A quantile of sorted numbers, linear between them (Hyndman & Fan's type 7, as NumPy's).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, part) = (place as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy.quantile([3, 1, 2, 10], [0.05, 0.5, 0.95]) and numpy.std(…, ddof=1).
    #[test]
    fn as_numpy() {
        let summary = Summary::new(&[3.0, 1.0, 2.0, 10.0]).expect("numbers");
        assert_eq!(
            (summary.count, summary.min, summary.max, summary.mean),
            (4, 1.0, 10.0, 4.0)
        );
        let deviation = summary.deviation.expect("several");
        assert!((deviation - 4.08248290463863).abs() < 1e-13);
        for (found, wanted) in summary.quantiles.iter().zip([1.15, 2.5, 8.95]) {
            assert!((found - wanted).abs() < 1e-13, "{found}");
        }
        assert_eq!(Summary::new(&[]), None);
    }
}
