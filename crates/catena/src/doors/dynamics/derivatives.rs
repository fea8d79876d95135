//! Derivatives, through the checked entry point.

use super::{Dynamics, DynamicsWork, Kept, Path, make_square};
use crate::algorithm::derivatives::inverse::PairRecursion;
use crate::algorithm::derivatives::pairs::Pairs;
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::derivatives::{ForwardDerivatives, InverseDerivatives, forward};
use crate::algorithm::elements;
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::pack::One;
use crate::arch::{Cpu, Derivatives, Of};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::{State, StateView};
use crate::thresholds::INVERSE_BY_TRIANGLE;

/// Results and workspaces; quadratic in the number of freedoms, made when first requested.
#[derive(Clone, Debug)]
pub(super) struct Store {
    inverse: Option<InverseDerivatives>,
    forward: Option<ForwardDerivatives>,
    inverse_inertia: Matrix,
    workspaces: Workspaces,
}

/// The workspaces of generic recursions.
#[derive(Clone, Debug)]
struct Plain {
    inverse: PairRecursion<f64>,
    pairs: Pairs<f64>,
    forward: forward::Recursion<f64>,
    sweeps: Sweeps<f64, One>,
    columns: Columns<f64, One>,
}

#[derive(Clone, Debug)]
enum Workspaces {
    Baseline(Plain),
    Registers(Derivatives),
}

impl Plain {
    fn new(model: &Model) -> Self {
        Plain {
            inverse: PairRecursion::new(model),
            pairs: Pairs::new::<f64, One, f64>(model),
            forward: forward::Recursion::new(model),
            sweeps: Sweeps::new(model),
            columns: Columns::new(model, INVERSE_BY_TRIANGLE),
        }
    }

    /// All three matrices. Are all entries found finite?
    fn run(
        &mut self,
        of: Of,
        door: &DynamicsWork,
        model: &Model,
        state: StateView<'_>,
        vdot: &[f64],
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        let external = if loaded { &door.external[..] } else { &[] };
        let bad = match of {
            Of::Inverse => {
                self.inverse.run(model, state, vdot, external);
                let freedoms = &self.inverse.freedoms;
                (self.pairs).run::<f64, One, f64, true>(model, freedoms, out)
            }
            Of::Forward => {
                let factors = &door.forward.factors;
                (self.forward).run(model, state, vdot, external, factors);
                self.sweeps.run(model, &self.forward.freedoms, out)
            }
        };
        !bad.is_nan()
    }
}

impl Workspaces {
    /// All three matrices. Returns whether all entries are finite. Springs, dampers and rotors are added later.
    fn run(
        &mut self,
        of: Of,
        path: &Path,
        model: &Model,
        state: &State,
        vdot: &[f64],
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        match (self, path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.run(of, door, model, state.view(), vdot, loaded, out)
            }
            (Workspaces::Registers(work), Path::Registers(one)) => {
                work.run(of, one, model, state, vdot, loaded, out)
            }
            _ => unreachable!("workspaces are made for the path"),
        }
    }

    /// I⁻¹ with the current factors.
    fn inverse_inertia(&mut self, path: &Path, model: &Model, out: &mut [f64]) {
        match (self, path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.columns.prepare(model, &door.forward.factors);
                work.columns.inverse(model, out);
            }
            (Workspaces::Registers(work), Path::Registers(one)) => {
                work.inverse_inertia(one, model, out);
            }
            _ => unreachable!("workspaces are made for the path"),
        }
    }
}

impl Store {
    fn new(model: &Model, path: &Path, widest: Cpu) -> Self {
        let in_registers = match path {
            Path::Baseline(_) => None,
            Path::Registers(_) => Derivatives::new(model, widest),
        };
        Store {
            inverse: None,
            forward: None,
            inverse_inertia: Matrix::zeros(0, 0),
            workspaces: match in_registers {
                None => Workspaces::Baseline(Plain::new(model)),
                Some(work) => Workspaces::Registers(work),
            },
        }
    }
}

