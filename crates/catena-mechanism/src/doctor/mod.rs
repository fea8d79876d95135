//! Diagnosis of a mechanism: freedoms by counting and by rank, dependent rows, indeterminate loads, singular positions, and joints
//! that could have more freedoms.
//!
//! ```text
//! counting   freedoms of the tree − rows of the constraints                      (Grübler)
//! rank       freedoms of the tree − independent rows, at this and at other assembled configurations
//! loads      H N = 0: a hinge with entries in N carries an indeterminate load
//! changes    joints that could have more freedoms without a change of the motion; the changed model is built and its rank counted
//! ```
//!
//! With nonholonomic rows (rolling, knife edges) there are fewer degrees of freedom of velocity than of position: both are counted. Closed
//! positions satisfy the other rows.
//!
//! A chain of N loops costs O(N), except at positions where rows of different loops are dependent: there a dense matrix is
//! factorized.

mod hinges;
mod position;

use crate::formulation::{Formulation, Mechanism};
use crate::made_again::{Fate, made_again, moved};
use catena::algorithm::constrained::Stabilisation;
use catena::closed_chain::SharedFriction;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Rule;
use catena::random::Random;
use catena::residual::{larger, largest, largest_of, within};
use catena::spatial::{Force, Vec3};
use catena::{Model, State};
use hinges::{Hinge, View, hinges};
use position::Loops;

/// Other guesses to try where the given one leads to no assembled configuration.
const GUESSES: usize = 20;

/// Rank of the constraints at one position.
#[derive(Clone, Debug)]
pub struct Position {
    /// Independent rows of the constraints.
    pub rank: usize,
    /// Remaining degrees of freedom of velocity.
    pub freedoms: usize,
    /// Degrees of freedom of position: more, where there are nonholonomic rows.
    pub position_freedoms: usize,
    /// Smallest singular value of the independent rows as a fraction of the largest (m and rad alike).
    pub smallest: f64,
}

/// A redundant row of a constraint. Which of the dependent rows is called redundant is a choice: later constraints first.
#[derive(Clone, Debug)]
pub struct DependentRow {
    /// Name of the constraint.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The row's number in it.
    pub row: usize,
    /// The unit load that the row carries, if it acts between bodies: on the child, world axes.
    pub load: Option<Force<f64>>,
    /// Description of that load in the axes of the constraint's frame.
    pub words: String,
}

/// A hinge whose load the equations do not determine.
#[derive(Clone, Debug)]
pub struct Undetermined {
    /// Name of the joint or constraint.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Directions of indeterminate forces, world axes.
    pub forces: Vec<Vec3<f64>>,
    /// Directions of indeterminate torques, world axes.
    pub torques: Vec<Vec3<f64>>,
    /// The minimum-norm loads when the mechanism starts from rest under gravity: on the child, world axes. None where they
    /// cannot be computed.
    pub shortest: Option<Force<f64>>,
}

/// Drivers that cannot be followed together.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// Their names.
    pub drivers: Vec<String>,
    /// How much they contradict each other, m/s or rad/s.
    pub rate: f64,
}

/// A twist that a weaker joint permits, along an axis of the joint frame.
#[derive(Clone, Copy, Debug)]
enum Added {
    Turn(usize),
    Slide(usize),
}

/// A joint that could be weaker, that is, have more freedoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Name of the joint or constraint.
    pub name: String,
    /// Whether it closes a loop.
    pub closes: bool,
    /// Its kind.
    pub from: &'static str,
    /// The kind it could be; `none` if it is not needed at all.
    pub to: &'static str,
    /// Dependent rows that this removes.
    pub removes: usize,
}

/// Findings.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The assembled configuration examined.
    pub state: State,
    /// Freedoms of the tree.
    pub tree_freedoms: usize,
    /// Rows of the constraints.
    pub rows: usize,
    /// Number of nonholonomic rows among them.
    pub velocity_rows: usize,
    /// Degrees of freedom by counting, which may be negative.
    pub counted: i64,
    /// Rank at the position given.
    pub here: Position,
    /// Ranks at other assembled configurations.
    pub elsewhere: Vec<Position>,
    /// Drivers that prescribe velocities that no motion has at the given position.
    pub contradiction: Option<Contradiction>,
    /// Rows that depend on others at most positions, one choice of them.
    pub dependent: Vec<DependentRow>,
    /// Freedoms whose dry friction blocks the same motions at the given position: how they share the load is indeterminate.
    pub friction: Vec<SharedFriction>,
    /// Hinges that carry indeterminate loads at the given position.
    pub undetermined: Vec<Undetermined>,
    /// Successive changes that remove dependent rows and preserve every motion at all positions examined. The
    /// changed model was built and its rank counted.
    pub changes: Vec<Change>,
    /// Dependent rows left after the changes.
    pub left: usize,
}

