//! Tsitouras 5(4): usually the best pair of order 5; first same as last, interpolant of order 4.
//!
//! Coefficients: Ch. Tsitouras, Runge–Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
//! Comput. Math. Appl. 62 (2011), 770–775, in the digits of DiffEqDevTools.jl (85 decimals, rounded here to f64). The
//! interpolant is that of the paper; only its coefficients of θ⁴ are needed, see [`Tableau::dense`].

use crate::card::Card;
use crate::integrate::tableau::{ErrorEstimate, Tableau};

/// Tsitouras 5(4).
pub const CARD: Card = Card {
    name: "Tsitouras 5(4)",
    question: "integration in time",
    call: "Adaptive",
    file: "integrate/tsitouras5.rs",
    order: "6 evaluations per step",
    source: "Tsitouras 2011",
};

/// The coefficients; see [`Tableau`] for how stages are counted.
pub static TABLEAU: Tableau = Tableau {
    order: 5,
    estimate_order: 4,
    nodes: &[0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0],
    stages: &[
        &[],
        &[0.161],
        &[-0.008480655492356989, 0.335480655492357],
        &[2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        &[
            5.325864828439257,
            -11.748883564062828,
            7.4955393428898365,
            -0.09249506636175525,
        ],
        &[
            5.86145544294642,
            -12.92096931784711,
            8.159367898576159,
            -0.071584973281401,
            -0.028269050394068383,
        ],
    ],
    weights: &[
        0.09646076681806523,
        0.01,
        0.4798896504144996,
        1.379008574103742,
        -3.290069515436081,
        2.324710524099774,
    ],
    error: ErrorEstimate::Single(&[
        0.0017800110522257714,
        0.0008164344596567469,
        -0.007880878010261995,
        0.1447110071732629,
        -0.5823571654525552,
        0.45808210592918697,
        -0.015151515151515152,
    ]),
    extra_nodes: &[],
    extra_stages: &[],
    dense: &[
        &[-1.0530884977290216],
        &[0.1017],
        &[2.490627285651253],
        &[-16.548102889244902],
        &[47.37952196281928],
        &[-34.87065786149661],
        &[2.5],
    ],
    dense_order: 4,
};
