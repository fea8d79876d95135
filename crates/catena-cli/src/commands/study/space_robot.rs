//! `catena study space-robot`: operations of an n-joint arm on a free base as formulas in n.
//!
//! Saha's paper on the space robot promises "the exact complexity count" for later. Here it is, counted by running the library.

use super::{FORMAT, Found, markdown_table};
use crate::commands::count::formula::{Formula, SAHA_FORWARD, WALKER_ORIN};
use crate::commands::count::subject::{Algorithm, Axes, both, chain, recursion, space_robot};
use catena::algorithm::kinematics::Rerooted;
use catena::error::Result;
use catena::{Model, ModelBuilder};
use catena_plot::Chart;
use serde_json::json;

/// Longest arm.
const LONGEST: usize = 30;
/// Round-off of the frames along common normals.
const DUST: f64 = 1e-14;

/// The counts of one algorithm for arms of all lengths.
struct Line {
    name: String,
    /// Multiplications and divisions; additions and subtractions.
    counts: [Vec<i64>; 2],
}

impl Line {
    fn formula(&self, which: usize) -> String {
        match Formula::of(&self.counts[which]) {
            Some((formula, from)) if from <= 3 => formula.to_string(),
            Some((formula, from)) => format!("{formula} (n ≥ {from})"),
            None => "–".into(),
        }
    }

    fn total(&self, n: usize) -> i64 {
        self.counts[0][n - 1] + self.counts[1][n - 1]
    }
}

/// Numbered from the hand: the last link is the root.
fn from_the_hand(builder: &ModelBuilder, n: usize) -> Result<Model> {
    Ok(Rerooted::new(builder, &format!("link{n}"))?.after().clone())
}

/// Counts.
pub fn find() -> Result<Found> {
    let mut lines: Vec<Line> = Vec::new();
    let mut put = |name: &str, counts: [i64; 2]| {
        let at = lines.iter().position(|line| line.name == name);
        let at = at.unwrap_or_else(|| {
            lines.push(Line {
                name: name.into(),
                counts: [Vec::new(), Vec::new()],
            });
            lines.len() - 1
        });
        for (list, count) in lines[at].counts.iter_mut().zip(counts) {
            list.push(count);
        }
    };
    for n in 1..=LONGEST {
        let builder = space_robot(n, Axes::Anywhere);
        let free = builder.build()?;
        let hand = from_the_hand(&builder, n)?;
        let fixed = chain(n, Axes::Anywhere)?;
        let in_dh = |model: &Model| model.in_common_normal_frames(DUST).model;
        let (free_dh, fixed_dh) = (in_dh(&free), in_dh(&fixed));
        for (name, model, algorithm) in [
            ("free base, U D Uᵀ", &free, Algorithm::Factorization),
            (
                "free base, U D Uᵀ, DH frames",
                &free_dh,
                Algorithm::Factorization,
            ),
            (
                "free base, U D Uᵀ, numbered from the hand",
                &hand,
                Algorithm::Factorization,
            ),
            (
                "free base, articulated bodies",
                &free,
                Algorithm::Articulated,
            ),
            (
                "free base, articulated bodies, DH frames",
                &free_dh,
                Algorithm::Articulated,
            ),
            ("free base, Walker–Orin", &free, Algorithm::WalkerOrin),
            ("fixed base, U D Uᵀ", &fixed, Algorithm::Factorization),
            (
                "fixed base, U D Uᵀ, DH frames",
                &fixed_dh,
                Algorithm::Factorization,
            ),
        ] {
            put(name, both(recursion(model, None, algorithm)));
        }
    }
    let page = page(&lines);
    let figure = figure(&lines);
    let record: Vec<_> = lines
        .iter()
        .map(|line| {
            json!({
                "algorithm": line.name,
                "multiplications": line.counts[0],
                "additions": line.counts[1],
                "formulas": [line.formula(0), line.formula(1)],
            })
        })
        .collect();
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("saha-space-robot-counts.md".into(), page),
            ("saha-space-robot-counts.svg".into(), figure.svg(720, 460)),
        ],
        record: json!({
            "format": FORMAT,
            "study": "space-robot",
            "joints": (1..=LONGEST).collect::<Vec<_>>(),
            "lines": record,
        }),
    })
}

