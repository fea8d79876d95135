//! Coefficients of an explicit embedded Runge–Kutta method with dense output.
//!
//! ```text
//! kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ),  i = 0 … s−1          stages                       (1)
//! y₁ = y + h Σ bᵢ kᵢ,   k_s = f(t + h, y₁)                  step                         (2)
//! e  = h Σ eᵢ kᵢ,       e = b − b̂                           error estimate               (3)
//! y(θ) = H(θ) + θ²(1−θ)² Σⱼ θʲ h Σᵢ dᵢⱼ kᵢ                  dense output                 (4)
//! ```
//!
//! H is the cubic through both ends with the derivatives k₀ and k_s there, so that (4) and its derivative are continuous
//! whatever the round-off in d, and exact at both ends. Every interpolant with these two properties can be written in this form.
//!
//! The derivative at the end of the step is always stage s here, whether the method uses it in (3), and thus has it before
//! the step is accepted ("first same as last"), or not. Stages after s serve dense output only.

/// How the error of a step is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorEstimate {
    /// Weights e = b − b̂ of the stages; one more than there are stages if the derivative at the end takes part.
    Single(&'static [f64]),
    /// Weights of an estimate of higher and one of lower order, combined as in DOP853: e₅² / √(e₅² + 0.01 e₃²).
    Pair(&'static [f64], &'static [f64]),
}

/// Coefficients of a method; see the equations above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tableau {
    /// Order of the solution: error of a step O(hᵖ⁺¹).
    pub order: usize,
    /// Order of the estimate: it behaves as O(h^(this + 1)).
    pub estimate_order: usize,
    /// c, one per stage.
    pub nodes: &'static [f64],
    /// a, row i has i entries.
    pub stages: &'static [&'static [f64]],
    /// b.
    pub weights: &'static [f64],
    /// e.
    pub error: ErrorEstimate,
    /// c of the stages after s.
    pub extra_nodes: &'static [f64],
    /// a of the stages after s.
    pub extra_stages: &'static [&'static [f64]],
    /// d, one row per stage (0 … s and the extra ones), one column per power of θ.
    pub dense: &'static [&'static [f64]],
    /// Order of the dense output: error within a step O(h^(this + 1)).
    pub dense_order: usize,
}

impl Tableau {
    /// Number of stages s, the derivative at the end not counted.
    pub const fn stage_count(&self) -> usize {
        self.nodes.len()
    }

    /// Does the estimate need the derivative at the end of the step?
    pub const fn first_same_as_last(&self) -> bool {
        match self.error {
            ErrorEstimate::Single(e) => e.len() > self.nodes.len(),
            ErrorEstimate::Pair(e, _) => e.len() > self.nodes.len(),
        }
    }
}
