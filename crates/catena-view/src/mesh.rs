//! Mesh files: STL, OBJ, COLLADA and glTF.
//!
//! Coordinates are used as written: as in other readers of URDF, neither the up axis that COLLADA names nor that of glTF rotates a mesh.

mod collada;
mod gltf;

use catena::spatial::Mat3;
use std::path::Path;

/// Larger files are not read.
const MOST_BYTES: u64 = 64 << 20;

/// Triangles of all meshes together.
pub(crate) const MOST_TRIANGLES: usize = 2_000_000;
/// Nodes of the scene of a file, which may place a part of itself repeatedly.
const MOST_NODES: usize = 20_000;

/// Why a file cannot be shown.
type Refusal = String;

/// Triangles of one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) vertices: Vec<[f32; 3]>,
    pub(crate) faces: Vec<[u32; 3]>,
    /// Red, green, blue and opacity as shown on a screen, if the file gives them.
    pub(crate) colour: Option<[f64; 4]>,
}

/// The parts of a mesh file; its extension gives the format.
pub(crate) fn read(path: &Path) -> Result<Vec<Part>, Refusal> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_lowercase();
    if !["stl", "obj", "dae", "gltf", "glb"].contains(&extension.as_str()) {
        return Err("only STL, OBJ, COLLADA and glTF files are read".into());
    }
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    let mut bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    if extension == "stl" && is_binary_stl(&bytes) {
        // some programs start binary files, too, with the keyword of the text format
        bytes[..5].fill(0);
    }
    let parts = match extension.as_str() {
        "dae" => collada::parts(&String::from_utf8_lossy(&bytes))?,
        "gltf" | "glb" => gltf::parts(&bytes, path.parent().unwrap_or(Path::new("")))?,
        _ => plain(&bytes, path)?,
    };
    checked(parts)
}

/// Is a file as long as binary STL says? 80 bytes of any kind, the number of triangles, and 50 bytes for each.
fn is_binary_stl(bytes: &[u8]) -> bool {
    bytes.get(80..84).is_some_and(|count| {
        let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]);
        bytes.len() as u64 == 84 + 50 * u64::from(count)
    })
}

/// STL and OBJ.
fn plain(bytes: &[u8], path: &Path) -> Result<Vec<Part>, Refusal> {
    let scene = mesh_loader::Loader::default()
        .load_from_slice(bytes, path)
        .map_err(|error| error.to_string())?;
    let colours = scene.materials.iter().map(|material| {
        let colour = material.color.diffuse?.map(f64::from);
        Some([colour[0], colour[1], colour[2], 1.0])
    });
    let colours = colours.chain(std::iter::repeat(None));
    let parts = scene.meshes.into_iter().zip(colours);
    Ok(parts
        .map(|(mesh, colour)| Part {
            vertices: mesh.vertices,
            faces: mesh.faces,
            colour,
        })
        .collect())
}

/// Rejects a file that would fill the memory.
fn expect_few(parts: &[Part]) -> Result<(), Refusal> {
    let corners = parts
        .iter()
        .map(|part| part.faces.len().max(part.vertices.len() / 3));
    match corners.sum::<usize>() > MOST_TRIANGLES {
        true => Err(format!("it has more than {MOST_TRIANGLES} triangles")),
        false => Ok(()),
    }
}

/// Checks that every vertex exists and is finite.
fn checked(mut parts: Vec<Part>) -> Result<Vec<Part>, Refusal> {
    parts.retain(|part| !part.faces.is_empty());
    if parts.is_empty() {
        return Err("it has no triangles".into());
    }
    for part in &mut parts {
        let count = part.vertices.len();
        let is_there = |corner: &u32| (*corner as usize) < count;
        if !part.faces.iter().flatten().all(is_there) {
            return Err("a triangle refers to a vertex that does not exist".into());
        }
        if !part.vertices.iter().flatten().all(|x| x.is_finite()) {
            return Err("a vertex is not finite".into());
        }
        part.colour = part.colour.map(|rgba| rgba.map(|x| x.clamp(0.0, 1.0)));
    }
    Ok(parts)
}

/// A linear map and a translation, row by row: the transformation of a node of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine([[f64; 4]; 3]);

impl Affine {
    const IDENTITY: Affine = Affine::scale([1.0; 3]);

    const fn scale([x, y, z]: [f64; 3]) -> Self {
        Affine([[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0]])
    }

    fn translation([x, y, z]: [f64; 3]) -> Self {
        Affine([[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]])
    }

    /// The rotation of a unit quaternion (w, x, y, z).
    fn rotation(quaternion: [f64; 4]) -> Self {
        let rows = Mat3::from_quaternion(quaternion).rows();
        Affine(rows.map(|[a, b, c]| [a, b, c, 0.0]))
    }

    fn times(&self, inner: &Affine) -> Affine {
        let (a, b) = (&self.0, &inner.0);
        Affine([0, 1, 2].map(|i| {
            [0, 1, 2, 3].map(|j| {
                let sum: f64 = (0..3).map(|k| a[i][k] * b[k][j]).sum();
                if j == 3 { sum + a[i][3] } else { sum }
            })
        }))
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = p.map(f64::from);
        self.0
            .map(|[a, b, c, d]| (a * x + b * y + c * z + d) as f32)
    }
}

/// Triangles of a polygon: a fan about its first vertex.
fn fan(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> + '_ {
    let pairs = corners.get(1..).unwrap_or_default().windows(2);
    pairs.map(|pair| [corners[0], pair[0], pair[1]])
}

/// Triangles of a strip, the winding of every second one reversed.
fn strip(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> + '_ {
    corners.windows(3).enumerate().map(|(k, c)| match k % 2 {
        0 => [c[0], c[1], c[2]],
        _ => [c[1], c[0], c[2]],
    })
}
