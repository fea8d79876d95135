//! Dynamics in independent coordinates: the tree's results through the couplings, forward dynamics over clusters.
//!
//! The methods of [`Dynamics`] delegate to these for a model with eliminated couplings: the state is expanded, the tree's method
//! computes, and the result is contracted ([`Couplings`] has the equations).

use super::{Dynamics, Kept, Native, Wrenches, check_pivots_of, finite_result, too_large};
use crate::algorithm::derivatives::{
    CentroidalMomentum, ForwardDerivatives, InverseDerivatives, generalized_jacobian,
};
use crate::algorithm::factorization::{
    ClusterFactorization, OperationalInertia, operational_inertia_of,
};
use crate::algorithm::inertia_matrix::Part;
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::doors::native::Compiled;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::{Couplings, FrameInfo, Model};
use crate::spatial::Force;
use crate::state::{State, check_length};

/// Data in independent coordinates; the rest of a [`Dynamics`] belongs to the tree.
#[derive(Clone, Debug)]
pub(super) struct Coupled {
    /// The model with its couplings.
    pub model: Model,
    /// The state of the tree, accelerations and efforts of the tree.
    state: State,
    rates: Vec<f64>,
    /// τ and v̇ of the independent freedoms.
    pub tau: Vec<f64>,
    pub vdot: Vec<f64>,
    factors: ClusterFactorization<f64>,
    /// Where the factors are stored, and the tree's positions where code left no factors.
    kept: Kept,
    positions: Vec<f64>,
    pub matrices: Matrices,
    pub native: Option<Box<Native>>,
}

/// Matrices of the independent freedoms, each made when first requested.
#[derive(Clone, Debug)]
pub(super) struct Matrices {
    /// A matrix with the tree's rows.
    columns: Matrix,
    pub square: Matrix,
    pub coriolis: Matrix,
    pub jacobian: Matrix,
    pub body_jacobian: Matrix,
    pub regressor: Matrix,
    pub generalized: Matrix,
    pub inverse_inertia: Matrix,
    pub centroidal: Option<CentroidalMomentum>,
    pub inverse: Option<InverseDerivatives>,
    pub forward: Option<ForwardDerivatives>,
}

impl Coupled {
    /// Records that code computed the accelerations at the expanded state, and left no factors.
    fn leave_positions(&mut self) {
        self.positions.copy_from_slice(&self.state.q);
        self.kept = Kept::AtPositions;
    }

    pub(super) fn new(model: &Model, couplings: &Couplings) -> Self {
        let (tree, nv) = (model.clone().open_tree(), model.nv());
        let none = || Matrix::zeros(0, 0);
        Coupled {
            state: State::neutral(&tree),
            rates: vec![0.0; tree.nv()],
            tau: vec![0.0; nv],
            vdot: vec![0.0; nv],
            factors: ClusterFactorization::new(&tree, couplings),
            kept: Kept::None,
            positions: vec![0.0; tree.nq()],
            matrices: Matrices {
                columns: none(),
                square: none(),
                coriolis: none(),
                jacobian: none(),
                body_jacobian: none(),
                regressor: none(),
                generalized: none(),
                inverse_inertia: none(),
                centroidal: None,
                inverse: None,
                forward: None,
            },
            native: None,
            model: model.clone(),
        }
    }

    fn couplings(&self) -> &Couplings {
        let Some(couplings) = self.model.couplings() else {
            unreachable!("made for models with couplings")
        };
        couplings
    }

