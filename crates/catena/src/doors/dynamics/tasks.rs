//! Regressors, momentum and inertia at a frame, through the checked entry point.

use super::Dynamics;
use crate::algorithm::derivatives::{
    CentroidalMomentum, centroidal_momentum, generalized_jacobian,
};
use crate::algorithm::factorization::{OperationalInertia, SolveColumns, operational_inertia};
use crate::algorithm::inverse_dynamics::regressor;
use crate::algorithm::kinematics::body_jacobian;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::FrameInfo;
use crate::state::State;

/// Results and workspaces, each made when first requested.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    regressor: Option<Matrix>,
    centroidal: Option<CentroidalMomentum>,
    generalized: Option<Matrix>,
    solver: Option<SolveColumns<f64>>,
    body_jacobian: Option<Matrix>,
}

impl Dynamics {
    /// Y with τ = Y π, nv × 10 n: efforts as a linear function of the bodies' inertias. The parameters are those of
    /// [`inertial_parameters`](crate::algorithm::inverse_dynamics::inertial_parameters); rotors, passive and external forces
    /// and force elements are not in Y π: the efforts of inverse dynamics are Y π plus theirs. A gravity gradient, which
    /// depends on the inertias too, is rejected.
    pub fn regressor(&mut self, state: &State, vdot: &[f64]) -> Result<&Matrix> {
        self.model.expect_no_gravity_gradient("the regressor")?;
        if self.is_coupled() {
            return self.coupled_regressor(state, vdot);
        }
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        let model = &self.model;
        let y = self
            .tasks
            .regressor
            .get_or_insert_with(|| Matrix::zeros(model.nv(), 10 * model.body_count()));
        regressor(model, state.view(), vdot, &mut self.kinematics, y);
        super::derivatives::finite_matrix("regressor", model, y)?;
        Ok(y)
    }

    /// Jacobian of a body in its own axes about its origin (6 × nv, angular rows first). External wrenches w enter
    /// inverse dynamics by −Jᵀ w.
    pub fn body_jacobian(&mut self, state: &State, body: usize) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_body_jacobian(state, body);
        }
        self.locate(state)?;
        self.check_body(body)?;
        let model = &self.model;
        let jacobian = self
            .tasks
            .body_jacobian
            .get_or_insert_with(|| Matrix::zeros(6, model.nv()));
        body_jacobian(model, &self.kinematics, body, jacobian);
        super::derivatives::finite_matrix("Jacobian", model, jacobian)?;
        Ok(jacobian)
    }

    /// J I⁻¹ Jᵀ and its inverse Λ, for the Jacobian of a frame (world axes, at the frame's origin). An error with the
    /// numbers where Λ does not exist.
    pub fn operational_inertia(
        &mut self,
        state: &State,
        frame: &FrameInfo,
    ) -> Result<OperationalInertia> {
        if self.is_coupled() {
            return self.coupled_operational_inertia(state, frame);
        }
        let jacobian = self.jacobian(state, frame)?.clone();
        let factors = self.factorization(state)?;
        let model = &self.model;
        let solver = self
            .tasks
            .solver
            .get_or_insert_with(|| SolveColumns::new(model));
        let found = operational_inertia(model, &factors, solver, &jacobian)?;
        for (what, matrix) in [
            ("J I⁻¹ Jᵀ", &found.inverse),
            ("Λ", &found.inertia),
            ("I⁻¹ Jᵀ Λ", &found.consistent_inverse),
        ] {
            super::derivatives::finite_matrix(what, model, matrix)?;
        }
        Ok(found)
    }

    /// The centroidal momentum matrix A_G and its rate, with mass, mass centre and inertia of the whole system.
    pub fn centroidal_momentum(&mut self, state: &State) -> Result<&CentroidalMomentum> {
        if self.is_coupled() {
            return self.coupled_centroidal_momentum(state);
        }
        self.check_state(state)?;
        let model = &self.model;
        let result = self
            .tasks
            .centroidal
            .get_or_insert_with(|| CentroidalMomentum::new(model));
        centroidal_momentum(model, state.view(), result);
        if result.mass.is_nan() || result.mass <= 0.0 {
            return Err(Error::new(
                ErrorKind::Singular,
                format!("model `{}` has no mass, hence no mass centre", model.name()),
            ));
        }
        super::derivatives::finite_matrix("A_G", model, &result.matrix)?;
        super::derivatives::finite_matrix("rate of A_G", model, &result.rate)?;
        let s = result.inertia;
        let known = super::all_finite(&result.bias.to_array())
            && super::all_finite(&result.centre.to_array())
            && super::all_finite(&[s.xx, s.yy, s.zz, s.xy, s.xz, s.yz]);
        if !known {
            return Err(super::too_large("the centroidal momentum of this state"));
        }
        Ok(result)
    }

    /// J* of a frame of a free-floating robot, 6 × (nv − 6): the frame's twist (world axes) is J* θ̇ while the momentum is
    /// zero, θ̇ being the rates of all joints but the first.
    pub fn generalized_jacobian(&mut self, state: &State, frame: &FrameInfo) -> Result<&Matrix> {
        if !self.model.tree().is_free_floating() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "model `{}` does not float freely: it has no generalized Jacobian",
                    self.model.name()
                ),
            )
            .hint("exactly one body must be joined to the ground, by a free joint"));
        }
        if self.is_coupled() {
            return self.coupled_generalized_jacobian(state, frame);
        }
        self.jacobian(state, frame)?;
        self.centroidal_momentum(state)?;
        let columns = self.model.nv() - 6;
        let tasks = &mut self.tasks;
        let Some(centroidal) = &tasks.centroidal else {
            unreachable!("made above")
        };
        let generalized = tasks
            .generalized
            .get_or_insert_with(|| Matrix::zeros(6, columns));
        generalized_jacobian(centroidal, frame, &self.jacobian, generalized);
        super::derivatives::finite_matrix("J*", &self.model, generalized)?;
        Ok(generalized)
    }
}
