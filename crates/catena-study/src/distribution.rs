//! Values of a parameter: a distribution, or a list of values.
//!
//! Every sample is the quantile x = F⁻¹(u) of a number u in (0, 1), so that one design serves all distributions. Samples have the same bits on
//! every system: they use no function of the system's library.

use catena::elementary::{exp, ln};
use libm::erfc;
use std::f64::consts::{PI, SQRT_2};

/// Distribution of the values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Uniform between two bounds.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Its logarithm is uniform between those of two positive bounds.
    LogUniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Normal distribution, truncated at the bounds.
    Normal {
        /// Mean before truncation.
        mean: f64,
        /// Standard deviation before truncation.
        deviation: f64,
        /// Lower and upper bound; infinite where there is none.
        bounds: (f64, f64),
    },
    /// Its logarithm is normal; truncated at the bounds.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        deviation: f64,
        /// Lower and upper bound; 0 and infinity where there is none.
        bounds: (f64, f64),
    },
    /// Rises from the lower bound to the mode, and falls to the upper bound.
    Triangular {
        /// Lower bound.
        low: f64,
        /// Mode.
        mode: f64,
        /// Upper bound.
        high: f64,
    },
    /// One of these values, equally likely; all of them in a grid.
    Values(Vec<f64>),
    /// One of these texts, equally likely; all of them in a grid. The value of a sample is its index here, from 0.
    Words(Vec<String>),
    /// The column of a list.
    Listed,
}

