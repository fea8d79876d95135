//! Which parameter matters for a measure?
//!
//! A Saltelli design gives Sobol's indices: the share of the variance V of a measure f that a parameter causes alone (first order, Sᵢ), and
//! with all others (total, Tᵢ). Estimators of Saltelli et al. (2010) and Jansen (1999), over the points j of A and B, f₀ the mean:
//!
//! ```text
//! Sᵢ = ⟨(f(Bⱼ) − f₀) (f(A_Bⁱⱼ) − f(Aⱼ))⟩ / V                                                         (1)
//! Tᵢ = ⟨(f(Aⱼ) − f(A_Bⁱⱼ))²⟩ / 2V                                                                   (2)
//! ```
//!
//! where A_Bⁱ is A with column i from B. Their standard errors come from resampling the points (bootstrap). Every other design gives
//! Spearman's rank correlation ρ; for strings, which have no order, the correlation ratio of the ranks: η² is the share of their variance
//! between the texts.

use crate::design::Design;
use crate::distribution::Spread;
use crate::runner::Sample;
use crate::study::Study;
use catena::random::Random;

/// Resamplings for a standard error.
const RESAMPLINGS: usize = 200;

/// How much a parameter matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Influence {
    /// Sobol's indices and their standard errors.
    Indices {
        /// First order.
        first: f64,
        /// Total.
        total: f64,
        /// Their standard errors.
        errors: [f64; 2],
    },
    /// Spearman's rank correlation; for texts the correlation ratio of the ranks.
    Correlation(f64),
}

/// How influences were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Sobol's indices.
    Sobol,
    /// Rank correlation.
    Correlation,
}

impl Influence {
    /// For sorting: the total index, or the size of the correlation.
    pub fn weight(&self) -> f64 {
        match self {
            Influence::Indices { total, .. } => *total,
            Influence::Correlation(rho) => rho.abs(),
        }
    }
}

/// The influence of each parameter on a measure, and the number of samples used; none where the measure does not vary, or there are too
/// few samples. A failed sample makes its point of a Saltelli design useless.
pub fn influences(
    study: &Study,
    samples: &[Sample],
    measure: usize,
) -> Option<(Method, Vec<Influence>, usize)> {
    let count = study.parameters.len();
    if let Design::Saltelli { base, seed } = study.design {
        let width = count + 2;
        let mut rows = vec![vec![None; width]; base];
        for sample in samples {
            if let (Ok(measures), Some(row)) =
                (&sample.measures, rows.get_mut(sample.index / width))
            {
                row[sample.index % width] = Some(measures[measure]);
            }
        }
        let whole: Vec<Vec<f64>> = rows
            .into_iter()
            .filter_map(|row| row.into_iter().collect())
            .collect();
        let used = whole.len() * width;
        return Some((Method::Sobol, sobol_indices(&whole, seed)?, used));
    }
    let good: Vec<(&Sample, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample, sample.measures.as_ref().ok()?[measure])))
        .collect();
    let y: Vec<f64> = good.iter().map(|(_, y)| *y).collect();
    let correlations = (0..count).map(|k| {
        let x: Vec<f64> = good.iter().map(|(sample, _)| sample.values[k]).collect();
        let found = match study.parameters[k].spread {
            Spread::Words(_) => correlation_ratio(&x, &y),
            _ => rank_correlation(&x, &y),
        };
        found.map(Influence::Correlation)
    });
    let all: Option<Vec<Influence>> = correlations.collect();
    Some((Method::Correlation, all?, good.len()))
}

/// Sobol's indices from rows f(A), f(B), f(A_B¹), …, f(A_Bᵈ). None without variance.
pub fn sobol_indices(rows: &[Vec<f64>], seed: u64) -> Option<Vec<Influence>> {
    let count = rows.first()?.len().checked_sub(2)?;
    let all: Vec<usize> = (0..rows.len()).collect();
    let found = indices(rows, &all, count)?;
    let mut random = Random::new(seed);
    let mut spread = vec![[Moments::default(); 2]; count];
    for _ in 0..RESAMPLINGS {
        let chosen: Vec<usize> = all.iter().map(|_| random.below(rows.len())).collect();
        if let Some(again) = indices(rows, &chosen, count) {
            for (moments, pair) in spread.iter_mut().zip(again) {
                moments[0].note(pair[0]);
                moments[1].note(pair[1]);
            }
        }
    }
    let influence = |([first, total], moments): ([f64; 2], [Moments; 2])| Influence::Indices {
        first,
        total,
        errors: moments.map(|moments| moments.deviation()),
    };
    Some(found.into_iter().zip(spread).map(influence).collect())
}