impl Diagnosis {
    /// Degrees of freedom at most positions: the fewest found.
    pub fn freedoms(&self) -> usize {
        let others = self.elsewhere.iter().map(|p| p.freedoms);
        others.fold(self.here.freedoms, usize::min)
    }

    /// Rows that are dependent at all positions examined.
    pub fn redundant(&self) -> usize {
        let others = self.elsewhere.iter().map(|p| p.rank);
        self.rows - others.fold(self.here.rank, usize::max)
    }

    /// Whether this position has more degrees of freedom than others.
    pub fn is_singular(&self) -> bool {
        self.here.freedoms > self.freedoms()
    }
}

/// Examines the assembled configuration near a guess and up to `samples` others.
pub fn diagnose(
    model: &Model,
    time: f64,
    guess: &State,
    samples: usize,
    seed: u64,
) -> Result<Diagnosis> {
    let model = &model.clone().with_couplings_as_constraints();
    let mut mechanism = Mechanism::new(model);
    mechanism.chain().rows(time, guess)?; // checks the state
    let slippery = model.clone().without_velocity_rows();
    let mut on_positions = Loops::new(&slippery);
    let here = position_near(&mut on_positions, &mechanism, time, guess, seed)?;
    let mut states = vec![here];
    if !model.constraints().is_empty() {
        others(&mut on_positions, model, time, &mut states, samples, seed);
    }
    let velocity_rows = model.velocity_rows();
    let mut loops = Loops::new(model);
    let mut positions = Vec::new();
    let mut nulls = Vec::new();
    for state in &states {
        loops.evaluate(time, state);
        let found = loops.dependence();
        let position_rank = match velocity_rows {
            0 => found.rank,
            _ => {
                on_positions.evaluate(time, state);
                on_positions.rank().0
            }
        };
        positions.push(Position {
            rank: found.rank,
            freedoms: model.nv() - found.rank,
            position_freedoms: model.nv() - position_rank,
            smallest: found.smallest,
        });
        nulls.push(found.null);
    }
    loops.evaluate(time, &states[0]);
    let contradiction = contradiction(model, &loops, &nulls[0]);
    let rows = model.constraint_rows();
    let friction = match model.constraints().is_empty() {
        true => Vec::new(),
        false => mechanism.chain().shared_friction(time, &states[0])?,
    };
    let mut diagnosis = Diagnosis {
        state: states[0].clone(),
        tree_freedoms: model.nv(),
        rows,
        velocity_rows,
        counted: model.nv() as i64 - rows as i64,
        here: positions.remove(0),
        elsewhere: positions,
        contradiction,
        friction,
        dependent: Vec::new(),
        undetermined: Vec::new(),
        changes: Vec::new(),
        left: 0,
    };
    diagnosis.left = diagnosis.redundant();
    if nulls.iter().all(Vec::is_empty) {
        return Ok(diagnosis);
    }
    // velocities do not matter here, and those of drivers need not be zero
    mechanism.stabilise(Stabilisation::critical(1.0));
    let hinges = hinges(model);
    let effort = vec![0.0; model.nv()];
    let mut views = Vec::new();
    for (state, null) in states.iter().zip(&nulls) {
        mechanism.equations(time, state, &effort, &[])?;
        let (equations, rows, kinematics) = mechanism.parts();
        views.push(View::new(model, &hinges, equations, rows, kinematics, null));
    }
    diagnosis.undetermined = undetermined(&hinges, &views[0]);
    if let Ok(solution) =
        mechanism.accelerations(Formulation::Lagrangian, time, &states[0], &effort, &[])
    {
        for found in &mut diagnosis.undetermined {
            let hinge = hinges.iter().find(|hinge| hinge.name == found.name);
            found.shortest = hinge.map(|hinge| match hinge.closes {
                true => solution.constraints[hinge.index],
                false => solution.tree[hinge.index],
            });
        }
    }
    if diagnosis.left > 0 {
        let fewest = (0..views.len()).min_by_key(|&k| views[k].null.columns.len());
        diagnosis.dependent = dependent(&hinges, &views[fewest.unwrap_or(0)]);
        let before: Vec<usize> = nulls.iter().map(Vec::len).collect();
        let (made, fates) = weakened(&hinges, views, diagnosis.left);
        let kept = verified(model, &fates, &made, time, &states, &before);
        diagnosis.changes = made
            .into_iter()
            .take(kept)
            .map(|(_, change)| change)
            .collect();
        let removed: usize = diagnosis.changes.iter().map(|change| change.removes).sum();
        diagnosis.left -= removed;
    }
    Ok(diagnosis)
}

