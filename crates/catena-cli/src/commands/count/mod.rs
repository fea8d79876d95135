//! `catena count [MODEL]`: operations of the algorithms, for chains of revolute joints compared with Saha's Tables 1 and 2, or for one model.

pub mod formula;
pub mod subject;

use crate::model_argument::{ModelArgument, ModelOptions};
use crate::outcome::Outcome;
use crate::table::Table;
use crate::{json, limits, output};
use catena::error::Result;
use catena_plot::{Chart, Figure};
use catena_symbolic::generate::Loops;
use clap::Args;
use formula::{Formula, Row, SAHA_FORWARD, SAHA_INVERSE, TABLE_1, TABLE_2, WALKER_ORIN};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use subject::{Algorithm, Axes, both, chain, closed, elements, program, recursion};

/// Longest chain.
const LONGEST: usize = 30;
/// Maximum number of degrees of freedom of a model: Walker and Orin's method takes n³ operations, each of them counted.
const MOST_FREEDOMS: usize = 500;
/// Tolerance of reduced models.
const DUST: f64 = 1e-14;

/// Which model, and where the tables go.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Model file or embedded model to count [default: chains of 1 to 30 revolute joints, with the numbers of Saha's Tables 1 and 2]
    #[arg(value_name = "MODEL")]
    model: Option<String>,

    /// Folder for saha-tables-1-2.md and saha-tables-1-2.svg; not with a model
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "model")]
    output: Option<PathBuf>,

    #[command(flatten)]
    options: ModelOptions,
}

/// Counts.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    if let Some(name) = &arguments.model {
        return one_model(&arguments.options.of(name), as_json);
    }
    (arguments.options).expect_none("none is given: the chains of the tables are counted")?;
    if let Some(folder) = &arguments.output {
        output::make_folder(folder)?;
    }
    let counts = Counts::measure()?;
    let sections = counts.sections();
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&counts.json()),
        false => {
            let parts: Vec<String> = sections.iter().map(Section::text).collect();
            parts.join("\n")
        }
    });
    if let Some(folder) = &arguments.output {
        for (name, contents) in counts.files(&sections) {
            let path = folder.join(name);
            output::write_file(&path, contents)?;
            outcome = outcome.note(format!("wrote {}", path.display()));
        }
    }
    Ok(outcome)
}

/// The page with Saha's Tables 1 and 2, and its picture.
pub fn pages() -> Result<Vec<(String, String)>> {
    let counts = Counts::measure()?;
    Ok(counts.files(&counts.sections()).into())
}

/// The counts of one model: as it is, reduced, and as a simplified program.
fn one_model(argument: &ModelArgument, as_json: bool) -> Result<Outcome> {
    let model = argument.model()?;
    limits::freedoms(&model, "count", MOST_FREEDOMS)?;
    let tree = model.clone().open_tree();
    let reduced = tree.reduced(DUST).model;
    let couplings = model.couplings();
    let loops = Loops::new(&model)?;
    let has_forces = !model.forces().is_empty();
    // reduced frames have no force elements: these act in the given ones, and their efforts are added
    let added = match has_forces {
        true => both(elements(&tree, couplings)),
        false => [0; 2],
    };
    let mut section = Section::new(
        &format!("{}: {} freedoms", model.name(), model.nv()),
        &[
            "algorithm",
            "recursion M",
            "A",
            "reduced M",
            "A",
            "program M",
            "A",
        ],
    );
    let mut record = Vec::new();
    let algorithms: &[Algorithm] = match couplings {
        None if loops.is_some() => &[
            Algorithm::Inverse,
            Algorithm::Articulated,
            Algorithm::Inertia,
            Algorithm::ChosenRows,
        ],
        None => &Algorithm::ALL,
        Some(_) => &[Algorithm::Inverse, Algorithm::Clusters, Algorithm::Inertia],
    };
    for &algorithm in algorithms {
        let counts = match (&loops, algorithm) {
            (Some(loops), Algorithm::ChosenRows) => [
                Some(both(closed(&model, &loops.chosen))),
                None,
                program(&model, algorithm)?.map(both),
            ],
            _ => [
                Some(both(recursion(&tree, couplings, algorithm))),
                Some({
                    let [m, a] = both(recursion(&reduced, couplings, algorithm));
                    match algorithm {
                        Algorithm::Inertia => [m, a],
                        _ => [m + added[0], a + added[1]],
                    }
                }),
                program(if loops.is_some() { &tree } else { &model }, algorithm)?.map(both),
            ],
        };
        let mut name = algorithm.name().to_string();
        if loops.is_some() && algorithm != Algorithm::ChosenRows {
            name += ", loops open";
        }
        let mut row = vec![name.clone()];
        for count in counts {
            row.extend(match count {
                Some(pair) => pair.map(|x| x.to_string()),
                None => [String::new(), String::new()],
            });
        }
        section.rows.push(row);
        record.push(json!({
            "algorithm": name,
            "recursion": counts[0], "reduced": counts[1], "program": counts[2],
        }));
    }
    let mut document =
        json!({ "format": "catena-count/1", "model": model.name(), "algorithms": record });
    let mut text = section.text()
        + "\n  M multiplications and divisions, A additions and subtractions; sines, cosines and square roots are not included.\n  \
           reduced: frames along common normals, inertias regrouped; program: its simplified straight-line code.\n";
    if has_forces {
        let names: Vec<&str> = model.forces().iter().map(|e| &*e.name).collect();
        let [m, a] = added;
        let _ = writeln!(
            text,
            "  Force elements ({}) are included; as efforts, in the given frames, they take {m} M {a} A of each reduced dynamics.",
            names.join(", ")
        );
        document["forces"] = json!({ "elements": names, "as_efforts": added });
    }
    let outcome = Outcome::text(match as_json {
        true => json::text(&document),
        false => text,
    });
    Ok(match loops.and_then(|loops| loops.note()) {
        Some(note) => outcome.note(note),
        None => outcome,
    })
}

