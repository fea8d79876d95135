//! The entry point: one model, one state, many formulations of the same motion.

use crate::augmented::{self, Unknown};
use crate::dense::{Solved, equations_residual};
use crate::equations::Equations;
use crate::lagrangian::Lagrangian;
use crate::linear::multiplications;
use crate::{appendix, constraint_forces, null_space, rotational};
use catena::algorithm::constrained::{Axes, Route, Rows, Stabilisation};
use catena::algorithm::constrained::{CLOSED, CONSISTENT};
use catena::algorithm::elements::element_wrenches;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::closed_chain::{ClosedChain, Sharing};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{difference, larger, largest, within};
use catena::spatial::{Force, Motion, Vec3};
use catena::{Model, State};

/// A formulation of the equations of motion of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formulation {
    /// The sparse symmetric matrix of accelerations and multipliers (Mufti 10, 49, 63).
    Lagrangian,
    /// Multipliers first (14, 50).
    ConstraintForces,
    /// Rotations and constraint forces: accelerations of the mass centres are eliminated (15, 16).
    Rotational,
    /// Augmented bodies about barycentres: forces in the tree's hinges are eliminated (28–38, 51).
    AugmentedBodies,
    /// Relative joint rates: torques in the tree's hinges are eliminated, too (55–61).
    RelativeRates,
    /// Independent accelerations in the null space of the hinges by QR (40).
    NullSpace,
    /// Independent accelerations in the null space from the graph; trees only (40).
    TreeNullSpace,
    /// Cut loops on the factorization of the tree (65–73): [`ClosedChain`].
    CutLoops,
    /// Loops eliminated one by one along the tree: [`ClosedChain`] by [`Route::AlongTree`].
    AlongTree,
    /// Complete orthogonal decomposition.
    RankByQr,
    /// Singular value decomposition (A-10 … A-12).
    RankBySvd,
    /// Penalties made exact by iteration.
    Proximal,
}

impl Formulation {
    /// All formulations.
    pub const ALL: [Formulation; 12] = [
        Formulation::Lagrangian,
        Formulation::ConstraintForces,
        Formulation::Rotational,
        Formulation::AugmentedBodies,
        Formulation::RelativeRates,
        Formulation::NullSpace,
        Formulation::TreeNullSpace,
        Formulation::CutLoops,
        Formulation::AlongTree,
        Formulation::RankByQr,
        Formulation::RankBySvd,
        Formulation::Proximal,
    ];

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Formulation::Lagrangian => "lagrangian",
            Formulation::ConstraintForces => "constraint-forces",
            Formulation::Rotational => "rotational",
            Formulation::AugmentedBodies => "augmented-bodies",
            Formulation::RelativeRates => "relative-rates",
            Formulation::NullSpace => "null-space",
            Formulation::TreeNullSpace => "tree-null-space",
            Formulation::CutLoops => "cut-loops",
            Formulation::AlongTree => "along-tree",
            Formulation::RankByQr => "qr",
            Formulation::RankBySvd => "svd",
            Formulation::Proximal => "proximal",
        }
    }

    /// The formulation of this name.
    pub fn named(name: &str) -> Option<Self> {
        Formulation::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Equations of the paper.
    pub fn source(self) -> &'static str {
        match self {
            Formulation::Lagrangian => "10, 49, 63",
            Formulation::ConstraintForces => "14, 50",
            Formulation::Rotational => "15, 16",
            Formulation::AugmentedBodies => "28–38, 51",
            Formulation::RelativeRates => "55–61",
            Formulation::NullSpace | Formulation::TreeNullSpace => "40",
            Formulation::CutLoops => "65–73",
            Formulation::AlongTree => "65–73, O(n + m)",
            Formulation::RankByQr => "A-5",
            Formulation::RankBySvd => "A-10 … A-12",
            Formulation::Proximal => "63, regularised",
        }
    }
}

/// Maximum number of rows of constraints for which cut loops are cheaper than the sparse Lagrangian matrix, by `catena compare four-bar-1 -o FILE`.
const DENSE_ROWS: usize = 50;

/// Entries of the largest dense matrix that is factorized: some 600 bodies; it takes 80 MB and a minute.
const MOST_ENTRIES: f64 = 1e7;

