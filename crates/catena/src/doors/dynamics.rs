//! The checked entry point in `f64`: checked input, a path compiled for this processor, no allocation after construction.

mod composite;
mod coupled;
mod derivatives;
mod tasks;

use crate::Cpu;
use crate::algorithm::elements::{self, Action};
use crate::algorithm::energy::{MechanicalState, mechanical_state};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::inertia_matrix::{CoriolisMatrix, Part, coriolis_matrix};
use crate::algorithm::inverse_dynamics::{
    InverseDynamics, inverse_dynamics, recursive_newton_euler,
};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use crate::algorithm::natural_orthogonal_complement::{Denoc, mass_centres};
use crate::doors::native::{Compiled, Singles};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::{ForceElement, ForceLaw, FrameInfo, Model, SensorKind};
use crate::scalar::{Fused, Scalar};
use crate::spatial::{Force, Motion, Pose, Vec3};
use crate::state::{Base, State, StateView, check_length};
pub(crate) use composite::Composite;
#[cfg(target_arch = "x86_64")]
use {
    crate::algorithm::factorization::Factors,
    crate::algorithm::forward_dynamics::articulated_bodies::ArticulatedBodies,
    crate::algorithm::inverse_dynamics::recursive_newton_euler::NewtonEuler,
    crate::arch::{Link, Links, Registers},
};

/// The workspaces of one scalar.
#[derive(Clone, Debug)]
struct DynamicsWork<S: Scalar> {
    inverse: InverseDynamics<S>,
    forward: ForwardDynamics<S>,
    external: Vec<Force<S>>,
}

impl<S: Scalar> DynamicsWork<S> {
    fn new(model: &Model) -> Self {
        DynamicsWork {
            inverse: InverseDynamics::new(model),
            forward: ForwardDynamics::new(model),
            external: vec![Force::zero(); model.body_count() + 1],
        }
    }

    #[inline(always)]
    fn inverse(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        vdot: &[S],
        loaded: bool,
        tau: &mut [S],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        recursive_newton_euler::kernel(model, state, vdot, external, &mut self.inverse, tau);
    }

    #[inline(always)]
    fn forward(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        tau: &[S],
        loaded: bool,
        vdot: &mut [S],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        articulated_bodies::kernel(model, state, tau, external, &mut self.forward, vdot);
    }
}

/// The fused path: functions compiled with AVX2 and fused multiply-add.
#[cfg(target_arch = "x86_64")]
mod fused {
    use super::*;

    macro_rules! compiled_for_avx2 {
        ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
            #[target_feature(enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave")]
            pub(super) fn $name($($argument: $type),*) $body
        )*};
    }

    compiled_for_avx2! {
        fn inverse(work: &mut DynamicsWork<Fused>, quads: &mut Quads, model: &Model, state: StateView<'_, Fused>, vdot: &[Fused], loaded: bool, tau: &mut [Fused]) {
            let external = if loaded { &work.external[..] } else { &[] };
            let constants = Links::new(model, &quads.links);
            quads.inverse.run(model, &constants, state, vdot, external, tau);
        }
        fn forward(work: &mut DynamicsWork<Fused>, quads: &mut Quads, model: &Model, state: StateView<'_, Fused>, tau: &[Fused], loaded: bool, vdot: &mut [Fused]) {
            let external = if loaded { &work.external[..] } else { &[] };
            let constants = Links::new(model, &quads.links);
            let factors = quads.factors.parts();
            quads.forward.run(model, &constants, state, tau, external, factors, vdot);
        }
        fn factorize(work: &mut DynamicsWork<Fused>, model: &Model, q: &[Fused]) {
            work.forward.factors.factorize_kernel(model, q);
        }
        fn solve(work: &mut DynamicsWork<Fused>, model: &Model, x: &mut [Fused]) {
            work.forward.factors.solve_kernel(model, x);
        }
    }
}

