//! Quantities that a generated function can compute.

/// A quantity of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Efforts of a motion.
    Inverse,
    /// Accelerations.
    Forward,
    /// Inertia matrix.
    Inertia,
    /// Upper triangle of the inertia matrix, without the zeros of a branching tree.
    InertiaUpper,
    /// Factors of the inertia matrix.
    Factor,
    /// Efforts at v̇ = 0.
    Bias,
    /// Efforts at rest.
    Gravity,
    /// Jacobian of a frame.
    Jacobian,
    /// Pose of a frame.
    Pose,
    /// Kinetic and potential energy.
    Energy,
    /// ∂τ/∂q.
    InverseByPosition,
    /// ∂τ/∂v.
    InverseByVelocity,
    /// ∂v̇/∂q.
    ForwardByPosition,
    /// ∂v̇/∂v.
    ForwardByVelocity,
    /// ∂v̇/∂τ = I⁻¹.
    ForwardByEffort,
}

impl Question {
    /// All quantities, with the names of their functions.
    pub const ALL: [(&'static str, Question); 15] = [
        ("inverse", Question::Inverse),
        ("forward", Question::Forward),
        ("inertia", Question::Inertia),
        ("inertia_upper", Question::InertiaUpper),
        ("factor", Question::Factor),
        ("bias", Question::Bias),
        ("gravity", Question::Gravity),
        ("jacobian", Question::Jacobian),
        ("pose", Question::Pose),
        ("energy", Question::Energy),
        ("inverse_dq", Question::InverseByPosition),
        ("inverse_dv", Question::InverseByVelocity),
        ("forward_dq", Question::ForwardByPosition),
        ("forward_dv", Question::ForwardByVelocity),
        ("forward_dtau", Question::ForwardByEffort),
    ];

    /// The name of its function.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, question)| *question == self);
        found.expect("every question is in the list").0
    }

    /// Whether, for a model with constraints, it is computed for the closed mechanism. Others are computed for its tree.
    pub(super) fn is_of_loops(self) -> bool {
        matches!(
            self,
            Question::Forward
                | Question::ForwardByPosition
                | Question::ForwardByVelocity
                | Question::ForwardByEffort
        )
    }

    /// These quantities and the derivatives of `inverse` and `forward`, where these are among them.
    pub fn with_derivatives(questions: &[Question]) -> Vec<Question> {
        super::casadi::with_derivatives(questions)
    }

    /// What the function computes.
    pub fn meaning(self) -> &'static str {
        match self {
            Question::Inverse => "Efforts tau that produce the accelerations vdot at (q, v)",
            Question::Forward => "Accelerations vdot that the efforts tau produce at (q, v)",
            Question::Inertia => "The inertia matrix at q, rotor inertias on its diagonal",
            Question::InertiaUpper => {
                "The upper triangle of the inertia matrix at q, row after row, without the zeros between branches"
            }
            Question::Factor => {
                "The factors of the inertia matrix, U D U^T: U unit upper triangular, D its pivots"
            }
            Question::Bias => {
                "Efforts at vdot = 0: Coriolis, centrifugal, gravity and passive terms"
            }
            Question::Gravity => "Efforts that hold the robot still at q, springs included",
            Question::Jacobian => {
                "The Jacobian of the frame: its twist (angular; linear) from v, world axes, at its origin"
            }
            Question::Pose => "The frame in the world: its rotation matrix, then its position",
            Question::Energy => "Kinetic energy, and potential energy of gravity and springs",
            Question::InverseByPosition => {
                "Derivatives of the efforts of inverse along changes of position, in the coordinates of v"
            }
            Question::InverseByVelocity => "Derivatives of the efforts of inverse by v",
            Question::ForwardByPosition => {
                "Derivatives of the accelerations of forward along changes of position, in the coordinates of v"
            }
            Question::ForwardByVelocity => "Derivatives of the accelerations of forward by v",
            Question::ForwardByEffort => {
                "Derivatives of the accelerations by tau: the inverse of the inertia matrix of a tree"
            }
        }
    }
}
