//! Shapes of URDF files: boxes, cylinders, spheres, and meshes (STL, OBJ, COLLADA) where their files are present.

use crate::encode;
use catena::Model;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Mat3, Pose, Vec3};
use roxmltree::{Document, Node};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Larger mesh files are not read.
const MOST_BYTES: u64 = 64 << 20;
/// Triangles of all meshes together.
const MOST_TRIANGLES: usize = 2_000_000;

/// A shape on a body.
#[derive(Clone, Debug)]
pub struct Visual {
    body: usize,
    body_from_shape: Pose<f64>,
    geometry: Geometry,
    colour: Option<[f64; 4]>,
}

#[derive(Clone, Debug)]
enum Geometry {
    Box([f64; 3]),
    Cylinder {
        radius: f64,
        length: f64,
    },
    Sphere(f64),
    Mesh {
        vertices: Vec<[f32; 3]>,
        faces: Vec<[u32; 3]>,
        scale: [f64; 3],
    },
}

impl Visual {
    pub(crate) fn to_json(&self) -> Value {
        let geometry = match &self.geometry {
            Geometry::Box(size) => json!({ "box": size }),
            Geometry::Cylinder { radius, length } => json!({ "cylinder": [radius, length] }),
            Geometry::Sphere(radius) => json!({ "sphere": radius }),
            Geometry::Mesh {
                vertices,
                faces,
                scale,
            } => json!({ "mesh": {
                "vertices": encode::f32s(vertices.iter().flatten().map(|x| f64::from(*x))),
                "faces": encode::u32s(faces.iter().flatten().copied()),
                "scale": scale,
            }}),
        };
        json!({
            "body": self.body, "pose": encode::pose(&self.body_from_shape),
            "geometry": geometry, "colour": self.colour,
        })
    }
}

/// The shapes of a URDF file on the bodies of its model, and what could not be shown.
pub fn of_urdf(path: &Path, model: &Model) -> Result<(Vec<Visual>, Vec<String>)> {
    let name = path.display().to_string();
    let place = || Place {
        file: Some(name.clone().into()),
        line: None,
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::File, format!("the file cannot be read: {error}")).at(place())
    })?;
    let document = Document::parse(&text).map_err(|error| {
        Error::new(ErrorKind::Syntax, format!("not well-formed XML: {error}")).at(place())
    })?;
    let robot = document.root_element();
    let mut colours: HashMap<&str, [f64; 4]> = HashMap::new();
    for material in children(robot, "material") {
        if let (Some(name), Some(colour)) = (material.attribute("name"), colour_of(material)) {
            colours.insert(name, colour);
        }
    }
    let mut reader = Reader {
        folder: match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        },
        triangles: 0,
        meshes: HashMap::new(),
        notes: Vec::new(),
    };
    let mut visuals = Vec::new();
    for link in children(robot, "link") {
        let link_name = link.attribute("name").unwrap_or_default();
        let Some(frame) = model.tree().frame(link_name) else {
            continue;
        };
        for visual in children(link, "visual") {
            let Some(geometry) =
                child(visual, "geometry").and_then(|g| reader.geometry(g, link_name))
            else {
                continue;
            };
            let material = child(visual, "material");
            visuals.push(Visual {
                body: frame.body,
                body_from_shape: frame.body_from_frame * origin(visual),
                geometry,
                colour: material.and_then(|m| {
                    colour_of(m).or_else(|| colours.get(m.attribute("name")?).copied())
                }),
            });
        }
    }
    Ok((visuals, reader.notes))
}

type Triangles = (Vec<[f32; 3]>, Vec<[u32; 3]>);

struct Reader {
    folder: PathBuf,
    triangles: usize,
    meshes: HashMap<PathBuf, Option<Triangles>>,
    notes: Vec<String>,
}

impl Reader {
    fn geometry(&mut self, geometry: Node<'_, '_>, link: &str) -> Option<Geometry> {
        let shape = geometry.children().find(Node::is_element)?;
        let positive = |name: &str| number(shape.attribute(name)?).filter(|x| *x > 0.0);
        let found = match shape.tag_name().name() {
            "box" => shape
                .attribute("size")
                .and_then(numbers::<3>)
                .filter(|size| size.iter().all(|x| *x > 0.0))
                .map(Geometry::Box),
            "cylinder" => positive("radius")
                .zip(positive("length"))
                .map(|(radius, length)| Geometry::Cylinder { radius, length }),
            "sphere" => positive("radius").map(Geometry::Sphere),
            "mesh" => return self.mesh(shape, link),
            _ => None,
        };
        if found.is_none() {
            let name = shape.tag_name().name();
            self.notes.push(format!(
                "link `{link}`: its <{name}> is not understood and not shown"
            ));
        }
        found
    }

