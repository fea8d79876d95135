//! The checked entry point in `f64`: checked input, a path compiled for this processor, no allocation after construction.

mod accuracy;
mod checks;
mod composite;
mod coupled;
mod derivatives;
mod forces;
mod motion;
mod paths;
mod tasks;

use crate::Cpu;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::inertia_matrix::{CoriolisMatrix, Part, coriolis_matrix};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::Kinematics;
use crate::algorithm::natural_orthogonal_complement::{Denoc, mass_centres};
use crate::arch::OneState;
use crate::doors::native::{Compiled, Kernel, Singles};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::{Base, State};
pub(crate) use checks::{all_finite, check_pivots_of, too_large};
use checks::{finite_result, modest, modest_model, overflow};
pub(crate) use composite::Composite;
use paths::{DynamicsWork, Path};

/// Where the factors of the last state are stored, for later solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Nowhere: there was no state, or it was rejected.
    None,
    /// In the workspace of the recursions over components, which solve with them.
    InComponents,
    /// In the workspace of the recursion over registers.
    InRegisters,
    /// Nowhere yet: generated code computed the accelerations; the positions are kept.
    AtPositions,
}

/// Where the joint wrenches of the last inverse dynamics are stored. They may belong to a different call than the factors, for which
/// see [`Kept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrenches {
    /// In the workspace of the recursion.
    InRecursion,
    /// Nowhere yet: generated code computed the efforts; state and accelerations are kept.
    AtMotion,
}

/// Dynamics of one model in plain numbers.
///
/// Memory is linear in the number of bodies; a matrix is allocated at its first use, and nothing is allocated after
/// that, except by [`joint_wrench`](Self::joint_wrench) after compiled code and for force elements. Results are slices into its own memory, valid until the next call. Every method rejects states and forces that are
/// non-finite or of the wrong length, and non-finite results, with the reason.
#[derive(Clone, Debug)]
pub struct Dynamics {
    model: Model,
    path: Path,
    kinematics: Kinematics<f64>,
    /// External wrenches plus those of force elements, if any.
    wrenches: Vec<Force<f64>>,
    coriolis_work: CoriolisMatrix<f64>,
    tau: Vec<f64>,
    vdot: Vec<f64>,
    still: Vec<f64>,
    at_rest: State,
    /// Whether masses, lengths and moments of the model are far from overflow.
    modest: bool,
    inertia: Matrix<f64>, // this and the next two are made when first requested: they are the only quadratic memory
    composite: Option<Composite>,
    coriolis: Matrix<f64>,
    jacobian: Matrix<f64>,
    /// The widest registers that loops over columns may use.
    widest: Cpu,
    /// Derivatives and their workspaces, made when first requested.
    derivatives: Option<Box<derivatives::Store>>,
    tasks: Box<tasks::Store>,
    quaternions: Vec<(usize, usize)>,
    factors: Kept,
    native: Option<Box<Native>>,
    /// The independent coordinates of a model with couplings: then `model` and everything else here belong to its tree.
    coupled: Option<Box<coupled::Coupled>>,
}

/// Code generated for the model, and what it was last called with.
#[derive(Clone, Debug)]
struct Native {
    codes: Singles,
    /// State and accelerations of the last inverse dynamics, if the code computed it.
    last_state: State,
    last_vdot: Vec<f64>,
    wrenches: Wrenches,
    /// Positions of the last forward dynamics, if the code computed it.
    positions: Vec<f64>,
}

impl Native {
    fn new(compiled: &Compiled) -> Self {
        let model = compiled.model();
        Native {
            codes: compiled.single(),
            last_state: State::neutral(model),
            last_vdot: vec![0.0; model.nv()],
            wrenches: Wrenches::InRecursion,
            positions: vec![0.0; model.nq()],
        }
    }

    /// The last result of the code of forward dynamics.
    fn accelerations(&self) -> &[f64] {
        match &self.codes.forward {
            Some(code) => code.results().0,
            None => &[],
        }
    }