    /// Checks that this is a vector of the independent freedoms.
    fn check_vector(&self, what: &str, x: &[f64]) -> Result<()> {
        check_length(what, x.len(), self.model.nv())?;
        match x.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(k) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "{what}: entry of `{}` is {}",
                    self.model.freedom(k).name,
                    x[k]
                ),
            )
            .hint("every number must be finite")),
        }
    }

    /// Computes the state of the tree. Quaternions and the base are checked there.
    fn expand(&mut self, state: &State) -> Result<()> {
        check_length("positions q", state.q.len(), self.model.nq())?;
        check_length("velocities v", state.v.len(), self.model.nv())?;
        let is_finite = |x: &f64| x.is_finite();
        if !(state.q.iter().all(is_finite) && state.v.iter().all(is_finite)) {
            State::new(&self.model, &state.q, &state.v)?;
        }
        let Coupled {
            model, state: to, ..
        } = self;
        let Some(couplings) = model.couplings() else {
            return Ok(());
        };
        couplings.expand_positions(&state.q, &mut to.q);
        couplings.expand_rates(&state.v, &mut to.v);
        to.base = state.base;
        match to.q.iter().chain(&to.v).all(is_finite) {
            true => Ok(()),
            false => Err(too_large("a coordinate that follows others")),
        }
    }

    /// Computes the accelerations of the tree.
    fn expand_rates(&mut self, what: &str, x: &[f64]) -> Result<()> {
        self.check_vector(what, x)?;
        let Coupled { model, rates, .. } = self;
        if let Some(couplings) = model.couplings() {
            couplings.expand_rates(x, rates);
        }
        match self.rates.iter().all(|x| x.is_finite()) {
            true => Ok(()),
            false => Err(too_large(
                "the acceleration of a coordinate that follows others",
            )),
        }
    }

    /// Gᵀ A G.
    fn congruence(&mut self, tree: &Matrix, part: Part) -> Matrix {
        let nv = self.model.nv();
        make(&mut self.matrices.columns, tree.rows(), nv);
        let mut out = Matrix::zeros(nv, nv);
        let Some(couplings) = self.model.couplings() else {
            return out;
        };
        couplings.contract_columns(tree, &mut self.matrices.columns);
        couplings.contract_rows(&self.matrices.columns, &mut out);
        if part == Part::Whole {
            // sums in another order differ in their last digits
            for i in 0..nv {
                for j in 0..i {
                    out[(i, j)] = out[(j, i)];
                }
            }
        }
        out
    }

    fn is_compiled_case(state: &State, external: &[Force<f64>]) -> bool {
        external.is_empty() && state.base.is_fixed()
    }
}

fn make(matrix: &mut Matrix, rows: usize, columns: usize) {
    if (matrix.rows(), matrix.columns()) != (rows, columns) {
        *matrix = Matrix::zeros(rows, columns);
    }
}

/// The methods for models with couplings. Each is called only where `is_coupled` says so.
impl Dynamics {
    pub(super) fn is_coupled(&self) -> bool {
        self.coupled.is_some()
    }

    pub(super) fn coupled(&self) -> &Coupled {
        let Some(coupled) = &self.coupled else {
            unreachable!("asked for only where there are couplings")
        };
        coupled
    }

    /// Runs a function on both the tree and the independent coordinates.
    fn with_coupled<T>(
        &mut self,
        work: impl FnOnce(&mut Dynamics, &mut Coupled) -> Result<T>,
    ) -> Result<T> {
        let Some(mut coupled) = self.coupled.take() else {
            unreachable!("asked for only where there are couplings")
        };
        let done = work(self, &mut coupled);
        self.coupled = Some(coupled);
        done
    }

