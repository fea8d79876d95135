//! States as CSV: a header that names the columns, and a state per row.

use super::{line, whole};
use crate::coordinates::{Coordinate, Quantity};
use crate::situation::Situation;
use crate::state_argument::not_an_angle;
use crate::{names, number};
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::{Mat3, Motion, Pose, Vec3};
use catena::{Base, Model, State};
use std::path::Path;

/// Destination of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Time,
    Entry(Quantity, usize),
    /// The motion of the base: one of [`BASE`].
    Base(usize),
    /// Nowhere: energies and the like in a run written by `catena simulate`.
    Nothing,
}

/// Columns of the base's motion, as in runs: pose, angular and linear velocity, angular and linear acceleration.
const BASE: [&str; 19] = [
    "x", "y", "z", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "vx", "vy", "vz", "alphax", "alphay",
    "alphaz", "ax", "ay", "az",
];

/// A parsed column.
struct Column {
    head: String,
    target: Target,
    /// What it holds; none for time.
    coordinate: Option<Coordinate>,
    /// Whether its plain numbers are degrees.
    in_degrees: bool,
}

/// The quantities of a state and their coordinates.
type Known = [(Quantity, Vec<Coordinate>); 4];

/// Reads a state per row. Quantities without columns are zero.
pub fn read(text: &str, path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let columns = header(text, path, model)?;
    rows(text, path, model, &columns)
}

/// Reads a motion: it must have time, positions, velocities and accelerations.
pub fn read_trajectory(text: &str, path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let columns = header(text, path, model)?;
    for quantity in [
        Quantity::Position,
        Quantity::Velocity,
        Quantity::Acceleration,
    ] {
        if !has(&columns, quantity) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "a trajectory needs columns for q, v and a; there are none for {}",
                    quantity.key()
                ),
            )
            .at(line(path, 1))
            .hint("name them q1, …, v1, …, a1, … or q:JOINT, v:JOINT, a:JOINT; time is t"));
        }
    }
    needs_time("a trajectory needs", &columns, path)?;
    rows(text, path, model, &columns)
}

/// Reads efforts over time: it must have time and efforts.
pub fn read_efforts(text: &str, path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let columns = header(text, path, model)?;
    needs_time("efforts over time need", &columns, path)?;
    if !has(&columns, Quantity::Effort) {
        return Err(Error::new(
            ErrorKind::Input,
            "efforts over time need columns for tau; there are none",
        )
        .at(line(path, 1))
        .hint("name them tau1, … or tau:JOINT"));
    }
    rows(text, path, model, &columns)
}

fn has(columns: &[Column], quantity: Quantity) -> bool {
    columns
        .iter()
        .any(|column| matches!(column.target, Target::Entry(of, _) if of == quantity))
}

fn needs_time(what: &str, columns: &[Column], path: &Path) -> Result<()> {
    match columns.iter().any(|column| column.target == Target::Time) {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Input,
            format!("{what} a column `t` for the time"),
        )
        .at(line(path, 1))),
    }
}

/// Reads records; lines that begin with # are comments.
pub fn reader(text: &str) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes())
}

/// Parses the header: known columns, each quantity complete or absent, nothing twice.
fn header(text: &str, path: &Path, model: &Model) -> Result<Vec<Column>> {
    let known: Known = Quantity::ALL.map(|quantity| (quantity, quantity.coordinates(model)));
    let mut reader = reader(text.strip_prefix('\u{feff}').unwrap_or(text));
    let heads = reader.headers().map_err(|error| csv_error(&error, path))?;
    let is_run = is_run(text);
    let mut columns: Vec<Column> = Vec::new();
    for head in heads {
        let column = match column(head, &known) {
            Err(_) if is_run => Column {
                head: head.into(),
                target: Target::Nothing,
                coordinate: None,
                in_degrees: false,
            },
            column => column.map_err(|error| error.at(line(path, 1)))?,
        };
        let same = columns.iter().find(|c| c.target == column.target);
        if let Some(same) = same.filter(|_| column.target != Target::Nothing) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("columns `{}` and `{head}` are the same quantity", same.head),
            )
            .at(line(path, 1)));
        }
        columns.push(column);
    }
    let base = columns
        .iter()
        .filter(|c| matches!(c.target, Target::Base(_)));
    if !matches!(base.count(), 0 | 19) {
        return Err(Error::new(
            ErrorKind::Input,
            "some columns of the motion of the base are missing",
        )
        .at(line(path, 1))
        .hint(format!(
            "there must be all of base.{}, or none",
            BASE.join(", base.")
        )));
    }
    for (quantity, coordinates) in &known {
        let has = |k| {
            columns
                .iter()
                .any(|c| c.target == Target::Entry(*quantity, k))
        };
        let missing: Vec<&str> = (0..coordinates.len())
            .filter(|&k| !has(k))
            .map(|k| coordinates[k].name.as_str())
            .collect();
        if !missing.is_empty() && missing.len() < coordinates.len() {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "some columns of {} are missing: {}",
                    quantity.key(),
                    names::first_few(missing)
                ),
            )
            .at(line(path, 1))
            .hint("give all of them, or none for zeros"));
        }
    }
    Ok(columns)
}

