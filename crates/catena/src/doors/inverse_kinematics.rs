//! Inverse kinematics: positions that bring frames, and the mass centre, to their targets.
//!
//! The Levenberg-Marquardt method on the manifold of the joints. With e the stacked twists that take the frames to their targets, and J the
//! stacked Jacobians:
//!
//! ```text
//! δ = Jᵀ (J Jᵀ + λ 1)⁻¹ e,        q ← q ⊕ δ                                    (1)
//! ```
//!
//! λ decreases after successful steps and increases after others; a step that turns a joint by more than 1 rad is shortened to that. Freedoms that a
//! step would push beyond their limits are held, and the others take the step. The rows of loops are appended to J with e = 0; assembly closes the
//! loops after each step.
//!
//! A motion through targets at several instants is a sequence of such positions, each found from the one before. Its velocities and
//! accelerations are those of the polynomial through the position and its nearest neighbours, in increments from it:
//!
//! ```text
//! q(tₖ + s) = qₖ ⊕ (c₁ s + c₂ s² + … ),        v = c₁,   v̇ = 2 c₂               (2)
//! ```

use crate::algorithm::derivatives::centroidal::{CentroidalMomentum, centroidal_momentum};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use crate::card::Card;
use crate::dense::Lu;
use crate::doors::ClosedChain;
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::{FrameInfo, Model};
use crate::residual::{difference, largest, largest_of, within};
use crate::spatial::{Mat3, Vec3};
use crate::state::{State, StateView};

/// Inverse kinematics.
pub const CARD: Card = Card {
    name: "Inverse kinematics by Levenberg–Marquardt",
    question: "positions that bring frames to their targets",
    call: "InverseKinematics::reach",
    file: "doors/inverse_kinematics.rs",
    order: "O(n m²) per iteration",
    source: "Levenberg 1944; Marquardt 1963; Wampler 1986",
};

/// Number of neighbours that determine velocities and accelerations of a motion.
const NEIGHBOURS: usize = 4;

/// Beyond this damping no step helps.
const MOST_DAMPING: f64 = 1e10;

/// A step that reduces the sum of squares by a smaller fraction makes no progress: convergence would take 10¹² such steps.
const PROGRESS: f64 = 1e-12;

/// As many steps without progress in succession end the search.
const MOST_IDLE: usize = 5;

/// A step turns no joint by more than this, rad: near singular positions the first steps would wind joints up.
const MOST_TURN: f64 = 1.0;

/// A coordinate this close to a limit is at it.
const EDGE: f64 = 1e-9;

/// Target of a frame, in the world.
#[derive(Clone, Debug)]
pub struct Target {
    /// The frame.
    pub frame: FrameInfo,
    /// Position of its origin.
    pub position: Vec3<f64>,
    /// Its orientation, from frame components to world components; none if arbitrary.
    pub rotation: Option<Mat3<f64>>,
}

/// Targets of frames and of the mass centre.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// The frames.
    pub targets: Vec<Target>,
    /// Position of the mass centre.
    pub centre: Option<Vec3<f64>>,
}

/// Settings of the search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Whether joints stay within their limits.
    pub limits: bool,
    /// Tolerance of the residual, m and rad.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Time, on which drivers of a closed chain depend.
    pub time: f64,
}

impl Default for Search {
    /// Within the limits, to 1e-9 m and rad, in at most 200 iterations.
    fn default() -> Self {
        Search {
            limits: true,
            tolerance: 1e-9,
            iterations: 200,
            time: 0.0,
        }
    }
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The positions, at rest.
    pub state: State,
    /// Are all targets reached, within the tolerance?
    pub converged: bool,
    /// Residual: for each target the rotation vector (if it has a rotation) and the translation to it, then the translation to the
    /// centre; world axes, rad and m.
    pub left: Vec<f64>,
    /// Number of iterations.
    pub iterations: usize,
}

