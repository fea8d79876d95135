//! Implicit problems with known answers, for the tests and for the comparison with IDA.

use catena::Result;
use catena::integrate::bdf::{DenseImplicit, Implicit, Role};
use catena::residual::larger;

/// E(t, x, ẋ) written into the last argument.
pub type Residual = fn(f64, &[f64], &[f64], &mut [f64]);

/// A problem, where it starts, and what is known of its end.
pub struct Problem {
    pub name: &'static str,
    pub residual: Residual,
    pub x: Vec<f64>,
    pub xdot: Vec<f64>,
    /// Algebraic unknowns and their index.
    pub algebraic: Vec<(usize, u8)>,
    pub end: f64,
    /// What the first unknowns are at the end.
    pub reference: Vec<f64>,
    /// Absolute tolerance as a multiple of the relative one, per unknown.
    pub absolute: Vec<f64>,
}

impl Problem {
    pub fn implicit(&self) -> impl Implicit {
        let residual = self.residual;
        let mut problem = DenseImplicit::new(
            self.x.len(),
            move |t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]| -> Result<()> {
                residual(t, x, xdot, out);
                Ok(())
            },
        );
        for &(i, index) in &self.algebraic {
            problem = problem.with_role(i, Role::Algebraic { index });
        }
        problem
    }

    /// Largest error of a result, each relative to the size of the reference where that is not small.
    pub fn error(&self, x: &[f64]) -> f64 {
        let mut worst: f64 = 0.0;
        for (i, (x, r)) in x.iter().zip(&self.reference).enumerate() {
            worst = larger(worst, (x - r).abs() / r.abs().max(self.absolute[i]));
        }
        worst
    }
}

/// All of them, for the comparison.
#[allow(dead_code)]
pub fn all() -> Vec<Problem> {
    vec![
        robertson(40.0),
        robertson(1e11),
        hires(),
        van_der_pol(),
        akzo_nobel(),
        pendulum_index_1(),
        pendulum_stabilised(),
        car_axis(),
    ]
}

/// Robertson's kinetics, the third equation replaced by the conserved sum (index 1). Values at 40 s from SciPy's
/// Radau at 3e-14, at 10¹¹ s from the IVP test set.
pub fn robertson(end: f64) -> Problem {
    fn residual(_t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        let (slow, fast) = (0.04 * x[0], 1e4 * x[1] * x[2]);
        out[0] = xdot[0] + slow - fast;
        out[1] = xdot[1] - slow + fast + 3e7 * x[1] * x[1];
        out[2] = x[0] + x[1] + x[2] - 1.0;
    }
    Problem {
        name: if end == 40.0 {
            "Robertson, 40 s"
        } else {
            "Robertson, 1e11 s"
        },
        residual,
        x: vec![1.0, 0.0, 0.0],
        xdot: vec![-0.04, 0.04, 0.0],
        algebraic: vec![(2, 1)],
        end,
        reference: if end == 40.0 {
            vec![
                0.715_827_068_719_4,
                9.185_534_764_557_4e-6,
                0.284_163_745_745_8,
            ]
        } else {
            vec![
                0.208_334_014_970_125_5e-7,
                0.833_336_077_033_471_3e-13,
                0.999_999_979_166_505,
            ]
        },
        absolute: if end == 40.0 {
            vec![1e-4, 1e-8, 1e-2]
        } else {
            vec![1e-7, 1e-13, 1.0]
        },
    }
}

/// HIRES, eight reactions (Schäfer 1975); values of the IVP test set at 321.8122 s.
pub fn hires() -> Problem {
    fn residual(_t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        let product = 280.0 * x[5] * x[7];
        let rate = [
            -1.71 * x[0] + 0.43 * x[1] + 8.32 * x[2] + 0.0007,
            1.71 * x[0] - 8.75 * x[1],
            -10.03 * x[2] + 0.43 * x[3] + 0.035 * x[4],
            8.32 * x[1] + 1.71 * x[2] - 1.12 * x[3],
            -1.745 * x[4] + 0.43 * x[5] + 0.43 * x[6],
            -product + 0.69 * x[3] + 1.71 * x[4] - 0.43 * x[5] + 0.69 * x[6],
            product - 1.81 * x[6],
            -product + 1.81 * x[6],
        ];
        for i in 0..8 {
            out[i] = xdot[i] - rate[i];
        }
    }
    let x = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057];
    Problem {
        name: "HIRES",
        residual,
        xdot: vec![-1.7093, 1.71, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        x,
        algebraic: vec![],
        end: 321.8122,
        reference: vec![
            0.737_131_257_332_566_8e-3,
            0.144_248_572_631_618_5e-3,
            0.588_872_974_096_757_5e-4,
            0.117_565_134_328_314_9e-2,
            0.238_635_619_883_133_1e-2,
            0.623_896_825_274_279_6e-2,
            0.284_999_839_518_576_9e-2,
            0.285_000_160_481_423_1e-2,
        ],
        absolute: vec![1e-4; 8],
    }
}

