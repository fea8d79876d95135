//! The report of a simulation: a table of instants, the events and the audit, as text or as JSON.

use crate::commands::info::one_line;
use crate::coordinates::Quantity;
use crate::json;
use crate::number::{counted, residual, rough, six};
use crate::table::Table;
use catena::simulate::{ActuatorUse, Audit, Breach, Happened, Stopped};
use catena::{Model, State};
use serde_json::{Value, json};

/// Instants in the table.
const SHOWN: usize = 11;
/// Coordinates in the table.
const COORDINATES: usize = 6;
/// Events in the list.
const EVENTS: usize = 20;

/// The samples needed for the screen.
pub struct Shown {
    every: f64,
    rows: Vec<Seen>,
    /// The last sample.
    pub last: Option<Seen>,
    /// Samples seen.
    pub count: usize,
}

/// The part of a sample needed for the screen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Time, s.
    pub time: f64,
    /// Positions and velocities.
    pub state: State,
    /// Energy, J.
    pub energy: f64,
}

impl Shown {
    /// No samples yet, of a run of this duration.
    pub fn new(duration: f64) -> Self {
        Shown {
            every: duration / (SHOWN - 1) as f64,
            rows: Vec::new(),
            last: None,
            count: 0,
        }
    }

    /// Takes a sample.
    pub fn note(&mut self, sample: Seen) {
        if sample.time >= self.every * (self.rows.len() as f64 - 1e-6) {
            self.rows.push(sample.clone());
        }
        self.last = Some(sample);
        self.count += 1;
    }

    fn table(&self, model: &Model) -> String {
        let coordinates = Quantity::Position.coordinates(model);
        let shown = coordinates.len().min(COORDINATES);
        let mut table = Table::new().numbers("t\ns", self.rows.iter().map(|row| Some(row.time)));
        for (k, coordinate) in coordinates[..shown].iter().enumerate() {
            table = table.numbers(
                &format!("{}\n{}", coordinate.name, coordinate.unit),
                self.rows.iter().map(|row| Some(row.state.q[k])),
            );
        }
        let mut text = table
            .numbers("energy\nJ", self.rows.iter().map(|row| Some(row.energy)))
            .render();
        text += &format!(
            "\n  shown: {} of {}",
            self.rows.len(),
            counted(self.count, "instant", "instants")
        );
        if shown < coordinates.len() {
            text += &format!(", {shown} of {} coordinates", coordinates.len());
        }
        text + "; -o FILE keeps them all\n"
    }
}

/// A run that has ended, normally or not.
pub struct Report<'a> {
    /// The model.
    pub model: &'a Model,
    /// The samples.
    pub shown: &'a Shown,
    /// The events.
    pub happened: &'a [Happened],
    /// The audit.
    pub audit: &'a Audit,
    /// How the actuators were used.
    pub actuators: &'a [ActuatorUse],
    /// Why the run could not continue.
    pub error: Option<&'a str>,
}

impl Report<'_> {
    /// The report as text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}\n\n{}",
            one_line(self.model),
            self.shown.table(self.model)
        );
        if !self.happened.is_empty() {
            text += "\nevents\n";
        }
        for event in self.happened.iter().take(EVENTS) {
            text += &format!("  at {} s: {}\n", six(event.time), event.name);
        }
        if self.happened.len() > EVENTS {
            text += &format!("  and {} more\n", self.happened.len() - EVENTS);
        }
        text + &audit_text(self.audit) + &actuators_text(self.model, self.actuators)
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let last = self.shown.last.as_ref();
        json!({
            "format": "catena-simulate/1",
            "model": self.model.name(),
            "samples": self.shown.count,
            "time": last.map(|sample| sample.time),
            "q": last.map(|sample| json::numbers(&sample.state.q)),
            "v": last.map(|sample| json::numbers(&sample.state.v)),
            "events": events_json(self.happened),
            "audit": audit_json(self.audit),
            "actuators": actuators_json(self.model, self.actuators),
            "error": self.error,
        })
    }
}

/// Data stored with a run: its audit, its events and the use of its actuators.
pub fn stored(
    model: &Model,
    audit: &Audit,
    happened: &[Happened],
    actuators: &[ActuatorUse],
) -> Value {
    let mut stored = audit_json(audit);
    stored["events"] = events_json(happened);
    stored["actuators"] = actuators_json(model, actuators);
    stored
}

/// Actuators beyond their limits.
fn actuators_text(model: &Model, actuators: &[ActuatorUse]) -> String {
    let mut text = String::new();
    for used in actuators {
        let dof = &model.tree().dofs[used.actuator.freedom];
        let name = &used.actuator.name;
        if let (Some(limit), true) = (used.actuator.max_effort, used.saturated > 0.0) {
            text += &format!(
                "  actuator {name} at its limit of {} {unit} for {} s, largest demand {} {unit}\n",
                six(limit),
                six(used.saturated),
                six(used.largest_demand),
                unit = dof.force_unit
            );
        }
        if let (Some(limit), true) = (used.actuator.max_velocity, used.too_fast > 0.0) {
            text += &format!(
                "  actuator {name} faster than {} {unit} for {} s, largest speed {} {unit}\n",
                six(limit),
                six(used.too_fast),
                six(used.largest_speed),
                unit = dof.velocity_unit
            );
        }
    }
    text
}