impl Reached {
    /// The largest of what is left, m or rad.
    pub fn residual(&self) -> f64 {
        largest(&self.left)
    }
}

/// An instant of a motion.
#[derive(Clone, Debug)]
pub struct Instant {
    /// Time, s.
    pub time: f64,
    /// Positions and velocities.
    pub state: State,
    /// Accelerations v̇.
    pub accelerations: Vec<f64>,
    /// Are all targets reached, within the tolerance?
    pub converged: bool,
    /// The largest of what is left, m or rad.
    pub residual: f64,
}

/// The limits of a freedom, with the number of its position and velocity coordinate.
#[derive(Clone, Copy, Debug)]
struct Limited {
    position: usize,
    freedom: usize,
    low: f64,
    high: f64,
}

impl Limited {
    /// Is the coordinate at a limit that this step would exceed?
    fn refuses(&self, q: &[f64], delta: &[f64]) -> bool {
        let (at, step) = (q[self.position], delta[self.freedom]);
        (at <= self.low + EDGE && step < 0.0) || (at >= self.high - EDGE && step > 0.0)
    }

    /// By how much the coordinate is beyond its limits.
    fn beyond(&self, q: &[f64]) -> f64 {
        let at = q[self.position];
        (self.low - at).max(at - self.high).max(0.0)
    }
}

/// Inverse kinematics of one model, in `f64`.
///
/// ```
/// use catena::inverse_kinematics::{Goal, InverseKinematics, Search, Target};
/// use catena::spatial::Vec3;
/// use catena::{State, model::embedded};
///
/// let model = embedded::model("stanford")?;
/// let frame = model.tree().frame("tool").expect("the arm has a tool").clone();
/// let target = Target { frame, position: Vec3::new(0.3, 0.2, 0.5), rotation: None };
/// let goal = Goal { targets: vec![target], centre: None };
/// let mut kinematics = InverseKinematics::new(&model);
/// let found = kinematics.reach(&goal, &State::random(&model, 1), &Search::default())?;
/// assert!(found.converged && found.residual() < 1e-9);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InverseKinematics {
    /// The model as given; states are passed in its coordinates.
    given: Model,
    /// With couplings as constraints: the search is in all coordinates of the tree, whose limits hold.
    model: Model,
    kinematics: Kinematics<f64>,
    centroidal: CentroidalMomentum,
    chain: Option<ClosedChain>,
    limited: Vec<Limited>,
    still: Vec<f64>,
}

impl InverseKinematics {
    /// Workspaces for a model and its constraints.
    pub fn new(model: &Model) -> Self {
        let given = model.clone();
        let model = &given.clone().with_couplings_as_constraints();
        let tree = model.tree();
        let limited = model.bodies().flat_map(|i| {
            let body = &tree.bodies[i];
            let plain = body.kind.quaternion().unwrap_or(body.kind.nv());
            (0..plain).filter_map(move |k| {
                let (low, high) = tree.dofs[body.v + k].limits?;
                Some(Limited {
                    position: body.q + k,
                    freedom: body.v + k,
                    low,
                    high,
                })
            })
        });
        InverseKinematics {
            kinematics: Kinematics::new(model),
            centroidal: CentroidalMomentum::new(model),
            chain: (!model.constraints().is_empty()).then(|| ClosedChain::new(model)),
            limited: limited.collect(),
            still: vec![0.0; model.nv()],
            model: model.clone(),
            given,
        }
    }

    /// Positions near `start` that reach all targets, or come as close as the search gets; the result says which.
    pub fn reach(&mut self, goal: &Goal, start: &State, search: &Search) -> Result<Reached> {
        let whole = self.whole(start)?;
        let mut found = self.search(goal, &whole, search)?;
        found.state = self.independent(found.state);
        Ok(found)
    }

    /// A state in all coordinates of the tree.
    fn whole(&self, state: &State) -> Result<State> {
        match self.given.couplings() {
            None => Ok(state.clone()),
            Some(_) => {
                let mut whole = State::new(&self.given, &state.q, &state.v)?.of_tree(&self.given);
                whole.base = state.base;
                Ok(whole)
            }
        }
    }