#[derive(Clone, Debug)]
enum Path {
    Baseline(Box<DynamicsWork<f64>>),
    #[cfg(target_arch = "x86_64")]
    Fused(Box<DynamicsWork<Fused>>, Box<Quads>),
}

impl Path {
    /// Takes wrenches on the bodies, if there are any.
    fn load(&mut self, external: &[Force<f64>]) {
        match self {
            Path::Baseline(work) => {
                for (to, from) in work.external.iter_mut().zip(external) {
                    *to = *from;
                }
            }
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, _) => {
                for (to, from) in work.external.iter_mut().zip(external) {
                    *to = Force::new(from.moment.map(Fused), from.force.map(Fused));
                }
            }
        }
    }

    /// Factorizes I(q) over components, and gives the inverses of the pivots.
    fn factorize(&mut self, model: &Model, q: &[f64]) -> &[f64] {
        match self {
            Path::Baseline(work) => {
                work.forward.factors.factorize(model, q);
                &work.forward.factors.inverse
            }
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, _) => {
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::factorize(work, model, Fused::slice(q));
                }
                Fused::plain(&work.forward.factors.inverse)
            }
        }
    }
}

/// The recursions that have a vector in each register.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
struct Quads {
    links: Vec<Link>,
    inverse: NewtonEuler<Registers>,
    forward: ArticulatedBodies<Registers>,
    factors: Factors<Registers>,
}

#[cfg(target_arch = "x86_64")]
impl Quads {
    fn new(model: &Model) -> Self {
        Quads {
            links: Link::all(model),
            inverse: NewtonEuler::new(model),
            forward: ArticulatedBodies::new(model),
            factors: Factors::new(model),
        }
    }
}

/// Where the factors of the last state are, for those who solve with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Nowhere: there was no state, or it was refused.
    None,
    /// With the recursions over components, which solve with them.
    InComponents,
    /// With the recursion over registers.
    #[cfg(target_arch = "x86_64")]
    InRegisters,
    /// Nowhere yet: code found the accelerations, and left the positions.
    AtPositions,
}

/// Dynamics of one model in plain numbers.
///
/// Memory is linear in the number of bodies; a matrix is allocated at its first use, and nothing is allocated after
/// that. Results are slices into its own memory, valid until the next call. Every method refuses states and forces that are not
/// finite or of the wrong length, and results that are not finite, with the reason.
#[derive(Clone, Debug)]
pub struct Dynamics {
    model: Model,
    path: Path,
    kinematics: Kinematics<f64>,
    /// External wrenches with those of force elements, where there are elements.
    wrenches: Vec<Force<f64>>,
    coriolis_work: CoriolisMatrix<f64>,
    tau: Vec<f64>,
    vdot: Vec<f64>,
    still: Vec<f64>,
    at_rest: State,
    /// Are masses, lengths and moments of the model far from overflowing?
    modest: bool,
    inertia: Matrix<f64>, // this and the next two are made when first asked for: they are the only quadratic memory
    composite: Option<Composite>,
    coriolis: Matrix<f64>,
    jacobian: Matrix<f64>,
    /// The widest registers that loops over columns may use.
    widest: Cpu,
    /// Derivatives and what belongs to them, made when first asked for.
    derivatives: Option<Box<derivatives::Store>>,
    tasks: Box<tasks::Store>,
    quaternions: Vec<(usize, usize)>,
    factors: Kept,
    native: Option<Box<Native>>,
    /// The independent coordinates of a model with couplings: then `model` and all else here belong to its tree.
    coupled: Option<Box<coupled::Coupled>>,
}

/// Code generated for the model, and what it was last called with.
#[derive(Clone, Debug)]
struct Native {
    codes: Singles,
    /// State and accelerations of the last inverse dynamics, if it was the code that computed it.
    last_state: State,
    last_vdot: Vec<f64>,
    inverse_is_compiled: bool,
    /// Positions of the last forward dynamics, if it was the code that computed it.
    positions: Vec<f64>,
}