/// Is it a run written by `catena simulate`? Such files have further columns, and `#` at the start of their first line.
pub fn is_run(text: &str) -> bool {
    text.starts_with("# catena-run/")
}

/// Parses a column's name: `t`, `q1`, `q:shoulder`, `q.shoulder` or `shoulder`, with an optional unit such as `[deg]`.
fn column(head: &str, known: &Known) -> Result<Column> {
    let (name, unit) = match head
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
    {
        Some((name, unit)) => (name.trim(), unit.trim()),
        None => (head, ""),
    };
    let target = match meanings(name, known)[..] {
        [target] => target,
        [] => return Err(unknown_column(name, known)),
        _ => {
            return Err(Error::new(
                ErrorKind::Input,
                format!("column `{name}` is both a number and the name of a freedom"),
            )
            .hint(format!(
                "write `q:{name}` for the position of the freedom `{name}`"
            )));
        }
    };
    let coordinate = match target {
        Target::Time | Target::Nothing | Target::Base(_) => None,
        Target::Entry(quantity, k) => known
            .iter()
            .find(|(of, _)| *of == quantity)
            .map(|(_, coordinates)| coordinates[k].clone()),
    };
    let expected = match target {
        Target::Base(0..3) => "m",
        Target::Base(3..7) => "",
        Target::Base(7..10) => "rad/s",
        Target::Base(10..13) => "m/s",
        Target::Base(13..16) => "rad/s²",
        Target::Base(_) => "m/s²",
        _ => coordinate.as_ref().map_or("s", |c| c.unit),
    };
    let may_be_degrees = coordinate.as_ref().is_some_and(|c| c.is_angle);
    let in_degrees = may_be_degrees && same_unit(unit, &expected.replace("rad", "deg"));
    if !(unit.is_empty() || in_degrees || same_unit(unit, expected)) {
        return Err(Error::new(
            ErrorKind::Input,
            match expected {
                "" => format!("column `{name}` has no unit, it is not in `{unit}`"),
                expected => format!("column `{name}` is in {expected}, not in `{unit}`"),
            },
        ));
    }
    Ok(Column {
        head: head.into(),
        target,
        coordinate,
        in_degrees,
    })
}

/// Everything a name can mean.
fn meanings(name: &str, known: &Known) -> Vec<Target> {
    let mut meanings = Vec::new();
    if name == "t" || name == "time" {
        meanings.push(Target::Time);
    }
    if let Some(of_base) = name.strip_prefix("base.") {
        let index = BASE.iter().position(|known| *known == of_base);
        meanings.extend(index.map(Target::Base));
    }
    for &(quantity, ref coordinates) in known {
        let named = |name: &str| coordinates.iter().position(|c| c.name == name);
        if let Some(rest) = name.strip_prefix(quantity.key()) {
            let rank = rest.parse::<usize>().ok();
            let by_rank = rank.filter(|rank| (1..=coordinates.len()).contains(rank));
            let by_name = rest.strip_prefix([':', '.']).and_then(named);
            meanings.extend(by_rank.map(|rank| Target::Entry(quantity, rank - 1)));
            meanings.extend(by_name.map(|k| Target::Entry(quantity, k)));
        }
        // a bare name is a position
        if quantity == Quantity::Position {
            meanings.extend(named(name).map(|k| Target::Entry(quantity, k)));
        }
    }
    meanings.dedup();
    meanings
}