    /// A state in the coordinates of the model as given.
    fn independent(&self, state: State) -> State {
        let Some(couplings) = self.given.couplings() else {
            return state;
        };
        State {
            q: couplings.positions().iter().map(|&k| state.q[k]).collect(),
            v: couplings.freedoms().iter().map(|&k| state.v[k]).collect(),
            base: state.base,
        }
    }

    /// [`reach`](Self::reach) in all coordinates of the tree.
    fn search(&mut self, goal: &Goal, start: &State, search: &Search) -> Result<Reached> {
        self.check(goal, search)?;
        let limited = match search.limits {
            true => self.limited.clone(),
            false => Vec::new(),
        };
        let mut state = self.beginning(start, &limited, search.time)?;
        let mut left = self.left(goal, &state)?;
        let (mut damping, mut iterations, mut idle) = (1e-4, 0, 0);
        while !within(largest(&left), search.tolerance)
            && iterations < search.iterations
            && damping < MOST_DAMPING
            && idle < MOST_IDLE
        {
            iterations += 1;
            let rows = self.rows(goal, &state, search.time)?;
            let tried = step(&rows, &left, damping, &state.q, &limited)
                .map(|delta| self.shortened(delta))
                .and_then(|delta| self.moved(&state, &delta, &limited, search.time))
                .and_then(|tried| Some((self.left(goal, &tried).ok()?, tried)));
            match tried {
                Some((less, tried)) if squares(&less) < squares(&left) => {
                    idle = match squares(&less) < (1.0 - PROGRESS) * squares(&left) {
                        true => 0,
                        false => idle + 1,
                    };
                    (state, left) = (tried, less);
                    damping = (0.1 * damping).max(1e-14);
                }
                _ => damping *= 10.0,
            }
        }
        Ok(Reached {
            state,
            converged: within(largest(&left), search.tolerance),
            left,
            iterations,
        })
    }

    /// The motion through goals at increasing times, each searched for from the one before and the first one from `start`; velocities
    /// and accelerations by (2), for closed chains such that loops stay closed. Goals that are not reached are marked.
    pub fn follow(
        &mut self,
        times: &[f64],
        goals: &[Goal],
        start: &State,
        search: &Search,
    ) -> Result<Vec<Instant>> {
        check_times(times, goals.len())?;
        let what = "a motion through given positions";
        self.model.expect_position_rows(what)?;
        let mut instants = Vec::with_capacity(times.len());
        let mut state = self.whole(start)?;
        for (&time, goal) in times.iter().zip(goals) {
            let found = self.search(goal, &state, &Search { time, ..*search })?;
            state = found.state.clone();
            instants.push(Instant {
                time,
                accelerations: self.still.clone(),
                converged: found.converged,
                residual: found.residual(),
                state: found.state,
            });
        }
        let rates: Vec<_> = (0..instants.len())
            .map(|k| rates(&self.model, &instants, k))
            .collect();
        for (instant, (v, vdot)) in instants.iter_mut().zip(rates) {
            instant.state.v = v;
            instant.accelerations = vdot;
            if let Some(chain) = &mut self.chain {
                let closed = chain.assemble_from(instant.time, &instant.state, &[])?;
                instant.state = closed.state;
                instant.accelerations = chain.consistent_accelerations(
                    instant.time,
                    &instant.state,
                    &instant.accelerations,
                )?;
            }
        }
        for instant in &mut instants {
            instant.state = self.independent(instant.state.clone());
            if let Some(couplings) = self.given.couplings() {
                let all = std::mem::take(&mut instant.accelerations);
                instant.accelerations = couplings.freedoms().iter().map(|&k| all[k]).collect();
            }
        }
        Ok(instants)
    }

