//! `<geom>`: shapes, of which only the mass counts here.

use super::File;
use super::attributes::Attributes;
use super::compiler::Compiler;
use super::mass::{Mass, principal_within};
use super::mesh::{self, Enclosed, Surface};
use super::orientation::{pose, turn_z_to};
use super::shape::Shape;
use super::tree::Node;
use catena::error::{ErrorKind, Result};
use catena::spatial::{Pose, Sym3, Vec3};
use std::collections::HashMap;
use std::path::PathBuf;

/// Density of water, kg/m³.
const DENSITY: f64 = 1000.0;

/// MuJoCo (4.0, measured) keeps a mesh in its principal axes and drops products of inertia below this fraction of the largest
/// moment. So does this reader, to produce the same model from a file.
const MESH_PRODUCTS: f64 = 1e-7;

/// The kinds of geoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plane,
    HeightField,
    Sphere,
    Capsule,
    Ellipsoid,
    Cylinder,
    Box,
    Mesh,
}

pub(super) const KINDS: [(&str, Kind); 9] = [
    ("plane", Kind::Plane),
    ("hfield", Kind::HeightField),
    ("sphere", Kind::Sphere),
    ("capsule", Kind::Capsule),
    ("ellipsoid", Kind::Ellipsoid),
    ("cylinder", Kind::Cylinder),
    ("box", Kind::Box),
    ("mesh", Kind::Mesh),
    ("sdf", Kind::Mesh),
];

/// The meshes of `<asset>`, and the solids of those that were needed.
pub(super) struct Geoms<'t> {
    assets: HashMap<String, Node<'t>>,
    known: HashMap<String, Enclosed>,
}

impl<'t> Geoms<'t> {
    /// Lists the meshes; none is read yet.
    pub(super) fn new(file: &File<'t>) -> Result<Self> {
        let mut assets = HashMap::new();
        for asset in file
            .root
            .all("asset")
            .flat_map(|section| section.all("mesh"))
        {
            let stem = |path: &'t str| std::path::Path::new(path).file_stem()?.to_str();
            let name = asset.attribute("name");
            let name = name.or_else(|| asset.attribute("file").and_then(stem));
            if let Some(name) = name {
                assets.insert(name.into(), asset);
            }
        }
        Ok(Geoms {
            assets,
            known: HashMap::new(),
        })
    }

    /// The element of a mesh, and its file if it has one.
    fn asset(
        &self,
        file: &File<'t>,
        geom: &Attributes<'_>,
        name: &str,
    ) -> Result<(Attributes<'t>, Option<PathBuf>)> {
        let Some(&asset) = self.assets.get(name) else {
            let message = format!("{}: there is no mesh `{name}`", geom.node.describe());
            return Err(geom.node.error(ErrorKind::Model, message));
        };
        let asset = file.defaults.of(asset, "mesh", None)?;
        let path = asset
            .text("file")
            .map(|path| file.compiler.mesh_file(file.tree.folder(), path));
        Ok((asset, path))
    }

    /// The surface of the mesh of a geom.
    pub(super) fn surface(
        &self,
        file: &File<'t>,
        geom: &Attributes<'_>,
        name: &str,
    ) -> Result<Surface> {
        let (asset, path) = self.asset(file, geom, name)?;
        mesh::surface(&asset, path.as_deref())
    }

    /// The solid that the mesh of a geom encloses.
    pub(super) fn enclosed(
        &mut self,
        file: &File<'t>,
        geom: &Attributes<'_>,
        name: &str,
    ) -> Result<Enclosed> {
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        let (asset, path) = self.asset(file, geom, name)?;
        let enclosed = mesh::enclosed(&asset, path.as_deref(), file.compiler.exact_meshes)?;
        self.known.insert(name.into(), enclosed);
        Ok(enclosed)
    }
}

/// The mass of a geom that is `at` this pose in its body; none if its group does not count.
pub(super) fn mass<'t>(
    file: &File<'t>,
    geom: &Attributes<'t>,
    at: Pose<f64>,
    geoms: &mut Geoms<'t>,
) -> Result<Option<Mass>> {
    let group = geom.number_or("group", 0.0)?;
    let [first, last] = file.compiler.groups;
    if group < first || group > last {
        return Ok(None);
    }
    let kind = geom.keyword("type", &KINDS)?.unwrap_or(Kind::Sphere);
    let given = geom.number("mass")?;
    let density = geom.number_or("density", DENSITY)?;
    for (key, value) in [("mass", given), ("density", Some(density))] {
        if value.is_some_and(|value| value < 0.0) {
            return Err(geom.error(key, "is negative"));
        }
    }
    if given.unwrap_or(density) == 0.0 || matches!(kind, Kind::Plane | Kind::HeightField) {
        return Ok(Some(Mass {
            mass: 0.0,
            at: at * placement(geom, file.compiler)?.0,
            tensor: Sym3::zero(),
        }));
    }
    let is_shell = geom.flag("shellinertia")?.unwrap_or(false);
    let (mut own, length) = placement(geom, file.compiler)?;
    let enclosed = match geom.text("mesh") {
        Some(name) => Some(geoms.enclosed(file, geom, name)?),
        None => None,
    };
    let (volume, per_mass) = match (kind, enclosed) {
        (Kind::Mesh, None) => return Err(geom.missing("mesh")),
        (Kind::Mesh, Some(inside)) => {
            let (moments, axes) = principal_within(inside.tensor, MESH_PRODUCTS);
            own = own * Pose::new(axes, inside.centre);
            let [x, y, z] = moments.map(|moment| moment / inside.volume);
            (inside.volume, Sym3::new(x, y, z, 0.0, 0.0, 0.0))
        }
        (_, fitted) => {
            let (shape, shift) = simple(file, geom, kind, fitted, length)?;
            own = own * shift;
            let (volume, [x, y, z]) = match is_shell {
                true => (shape.area(), shape.shell()),
                false => (shape.volume(), shape.solid()),
            };
            (volume, Sym3::new(x, y, z, 0.0, 0.0, 0.0))
        }
    };
    let mass = match given {
        // MuJoCo gives no mass to geoms without volume
        Some(given) if volume > 1e-15 => given,
        Some(_) => 0.0,
        None => density * volume,
    };
    Ok(Some(Mass {
        mass,
        at: at * own,
        tensor: per_mass.map(|entry| entry * mass),
    }))
}

