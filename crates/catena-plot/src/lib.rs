//! Plots of catena's results.
//!
//! * [`chart`]: line charts of anything over anything, alone or stacked in a [`Figure`];
//! * [`strip`](mod@strip): several instants of a mechanism, side by side or on top of each other;
//! * `png` (feature `png`, on by default): either of them as pixels.
//!
//! Plots are SVG with real text in the reader's sans-serif font. Lines differ by colour (Okabe and Ito's, which colour-blind
//! readers can distinguish) and by dash pattern, so that they are readable in greyscale too.
//!
//! ```
//! use catena_plot::Chart;
//!
//! let time: Vec<f64> = (0..200).map(|k| 0.05 * f64::from(k)).collect();
//! let angle = time.iter().map(|t| (2.0 * t).cos()).collect();
//! let svg = Chart::new("Pendulum", "time (s)", "angle (rad)")
//!     .series("q₁", time, angle)
//!     .svg(640, 400);
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
pub mod chart;
#[cfg(feature = "png")]
mod png;
pub mod strip;
mod svg;

pub use chart::{Chart, Figure, Series};
#[cfg(feature = "png")]
pub use png::png;
pub use strip::{Bodies, Layout, View, strip};
