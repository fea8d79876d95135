//! Storing of results with a state in each lane to the results of each state.
//!
//! As many consecutive numbers of a result as there are lanes come from as many registers: a square block, transposed.
//! A register may hold several numbers (mirrored entries of a symmetric matrix) and some numbers are
//! always zero (between branches of a tree), so each block lists its registers.

use crate::arch::prefetch;
use crate::scalar::{Scalar, Vector, Wide};
use crate::thresholds::SQUARES_AHEAD;
use std::marker::PhantomData;

/// The blocks in which one kind of result is written.
#[derive(Clone, Debug)]
pub(crate) struct Squares<V> {
    squares: Vec<Square>,
    /// The register of every number of the result; `zero` for those that are zero.
    places: Vec<u32>,
    /// The registers that are read, and how many of them are tested with each square.
    read: Vec<u32>,
    share: usize,
    /// A register after all others, kept zero.
    zero: usize,
    lanes: PhantomData<V>,
}

/// Consecutive numbers of a result.
#[derive(Clone, Copy, Debug)]
struct Square {
    /// Index of the first number.
    at: u32,
    /// Are all numbers zero?
    zero: bool,
    /// The first number of a later square, and whether it does not follow the square before it.
    ahead: u32,
    apart: bool,
    from: [u32; 8],
}

impl<V: Vector> Squares<V> {
    /// The blocks of results whose numbers come from these registers, of the given count, or are zero. The wanted numbers are written; the
    /// others may be overwritten with anything.
    pub fn new(places: &[Option<u32>], registers: usize, wanted: impl Fn(usize) -> bool) -> Self {
        let size = places.len();
        let places: Vec<u32> = places
            .iter()
            .map(|place| place.unwrap_or(registers as u32))
            .collect();
        let mut squares = Vec::new();
        let mut first = 0;
        while first < size && size >= V::LANES {
            if !wanted(first) {
                first += 1;
                continue;
            }
            let end = (first..size).find(|&k| !wanted(k)).unwrap_or(size);
            let mut apart = true;
            while first < end {
                // the last square ends where the wanted numbers end, if there are enough before it
                let at = first.min(end.max(V::LANES) - V::LANES);
                let mut from = [registers as u32; 8];
                from[..V::LANES].copy_from_slice(&places[at..at + V::LANES]);
                let mut wanted_ones = (at..at + V::LANES).filter(|&k| wanted(k));
                let zero = wanted_ones.all(|k| places[k] == registers as u32);
                squares.push(Square {
                    at: at as u32,
                    zero,
                    ahead: at as u32,
                    apart,
                    from,
                });
                apart = false;
                first = at + V::LANES;
            }
        }
        for k in 0..squares.len() {
            let Square { at, apart, .. } = squares[(k + SQUARES_AHEAD).min(squares.len() - 1)];
            (squares[k].ahead, squares[k].apart) = (at, apart);
        }
        let mut read: Vec<u32> = (0..size)
            .filter(|&k| wanted(k) && places[k] < registers as u32)
            .map(|k| places[k])
            .collect();
        read.sort_unstable();
        read.dedup();
        Squares {
            share: read.len().div_ceil(squares.len().max(1)),
            squares,
            places,
            read,
            zero: registers,
            lanes: PhantomData,
        }
    }

    /// Number of registers required.
    pub fn registers(&self) -> usize {
        self.zero + 1
    }

    /// Prefetches the cache lines of the first blocks.
    #[inline(always)]
    pub fn prefetch_first(&self, out: &[f64]) {
        let (size, count) = (self.places.len(), self.squares.len().min(SQUARES_AHEAD));
        for square in &self.squares[..count] {
            for lane in 0..V::LANES {
                let at = lane * size + square.at as usize;
                prefetch(out, at);
                prefetch(out, at + V::LANES - 1);
            }
        }
    }

