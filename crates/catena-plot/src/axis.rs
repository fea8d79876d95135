//! Axes: positions and labels of ticks.

/// A tick and its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub at: f64,
    pub label: String,
}

/// One axis of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,  // of the value, or of its decimal logarithm
    high: f64, // greater than low
    log: bool,
    pub ticks: Vec<Tick>,
    /// Grid lines without labels.
    pub minor: Vec<f64>,
    /// Factor or offset common to all labels, as `×10⁻³` or `+ 1000`.
    pub note: String,
}

/// Values beyond are not drawn: differences of two of them could overflow.
const LARGEST: f64 = 1e300;
/// Ranges below are shown as a point: steps inside them could underflow.
const SMALLEST_RANGE: f64 = 1e-290;

/// Can this value be drawn on such an axis?
pub(crate) fn drawable(x: f64, log: bool) -> bool {
    x.abs() <= LARGEST && (!log || x > 0.0)
}

/// Smallest and largest drawable value.
pub(crate) fn extent(values: impl Iterator<Item = f64>, log: bool) -> Option<(f64, f64)> {
    values
        .filter(|x| drawable(*x, log))
        .fold(None, |range, x| match range {
            None => Some((x, x)),
            Some((low, high)) => Some((low.min(x), high.max(x))),
        })
}

impl Axis {
    /// An axis over these values with `most` ticks at most; linear axes are widened by the fraction `pad` on both sides.
    pub fn new(extent: Option<(f64, f64)>, log: bool, pad: f64, most: usize) -> Axis {
        let most = most.max(2);
        if log {
            Self::logarithmic(extent.unwrap_or((1.0, 10.0)), most)
        } else {
            let (low, high) = widen(extent.unwrap_or((0.0, 1.0)), pad);
            Self::linear(low, high, most)
        }
    }

    /// As `new`, with as many ticks as their labels leave room for: `room` is the axis length in pixels, `need` the space one
    /// label takes.
    pub fn with_room(
        extent: Option<(f64, f64)>,
        log: bool,
        pad: f64,
        room: f64,
        need: impl Fn(&str) -> f64,
    ) -> Axis {
        let mut most = ((room / 32.0) as usize).clamp(2, 12);
        loop {
            let axis = Self::new(extent, log, pad, most);
            let widest = axis
                .ticks
                .iter()
                .map(|t| need(&t.label))
                .fold(0.0, f64::max);
            let closest = axis
                .ticks
                .windows(2)
                .map(|w| room * (axis.fraction(w[1].at) - axis.fraction(w[0].at)))
                .fold(f64::INFINITY, f64::min);
            if widest <= closest || most == 2 {
                return axis;
            }
            most -= 1;
        }
    }

    /// Position of a drawable value: 0 at the low end, 1 at the high end.
    pub fn fraction(&self, x: f64) -> f64 {
        let x = if self.log { x.log10() } else { x };
        ((x - self.low) / (self.high - self.low)).clamp(-50.0, 50.0)
    }

    fn linear(low: f64, high: f64, most: usize) -> Axis {
        let (mantissa, power) = nice_step((high - low) / most as f64);
        let step = mantissa * ten_to(power);
        let first = (low / step - 1e-6).ceil();
        let last = (high / step + 1e-6).floor();
        // labels that would all start with the same digits are relative to an offset
        let offset = if first.abs().max(last.abs()) > 1e5 {
            first
        } else {
            0.0
        };
        let largest = (first - offset).abs().max((last - offset).abs()) * step;
        let exponent = if (1e-3..1e5).contains(&largest) || largest == 0.0 {
            0
        } else {
            3 * (largest.log10() / 3.0).floor() as i32
        };
        let decimals = (exponent - power).max(0) as usize;
        let mut ticks = Vec::new();
        let mut k = first;
        while k <= last {
            let value = (k - offset) * mantissa * ten_to(power - exponent);
            ticks.push(Tick {
                at: (k * step).clamp(low, high),
                label: plain(value, decimals),
            });
            k += 1.0;
        }
        let mut note = String::new();
        if exponent != 0 {
            note = format!("×10{}", superscript(exponent));
        }
        if offset != 0.0 {
            let sign = if offset < 0.0 { '−' } else { '+' };
            let value = (offset * step).abs();
            let text = if (1e-3..1e9).contains(&value) {
                plain(value, (-power).max(0) as usize)
            } else {
                let e = value.log10().floor() as i32;
                let digits = (e - power).clamp(0, 15) as usize;
                format!("{}×10{}", plain(value / ten_to(e), digits), superscript(e))
            };
            note = format!("{note} {sign} {text}").trim().to_string();
        }
        Axis {
            low,
            high,
            log: false,
            ticks,
            minor: Vec::new(),
            note,
        }
    }