    /// Records that the code computed inverse dynamics with these.
    fn remember(&mut self, state: &State, vdot: &[f64]) {
        self.last_state.q.copy_from_slice(&state.q);
        self.last_state.v.copy_from_slice(&state.v);
        self.last_vdot.copy_from_slice(vdot);
        self.wrenches = Wrenches::AtMotion;
    }
}

impl Dynamics {
    /// Workspaces for this model, on the best path this processor has.
    pub fn new(model: &Model) -> Self {
        Dynamics::with_cpu(model, Cpu::detect())
    }

    /// Workspaces for this model, on a given path. A path the processor does not have falls back to the baseline.
    pub fn with_cpu(model: &Model, cpu: Cpu) -> Self {
        if let Some(couplings) = model.couplings() {
            let mut dynamics = Dynamics::with_cpu(&model.clone().open_tree(), cpu);
            dynamics.coupled = Some(Box::new(coupled::Coupled::new(model, couplings)));
            return dynamics;
        }
        let nv = model.nv();
        // one state at a time gains nothing from the wider registers of AVX-512
        let path = match OneState::new(model, cpu) {
            Some(one) => Path::Registers(Box::new(one)),
            None => Path::Baseline(Box::new(DynamicsWork::new(model))),
        };
        Dynamics {
            model: model.clone(),
            path,
            kinematics: Kinematics::new(model),
            wrenches: Vec::new(),
            coriolis_work: CoriolisMatrix::new(model),
            tau: vec![0.0; nv],
            vdot: vec![0.0; nv],
            still: vec![0.0; nv],
            at_rest: State::neutral(model),
            modest: modest_model(model),
            inertia: Matrix::zeros(0, 0),
            composite: None,
            coriolis: Matrix::zeros(0, 0),
            jacobian: Matrix::zeros(6, nv),
            widest: cpu.min(Cpu::best()),
            derivatives: None,
            tasks: Box::default(),
            factors: Kept::None,
            native: None,
            coupled: None,
            quaternions: model
                .bodies()
                .filter_map(|i| {
                    let body = &model.tree().bodies[i];
                    body.kind.quaternion().map(|k| (i, body.q + k))
                })
                .collect(),
        }
    }

    /// Workspaces for the model of this code, which is used where possible: on a base at rest, without external wrenches.
    /// Everything else, and every check, is as in [`new`](Self::new).
    pub fn with_compiled(compiled: &Compiled) -> Self {
        let mut dynamics = Dynamics::new(compiled.model());
        match dynamics.is_coupled() {
            true => dynamics.coupled_code(compiled),
            false => dynamics.native = Some(Box::new(Native::new(compiled))),
        }
        dynamics
    }

    /// The model.
    pub fn model(&self) -> &Model {
        match &self.coupled {
            None => &self.model,
            Some(coupled) => &coupled.model,
        }
    }

    /// Which path is taken.
    pub fn cpu(&self) -> Cpu {
        match self.path {
            Path::Baseline(_) => Cpu::Baseline,
            Path::Registers(_) => Cpu::Avx2,
        }
    }

