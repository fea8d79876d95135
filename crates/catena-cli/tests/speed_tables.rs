//! Times that pages quote are those of the records in docs/peers: `CATENA_UPDATE=1 cargo test -p catena-cli --test speed_tables` writes them.

mod common;

use common::{compare_tables, text};
use std::fmt::Write as _;

/// A line of docs/peers/speed.csv.
struct Timing {
    model: String,
    quantity: String,
    engine: String,
    route: String,
    nanoseconds: f64,
    ratio: Option<f64>,
    target: Option<f64>,
}

fn timings() -> Vec<Timing> {
    let record = text("docs/peers/speed.csv");
    let mut lines = record.lines();
    assert_eq!(
        lines.next(),
        Some("model,freedoms,quantity,engine,route,best_ns,median_ns,over_pinocchio,target")
    );
    let number = |cell: &str| cell.parse::<f64>().ok();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Timing {
                model: cells[0].into(),
                quantity: cells[2].into(),
                engine: cells[3].into(),
                route: cells[4].into(),
                nanoseconds: number(cells[5]).expect("a time"),
                ratio: number(cells[7]),
                target: number(cells[8]),
            }
        })
        .collect()
}

/// Thousands apart, as in 16 492.
fn grouped(nanoseconds: f64) -> String {
    let digits = format!("{nanoseconds:.0}");
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The time of a quantity by a route of catena, or by Pinocchio.
fn time(timings: &[Timing], model: &str, quantity: &str, route: &str) -> String {
    let found = timings.iter().find(|timing| {
        let is_route = match route {
            "pinocchio" => timing.engine.starts_with(route),
            _ => timing.engine == "catena" && timing.route == route,
        };
        timing.model == model && timing.quantity == quantity && is_route
    });
    let found = found.unwrap_or_else(|| panic!("no time of {quantity} of {model} by {route}"));
    grouped(found.nanoseconds)
}

/// Least and largest of the ratios to Pinocchio's time by a route.
fn ratios(timings: &[Timing], quantities: &[&str], route: &str) -> [f64; 2] {
    let of = |timing: &&Timing| {
        timing.engine == "catena"
            && timing.route == route
            && quantities.contains(&&timing.quantity[..])
    };
    let found = timings.iter().filter(of).filter_map(|timing| timing.ratio);
    found.fold([f64::INFINITY, 0.0], |[least, most], ratio| {
        [least.min(ratio), most.max(ratio)]
    })
}

/// The processor of the record.
fn machine() -> String {
    let record = text("docs/peers/speed.md");
    let line = record
        .lines()
        .find_map(|line| line.strip_prefix("- Machine: "));
    let (name, _) = line.expect("a machine").split_once(',').expect("its name");
    name.replace("(R)", "")
}

/// Models of docs/features.md, compared with Pinocchio, and which targets are met.
fn features(timings: &[Timing]) -> String {
    let mut page = format!(
        "One core of an {} with AVX-512, best of many runs; Pinocchio is compiled for the same core by gcc and by clang, and the faster build is listed.\n\
         One state through `Dynamics`, or many states in SIMD lanes through `Batch`, with machine code generated for the model in milliseconds\n\
         ([`native::compile`](theory/speed.md)):\n\n\
         | ns per state | inverse | in lanes | Pinocchio | forward | in lanes | Pinocchio | inertia | one triangle | Pinocchio's triangle |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        machine()
    );
    for (model, title) in [
        ("chain-7", "7 revolute joints"),
        ("panda", "Panda"),
        ("ur5", "UR5"),
        ("anymal", "ANYmal B on a free base"),
        ("talos", "Talos, 38 freedoms"),
        ("chain-1000", "1000 revolute joints"),
    ] {
        let cells = [
            ("inverse", "single"),
            ("inverse", "batch"),
            ("inverse", "pinocchio"),
            ("forward", "single"),
            ("forward", "batch"),
            ("forward", "pinocchio"),
            ("inertia", "single"),
            ("inertia-upper", "single"),
            ("inertia-upper", "pinocchio"),
        ]
        .map(|(quantity, route)| time(timings, model, quantity, route));
        let _ = writeln!(page, "| {title} | {} |", cells.join(" | "));
    }
    let [inverse, forward] = ["inverse", "forward"].map(|quantity| {
        ratios(timings, &[quantity], "single-general").map(|ratio| format!("{ratio:.2}"))
    });
    let targets: Vec<(&Timing, f64, f64)> = timings
        .iter()
        .filter_map(|timing| Some((timing, timing.ratio?, timing.target?)))
        .collect();
    let missed: Vec<_> = targets
        .iter()
        .filter(|(_, ratio, target)| ratio > target)
        .collect();
    let of = |route: &str| {
        let own = missed.iter().filter(|(timing, ..)| timing.route == route);
        let [least, most] = own
            .clone()
            .fold([f64::INFINITY, 0.0f64], |[a, b], (_, x, _)| {
                [a.min(*x), b.max(*x)]
            });
        let mut names: Vec<&str> = own.clone().map(|(timing, ..)| &timing.model[..]).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        format!(
            "{} {route} calls ({}: {least:.2} to {most:.2})",
            own.count(),
            names.join(", ")
        )
    };
    let _ = writeln!(
        page,
        "\nWithout such code one call of `Dynamics` takes {} to {} of Pinocchio's time for inverse dynamics, {} to {} for forward dynamics.\n\n\
         For {} combinations of model, quantity and call (single or batch) a target was set: the largest ratio of catena's time to Pinocchio's. {} are met,\n\
         among them all of inverse and forward dynamics. Missed are {}\nand {}.",
        inverse[0],
        inverse[1],
        forward[0],
        forward[1],
        targets.len(),
        targets.len() - missed.len(),
        of("single"),
        of("batch")
    );
    let dynamics = missed
        .iter()
        .all(|(timing, ..)| !["inverse", "forward"].contains(&&timing.quantity[..]));
    assert!(
        dynamics,
        "a target of inverse or forward dynamics is missed"
    );
    page
}

/// The sentence of README about speed.
fn fast(timings: &[Timing]) -> String {
    let times = |route: &str| {
        let [least, most] = ratios(timings, &["inverse", "forward"], route);
        let round = |x: f64| match x < 9.95 {
            true => format!("{x:.1}"),
            false => format!("{x:.0}"),
        };
        format!("{} to {}", round(1.0 / most), round(1.0 / least))
    };
    format!(
        "* **Fast**: inverse and forward dynamics of one state {} times as fast as Pinocchio's, with code generated for the model, and {} times without;\n  \
         in batches {} and {} times ([record](docs/peers/speed.md)).\n",
        times("single"),
        times("single-general"),
        times("batch"),
        times("batch-general")
    )
}

/// General recursions and machine code, for docs/theory/speed.md.
fn compiled(timings: &[Timing]) -> String {
    let mut page = String::from(
        "| seven-joint arm | one state, ns | per state of a batch, ns |\n|---|---:|---:|\n",
    );
    for (quantity, title) in [
        ("inverse", "inverse dynamics"),
        ("forward", "forward dynamics"),
        ("inertia", "inertia matrix"),
        ("inverse-derivatives", "derivatives of inverse dynamics"),
        ("forward-derivatives", "derivatives of forward dynamics"),
    ] {
        let [single, batch] = ["single", "batch"].map(|route| {
            let [general, code] = [format!("{route}-general"), route.to_string()]
                .map(|route| time(timings, "chain-7", quantity, &route));
            format!("{general} → {code}")
        });
        let _ = writeln!(page, "| {title} | {single} | {batch} |");
    }
    page
}

/// Closed chains without and with machine code, from the first table of docs/peers/closed-chains.md.
fn closed() -> String {
    let record = text("docs/peers/closed-chains.md");
    let mut page =
        String::from("| | general | code, one state | code, batch |\n|---|---:|---:|---:|\n");
    for (mechanism, title) in [
        ("ring", "ring of 12 joints, 3 rows"),
        ("loop-7", "7 joints, 6 rows"),
        ("loop-100", "100 joints, 6 rows"),
        ("stewart", "Stewart platform, 18 rows"),
        ("four-bar-10", "10 four-bar linkages, 30 rows"),
        ("four-bar-100", "100 four-bar linkages, 300 rows"),
    ] {
        let begin = format!("| {mechanism} |");
        let line = record
            .lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("no {mechanism} in the record"));
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let _ = writeln!(
            page,
            "| {title} | {} | {} | {} |",
            cells[3], cells[2], cells[4]
        );
    }
    page
}

#[test]
fn times_are_those_of_the_records() {
    let timings = timings();
    compare_tables("README.md", "speed_tables", &[("fast", fast(&timings))]);
    compare_tables(
        "docs/features.md",
        "speed_tables",
        &[("speed", features(&timings))],
    );
    compare_tables(
        "docs/theory/speed.md",
        "speed_tables",
        &[("compiled", compiled(&timings)), ("closed", closed())],
    );
}
