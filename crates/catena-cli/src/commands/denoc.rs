//! `catena denoc MODEL`: the natural orthogonal complement and its decoupled factors as numbers.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::rough;
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::StateArgument;
use crate::table::{self, Table};
use crate::{json, limits, output};
use catena::algorithm::natural_orthogonal_complement::Denoc;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Couplings;
use catena::residual::{largest, relative};
use catena::spatial::ArticulatedInertia;
use catena::{Dynamics, Matrix, Model};
use catena_io::arrays::{MOST_FREEDOMS, NamedArray, complement, npz};
use clap::Args;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Larger matrices are printed only as files and JSON.
const WIDE: usize = 12;
/// Differences from the recursions, relative to the largest entry; larger ones are failures.
const ROUNDING: f64 = 1e-10;
/// Where pivots divide, this much per ratio of the largest to the smallest.
const SOLVING: f64 = 1e-13;
/// However different the pivots, a larger difference is a disagreement.
const LARGEST: f64 = 1e-3;

/// Which model and state, and where the matrices go.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// Show N, and M̃ and M̂ of every body
    #[arg(long)]
    full: bool,

    /// File for all matrices: .npz (NumPy), .csv or .json
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The formats of files.
#[derive(Clone, Copy)]
enum Format {
    Npz,
    Csv,
    Json,
}

/// Results at one state.
struct Found {
    situation: Situation,
    denoc: Denoc<f64>,
    /// Results in independent freedoms, for a model with couplings.
    coupled: Option<Coupled>,
    checks: Vec<Check>,
}

/// From the independent freedoms to those of the tree, v_tree = G v, and to the twists, t = N G v.
struct Coupled {
    g: Matrix,
    n: Matrix,
}

impl Found {
    /// All arrays.
    fn arrays(&self) -> Vec<NamedArray> {
        let mut all = complement(&self.denoc);
        if let Some(coupled) = &self.coupled {
            for (name, matrix) in [("G", &coupled.g), ("N_G", &coupled.n)] {
                all.push(NamedArray {
                    name,
                    shape: vec![matrix.rows(), matrix.columns()],
                    numbers: matrix.as_slice().to_vec(),
                });
            }
        }
        all
    }
}

/// An identity, and how well it holds.
struct Check {
    key: &'static str,
    words: &'static str,
    difference: f64,
    allowed: f64,
}

/// Computes the complement.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let given = arguments.model.model()?;
    // the factors N_l and N_d are those of the tree; couplings multiply by G
    let model = match given.couplings() {
        Some(_) => given.clone().open_tree(),
        None => given.clone(),
    };
    limits::freedoms(&model, "denoc", MOST_FREEDOMS)?;
    let format = match &arguments.output {
        Some(path) => {
            output::expect_folder(path)?;
            Some(format_of(path)?)
        }
        None => None,
    };
    let situations = arguments.state.situations(&given, None, None)?;
    let (n, nv) = (model.body_count(), model.nv());
    let numbers = 36 * (n * n + nv * nv) + 40 * n * nv;
    limits::memory("states", situations.len(), numbers)?;
    let mut dynamics = Dynamics::new(&model);
    let mut independent = Dynamics::new(&given);
    let found = situations
        .into_iter()
        .map(|situation| find(&mut dynamics, &mut independent, situation))
        .collect::<Result<Vec<Found>>>()?;
    let record = || json::text(&to_json(&model, &found));
    let mut outcome = Outcome::text(match as_json {
        true => record(),
        false => to_text(&model, arguments.full, &found),
    });
    if let (Some(path), Some(format)) = (&arguments.output, format) {
        match format {
            Format::Npz => output::write_file(path, npz(&arrays(&found))?)?,
            Format::Csv => output::write_file(path, to_csv(&found)?)?,
            Format::Json => output::write_file(path, record())?,
        }
        outcome = outcome.note(format!("wrote {}", path.display()));
    }
    for (index, one) in found.iter().enumerate() {
        for check in &one.checks {
            let wrong = format!("{} does not hold", check.words);
            outcome.require(index, &wrong, check.difference, check.allowed);
        }
    }
    Ok(outcome)
}