/// Van der Pol's oscillator with ε = 10⁻⁶; values of the IVP test set at 2 s.
pub fn van_der_pol() -> Problem {
    fn residual(_t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        out[0] = xdot[0] - x[1];
        out[1] = 1e-6 * xdot[1] - ((1.0 - x[0] * x[0]) * x[1] - x[0]);
    }
    Problem {
        name: "van der Pol, 1e-6",
        residual,
        x: vec![2.0, 0.0],
        xdot: vec![0.0, -2e6],
        algebraic: vec![],
        end: 2.0,
        reference: vec![1.706_167_732_170_483, -0.892_809_701_024_797_5],
        absolute: vec![1.0; 2],
    }
}

/// The chemical Akzo Nobel problem, index 1; values of the IVP test set at 180 s.
pub fn akzo_nobel() -> Problem {
    fn residual(_t: f64, y: &[f64], ydot: &[f64], out: &mut [f64]) {
        let root = y[1].abs().sqrt();
        let r1 = 18.7 * y[0].powi(4) * root;
        let r2 = 0.58 * y[2] * y[3];
        let r3 = 0.58 / 34.4 * y[0] * y[4];
        let r4 = 0.09 * y[0] * y[3] * y[3];
        let r5 = 0.42 * y[5] * y[5] * root;
        let inflow = 3.3 * (0.9 / 737.0 - y[1]);
        out[0] = ydot[0] + 2.0 * r1 - r2 + r3 + r4;
        out[1] = ydot[1] + 0.5 * r1 + r4 + 0.5 * r5 - inflow;
        out[2] = ydot[2] - r1 + r2 - r3;
        out[3] = ydot[3] + r2 - r3 + 2.0 * r4;
        out[4] = ydot[4] - r2 + r3 - r5;
        out[5] = 115.83 * y[0] * y[3] - y[5];
    }
    let x = vec![0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007];
    let mut xdot = vec![0.0; 6];
    residual(0.0, &x, &[0.0; 6], &mut xdot);
    xdot.iter_mut().for_each(|f| *f = -*f);
    xdot[5] = 115.83 * (xdot[0] * 0.007 + 0.444 * xdot[3]);
    Problem {
        name: "chemical Akzo Nobel",
        residual,
        x,
        xdot,
        algebraic: vec![(5, 1)],
        end: 180.0,
        reference: vec![
            0.115_079_492_066_170_2,
            0.120_383_147_156_771_5e-2,
            0.161_156_288_740_797_4,
            0.365_615_642_124_928_3e-3,
            0.170_801_088_526_440_4e-1,
            0.487_353_131_030_745_5e-2,
        ],
        absolute: vec![1e-3; 6],
    }
}

const G: f64 = 9.81;
const PENDULUM_AT_10: [f64; 4] = [
    -0.275_087_462_576_12,
    -0.961_419_205_099_13,
    4.175_598_100_951_7,
    -1.194_749_054_560_5,
];

/// A point mass on a rod of 1 m, from rest at (−1, 0), the constraint differentiated twice: index 1. Exact values at 10 s by
/// elliptic functions.
pub fn pendulum_index_1() -> Problem {
    fn residual(_t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        out[0] = xdot[0] - x[2];
        out[1] = xdot[1] - x[3];
        out[2] = xdot[2] + x[0] * x[4];
        out[3] = xdot[3] + x[1] * x[4] + G;
        out[4] = x[2] * x[2] + x[3] * x[3] - (x[0] * x[0] + x[1] * x[1]) * x[4] - G * x[1];
    }
    Problem {
        name: "pendulum, index 1",
        residual,
        x: vec![-1.0, 0.0, 0.0, 0.0, 0.0],
        xdot: vec![0.0, 0.0, 0.0, -G, 0.0],
        algebraic: vec![(4, 1)],
        end: 10.0,
        reference: PENDULUM_AT_10.to_vec(),
        absolute: vec![1.0; 5],
    }
}