fn actuators_json(model: &Model, actuators: &[ActuatorUse]) -> Value {
    let one = |used: &ActuatorUse| {
        json!({
            "actuator": used.actuator.name,
            "freedom": model.tree().dofs[used.actuator.freedom].name,
            "max_effort": used.actuator.max_effort,
            "max_velocity": used.actuator.max_velocity,
            "largest_demand": used.largest_demand,
            "saturated": used.saturated,
            "largest_speed": used.largest_speed,
            "too_fast": used.too_fast,
        })
    };
    actuators.iter().map(one).collect()
}

/// A violated law as a sentence. A residual that is no number cannot be compared: numbers of the run are too large.
pub fn violated(breach: &Breach) -> String {
    let (name, time) = (breach.name, six(breach.time));
    match breach.worst.is_finite() {
        true => format!(
            "{name} is off by {} at {time} s, allowed {}",
            rough(breach.worst),
            rough(breach.allowed)
        ),
        false => format!("{name} has no result at {time} s: numbers of the run overflow"),
    }
}

fn audit_text(audit: &Audit) -> String {
    let mut text = format!(
        "\naudit  {}, {} rejected, {} evaluations of the dynamics\n\n",
        counted(audit.steps as usize, "step", "steps"),
        audit.rejected,
        audit.evaluations
    );
    let findings = || audit.findings.iter();
    text += &Table::new()
        .text("law", findings().map(|f| f.name))
        .text(
            "worst, relative",
            findings().map(|f| match f.seen {
                true => residual(f.worst),
                false => "–".into(),
            }),
        )
        .text("allowed", findings().map(|f| rough(f.allowed)))
        .numbers("at s", findings().map(|f| f.seen.then_some(f.time)))
        .text(
            "",
            findings().map(|f| match f.kept() {
                Some(true) => "ok",
                Some(false) => "BREACH",
                None => "not seen",
            }),
        )
        .render();
    let [[k0, g0, e0], [k1, g1, e1]] = audit.energies;
    text += &format!(
        "\n  energy {} → {} J (kinetic {} → {}); work done {} J, dissipated {} J\n",
        six(k0 + g0 + e0),
        six(k1 + g1 + e1),
        six(k0),
        six(k1),
        six(audit.work),
        six(audit.dissipated)
    );
    for element in &audit.elements {
        let [start, end] = element.energies;
        if [start, end] != [0.0; 2] {
            text += &format!(
                "  energy of force {}: {} → {} J\n",
                element.name,
                six(start),
                six(end)
            );
        }
    }
    for held in &audit.held {
        text += &format!(
            "  dry friction held {} for {} s ({})\n",
            held.name,
            six(held.duration),
            counted(held.times as usize, "time", "times")
        );
    }
    for stop in &audit.stops {
        text += &stop_text(stop);
    }
    if let Some(error) = audit.verified_error {
        text += &format!(
            "  error at the end, by a second run at a tighter tolerance: {} relative\n",
            rough(error)
        );
    }
    text
}

/// The action of a stop, on a line.
fn stop_text(stop: &Stopped) -> String {
    let times = |count: u64| counted(count as usize, "time", "times");
    if stop.is_soft {
        return format!(
            "  {} touched its soft limits {} for {} s, at up to {} {}\n",
            stop.name,
            times(stop.impacts),
            six(stop.duration),
            six(stop.hardest),
            stop.unit
        );
    }
    let mut parts = Vec::new();
    if stop.impacts > 0 {
        parts.push(format!(
            "struck its limits {} at up to {} {}, which dissipated {} J",
            times(stop.impacts),
            six(stop.hardest),
            stop.unit,
            six(stop.lost)
        ));
    }
    if stop.rests > 0 {
        parts.push(format!(
            "rested against them for {} s ({})",
            six(stop.duration),
            times(stop.rests)
        ));
    }
    format!("  {} {}\n", stop.name, parts.join(", "))
}

fn audit_json(audit: &Audit) -> Value {
    let energy = |e: [f64; 3]| json!({"kinetic": e[0], "gravitational": e[1], "elastic": e[2]});
    json!({
        "steps": audit.steps,
        "rejected": audit.rejected,
        "evaluations": audit.evaluations,
        "energy_start": energy(audit.energies[0]),
        "energy_end": energy(audit.energies[1]),
        "work": audit.work,
        "dissipated": audit.dissipated,
        "forces": audit.elements.iter().map(|element| json!({
            "force": element.name, "energy_start": element.energies[0], "energy_end": element.energies[1],
        })).collect::<Value>(),
        "held": audit.held.iter().map(|held| json!({
            "freedom": held.name, "times": held.times, "duration": held.duration,
        })).collect::<Value>(),
        "stops": audit.stops.iter().map(|stop| json!({
            "freedom": stop.name, "soft": stop.is_soft, "impacts": stop.impacts, "hardest": stop.hardest,
            "lost": stop.lost, "rests": stop.rests, "duration": stop.duration,
        })).collect::<Value>(),
        "verified_error": audit.verified_error,
        "laws": audit.findings.iter().map(|f| json!({
            "law": f.name, "worst": f.seen.then_some(f.worst), "scale": f.scale, "unit": f.unit,
            "time": f.seen.then_some(f.time), "allowed": f.allowed, "kept": f.kept(),
        })).collect::<Value>(),
    })
}

fn events_json(happened: &[Happened]) -> Value {
    happened
        .iter()
        .map(|event| json!({"event": event.name, "time": event.time}))
        .collect()
}
