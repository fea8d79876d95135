//! Meshes of `<asset>`: their files (OBJ, STL, MuJoCo's MSH) and the inertia of the enclosed solids.
//!
//! A closed surface is cut into tetrahedra with a common tip. With their volumes taken by sign (`exact`) the tip does not matter.
//! `legacy`, the default of MuJoCo, takes all volumes as positive, with the centre of the faces as the tip for the mass centre,
//! and then the mass centre as the tip for volume and inertia: correct for star-shaped solids, too large for others. `shell` has
//! the mass in the surface.

use super::attributes::Attributes;
use super::tree::Node;
use crate::files;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Sym3, Vec3};
use std::path::Path;

/// Largest file of a mesh.
const MOST_BYTES: u64 = 1 << 30;

/// How the inertia of a mesh is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Legacy,
    Exact,
    Convex,
    Shell,
}

/// The solid that a mesh encloses, of density 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosed {
    /// Volume; area of a shell.
    pub(super) volume: f64,
    pub(super) centre: Vec3<f64>,
    /// Inertia about the mass centre, axes of the mesh.
    pub(super) tensor: Sym3<f64>,
}

/// Triangles: indices of their vertices.
#[derive(Default)]
pub(super) struct Surface {
    pub(super) vertices: Vec<Vec3<f64>>,
    pub(super) triangles: Vec<[usize; 3]>,
}

/// Reads a mesh and integrates over it. `asset` is its element in `<asset>`.
pub(super) fn enclosed(
    asset: &Attributes<'_>,
    file: Option<&Path>,
    exact: bool,
) -> Result<Enclosed> {
    let node = asset.node;
    let default = if exact { Mode::Exact } else { Mode::Legacy };
    let modes = [
        ("legacy", Mode::Legacy),
        ("exact", Mode::Exact),
        ("convex", Mode::Convex),
        ("shell", Mode::Shell),
    ];
    let mode = asset.keyword("inertia", &modes)?.unwrap_or(default);
    if mode == Mode::Convex {
        return Err(asset
            .error("inertia", "is not supported")
            .hint("give the body an <inertial>, or the mesh of the convex hull itself"));
    }
    let surface = surface(asset, file)?;
    let found = match mode {
        Mode::Shell => shell(&surface),
        Mode::Exact => solid(&surface, |volume| volume),
        Mode::Legacy | Mode::Convex => solid(&surface, f64::abs),
    };
    found.filter(|found| found.volume >= 1e-15).ok_or_else(|| {
        let message = format!("{} encloses no volume", node.describe());
        node.error(ErrorKind::Physics, message)
            .hint("its triangles may face inwards; inertia=\"shell\" takes the mass as spread over the surface")
    })
}

/// Reads a mesh: its file, or the vertices in the model file itself.
pub(super) fn surface(asset: &Attributes<'_>, file: Option<&Path>) -> Result<Surface> {
    let surface = match file {
        Some(path) => read_file(asset.node, path)?,
        None => inline(asset)?,
    };
    placed(asset, surface)
}

/// The vertices after `refpos`, `refquat` and `scale`.
fn placed(asset: &Attributes<'_>, mut surface: Surface) -> Result<Surface> {
    let origin = asset.vector("refpos")?.unwrap_or(Vec3::zero());
    let axes = match asset.numbers("refquat")? {
        Some(quaternion) => super::orientation::from_quaternion(quaternion)
            .ok_or_else(|| asset.error("refquat", "has zero length"))?,
        None => catena::spatial::Mat3::identity(),
    };
    let scale = asset.vector("scale")?.unwrap_or(Vec3::new(1.0, 1.0, 1.0));
    for vertex in &mut surface.vertices {
        let turned = axes.transpose_times(*vertex - origin);
        *vertex = Vec3::new(turned.x * scale.x, turned.y * scale.y, turned.z * scale.z);
    }
    if scale.x * scale.y * scale.z < 0.0 {
        // a mirrored surface is inside out
        for [_, b, c] in &mut surface.triangles {
            std::mem::swap(b, c);
        }
    }
    Ok(surface)
}

