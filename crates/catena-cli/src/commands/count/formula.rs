//! Counts as polynomials in n, from the papers and from our own numbers.

use std::fmt;

/// (c₀ + c₁ n + c₂ n² + c₃ n³) / 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    sixths: [i64; 4],
}

impl Formula {
    /// a n + b.
    pub const fn line(a: i64, b: i64) -> Self {
        Formula {
            sixths: [6 * b, 6 * a, 0, 0],
        }
    }

    /// The polynomial with these coefficients of 1, n, n², n³, in sixths.
    pub const fn sixths(sixths: [i64; 4]) -> Self {
        Formula { sixths }
    }

    /// Its value.
    pub fn at(self, n: usize) -> i64 {
        let n = n as i64;
        self.sixths.iter().rev().fold(0, |sum, c| sum * n + c) / 6
    }

    /// The polynomial through all counts except the first few, with the smallest size for which it holds; `counts[0]` is that of n
    /// = 1. None where no polynomial of third degree fits at least two thirds of them.
    pub fn of(counts: &[i64]) -> Option<(Self, usize)> {
        let n = counts.len();
        if n < 6 {
            return None;
        }
        // Newton's differences through the last four, times six: about m = size of the first of them
        let [f0, f1, f2, f3] = [n - 4, n - 3, n - 2, n - 1].map(|k| counts[k]);
        let (d1, d2, d3) = (f1 - f0, f2 - 2 * f1 + f0, f3 - 3 * f2 + 3 * f1 - f0);
        let m = n as i64 - 3;
        // k = n − m:  6 f₀ + 6 d₁ k + 3 d₂ k (k − 1) + d₃ k (k − 1)(k − 2)
        let k = [6 * f0, 6 * d1 - 3 * d2 + 2 * d3, 3 * d2 - 3 * d3, d3];
        let sixths = [
            k[0] - k[1] * m + k[2] * m * m - k[3] * m * m * m,
            k[1] - 2 * k[2] * m + 3 * k[3] * m * m,
            k[2] - 3 * k[3] * m,
            k[3],
        ];
        let formula = Formula { sixths };
        let agree = (1..=n)
            .rev()
            .take_while(|&size| formula.at(size) == counts[size - 1])
            .count();
        (3 * agree >= 2 * n).then_some((formula, n - agree + 1))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let powers = ["", " n", " n²", " n³"];
        let mut written = false;
        for (c, power) in self.sixths.iter().zip(powers).rev() {
            if *c == 0 {
                continue;
            }
            match (written, *c < 0) {
                (false, true) => write!(f, "−")?,
                (true, true) => write!(f, " − ")?,
                (true, false) => write!(f, " + ")?,
                (false, false) => {}
            }
            written = true;
            let size = c.abs();
            let (whole, part) = (size / 6, size % 6);
            let part = match part {
                0 => "",
                1 => "⅙",
                2 => "⅓",
                3 => "½",
                4 => "⅔",
                _ => "⅚",
            };
            match whole {
                0 => write!(f, "{part}{power}")?,
                _ => write!(f, "{whole}{part}{power}")?,
            }
        }
        if !written {
            write!(f, "0")?;
        }
        Ok(())
    }
}

/// A row of the paper's tables: name, multiplications, additions.
pub type Row = (&'static str, [Formula; 2]);

/// Saha (1999), Table 1: inverse dynamics.
pub const TABLE_1: [Row; 7] = [
    (
        "Hollerbach (1980)",
        [Formula::line(412, -277), Formula::line(320, -201)],
    ),
    (
        "Luh et al. (1980)",
        [Formula::line(150, -48), Formula::line(131, 48)],
    ),
    (
        "Walker and Orin (1982)",
        [Formula::line(137, -22), Formula::line(101, -11)],
    ),
    (
        "Saha (1999)",
        [Formula::line(120, -44), Formula::line(97, -55)],
    ),
    (
        "Khalil et al. (1986)",
        [Formula::line(105, -92), Formula::line(94, -86)],
    ),
    (
        "Angeles et al. (1989)",
        [Formula::line(105, -109), Formula::line(90, -105)],
    ),
    (
        "Balafoutis et al. (1988)",
        [Formula::line(93, -69), Formula::line(81, -65)],
    ),
];

/// Saha's row of Table 1.
pub const SAHA_INVERSE: Row = TABLE_1[3];

/// Saha (1999), Table 2: forward dynamics.
pub const TABLE_2: [Row; 3] = [
    (
        "Saha (1999)",
        [Formula::line(201, -335), Formula::line(193, -361)],
    ),
    (
        "Featherstone (1983)",
        [Formula::line(199, -198), Formula::line(174, -173)],
    ),
    (
        "Walker and Orin (1982)",
        [
            Formula::sixths([-282, 230, 69, 1]),
            Formula::sixths([-276, 233, 42, 1]),
        ],
    ),
];

/// Saha's row of Table 2.
pub const SAHA_FORWARD: Row = TABLE_2[0];
/// The O(n³) row of Table 2.
pub const WALKER_ORIN: Row = TABLE_2[2];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_evaluations() {
        let at = |row: Row, n| row.1.map(|formula| formula.at(n));
        let printed = [
            [2195, 1719],
            [852, 834],
            [800, 595],
            [676, 527],
            [538, 478],
            [521, 435],
            [489, 421],
        ];
        for (row, printed) in TABLE_1.iter().zip(printed) {
            assert_eq!(at(*row, 6), printed, "{}", row.0);
        }
        // printed as 480 additions: the formula printed beside it gives 475
        let printed = [[871, 797], [996, 871], [633, 475]];
        let larger = [[2077, 1955], [2190, 1915], [2357, 1716]];
        for ((row, printed), larger) in TABLE_2.iter().zip(printed).zip(larger) {
            assert_eq!(at(*row, 6), printed, "{}", row.0);
            assert_eq!(at(*row, 12), larger, "{}", row.0);
        }
    }

    #[test]
    fn formulas_are_found_and_written() {
        let (_, [m, a]) = WALKER_ORIN;
        assert_eq!(m.to_string(), "⅙ n³ + 11½ n² + 38⅓ n − 47");
        assert_eq!(a.to_string(), "⅙ n³ + 7 n² + 38⅚ n − 46");
        let mut counts: Vec<i64> = (1..=30).map(|n| m.at(n)).collect();
        assert_eq!(Formula::of(&counts), Some((m, 1)));
        counts[1] += 1;
        assert_eq!(Formula::of(&counts), Some((m, 3)));
        counts[20] += 1;
        assert_eq!(Formula::of(&counts), None);
        let line = Formula::line(-3, 5);
        let counts: Vec<i64> = (1..=9).map(|n| line.at(n)).collect();
        let found = Formula::of(&counts).expect("a line").0;
        assert_eq!(found.to_string(), "−3 n + 5");
        assert_eq!(Formula::line(0, 0).to_string(), "0");
    }
}
