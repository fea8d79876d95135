//! `catena study invertibility`: the moment block J_F of Chou's linear scheme as σ grows (sec. 5.2, eqs. 57–62).
//!
//! With Δp = I − I_S Δs from I¹ and I³, and −2σ I² as the first of its four rows,
//!
//! ```text
//! J_F = [ −2σ (pᵀ − sᵀ I_S) ; F_S − F_P I_S ]  →  L = −2σ diag(1, I) [ pᵀ ; G(p) ]      σ → ∞              (57–62)
//! ```
//!
//! L is regular: its determinant is 16 σ⁴ det I |p|⁴. J_F = L X with X → 1, and J_F is invertible where the largest row sum of |X − 1| is
//! below 1.

use super::{FORMAT, Found, markdown_table};
use crate::number::rough;
use catena::algorithm::pendulum::euler::g_columns;
use catena::algorithm::pendulum::{
    Blocks, Pendulum, consistent_rates, consistent_values, dependent_parameters,
};
use catena::dense::Lu;
use catena::error::{Error, ErrorKind, Result};
use catena::model::embedded;
use catena::random::Random;
use catena::residual::larger;
use catena::spatial::Vec3;
use catena_plot::Chart;
use serde_json::json;

/// Bodies of the pendulum, and random states of it.
const BODIES: usize = 5;
const STATES: u64 = 20;
/// σ = 10^0 … 10^8, 1/s.
const POWERS: std::ops::RangeInclusive<i32> = 0..=8;

type Block = [[f64; 4]; 4];

/// Results at one σ, over all bodies and states.
struct Line {
    sigma: f64,
    /// Largest row sum of |X − 1|.
    apart: f64,
    /// Smallest and largest det X.
    determinants: [f64; 2],
}

/// Measures.
pub fn find() -> Result<Found> {
    let lines: Vec<Line> = POWERS
        .map(|power| Line::measure(10f64.powi(power)))
        .collect::<Result<_>>()?;
    let page = page(&lines);
    let sigma: Vec<f64> = lines.iter().map(|line| line.sigma).collect();
    let apart: Vec<f64> = lines.iter().map(|line| line.apart).collect();
    let figure = Chart::new(
        "J_F against its limit (Chou, sec. 5.2)",
        "σ (1/s)",
        "largest row sum of |X − 1|",
    )
    .log(true, true)
    .marked_series("X = L⁻¹ J_F", sigma, apart);
    let record = lines.iter().map(|line| {
        json!({
            "sigma": line.sigma,
            "apart": line.apart,
            "determinant": { "smallest": line.determinants[0], "largest": line.determinants[1] },
        })
    });
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("invertibility.md".into(), page),
            ("invertibility.svg".into(), figure.svg(640, 420)),
        ],
        record: json!({
            "format": FORMAT,
            "study": "invertibility",
            "lines": record.collect::<Vec<_>>(),
        }),
    })
}

impl Line {
    fn measure(sigma: f64) -> Result<Self> {
        let mut line = Line {
            sigma,
            apart: 0.0,
            determinants: [f64::INFINITY, f64::NEG_INFINITY],
        };
        let model = embedded::model(&format!("pendulum-{BODIES}"))?;
        let pendulum = Pendulum::of_model(&model)?;
        for seed in 1..=STATES {
            let mut random = Random::new(seed);
            let (mut orientations, mut velocities) = (Vec::new(), Vec::new());
            for _ in 0..BODIES {
                orientations.push(random.quaternion());
                let mut some = || random.uniform(-2.0, 2.0);
                velocities.push(Vec3::new(some(), some(), some()));
            }
            let x = consistent_values(&pendulum, &orientations, &velocities)?;
            let mut xdot = vec![0.0; x.len()];
            consistent_rates(&pendulum, &x, &mut xdot)?;
            let mut dependent = vec![0; BODIES];
            dependent_parameters(&x, &mut dependent);
            let mut blocks = vec![Blocks::zero(); BODIES];
            Blocks::fill(&pendulum, &x, &xdot, sigma, &mut blocks);
            for body in 0..BODIES {
                let inertia = pendulum.rod(body).inertia.full().rows();
                let limit = limit(&blocks[body], inertia, sigma);
                let block = moment_block(&blocks[body], dependent[body] as usize, sigma);
                let ratio = solved(limit, block)?;
                let rows = ratio.iter().enumerate().map(|(i, row)| {
                    let entries = row.iter().enumerate();
                    entries
                        .map(|(j, x)| (x - f64::from(u8::from(i == j))).abs())
                        .sum::<f64>()
                });
                line.apart = larger(line.apart, rows.fold(0.0, larger));
                let determinant = determinant(ratio);
                line.determinants[0] = line.determinants[0].min(determinant);
                line.determinants[1] = line.determinants[1].max(determinant);
            }
        }
        Ok(line)
    }
}

