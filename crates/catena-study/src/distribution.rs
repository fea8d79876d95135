//! What a parameter may be: a distribution, or a list of values.
//!
//! Every sample is the quantile x = F⁻¹(u) of a number u in (0, 1), so that one design serves all distributions.

use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// How the values of a parameter are spread.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Equally likely between two bounds.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Its logarithm is equally likely between those of two positive bounds.
    LogUniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Gauss's distribution, cut off at the bounds.
    Normal {
        /// Mean, before it is cut off.
        mean: f64,
        /// Standard deviation, before it is cut off.
        deviation: f64,
        /// Lower and upper bound; infinite where there is none.
        bounds: (f64, f64),
    },
    /// Its logarithm is normal; cut off at the bounds.
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
        /// Where it is most likely.
        mode: f64,
        /// Upper bound.
        high: f64,
    },
    /// One of these values, equally likely; all of them in a grid.
    Values(Vec<f64>),
    /// One of these texts, equally likely; all of them in a grid. The value of a sample is its place here, from 0.
    Words(Vec<String>),
    /// The column of a list.
    Listed,
}

/// The share of a standard normal distribution below z.
fn normal_share(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The number below which this share of a standard normal distribution lies.
fn normal_quantile(share: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * share)
}

/// A quantile of the standard normal distribution between two bounds.
fn cut_normal_quantile(u: f64, low: f64, high: f64) -> f64 {
    // in the upper tail shares are close to 1 and have lost their digits: look at it from the other side
    if low > 0.0 {
        return -cut_normal_quantile(1.0 - u, -high, -low);
    }
    let (below, above) = (normal_share(low), normal_share(high));
    normal_quantile(below + u * (above - below)).clamp(low, high)
}

impl Spread {
    /// Which part of a bounded range a value is, from 0 to 1; the middle where none is given. None for other spreads, and outside of the
    /// range.
    pub fn part_of_range(&self, value: Option<f64>) -> Option<f64> {
        let part = match (self, value) {
            (Spread::Uniform { .. } | Spread::LogUniform { .. }, None) => 0.5,
            (Spread::Uniform { low, high }, Some(x)) => (x - low) / (high - low),
            (Spread::LogUniform { low, high }, Some(x)) => (x / low).ln() / (high / low).ln(),
            _ => return None,
        };
        (0.0..=1.0).contains(&part).then_some(part)
    }

    /// dx/du of a bounded range at a value, where u is the part of the range. None for other spreads.
    pub fn slope(&self, value: f64) -> Option<f64> {
        match self {
            Spread::Uniform { low, high } => Some(high - low),
            Spread::LogUniform { low, high } => Some(value * (high / low).ln()),
            _ => None,
        }
    }

    /// The number of values in a grid; 0 for spreads without such.
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

    /// The value of this index in a grid, counted round and round.
    pub fn level_around(&self, k: usize) -> Option<f64> {
        self.level(k.checked_rem(self.level_count())?)
    }

    /// A value as it is written: the number with every digit, or the text that it stands for.
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
                let x = (low.ln() + u * (high.ln() - low.ln())).exp();
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
                let z = |x: &f64| (x / median).ln() / deviation;
                let x = median * (deviation * cut_normal_quantile(u, z(low), z(high))).exp();
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

    /// In words, for the summary.
    pub fn describe(&self) -> String {
        let bounded = |(low, high): &(f64, f64), least: f64| match (*low > least, high.is_finite())
        {
            (false, false) => String::new(),
            (true, false) => format!(" above {low}"),
            (false, true) => format!(" below {high}"),
            (true, true) => format!(" in {low} … {high}"),
        };
        match self {
            Spread::Uniform { low, high } => format!("uniform {low} … {high}"),
            Spread::LogUniform { low, high } => format!("log-uniform {low} … {high}"),
            Spread::Normal {
                mean,
                deviation,
                bounds,
            } => {
                let cut = bounded(bounds, f64::NEG_INFINITY);
                format!("normal {mean} ± {deviation}{cut}")
            }
            Spread::LogNormal {
                median,
                deviation,
                bounds,
            } => {
                let cut = bounded(bounds, 0.0);
                format!("lognormal, median {median}, σ {deviation}{cut}")
            }
            Spread::Triangular { low, mode, high } => {
                format!("triangular {low} … {mode} … {high}")
            }
            Spread::Values(values) => match values.as_slice() {
                [] => "no values".into(),
                [one] => format!("{one}"),
                [first, .., last] => format!("{} values {first} … {last}", values.len()),
            },
            Spread::Words(words) => words.join(", "),
            Spread::Listed => "listed".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // half of it is cut off
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