impl Dynamics {
    /// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = I of [`inverse`](Self::inverse).
    ///
    /// Derivatives with respect to q are along the increments of [`State::step`]. External wrenches are taken as constant
    /// in body axes, Coulomb friction as constant; force elements change with the state.
    pub fn inverse_derivatives(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&InverseDerivatives> {
        if self.is_coupled() {
            return self.coupled_inverse_derivatives(state, vdot, external);
        }
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        let loaded = self.load(state, external)?;
        let slopes = self.force_slopes(state);
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .inverse
            .get_or_insert_with(|| InverseDerivatives::new(model));
        let InverseDerivatives { dq, dv, inertia } = derivatives;
        let out = [dq, dv, inertia].map(Matrix::as_mut_slice);
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.inverse_derivatives
            && !loaded
            && state.base.is_fixed()
        {
            code.run(&state.q, &state.v, vdot);
            share_out(code.results().0, out);
            derivatives.check(model)?;
            return Ok(derivatives);
        }
        let path = &self.path;
        let finite = (store.workspaces).run(Of::Inverse, path, model, state, vdot, loaded, out);
        // springs, dampers and rotors are added after the entries have been tested
        let tree = model.tree();
        if let Some([along_q, along_v]) = &slopes {
            subtract(&mut derivatives.dq, along_q);
            subtract(&mut derivatives.dv, along_v);
        }
        if !finite || tree.has_passive_forces || tree.has_rotors || slopes.is_some() {
            derivatives.check(model)?;
        }
        Ok(derivatives)
    }

    /// v̇ of [`forward`](Self::forward) with ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹; conventions as in
    /// [`inverse_derivatives`](Self::inverse_derivatives). The factorization is kept: see [`solve`](Self::solve).
    pub fn forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&ForwardDerivatives> {
        if self.is_coupled() {
            return self.coupled_forward_derivatives(state, tau, external);
        }
        if let Some(native) = &self.native
            && native.codes.forward_derivatives.is_some()
            && external.is_empty()
            && self.model.forces().is_empty()
            && state.base.is_fixed()
        {
            return self.compiled_forward_derivatives(state, tau);
        }
        self.general_forward(state, tau, external)?;
        let slopes = self.force_slopes(state);
        let loaded = !external.is_empty() || slopes.is_some();
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        vdot.copy_from_slice(&self.vdot);
        let out = [dq, dv, dtau].map(Matrix::as_mut_slice);
        let path = &self.path;
        let finite = (store.workspaces).run(Of::Forward, path, model, state, vdot, loaded, out);
        if let Some([along_q, along_v]) = &slopes {
            // I ∂v̇ = … + Jᵀ ∂w
            add_product(&mut derivatives.dq, &derivatives.dtau, along_q);
            add_product(&mut derivatives.dv, &derivatives.dtau, along_v);
        }
        if !finite || model.tree().has_passive_forces || slopes.is_some() {
            let kept = std::mem::replace(&mut self.factors, Kept::None);
            derivatives.check(model)?;
            self.factors = kept;
        }
        Ok(derivatives)
    }

    /// Jᵀ ∂w/∂q and Jᵀ ∂w/∂v of the force elements, if there are any.
    fn force_slopes(&self, state: &State) -> Option<[Matrix; 2]> {
        let has_forces = !self.model.forces().is_empty();
        has_forces.then(|| elements::slopes(&self.model, state))
    }

    /// Derivatives of forward dynamics by code generated for the model.
    fn compiled_forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
    ) -> Result<&ForwardDerivatives> {
        self.factors = Kept::None;
        self.model.expect_tree()?;
        self.check_forward(state, tau, &[])?;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.forward_derivatives
        {
            code.run(&state.q, &state.v, tau);
            let (found, inverse_pivots) = code.results();
            share_out(found, [dq, dv, dtau].map(Matrix::as_mut_slice));
            vdot.copy_from_slice(&found[found.len() - model.nv()..]);
            self.vdot.copy_from_slice(vdot);
            super::check_pivots_of(model, inverse_pivots)?;
            super::finite_result("accelerations", model, &self.vdot)?;
            derivatives.check(model)?;
            native.positions.copy_from_slice(&state.q);
            self.factors = Kept::AtPositions;
        }
        Ok(derivatives)
    }

    /// I⁻¹ in O(n²). The factorization is kept: see [`solve`](Self::solve).
    pub fn inverse_inertia(&mut self, state: &State) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_inverse_inertia(state);
        }
        self.factorize(state)?;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        make_square(&mut store.inverse_inertia, model.nv());
        let out = store.inverse_inertia.as_mut_slice();
        (store.workspaces).inverse_inertia(&self.path, model, out);
        finite_matrix("I⁻¹", model, &store.inverse_inertia)?;
        Ok(&store.inverse_inertia)
    }
}

impl InverseDerivatives {
    /// Checks that all entries are finite.
    pub(super) fn check(&self, model: &Model) -> Result<()> {
        finite_matrix("∂τ/∂q", model, &self.dq)?;
        finite_matrix("∂τ/∂v", model, &self.dv)?;
        finite_matrix("∂τ/∂v̇", model, &self.inertia)
    }
}

impl ForwardDerivatives {
    /// Checks that all entries are finite.
    pub(super) fn check(&self, model: &Model) -> Result<()> {
        finite_matrix("∂v̇/∂q", model, &self.dq)?;
        finite_matrix("∂v̇/∂v", model, &self.dv)?;
        finite_matrix("∂v̇/∂τ", model, &self.dtau)
    }
}

/// a − b, in place.
fn subtract(a: &mut Matrix, b: &Matrix) {
    for (a, b) in a.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *a -= b;
    }
}

/// a + b c, in place.
fn add_product(a: &mut Matrix, b: &Matrix, c: &Matrix) {
    for i in 0..a.rows() {
        for k in 0..c.rows() {
            let factor = b[(i, k)];
            for (a, c) in a.row_mut(i).iter_mut().zip(c.row(k)) {
                *a += factor * c;
            }
        }
    }
}

/// Matrices stored one after another.
pub(super) fn share_out(from: &[f64], out: [&mut [f64]; 3]) {
    let mut rest = from;
    for out in out {
        let (own, others) = rest.split_at(out.len());
        out.copy_from_slice(own);
        rest = others;
    }
}

pub(super) fn finite_matrix(what: &str, model: &Model, matrix: &Matrix) -> Result<()> {
    if all_finite(matrix.as_slice()) {
        return Ok(());
    }
    let at = matrix
        .as_slice()
        .iter()
        .position(|x| !x.is_finite())
        .unwrap_or(0);
    let row = at / matrix.columns();
    Err(Error::new(
        ErrorKind::Input,
        match matrix.rows() == model.nv() {
            true => format!("{what}: the row of `{}` overflows", model.freedom(row).name),
            false => format!("{what}: row {} overflows", row + 1),
        },
    )
    .hint("positions, velocities or forces are too large for double precision"))
}

/// Are all numbers finite? In eight independent sums.
fn all_finite(x: &[f64]) -> bool {
    let mut sums = [0.0; 8];
    let (eights, rest) = x.as_chunks::<8>();
    for eight in eights {
        for (sum, x) in sums.iter_mut().zip(eight) {
            *sum += x * 0.0;
        }
    }
    super::all_finite(&sums) && super::all_finite(rest)
}