/// The motion of a mechanism and the loads in its hinges.
#[derive(Clone, Debug)]
pub struct Solution {
    /// v̇.
    pub accelerations: Vec<f64>,
    /// Angular acceleration and acceleration of the mass centre of every body, world axes; entry 0 is the base.
    pub bodies: Vec<Motion<f64>>,
    /// Load on a body through the hinge that carries it, world axes about the body's origin; entry 0 is unused. Efforts are not part
    /// of it.
    pub tree: Vec<Force<f64>>,
    /// Load on the child of a constraint, world axes about its frame on the child; zero for couplings and drivers.
    pub constraints: Vec<Force<f64>>,
    /// λ of the model's constraints, one per row.
    pub multipliers: Vec<f64>,
    /// Number of rows of all hinges and constraints.
    pub rows: usize,
    /// Number of independent rows, if this formulation gives it.
    pub rank: Option<usize>,
    /// Estimate of the condition number of the system solved, a lower bound.
    pub condition: f64,
    /// Largest residual of the equations, relative to their largest terms.
    pub residual: f64,
    /// Number of corrections with the residuals as right-hand sides.
    pub corrections: usize,
    /// Multiplications and divisions of factorizations, substitutions and residuals, counted as they are executed. Setting up the
    /// equations is not counted. None for cut loops and along the tree, unless found by [`Mechanism::counted`].
    pub operations: Option<f64>,
    /// Whether another formulation had to take over. Then `assumptions` says which, and why.
    pub handed_over: bool,
    /// Assumptions and delegations.
    pub assumptions: Vec<String>,
}

/// A model with workspaces for its equations.
pub struct Mechanism {
    model: Model,
    /// Freedoms with prescribed accelerations.
    driven: Vec<usize>,
    axes: Axes,
    stabilisation: Stabilisation,
    kinematics: Kinematics<f64>,
    rows: Rows<f64>,
    equations: Equations,
    lagrangian: Option<Lagrangian>,
    chain: ClosedChain,
    still: Vec<f64>,
}

impl Mechanism {
    /// Workspaces for a model. Its couplings are constraints: states have all coordinates of the tree.
    pub fn new(model: &Model) -> Self {
        Mechanism::with_axes(model, Axes::Parent)
    }

    /// Workspaces for a model, with a choice of axes for points on points.
    pub fn with_axes(model: &Model, axes: Axes) -> Self {
        let model = &model.clone().with_couplings_as_constraints();
        // all rows together: minimum-norm loads, as in the other formulations
        let mut chain = ClosedChain::with(model, Vec::new(), axes);
        chain.choose_route(Route::CutLoops);
        Mechanism {
            model: model.clone(),
            driven: Vec::new(),
            axes,
            stabilisation: Stabilisation::default(),
            kinematics: Kinematics::new(model),
            rows: Rows::new(model, axes),
            equations: Equations::default(),
            lagrangian: None,
            chain,
            still: vec![0.0; model.nv()],
        }
    }