    /// Efforts τ that produce the accelerations `vdot`.
    ///
    /// `external`: a wrench on every body 0…n, in body axes about the body's origin (see
    /// [`wrench_on`](Self::wrench_on)), or an empty slice.
    pub fn inverse(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&[f64]> {
        if self.is_coupled() {
            return self.coupled_inverse(state, vdot, external);
        }
        self.model.expect_tree()?;
        let is_at_rest = self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        let loaded = self.load(state, external)?;
        if let Some(native) = &mut self.native {
            native.wrenches = Wrenches::InRecursion;
            if let Some(code) = &mut native.codes.inverse
                && !loaded
                && is_at_rest
            {
                code.run_into(&state.q, &state.v, vdot, &mut self.tau);
                native.remember(state, vdot);
                finite_result("joint efforts", &self.model, &self.tau)?;
                return Ok(&self.tau);
            }
        }
        match &mut self.path {
            Path::Baseline(work) => {
                work.inverse(&self.model, state.view(), vdot, loaded, &mut self.tau)
            }
            Path::Registers(one) => one.inverse(&self.model, state, vdot, loaded, &mut self.tau),
        }
        finite_result("joint efforts", &self.model, &self.tau)?;
        Ok(&self.tau)
    }

    /// Wrench that the parent exerts through the joint that carries `body` (body axes, about the body's origin), as of the last
    /// [`inverse`](Self::inverse); 0 gives the wrench of the ground on the whole system.
    ///
    /// Compiled code does not compute these wrenches: after it, each call repeats the general recursion.
    pub fn joint_wrench(&self, body: usize) -> Result<Force<f64>> {
        self.check_body(body)?;
        let wrench = self.last_wrench(body);
        if all_finite(&wrench.to_array()) {
            return Ok(wrench);
        }
        let name = &self.model.tree().bodies[body].name;
        Err(too_large(&format!("the wrench on body `{name}`")))
    }

    fn last_wrench(&self, body: usize) -> Force<f64> {
        if let Some(wrench) = self.coupled_wrench(body) {
            return wrench;
        }
        if let Some(native) = &self.native
            && native.wrenches == Wrenches::AtMotion
        {
            let (state, vdot) = (native.last_state.view(), &native.last_vdot);
            let mut work = InverseDynamics::new(&self.model);
            let mut tau = vec![0.0; self.model.nv()];
            inverse_dynamics(&self.model, state, vdot, &[], &mut work, &mut tau);
            return work.joint_wrench(body);
        }
        match &self.path {
            Path::Baseline(work) => work.inverse.joint_wrench(body),
            Path::Registers(one) => one.joint_wrench(body),
        }
    }

    /// Accelerations that the efforts `tau` produce, in O(n). The factorization is kept: see [`solve`](Self::solve). A call that
    /// fails leaves none.
    pub fn forward(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&[f64]> {
        if self.is_coupled() {
            return self.coupled_forward(state, tau, external);
        }
        self.factors = Kept::None;
        self.model.expect_tree()?;
        let is_at_rest = self.check_state(state)?;
        self.check_vector("efforts", tau)?;
        let loaded = self.load(state, external)?;
        let mut is_compiled = false;
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.forward
            && !loaded
            && is_at_rest
        {
            code.run(&state.q, &state.v, tau);
            let (vdot, inverse_pivots) = code.results();
            check_pivots_of(&self.model, inverse_pivots)?;
            finite_result("accelerations", &self.model, vdot)?;
            native.positions.copy_from_slice(&state.q);
            self.factors = Kept::AtPositions;
            is_compiled = true;
        } else {
            self.recursive_forward(state, tau, loaded)?;
        }
        // by reference: in simulations a copy would cost measurable time
        Ok(match (&self.native, is_compiled) {
            (Some(native), true) => native.accelerations(),
            _ => &self.vdot,
        })
    }

    /// Accelerations of a tree without quaternions and force elements, on a base at rest, under efforts alone, by compiled code. Returns false where
    /// there is no such code, a number is not finite or a pivot not positive: [`forward`](Self::forward) then gives the result or the reason.
    pub(crate) fn forward_by_code(
        &mut self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        vdot: &mut [f64],
    ) -> bool {
        let Some(native) = &mut self.native else {
            return false;
        };
        let Some(code) = &mut native.codes.forward else {
            return false;
        };
        self.factors = Kept::None;
        if !(all_finite(q) && all_finite(v)) {
            return false;
        }
        code.run(q, v, tau);
        let (found, inverse_pivots) = code.results();
        vdot.copy_from_slice(found);
        checks::all_positive(inverse_pivots) && all_finite(found)
    }

    /// Computes accelerations by the general recursion, with code or without.
    fn general_forward(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        self.factors = Kept::None;
        self.model.expect_tree()?;
        let loaded = self.check_forward(state, tau, external)?;
        self.recursive_forward(state, tau, loaded)
    }

    fn recursive_forward(&mut self, state: &State, tau: &[f64], loaded: bool) -> Result<()> {
        let (kept, inverse_pivots) = match &mut self.path {
            Path::Baseline(work) => {
                work.forward(&self.model, state.view(), tau, loaded, &mut self.vdot);
                (Kept::InComponents, &work.forward.factors.inverse[..])
            }
            Path::Registers(one) => {
                let vdot = &mut self.vdot;
                (
                    Kept::InRegisters,
                    one.forward(&self.model, state, tau, loaded, vdot),
                )
            }
        };
        check_pivots_of(&self.model, inverse_pivots)?;
        finite_result("accelerations", &self.model, &self.vdot)?;
        self.factors = kept;
        Ok(())
    }

    /// The inertia matrix I(q).
    pub fn inertia(&mut self, state: &State) -> Result<&Matrix> {
        self.fill_inertia(state, Part::Whole)
    }

    /// The upper triangle of the inertia matrix I(q): the entries on its diagonal and above it are
    /// those of [`inertia`](Self::inertia). **Entries below the diagonal are unspecified.** It takes less time for large models.
    pub fn inertia_upper(&mut self, state: &State) -> Result<&Matrix> {
        self.fill_inertia(state, Part::Upper)
    }

    fn fill_inertia(&mut self, state: &State, part: Part) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_inertia(state, part);
        }
        self.check_state(state)?;
        make_square(&mut self.inertia, self.model.nv());
        let inertia = self.inertia.as_mut_slice();
        match &mut self.native {
            Some(native) if native.codes.inertia.is_some() => {
                if let Some(code) = &mut native.codes.inertia {
                    code.run_into(&state.q, &[], &[], inertia);
                }
            }
            _ => {
                let (model, widest) = (&self.model, self.widest);
                self.composite
                    .get_or_insert_with(|| Composite::new(model, widest))
                    .inertia(model, &state.q, part, inertia);
            }
        }
        // where masses and squared distances cannot overflow, entries need no test
        if self.modest && modest(&state.q) {
            return Ok(&self.inertia);
        }
        for (k, row) in inertia.chunks_exact(self.model.nv().max(1)).enumerate() {
            let from = if part == Part::Upper { k } else { 0 };
            if !all_finite(&row[from..]) {
                return Err(overflow("inertia matrix", &self.model, k));
            }
        }
        Ok(&self.inertia)
    }