fn unknown_column(name: &str, known: &Known) -> Error {
    let [(_, positions), (_, velocities), ..] = known;
    let names = || positions.iter().map(|c| c.name.as_str());
    let hint = match names::nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "columns are t, q1…q{}, v1…v{nv}, a1…a{nv}, tau1…tau{nv}, or q:NAME and so on with the names {}",
            positions.len(),
            names::first_few(names()),
            nv = velocities.len(),
        ),
    };
    Error::new(ErrorKind::Input, format!("there is no column `{name}`")).hint(hint)
}

/// Equivalent notations of units are accepted: `rad/s^2`, `N.m`, `Nm`.
pub fn same_unit(a: &str, b: &str) -> bool {
    let plain = |unit: &str| {
        unit.replace('²', "2")
            .replace(['^', '·', '.', '*', ' '], "")
    };
    plain(a) == plain(b)
}

fn rows(text: &str, path: &Path, model: &Model, columns: &[Column]) -> Result<Vec<Situation>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut situations = Vec::new();
    for record in reader(text).records() {
        let record = record.map_err(|error| csv_error(&error, path))?;
        let at = record.position().map_or(0, |position| position.line());
        let place = || line(path, at as usize);
        let mut situation = Situation::start(model);
        let mut base = [0.0; 19];
        base[3] = 1.0;
        for (column, text) in columns.iter().zip(record.iter()) {
            if column.target == Target::Nothing {
                continue;
            }
            let value = cell(column, text).map_err(|error| error.at(place()))?;
            match column.target {
                Target::Time => situation.time = Some(value),
                Target::Entry(quantity, k) => entries(&mut situation, quantity)[k] = value,
                Target::Base(k) => base[k] = value,
                Target::Nothing => {}
            }
        }
        situation.state = State::new(model, &situation.state.q, &situation.state.v)
            .map_err(|error| error.at(place()))?;
        situation.state.base = base_of(base).map_err(|error| error.at(place()))?;
        situations.push(situation);
    }
    Ok(situations)
}

/// The motion of the base from its columns.
fn base_of(numbers: [f64; 19]) -> Result<Base<f64>> {
    let part = |k: usize| Vec3::new(numbers[k], numbers[k + 1], numbers[k + 2]);
    let quaternion = [3, 4, 5, 6].map(|k: usize| numbers[k]);
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(Error::new(
            ErrorKind::Input,
            format!("the quaternion of the base has length {length:.6}, not 1"),
        )
        .hint("give (w, x, y, z) of unit length; identity is 1, 0, 0, 0"));
    }
    let rotation = Mat3::from_quaternion(quaternion.map(|x| x / length));
    Ok(Base {
        pose: Pose::new(rotation, part(0)),
        velocity: Motion::new(part(7), part(10)),
        acceleration: Motion::new(part(13), part(16)),
    })
}

fn cell(column: &Column, text: &str) -> Result<f64> {
    let what = format!("column `{}`", column.head);
    let Some(typed) = number::parse(text) else {
        return Err(number::not_a_number(&what, text));
    };
    match &column.coordinate {
        _ if !typed.is_angle => Ok(match column.in_degrees {
            true => typed.value.to_radians(),
            false => typed.value,
        }),
        Some(coordinate) if coordinate.is_angle => Ok(typed.value),
        Some(coordinate) => Err(not_an_angle(&what, text, &coordinate.name, coordinate.unit)),
        None => Err(not_an_angle(&what, text, "t", "s")),
    }
}

fn entries(situation: &mut Situation, quantity: Quantity) -> &mut [f64] {
    match quantity {
        Quantity::Position => &mut situation.state.q,
        Quantity::Velocity => &mut situation.state.v,
        Quantity::Acceleration => &mut situation.acceleration,
        Quantity::Effort => &mut situation.effort,
    }
}

/// The error for a file that is not CSV.
pub fn csv_error(error: &csv::Error, path: &Path) -> Error {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => Error::new(
            ErrorKind::Syntax,
            format!("the header has {expected_len} columns, this row has {len}"),
        )
        .at(line(
            path,
            pos.as_ref().map_or(0, |pos| pos.line() as usize),
        )),
        _ => Error::new(ErrorKind::Syntax, format!("not CSV: {error}")).at(whole(path)),
    }
}