    /// Workspaces for the [`efforts`](Self::efforts) of these freedoms.
    pub fn driving(model: &Model, freedoms: &[usize]) -> Result<Self> {
        let mut mechanism = Mechanism::new(model);
        if let Some(k) = freedoms.iter().find(|&&k| k >= mechanism.model.nv()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "freedom {k} cannot be driven: the model has {}, counted from 0",
                    mechanism.model.nv()
                ),
            ));
        }
        mechanism.driven = freedoms.to_vec();
        mechanism.rows = Rows::driving(&mechanism.model, mechanism.axes, freedoms);
        mechanism.chain = mechanism.chain.driving(freedoms);
        mechanism.chain.choose_route(Route::CutLoops);
        Ok(mechanism)
    }

    /// Lets violations decay; states with open loops are then accepted.
    pub fn stabilise(&mut self, stabilisation: Stabilisation) {
        self.stabilisation = stabilisation;
        self.chain.stabilise(stabilisation);
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Cut loops on the tree.
    pub fn chain(&mut self) -> &mut ClosedChain {
        &mut self.chain
    }

    /// Separate workspaces for the same equations; nothing is driven.
    pub(crate) fn again(&self) -> Self {
        let mut mechanism = Mechanism::with_axes(&self.model, self.axes);
        mechanism.stabilise(self.stabilisation);
        mechanism
    }

    /// Axes of points on points.
    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// The equations at a state under efforts and external wrenches (in body axes about the bodies' origins, including the ground;
    /// or none).
    pub fn equations(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&Equations> {
        self.assemble(time, state, tau, external)?;
        Ok(&self.equations)
    }

    fn assemble(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        self.chain.rows(time, state)?; // checks the state
        check("efforts", tau.len(), self.model.nv())?;
        if !external.is_empty() {
            let bodies = self.model.body_count() + 1;
            check("external wrenches", external.len(), bodies)?;
        }
        let loads = external.iter().flat_map(|load| load.to_array());
        if !tau.iter().copied().chain(loads).all(f64::is_finite) {
            return Err(
                Error::new(ErrorKind::Input, "an effort or load is not finite")
                    .hint("efforts and loads must be finite numbers"),
            );
        }
        forward_kinematics(&self.model, state.view(), &self.still, &mut self.kinematics);
        self.rows
            .evaluate(&self.model, time, &state.q, &state.v, &self.kinematics);
        if self.stabilisation == Stabilisation::default() {
            let open = larger(largest(&self.rows.residual), largest(&self.rows.rate));
            if !within(open, CLOSED) {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "a loop is open or opening by {open:.3e} m, rad, m/s or rad/s at this state"
                    ),
                )
                .hint(
                    "find a closed state with `assemble`, or let violations decay with `stabilise`",
                ));
            }
        }
        let wrenches = self.wrenches(external)?;
        self.equations.assemble(
            &self.model,
            state,
            tau,
            &wrenches,
            &self.rows,
            self.stabilisation,
            &self.kinematics,
        );
        Ok(())
    }

    /// The external wrenches plus those of force elements, at the last kinematics.
    fn wrenches(&self, external: &[Force<f64>]) -> Result<Vec<Force<f64>>> {
        let mut wrenches = external.to_vec();
        if !self.model.forces().is_empty() {
            wrenches.resize(self.model.body_count() + 1, Force::zero());
            element_wrenches(&self.model, &self.kinematics, &mut wrenches);
        }
        match wrenches
            .iter()
            .flat_map(|w| w.to_array())
            .all(f64::is_finite)
        {
            true => Ok(wrenches),
            false => Err(Error::new(
                ErrorKind::Singular,
                "a force element has no value at this state",
            )
            .hint("a spring may have zero length; `catena forward` says which")),
        }
    }

    /// Rows and kinematics of the last equations.
    pub(crate) fn parts(&self) -> (&Equations, &Rows<f64>, &Kinematics<f64>) {
        (&self.equations, &self.rows, &self.kinematics)
    }

    /// The formulation that suits the model, and why.
    pub fn choice(&self) -> (Formulation, String) {
        let rows = self.rows.count();
        if rows == 0 {
            let why = "a tree: the factors of its inertia matrix cost O(n)";
            (Formulation::CutLoops, why.into())
        } else if rows <= DENSE_ROWS {
            let why = format!(
                "O(n) for the tree, and {rows} rows are few enough for a dense decomposition, which gives their rank"
            );
            (Formulation::CutLoops, why)
        } else {
            let why = format!(
                "{rows} rows: beyond {DENSE_ROWS} a sparse matrix of all bodies and hinges is cheaper than a dense one of the rows"
            );
            (Formulation::Lagrangian, why)
        }
    }

    /// Accelerations and loads by a suitable formulation; the first of the assumptions says which and why.
    pub fn chosen(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<Solution> {
        let (formulation, why) = self.choice();
        let mut solution = self.accelerations(formulation, time, state, tau, external)?;
        let first = format!("by {}: {why}", formulation.name());
        solution.assumptions.insert(0, first);
        Ok(solution)
    }

    /// Inverse dynamics by a formulation: the efforts of the driven freedoms that give them these accelerations, as the multipliers of rows
    /// that prescribe them; zero for the others. The accelerations of all freedoms are given, and must be consistent.
    ///
    /// At least as many freedoms must be driven as the mechanism has degrees of freedom: with fewer the motion is not determined. With more of them
    /// efforts are not unique; then those of an independent set of freedoms are found, and the driven ones share them with minimum norm, as in
    /// [`ClosedChain::inverse`].
    pub fn efforts(
        &mut self,
        formulation: Formulation,
        time: f64,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<Vec<f64>> {
        check("accelerations", vdot.len(), self.model.nv())?;
        let (rank, _) = self.chain.rank(time, state)?;
        let (rows, freedoms) = (self.rows.count(), self.model.nv());
        let own = rows - self.driven.len();
        if rank < freedoms {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the {} driven freedoms do not determine the motion: {} more are free",
                    self.driven.len(),
                    freedoms - rank
                ),
            )
            .hint("choose as many of them as the mechanism has freedoms (`--actuators NAMES`)"));
        }
        let mut plain = ClosedChain::with(&self.model, Vec::new(), self.axes);
        let (own_rank, _) = plain.rank(time, state)?;
        if own_rank + self.driven.len() > rank {
            let independent = plain.freedoms(time, state)?.independent;
            let mut driving = Mechanism::driving(&self.model, &independent)?;
            let efforts = driving.efforts(formulation, time, state, vdot, external)?;
            return Ok(plain.shared(time, state, &efforts, &self.driven)?.efforts);
        }
        if formulation == Formulation::TreeNullSpace {
            let still = self.still.clone();
            self.assemble(time, state, &still, external)?;
            return null_space::efforts_by_graph(
                &self.equations,
                &self.model,
                &self.kinematics,
                vdot,
            );
        }
        let given: Vec<f64> = self.driven.iter().map(|&k| vdot[k]).collect();
        self.chain.prescribe(&given);
        for (bias, a) in self.rows.bias[own..].iter_mut().zip(&given) {
            *bias = -a;
        }
        let still = self.still.clone();
        let (accelerations, multipliers) = match formulation {
            Formulation::CutLoops | Formulation::AlongTree => {
                if formulation == Formulation::AlongTree {
                    self.chain.choose_route(Route::AlongTree);
                }
                let motion = self.chain.forward(time, state, &still, external);
                let found = motion.map(|m| (m.accelerations.to_vec(), m.multipliers.to_vec()));
                self.chain.choose_route(Route::CutLoops);
                found?
            }
            _ => {
                let solution = self.accelerations(formulation, time, state, &still, external)?;
                (solution.accelerations, solution.multipliers)
            }
        };
        let apart = difference(&accelerations, vdot);
        let scale = larger(largest(vdot), largest(&accelerations));
        if !within(apart, CONSISTENT * scale.max(1.0)) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the given accelerations violate the constraints by {apart:.3e}"),
            )
            .hint("`ClosedChain::consistent_accelerations` finds the nearest that satisfy them"));
        }
        let mut efforts = vec![0.0; freedoms];
        for (&k, effort) in self.driven.iter().zip(&multipliers[own..]) {
            efforts[k] = *effort;
        }
        Ok(efforts)
    }

    /// [`accelerations`](Self::accelerations) with the operations of every formulation: those of cut loops and along the tree are counted by
    /// a second run in the scalar [`Count`](catena::scalar::Count). They include the recursions of the tree; the rows of the constraints are
    /// given.
    pub fn counted(
        &mut self,
        formulation: Formulation,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<Solution> {
        let mut solution = self.accelerations(formulation, time, state, tau, external)?;
        if solution.operations.is_none() {
            if formulation == Formulation::AlongTree {
                self.chain.choose_route(Route::AlongTree);
            }
            let counted = self.chain.count(state, tau, external);
            self.chain.choose_route(Route::CutLoops);
            solution.operations = Some((counted.multiplications + counted.divisions) as f64);
        }
        Ok(solution)
    }

    /// Accelerations and loads by one formulation.
    pub fn accelerations(
        &mut self,
        formulation: Formulation,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<Solution> {
        self.assemble(time, state, tau, external)?;
        let equations = &self.equations;
        if !matches!(
            formulation,
            Formulation::CutLoops | Formulation::AlongTree | Formulation::Lagrangian
        ) {
            let (unknowns, rows) = (equations.unknowns(), equations.rows.len());
            let entries = unknowns as f64 * rows as f64;
            if entries > MOST_ENTRIES {
                let message = format!(
                    "a dense matrix of {unknowns} unknowns and {rows} rows is too large: at most {MOST_ENTRIES:.0e} entries"
                );
                return Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("lagrangian (sparse) and cut-loops take larger mechanisms"));
            }
        }
        let before = multiplications();
        let solved = match formulation {
            Formulation::CutLoops => return self.on_the_tree(time, state, tau, external),
            Formulation::AlongTree => {
                self.chain.choose_route(Route::AlongTree);
                let solution = self.on_the_tree(time, state, tau, external);
                self.chain.choose_route(Route::CutLoops);
                return solution;
            }
            Formulation::Lagrangian => {
                let lagrangian = match &mut self.lagrangian {
                    Some(lagrangian) => lagrangian,
                    none => none.insert(Lagrangian::new(equations)),
                };
                lagrangian.solve(equations)?
            }
            Formulation::ConstraintForces => constraint_forces::solve(equations)?,
            Formulation::Rotational => rotational::solve(equations, &self.model)?,
            Formulation::AugmentedBodies | Formulation::RelativeRates => {
                let unknown = match formulation {
                    Formulation::AugmentedBodies => Unknown::Rotations,
                    _ => Unknown::JointRates,
                };
                augmented::solve(unknown, equations, &self.model, &self.kinematics)?
            }
            Formulation::NullSpace => null_space::by_qr(equations)?,
            Formulation::TreeNullSpace => {
                null_space::by_graph(equations, &self.model, &self.kinematics)?
            }
            Formulation::RankByQr => appendix::by_qr(equations)?,
            Formulation::RankBySvd => appendix::by_svd(equations)?,
            Formulation::Proximal => appendix::proximal(equations)?,
        };
        let operations = (multiplications() - before) as f64;
        self.finish(state, solved, operations)
    }

    fn finish(&self, state: &State, solved: Solved, operations: f64) -> Result<Solution> {
        let equations = &self.equations;
        let unknowns = solved.unknowns;
        if unknowns.residual.is_nan() || unknowns.residual > CONSISTENT {
            return Err(Error::new(
                ErrorKind::Singular,
                format!(
                    "no motion satisfies all hinges and constraints at this state: a residual of {:.3e} remains",
                    unknowns.residual
                ),
            )
            .hint("drivers or couplings may contradict the loops, or the mechanism is at a dead point"));
        }
        let first = equations.first_constraint_row();
        let multipliers = unknowns.lambda[first..].to_vec();
        Ok(Solution {
            accelerations: equations.joint_accelerations(&unknowns.x),
            bodies: self.body_accelerations(state, &unknowns.x),
            tree: std::iter::once(Force::zero())
                .chain(
                    self.model
                        .bodies()
                        .map(|body| equations.tree_load(body, &unknowns.lambda)),
                )
                .collect(),
            constraints: (0..self.model.constraints().len())
                .map(|block| self.rows.load(block, &multipliers))
                .collect(),
            multipliers,
            rows: equations.rows.len(),
            rank: solved.rank,
            condition: solved.condition,
            residual: unknowns.residual,
            corrections: unknowns.corrections,
            operations: Some(operations),
            handed_over: solved.handed_over,
            assumptions: solved.assumptions,
        })
    }

    fn body_accelerations(&self, state: &State, x: &[f64]) -> Vec<Motion<f64>> {
        let vector = |x: &[f64]| Vec3::new(x[0], x[1], x[2]);
        let mut bodies = vec![state.base.acceleration];
        for six in x.chunks_exact(6) {
            bodies.push(Motion::new(vector(&six[..3]), vector(&six[3..])));
        }
        bodies
    }

    /// Accelerations by the chain's own method; indeterminate loads are shared over all joints in both.
    fn on_the_tree(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<Solution> {
        let tree_rows = self.equations.first_constraint_row();
        let (rank, values) = self.chain.rank(time, state)?;
        let motion = self.chain.forward(time, state, tau, external)?;
        let accelerations = motion.accelerations.to_vec();
        let loads = self.chain.loads(state, tau, external, Sharing::AllJoints)?;
        // x of these joint accelerations
        let mut moving = self.kinematics.clone();
        forward_kinematics(&self.model, state.view(), &accelerations, &mut moving);
        let mut x = Vec::with_capacity(6 * self.model.body_count());
        for body in self.model.bodies() {
            let r = moving.world_from_body[body].rotation;
            let (v, a) = (moving.velocity[body], moving.acceleration[body]);
            let centre = self.model.inertial(body).centre;
            let centripetal = v.angular.cross(v.angular.cross(centre));
            x.extend((r * a.angular).to_array());
            x.extend((r * (a.angular.cross_add(centre, a.linear) + centripetal)).to_array());
        }
        let condition = match (values.first(), values.last()) {
            (Some(first), Some(last)) => (first / last).powi(2),
            _ => 1.0,
        };
        let mut assumptions = Vec::new();
        let rows = tree_rows + loads.multipliers.len();
        crate::appendix::rank_note(rows, tree_rows + rank, &mut assumptions);
        // the residuals of the equations in maximal coordinates, with these loads
        let mut lambda = self.equations.tree_multipliers(&loads.tree);
        lambda.extend(&loads.multipliers);
        let (mut newton, mut hinges) = (vec![0.0; x.len()], vec![0.0; rows]);
        let residual = equations_residual(&self.equations, &x, &lambda, &mut newton, &mut hinges);
        Ok(Solution {
            bodies: self.body_accelerations(state, &x),
            accelerations,
            tree: loads.tree,
            constraints: loads.constraints,
            multipliers: loads.multipliers,
            rows,
            // along the tree each loop determines separately which of its rows are dependent
            rank: (self.chain.route() == Route::CutLoops).then_some(tree_rows + rank),
            condition,
            residual,
            corrections: 0,
            operations: None,
            handed_over: false,
            assumptions,
        })
    }
}

fn check(what: &str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Input,
        format!("{found} {what} are given, the model needs {wanted}"),
    )
    .hint("one number per freedom, one wrench per body with the ground first"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::Dynamics;
    use catena::model::{ForceRule, ForceSpec, embedded};

    #[test]
    fn formulations_have_names_and_sources() {
        let mut names: Vec<&str> = Formulation::ALL.iter().map(|f| f.name()).collect();
        for formulation in Formulation::ALL {
            assert_eq!(Formulation::named(formulation.name()), Some(formulation));
            assert!(!formulation.source().is_empty());
        }
        assert_eq!(Formulation::named("newton"), None);
        assert_eq!(Formulation::Rotational.source(), "15, 16");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 12);
    }

    #[test]
    fn choices_follow_the_rows() {
        for (name, formulation, told) in [
            ("stanford", Formulation::CutLoops, "a tree: "),
            (
                "four-bar-1",
                Formulation::CutLoops,
                "O(n) for the tree, and 5 rows are few enough",
            ),
            (
                "four-bar-10",
                Formulation::CutLoops,
                "O(n) for the tree, and 50 rows",
            ),
            (
                "four-bar-11",
                Formulation::Lagrangian,
                "55 rows: beyond 50 a sparse matrix",
            ),
        ] {
            let model = embedded::model(name).expect("embedded");
            let mut mechanism = Mechanism::new(&model);
            let (found, why) = mechanism.choice();
            assert_eq!(found, formulation, "{name}");
            assert!(why.starts_with(told), "{why}");
            let still = vec![0.0; model.nv()];
            let chosen = mechanism
                .chosen(0.0, &State::start(&model), &still, &[])
                .expect("regular");
            assert_eq!(
                chosen.assumptions[0],
                format!("by {}: {why}", formulation.name())
            );
        }
    }

    #[test]
    fn mechanisms_keep_their_axes() {
        let model = embedded::model("four-bar-1").expect("embedded");
        assert_eq!(Mechanism::new(&model).axes(), Axes::Parent);
        let world = Mechanism::with_axes(&model, Axes::World);
        assert_eq!(
            (world.axes(), world.again().axes()),
            (Axes::World, Axes::World)
        );
    }

    /// Vectors of the wrong length, NaN, and a spring of length zero.
    #[test]
    fn wrong_input_is_told() {
        let model = embedded::model("four-bar-1").expect("embedded");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        let mut told = |tau: &[f64], loads: &[Force<f64>]| {
            let found = mechanism.equations(0.0, &state, tau, loads);
            found.err().map(|error| error.to_string())
        };
        let hint = "hint: one number per freedom, one wrench per body with the ground first";
        let none = Force::zero();
        assert_eq!(told(&[0.0; 3], &[]), None);
        assert_eq!(told(&[0.0; 3], &[none; 4]), None);
        assert_eq!(
            told(&[0.0; 2], &[]),
            Some(format!("2 efforts are given, the model needs 3\n{hint}"))
        );
        assert_eq!(
            told(&[0.0; 3], &[none; 3]),
            Some(format!(
                "3 external wrenches are given, the model needs 4\n{hint}"
            ))
        );
        let infinite = Force::new(Vec3::zero(), Vec3::new(0.0, f64::INFINITY, 0.0));
        let finite = Some(
            "an effort or load is not finite\nhint: efforts and loads must be finite numbers"
                .into(),
        );
        assert_eq!(told(&[0.0, f64::NAN, 0.0], &[]), finite);
        assert_eq!(told(&[0.0; 3], &[none, none, infinite, none]), finite);
        let open = State::new(&model, &[1.2, -1.2, 1.3], &[0.0; 3]).expect("finite");
        let error = mechanism
            .equations(0.0, &open, &[0.0; 3], &[])
            .expect_err("open");
        assert!(
            error.message().starts_with("a loop is open or opening by "),
            "{error}"
        );
    }

    /// Force elements act with and without external wrenches, as in forward dynamics of the tree.
    #[test]
    fn force_elements_and_wrenches_add_up() {
        let mut builder = embedded::builder("chain-3").expect("embedded");
        let link = builder.links[2].name.clone();
        let spring = ForceRule::Spring {
            parent: "world".into(),
            child: link,
            parent_point: Vec3::new(0.5, 0.4, -0.3),
            child_point: Vec3::new(0.1, 0.0, 0.2),
            stiffness: 30.0,
            damping: 0.5,
            rest_length: 0.2,
            tension_only: false,
        };
        builder.forces.push(ForceSpec::new("spring", spring));
        let model = builder.build().expect("sound");
        let state = State::random(&model, 4);
        let tau = vec![0.3; model.nv()];
        let pull = Force::new(Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.0, -2.0, 0.5));
        let mut loads = vec![Force::zero(); model.body_count() + 1];
        loads[2] = pull;
        let mut mechanism = Mechanism::new(&model);
        let mut dynamics = Dynamics::new(&model);
        for external in [&[][..], &loads] {
            let expected = dynamics
                .forward(&state, &tau, external)
                .expect("regular")
                .to_vec();
            for formulation in Formulation::ALL {
                let found = mechanism
                    .accelerations(formulation, 0.0, &state, &tau, external)
                    .expect("regular");
                let apart = difference(&found.accelerations, &expected);
                assert!(
                    apart < 1e-9 * largest(&expected),
                    "{}: {apart}",
                    formulation.name()
                );
            }
        }
    }

    /// The ratio of the pivots of I(q) is the condition of the null space from the graph, which is I(q); that of a single freedom is 1. Ranks, and
    /// that all rows of a tree are independent.
    #[test]
    fn conditions_and_ranks_of_trees() {
        for name in ["chain-1", "chain-3", "stanford"] {
            let model = embedded::model(name).expect("embedded");
            let state = State::random(&model, 3);
            let nv = model.nv();
            let inertia = Dynamics::new(&model)
                .inertia(&state)
                .expect("finite")
                .clone();
            let inertia = crate::linear::Mat::from_fn(nv, nv, |i, j| inertia[(i, j)]);
            let pivots = inertia.cholesky().expect("definite").pivots();
            let extreme = |best: fn(f64, f64) -> f64| pivots.iter().copied().reduce(best);
            let (high, low) = (extreme(f64::max), extreme(f64::min));
            let expected = high.expect("some") / low.expect("some");
            let mut mechanism = Mechanism::new(&model);
            let still = vec![0.0; nv];
            for formulation in Formulation::ALL {
                let found = mechanism
                    .counted(formulation, 0.0, &state, &still, &[])
                    .expect("regular");
                assert!(found.condition >= 1.0 && found.condition.is_finite());
                assert!(
                    found.residual < 1e-13,
                    "{}: {:e}",
                    formulation.name(),
                    found.residual
                );
                assert!(found.operations.is_some_and(|count| count > 0.0));
                assert_eq!(found.rows, 6 * model.body_count() - nv);
                assert!(
                    found.rank.is_none_or(|rank| rank == found.rows),
                    "{}",
                    formulation.name()
                );
                assert!(!found.handed_over);
                if formulation == Formulation::TreeNullSpace {
                    assert!((found.condition / expected - 1.0).abs() < 1e-9, "{name}");
                    assert_eq!(found.assumptions, ["Z from the paths of the tree"]);
                }
            }
        }
    }

    /// Three of the rows of a four-bar depend on others: every formulation that determines the rank finds that.
    #[test]
    fn ranks_of_dependent_rows() {
        let model = embedded::model("four-bar-1").expect("embedded");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        for formulation in Formulation::ALL {
            let found = mechanism.accelerations(formulation, 0.0, &state, &[0.0; 3], &[]);
            if formulation == Formulation::TreeNullSpace {
                let error = found.expect_err("no tree").to_string();
                assert!(error.starts_with("the null space from the graph is that of a tree"));
                continue;
            }
            let found = found.expect("regular");
            let (rows, name) = (found.rows, formulation.name());
            assert_eq!(rows, 3 * 5 + 5);
            assert!(
                found.condition >= 1.0 && found.condition < 1e12,
                "{name}: {:e}",
                found.condition
            );
            assert!(found.residual < 1e-12 && !found.handed_over, "{name}");
            if let Some(rank) = found.rank {
                assert_eq!(rank, rows - 3, "{name}");
            }
            let note = "3 of 20 rows are dependent: the loads are the minimum-norm solution over all hinges";
            let told = found.assumptions.iter().any(|line| line == note);
            if !matches!(
                formulation,
                Formulation::Lagrangian
                    | Formulation::Proximal
                    | Formulation::AlongTree
                    | Formulation::CutLoops
            ) {
                assert!(told, "{name}: {:?}", found.assumptions);
            }
        }
    }

    /// Efforts of a tree and of a loop that give accelerations: by every formulation those of inverse dynamics, for as many driven freedoms as are
    /// free or for more.
    #[test]
    fn efforts_are_those_of_inverse_dynamics() {
        let model = embedded::model("chain-3").expect("embedded");
        let state = State::random(&model, 9);
        let vdot: Vec<f64> = (0..model.nv()).map(|k| 0.3 - 0.4 * k as f64).collect();
        let expected = Dynamics::new(&model)
            .inverse(&state, &vdot, &[])
            .expect("finite")
            .to_vec();
        let all: Vec<usize> = (0..model.nv()).collect();
        let mut mechanism = Mechanism::driving(&model, &all).expect("possible");
        for formulation in Formulation::ALL {
            let found = mechanism
                .efforts(formulation, 0.0, &state, &vdot, &[])
                .expect("regular");
            let apart = difference(&found, &expected);
            assert!(
                apart < 1e-9 * largest(&expected).max(1.0),
                "{}: {apart}",
                formulation.name()
            );
        }
        let error = Mechanism::driving(&model, &[0, 3])
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("freedom 3 cannot be driven: the model has 3, counted from 0")
        );
        let mut few = Mechanism::driving(&model, &[0, 2]).expect("possible");
        let error = few
            .efforts(Formulation::CutLoops, 0.0, &state, &vdot, &[])
            .expect_err("too few");
        assert_eq!(
            error.message(),
            "the 2 driven freedoms do not determine the motion: 1 more are free"
        );
        let error = few.efforts(Formulation::CutLoops, 0.0, &state, &[0.0; 2], &[]);
        let error = error.expect_err("too few numbers");
        assert_eq!(
            error.message(),
            "2 accelerations are given, the model needs 3"
        );
        // a parallelogram at rest moves along (1, −1, 1)
        let model = embedded::model("four-bar-1").expect("embedded");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut one = Mechanism::driving(&model, &[2]).expect("possible");
        let mut reference = None;
        for formulation in Formulation::ALL {
            if formulation == Formulation::TreeNullSpace {
                continue;
            }
            let name = formulation.name();
            let found = one
                .efforts(formulation, 0.0, &state, &[0.5, -0.5, 0.5], &[])
                .expect("regular");
            assert_eq!(found[..2], [0.0; 2], "{name}");
            let wanted = *reference.get_or_insert(found[2]);
            assert!((found[2] - wanted).abs() < 1e-9 * wanted.abs(), "{name}");
            let back = Mechanism::new(&model)
                .accelerations(formulation, 0.0, &state, &found, &[])
                .expect("regular");
            assert!(
                difference(&back.accelerations, &[0.5, -0.5, 0.5]) < 1e-9,
                "{name}"
            );
            let wrong = one.efforts(formulation, 0.0, &state, &[0.5, 0.5, 0.5], &[]);
            let wrong = wrong.expect_err("they open the loop").to_string();
            assert!(
                wrong.starts_with("the given accelerations violate the constraints by 1.000e0"),
                "{name}: {wrong}"
            );
        }
        // two drives of one motion share its effort with minimum norm: equally, since both move at the same rate
        let mut two = Mechanism::driving(&model, &[0, 2]).expect("possible");
        let shared = two
            .efforts(Formulation::CutLoops, 0.0, &state, &[0.5, -0.5, 0.5], &[])
            .expect("regular");
        let half = reference.expect("found") / 2.0;
        assert!(
            (shared[0] - half).abs() < 1e-9 && (shared[2] - half).abs() < 1e-9,
            "{shared:?}"
        );
    }

    /// A point mass has no inertia tensor: every formulation finds its motion, and reports how it treated the missing inertia.
    #[test]
    fn point_masses_swing() {
        use catena::model::{Inertial, JointKind, JointSpec, ModelBuilder};
        use catena::spatial::Sym3;
        let mut builder = ModelBuilder::new("pendulum");
        let bob = Inertial {
            mass: 2.0,
            centre: Vec3::new(0.0, 0.0, -0.5),
            tensor: Sym3::zero(),
        };
        builder.link("bob", bob);
        let mut joint = JointSpec::new("hinge", JointKind::Revolute, "world", "bob");
        joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
        builder.joint(joint);
        let model = builder.build().expect("sound");
        let state = State::new(&model, &[0.3], &[0.7]).expect("finite");
        let expected = -9.81 / 0.5 * 0.3f64.sin();
        let mut mechanism = Mechanism::new(&model);
        for formulation in Formulation::ALL {
            let name = formulation.name();
            let found = mechanism
                .accelerations(formulation, 0.0, &state, &[0.0], &[])
                .expect("regular");
            assert!((found.accelerations[0] - expected).abs() < 1e-9, "{name}");
            let added = found
                .assumptions
                .iter()
                .any(|line| line.contains("was replaced by J + ρ"));
            let needs = matches!(
                formulation,
                Formulation::ConstraintForces
                    | Formulation::Rotational
                    | Formulation::AugmentedBodies
                    | Formulation::RankByQr
                    | Formulation::RankBySvd
            );
            assert_eq!(added, needs, "{name}: {:?}", found.assumptions);
        }
    }

    /// Dense matrices are limited in size; formulations without them have no such limit.
    #[test]
    fn large_mechanisms_are_refused_where_matrices_are_dense() {
        let model = embedded::model("chain-600").expect("embedded");
        let state: State = State::neutral(&model);
        let still = vec![0.0; model.nv()];
        let mut mechanism = Mechanism::new(&model);
        let error = mechanism
            .accelerations(Formulation::NullSpace, 0.0, &state, &still, &[])
            .expect_err("too large");
        assert_eq!(
            error.to_string(),
            "a dense matrix of 3600 unknowns and 3000 rows is too large: at most 1e7 entries\nhint: lagrangian (sparse) and cut-loops take larger mechanisms"
        );
        mechanism
            .accelerations(Formulation::CutLoops, 0.0, &state, &still, &[])
            .expect("regular");
    }

    /// Operations of cut loops are the multiplications and divisions that a second run counts.
    #[test]
    fn operations_on_the_tree_are_counted() {
        let model = embedded::model("four-bar-1").expect("embedded");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let mut mechanism = Mechanism::new(&model);
        let found = mechanism
            .counted(Formulation::CutLoops, 0.0, &state, &[0.0; 3], &[])
            .expect("regular");
        let counted = mechanism.chain().count(&state, &[0.0; 3], &[]);
        let expected = counted.multiplications + counted.divisions;
        assert!(counted.divisions > 1 && counted.multiplications > 100);
        assert_eq!(found.operations, Some(expected as f64));
        let other = mechanism
            .counted(Formulation::AlongTree, 0.0, &state, &[0.0; 3], &[])
            .expect("regular");
        assert!(other.operations.is_some() && other.operations != found.operations);
    }
}