/// An assembled configuration from the guess or, if that fails, from others around it. The error says which constraint cannot be closed,
/// by how much, and whether drivers are the cause.
fn position_near(
    loops: &mut Loops<'_>,
    mechanism: &Mechanism,
    time: f64,
    guess: &State,
    seed: u64,
) -> Result<State> {
    let model = mechanism.model();
    let mut least = (f64::INFINITY, String::new());
    for k in 0..=GUESSES {
        let mut random = Random::new(seed.wrapping_add(1000 + k as u64));
        let mut state = guess.clone();
        state.v.fill(0.0);
        if k > 0 {
            let reach = [0.1, 0.3, 1.0, 3.0][k % 4];
            let step: Vec<f64> = (0..model.nv())
                .map(|_| random.uniform(-reach, reach))
                .collect();
            state.step(model, &step);
        }
        if loops.close(time, &mut state) {
            return Ok(state);
        }
        let open = loops.open();
        if open < least.0 {
            let row = loops.rows.residual.iter().position(|x| x.abs() == open);
            let blocks = loops.rows.blocks().iter();
            let owner = blocks
                .zip(loops.model.constraints())
                .rfind(|(block, _)| row.is_some_and(|row| block.first <= row));
            least = (open, owner.map_or("?".into(), |(_, c)| c.name.to_string()));
        }
    }
    let (open, name) = least;
    let drivers = drivers(model);
    if !drivers.is_empty() {
        let fates: Vec<Fate> = model
            .constraints()
            .iter()
            .map(|constraint| match constraint.rule {
                Rule::Driver { .. } => Fate::LeftOut,
                _ => Fate::Stays,
            })
            .collect();
        let without = made_again(model, &vec![Fate::Stays; model.body_count()], &fates, 1)?;
        let mut state = guess.clone();
        if Loops::new(&without.without_velocity_rows()).close(time, &mut state) {
            let (which, put) = match &drivers[..] {
                [one] => (format!("driver {one} puts its coordinate"), "another law"),
                all => (
                    format!("drivers {} put their coordinates", all.join(", ")),
                    "fewer drivers, or other laws",
                ),
            };
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the loops can be closed, but not where {which} at t = {time} s: {open:.3e} m or rad are left at constraint `{name}`"
                ),
            )
            .hint(format!("give {put}")));
        }
    }
    Err(Error::new(
        ErrorKind::Input,
        format!(
            "constraint `{name}` cannot be closed: at least {open:.3e} m or rad are left from the guess and from {GUESSES} others"
        ),
    )
    .hint("check the lengths and axes of its loop"))
}

/// Names of the drivers, quoted.
fn drivers(model: &Model) -> Vec<String> {
    let constraints = model.constraints().iter();
    let drivers = constraints.filter(|c| matches!(c.rule, Rule::Driver { .. }));
    drivers.map(|c| format!("`{}`", c.name)).collect()
}

