//! The viewer of catena: what the page shows, reports that open offline, and the server on loopback.
//!
//! * [`scene`]: a model and its motion as the page needs them, poses computed by the engine;
//! * [`visual`]: the shapes and meshes of URDF and MJCF files;
//! * [`page`]: the page with a scene inside, one self-contained file;
//! * [`engine`]: requests of the open page to the engine: poses, gravity, matrices, findings;
//! * [`server`]: HTTP and WebSocket on loopback or a given address, for one page only;
//! * [`live`]: a simulation that the page drives;
//! * [`render`]: pictures and movies of a scene, drawn by a headless browser.
//!
//! The page itself is TypeScript under `viewer/`; its built bundle is `assets/viewer.html`.
//!
//! ```
//! use catena::model::embedded;
//! use catena_view::{page, scene};
//!
//! let model = embedded::model("stanford")?;
//! let subject = scene::Subject::of_model("stanford", &model);
//! let html = page::html(&scene::scene(vec![subject], &[]));
//! assert!(html.starts_with("<!doctype html>"));
//! # Ok::<(), catena::Error>(())
//! ```

mod encode;
pub mod engine;
pub mod live;
mod mesh;
mod motion;
mod mp4;
pub mod page;
pub mod render;
pub mod scene;
pub mod server;
mod shape;
pub mod visual;
mod xml;

pub use motion::Budget;