/// First and total index of each parameter, over these rows.
fn indices(rows: &[Vec<f64>], chosen: &[usize], count: usize) -> Option<Vec<[f64; 2]>> {
    let points = chosen.len() as f64;
    let both = || chosen.iter().flat_map(|&j| [rows[j][0], rows[j][1]]);
    let mean = both().sum::<f64>() / (2.0 * points);
    let variance = both().map(|f| (f - mean) * (f - mean)).sum::<f64>() / (2.0 * points - 1.0);
    // the remainder of equal numbers is round-off
    if chosen.len() < 2 || variance <= (1e-14 * mean).powi(2) {
        return None;
    }
    let over = |term: &dyn Fn(&[f64]) -> f64| {
        let sum: f64 = chosen.iter().map(|&j| term(&rows[j])).sum();
        sum / (points * variance)
    };
    let of = |i: usize| {
        [
            over(&|f| (f[1] - mean) * (f[i + 2] - f[0])), // (1)
            over(&|f| 0.5 * (f[0] - f[i + 2]).powi(2)),   // (2)
        ]
    };
    Some((0..count).map(of).collect())
}

/// Sums for a standard deviation.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn note(&mut self, x: f64) {
        self.count += 1.0;
        let away = x - self.mean;
        self.mean += away / self.count;
        self.squares += away * (x - self.mean);
    }

    fn deviation(&self) -> f64 {
        (self.squares / (self.count - 1.0).max(1.0)).sqrt()
    }
}

/// Spearman's rank correlation: the correlation of the ranks, equal numbers sharing theirs. None where one of them does not vary.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = (ranks(x), ranks(y));
    let mean = (x.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = product(&x, &x) * product(&y, &y);
    (scale > 0.0).then(|| product(&x, &y) / scale.sqrt())
}

/// The correlation ratio η of the ranks of y: η² = Σ_g n_g (m_g − m)² / Σ (y − m)², where x says which group g a number is in. None where one of
/// them does not vary.
pub fn correlation_ratio(x: &[f64], y: &[f64]) -> Option<f64> {
    let y = ranks(y);
    let mean = (y.len() as f64 + 1.0) / 2.0;
    let whole: f64 = y.iter().map(|y| (y - mean) * (y - mean)).sum();
    let mut groups: Vec<f64> = x.to_vec();
    groups.sort_by(f64::total_cmp);
    groups.dedup();
    let between = groups.iter().map(|group| {
        let own = x.iter().zip(&y).filter(|(x, _)| *x == group);
        let (count, sum) = own.fold((0.0, 0.0), |(n, sum), (_, y)| (n + 1.0, sum + (y - mean)));
        sum * sum / count
    });
    (groups.len() > 1 && whole > 0.0).then(|| (between.sum::<f64>() / whole).sqrt())
}

fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let shared = first as f64 + (group.len() as f64 + 1.0) / 2.0;
        for &k in group {
            ranks[k] = shared;
        }
        first += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups whose ranks are 1, 2, 5 and 3, 4: η² = (3 (8/3 − 3)² + 2 (7/2 − 3)²) / 10. Where groups are apart, η is nearly 1.
    #[test]
    fn correlation_ratios() {
        let x = [0.0, 0.0, 1.0, 1.0, 0.0];
        let found = correlation_ratio(&x, &[1.0, 2.0, 3.0, 4.0, 5.0]).expect("varies");
        let wanted: f64 = (3.0 / 9.0 + 2.0 / 4.0) / 10.0;
        assert!((found * found - wanted).abs() < 1e-15, "{found}");
        assert_eq!(correlation_ratio(&x, &[3.0; 5]), None);
        assert_eq!(correlation_ratio(&[1.0; 5], &x), None);
    }

    /// scipy.stats.spearmanr([1, 2, 2, 4, 5], [2, 1, 3, 5, 4]) is 0.718…; a monotonic relation is 1, or −1.
    #[test]
    fn rank_correlations() {
        let x = [1.0, 2.0, 2.0, 4.0, 5.0];
        let found = rank_correlation(&x, &[2.0, 1.0, 3.0, 5.0, 4.0]).expect("varies");
        assert!((found - 0.718184846459608).abs() < 1e-12, "{found}");
        let cubes = x.map(|x: f64| -x.powi(3));
        assert!((rank_correlation(&x, &cubes).expect("varies") + 1.0).abs() < 1e-15);
        assert_eq!(rank_correlation(&x, &[3.0; 5]), None);
    }
}