impl Native {
    fn new(compiled: &Compiled) -> Self {
        let model = compiled.model();
        Native {
            codes: compiled.single(),
            last_state: State::neutral(model),
            last_vdot: vec![0.0; model.nv()],
            inverse_is_compiled: false,
            positions: vec![0.0; model.nq()],
        }
    }

    /// What the code of forward dynamics found last.
    fn accelerations(&self) -> &[f64] {
        match &self.codes.forward {
            Some(code) => code.results().0,
            None => &[],
        }
    }

    /// The code computed inverse dynamics with these.
    fn remember(&mut self, state: &State, vdot: &[f64]) {
        self.last_state.q.copy_from_slice(&state.q);
        self.last_state.v.copy_from_slice(&state.v);
        self.last_vdot.copy_from_slice(vdot);
        self.inverse_is_compiled = true;
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
        let path = match cpu {
            // one state at a time gains nothing from the wider registers of AVX-512
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 | Cpu::Avx512 if Cpu::best() != Cpu::Baseline => Path::Fused(
                Box::new(DynamicsWork::new(model)),
                Box::new(Quads::new(model)),
            ),
            _ => Path::Baseline(Box::new(DynamicsWork::new(model))),
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

    /// Workspaces for the model of this code, which is used where possible: on a base at rest, without external wrenches. All
    /// else, and every check, is as in [`new`](Self::new).
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
            #[cfg(target_arch = "x86_64")]
            Path::Fused(..) => Cpu::Avx2,
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
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        let loaded = self.load(state, external)?;
        if let Some(native) = &mut self.native {
            native.inverse_is_compiled = false;
            if let Some(code) = &mut native.codes.inverse
                && !loaded
                && state.base == Base::fixed()
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
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, quads) => {
                let base = lift(&state.base);
                let (state, vdot) = (fused_view(state, &base), Fused::slice(vdot));
                let tau = Fused::slice_mut(&mut self.tau);
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::inverse(work, quads, &self.model, state, vdot, loaded, tau);
                }
            }
        }
        finite_result("joint efforts", &self.model, &self.tau)?;
        Ok(&self.tau)
    }

    /// Wrench that the parent exerts through the joint that carries `body` (body axes, about the body's origin), as of the last
    /// [`inverse`](Self::inverse); 0 gives what the ground exerts on the whole system.
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
            && native.inverse_is_compiled
        {
            let (state, vdot) = (native.last_state.view(), &native.last_vdot);
            let mut work = InverseDynamics::new(&self.model);
            let mut tau = vec![0.0; self.model.nv()];
            inverse_dynamics(&self.model, state, vdot, &[], &mut work, &mut tau);
            return work.joint_wrench(body);
        }
        match &self.path {
            Path::Baseline(work) => work.inverse.joint_wrench(body),
            #[cfg(target_arch = "x86_64")]
            Path::Fused(_, quads) => {
                let wrench = quads.inverse.joint_wrench(body);
                let plain = |v: Vec3<Fused>| Vec3::new(v.x.0, v.y.0, v.z.0);
                Force::new(plain(wrench.moment), plain(wrench.force))
            }
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
        self.check_state(state)?;
        self.check_vector("efforts", tau)?;
        let loaded = self.load(state, external)?;
        let mut is_compiled = false;
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.forward
            && !loaded
            && state.base == Base::fixed()
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
        // where they lie: a simulation asks so often that a copy is felt
        Ok(match (&self.native, is_compiled) {
            (Some(native), true) => native.accelerations(),
            _ => &self.vdot,
        })
    }

    /// Accelerations by the general recursion, with code or without.
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
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, quads) => {
                let base = lift(&state.base);
                let (state, tau) = (fused_view(state, &base), Fused::slice(tau));
                let vdot = Fused::slice_mut(&mut self.vdot);
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::forward(work, quads, &self.model, state, tau, loaded, vdot);
                }
                (Kept::InRegisters, Fused::plain(&quads.factors.inverse))
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
    /// those of [`inertia`](Self::inertia). **What is below the diagonal is unspecified.** It takes less time for large models.
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
        // where masses and squared distances cannot overflow, entries need not be tested
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

    /// Solves I x = b in O(n) with the factors of the last [`factorize`](Self::factorize) or [`forward`](Self::forward):
    /// b comes in, x goes out.
    pub fn solve(&mut self, x: &mut [f64]) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_solve(x);
        }
        self.check_vector("right-hand side", x)?;
        self.bring_factors()?;
        match &mut self.path {
            Path::Baseline(work) => work.forward.factors.solve(&self.model, x),
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, _) => {
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::solve(work, &self.model, Fused::slice_mut(x));
                }
            }
        }
        finite_result("solution of I x = b", &self.model, x)
    }

    /// The factorization as an object of its own, with U, D, ψ, M̂ and their meaning.
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

    /// Poses, velocities and accelerations of all bodies.
    pub fn kinematics(&mut self, state: &State, vdot: &[f64]) -> Result<&Kinematics<f64>> {
        if self.is_coupled() {
            self.coupled_kinematics(state, vdot)?;
            return Ok(&self.kinematics);
        }
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        forward_kinematics(&self.model, state.view(), vdot, &mut self.kinematics);
        match self.kinematics.overflowing_body() {
            None => Ok(&self.kinematics),
            Some(body) => {
                let name = &self.model.tree().bodies[body].name;
                Err(too_large(&format!("the motion of body `{name}`")))
            }
        }
    }

    /// Jacobian of a frame (6×nv: angular rows first, world axes, at the frame's origin).
    pub fn jacobian(&mut self, state: &State, frame: &FrameInfo) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_jacobian(state, frame);
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        frame_jacobian(&self.model, &self.kinematics, frame, &mut self.jacobian);
        derivatives::finite_matrix("Jacobian", &self.model, &self.jacobian)?;
        Ok(&self.jacobian)
    }

    /// J̇ v of a frame: its acceleration at v̇ = 0 (angular, then linear; world axes).
    pub fn jacobian_rate_times_v(
        &mut self,
        state: &State,
        frame: &FrameInfo,
    ) -> Result<Motion<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| {
                tree.jacobian_rate_times_v(state, frame)
            });
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        let acceleration = self.kinematics.frame_acceleration(frame);
        finite_frame("acceleration", frame, &acceleration.to_array())?;
        Ok(acceleration)
    }

    /// Pose of a frame in the world.
    pub fn frame_pose(&mut self, state: &State, frame: &FrameInfo) -> Result<Pose<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| tree.frame_pose(state, frame));
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        let pose = self.kinematics.frame_pose(frame);
        finite_frame("position", frame, &pose.translation.to_array())?;
        Ok(pose)
    }

    /// Energies, momenta and centre of mass.
    pub fn mechanical_state(&mut self, state: &State) -> Result<MechanicalState<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, Dynamics::mechanical_state);
        }
        self.force_actions(state)?; // an element without a value is named
        self.locate(state)?;
        let mechanical = mechanical_state(&self.model, &state.q, &state.v, &self.kinematics);
        let energies = [
            mechanical.kinetic,
            mechanical.gravitational,
            mechanical.elastic,
            mechanical.kinetic + mechanical.gravitational + mechanical.elastic,
        ];
        if !all_finite(&energies) {
            return Err(too_large("the energy of this state"));
        }
        let motion = Motion::new(mechanical.centre, mechanical.centre_velocity);
        if !(all_finite(&mechanical.momentum.to_array()) && all_finite(&motion.to_array())) {
            return Err(too_large("the momentum of this state"));
        }
        Ok(mechanical)
    }

    /// A wrench in world axes, its force acting at a point of the world, as the wrench on `body` that
    /// [`inverse`](Self::inverse) and [`forward`](Self::forward) take.
    pub fn wrench_on(
        &mut self,
        state: &State,
        body: usize,
        point: Vec3<f64>,
        wrench: Force<f64>,
    ) -> Result<Force<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| {
                tree.wrench_on(state, body, point, wrench)
            });
        }
        self.locate(state)?;
        self.check_body(body)?;
        let about_origin = Force::new(point.cross_add(wrench.force, wrench.moment), wrench.force);
        let wrench = self.kinematics.world_from_body[body].force_into(about_origin);
        if all_finite(&wrench.to_array()) {
            return Ok(wrench);
        }
        let name = &self.model.tree().bodies[body].name;
        Err(too_large(&format!("the wrench on body `{name}`")))
    }

    fn locate(&mut self, state: &State) -> Result<()> {
        let still = std::mem::take(&mut self.still);
        let done = self.kinematics(state, &still).map(|_| ());
        self.still = still;
        done
    }

    /// Is this a state of the model?
    pub(crate) fn check(&self, state: &State) -> Result<()> {
        self.check_state(state)
    }

    /// Are these a state, efforts and wrenches of the model? And do wrenches act, those of force elements included?
    pub(crate) fn check_forward(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<bool> {
        self.check_state(state)?;
        self.check_vector("efforts", tau)?;
        self.load(state, external)
    }

    /// Hands the wrenches on the bodies to the recursions, with those of force elements. Are there any?
    fn load(&mut self, state: &State, external: &[Force<f64>]) -> Result<bool> {
        self.check_external(external)?;
        if self.model.forces().is_empty() {
            self.path.load(external);
            return Ok(!external.is_empty());
        }
        let mut wrenches = std::mem::take(&mut self.wrenches);
        let done = self.loaded(state, external, &mut wrenches);
        self.path.load(&wrenches);
        self.wrenches = wrenches;
        done.map(|_| true)
    }

    /// The external wrenches with those of force elements; what each element does goes out.
    pub(crate) fn loaded(
        &mut self,
        state: &State,
        external: &[Force<f64>],
        wrenches: &mut Vec<Force<f64>>,
    ) -> Result<Vec<Action<f64>>> {
        let still = vec![0.0; self.model.nv()];
        self.kinematics(state, &still)?;
        wrenches.clear();
        wrenches.extend_from_slice(external);
        wrenches.resize(self.model.body_count() + 1, Force::zero());
        let mut actions = Vec::with_capacity(self.model.forces().len());
        for element in self.model.forces() {
            let action = elements::act(element, &self.model, &self.kinematics, wrenches);
            let sound = wrenches.iter().all(|wrench| all_finite(&wrench.to_array()));
            if !(sound && all_finite(&[action.energy, action.work, action.dissipated])) {
                return Err(undefined(element, action.measures[1]));
            }
            actions.push(action);
        }
        Ok(actions)
    }

    /// What every force element of the model does at a state: energy, powers, tension and length.
    pub fn force_actions(&mut self, state: &State) -> Result<Vec<Action<f64>>> {
        if self.is_coupled() {
            return self.at_tree(state, Dynamics::force_actions);
        }
        if self.model.forces().is_empty() {
            self.check_state(state)?;
            return Ok(Vec::new());
        }
        let mut wrenches = std::mem::take(&mut self.wrenches);
        let actions = self.loaded(state, &[], &mut wrenches);
        self.wrenches = wrenches;
        actions
    }

    /// Jᵀ w of every force element: the efforts that would do the same.
    pub fn force_efforts(&mut self, state: &State) -> Result<Vec<Vec<f64>>> {
        if self.is_coupled() {
            return self.coupled_force_efforts(state);
        }
        self.force_actions(state)?;
        let model = &self.model;
        let efforts = model.forces().iter().map(|element| {
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            let mut efforts = vec![0.0; model.nv()];
            elements::act(element, model, &self.kinematics, &mut wrenches);
            elements::generalized(model, &self.kinematics, &mut wrenches, &mut efforts);
            efforts
        });
        Ok(efforts.collect())
    }

    /// Powers of the force elements: what they bring in from outside less what they give to a moving base, and what they dissipate.
    pub(crate) fn force_powers(&mut self, state: &State) -> Result<[f64; 2]> {
        let actions = self.force_actions(state)?;
        let work: f64 = actions.iter().map(|action| action.work).sum();
        let lost = actions.iter().map(|action| action.dissipated).sum();
        let to_base = self.wrenches[0].dot(self.kinematics.velocity[0]);
        Ok([work - to_base, lost])
    }

    /// What the model's sensors measure, six numbers each ([`Sensor::measures`](crate::model::Sensor::measures)), at a state with these accelerations under wrenches on
    /// the bodies, as [`inverse`](Self::inverse) takes them; those of constraints are among them.
    pub fn measure(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<Vec<[f64; 6]>> {
        self.inverse(state, vdot, external)?;
        self.kinematics(state, vdot)?;
        let mut numbers = Vec::with_capacity(self.model.sensors().len());
        for sensor in self.model.sensors() {
            let (kinematics, frame) = (&self.kinematics, &sensor.frame);
            let pose = kinematics.frame_pose(frame);
            let found = match sensor.kind {
                SensorKind::Imu => {
                    let velocity = kinematics.frame_velocity(frame);
                    let acceleration = kinematics.frame_acceleration(frame).linear;
                    let (field, turning) =
                        elements::field_at(&self.model, pose.translation, velocity.linear);
                    let felt = acceleration - self.model.gravity() - field;
                    let r = pose.rotation;
                    Motion::new(
                        r.transpose_times(velocity.angular + turning),
                        r.transpose_times(felt),
                    )
                    .to_array()
                }
                SensorKind::ForceTorque { body } => {
                    let wrench = self.joint_wrench(body)?;
                    let in_world = kinematics.world_from_body[body].force_out(wrench);
                    let [nx, ny, nz, fx, fy, fz] = pose.force_into(in_world).to_array();
                    [fx, fy, fz, nx, ny, nz]
                }
            };
            if !all_finite(&found) {
                return Err(too_large(&format!(
                    "what sensor `{}` measures",
                    sensor.name
                )));
            }
            numbers.push(found);
        }
        Ok(numbers)
    }

    fn check_external(&self, external: &[Force<f64>]) -> Result<()> {
        if external.is_empty() {
            return Ok(());
        }
        check_length(
            "external wrenches (one per body, the ground included)",
            external.len(),
            self.model.body_count() + 1,
        )?;
        if let Some(body) = external
            .iter()
            .position(|f| f.to_array().iter().any(|x| !x.is_finite()))
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the external wrench on body `{}` is not finite",
                    self.model.tree().bodies[body].name
                ),
            ));
        }
        Ok(())
    }

    fn check_state(&self, state: &State) -> Result<()> {
        check_length("positions q", state.q.len(), self.model.nq())?;
        check_length("velocities v", state.v.len(), self.model.nv())?;
        if !(all_finite(&state.q) && all_finite(&state.v)) {
            return Err(State::new(&self.model, &state.q, &state.v)
                .err()
                .unwrap_or_else(|| Error::new(ErrorKind::Input, "the state is not finite")));
        }
        self.check_base(&state.base)?;
        for &(body, k) in &self.quaternions {
            let p = &state.q[k..k + 4];
            let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
            if (squared - 1.0).abs() > 1e-9 {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "quaternion of joint `{}` has length {:.9}, not 1",
                        self.model.tree().bodies[body].joint,
                        squared.sqrt()
                    ),
                )
                .hint("make states with `State::new`, which normalises, and move them with `State::step`"));
            }
        }
        Ok(())
    }

    fn check_body(&self, body: usize) -> Result<()> {
        if body <= self.model.body_count() {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Input,
                format!(
                    "there is no body {body}: model `{}` has {}",
                    self.model.name(),
                    self.model.body_count()
                ),
            ))
        }
    }

    /// The motion of the base is finite, and its rotation valid. A base at rest is recognised first.
    fn check_base(&self, base: &Base<f64>) -> Result<()> {
        if *base == Base::fixed() {
            return Ok(());
        }
        let r = base.pose.rotation;
        let parts = [
            r.x,
            r.y,
            r.z,
            base.pose.translation,
            base.velocity.angular,
            base.velocity.linear,
            base.acceleration.angular,
            base.acceleration.linear,
        ];
        if parts.iter().any(|v| !all_finite(&v.to_array())) {
            return Err(Error::new(
                ErrorKind::Input,
                "the motion of the base is not finite",
            ));
        }
        let error = r.transpose() * r - crate::spatial::Mat3::identity();
        let worst = error.x.norm().max(error.y.norm()).max(error.z.norm());
        if worst > 1e-9 || r.x.cross(r.y).dot(r.z) < 0.0 {
            return Err(Error::new(
                ErrorKind::Input,
                "the orientation of the base is not a rotation matrix",
            ));
        }
        Ok(())
    }

    fn check_vector(&self, what: &str, x: &[f64]) -> Result<()> {
        check_length(what, x.len(), self.model.nv())?;
        if all_finite(x) {
            return Ok(());
        }
        match x.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(k) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "{what}: entry of `{}` is {}",
                    self.model.tree().dofs[k].name,
                    x[k]
                ),
            )
            .hint("every number must be finite")),
        }
    }

    /// Brings the factors of the last call to the recursions over components.
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
            #[cfg(target_arch = "x86_64")]
            Kept::InRegisters => {
                if let Path::Fused(work, quads) = &mut self.path {
                    quads.factors.export(&mut work.forward.factors);
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

    pub(crate) fn singular(&self, k: usize, inverse: f64) -> Error {
        singular(&self.model, k, inverse)
    }
}

/// Why freedom k has no usable pivot, the last of all that have none: 1/m̂ is 0 or NaN where m̂ overflowed.
#[cold]
fn singular(model: &Model, k: usize, inverse: f64) -> Error {
    let dof = model.freedom(k);
    let body = &model.tree().bodies[dof.body];
    if inverse == 0.0 || inverse.is_nan() {
        return Error::new(
            ErrorKind::Input,
            format!(
                "the inertia of body `{}` and what it carries overflows at this state, seen along `{}`",
                body.name, dof.name
            ),
        )
        .at(body.place.clone())
        .hint("masses, lengths or positions are too large for double precision");
    }
    Error::new(
            ErrorKind::Singular,
            format!(
                "joint `{}` cannot be accelerated at this state: body `{}` and what it carries have no inertia along `{}`",
                body.joint, body.name, dof.name
            ),
        )
        .at(body.place.clone())
        .hint("give the body inertia, give the joint a rotor (`armature`), or make the joint fixed")
}

fn make_square(matrix: &mut Matrix, n: usize) {
    if matrix.rows() != n {
        *matrix = Matrix::zeros(n, n);
    }
}

/// Has every freedom a pivot to divide by?
pub(crate) fn check_pivots_of(model: &Model, inverse: &[f64]) -> Result<()> {
    match not_positive(inverse) {
        None => Ok(()),
        Some(k) => Err(singular(model, k, inverse[k])),
    }
}

/// The last freedom whose inverse pivot is not a positive number.
fn not_positive(inverse: &[f64]) -> Option<usize> {
    inverse.iter().rposition(|x| !(x.is_finite() && *x > 0.0))
}

/// Are all numbers so small that products of five of them and a million summands are finite?
fn modest(x: &[f64]) -> bool {
    let mut all = true;
    for x in x {
        all &= x.abs() < 1e50;
    }
    all
}

/// Are all numbers of a model that enter its inertia matrix so small?
fn modest_model(model: &Model) -> bool {
    let bodies = model.bodies().all(|i| {
        let (body, s) = (&model.bodies[i], model.bodies[i].inertia.second);
        modest(&[
            body.pitch,
            body.inertia.mass,
            s.xx,
            s.yy,
            s.zz,
            s.xy,
            s.xz,
            s.yz,
        ]) && modest(&body.inertia.first.to_array())
            && modest(&body.placement.translation.to_array())
    });
    bodies && model.dofs.iter().all(|dof| modest(&[dof.armature]))
}

pub(crate) fn all_finite(x: &[f64]) -> bool {
    // 0·x is 0 for finite numbers and NaN otherwise; unlike a search it has no branch inside, and four sums do not wait for each other
    let mut sums = [0.0; 4];
    let (fours, rest) = x.as_chunks::<4>();
    for four in fours {
        for (sum, x) in sums.iter_mut().zip(four) {
            *sum += x * 0.0;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x * 0.0;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) == 0.0
}

fn finite_result(what: &str, model: &Model, x: &[f64]) -> Result<()> {
    if all_finite(x) {
        return Ok(());
    }
    let k = x.iter().position(|x| !x.is_finite()).unwrap_or(0);
    Err(overflow(what, model, k))
}

/// Are these the numbers of a frame?
fn finite_frame(what: &str, frame: &FrameInfo, x: &[f64]) -> Result<()> {
    if all_finite(x) {
        return Ok(());
    }
    Err(too_large(&format!("the {what} of frame `{}`", frame.name)))
}

/// Why a force element has no value at a state.
#[cold]
fn undefined(element: &ForceElement, length: f64) -> Error {
    let name = &element.name;
    let error = match &element.law {
        ForceLaw::Spring(_) if length == 0.0 => Error::new(
            ErrorKind::Singular,
            format!("spring `{name}` has no length at this state, and so no direction"),
        )
        .hint("give it ends that do not meet, or neither rest length nor damping"),
        ForceLaw::Torsion(_) => Error::new(
            ErrorKind::Singular,
            format!("torsion `{name}` has no angle at this state: its axis is turned over"),
        )
        .hint("it is meant for bodies that turn about its axis"),
        ForceLaw::GravityGradient(_) => Error::new(
            ErrorKind::Singular,
            format!("gravity gradient `{name}` has no value at this state"),
        )
        .hint("a body may be at the centre, or a position too large for double precision"),
        _ => too_large(&format!("the force `{name}`")),
    };
    error.at(element.place.clone())
}

/// Refuses non-finite results.
#[cold]
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::Input, format!("{what} overflows"))
        .hint("positions, velocities or forces are too large for double precision")
}