fn page(lines: &[Line]) -> String {
    let mut rows = Vec::new();
    let [m, a] = SAHA_FORWARD.1;
    let [wm, wa] = WALKER_ORIN.1;
    let paper =
        |name: &str, m: &dyn Fn(usize) -> i64, a: &dyn Fn(usize) -> i64, text: [String; 2]| {
            let mut row = vec![name.to_string()];
            row.extend(text);
            for n in [6, 12] {
                row.extend([m(n).to_string(), a(n).to_string()]);
            }
            row
        };
    rows.push(paper(
        "Saha: fixed base, n freedoms",
        &|n| m.at(n),
        &|n| a.at(n),
        [m.to_string(), a.to_string()],
    ));
    rows.push(paper(
        "Walker and Orin: n + 6 freedoms, by their formula",
        &|n| wm.at(n + 6),
        &|n| wa.at(n + 6),
        [
            "⅙ (n + 6)³ + 11½ (n + 6)² + 38⅓ (n + 6) − 47".into(),
            "⅙ (n + 6)³ + 7 (n + 6)² + 38⅚ (n + 6) − 46".into(),
        ],
    ));
    for line in lines {
        let mut row = vec![
            format!("catena: {}", line.name),
            line.formula(0),
            line.formula(1),
        ];
        for n in [6, 12] {
            row.extend(line.counts.iter().map(|counts| counts[n - 1].to_string()));
        }
        rows.push(row);
    }
    let mut text = String::from(
        "# Operations of an arm of n joints on a free base\n\n\
         Made by `catena study space-robot`: the count that Saha's paper on the space robot leaves for later. n revolute joints with axes, mass centres and \
         inertias anywhere, on a spacecraft with six freedoms; M are multiplications and divisions, A additions and subtractions, sines and cosines not \
         included. Forward dynamics by U D Uᵀ is Newton–Euler at v̇ = 0, the recursive factorization, and two substitutions; the 6×6 block of the base is \
         eliminated one freedom after the other like the joints. The papers' rows are their formulas for arms on a fixed base, and Walker and Orin's for n + 6 freedoms.\n\n",
    );
    text += &markdown_table(
        &["algorithm", "M", "A", "n = 6: M", "A", "n = 12: M", "A"],
        &rows,
    );
    let find = |name: &str| lines.iter().find(|line| line.name == name);
    if let (Some(free), Some(fixed), Some(cubic)) = (
        find("free base, U D Uᵀ"),
        find("fixed base, U D Uᵀ"),
        find("free base, Walker–Orin"),
    ) {
        let more = |n: usize| free.total(n) - fixed.total(n);
        let below = (1..=LONGEST)
            .rev()
            .take_while(|&n| free.total(n) <= cubic.total(n));
        text += &format!(
            "\nThe free base adds {} operations at n = 6 and {} at n = 12, that is what the steps marked (E) in the paper cost. ",
            more(6),
            more(12)
        );
        text += &match below.last() {
            Some(n) => format!(
                "Against Walker and Orin's scheme on the same robot U D Uᵀ takes fewer operations from {n} {} on; the paper predicts that for six \
                 joints, twelve freedoms.\n",
                if n == 1 { "joint" } else { "joints" }
            ),
            None => {
                format!("Walker and Orin's scheme takes fewer operations up to {LONGEST} joints.\n")
            }
        };
    }
    text + "\n![Operations by n](saha-space-robot-counts.svg)\n"
}

fn figure(lines: &[Line]) -> Chart {
    let joints: Vec<f64> = (1..=LONGEST).map(|n| n as f64).collect();
    let mut chart = Chart::new(
        "Forward dynamics of an arm on a free base",
        "joints",
        "M + A",
    )
    .log(false, true);
    let [m, a] = SAHA_FORWARD.1;
    let [wm, wa] = WALKER_ORIN.1;
    // Saha's formula is negative for a single joint
    let papers: Vec<f64> = (2..=LONGEST).map(|n| (m.at(n) + a.at(n)) as f64).collect();
    chart = chart.series("Saha: fixed base", joints[1..].to_vec(), papers);
    let papers: Vec<f64> = (1..=LONGEST)
        .map(|n| (wm.at(n + 6) + wa.at(n + 6)) as f64)
        .collect();
    chart = chart.series("Walker and Orin: n + 6 freedoms", joints.clone(), papers);
    for line in lines
        .iter()
        .filter(|line| !line.name.contains("articulated"))
    {
        let y: Vec<f64> = (1..=LONGEST).map(|n| line.total(n) as f64).collect();
        chart = chart.series(line.name.clone(), joints.clone(), y);
    }
    chart
}
