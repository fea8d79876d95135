//! Designs: which values the parameters have in which sample.
//!
//! The numbers of a sample depend only on the seed and its index.
//!
//! | design | the unit cube |
//! |---|---|
//! | random | independent numbers |
//! | Latin hypercube | one sample in each of N slices of every axis (McKay, Beckman & Conover 1979) |
//! | Sobol | Sobol's sequence with the direction numbers of Joe & Kuo (2008) and a random digital shift |
//! | Saltelli | for sensitivity indices: two such samples A and B, and A with each column taken from B in turn (Saltelli 2002) |

use catena::random::Random;
use sobol::Sobol;
use sobol::params::JoeKuoD6;

/// Binary digits of Sobol's sequence: as many as a double has.
const DIGITS: usize = 53;

/// Maximum number of Sobol dimensions supported.
pub(crate) const MOST_DIMENSIONS: usize = 1000;

/// How samples are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Design {
    /// Every combination of the values of the parameters; the last parameter changes fastest.
    Grid,
    /// The rows of a list, a value for each parameter.
    List(Vec<Vec<f64>>),
    /// Independent random samples.
    Random {
        /// How many.
        samples: usize,
        /// Seed.
        seed: u64,
    },
    /// Latin hypercube.
    LatinHypercube {
        /// How many.
        samples: usize,
        /// Seed.
        seed: u64,
    },
    /// Sobol's sequence.
    Sobol {
        /// Number of samples; best a power of two.
        samples: usize,
        /// Seed.
        seed: u64,
    },
    /// Saltelli's design for sensitivity indices.
    Saltelli {
        /// Points of A and of B; best a power of two. With d parameters there are d + 2 samples for each.
        base: usize,
        /// Seed.
        seed: u64,
    },
}

impl Design {
    /// Its name in study files.
    pub fn name(&self) -> &'static str {
        match self {
            Design::Grid => "grid",
            Design::List(_) => "list",
            Design::Random { .. } => "random",
            Design::LatinHypercube { .. } => "latin-hypercube",
            Design::Sobol { .. } => "sobol",
            Design::Saltelli { .. } => "saltelli",
        }
    }

    /// The seed, where it has one.
    pub fn seed(&self) -> Option<u64> {
        match self {
            Design::Grid | Design::List(_) => None,
            Design::Random { seed, .. }
            | Design::LatinHypercube { seed, .. }
            | Design::Sobol { seed, .. }
            | Design::Saltelli { seed, .. } => Some(*seed),
        }
    }
}

/// Points of a design in the unit cube, by index.
#[derive(Clone, Debug)]
pub enum Points {
    /// Independent numbers.
    Random {
        /// Number of axes.
        dimensions: usize,
        /// Seed.
        seed: u64,
    },
    /// One sample in each slice of every axis.
    LatinHypercube {
        /// For each axis the slice of each sample.
        slices: Vec<Order>,
        /// Seed.
        seed: u64,
    },
    /// Sobol's sequence.
    Sobol {
        /// Direction numbers of each axis.
        directions: Vec<Vec<u64>>,
        /// Digital shift of each axis: the binary digits that are flipped.
        shifts: Vec<u64>,
    },
}

/// The numbers below a count in a random order, computed one by one and never stored: a Feistel network permutes all numbers with this many
/// binary digits, and is applied again where it leaves the range (Black & Rogaway 2002).
#[derive(Clone, Debug)]
pub struct Order {
    count: usize,
    /// Binary digits of each half of a number.
    half: u32,
    keys: [u64; 6],
}

impl Order {
    fn new(count: usize, random: &mut Random) -> Self {
        let digits = usize::BITS - count.leading_zeros();
        Order {
            count,
            half: digits.div_ceil(2),
            keys: [(); 6].map(|()| random.bits()),
        }
    }

    /// The number at this index, which must be below the count.
    fn at(&self, place: usize) -> usize {
        let mask = (1 << self.half) - 1;
        let mut number = place as u64;
        loop {
            let (mut left, mut right) = (number >> self.half, number & mask);
            for key in self.keys {
                let mixed = Random::new(right ^ key).bits();
                (left, right) = (right, left ^ (mixed & mask));
            }
            number = left << self.half | right;
            if number < self.count as u64 {
                return number as usize;
            }
        }
    }
}

/// The random numbers of one sample: sequences of different samples are independent.
fn of_sample(seed: u64, index: usize) -> Random {
    let mixed = Random::new(seed).bits() ^ Random::new(index as u64).bits().rotate_left(17);
    Random::new(mixed)
}

/// The smallest number of a design in the unit cube; one minus it is the largest.
pub(crate) const LEAST_SHARE: f64 = 0.5 / (1u64 << 52) as f64;