/// Velocities of drivers that are inconsistent with dependent rows: Nᵀ ∂ξ/∂t ≠ 0. The loops are evaluated at rest, so that ξ̇ = ∂ξ/∂t.
fn contradiction(model: &Model, loops: &Loops<'_>, null: &[Vec<f64>]) -> Option<Contradiction> {
    let rate = &loops.rows.rate;
    let mut worst = 0.0f64;
    let mut involved = vec![false; model.constraints().len()];
    for column in null {
        let along: f64 = column.iter().zip(rate).map(|(n, rate)| n * rate).sum();
        if within(along.abs(), 1e-9 * (1.0 + largest(rate))) {
            continue;
        }
        worst = larger(worst, along.abs());
        for (index, block) in loops.rows.blocks().iter().enumerate() {
            let own = &column[block.first..block.first + block.rows];
            involved[index] |= !within(largest(own), 1e-6);
        }
    }
    let drivers = model.constraints().iter().zip(&involved);
    let drivers = drivers.filter(|(c, own)| **own && matches!(c.rule, Rule::Driver { .. }));
    (worst != 0.0).then(|| Contradiction {
        drivers: drivers.map(|(c, _)| c.name.to_string()).collect(),
        rate: worst,
    })
}

/// Other assembled configurations: far ones from random guesses, near ones along the motion.
fn others(
    loops: &mut Loops<'_>,
    model: &Model,
    time: f64,
    states: &mut Vec<State>,
    samples: usize,
    seed: u64,
) {
    for k in 0..samples {
        let mut random = Random::new(seed.wrapping_add(k as u64));
        let mut direction = |reach: f64| -> Vec<f64> {
            (0..model.nv())
                .map(|_| random.uniform(-reach, reach))
                .collect()
        };
        if k % 2 == 1 {
            let mut guess = states[0].clone();
            guess.step(model, &direction(1.0));
            if loops.close(time, &mut guess) {
                states.push(guess);
                continue;
            }
        }
        let mut state = states[0].clone();
        loops.evaluate(time, &state);
        let mut along = direction(1.0);
        let mut sound = true;
        for _ in 0..6 {
            loops.make_tangent(&mut along);
            let size = largest(&along);
            if size < 1e-6 {
                break;
            }
            let step: Vec<f64> = along.iter().map(|x| x * 0.1 / size).collect();
            let mut next = state.clone();
            next.step(model, &step);
            sound = loops.close(time, &mut next);
            if !sound {
                break;
            }
            state = next;
        }
        if sound {
            states.push(state);
        }
    }
}

/// Hinges with entries in the null space of H.
fn undetermined(hinges: &[Hinge], view: &View) -> Vec<Undetermined> {
    let mut found = Vec::new();
    for (index, hinge) in hinges.iter().enumerate() {
        let [forces, torques] = view.undetermined(index);
        // the multipliers of couplings and drivers are efforts
        let range = view.range[index].clone();
        let effort = !hinge.joins && {
            let columns = view.null.columns.iter();
            let along = largest_of(columns.map(|c| largest(&c[range.clone()])));
            !within(along, view.null.tolerance)
        };
        if !forces.is_empty() || !torques.is_empty() || effort {
            found.push(Undetermined {
                name: hinge.name.clone(),
                kind: hinge.kind,
                forces,
                torques,
                shortest: None,
            });
        }
    }
    found
}

/// Rows of constraints that could be left out, the last constraints first.
fn dependent(hinges: &[Hinge], view: &View) -> Vec<DependentRow> {
    let mut null = view.null.clone();
    let mut found = Vec::new();
    for (index, hinge) in hinges.iter().enumerate().rev().filter(|(_, h)| h.closes) {
        let range = view.range[index].clone();
        let mut own = Vec::new();
        for k in 0..range.len() {
            if null.columns.is_empty() {
                break;
            }
            let unit =
                crate::linear::Mat::from_fn(range.len(), 1, |i, _| f64::from(u8::from(i == k)));
            if null.can_lose(range.clone(), &unit) {
                null.lose(range.clone(), &unit);
                let wrench = view.wrench[range.start + k];
                own.push(DependentRow {
                    name: hinge.name.clone(),
                    kind: hinge.kind,
                    row: k,
                    load: hinge.joins.then_some(wrench),
                    words: words(hinge, view, index, wrench),
                });
            }
        }
        own.extend(found);
        found = own;
    }
    found
}