/// How a chain is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The library's recursion, frames anywhere.
    Any,
    /// The recursion in DH frames (along common normals).
    Dh,
    /// The recursion in DH frames with inertias regrouped.
    Reduced,
    /// The simplified program.
    Program,
    /// The program of a chain whose axes are at right angles.
    RightAngles,
}

impl Way {
    const ALL: [Way; 5] = [
        Way::Any,
        Way::Dh,
        Way::Reduced,
        Way::Program,
        Way::RightAngles,
    ];

    fn name(self) -> &'static str {
        match self {
            Way::Any => "any frames",
            Way::Dh => "DH frames",
            Way::Reduced => "DH, regrouped",
            Way::Program => "program",
            Way::RightAngles => "program, right angles",
        }
    }
}

/// The counts of one algorithm in one way, for n = 1…LONGEST.
struct Line {
    algorithm: Algorithm,
    way: Way,
    /// Multiplications, additions.
    counts: [Vec<i64>; 2],
}

impl Line {
    fn name(&self) -> String {
        let short = match self.algorithm {
            Algorithm::Inverse => "Newton–Euler",
            Algorithm::Articulated => "articulated bodies",
            Algorithm::Factorization => "U D Uᵀ",
            Algorithm::WalkerOrin => "Walker–Orin",
            Algorithm::Inertia => "composite bodies",
            Algorithm::Clusters => "clusters",
            Algorithm::ChosenRows => "chosen rows",
        };
        format!("catena: {short}, {}", self.way.name())
    }

    fn total(&self, n: usize) -> i64 {
        self.counts[0][n - 1] + self.counts[1][n - 1]
    }

    /// The polynomial, with the smallest size for which it holds unless that is small.
    fn formula(&self, which: usize) -> String {
        match Formula::of(&self.counts[which]) {
            Some((formula, from)) if from <= 3 => formula.to_string(),
            Some((formula, from)) => format!("{formula} (n ≥ {from})"),
            None => "–".into(),
        }
    }
}

/// All lines.
struct Counts {
    lines: Vec<Line>,
}

impl Counts {
    fn measure() -> Result<Self> {
        let mut lines: Vec<Line> = Vec::new();
        for algorithm in Algorithm::ALL {
            for way in Way::ALL {
                lines.push(Line {
                    algorithm,
                    way,
                    counts: [Vec::new(), Vec::new()],
                });
            }
        }
        for n in 1..=LONGEST {
            let any = chain(n, Axes::Anywhere)?;
            let right = chain(n, Axes::RightAngles)?;
            let dh = any.in_common_normal_frames(DUST).model;
            let reduced = any.reduced(DUST).model;
            for line in &mut lines {
                let operations = match line.way {
                    Way::Any => Some(recursion(&any, None, line.algorithm)),
                    Way::Dh => Some(recursion(&dh, None, line.algorithm)),
                    Way::Reduced => Some(recursion(&reduced, None, line.algorithm)),
                    Way::Program => program(&any, line.algorithm)?,
                    Way::RightAngles => program(&right, line.algorithm)?,
                };
                if let Some(operations) = operations {
                    let pair = both(operations);
                    line.counts[0].push(pair[0]);
                    line.counts[1].push(pair[1]);
                }
            }
        }
        lines.retain(|line| line.counts[0].len() == LONGEST);
        Ok(Counts { lines })
    }

