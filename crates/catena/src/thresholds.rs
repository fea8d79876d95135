//! Sizes at which one method of computing takes over from another, and prefetch distances.
//!
//! Accelerations do not depend on these numbers beyond round-off; times do, and with `ROWS_TOGETHER` which of several dependent rows are left out. Where a size follows from a cache, the arithmetic is given next to it:
//! 32 KiB in the first level and 1 MiB in the second, as processors for AVX2 and AVX-512 have at least. `cargo bench -p catena --bench cost`
//! prints the times of every route over the number of bodies; with `-- thresholds` it prints those on both sides of a size and tells which of
//! two methods should serve more models. The ratios below are from there, on an AVX-512 processor: the time at that size by the method that serves up
//! to it, over the time that the other method would take.

/// Bytes of results that stay in the L1 cache until they are read again.
pub(crate) const FIRST_CACHE: usize = 32 << 10;

/// Degrees of freedom up to which a square matrix fits the first-level cache: 64² numbers are 32 KiB. Beyond, entries are written past
/// the caches. Measured ratio 0.85.
pub(crate) const MATRIX_IN_CACHE: usize = 64;

/// Degrees of freedom up to which one state's inertia matrix is computed column by column in registers. Every column is carried to the
/// base, n²/2 steps in all; beyond this size products of freedoms in common axes, n²/2 short dot products, take fewer instructions. Measured ratio 0.96.
pub(crate) const COLUMN_BY_COLUMN: usize = 16;

/// Degrees of freedom up to which matrices are computed with a state in each lane: 20² numbers in eight lanes are 25 KiB, which the
/// first-level cache holds. Beyond, they are computed state by state with a column in each lane. Measured ratio 0.71, for derivatives 0.56.
pub(crate) const MATRICES_IN_LANES: usize = 20;

/// Degrees of freedom up to which the triangle U of the factorization is formed explicitly for the right-hand sides of the caller, such as the six of a
/// frame's inertia: a product with it is cheaper than two passes along the tree. Both take equal time at 28 freedoms of a chain; at 40 the ratio was 1.10.
pub(crate) const EXPLICIT_TRIANGLE: usize = 28;

/// Degrees of freedom up to which U is formed for the inverse of the inertia matrix. Its right-hand sides are sparse, which only the passes
/// use. Measured ratio 0.98; at 40 freedoms it was 1.85.
pub(crate) const INVERSE_BY_TRIANGLE: usize = 8;

/// Rows of constraints up to which all are decomposed together: they take 1.03 to 1.05 times the time along the tree with 5 and 10 rows, 1.10 with
/// 15, 1.14 with 30, and dependent rows are found with pivots from all of them.
pub(crate) const ROWS_TOGETHER: usize = 12;

/// Degrees of freedom up to which implicit methods use the dense matrix of Newton's method: it needs fewer iterations and fewer
/// evaluations than the matrix along the tree, whose cost is linear.
pub(crate) const DENSE_NEWTON: usize = 32;

/// Degrees of freedom up to which machine code is generated for a model by default: beyond, generating it takes longer than many runs.
pub const COMPILED: usize = 100;

/// Prefetch distance of the rows of derivatives, in rows.
pub(crate) const ROWS_AHEAD: usize = 6;

/// Prefetch distance of transposed squares of results, in squares.
pub(crate) const SQUARES_AHEAD: usize = 2;

/// Prefetch distance of the cache lines of a result, in numbers.
pub(crate) const NUMBERS_AHEAD: usize = 32;

/// Registers of results prefetched while one sine is computed.
pub(crate) const REGISTERS_PER_SINE: usize = 8;