    fn mesh(&mut self, shape: Node<'_, '_>, link: &str) -> Option<Geometry> {
        let name = shape.attribute("filename").unwrap_or_default();
        let scale = shape
            .attribute("scale")
            .and_then(numbers::<3>)
            .unwrap_or([1.0; 3]);
        let Some(path) = self.find(name) else {
            self.notes
                .push(format!("link `{link}`: the mesh {name} is not there"));
            return None;
        };
        if !self.meshes.contains_key(&path) {
            let mesh = self.read(&path, link);
            self.meshes.insert(path.clone(), mesh);
        }
        let (vertices, faces) = self.meshes.get(&path)?.clone()?;
        Some(Geometry::Mesh {
            vertices,
            faces,
            scale,
        })
    }

    fn read(&mut self, path: &Path, link: &str) -> Option<Triangles> {
        let mut refuse = |why: String| {
            self.notes.push(format!(
                "link `{link}`: the mesh {} is not shown: {why}",
                path.display()
            ));
            None
        };
        let known = path.extension().is_some_and(|e| {
            ["stl", "obj", "dae"].contains(&e.to_string_lossy().to_lowercase().as_str())
        });
        if !known {
            return refuse("only STL, OBJ and COLLADA files are read".into());
        }
        match std::fs::metadata(path) {
            Ok(file) if file.len() > MOST_BYTES => {
                return refuse(format!("it is larger than {MOST_BYTES} bytes"));
            }
            Ok(_) => {}
            Err(error) => return refuse(error.to_string()),
        }
        let scene = match mesh_loader::Loader::default().merge_meshes(true).load(path) {
            Ok(scene) => scene,
            Err(error) => return refuse(error.to_string()),
        };
        let mesh = scene.meshes.into_iter().next().unwrap_or_default();
        let count = mesh.vertices.len();
        let is_whole = mesh.faces.iter().flatten().all(|&i| (i as usize) < count)
            && mesh.vertices.iter().flatten().all(|x| x.is_finite());
        if !is_whole {
            return refuse("its numbers are damaged".into());
        }
        if self.triangles + mesh.faces.len() > MOST_TRIANGLES {
            return refuse(format!(
                "all meshes together have more than {MOST_TRIANGLES} triangles"
            ));
        }
        self.triangles += mesh.faces.len();
        Some((mesh.vertices, mesh.faces))
    }

    /// The file of a mesh: beside the URDF file, or in the package, which is looked for in the folders above.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let is_file = |path: PathBuf| path.is_file().then_some(path);
        if let Some(rest) = name.strip_prefix("package://") {
            let inside = rest.split_once('/').map_or(rest, |(_, inside)| inside);
            let folder = self.folder.canonicalize().ok()?;
            return folder.ancestors().find_map(|above| {
                is_file(above.join(rest)).or_else(|| is_file(above.join(inside)))
            });
        }
        let name = name.strip_prefix("file://").unwrap_or(name);
        is_file(self.folder.join(name))
    }
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children()
        .filter(move |child| child.has_tag_name(name))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite())
}

fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let list: Option<Vec<f64>> = text.split_whitespace().map(number).collect();
    list?.try_into().ok()
}

fn colour_of(material: Node<'_, '_>) -> Option<[f64; 4]> {
    let rgba = child(material, "color")?
        .attribute("rgba")
        .and_then(numbers::<4>)?;
    Some(rgba.map(|x| x.clamp(0.0, 1.0)))
}

/// The pose of an <origin>: xyz, then rotations about the fixed axes x, y, z.
fn origin(node: Node<'_, '_>) -> Pose<f64> {
    let Some(origin) = child(node, "origin") else {
        return Pose::identity();
    };
    let read = |name: &str| {
        origin
            .attribute(name)
            .and_then(numbers::<3>)
            .unwrap_or_default()
    };
    let ([x, y, z], [roll, pitch, yaw]) = (read("xyz"), read("rpy"));
    let about_y = {
        let (s, c) = pitch.sin_cos();
        Mat3::from_rows([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    };
    let rotation =
        Mat3::rotation_z(yaw.sin(), yaw.cos()) * about_y * Mat3::rotation_x(roll.sin(), roll.cos());
    Pose::new(rotation, Vec3::new(x, y, z))
}