    fn logarithmic((low, high): (f64, f64), most: usize) -> Axis {
        let first = (low.log10() + 1e-9).floor() as i32;
        let last = ((high.log10() - 1e-9).ceil() as i32).max(first + 1);
        let decades = (last - first) as usize;
        let stride = decades.div_ceil(most) as i32;
        let short = first >= -3 && last <= 4;
        let label = |digit: i32, power: i32| {
            if short {
                plain(f64::from(digit) * ten_to(power), (-power).max(0) as usize)
            } else if digit == 1 {
                format!("10{}", superscript(power))
            } else {
                format!("{digit}×10{}", superscript(power))
            }
        };
        let mut ticks = Vec::new();
        let mut minor = Vec::new();
        for power in first..=last {
            if (power - first) % stride == 0 {
                ticks.push(Tick {
                    at: ten_to(power),
                    label: label(1, power),
                });
            }
            if power == last {
                break;
            }
            for digit in 2..=9 {
                let at = f64::from(digit) * ten_to(power);
                if 3 * decades <= most && (digit == 2 || digit == 5) {
                    ticks.push(Tick {
                        at,
                        label: label(digit, power),
                    });
                } else if decades <= 6 {
                    minor.push(at);
                }
            }
        }
        Axis {
            low: f64::from(first),
            high: f64::from(last),
            log: true,
            ticks,
            minor,
            note: String::new(),
        }
    }
}

/// A range that can be divided: padded, and widened around a single value.
fn widen((low, high): (f64, f64), pad: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    let range = high - low;
    if range <= (1e-12 * size).max(SMALLEST_RANGE) {
        let middle = low + 0.5 * range;
        let half = if size <= SMALLEST_RANGE * 1e10 {
            1.0
        } else {
            0.1 * size
        };
        (middle - half, middle + half)
    } else {
        (low - pad * range, high + pad * range)
    }
}

/// The smallest of 1, 2, 5 × 10ⁿ that is not below `raw`, as factor and power.
fn nice_step(raw: f64) -> (f64, i32) {
    let power = raw.log10().floor() as i32;
    let fraction = raw / ten_to(power);
    [(1.0, 0), (2.0, 0), (5.0, 0)]
        .into_iter()
        .find(|(m, _)| fraction <= m * (1.0 + 1e-9))
        .map_or((1.0, power + 1), |(m, _)| (m, power))
}

fn ten_to(power: i32) -> f64 {
    // parsing is correctly rounded, repeated multiplication is not
    format!("1e{power}").parse().unwrap_or(f64::NAN)
}

fn plain(value: f64, decimals: usize) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    format!("{value:.decimals$}").replace('-', "−")
}

/// A whole number as an exponent.
fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    n.to_string()
        .chars()
        .map(|c| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> (Vec<String>, String) {
        let axis = Axis::new(Some((low, high)), false, 0.0, 6);
        (axis.ticks.into_iter().map(|t| t.label).collect(), axis.note)
    }

    #[test]
    fn ticks_are_one_two_five() {
        assert_eq!(labels(0.0, 10.0).0, ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(-0.5, 0.5).0, ["−0.4", "−0.2", "0", "0.2", "0.4"]);
        assert_eq!(
            labels(0.0, 3.0).0,
            ["0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]
        );
    }

    #[test]
    fn common_factors_and_offsets_are_taken_out() {
        let (ticks, note) = labels(0.0, 2e-7);
        assert_eq!(ticks, ["0", "50", "100", "150", "200"]);
        assert_eq!(note, "×10⁻⁹");
        let (ticks, note) = labels(0.0, 3e6);
        assert_eq!(ticks[1], "0.5");
        assert_eq!(note, "×10⁶");
        let (ticks, note) = labels(1000.0, 1000.0005);
        assert_eq!(ticks[0], "0");
        assert_eq!(note, "×10⁻⁶ + 1000.0000");
    }

    #[test]
    fn logarithmic_ticks_are_decades() {
        let axis = Axis::new(Some((3e-12, 0.4)), true, 0.0, 6);
        let labels: Vec<_> = axis.ticks.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(
            labels,
            ["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]
        );
        let axis = Axis::new(Some((1.0, 80.0)), true, 0.0, 9);
        let labels: Vec<_> = axis.ticks.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn every_range_gives_finite_ticks_inside_it() {
        for (low, high) in [
            (0.0, 0.0),
            (5.0, 5.0),
            (-1e300, 1e300),
            (1e-320, 2e-320),
            (1.0, 1.0 + 1e-15),
            (1e15, 1e15 + 2.0),
            (-3e-200, 4e-200),
            (1e250, 1e250),
            (-1e-5, 7e8),
        ] {
            let axis = Axis::new(Some((low, high)), false, 0.05, 7);
            assert!(!axis.ticks.is_empty(), "{low} to {high}");
            for tick in &axis.ticks {
                let f = axis.fraction(tick.at);
                assert!(
                    (-1e-9..=1.0 + 1e-9).contains(&f),
                    "{low} to {high}: {tick:?} at {f}"
                );
                assert!(tick.label.len() < 14, "{low} to {high}: {tick:?}");
            }
            for x in [low, high] {
                assert!((0.0..=1.0).contains(&axis.fraction(x)));
            }
        }
        for (low, high) in [(1e-300, 1e300), (7.0, 7.0), (1e-310, 1e-305), (10.0, 10.0)] {
            let axis = Axis::new(Some((low, high)), true, 0.0, 7);
            assert!((2..=9).contains(&axis.ticks.len()), "{low} to {high}");
            assert!(axis.ticks.iter().all(|t| axis.fraction(t.at).is_finite()));
        }
    }
}