fn format_of(path: &Path) -> Result<Format> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "npz" => Ok(Format::Npz),
        "csv" => Ok(Format::Csv),
        "json" => Ok(Format::Json),
        _ => Err(Error::new(
            ErrorKind::Input,
            format!(
                "-o {}: the name of the file does not say its format",
                path.display()
            ),
        )
        .hint("end it with .npz, .csv or .json")),
    }
}

fn find(dynamics: &mut Dynamics, independent: &mut Dynamics, own: Situation) -> Result<Found> {
    let situation = own.clone().of_tree(independent.model());
    let denoc = dynamics.denoc(&situation.state)?;
    let mut checks = checks(dynamics, &situation, &denoc)?;
    let couplings = independent.model().couplings().cloned();
    let coupled = match couplings {
        Some(couplings) => {
            let n = in_independent(&couplings, &denoc.n());
            checks.extend(coupled_checks(independent, &couplings, &own, &denoc, &n)?);
            let g = in_independent(&couplings, &Matrix::identity(denoc.nv()));
            Some(Coupled { g, n })
        }
        None => None,
    };
    Ok(Found {
        situation,
        denoc,
        coupled,
        checks,
    })
}

/// A G.
fn in_independent(couplings: &Couplings, a: &Matrix) -> Matrix {
    let mut product = Matrix::zeros(a.rows(), couplings.nv());
    couplings.contract_columns(a, &mut product);
    product
}

/// Identities of N G, checked against the library's matrices of the independent freedoms.
fn coupled_checks(
    independent: &mut Dynamics,
    couplings: &Couplings,
    own: &Situation,
    denoc: &Denoc<f64>,
    n: &Matrix,
) -> Result<[Check; 2]> {
    let mut rotors = Matrix::zeros(denoc.nv(), denoc.nv());
    for (k, rotor) in denoc.rotors().iter().enumerate() {
        rotors[(k, k)] = *rotor;
    }
    let rotors = couplings.congruence(&rotors);
    let mut inertia = n.transpose().product(&denoc.mass().product(n));
    add(&mut inertia, &rotors);
    let mut inner = denoc
        .mass()
        .product(&in_independent(couplings, &denoc.n_rate()));
    add(&mut inner, &denoc.mass_rate().product(n));
    let convective = n.transpose().product(&inner);
    Ok([
        Check {
            key: "I_G",
            words: "Gᵀ I G = (N G)ᵀ M (N G), rotors added",
            difference: differ(&inertia, independent.inertia(&own.state)?),
            allowed: ROUNDING,
        },
        Check {
            key: "C_G",
            words: "Gᵀ C G = (N G)ᵀ (M Ṅ G + Ṁ N G)",
            difference: differ(&convective, independent.coriolis(&own.state)?),
            allowed: ROUNDING,
        },
    ])
}

fn add(to: &mut Matrix, matrix: &Matrix) {
    for (x, y) in to.as_mut_slice().iter_mut().zip(matrix.as_slice()) {
        *x += y;
    }
}

/// Largest difference, relative to the largest entry.
fn differ(a: &Matrix, b: &Matrix) -> f64 {
    let size = largest(b.as_slice());
    let size = if size > 0.0 { size } else { 1.0 };
    relative(a.as_slice(), b.as_slice(), size)
}

