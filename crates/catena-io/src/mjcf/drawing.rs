//! Geoms as they are drawn.

use super::File;
use super::attributes::Attributes;
use super::body::Bodies;
use super::geom::{Geoms, KINDS, Kind, placement, simple};
use super::shape::Shape;
use crate::drawing::{Drawing, Drawn, Outline};
use catena::error::Result;
use catena::spatial::Pose;

/// MuJoCo draws these groups by default; models put geoms that only serve contacts into the others.
const LAST_GROUP: f64 = 2.0;

/// Draws the geoms of a file.
pub(super) fn read(file: &File<'_>, bodies: &Bodies) -> Result<Drawing> {
    let mut geoms = Geoms::new(file)?;
    let mut drawing = Drawing::default();
    for (body, at, geom) in &file.geoms {
        let name = &bodies.all[*body].name;
        match drawn(file, geom, &mut geoms) {
            Ok(Some((place, outline, colour))) => drawing.shapes.push(Drawn {
                link: (*body != 0).then(|| name.clone()),
                link_from_shape: *at * place,
                outline,
                colour,
            }),
            Ok(None) => {}
            Err(error) => drawing.notes.push(format!(
                "{} is not shown: {}",
                geom.node.describe(),
                error.message()
            )),
        }
    }
    Ok(drawing)
}

type Shown = (Pose<f64>, Outline, Option<[f64; 4]>);

/// Pose, outline and colour of a geom; none if it is invisible.
fn drawn<'t>(
    file: &File<'t>,
    geom: &Attributes<'t>,
    geoms: &mut Geoms<'t>,
) -> Result<Option<Shown>> {
    let colour = colour(file, geom)?;
    let is_clear = colour.is_some_and(|[.., opacity]| opacity == 0.0);
    if geom.number_or("group", 0.0)? > LAST_GROUP || is_clear {
        return Ok(None);
    }
    let kind = geom.keyword("type", &KINDS)?.unwrap_or(Kind::Sphere);
    let (place, length) = placement(geom, file.compiler)?;
    let (place, outline) = match kind {
        Kind::Plane => return Ok(None),
        Kind::HeightField => return Err(geom.error("type", "is not drawn")),
        Kind::Mesh => {
            let surface = geoms.surface(file, geom, geom.require("mesh")?)?;
            let vertices = surface.vertices.iter();
            let faces = surface.triangles.iter();
            let outline = Outline::Mesh {
                vertices: vertices.map(|v| v.to_array().map(|x| x as f32)).collect(),
                faces: faces.map(|face| face.map(|k| k as u32)).collect(),
            };
            (place, outline)
        }
        _ => {
            let fitted = match geom.text("mesh") {
                Some(name) => Some(geoms.enclosed(file, geom, name)?),
                None => None,
            };
            let (shape, shift) = simple(file, geom, kind, fitted, length)?;
            (place * shift, outline(shape))
        }
    };
    Ok(Some((place, outline, colour)))
}

fn outline(shape: Shape) -> Outline {
    match shape {
        Shape::Sphere { radius } => Outline::Sphere(radius),
        Shape::Capsule { radius, half } => Outline::Capsule { radius, half },
        Shape::Cylinder { radius, half } => Outline::Cylinder { radius, half },
        Shape::Ellipsoid { semi } => Outline::Ellipsoid(semi),
        Shape::Box { half } => Outline::Box(half),
    }
}

/// The colour of a geom: its own, or that of its material.
fn colour(file: &File<'_>, geom: &Attributes<'_>) -> Result<Option<[f64; 4]>> {
    if let Some(own) = geom.numbers("rgba")? {
        return Ok(Some(own.map(|x: f64| x.clamp(0.0, 1.0))));
    }
    let Some(name) = geom.text("material") else {
        return Ok(None);
    };
    let mut materials = file
        .root
        .all("asset")
        .flat_map(|section| section.all("material"));
    let Some(material) = materials.find(|node| node.attribute("name") == Some(name)) else {
        return Ok(None);
    };
    let material = file.defaults.of(material, "material", None)?;
    let colour = material.numbers("rgba")?;
    Ok(colour.map(|rgba: [f64; 4]| rgba.map(|x| x.clamp(0.0, 1.0))))
}