/// Vertices and faces in the model file itself.
fn inline(asset: &Attributes<'_>) -> Result<Surface> {
    if asset.text("builtin").is_some_and(|kind| kind != "none") {
        let hint = "give the body an <inertial>, or use a geom of a simple type";
        return Err(asset.error("builtin", "is not supported").hint(hint));
    }
    let Some(numbers) = asset.list("vertex")? else {
        let message = format!("{} has neither a file nor vertices", asset.node.describe());
        return Err(asset.node.error(ErrorKind::Syntax, message));
    };
    let Some(faces) = asset.list("face")? else {
        let hint = "give the faces; the convex hull of points is not computed here";
        return Err(asset.error("vertex", "has no `face` with it").hint(hint));
    };
    if numbers.len() % 3 != 0 {
        return Err(asset.error("vertex", "must be groups of three numbers"));
    }
    let vertices: Vec<Vec3<f64>> = numbers
        .chunks_exact(3)
        .map(|v| single([v[0] as f32, v[1] as f32, v[2] as f32]))
        .collect();
    if !vertices.iter().all(is_finite) {
        return Err(asset.error("vertex", "has numbers beyond the range of single precision"));
    }
    if faces.len() % 3 != 0 {
        return Err(asset.error("face", "must be groups of three numbers"));
    }
    let index = |number: f64| {
        let known = number >= 0.0 && number.fract() == 0.0 && number < vertices.len() as f64;
        known.then_some(number as usize)
    };
    let triangle = |face: &[f64]| Some([index(face[0])?, index(face[1])?, index(face[2])?]);
    let triangles: Option<Vec<[usize; 3]>> = faces.chunks_exact(3).map(triangle).collect();
    let triangles =
        triangles.ok_or_else(|| asset.error("face", "refers to vertices that do not exist"))?;
    Ok(Surface {
        vertices,
        triangles,
    })
}

/// Files hold single precision, and so does MuJoCo.
fn single(vertex: [f32; 3]) -> Vec3<f64> {
    Vec3::from_array(vertex.map(f64::from))
}

fn is_finite(vertex: &Vec3<f64>) -> bool {
    vertex.to_array().iter().all(|x| x.is_finite())
}

fn read_file(node: Node<'_>, path: &Path) -> Result<Surface> {
    let place = Place {
        file: Some(path.display().to_string().into()),
        line: None,
    };
    let fail = |message: &str| Error::new(ErrorKind::File, message).at(place.clone());
    let size = match files::size(path) {
        Some(size) => size,
        None => {
            let message = format!(
                "{}: the file `{}` does not exist",
                node.describe(),
                path.display()
            );
            return Err(node.error(ErrorKind::File, message).hint(
                "files of meshes are relative to the main file and to `meshdir` of <compiler>",
            ));
        }
    };
    if size > MOST_BYTES {
        return Err(fail("the mesh is larger than 1 GB"));
    }
    let bytes =
        files::read(path).map_err(|error| fail(&format!("the file cannot be read: {error}")))?;
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let surface = match extension.as_str() {
        "stl" => stl(&bytes),
        "obj" => obj(&String::from_utf8_lossy(&bytes)),
        "msh" => msh(&bytes),
        _ => {
            let message = format!(
                "{}: meshes are read from .obj, .stl and .msh files",
                node.describe()
            );
            return Err(node.error(ErrorKind::Unsupported, message));
        }
    };
    let surface = surface.map_err(fail)?;
    match surface.vertices.iter().all(is_finite) {
        true => Ok(surface),
        false => Err(fail("a vertex is not finite")),
    }
}

type Read = std::result::Result<Surface, &'static str>;