/// The identities of the papers, against the recursions.
fn checks(
    dynamics: &mut Dynamics,
    situation: &Situation,
    denoc: &Denoc<f64>,
) -> Result<Vec<Check>> {
    let (model, state) = (dynamics.model().clone(), &situation.state);
    let factors = dynamics.factorization(state)?;
    let d = factors.d();
    let smallest = d.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    let solving = (SOLVING * largest(&d) / smallest).clamp(ROUNDING, LARGEST);
    let n = denoc.n();
    let mut inner = denoc.mass().product(&denoc.n_rate());
    add(&mut inner, &denoc.mass_rate().product(&n));
    let convective = n.transpose().product(&inner);
    let pivots = denoc.pivots().iter().zip(&d);
    let pivots: Vec<f64> = pivots.map(|(a, b)| (a - b).abs() / b).collect();
    let check = |key, words, difference, allowed| Check {
        key,
        words,
        difference,
        allowed,
    };
    Ok(vec![
        check(
            "N",
            "N = N_l N_d",
            differ(&denoc.nl().product(&denoc.nd()), &n),
            ROUNDING,
        ),
        check(
            "I",
            "I = Nᵀ M N",
            differ(&denoc.inertia(), dynamics.inertia(state)?),
            ROUNDING,
        ),
        check(
            "U",
            "U = 1 + T_dᵀ (T_l − 1)ᵀ diag(M̂/m̂) T_d",
            differ(&denoc.u(), &factors.u(&model)),
            solving,
        ),
        check("D", "D = diag(m̂)", largest(&pivots), solving),
        check(
            "C",
            "C = Nᵀ (M Ṅ + Ṁ N)",
            differ(&convective, dynamics.coriolis(state)?),
            ROUNDING,
        ),
    ])
}

const TWIST: [&str; 6] = ["ωx", "ωy", "ωz", "vx", "vy", "vz"];
const WRENCH: [&str; 6] = ["nx", "ny", "nz", "fx", "fy", "fz"];

fn to_text(model: &Model, full: bool, found: &[Found]) -> String {
    let mut text = format!(
        "t = N v, N = N_l N_d: twists (ω; v) of the mass centres, world axes\n{}\n",
        one_line(model)
    );
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        text += &tables(model, &one.denoc);
        if full {
            text += &matrices(model, &one.denoc);
        }
        text.push('\n');
        for check in &one.checks {
            text += &format!("  check: {}, to {}\n", check.words, rough(check.difference));
        }
    }
    if found.iter().any(|one| one.coupled.is_some()) {
        text += "\n  these are the factors of the tree; with couplings v_tree = G v, and the complement of the independent freedoms is N G\n";
    }
    if !model.constraints().is_empty() {
        text += "\n  this is the complement of the tree: the loops of the model are open\n";
    }
    text + "\n  all matrices: --json, or -o FILE.npz, FILE.csv\n"
}

fn tables(model: &Model, denoc: &Denoc<f64>) -> String {
    let tree = model.tree();
    let name = |i: usize| match i {
        0 => "ground".to_string(),
        i => tree.bodies[i].name.clone(),
    };
    let bodies: Vec<usize> = model.bodies().collect();
    let mut centres = Table::new()
        .text("body i", bodies.iter().map(|&i| name(i)))
        .text("on j", bodies.iter().map(|&i| name(denoc.parent(i))));
    for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
        centres = centres.numbers(
            &format!("c_i {letter} m"),
            bodies
                .iter()
                .map(|&i| Some(denoc.mass_centre(i).to_array()[axis])),
        );
    }
    for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
        centres = centres.numbers(
            &format!("c_ij {letter} m"),
            bodies.iter().map(|&i| match denoc.parent(i) {
                0 => None,
                j => Some(denoc.arm(i, j).to_array()[axis]),
            }),
        );
    }
    let dofs = &tree.dofs;
    let names = || dofs.iter().map(|dof| dof.name.clone());
    let mut columns = Table::new().text("freedom", names());
    for (at, head) in TWIST.into_iter().enumerate() {
        let column = (0..dofs.len()).map(|k| Some(denoc.column(k).to_array()[at]));
        columns = columns.numbers(&format!("p {head}"), column);
    }
    let mut wrenches = Table::new().text("freedom", names());
    for (at, head) in WRENCH.into_iter().enumerate() {
        let column = (0..dofs.len()).map(|k| Some(denoc.psi(k).to_array()[at]));
        wrenches = wrenches.numbers(&format!("ψ {head}"), column);
    }
    let pivots = denoc.pivots().iter().map(|&x| Some(x));
    let units = dofs.iter().map(|dof| match dof.force_unit {
        "N" => "kg",
        _ => "kg·m²",
    });
    wrenches = wrenches.numbers("m̂", pivots).text("unit", units);
    format!(
        "\n{}\n  blocks of N_l: B_ij = [1 0; c̃_ij 1], also for j further down the path\n\n{}\n  blocks of N_d: the p of a joint, \
         side by side\n\n{}\n  ψ = M̂ p / m̂, about the mass centre\n",
        centres.render(),
        columns.render(),
        wrenches.render()
    )
}