/// A unit load in words.
fn words(hinge: &Hinge, view: &View, index: usize, wrench: Force<f64>) -> String {
    match hinge.kind {
        "distance" => return "force along the bar".into(),
        "coupling" | "driver" | "velocity" => return "effort".into(),
        _ => {}
    }
    for (part, what, how) in [
        (wrench.force, "force", "along"),
        (wrench.moment, "torque", "about"),
    ] {
        for (k, axis) in ["x", "y", "z"].iter().enumerate() {
            if part.dot(view.axis(index, k)).abs() > 1.0 - 1e-9 {
                return format!("{what} {how} {axis}");
            }
        }
    }
    match (wrench.force.norm() > 1e-9, wrench.moment.norm() > 1e-9) {
        (true, false) => "force across the axes".into(),
        (false, true) => "torque across the axes".into(),
        _ => "force with torque".into(),
    }
}

/// Relaxes joints (adds freedoms), starting with the changes that remove the most dependent rows, until none are left or no more can be removed.
///
/// A change that is impossible now remains impossible after others, so each is tried once.
fn weakened(
    hinges: &[Hinge],
    mut views: Vec<View>,
    mut left: usize,
) -> (Vec<(usize, Change)>, Vec<Fate>) {
    let mut tries: Vec<(usize, usize, Fate)> = Vec::new();
    for (index, hinge) in hinges.iter().enumerate() {
        // closing joints are easier to change, weaker joints better than none
        let score = |removed: usize, kept: bool| {
            4 * removed + 2 * usize::from(hinge.closes) + usize::from(kept)
        };
        for (kind, added) in &hinge.weaker {
            let removed = views[0].lost(index, added).ncols();
            tries.push((score(removed, true), index, Fate::Becomes(*kind)));
        }
        if hinge.removable {
            let removed = views[0].range[index].len();
            tries.push((score(removed, false), index, Fate::LeftOut));
        }
    }
    tries.sort_by_key(|(score, index, _)| (usize::MAX - score, *index));
    let mut fates = vec![Fate::Stays; hinges.len()];
    let mut made = Vec::new();
    for (_, index, fate) in tries {
        if left == 0 {
            break;
        }
        if fates[index] != Fate::Stays {
            continue;
        }
        let lost: Vec<_> = views
            .iter()
            .map(|view| match fate {
                Fate::Becomes(kind) => {
                    let own = hinges[index].weaker.iter().find(|(k, _)| *k == kind);
                    view.lost(index, own.map(|(_, added)| *added).unwrap_or_default())
                }
                _ => view.whole(index),
            })
            .collect();
        let removed = lost[0].ncols();
        let possible = removed > 0
            && removed <= left
            && views.iter().zip(&lost).all(|(view, lost)| {
                lost.ncols() == removed && view.null.can_lose(view.range[index].clone(), lost)
            });
        if !possible {
            continue;
        }
        for (view, lost) in views.iter_mut().zip(&lost) {
            let range = view.range[index].clone();
            view.null.lose(range, lost);
        }
        fates[index] = fate;
        left -= removed;
        let change = Change {
            name: hinges[index].name.clone(),
            closes: hinges[index].closes,
            from: hinges[index].kind,
            to: match fate {
                Fate::Becomes(kind) => kind.name(),
                _ => "none",
            },
            removes: removed,
        };
        made.push((index, change));
    }
    (made, fates)
}

/// Number of the changes, from the first on, that are confirmed by a model built with them: at every position it has as many
/// fewer dependent rows as expected, and as many degrees of freedom as before.
fn verified(
    model: &Model,
    fates: &[Fate],
    made: &[(usize, Change)],
    time: f64,
    states: &[State],
    before: &[usize],
) -> usize {
    let holds = |count: usize| {
        let mut fates = fates.to_vec();
        for (index, _) in &made[count..] {
            fates[*index] = Fate::Stays;
        }
        let removed: usize = made[..count].iter().map(|(_, change)| change.removes).sum();
        let (joints, constraints) = fates.split_at(model.body_count());
        let Ok(new) = made_again(model, joints, constraints, 1) else {
            return false;
        };
        let rows = model.constraint_rows();
        let mut loops = Loops::new(&new);
        states.iter().zip(before).all(|(state, dependent)| {
            loops.evaluate(time, &moved(model, &new, state));
            let (rank, left) = loops.rank();
            let freedoms = model.nv() - (rows - dependent);
            loops.open() < 1e-9 && new.nv() - rank == freedoms && left + removed == *dependent
        })
    };
    if holds(made.len()) {
        return made.len();
    }
    (1..made.len())
        .take_while(|&count| holds(count))
        .last()
        .unwrap_or(0)
}