/// Binary STL: 80 bytes, the number of triangles, then for each a normal, three vertices and two bytes.
fn stl(bytes: &[u8]) -> Read {
    let wrong = "this is not a binary STL file";
    let count = bytes.get(80..84).ok_or(wrong)?;
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    let facets = &bytes[84..];
    if count == 0 || facets.len() != count.checked_mul(50).ok_or(wrong)? {
        return Err(wrong);
    }
    let mut surface = Surface::default();
    for facet in facets.chunks_exact(50) {
        let start = surface.vertices.len();
        let corners = facet[12..48]
            .chunks_exact(12)
            .map(|corner| single(floats(corner)));
        surface.vertices.extend(corners);
        surface.triangles.push([start, start + 1, start + 2]);
    }
    Ok(surface)
}

/// MuJoCo's own format: the numbers of vertices, normals, texture coordinates and faces, then these.
fn msh(bytes: &[u8]) -> Read {
    let wrong = "this is not an MSH file";
    let header = bytes.get(..16).ok_or(wrong)?;
    let mut counts = [0; 4];
    for (count, bytes) in counts.iter_mut().zip(header.chunks_exact(4)) {
        *count = usize::try_from(integer(bytes)).map_err(|_| wrong)?;
    }
    let [vertices, normals, textures, faces] = counts;
    let skipped = 12 * normals + 8 * textures;
    if bytes.len() != 16 + 12 * vertices + skipped + 12 * faces {
        return Err(wrong);
    }
    let (points, rest) = bytes[16..].split_at(12 * vertices);
    let index = |bytes: &[u8]| {
        usize::try_from(integer(bytes))
            .ok()
            .filter(|k| *k < vertices)
    };
    let triangle =
        |face: &[u8]| Some([index(&face[..4])?, index(&face[4..8])?, index(&face[8..])?]);
    let triangles: Option<Vec<[usize; 3]>> =
        rest[skipped..].chunks_exact(12).map(triangle).collect();
    if faces == 0 {
        return Err("it has no faces, and the convex hull of its points is not computed here");
    }
    Ok(Surface {
        vertices: points.chunks_exact(12).map(|v| single(floats(v))).collect(),
        triangles: triangles.ok_or("a face refers to a vertex that does not exist")?,
    })
}

fn integer(bytes: &[u8]) -> i32 {
    i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn floats(bytes: &[u8]) -> [f32; 3] {
    [0, 4, 8].map(|k| f32::from_le_bytes([bytes[k], bytes[k + 1], bytes[k + 2], bytes[k + 3]]))
}

/// OBJ: lines `v x y z` and `f a b c …`, vertices counted from 1 or back from the last. As in MuJoCo, only the first object or
/// group with faces counts.
fn obj(text: &str) -> Read {
    let mut surface = Surface::default();
    let mut polygons: Vec<Vec<i64>> = Vec::new();
    let mut done = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
                let (x, y, z) = (number(), number(), number());
                let (Some(x), Some(y), Some(z)) = (x, y, z) else {
                    return Err("a vertex is not three numbers");
                };
                surface
                    .vertices
                    .push(single([x as f32, y as f32, z as f32]));
            }
            Some("f") if !done => {
                let known = surface.vertices.len() as i64;
                let index = |word: &str| {
                    let number: i64 = word.split('/').next()?.parse().ok()?;
                    Some(if number < 0 {
                        known + number
                    } else {
                        number - 1
                    })
                };
                let polygon: Option<Vec<i64>> = words.map(index).collect();
                let polygon = polygon.ok_or("a face is not a list of vertices")?;
                if polygon.len() < 3 {
                    return Err("a face has fewer than three vertices");
                }
                polygons.push(polygon);
            }
            Some("o" | "g") => done |= !polygons.is_empty(),
            _ => {}
        }
    }
    if polygons.is_empty() {
        return Err("it has no faces, and the convex hull of its points is not computed here");
    }
    for polygon in polygons {
        let corner = |k: i64| {
            usize::try_from(k)
                .ok()
                .filter(|k| *k < surface.vertices.len())
        };
        let corners: Option<Vec<usize>> = polygon.into_iter().map(corner).collect();
        let corners = corners.ok_or("a face refers to a vertex that does not exist")?;
        match corners[..] {
            // along the shorter diagonal
            [a, b, c, d] => {
                let length =
                    |i: usize, j: usize| (surface.vertices[i] - surface.vertices[j]).norm();
                if length(a, c) < length(b, d) {
                    surface.triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    surface.triangles.extend([[a, b, d], [b, c, d]]);
                }
            }
            _ => {
                let pairs = corners[1..].windows(2);
                let fan = pairs.map(|pair| [corners[0], pair[0], pair[1]]);
                surface.triangles.extend(fan);
            }
        }
    }
    Ok(surface)
}