    /// Rejects invalid goals.
    fn check(&self, goal: &Goal, search: &Search) -> Result<()> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Input, message));
        if !(search.tolerance.is_finite() && search.tolerance > 0.0) {
            return refuse(format!(
                "the tolerance must be positive, not {}",
                search.tolerance
            ));
        }
        if goal.targets.is_empty() && goal.centre.is_none() {
            return refuse(
                "there is no target: give a target for a frame or for the mass centre".into(),
            );
        }
        for target in &goal.targets {
            let name = &target.frame.name;
            let rotation = target.rotation.map_or_else(Vec::new, |r| r.rows().concat());
            let mut numbers = target.position.to_array().to_vec();
            numbers.extend(&rotation);
            if !numbers.iter().all(|x| x.is_finite()) {
                return refuse(format!("the target of `{name}` is not finite"));
            }
            if target.rotation.is_some_and(|r| !is_rotation(r)) {
                return refuse(format!("the target of `{name}` has no rotation matrix"));
            }
            if target.frame.body > self.model.body_count() {
                return refuse(format!("frame `{name}` is of another model"));
            }
        }
        if let Some(centre) = goal.centre {
            if !centre.to_array().iter().all(|x| x.is_finite()) {
                return refuse("the target of the mass centre is not finite".into());
            }
            if self.mass() <= 0.0 {
                return refuse(format!(
                    "model `{}` has no mass, hence no mass centre",
                    self.model.name()
                ));
            }
        }
        Ok(())
    }

    /// Where the search begins: within the limits, at rest, closed.
    fn beginning(&mut self, start: &State, limited: &[Limited], time: f64) -> Result<State> {
        let mut state = State::new(&self.model, &start.q, &self.still)?;
        state.base = start.base;
        for one in limited {
            state.q[one.position] = state.q[one.position].clamp(one.low, one.high);
        }
        match &mut self.chain {
            None => Ok(state),
            Some(chain) => Ok(at_rest(chain.assemble(time, &state, &[])?.state)),
        }
    }

    /// The step, scaled down so that no joint turns by more than [`MOST_TURN`].
    fn shortened(&self, mut delta: Vec<f64>) -> Vec<f64> {
        let turns = delta.iter().zip(&self.model.tree().dofs);
        let turns = turns.filter(|(_, dof)| dof.velocity_unit == "rad/s");
        let most = largest_of(turns.map(|(x, _)| x.abs()));
        if most > MOST_TURN {
            delta.iter_mut().for_each(|x| *x *= MOST_TURN / most);
        }
        delta
    }

    /// The state after a step: within the limits and closed; none where impossible.
    fn moved(
        &mut self,
        state: &State,
        delta: &[f64],
        limited: &[Limited],
        time: f64,
    ) -> Option<State> {
        let mut moved = state.clone();
        moved.step(&self.model, delta);
        for one in limited {
            moved.q[one.position] = moved.q[one.position].clamp(one.low, one.high);
        }
        let Some(chain) = &mut self.chain else {
            return Some(moved);
        };
        let closed = at_rest(chain.assemble_from(time, &moved, &[]).ok()?.state);
        let is_kept = |one: &Limited| one.beyond(&closed.q) <= one.beyond(&state.q).max(EDGE);
        limited.iter().all(is_kept).then_some(closed)
    }

    fn place(&mut self, state: &State) {
        let still = &self.still;
        forward_kinematics(
            &self.model,
            StateView {
                q: &state.q,
                v: still,
                base: &state.base,
            },
            still,
            &mut self.kinematics,
        );
    }

    /// e of (1).
    fn left(&mut self, goal: &Goal, state: &State) -> Result<Vec<f64>> {
        self.place(state);
        let mut left = Vec::new();
        for target in &goal.targets {
            let pose = self.kinematics.frame_pose(&target.frame);
            if let Some(rotation) = target.rotation {
                left.extend(rotation_vector(rotation * pose.rotation.transpose()).to_array());
            }
            left.extend((target.position - pose.translation).to_array());
        }
        if let Some(centre) = goal.centre {
            let mut moment = Vec3::zero();
            for i in self.model.bodies() {
                let (inertia, pose) = (
                    self.model.inertia::<f64>(i),
                    &self.kinematics.world_from_body[i],
                );
                moment += pose.rotation * inertia.first + pose.translation * inertia.mass;
            }
            left.extend((centre - moment * self.mass().recip()).to_array());
        }
        match left.iter().all(|x| x.is_finite()) {
            true => Ok(left),
            false => Err(Error::new(
                ErrorKind::Input,
                "positions or targets are too large: poses overflow",
            )),
        }
    }

    /// J of (1), with the rows of the loops below.
    fn rows(&mut self, goal: &Goal, state: &State, time: f64) -> Result<Matrix> {
        self.place(state);
        let nv = self.model.nv();
        let mut rows: Vec<f64> = Vec::new();
        let mut jacobian = Matrix::zeros(6, nv);
        for target in &goal.targets {
            frame_jacobian(&self.model, &self.kinematics, &target.frame, &mut jacobian);
            let first = if target.rotation.is_some() { 0 } else { 3 };
            rows.extend(&jacobian.as_slice()[first * nv..]);
        }
        if goal.centre.is_some() && nv > 0 {
            let (q, still, result) = (&state.q, &self.still, &mut self.centroidal);
            centroidal_momentum(
                &self.model,
                StateView {
                    q,
                    v: still,
                    base: &state.base,
                },
                result,
            );
            let momentum = &result.matrix.as_slice()[3 * nv..];
            rows.extend(momentum.iter().map(|x| x / result.mass));
        }
        if let Some(chain) = &mut self.chain {
            // nonholonomic rows leave all positions reachable
            let dense = match chain.on_positions() {
                Some(positions) => positions.rows(time, state)?.dense(nv),
                None => chain.rows(time, state)?.dense(nv),
            };
            rows.extend(dense.as_slice());
        }
        let mut matrix = Matrix::zeros(rows.len() / nv.max(1), nv);
        matrix.as_mut_slice().copy_from_slice(&rows);
        Ok(matrix)
    }

    fn mass(&self) -> f64 {
        let masses = self.model.bodies();
        masses.map(|i| self.model.inertia::<f64>(i).mass).sum()
    }
}