    /// Factorizes I(q) = U D Uᵀ in O(n), for [`solve`](Self::solve).
    pub fn factorize(&mut self, state: &State) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_factorize(state);
        }
        self.factors = Kept::None;
        self.check_state(state)?;
        let inverse_pivots = self.path.factorize(&self.model, &state.q);
        check_pivots_of(&self.model, inverse_pivots)?;
        self.factors = Kept::InComponents;
        Ok(())
    }

    /// Solves I x = b in O(n) with the factors of the last [`factorize`](Self::factorize) or [`forward`](Self::forward),
    /// in place: x overwrites b.
    pub fn solve(&mut self, x: &mut [f64]) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_solve(x);
        }
        self.check_vector("right-hand side", x)?;
        self.bring_factors()?;
        match &mut self.path {
            Path::Baseline(work) => work.forward.factors.solve(&self.model, x),
            Path::Registers(one) => one.solve(&self.model, x),
        }
        finite_result("solution of I x = b", &self.model, x)
    }

    /// The factorization as an object, with U, D, ψ, M̂ and their meaning.
    pub fn factorization(&self, state: &State) -> Result<Factorization<f64>> {
        if self.is_coupled() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "model `{}` has couplings: its inertia matrix is factorized over clusters of joints",
                    self.model.name()
                ),
            )
            .hint("use `cluster_factorization`, or `Model::open_tree` for the tree without its couplings"));
        }
        self.check_state(state)?;
        let mut factors = Factorization::new(&self.model);
        factors.factorize(&self.model, &state.q);
        match factors.singular_freedom() {
            Some(k) => Err(self.singular(k, factors.inverse[k])),
            None => Ok(factors),
        }
    }

    /// The decoupled natural orthogonal complement as an object: N_l, N_d, composite and articulated bodies, ψ, m̂.
    pub fn denoc(&self, state: &State) -> Result<Denoc<f64>> {
        self.factorization(state)?;
        let centres = mass_centres(&self.model);
        let (q, v, base) = (&state.q, &state.v, &state.base);
        let denoc = Denoc::new(&self.model, &centres, q, v, base);
        match denoc.singular_freedom() {
            Some(k) => Err(self.singular(k, denoc.pivots()[k].recip())),
            None if !denoc.is_finite() => Err(too_large("the complement of this state")),
            None => Ok(denoc),
        }
    }

    /// Efforts that hold the system still against gravity, springs and other force elements: inverse dynamics at v = v̇ = 0, on a base
    /// at rest.
    pub fn gravity(&mut self, state: &State) -> Result<&[f64]> {
        if self.is_coupled() {
            let mut at_rest = State {
                q: state.q.clone(),
                v: vec![0.0; state.v.len()],
                base: Base::fixed(),
            };
            at_rest.base.pose = state.base.pose;
            let still = vec![0.0; self.model().nv()];
            return self.coupled_inverse(&at_rest, &still, &[]);
        }
        self.check_state(state)?;
        let still = std::mem::take(&mut self.still);
        let mut at_rest = std::mem::replace(&mut self.at_rest, State::empty());
        at_rest.q.copy_from_slice(&state.q);
        at_rest.base.pose = state.base.pose;
        let done = self.inverse(&at_rest, &still, &[]).map(|_| ());
        (self.still, self.at_rest) = (still, at_rest);
        done?;
        Ok(&self.tau)
    }

    /// The matrix C(q, v) of convective inertia terms.
    pub fn coriolis(&mut self, state: &State) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_coriolis(state);
        }
        self.check_state(state)?;
        make_square(&mut self.coriolis, self.model.nv());
        coriolis_matrix(
            &self.model,
            state.view(),
            &mut self.coriolis_work,
            &mut self.coriolis,
        );
        derivatives::finite_matrix("C", &self.model, &self.coriolis)?;
        Ok(&self.coriolis)
    }

    /// The results that code of this kernel computes, here by the recursions and without pivots. A closed chain is evaluated with its loops open.
    pub fn kernel_results(&mut self, kernel: Kernel, state: &State, x: &[f64]) -> Result<Vec<f64>> {
        let flat = |parts: [&Matrix; 3]| parts.iter().flat_map(|m| m.as_slice()).copied().collect();
        Ok(match kernel {
            Kernel::Inverse => self.inverse(state, x, &[])?.to_vec(),
            Kernel::Forward | Kernel::Closed => self.forward(state, x, &[])?.to_vec(),
            Kernel::Inertia => self.inertia(state)?.as_slice().to_vec(),
            Kernel::InverseDerivatives => {
                let of_tau = self.inverse_derivatives(state, x, &[])?;
                flat([&of_tau.dq, &of_tau.dv, &of_tau.inertia])
            }
            Kernel::ForwardDerivatives => {
                let of_vdot = self.forward_derivatives(state, x, &[])?;
                flat([&of_vdot.dq, &of_vdot.dv, &of_vdot.dtau])
            }
        })
    }

    /// Copies the factors of the last call to the recursions over components.
    fn bring_factors(&mut self) -> Result<()> {
        match self.factors {
            Kept::None => {
                return Err(Error::new(
                    ErrorKind::Input,
                    "there is no factorization to solve with",
                )
                .hint("call `factorize` or `forward` first"));
            }
            Kept::InComponents => {}
            Kept::InRegisters => {
                if let Path::Registers(one) = &mut self.path {
                    one.bring_factors();
                }
            }
            Kept::AtPositions => {
                if let Some(native) = &self.native {
                    self.path.factorize(&self.model, &native.positions);
                }
            }
        }
        self.factors = Kept::InComponents;
        Ok(())
    }
}

fn make_square(matrix: &mut Matrix, n: usize) {
    if matrix.rows() != n {
        *matrix = Matrix::zeros(n, n);
    }
}