fn matrices(model: &Model, denoc: &Denoc<f64>) -> String {
    let tree = model.tree();
    if model.nv() > WIDE || model.body_count() > WIDE {
        return format!(
            "\nN is {}×{}: see it with --json or -o\n",
            6 * model.body_count(),
            model.nv()
        );
    }
    let names: Vec<String> = tree.dofs.iter().map(|dof| dof.name.clone()).collect();
    let rows: Vec<String> = model
        .bodies()
        .flat_map(|i| TWIST.map(|part| format!("{} {part}", tree.bodies[i].name)))
        .collect();
    let n = denoc.n();
    let mut text = format!(
        "\nN (rad or m per rad or m)\n{}",
        table::matrix(&rows, &names, |i, j| n[(i, j)])
    );
    let (moments, twists) = (WRENCH.map(String::from), TWIST.map(String::from));
    let mut block = |title: String, inertia: ArticulatedInertia<f64>| {
        let entries = inertia.to_matrix();
        text += &format!(
            "\n{title} (kg·m², kg·m, kg)\n{}",
            table::matrix(&moments, &twists, |i, j| entries[i][j])
        );
    };
    for i in model.bodies() {
        let name = &tree.bodies[i].name;
        block(format!("M̃ of {name}"), denoc.composite(i));
        block(format!("M̂ of {name}"), denoc.articulated_body(i));
    }
    text
}

/// The arrays of all states, with an axis for the states if there are several.
fn arrays(found: &[Found]) -> Vec<NamedArray> {
    match found {
        [one] => one.arrays(),
        _ => NamedArray::stacked(found.iter().map(Found::arrays).collect()),
    }
}

/// One line per entry that is not zero. Blocks of bodies or freedoms are below each other.
fn to_csv(found: &[Found]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let trouble = |error: csv::Error| Error::new(ErrorKind::File, format!("CSV: {error}"));
    writer
        .write_record(["state", "matrix", "row", "column", "value"])
        .map_err(trouble)?;
    for (state, one) in (1..).zip(found) {
        for array in one.arrays() {
            let columns = match &array.shape[..] {
                [_] => 1,
                shape => shape[shape.len() - 1],
            };
            for (at, value) in array.numbers.iter().enumerate() {
                if *value != 0.0 {
                    writer
                        .write_record([
                            format!("{state}"),
                            array.name.to_string(),
                            format!("{}", at / columns + 1),
                            format!("{}", at % columns + 1),
                            format!("{value:?}"),
                        ])
                        .map_err(trouble)?;
                }
            }
        }
    }
    let bytes = writer.into_inner();
    bytes.map_err(|error| Error::new(ErrorKind::File, format!("CSV: {error}")))
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let tree = model.tree();
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state: Map<String, Value> = situation::to_json(&one.situation);
            for array in one.arrays() {
                state.insert(array.name.into(), nested(&array.shape, &array.numbers));
            }
            let checks = one.checks.iter();
            let checks: Map<String, Value> = checks
                .map(|check| (check.key.to_string(), check.difference.into()))
                .collect();
            state.insert("checks".into(), Value::Object(checks));
            Value::Object(state)
        })
        .collect();
    serde_json::json!({
        "format": "catena-denoc/1",
        "model": model.name(),
        "bodies": model.bodies().map(|i| tree.bodies[i].name.clone()).collect::<Vec<_>>(),
        "freedoms": tree.dofs.iter().map(|dof| dof.name.clone()).collect::<Vec<_>>(),
        "states": states,
    })
}

/// Lists of lists.
fn nested(shape: &[usize], numbers: &[f64]) -> Value {
    match shape {
        [] | [_] => json::numbers(numbers),
        [_, rest @ ..] => {
            let size = rest.iter().product::<usize>().max(1);
            let parts = numbers.chunks(size);
            parts.map(|part| nested(rest, part)).collect()
        }
    }
}