/// That pendulum with the constraint and its derivative, and a second multiplier: stabilised index 2.
pub fn pendulum_stabilised() -> Problem {
    fn residual(_t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        out[0] = xdot[0] - x[2] + x[0] * x[5];
        out[1] = xdot[1] - x[3] + x[1] * x[5];
        out[2] = xdot[2] + x[0] * x[4];
        out[3] = xdot[3] + x[1] * x[4] + G;
        out[4] = x[0] * x[2] + x[1] * x[3];
        out[5] = 0.5 * (x[0] * x[0] + x[1] * x[1] - 1.0);
    }
    Problem {
        name: "pendulum, stabilised index 2",
        residual,
        x: vec![-1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        xdot: vec![0.0, 0.0, 0.0, -G, 0.0, 0.0],
        algebraic: vec![(4, 2), (5, 2)],
        end: 10.0,
        reference: PENDULUM_AT_10.to_vec(),
        absolute: vec![1.0; 6],
    }
}

/// The car axis of the IVP test set at 3 s, with the derivative of its constraints and two more multipliers: stabilised index 2.
pub fn car_axis() -> Problem {
    fn residual(t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) {
        let mass = 0.01 * 0.01 * 10.0 / 2.0;
        let (yb, yb_rate) = (0.1 * (10.0 * t).sin(), (10.0 * t).cos());
        let xb = (1.0 - yb * yb).sqrt();
        let xb_rate = -yb * yb_rate / xb;
        let (p, v) = (&x[..4], &x[4..8]);
        let (force_1, force_2, speed_1, speed_2) = (x[8], x[9], x[10], x[11]);
        let left = p[0].hypot(p[1]);
        let right = (p[2] - xb).hypot(p[3] - yb);
        let (dx, dy) = (p[0] - p[2], p[1] - p[3]);
        let (pull_left, pull_right) = ((0.5 - left) / left, (0.5 - right) / right);
        // gradients of the constraints
        let one = [xb, yb, 0.0, 0.0];
        let two = [2.0 * dx, 2.0 * dy, -2.0 * dx, -2.0 * dy];
        let spring = [
            pull_left * p[0],
            pull_left * p[1] - mass,
            pull_right * (p[2] - xb),
            pull_right * (p[3] - yb) - mass,
        ];
        for i in 0..4 {
            out[i] = xdot[i] - v[i] - one[i] * speed_1 - two[i] * speed_2;
            out[4 + i] = mass * xdot[4 + i] - spring[i] - one[i] * force_1 - two[i] * force_2;
        }
        out[8] = v[0] * xb + v[1] * yb + p[0] * xb_rate + p[1] * yb_rate;
        out[9] = 2.0 * (dx * (v[0] - v[2]) + dy * (v[1] - v[3]));
        out[10] = p[0] * xb + p[1] * yb;
        out[11] = dx * dx + dy * dy - 1.0;
    }
    let mut x = vec![0.0, 0.5, 1.0, 0.5, -0.5, 0.0, -0.5, 0.0];
    x.resize(12, 0.0);
    let mut xdot = vec![-0.5, 0.0, -0.5, 0.0, 0.0, -1.0, 0.0, -1.0];
    xdot.resize(12, 0.0);
    Problem {
        name: "car axis, stabilised index 2",
        residual,
        x,
        xdot,
        algebraic: vec![(8, 2), (9, 2), (10, 2), (11, 2)],
        end: 3.0,
        reference: vec![
            4.934_557_842_754_028e-2,
            0.496_989_460_230_171_15,
            1.041_742_524_885_421_5,
            0.373_911_027_265_361_26,
            -7.705_836_840_409_724e-2,
            7.446_866_587_237_786e-3,
            1.755_681_575_372_322_2e-2,
            0.770_341_043_779_252,
            -4.736_886_590_848_933e-3,
            -1.104_680_331_257_343_7e-3,
        ],
        absolute: vec![1.0; 12],
    }
}