#[cold]
fn overflow(what: &str, model: &Model, freedom: usize) -> Error {
    let name = &model.freedom(freedom).name;
    Error::new(
        ErrorKind::Input,
        format!("{what}: the result for `{name}` overflows"),
    )
    .hint("positions, velocities or forces are too large for double precision")
}

/// A state in numbers of the fused path, with its base lifted before.
#[cfg(target_arch = "x86_64")]
fn fused_view<'a>(state: &'a State, base: &'a Base<Fused>) -> StateView<'a, Fused> {
    StateView {
        q: Fused::slice(&state.q),
        v: Fused::slice(&state.v),
        base,
    }
}

#[cfg(target_arch = "x86_64")]
fn lift(base: &Base<f64>) -> Base<Fused> {
    let vec = |v: Vec3<f64>| Vec3::new(Fused(v.x), Fused(v.y), Fused(v.z));
    let motion = |m: Motion<f64>| Motion::new(vec(m.angular), vec(m.linear));
    let r = base.pose.rotation;
    Base {
        pose: Pose::new(
            crate::spatial::Mat3::from_columns(vec(r.x), vec(r.y), vec(r.z)),
            vec(base.pose.translation),
        ),
        velocity: motion(base.velocity),
        acceleration: motion(base.acceleration),
    }
}
