//! Dormand–Prince 5(4): the pair of DOPRI5 and of MATLAB's `ode45`; first same as last, interpolant of order 4.
//!
//! Coefficients: J. R. Dormand and P. J. Prince, A family of embedded Runge–Kutta formulae, J. Comput. Appl. Math. 6 (1980),
//! 19–26; interpolant: E. Hairer, S. P. Nørsett and G. Wanner, Solving Ordinary Differential Equations I (1993), sec. II.6,
//! and `dopri5.f`.

use crate::card::Card;
use crate::integrate::tableau::{ErrorEstimate, Tableau};

/// Dormand–Prince 5(4).
pub const CARD: Card = Card {
    name: "Dormand–Prince 5(4)",
    question: "integration in time",
    call: "Adaptive",
    file: "integrate/dormand_prince5.rs",
    order: "6 evaluations per step",
    source: "Dormand & Prince 1980; Hairer, Nørsett & Wanner 1993, sec. II.6",
};

/// The coefficients; see [`Tableau`] for how stages are counted.
pub static TABLEAU: Tableau = Tableau {
    order: 5,
    estimate_order: 4,
    nodes: &[0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0],
    stages: &[
        &[],
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[
            19372.0 / 6561.0,
            -25360.0 / 2187.0,
            64448.0 / 6561.0,
            -212.0 / 729.0,
        ],
        &[
            9017.0 / 3168.0,
            -355.0 / 33.0,
            46732.0 / 5247.0,
            49.0 / 176.0,
            -5103.0 / 18656.0,
        ],
    ],
    weights: &[
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
    ],
    error: ErrorEstimate::Single(&[
        71.0 / 57600.0,
        0.0,
        -71.0 / 16695.0,
        71.0 / 1920.0,
        -17253.0 / 339200.0,
        22.0 / 525.0,
        -1.0 / 40.0,
    ]),
    extra_nodes: &[],
    extra_stages: &[],
    dense: &[
        &[-12715105075.0 / 11282082432.0],
        &[0.0],
        &[87487479700.0 / 32700410799.0],
        &[-10690763975.0 / 1880347072.0],
        &[701980252875.0 / 199316789632.0],
        &[-1453857185.0 / 822651844.0],
        &[69997945.0 / 29380423.0],
    ],
    dense_order: 4,
};
