//! Shapes on links of a model file, which no computation uses.

use crate::document::{file_error, read_text};
use crate::lines::Lines;
use crate::{Format, format_of, mjcf};
use catena::error::{ErrorKind, Result};
use catena::spatial::Pose;
use std::path::Path;

/// The shapes of a file, and those that cannot be shown.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// The shapes, in the order of the file.
    pub shapes: Vec<Drawn>,
    /// Shapes that are not shown, and why.
    pub notes: Vec<String>,
}

/// A shape on a link.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The link that carries it; none if it is on the ground.
    pub link: Option<String>,
    /// Where it is on the link.
    pub link_from_shape: Pose<f64>,
    /// Its shape.
    pub outline: Outline,
    /// Red, green, blue and opacity, from 0 to 1, if the file gives them.
    pub colour: Option<[f64; 4]>,
}

/// Outlines of shapes about their centre. The axis of round ones is z.
#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    /// Half the sides.
    Box([f64; 3]),
    /// The radius.
    Sphere(f64),
    /// Semi-axes.
    Ellipsoid([f64; 3]),
    /// A cylinder.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half its length.
        half: f64,
    },
    /// A cylinder with half spheres on its ends.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the cylinder.
        half: f64,
    },
    /// Triangles.
    Mesh {
        /// Positions of the vertices.
        vertices: Vec<[f32; 3]>,
        /// The vertices of each triangle.
        faces: Vec<[u32; 3]>,
    },
}

/// Is this a file whose shapes [`of_mjcf`] reads?
pub fn is_mjcf(path: &Path) -> bool {
    let name = path.display().to_string();
    read_text(path, &name)
        .and_then(|text| format_of(path, &text, &name))
        .is_ok_and(|format| matches!(format, Format::Mjcf))
}

/// The geoms of an MJCF file that MuJoCo draws: those of the groups 0 to 2, except planes. Invalid sizes and files become notes;
/// anything that only concerns the motion is ignored.
pub fn of_mjcf(path: &Path) -> Result<Drawing> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match format_of(path, text, &name)? {
        Format::Mjcf => mjcf::drawing(text, &Lines::new(&name, text)),
        _ => Err(file_error(
            ErrorKind::Unsupported,
            &name,
            "this is not an MJCF file",
        )),
    }
}