fn at_rest(mut state: State) -> State {
    state.v.fill(0.0);
    state
}

fn squares(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x * x).sum()
}

fn is_rotation(r: Mat3<f64>) -> bool {
    let product = (r * r.transpose()).rows().concat();
    let one = Mat3::identity().rows().concat();
    within(difference(&product, &one), 1e-6) && r.x.cross(r.y).dot(r.z) > 0.0
}

/// The axis times the angle, in [0, π], of a rotation.
fn rotation_vector(rotation: Mat3<f64>) -> Vec3<f64> {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation.rows();
    let sine = Vec3::new(zy - yz, xz - zx, yx - xy) * 0.5;
    let (length, cosine) = (sine.norm(), 0.5 * (xx + yy + zz - 1.0));
    let angle = elementary::atan2(length, cosine);
    if length > 1e-6 {
        return sine * (angle / length);
    }
    if cosine > 0.0 {
        return sine;
    }
    // half a turn: R + 1 = 2 a aᵀ, of which the column of the largest component gives the axis a
    let (column, entry) = if xx >= yy && xx >= zz {
        (rotation.x + Vec3::new(1.0, 0.0, 0.0), xx)
    } else if yy >= zz {
        (rotation.y + Vec3::new(0.0, 1.0, 0.0), yy)
    } else {
        (rotation.z + Vec3::new(0.0, 0.0, 1.0), zz)
    };
    column * (angle / (2.0 * (1.0 + entry)).sqrt())
}