impl Surface {
    /// The vertices of all triangles, relative to a point.
    fn seen_from(&self, point: Vec3<f64>) -> impl Iterator<Item = [Vec3<f64>; 3]> + '_ {
        let corner = move |k: usize| self.vertices[k] - point;
        self.triangles.iter().map(move |t| t.map(corner))
    }

    /// Area and centre of the surface; none if it has no area.
    fn centre(&self) -> Option<(f64, Vec3<f64>)> {
        let (mut area, mut first) = (0.0, Vec3::zero());
        for corners in self.seen_from(Vec3::zero()) {
            let own = twice_area(corners).norm() / 2.0;
            area += own;
            first += middle(corners) * own;
        }
        (area > 1e-15).then(|| (area, first * (1.0 / area)))
    }
}

/// Twice the area, along the normal.
fn twice_area([a, b, c]: [Vec3<f64>; 3]) -> Vec3<f64> {
    (b - a).cross(c - a)
}

fn middle([a, b, c]: [Vec3<f64>; 3]) -> Vec3<f64> {
    (a + b + c) * (1.0 / 3.0)
}

/// Σ over pairs of vertices, each with itself twice: the integral of x xᵀ over a simplex with a tip at the origin is this times
/// its volume / 20, over a triangle this times its area / 12.
fn squares([a, b, c]: [Vec3<f64>; 3]) -> Sym3<f64> {
    let sum = a + b + c;
    Sym3::outer(sum) + Sym3::outer(a) + Sym3::outer(b) + Sym3::outer(c)
}

/// The solid inside; `counted` maps a signed volume to its contribution.
fn solid(surface: &Surface, counted: impl Fn(f64) -> f64) -> Option<Enclosed> {
    // six times the volume of a tetrahedron is the triple product of its edges
    let volume = |corners: [Vec3<f64>; 3]| counted(corners[0].dot(twice_area(corners)) / 6.0);
    let (_, tip) = surface.centre()?;
    let (mut total, mut first) = (0.0, Vec3::zero());
    for corners in surface.seen_from(tip) {
        let own = volume(corners);
        total += own;
        first += middle(corners) * (0.75 * own);
    }
    if total < 1e-15 {
        return None;
    }
    let centre = tip + first * (1.0 / total);
    let (mut total, mut second) = (0.0, Sym3::zero());
    for corners in surface.seen_from(centre) {
        let own = volume(corners);
        total += own;
        second = second.add_scaled(squares(corners), own / 20.0);
    }
    Some(Enclosed {
        volume: total,
        centre,
        tensor: second.trace_minus(),
    })
}

/// The surface itself.
fn shell(surface: &Surface) -> Option<Enclosed> {
    let (area, centre) = surface.centre()?;
    let mut second = Sym3::zero();
    for corners in surface.seen_from(centre) {
        let own = twice_area(corners).norm() / 2.0;
        second = second.add_scaled(squares(corners), own / 12.0);
    }
    Some(Enclosed {
        volume: area,
        centre,
        tensor: second.trace_minus(),
    })
}
