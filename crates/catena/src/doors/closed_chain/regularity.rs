//! How far is a position from the dead points of a mechanism?
//!
//! At a dead point the rows of the constraints lose rank, and near it they almost do: residuals grow with the square of the distance there, so that
//! assembly ends at positions that are closed to its tolerance ε but √ε away from a closed one. Random positions are compared with each other,
//! because how small singular values are elsewhere is a property of the mechanism.

use super::ClosedChain;
use crate::error::Result;
use crate::state::State;

/// The smallest pivot of a regular position is at least this fraction of that of the best position.
const REGULAR: f64 = 1e-2;

/// How far a position is from dead points.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Regularity {
    /// Independent rows.
    pub rank: usize,
    /// The smallest pivot of the independent rows relative to the largest, in the metric of the inertia matrix.
    pub least: f64,
}

impl Regularity {
    /// Whether the position is regular, if `best` is the best of the mechanism.
    pub fn is_regular(self, best: Regularity) -> bool {
        self.rank == best.rank && self.least >= REGULAR * best.least
    }

    /// The better of two: that of higher rank, else that of larger pivots.
    pub fn or(self, other: Regularity) -> Regularity {
        if other > self { other } else { self }
    }
}

impl ClosedChain {
    /// How far a state is from dead points; its loops need not be closed.
    pub fn regularity(&mut self, time: f64, state: &State) -> Result<Regularity> {
        self.decompose(time, state)?;
        let decomposition = &self.work.decomposition;
        let rank = decomposition.rank();
        let least = match rank {
            0 => 1.0,
            _ => decomposition.pivot(rank - 1).1 / decomposition.pivot(0).1,
        };
        Ok(Regularity { rank, least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::embedded;

    /// A parallelogram loses rank where it is folded flat, and is nearly singular beside that position.
    #[test]
    fn a_folded_parallelogram_is_not_regular() {
        let model = embedded::model("four-bar-1").expect("embedded");
        let mut chain = ClosedChain::new(&model);
        let mut at = |angle: f64| {
            let mut state = State::start(&model);
            state.q = vec![angle, -angle, angle];
            chain.regularity(0.0, &state).expect("finite")
        };
        let (best, folded, beside) = (at(1.0), at(0.0), at(1e-4));
        assert!(best.is_regular(best));
        assert!(!folded.is_regular(best), "{folded:?} {best:?}");
        assert!(!beside.is_regular(best), "{beside:?} {best:?}");
        assert_eq!(folded.or(best), best);
    }
}