/// δ of (1), with the freedoms that may move; none where the equations cannot be solved.
fn step(
    rows: &Matrix,
    left: &[f64],
    damping: f64,
    q: &[f64],
    limited: &[Limited],
) -> Option<Vec<f64>> {
    let mut rows = rows.clone();
    let mut held = vec![false; rows.columns()];
    loop {
        let delta = damped(&rows, left, damping)?;
        let beyond: Vec<usize> = limited
            .iter()
            .filter(|one| !held[one.freedom] && one.refuses(q, &delta))
            .map(|one| one.freedom)
            .collect();
        if beyond.is_empty() {
            return Some(delta);
        }
        for freedom in beyond {
            held[freedom] = true;
            for i in 0..rows.rows() {
                rows[(i, freedom)] = 0.0;
            }
        }
    }
}

/// Jᵀ (J Jᵀ + λ 1)⁻¹ e, with zeros below e for the further rows of J.
fn damped(rows: &Matrix, left: &[f64], damping: f64) -> Option<Vec<f64>> {
    let count = rows.rows();
    let mut normal = Lu::new(count);
    for i in 0..count {
        for j in 0..count {
            let products = rows.row(i).iter().zip(rows.row(j));
            let product: f64 = products.map(|(a, b)| a * b).sum();
            normal.matrix_mut()[(i, j)] = product + if i == j { damping } else { 0.0 };
        }
    }
    normal.factorize().ok()?;
    let mut y = left.to_vec();
    y.resize(count, 0.0);
    normal.solve_in_place(&mut y);
    let mut delta = vec![0.0; rows.columns()];
    for (i, y) in y.iter().enumerate() {
        for (delta, x) in delta.iter_mut().zip(rows.row(i)) {
            *delta += x * y;
        }
    }
    delta.iter().all(|x| x.is_finite()).then_some(delta)
}

fn check_times(times: &[f64], goals: usize) -> Result<()> {
    let refuse = |message: String| Err(Error::new(ErrorKind::Input, message));
    if times.len() != goals {
        return refuse(format!(
            "a motion needs a target at each time: {} times, {goals} targets",
            times.len()
        ));
    }
    if times.len() < 3 {
        return refuse(format!(
            "a motion needs at least 3 instants for its accelerations, not {}",
            times.len()
        ));
    }
    if let Some(time) = times.iter().find(|time| !time.is_finite()) {
        return refuse(format!("a time of the motion is {time}"));
    }
    match times.windows(2).find(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(pair) => refuse(format!(
            "times of a motion must increase: {} s is followed by {} s",
            pair[0], pair[1]
        )),
    }
}

/// v and v̇ of (2) at one instant.
fn rates(model: &Model, instants: &[Instant], at: usize) -> (Vec<f64>, Vec<f64>) {
    let count = NEIGHBOURS.min(instants.len() - 1);
    let first = at.saturating_sub(count / 2).min(instants.len() - 1 - count);
    let here = &instants[at];
    let span = instants[first + count].time - instants[first].time;
    let others: Vec<&Instant> = (first..=first + count)
        .filter(|&k| k != at)
        .map(|k| &instants[k])
        .collect();
    // powers of s, in units of the span
    let mut powers = Lu::new(count);
    for (i, other) in others.iter().enumerate() {
        let s = (other.time - here.time) / span;
        for k in 0..count {
            powers.matrix_mut()[(i, k)] = s.powi(k as i32 + 1);
        }
    }
    let solvable = powers.factorize();
    debug_assert!(solvable.is_ok(), "times differ");
    let changes: Vec<Vec<f64>> = others
        .iter()
        .map(|other| here.state.change_to(model, &other.state))
        .collect();
    let (mut v, mut vdot) = (vec![0.0; model.nv()], vec![0.0; model.nv()]);
    for k in 0..model.nv() {
        let mut coefficients: Vec<f64> = changes.iter().map(|change| change[k]).collect();
        powers.solve_in_place(&mut coefficients);
        v[k] = coefficients[0] / span;
        vdot[k] = 2.0 * coefficients[1] / (span * span);
    }
    (v, vdot)
}