    /// Runs a method of the tree at the expanded state.
    pub(super) fn at_tree<T>(
        &mut self,
        state: &State,
        work: impl FnOnce(&mut Dynamics, &State) -> Result<T>,
    ) -> Result<T> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            work(tree, &coupled.state)
        })
    }

    pub(super) fn coupled_code(&mut self, compiled: &Compiled) {
        if let Some(coupled) = &mut self.coupled {
            coupled.native = Some(Box::new(Native::new(compiled)));
        }
    }

    pub(super) fn coupled_inverse(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&[f64]> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            coupled.expand_rates("accelerations", vdot)?;
            if let Some(native) = &mut coupled.native {
                native.wrenches = Wrenches::InRecursion;
                if let Some(code) = &mut native.codes.inverse
                    && Coupled::is_compiled_case(state, external)
                {
                    tree.check_state(&coupled.state)?;
                    code.run_into(&state.q, &state.v, vdot, &mut coupled.tau);
                    native.remember(state, vdot);
                    return finite_result("joint efforts", &coupled.model, &coupled.tau);
                }
            }
            let tau = tree.inverse(&coupled.state, &coupled.rates, external)?;
            if let Some(couplings) = coupled.model.couplings() {
                couplings.contract(tau, &mut coupled.tau);
            }
            finite_result("joint efforts", &coupled.model, &coupled.tau)
        })?;
        Ok(&self.coupled().tau)
    }

    /// The wrench at a joint after inverse dynamics by code, which does not compute it.
    pub(super) fn coupled_wrench(&self, body: usize) -> Option<Force<f64>> {
        let coupled = self.coupled.as_ref()?;
        let native = coupled.native.as_ref()?;
        if native.wrenches == Wrenches::InRecursion {
            return None;
        }
        let couplings = coupled.couplings();
        let state = native.last_state.of_tree(&coupled.model);
        let mut rates = vec![0.0; state.v.len()];
        couplings.expand_rates(&native.last_vdot, &mut rates);
        let mut work = InverseDynamics::new(&self.model);
        let mut tau = vec![0.0; state.v.len()];
        inverse_dynamics(&self.model, state.view(), &rates, &[], &mut work, &mut tau);
        Some(work.joint_wrench(body))
    }

    pub(super) fn coupled_forward(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&[f64]> {
        self.with_coupled(|tree, coupled| {
            coupled.kept = Kept::None;
            coupled.expand(state)?;
            coupled.check_vector("efforts", tau)?;
            if let Some(native) = &mut coupled.native
                && let Some(code) = &mut native.codes.forward
                && Coupled::is_compiled_case(state, external)
            {
                tree.check_state(&coupled.state)?;
                code.run(&state.q, &state.v, tau);
                let (vdot, inverse_pivots) = code.results();
                coupled.vdot.copy_from_slice(vdot);
                check_pivots_of(&coupled.model, inverse_pivots)?;
                finite_result("accelerations", &coupled.model, &coupled.vdot)?;
                coupled.leave_positions();
                return Ok(());
            }
            tree.coupled_general_forward(coupled, tau, external)
        })?;
        Ok(&self.coupled().vdot)
    }

    /// Computes v̇ at the expanded state: the efforts at v̇ = 0, then a solve over clusters.
    fn coupled_general_forward(
        &mut self,
        coupled: &mut Coupled,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        coupled.rates.fill(0.0);
        let bias = self.inverse(&coupled.state, &coupled.rates, external)?;
        let Some(couplings) = coupled.model.couplings() else {
            return Ok(());
        };
        couplings.contract(bias, &mut coupled.vdot);
        for (x, tau) in coupled.vdot.iter_mut().zip(tau) {
            *x = tau - *x;
        }
        let factors = &mut coupled.factors;
        factors.factorize(&self.model, couplings, &coupled.state.q);
        check_pivots_of(&coupled.model, factors.inverse_pivots())?;
        factors.solve(&self.model, couplings, &mut coupled.vdot);
        finite_result("accelerations", &coupled.model, &coupled.vdot)?;
        coupled.kept = Kept::InComponents;
        Ok(())
    }

    pub(super) fn coupled_inertia(&mut self, state: &State, part: Part) -> Result<&Matrix> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let nv = coupled.model.nv();
            if let Some(native) = &mut coupled.native
                && let Some(code) = &mut native.codes.inertia
            {
                tree.check_state(&coupled.state)?;
                make(&mut coupled.matrices.square, nv, nv);
                code.run_into(&state.q, &[], &[], coupled.matrices.square.as_mut_slice());
            } else {
                // both triangles of the tree's matrix enter
                let whole = tree.inertia(&coupled.state)?;
                coupled.matrices.square = coupled.congruence(whole, part);
            }
            let square = &coupled.matrices.square;
            super::derivatives::finite_matrix("inertia matrix", &coupled.model, square)
        })?;
        Ok(&self.coupled().matrices.square)
    }

    pub(super) fn coupled_factorize(&mut self, state: &State) -> Result<()> {
        self.with_coupled(|tree, coupled| {
            coupled.kept = Kept::None;
            coupled.expand(state)?;
            tree.check_state(&coupled.state)?;
            tree.factorize_clusters(coupled)
        })
    }

    fn factorize_clusters(&mut self, coupled: &mut Coupled) -> Result<()> {
        let Some(couplings) = coupled.model.couplings() else {
            return Ok(());
        };
        let factors = &mut coupled.factors;
        factors.factorize(&self.model, couplings, &coupled.state.q);
        check_pivots_of(&coupled.model, factors.inverse_pivots())?;
        coupled.kept = Kept::InComponents;
        Ok(())
    }

    pub(super) fn coupled_solve(&mut self, x: &mut [f64]) -> Result<()> {
        self.with_coupled(|tree, coupled| {
            coupled.check_vector("right-hand side", x)?;
            if coupled.kept == Kept::AtPositions {
                coupled.kept = Kept::None;
                coupled.state.q.copy_from_slice(&coupled.positions);
                tree.factorize_clusters(coupled)?;
            }
            if coupled.kept == Kept::None {
                return Err(Error::new(
                    ErrorKind::Input,
                    "there is no factorization to solve with",
                )
                .hint("call `factorize` or `forward` first"));
            }
            if let Some(couplings) = coupled.model.couplings() {
                coupled.factors.solve(&tree.model, couplings, x);
            }
            finite_result("solution of I x = b", &coupled.model, x)
        })
    }

    /// The factorization over clusters as an object. For models without couplings there is
    /// [`factorization`](Self::factorization).
    pub fn cluster_factorization(&self, state: &State) -> Result<ClusterFactorization<f64>> {
        let (Some(coupled), Some(couplings)) =
            (&self.coupled, self.coupled.as_ref().map(|c| c.couplings()))
        else {
            return Err(Error::new(
                ErrorKind::Input,
                format!("model `{}` has no couplings", self.model.name()),
            )
            .hint("use `factorization`"));
        };
        let state = State::new(&coupled.model, &state.q, &state.v)?.of_tree(&coupled.model);
        self.check_state(&state)?;
        let mut factors = coupled.factors.clone();
        factors.factorize(&self.model, couplings, &state.q);
        check_pivots_of(&coupled.model, factors.inverse_pivots())?;
        Ok(factors)
    }

    pub(super) fn coupled_force_efforts(&mut self, state: &State) -> Result<Vec<Vec<f64>>> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let all = tree.force_efforts(&coupled.state)?;
            let contracted = all.iter().map(|efforts| {
                let mut own = vec![0.0; coupled.model.nv()];
                coupled.couplings().contract(efforts, &mut own);
                own
            });
            Ok(contracted.collect())
        })
    }

    pub(super) fn coupled_coriolis(&mut self, state: &State) -> Result<&Matrix> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let whole = tree.coriolis(&coupled.state)?;
            coupled.matrices.coriolis = coupled.congruence(whole, Part::Upper);
            let coriolis = &coupled.matrices.coriolis;
            super::derivatives::finite_matrix("C", &coupled.model, coriolis)
        })?;
        Ok(&self.coupled().matrices.coriolis)
    }

    pub(super) fn coupled_kinematics(&mut self, state: &State, vdot: &[f64]) -> Result<()> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            coupled.expand_rates("accelerations", vdot)?;
            tree.kinematics(&coupled.state, &coupled.rates).map(|_| ())
        })
    }

    pub(super) fn coupled_jacobian(&mut self, state: &State, frame: &FrameInfo) -> Result<&Matrix> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let whole = tree.jacobian(&coupled.state, frame)?;
            let (model, to) = (&coupled.model, &mut coupled.matrices.jacobian);
            make(to, 6, model.nv());
            if let Some(couplings) = model.couplings() {
                couplings.contract_columns(whole, to);
            }
            super::derivatives::finite_matrix("Jacobian", model, to)
        })?;
        Ok(&self.coupled().matrices.jacobian)
    }

    pub(super) fn coupled_body_jacobian(&mut self, state: &State, body: usize) -> Result<&Matrix> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let whole = tree.body_jacobian(&coupled.state, body)?;
            let (model, to) = (&coupled.model, &mut coupled.matrices.body_jacobian);
            make(to, 6, model.nv());
            if let Some(couplings) = model.couplings() {
                couplings.contract_columns(whole, to);
            }
            super::derivatives::finite_matrix("Jacobian", model, to)
        })?;
        Ok(&self.coupled().matrices.body_jacobian)
    }

    pub(super) fn coupled_regressor(&mut self, state: &State, vdot: &[f64]) -> Result<&Matrix> {
        self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            coupled.expand_rates("accelerations", vdot)?;
            let whole = tree.regressor(&coupled.state, &coupled.rates)?;
            let (model, to) = (&coupled.model, &mut coupled.matrices.regressor);
            make(to, model.nv(), whole.columns());
            if let Some(couplings) = model.couplings() {
                couplings.contract_rows(whole, to);
            }
            super::derivatives::finite_matrix("regressor", model, to)
        })?;
        Ok(&self.coupled().matrices.regressor)
    }

    pub(super) fn coupled_operational_inertia(
        &mut self,
        state: &State,
        frame: &FrameInfo,
    ) -> Result<OperationalInertia> {
        let jacobian = self.coupled_jacobian(state, frame)?.clone();
        self.coupled_factorize(state)?;
        let mut solved = jacobian.clone();
        for i in 0..solved.rows() {
            self.coupled_solve(solved.row_mut(i))?;
        }
        let x = solved.transpose();
        let found = operational_inertia_of(jacobian.product(&x), x)?;
        let model = &self.coupled().model;
        for (what, matrix) in [
            ("J I⁻¹ Jᵀ", &found.inverse),
            ("Λ", &found.inertia),
            ("I⁻¹ Jᵀ Λ", &found.consistent_inverse),
        ] {
            super::derivatives::finite_matrix(what, model, matrix)?;
        }
        Ok(found)
    }

    pub(super) fn coupled_centroidal_momentum(
        &mut self,
        state: &State,
    ) -> Result<&CentroidalMomentum> {
        let found = self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            let mut found = tree.centroidal_momentum(&coupled.state)?.clone();
            let couplings = coupled.couplings();
            let mut reduced = Matrix::zeros(6, coupled.model.nv());
            for matrix in [&mut found.matrix, &mut found.rate] {
                couplings.contract_columns(matrix, &mut reduced);
                *matrix = reduced.clone();
            }
            super::derivatives::finite_matrix("A_G", &coupled.model, &found.matrix)?;
            super::derivatives::finite_matrix("rate of A_G", &coupled.model, &found.rate)?;
            Ok(found)
        })?;
        let Some(coupled) = &mut self.coupled else {
            unreachable!("asked for only where there are couplings")
        };
        Ok(coupled.matrices.centroidal.insert(found))
    }

    pub(super) fn coupled_generalized_jacobian(
        &mut self,
        state: &State,
        frame: &FrameInfo,
    ) -> Result<&Matrix> {
        self.coupled_jacobian(state, frame)?;
        self.coupled_centroidal_momentum(state)?;
        self.with_coupled(|_, coupled| {
            let (model, matrices) = (&coupled.model, &mut coupled.matrices);
            make(&mut matrices.generalized, 6, model.nv() - 6);
            if let Some(centroidal) = &matrices.centroidal {
                let to = &mut matrices.generalized;
                generalized_jacobian(centroidal, frame, &matrices.jacobian, to);
            }
            super::derivatives::finite_matrix("J*", model, &matrices.generalized)
        })?;
        Ok(&self.coupled().matrices.generalized)
    }

    pub(super) fn coupled_inverse_derivatives(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&InverseDerivatives> {
        let found = self.with_coupled(|tree, coupled| {
            coupled.expand(state)?;
            coupled.expand_rates("accelerations", vdot)?;
            let mut found = InverseDerivatives::new(&coupled.model);
            if let Some(native) = &mut coupled.native
                && let Some(code) = &mut native.codes.inverse_derivatives
                && Coupled::is_compiled_case(state, external)
            {
                tree.check_state(&coupled.state)?;
                code.run(&state.q, &state.v, vdot);
                let InverseDerivatives { dq, dv, inertia } = &mut found;
                let out = [dq, dv, inertia].map(Matrix::as_mut_slice);
                super::derivatives::share_out(code.results().0, out);
            } else {
                let whole = tree.inverse_derivatives(&coupled.state, &coupled.rates, external)?;
                found.dq = coupled.congruence(&whole.dq, Part::Upper);
                found.dv = coupled.congruence(&whole.dv, Part::Upper);
                found.inertia = coupled.congruence(&whole.inertia, Part::Whole);
            }
            found.check(&coupled.model)?;
            Ok(found)
        })?;
        let Some(coupled) = &mut self.coupled else {
            unreachable!("asked for only where there are couplings")
        };
        Ok(coupled.matrices.inverse.insert(found))
    }

    /// ∂v̇/∂x = −I⁻¹ ∂τ/∂x at these accelerations, a solve for each column.
    pub(super) fn coupled_forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&ForwardDerivatives> {
        let model = self.coupled().model.clone();
        let nv = model.nv();
        let mut found = ForwardDerivatives::new(&model);
        let is_compiled = (self.coupled().native.as_ref())
            .is_some_and(|native| native.codes.forward_derivatives.is_some())
            && Coupled::is_compiled_case(state, external);
        if is_compiled {
            self.compiled_coupled_derivatives(state, tau, &mut found)?;
        } else {
            found
                .vdot
                .copy_from_slice(self.coupled_forward(state, tau, external)?);
            let vdot = found.vdot.clone();
            let of_efforts = self.coupled_inverse_derivatives(state, &vdot, external)?;
            let parts = [of_efforts.dq.clone(), of_efforts.dv.clone()];
            let ForwardDerivatives { dq, dv, dtau, .. } = &mut found;
            for (to, from) in [dq, dv].into_iter().zip(parts) {
                let mut columns = from.transpose();
                for j in 0..nv {
                    self.coupled_solve(columns.row_mut(j))?;
                    for i in 0..nv {
                        to[(i, j)] = -columns[(j, i)];
                    }
                }
            }
            self.fill_inverse_inertia(dtau)?;
        }
        found.check(&model)?;
        let Some(coupled) = &mut self.coupled else {
            unreachable!("asked for only where there are couplings")
        };
        Ok(coupled.matrices.forward.insert(found))
    }

    fn compiled_coupled_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
        found: &mut ForwardDerivatives,
    ) -> Result<()> {
        self.with_coupled(|tree, coupled| {
            coupled.kept = Kept::None;
            coupled.expand(state)?;
            coupled.check_vector("efforts", tau)?;
            tree.check_state(&coupled.state)?;
            if let Some(native) = &mut coupled.native
                && let Some(code) = &mut native.codes.forward_derivatives
            {
                code.run(&state.q, &state.v, tau);
                let (numbers, inverse_pivots) = code.results();
                let ForwardDerivatives { vdot, dq, dv, dtau } = found;
                let out = [dq, dv, dtau].map(Matrix::as_mut_slice);
                super::derivatives::share_out(numbers, out);
                vdot.copy_from_slice(&numbers[numbers.len() - coupled.model.nv()..]);
                coupled.vdot.copy_from_slice(vdot);
                check_pivots_of(&coupled.model, inverse_pivots)?;
                finite_result("accelerations", &coupled.model, &coupled.vdot)?;
            }
            coupled.leave_positions();
            Ok(())
        })
    }

    pub(super) fn coupled_inverse_inertia(&mut self, state: &State) -> Result<&Matrix> {
        self.coupled_factorize(state)?;
        let nv = self.coupled().model.nv();
        let mut inverse = Matrix::zeros(nv, nv);
        self.fill_inverse_inertia(&mut inverse)?;
        let Some(coupled) = &mut self.coupled else {
            unreachable!("asked for only where there are couplings")
        };
        super::derivatives::finite_matrix("I⁻¹", &coupled.model, &inverse)?;
        coupled.matrices.inverse_inertia = inverse;
        Ok(&coupled.matrices.inverse_inertia)
    }

    fn fill_inverse_inertia(&mut self, to: &mut Matrix) -> Result<()> {
        to.clear();
        for k in 0..to.rows() {
            to[(k, k)] = 1.0;
            self.coupled_solve(to.row_mut(k))?;
        }
        // round-off of the solves is not symmetric
        for i in 0..to.rows() {
            for j in 0..i {
                let mean = 0.5 * (to[(i, j)] + to[(j, i)]);
                (to[(i, j)], to[(j, i)]) = (mean, mean);
            }
        }
        Ok(())
    }
}