    /// Stores one register of results, or as many states as fit in `out`. Returns `bad`, with NaN where a number is non-finite.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub fn write(&self, from: &mut [Wide<V>], out: &mut [f64], mut bad: Wide<V>) -> Wide<V> {
        let size = self.places.len();
        let zero = Wide::<V>::zero();
        from[self.zero] = zero;
        let read = &self.read[..];
        if out.len() < V::LANES * size || self.squares.is_empty() {
            self.write_slowly(from, out);
            for k in 0..read.len() {
                bad = from[read[k] as usize].mul_add(zero, bad);
            }
            return bad;
        }
        let mut others = zero;
        let mut looked_at = 0;
        for square in &self.squares {
            let ahead = square.ahead as usize;
            for lane in 0..V::LANES {
                prefetch(out, lane * size + ahead + V::LANES - 1);
            }
            if square.apart {
                for lane in 0..V::LANES {
                    prefetch(out, lane * size + ahead);
                }
            }
            // SAFETY: `new` has made squares that end within a result, of registers up to `zero`. There is a register `zero`, and
            // room for results in all lanes: both were checked above.
            unsafe {
                // finiteness is tested here, while the stores wait for memory
                let end = (looked_at + self.share).min(read.len());
                while looked_at + 1 < end {
                    let one = from.get_unchecked(*read.get_unchecked(looked_at) as usize);
                    let other = from.get_unchecked(*read.get_unchecked(looked_at + 1) as usize);
                    bad = one.mul_add(zero, bad);
                    others = other.mul_add(zero, others);
                    looked_at += 2;
                }
                if looked_at < end {
                    let one = from.get_unchecked(*read.get_unchecked(looked_at) as usize);
                    bad = one.mul_add(zero, bad);
                    looked_at += 1;
                }
                let mut square_of = [zero.0; 8];
                if !square.zero {
                    let mut rows: [&[f64]; 8] = [zero.0.lanes(); 8];
                    for i in 0..V::LANES {
                        rows[i] = from.get_unchecked(square.from[i] as usize).0.lanes();
                    }
                    square_of = V::transposed(rows);
                }
                for lane in 0..V::LANES {
                    let at = lane * size + square.at as usize;
                    Wide(square_of[lane]).store(out.get_unchecked_mut(at..at + V::LANES));
                }
            }
        }
        bad + others
    }

    /// Stores number by number.
    #[inline(never)]
    fn write_slowly(&self, from: &[Wide<V>], out: &mut [f64]) {
        for (lane, out) in out.chunks_exact_mut(self.places.len().max(1)).enumerate() {
            for (out, &place) in out.iter_mut().zip(&self.places) {
                *out = from[place as usize].lane(lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every wanted number is written, from its register; non-finite numbers are detected, in their lanes.
    #[test]
    fn numbers_go_where_they_belong() {
        fn check<V: Vector>() {
            for nv in 1..14 {
                let size = nv * nv;
                // symmetric, with zeros
                let place = |k: usize| {
                    let (i, j) = (k / nv, k % nv);
                    let (i, j) = (i.min(j), i.max(j));
                    ((i + 2 * j) % 5 != 1).then_some((i * nv + j) as u32)
                };
                let places: Vec<_> = (0..size).map(place).collect();
                for upper in [false, true] {
                    let wanted = |k: usize| !upper || k % nv >= k / nv;
                    let squares = Squares::<V>::new(&places, size, wanted);
                    let mut from = vec![Wide::<V>::constant(f64::NAN); squares.registers()];
                    for place in places.iter().flatten() {
                        for lane in 0..V::LANES {
                            from[*place as usize].0.lanes_mut()[lane] =
                                (1 + *place as usize * V::LANES + lane) as f64;
                        }
                    }
                    for used in 1..=V::LANES {
                        let mut out = vec![-1.0; used * size];
                        let bad = squares.write(&mut from, &mut out, Wide::zero());
                        assert!((0..V::LANES).all(|lane| bad.lane(lane) == 0.0));
                        for (at, &found) in out.iter().enumerate() {
                            let (lane, k) = (at / size, at % size);
                            let right = match places[k] {
                                Some(place) => (1 + place as usize * V::LANES + lane) as f64,
                                None => 0.0,
                            };
                            let fine = match wanted(k) {
                                true => found == right,
                                false => found == right || found == -1.0 || found == 0.0,
                            };
                            assert!(fine, "{nv} {upper} {used}: {found} at {k}, not {right}");
                        }
                    }
                    let first = places[0].expect("not zero") as usize;
                    from[first].0.lanes_mut()[V::LANES - 1] = f64::INFINITY;
                    let mut out = vec![0.0; V::LANES * size];
                    let bad = squares.write(&mut from, &mut out, Wide::zero());
                    for lane in 0..V::LANES {
                        assert_eq!(bad.lane(lane).is_nan(), lane == V::LANES - 1);
                    }
                }
            }
        }
        check::<[f64; 1]>();
        crate::arch::in_every_register!(check);
    }
}