    fn of(&self, algorithms: &[Algorithm]) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .filter(move |line| algorithms.contains(&line.algorithm))
    }

    fn line(&self, algorithm: Algorithm, way: Way) -> Option<&Line> {
        self.lines
            .iter()
            .find(|line| line.algorithm == algorithm && line.way == way)
    }

    fn sections(&self) -> Vec<Section> {
        let inverse = [Algorithm::Inverse];
        let forward = [
            Algorithm::Articulated,
            Algorithm::Factorization,
            Algorithm::WalkerOrin,
        ];
        vec![
            self.beside("Inverse dynamics, Saha's Table 1", &TABLE_1, &inverse),
            self.beside("Forward dynamics, Saha's Table 2", &TABLE_2, &forward),
            self.crossovers(),
            self.goals(),
        ]
    }

    /// The paper's rows and ours.
    fn beside(&self, title: &str, table: &[Row], algorithms: &[Algorithm]) -> Section {
        let mut section = Section::new(
            title,
            &["algorithm", "M", "A", "n = 6: M", "A", "n = 12: M", "A"],
        );
        for (name, formulas) in table {
            let mut row = vec![name.to_string()];
            row.extend(formulas.map(|f| f.to_string()));
            for n in [6, 12] {
                row.extend(formulas.map(|f| f.at(n).to_string()));
            }
            section.rows.push(row);
        }
        for line in self.of(algorithms) {
            let mut row = vec![line.name(), line.formula(0), line.formula(1)];
            for n in [6, 12] {
                row.extend(line.counts.iter().map(|c| c[n - 1].to_string()));
            }
            section.rows.push(row);
        }
        section
    }

    /// From which n on an O(n) scheme takes no more operations than the O(n³) one.
    fn crossovers(&self) -> Section {
        let mut section = Section::new(
            "From which n on O(n) forward dynamics takes no more than O(n³)",
            &["schemes", "by M", "by A", "by M + A"],
        );
        let from = |linear: &dyn Fn(usize) -> i64, cubic: &dyn Fn(usize) -> i64| {
            let good = (1..=LONGEST).rev().take_while(|&n| linear(n) <= cubic(n));
            match good.last() {
                Some(n) => n.to_string(),
                None => format!("above {LONGEST}"),
            }
        };
        let (linear, cubic) = (SAHA_FORWARD.1, WALKER_ORIN.1);
        section.rows.push(vec![
            "Saha and Walker–Orin, by their formulas".into(),
            from(&|n| linear[0].at(n), &|n| cubic[0].at(n)),
            from(&|n| linear[1].at(n), &|n| cubic[1].at(n)),
            from(&|n| linear[0].at(n) + linear[1].at(n), &|n| {
                cubic[0].at(n) + cubic[1].at(n)
            }),
        ]);
        for linear in self.of(&[Algorithm::Articulated, Algorithm::Factorization]) {
            let Some(cubic) = self.line(Algorithm::WalkerOrin, linear.way) else {
                continue;
            };
            let [m, a] = [0, 1].map(|which: usize| {
                from(&|n| linear.counts[which][n - 1], &|n| {
                    cubic.counts[which][n - 1]
                })
            });
            section.rows.push(vec![
                linear.name(),
                m,
                a,
                from(&|n| linear.total(n), &|n| cubic.total(n)),
            ]);
        }
        section
    }

    /// Our counts against the paper's own formulas.
    fn goals(&self) -> Section {
        let mut section = Section::new(
            "Against Saha's own formulas (120 n − 44 M, 97 n − 55 A; 201 n − 335 M, 193 n − 361 A): M + A, ratio",
            &["ours", "n = 6", "n = 12", "n = 30", "M and A both no more"],
        );
        for (goal, algorithms) in [
            (SAHA_INVERSE, &[Algorithm::Inverse][..]),
            (
                SAHA_FORWARD,
                &[Algorithm::Articulated, Algorithm::Factorization],
            ),
        ] {
            let [m, a] = goal.1;
            for line in self.of(algorithms) {
                let mut row = vec![line.name()];
                for n in [6, 12, LONGEST] {
                    let ratio = line.total(n) as f64 / (m.at(n) + a.at(n)) as f64;
                    row.push(format!("{ratio:.2}"));
                }
                let good: Vec<usize> = (1..=LONGEST)
                    .filter(|&n| {
                        line.counts[0][n - 1] <= m.at(n) && line.counts[1][n - 1] <= a.at(n)
                    })
                    .collect();
                row.push(match (good.first(), good.last()) {
                    (Some(first), Some(last)) if last - first + 1 == good.len() => {
                        match (*first, *last) {
                            (1, LONGEST) => "for all n".into(),
                            (first, LONGEST) => format!("n ≥ {first}"),
                            (first, last) => format!("n = {first}…{last}"),
                        }
                    }
                    (Some(_), _) => format!("for {} of {LONGEST} n", good.len()),
                    (None, _) => "no".into(),
                });
                section.rows.push(row);
            }
        }
        section
    }

    fn files(&self, sections: &[Section]) -> [(String, String); 2] {
        [
            ("saha-tables-1-2.md".into(), self.markdown(sections)),
            ("saha-tables-1-2.svg".into(), self.figure().svg(900, 420)),
        ]
    }

    fn markdown(&self, sections: &[Section]) -> String {
        let mut text = String::from(
            "# Operations of inverse and forward dynamics\n\n\
             Made by `catena count -o docs/papers`. Serial chains of n revolute joints; M are multiplications and divisions, A additions and \
             subtractions, sines and cosines not included. The papers' rows are their formulas evaluated (Saha 1999 prints 480 A for Walker and Orin at \
             n = 6; the formula beside it gives 475). Ours are counted by running the library:\n\n\
             * **any frames**: the recursion as it is, in a scalar that counts; axes, mass centres and inertias of the chain have no structure. The \
             first axis is vertical. Exact zeros and ones among the model's numbers cost nothing.\n\
             * **DH frames**: the same chain and recursion in frames along common normals (`Model::in_common_normal_frames`).\n\
             * **DH, regrouped**: inertias regrouped as well (`Model::reduced`).\n\
             * **program**: the recursion in elementary steps, traced in expressions on the reduced model and simplified: what `catena generate` chooses from.\n\
             * **program, right angles**: the same where every axis is at right angles to the one before, with full inertias and offsets.\n\n\
             U D Uᵀ is Saha's scheme: Newton–Euler at v̇ = 0, recursive factorization, two substitutions. Formulas are exact for all n from the \
             third on, or from where they say, up to 30; – where there is none of third degree.\n\n",
        );
        for section in sections {
            text += &section.markdown();
            text.push('\n');
        }
        text += "![Operations by n](saha-tables-1-2.svg)\n\n";
        text += &self.standing();
        text += "\n## By size\n\nM / A:\n\n| n | Saha inverse | Saha forward | Walker–Orin |";
        let shown: Vec<&Line> = self
            .lines
            .iter()
            .filter(|line| line.algorithm != Algorithm::Inertia)
            .filter(|line| matches!(line.way, Way::Any | Way::Dh | Way::Program))
            .collect();
        for line in &shown {
            let _ = write!(text, " {} |", line.name().replace("catena: ", ""));
        }
        text += "\n|---:|";
        text += &"---:|".repeat(shown.len() + 3);
        text.push('\n');
        for n in 1..=LONGEST {
            let _ = write!(text, "| {n} |");
            for (_, [m, a]) in [SAHA_INVERSE, SAHA_FORWARD, WALKER_ORIN] {
                let _ = write!(text, " {} / {} |", m.at(n), a.at(n));
            }
            for line in &shown {
                let [m, a] = [0, 1].map(|k: usize| line.counts[k][n - 1]);
                let _ = write!(text, " {m} / {a} |");
            }
            text.push('\n');
        }
        text
    }

    /// Comparison of our counts with the paper's in words, with the numbers of n = 6.
    fn standing(&self) -> String {
        let six = |algorithm, way| match self.line(algorithm, way) {
            Some(line) => format!("{} M {} A", line.counts[0][5], line.counts[1][5]),
            None => String::new(),
        };
        let goal = |row: Row| format!("{} M {} A", row.1[0].at(6), row.1[1].at(6));
        format!(
            "At n = 6 inverse dynamics takes {} in any frames, {} in DH frames and {} simplified, against Saha's {}. Forward dynamics by \
             articulated bodies takes {} simplified against {}, and {} where every axis is at right angles to the one before; the table says from \
             which n on that is no more in both. The paper does not list its operations one by one.\n\n\
             What the program of forward dynamics does differently:\n\n\
             * Velocities enter through a reference motion alone, Newton–Euler at accelerations v̇° chosen so that no body has an angular acceleration \
             about its own axis: ω̇° then has two components, and no articulated inertia is multiplied with velocity products.\n\
             * A joint is an angle about z, a shift along z, an angle about x, a shift along x. The row that the elimination leaves empty stays empty \
             for the first two; a rotation of a symmetric matrix in a plane takes four products, three if the angle is a number.\n\
             * The first two freedoms are solved together: of the third body's inertia only the three numbers that affect them are formed.\n\
             * The last body's frame is on the common normal with the axis before it, its mass centre in the xz plane (`Model::reduced`).\n\n\
             The recursion in numbers takes {} in any frames and {} in DH frames. One code serves any tree, joint, base and wrench there: it transforms \
             inertias by whole rotations, also where a placement is a single angle, keeps the bodies' own masses, so that reactions and energies \
             are those of the model, and transforms every body's inertia. Where these operations matter, code is generated for the model \
             (`catena generate`, `native::compile`).\n",
            six(Algorithm::Inverse, Way::Any),
            six(Algorithm::Inverse, Way::Dh),
            six(Algorithm::Inverse, Way::Program),
            goal(SAHA_INVERSE),
            six(Algorithm::Articulated, Way::Program),
            goal(SAHA_FORWARD),
            six(Algorithm::Articulated, Way::RightAngles),
            six(Algorithm::Articulated, Way::Any),
            six(Algorithm::Articulated, Way::Dh),
        )
    }

    fn figure(&self) -> Figure {
        let n: Vec<f64> = (1..=LONGEST).map(|n| n as f64).collect();
        let chart = |title: &str, papers: &[Row], algorithms: &[Algorithm]| {
            let mut chart = Chart::new(title, "joints", "M + A").log(true, true);
            for (name, [m, a]) in papers {
                let y = (1..=LONGEST).map(|n| (m.at(n) + a.at(n)) as f64).collect();
                chart = chart.series(*name, n.clone(), y);
            }
            for line in self.of(algorithms) {
                if matches!(line.way, Way::Dh | Way::Program) {
                    let y = (1..=LONGEST).map(|n| line.total(n) as f64).collect();
                    chart = chart.series(line.name(), n.clone(), y);
                }
            }
            chart
        };
        Figure {
            title: "Operations of chains of revolute joints".into(),
            charts: vec![
                chart(
                    "inverse dynamics",
                    &[SAHA_INVERSE, TABLE_1[6]],
                    &[Algorithm::Inverse],
                ),
                chart(
                    "forward dynamics",
                    &[SAHA_FORWARD, WALKER_ORIN],
                    &[Algorithm::Articulated, Algorithm::WalkerOrin],
                ),
            ],
            columns: 2,
        }
    }

    fn json(&self) -> Value {
        let paper = |table: &[Row]| -> Value {
            let rows = table.iter().map(|(name, formulas)| {
                let [m, a] = formulas.map(|f| (1..=LONGEST).map(|n| f.at(n)).collect::<Vec<_>>());
                json!({ "algorithm": name, "multiplications": m, "additions": a })
            });
            rows.collect()
        };
        let ours: Vec<Value> = self
            .lines
            .iter()
            .map(|line| {
                json!({
                    "algorithm": line.algorithm.name(),
                    "way": line.way.name(),
                    "multiplications": line.counts[0],
                    "additions": line.counts[1],
                })
            })
            .collect();
        json!({
            "format": "catena-count/1",
            "joints": (1..=LONGEST).collect::<Vec<_>>(),
            "table_1": paper(&TABLE_1),
            "table_2": paper(&TABLE_2),
            "catena": ours,
        })
    }
}

/// A table with a title: first column text, the others to the right.
struct Section {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Section {
    fn new(title: &str, head: &[&str]) -> Self {
        Section {
            title: title.into(),
            head: head.iter().map(|text| text.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let mut table = Table::new();
        for (k, head) in self.head.iter().enumerate() {
            let cells: Vec<&str> = self.rows.iter().map(|row| row[k].as_str()).collect();
            table = match k {
                0 => table.text(head, cells),
                _ => table.written(head, cells),
            };
        }
        format!("{}\n{}", self.title, table.render())
    }

    fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n| {} |\n|---|", self.title, self.head.join(" | "));
        text += &"---:|".repeat(self.head.len() - 1);
        text.push('\n');
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }
}