/// Pose of a geom or site in its frame, and its length if it is given by its ends.
pub(super) fn placement(
    element: &Attributes<'_>,
    compiler: &Compiler,
) -> Result<(Pose<f64>, Option<f64>)> {
    let Some([ax, ay, az, bx, by, bz]) = element.numbers("fromto")? else {
        return Ok((pose(element, compiler)?, None));
    };
    let (from, to) = (Vec3::new(ax, ay, az), Vec3::new(bx, by, bz));
    let along = from - to;
    let rotation = turn_z_to(along).filter(|_| along.norm() > 1e-15);
    let rotation = rotation.ok_or_else(|| element.error("fromto", "has zero length"))?;
    Ok((Pose::new(rotation, (from + to) * 0.5), Some(along.norm())))
}

/// The shape of a geom of a simple kind, and its pose in the frame of the geom, which differs if it is fitted to a mesh.
pub(super) fn simple(
    file: &File<'_>,
    geom: &Attributes<'_>,
    kind: Kind,
    fitted: Option<Enclosed>,
    length: Option<f64>,
) -> Result<(Shape, Pose<f64>)> {
    let (sizes, shift) = match fitted {
        Some(inside) => fit(file, geom, kind, &inside)?,
        None => (geom.list("size")?.unwrap_or_default(), Pose::identity()),
    };
    Ok((shape(geom, kind, &sizes, length)?, shift))
}

/// The shape of a geom, from `size` and, where its ends are given, the distance between them.
fn shape(geom: &Attributes<'_>, kind: Kind, sizes: &[f64], length: Option<f64>) -> Result<Shape> {
    let size = |k: usize| match sizes.get(k) {
        Some(&size) if size > 0.0 => Ok(size),
        Some(_) => Err(geom.error("size", "must be positive")),
        None if geom.text("size").is_none() => Err(geom.missing("size")),
        None => Err(geom.error("size", "has too few numbers")),
    };
    let half = |k: usize| match length {
        Some(length) => Ok(length / 2.0),
        None => size(k),
    };
    let three = || match length {
        Some(length) => Ok([size(0)?, size(0)?, length / 2.0]),
        None => Ok([size(0)?, size(1)?, size(2)?]),
    };
    Ok(match kind {
        Kind::Sphere if length.is_some() => {
            return Err(geom.error("fromto", "is for capsules, cylinders, ellipsoids and boxes"));
        }
        Kind::Capsule => Shape::Capsule {
            radius: size(0)?,
            half: half(1)?,
        },
        Kind::Cylinder => Shape::Cylinder {
            radius: size(0)?,
            half: half(1)?,
        },
        Kind::Ellipsoid => Shape::Ellipsoid { semi: three()? },
        Kind::Box => Shape::Box { half: three()? },
        _ => Shape::Sphere { radius: size(0)? },
    })
}

/// Sizes of a simple shape in place of a mesh: those of the box with the same inertia, and the pose of that box.
fn fit(
    file: &File<'_>,
    geom: &Attributes<'_>,
    kind: Kind,
    inside: &Enclosed,
) -> Result<(Vec<f64>, Pose<f64>)> {
    if file.compiler.fitaabb {
        let message = format!(
            "{} is to be fitted to the bounds of a mesh (`fitaabb`), which is not supported",
            geom.node.describe()
        );
        let error = geom.node.error(ErrorKind::Unsupported, message);
        return Err(error.hint("give the geom a size, or the body an <inertial>"));
    }
    let (moments, axes) = principal_within(inside.tensor, MESH_PRODUCTS);
    let sum: f64 = moments.iter().sum();
    // half sides of the box
    let [a, b, c] = moments.map(|own| (1.5 * (sum - 2.0 * own).max(0.0) / inside.volume).sqrt());
    let sizes = match kind {
        Kind::Capsule => {
            let radius = (a + b) / 2.0;
            vec![radius, (c - radius / 2.0).max(0.0)]
        }
        Kind::Cylinder => vec![(a + b) / 2.0, c],
        Kind::Ellipsoid | Kind::Box => vec![a, b, c],
        _ => vec![(a + b + c) / 3.0],
    };
    let scale = geom.number_or("fitscale", 1.0)?;
    let sizes = sizes.into_iter().map(|size| size * scale).collect();
    Ok((sizes, Pose::new(axes, inside.centre)))
}
