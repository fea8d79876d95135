//! Requests of the page to the engine: poses, holding efforts, matrices, findings.

use crate::{encode, motion};
use catena::ClosedChain;
use catena::error::{Error, ErrorKind, Result};
use catena::residual::larger;
use catena::{Dynamics, Matrix, Model, State};
use catena_mechanism::doctor::{Change, Diagnosis, diagnose};
use serde_json::{Value, json};

/// Maximum number of rows of constraints that are examined interactively.
const MOST_ROWS: usize = 300;
/// Largest matrices that are sent.
const LARGE: usize = 400;
/// Singular values of the rows below this fraction of the largest are near a singular position.
const NEAR: f64 = 1e-3;

/// The initial position: the model's own, for mechanisms with loops the nearest closed one found.
pub fn rest(model: &Model) -> State {
    let start = State::start(model);
    if model.constraints().is_empty() {
        return start;
    }
    let mut chain = ClosedChain::new(model);
    let assembled = chain.assemble(0.0, &start, &[]);
    assembled.map_or(start, |assembled| assembled.state)
}

/// The position with these coordinates, at rest; loops are closed while coordinate `held` (a freedom) stays.
pub fn position(model: &Model, q: &[f64], held: Option<usize>) -> Result<State> {
    let state = State::new(model, q, &vec![0.0; model.nv()])?;
    if model.constraints().is_empty() {
        return Ok(state);
    }
    let held: Vec<usize> = held.into_iter().collect();
    Ok(ClosedChain::new(model).assemble(0.0, &state, &held)?.state)
}

/// Poses of the bodies, the efforts that hold them against gravity and springs, potential energy, mass centre.
///
/// With loops the efforts are those of the tree with its loops open: the position does not determine how the loops share them.
pub fn posture(model: &Model, state: &State) -> Result<Value> {
    let tree = model.clone().open_tree();
    let mut dynamics = Dynamics::new(&tree);
    let mut poses = Vec::new();
    motion::poses(&mut dynamics, state, &mut poses)?;
    let mechanical = dynamics.mechanical_state(state)?;
    let gravity = dynamics.gravity(state)?.to_vec();
    let gap = match model.constraints().is_empty() {
        true => None,
        false => {
            let mut chain = ClosedChain::new(model);
            let residual = &chain.rows(0.0, state)?.residual;
            Some(residual.iter().fold(0.0, |m, x| larger(m, x.abs())))
        }
    };
    Ok(json!({
        "q": state.q,
        "poses": encode::f32s(poses),
        "gravity": gravity,
        "potential": mechanical.gravitational + mechanical.elastic,
        "centre": mechanical.centre.to_array(),
        "gap": gap,
    }))
}

/// I, U and D of I = U D Uᵀ, row by row.
pub fn matrices(model: &Model, state: &State) -> Result<Value> {
    if model.nv() > LARGE {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "matrices of more than {LARGE} freedoms are not shown; `{}` has {}",
                model.name(),
                model.nv()
            ),
        ));
    }
    let tree = model.clone().open_tree();
    let mut dynamics = Dynamics::new(&tree);
    let factors = dynamics.factorization(state)?;
    let rows = |matrix: &Matrix| -> Vec<Vec<f64>> {
        (0..matrix.rows()).map(|i| matrix.row(i).to_vec()).collect()
    };
    let u = rows(&factors.u(&tree));
    let inertia = rows(dynamics.inertia(state)?);
    Ok(json!({ "inertia": inertia, "u": u, "d": factors.d() }))
}

/// Findings about a mechanism at a position: a list of sentences, each with its severity.
pub fn findings(model: &Model, state: &State) -> Value {
    let mut list = Vec::new();
    let mut say = |level: &str, text: String| list.push(json!({ "level": level, "text": text }));
    for warning in &model.tree().warnings {
        say("warning", warning.to_string());
    }
    if model.constraints().is_empty() {
        say(
            "good",
            format!(
                "A tree of {} freedoms without constraints: every load is determined.",
                model.nv()
            ),
        );
    } else if model.constraint_rows() > MOST_ROWS {
        say(
            "note",
            format!(
                "{} rows of constraints are not examined here; `catena doctor` does it.",
                model.constraint_rows()
            ),
        );
    } else {
        match diagnose(model, 0.0, state, 3, 1) {
            Ok(diagnosis) => tell(&diagnosis, &mut say),
            Err(error) => say("warning", error.message().to_string()),
        }
    }
    let tree = model.clone().open_tree();
    if let Err(error) = Dynamics::new(&tree).factorization(state) {
        say("warning", error.message().to_string());
    }
    list.into()
}

fn tell(diagnosis: &Diagnosis, say: &mut impl FnMut(&str, String)) {
    let freedoms = |n: usize| {
        if n == 1 {
            "1 freedom".to_string()
        } else {
            format!("{n} freedoms")
        }
    };
    say(
        "note",
        format!(
            "{} of the tree − {} {} = {} by counting; {} here.",
            freedoms(diagnosis.tree_freedoms),
            diagnosis.rows,
            if diagnosis.rows == 1 { "row" } else { "rows" },
            diagnosis.counted,
            freedoms(diagnosis.here.freedoms),
        ),
    );
    if diagnosis.is_singular() {
        say(
            "warning",
            format!(
                "Singular position: {} here, {} elsewhere.",
                freedoms(diagnosis.here.freedoms),
                diagnosis.freedoms()
            ),
        );
    } else if diagnosis.here.smallest < NEAR {
        say(
            "warning",
            format!(
                "Near a singular position: smallest singular value {:.1e} of the largest.",
                diagnosis.here.smallest
            ),
        );
    }
    if let Some(found) = &diagnosis.contradiction {
        say(
            "warning",
            format!(
                "Drivers {} cannot be followed here.",
                found.drivers.join(", ")
            ),
        );
    }
    match diagnosis.redundant() {
        0 => say(
            "good",
            "All rows are independent: every load is determined.".into(),
        ),
        n => {
            let rows = if n == 1 {
                "1 row depends".to_string()
            } else {
                format!("{n} rows depend")
            };
            say(
                "warning",
                format!(
                    "{rows} on the others: loads in {} joints are not unique.",
                    diagnosis.undetermined.len()
                ),
            );
        }
    }
    for Change {
        name,
        from,
        to,
        removes,
        ..
    } in &diagnosis.changes
    {
        say(
            "note",
            format!("{from} `{name}` → {to} would remove {removes} of them."),
        );
    }
}