/// Φ(z), the cumulative distribution function of the standard normal distribution.
fn normal_share(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The number below which this share of a standard normal distribution lies: the root of Φ(z) = p by Halley's method,
///
/// ```text
/// z ← z − e / (1 + z e / 2),   e = (Φ(z) − p) √(2π) exp(z² / 2)
/// ```
///
/// in the lower half, from the bound z = −√(−2 ln 2p), which is exact in the middle.
fn normal_quantile(share: f64) -> f64 {
    if share > 0.5 {
        return -normal_quantile(1.0 - share);
    }
    if share <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut z = -(-2.0 * ln(2.0 * share)).max(0.0).sqrt();
    for _ in 0..HALLEY_STEPS {
        let e = (normal_share(z) - share) * (2.0 * PI).sqrt() * exp(0.5 * z * z);
        z -= e / (1.0 + 0.5 * z * e);
    }
    z
}

/// From the bound, whose error is less than one everywhere, this many steps, each tripling the digits, leave round-off.
const HALLEY_STEPS: usize = 6;

/// A quantile of the standard normal distribution between two bounds.
fn cut_normal_quantile(u: f64, low: f64, high: f64) -> f64 {
    // in the upper tail shares are close to 1 and have lost their digits: use the lower tail instead
    if low > 0.0 {
        return -cut_normal_quantile(1.0 - u, -high, -low);
    }
    let (below, above) = (normal_share(low), normal_share(high));
    normal_quantile(below + u * (above - below)).clamp(low, high)
}

impl Spread {
    /// Relative position of a value in a bounded range, from 0 to 1; the middle where none is given. None for other distributions, and
    /// outside of the range.
    pub fn part_of_range(&self, value: Option<f64>) -> Option<f64> {
        let part = match (self, value) {
            (Spread::Uniform { .. } | Spread::LogUniform { .. }, None) => 0.5,
            (Spread::Uniform { low, high }, Some(x)) => (x - low) / (high - low),
            (Spread::LogUniform { low, high }, Some(x)) => ln(x / low) / ln(high / low),
            _ => return None,
        };
        (0.0..=1.0).contains(&part).then_some(part)
    }

    /// dx/du of a bounded range at a value, where u is the relative position in it. None for other distributions.
    pub fn slope(&self, value: f64) -> Option<f64> {
        match self {
            Spread::Uniform { low, high } => Some(high - low),
            Spread::LogUniform { low, high } => Some(value * ln(high / low)),
            _ => None,
        }
    }

    /// The number of values in a grid; 0 for distributions without one.
    pub fn level_count(&self) -> usize {
        match self {
            Spread::Values(values) => values.len(),
            Spread::Words(words) => words.len(),
            _ => 0,
        }
    }

    /// A value in a grid.
    fn level(&self, k: usize) -> Option<f64> {
        match self {
            Spread::Values(values) => values.get(k).copied(),
            Spread::Words(words) => (k < words.len()).then_some(k as f64),
            _ => None,
        }
    }

    /// The value of this index in a grid, cyclically.
    pub fn level_around(&self, k: usize) -> Option<f64> {
        self.level(k.checked_rem(self.level_count())?)
    }

    /// A value as written: the number with every digit, or the text that it represents.
    pub fn written(&self, value: f64) -> String {
        match self {
            Spread::Words(words) => words.get(value as usize).cloned().unwrap_or_default(),
            _ => value.to_string(),
        }
    }

    /// The value below which the share u of the samples lies, 0 < u < 1. A listed parameter has none.
    pub fn quantile(&self, u: f64) -> Option<f64> {
        Some(match self {
            Spread::Uniform { low, high } => low + u * (high - low),
            Spread::LogUniform { low, high } => {
                let x = exp(ln(*low) + u * (ln(*high) - ln(*low)));
                x.clamp(*low, *high)
            }
            Spread::Normal {
                mean,
                deviation,
                bounds: (low, high),
            } => {
                let z = |x: &f64| (x - mean) / deviation;
                let x = mean + deviation * cut_normal_quantile(u, z(low), z(high));
                x.clamp(*low, *high)
            }
            Spread::LogNormal {
                median,
                deviation,
                bounds: (low, high),
            } => {
                let z = |x: &f64| ln(x / median) / deviation;
                let x = median * exp(deviation * cut_normal_quantile(u, z(low), z(high)));
                x.clamp(*low, *high)
            }
            Spread::Triangular { low, mode, high } => {
                let (width, rise) = (high - low, mode - low);
                match u * width < rise {
                    true => low + (u * width * rise).sqrt(),
                    false => high - ((1.0 - u) * width * (high - mode)).sqrt(),
                }
            }
            Spread::Values(_) | Spread::Words(_) => {
                let count = self.level_count();
                let place = (u * count as f64) as usize;
                self.level(place.min(count.checked_sub(1)?))?
            }
            Spread::Listed => return None,
        })
    }

    /// In words, for the summary, with numbers as this function writes them.
    pub fn describe(&self, number: impl Fn(f64) -> String) -> String {
        let n = |x: &f64| number(*x);
        let bounded = |(low, high): &(f64, f64), least: f64| match (*low > least, high.is_finite())
        {
            (false, false) => String::new(),
            (true, false) => format!(" above {}", n(low)),
            (false, true) => format!(" below {}", n(high)),
            (true, true) => format!(" in {} … {}", n(low), n(high)),
        };
        match self {
            Spread::Uniform { low, high } => format!("uniform {} … {}", n(low), n(high)),
            Spread::LogUniform { low, high } => format!("log-uniform {} … {}", n(low), n(high)),
            Spread::Normal {
                mean,
                deviation,
                bounds,
            } => {
                let cut = bounded(bounds, f64::NEG_INFINITY);
                format!("normal {} ± {}{cut}", n(mean), n(deviation))
            }
            Spread::LogNormal {
                median,
                deviation,
                bounds,
            } => {
                let cut = bounded(bounds, 0.0);
                format!("lognormal, median {}, σ {}{cut}", n(median), n(deviation))
            }
            Spread::Triangular { low, mode, high } => {
                format!("triangular {} … {} … {}", n(low), n(mode), n(high))
            }
            Spread::Values(values) => match values.as_slice() {
                [] => "no values".into(),
                [one] => n(one),
                [first, .., last] => format!("{} values {} … {}", values.len(), n(first), n(last)),
            },
            Spread::Words(words) => words.join(", "),
            Spread::Listed => "listed".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share below a quantile is the given share, to the last digits, from the middle to the far end of a tail.
    #[test]
    fn normal_quantiles_are_roots() {
        for share in [0.5, 0.49999, 0.3, 0.1, 1e-3, 1e-9, 1e-40, 1e-200, 1e-300] {
            let z = normal_quantile(share);
            // z has an error of half a digit, which the density makes one of z² digits of the share
            let allowed = (2.0 + z * z) * 4.0 * f64::EPSILON;
            let found = normal_share(z);
            assert!(
                (found / share - 1.0).abs() < allowed,
                "{share}: {z} {found}"
            );
            assert_eq!(
                normal_quantile(1.0 - share),
                -normal_quantile(1.0 - (1.0 - share))
            );
        }
        assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-15);
    }

    /// Quantiles printed in tables of the normal distribution, and closed forms of the others.
    #[test]
    fn quantiles() {
        let open = (f64::NEG_INFINITY, f64::INFINITY);
        let normal = |mean, deviation, bounds| Spread::Normal {
            mean,
            deviation,
            bounds,
        };
        for (spread, u, wanted) in [
            (
                Spread::Uniform {
                    low: 2.0,
                    high: 4.0,
                },
                0.25,
                2.5,
            ),
            (
                Spread::LogUniform {
                    low: 1.0,
                    high: 100.0,
                },
                0.5,
                10.0,
            ),
            (normal(1.0, 2.0, open), 0.975, 1.0 + 2.0 * 1.959963984540054),
            // truncated to one half
            (
                normal(0.0, 1.0, (0.0, f64::INFINITY)),
                0.5,
                0.674489750196082,
            ),
            // far in a tail (SciPy)
            (normal(0.0, 1.0, (8.0, 9.0)), 0.5, 8.084888899018168),
            (
                Spread::LogNormal {
                    median: 3.0,
                    deviation: 0.5,
                    bounds: (0.0, f64::INFINITY),
                },
                0.975,
                3.0 * (0.5f64 * 1.959963984540054).exp(),
            ),
            (
                Spread::Triangular {
                    low: 0.0,
                    mode: 1.0,
                    high: 4.0,
                },
                0.25,
                1.0,
            ),
            (
                Spread::Triangular {
                    low: 0.0,
                    mode: 0.0,
                    high: 1.0,
                },
                0.75,
                0.5,
            ),
            (Spread::Values(vec![3.0, 5.0, 9.0]), 0.999, 9.0),
            (Spread::Words(vec!["a".into(), "b".into()]), 0.7, 1.0),
        ] {
            let found = spread.quantile(u).expect("a quantile");
            assert!(
                (found - wanted).abs() < 1e-9 * wanted.abs(),
                "{spread:?}: {found} {wanted}"
            );
        }
        assert_eq!(Spread::Listed.quantile(0.5), None);
    }
}