/// J_F of a body by (53) and (57), with the row of I² first.
fn moment_block(blocks: &Blocks<f64>, dependent: usize, sigma: f64) -> Block {
    let (p, s) = (blocks.parameters, blocks.rates);
    // Δp_v = (Δs_v − I³)/σ and p·Δp = I¹/2:  −I_S has 1/σ at the independent parameters
    let mut minus = [[0.0; 4]; 4];
    for v in (0..4).filter(|&v| v != dependent) {
        minus[v][v] = 1.0 / sigma;
        minus[dependent][v] = -p[v] / (sigma * p[dependent]);
    }
    let mut block = [[0.0; 4]; 4];
    for k in 0..4 {
        let through = |columns: &[Vec3<f64>; 4]| {
            let terms = columns.iter().zip(&minus);
            terms.fold(Vec3::zero(), |sum, (column, row)| sum + *column * row[k])
        };
        let row: f64 = s.iter().zip(&minus).map(|(s, row)| s * row[k]).sum();
        let moment = blocks.moment_by_rates[k] + through(&blocks.moment_by_parameters);
        block[0][k] = -2.0 * sigma * (p[k] + row);
        for (i, x) in moment.to_array().into_iter().enumerate() {
            block[1 + i][k] = x;
        }
    }
    block
}

/// L by (62).
fn limit(blocks: &Blocks<f64>, inertia: [[f64; 3]; 3], sigma: f64) -> Block {
    let p = blocks.parameters;
    let g = g_columns(p);
    let mut block = [[0.0; 4]; 4];
    for k in 0..4 {
        block[0][k] = -2.0 * sigma * p[k];
        let column = g[k].to_array();
        for (i, row) in inertia.iter().enumerate() {
            let product: f64 = row.iter().zip(column).map(|(a, b)| a * b).sum();
            block[1 + i][k] = -2.0 * sigma * product;
        }
    }
    block
}

/// X with A X = B.
fn solved(a: Block, b: Block) -> Result<Block> {
    let mut lu = Lu::new(4);
    for (i, row) in a.iter().enumerate() {
        lu.matrix_mut().row_mut(i).copy_from_slice(row);
    }
    lu.factorize()
        .map_err(|_| Error::new(ErrorKind::Singular, "the limit of J_F is singular"))?;
    let mut x = [[0.0; 4]; 4];
    for k in 0..4 {
        let column = b.map(|row| row[k]);
        let mut solution = [0.0; 4];
        lu.solve(&column, &mut solution);
        for i in 0..4 {
            x[i][k] = solution[i];
        }
    }
    Ok(x)
}

/// The determinant, by elimination with the largest pivot of each column.
fn determinant(mut a: Block) -> f64 {
    let mut product = 1.0;
    for k in 0..4 {
        let by_size = |&i: &usize, &j: &usize| a[i][k].abs().total_cmp(&a[j][k].abs());
        let pivot = (k..4).max_by(by_size).unwrap_or(k);
        if pivot != k {
            a.swap(pivot, k);
            product = -product;
        }
        product *= a[k][k];
        if a[k][k] == 0.0 {
            return 0.0;
        }
        for i in k + 1..4 {
            let factor = a[i][k] / a[k][k];
            for j in k..4 {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    product
}

fn page(lines: &[Line]) -> String {
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            vec![
                format!("{:e}", line.sigma),
                rough(line.apart),
                format!("{:.6}", line.determinants[0]),
                format!("{:.6}", line.determinants[1]),
            ]
        })
        .collect();
    let sure = lines
        .iter()
        .rev()
        .take_while(|line| line.apart < 1.0)
        .last();
    let sure = match sure {
        Some(line) => format!(
            "From σ = {:e} 1/s on every J_F here is invertible for sure (|X − 1| < 1), that is for steps of {} s and shorter.",
            line.sigma,
            rough(1.0 / line.sigma)
        ),
        None => "No σ here is large enough to be sure.".into(),
    };
    format!(
        "# J_F is invertible as σ → ∞\n\n\
         Made by `catena study invertibility`: Chou's sec. 5.2 in numbers. J_F, 4×4 for each body, tends to L = −2σ diag(1, I) [pᵀ; G], whose \
         determinant is 16 σ⁴ det I. Of {} random states of a pendulum with {BODIES} bodies (velocities up to 2 rad/s): the largest row sum of |X − 1| with \
         J_F = L X, and the smallest and largest det X.\n\n{}\n{sure} The difference falls as 1/σ, as eq. 58 says.\n\n\
         ![J_F against its limit](invertibility.svg)\n",
        STATES,
        markdown_table(
            &["σ, 1/s", "abs(X − 1)", "smallest det X", "largest det X"],
            &rows
        )
    )
}