/// A number in (0, 1): both ends would be infinite quantiles of some distributions.
fn inside(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

impl Points {
    /// Independent random points.
    pub fn random(dimensions: usize, seed: u64) -> Self {
        Points::Random { dimensions, seed }
    }

    /// A Latin hypercube of this many points: one in each stratum of every axis.
    pub fn latin_hypercube(count: usize, dimensions: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let slices = (0..dimensions).map(|_| Order::new(count, &mut random));
        Points::LatinHypercube {
            slices: slices.collect(),
            seed,
        }
    }

    /// Sobol's sequence with a random digital shift: the same binary digits are flipped in all points, which stay evenly
    /// spread. At most 1000 dimensions.
    pub fn sobol(dimensions: usize, seed: u64) -> Self {
        assert!(dimensions <= MOST_DIMENSIONS, "{dimensions} dimensions");
        let table = match dimensions {
            0..=100 => JoeKuoD6::minimal(),
            _ => JoeKuoD6::standard(),
        };
        let mut random = Random::new(seed);
        Points::Sobol {
            directions: Sobol::<f64>::init_direction_vals::<u32>(dimensions, DIGITS, &table),
            shifts: (0..dimensions).map(|_| random.bits()).collect(),
        }
    }

    /// A point.
    pub fn at(&self, index: usize) -> Vec<f64> {
        match self {
            Points::Random { dimensions, seed } => {
                let mut random = of_sample(*seed, index);
                (0..*dimensions).map(|_| inside(random.bits())).collect()
            }
            Points::LatinHypercube { slices, seed } => {
                let mut random = of_sample(*seed, index);
                let within = |order: &Order| {
                    (order.at(index) as f64 + inside(random.bits())) / order.count as f64
                };
                slices.iter().map(within).collect()
            }
            Points::Sobol { directions, shifts } => {
                // in the order of the Gray code, as the sequence is usually enumerated
                let gray = index ^ (index >> 1);
                let axis = |(own, shift): (&Vec<u64>, &u64)| {
                    let chosen = own.iter().enumerate().filter(|(k, _)| gray >> k & 1 == 1);
                    inside(chosen.fold(*shift, |bits, (_, direction)| bits ^ direction))
                };
                directions.iter().zip(shifts).map(axis).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 2ᵏ points of Sobol's sequence, one is in each of 2ᵏ strata of every axis; the same holds for a Latin hypercube.
    #[test]
    fn one_in_each_slice() {
        let count = 64;
        let dimensions = 7;
        for points in [
            Points::sobol(dimensions, 5),
            Points::latin_hypercube(count, dimensions, 5),
        ] {
            for axis in 0..dimensions {
                let mut seen = vec![0; count];
                for index in 0..count {
                    seen[(points.at(index)[axis] * count as f64) as usize] += 1;
                }
                assert_eq!(seen, vec![1; count], "{points:?}, axis {axis}");
            }
        }
    }

    /// Every count is permuted, and orders of different keys have nothing in common.
    #[test]
    fn orders_are_permutations() {
        let mut random = Random::new(9);
        for count in [1, 2, 3, 4, 5, 40, 1000, 1023, 1024, 1025] {
            let order = Order::new(count, &mut random);
            let mut seen: Vec<usize> = (0..count).map(|place| order.at(place)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
        let count = 10_000;
        let [a, b] = [(); 2].map(|()| Order::new(count, &mut random));
        let away = |order: &Order, place| (order.at(place) as f64 + 0.5) / count as f64 - 0.5;
        for shift in 0..2 {
            let product = |place| away(&a, place) * away(&b, (place + shift) % count);
            let own = |place| away(&a, place) * away(&a, (place + shift + 1) % count);
            let mean = |of: &dyn Fn(usize) -> f64| (0..count).map(of).sum::<f64>() / count as f64;
            // the standard deviation of the mean is 1/12/100
            assert!(mean(&product).abs() < 4.0 / 1200.0 && mean(&own).abs() < 4.0 / 1200.0);
        }
    }

    /// A large design takes no memory: its samples are computed on request.
    #[test]
    fn a_hundred_million_samples() {
        let points = Points::latin_hypercube(100_000_000, 3, 1);
        for index in [0, 1, 99_999_999] {
            assert!(points.at(index).iter().all(|x| (0.0..1.0).contains(x)));
        }
    }

    /// The first points of the sequence without a shift, as Joe and Kuo print them.
    #[test]
    fn printed_points() {
        let Points::Sobol { directions, shifts } = Points::sobol(3, 1) else {
            panic!("another design");
        };
        let plain = Points::Sobol {
            directions,
            shifts: shifts.iter().map(|_| 0).collect(),
        };
        let wanted = [
            [0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25],
            [0.25, 0.75, 0.75],
            [0.375, 0.375, 0.625],
        ];
        for (index, wanted) in wanted.iter().enumerate() {
            for (found, wanted) in plain.at(index).iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-15, "{index}: {found} {wanted}");
            }
        }
    }

    /// Neighbouring samples and seeds have nothing in common, and all numbers are inside (0, 1).
    #[test]
    fn random_points_are_independent() {
        let mean = |of: &dyn Fn(usize) -> f64| (0..10_000).map(of).sum::<f64>() / 10_000.0;
        let (one, two) = (Points::random(2, 1), Points::random(2, 2));
        let away = |x: f64| x - 0.5;
        let within = |k: usize| away(one.at(k)[0]) * away(one.at(k)[1]);
        let next = |k: usize| away(one.at(k)[0]) * away(one.at(k + 1)[0]);
        let seeds = |k: usize| away(one.at(k)[0]) * away(two.at(k)[0]);
        for found in [mean(&within), mean(&next), mean(&seeds)] {
            // the standard deviation of the mean is 1/12/100
            assert!(found.abs() < 4.0 / 1200.0, "{found}");
        }
    }
}
