//! Shapes of URDF and MJCF files: boxes, cylinders, spheres, capsules, ellipsoids, and meshes where their files are present.

use crate::encode;
use crate::mesh::{self, MOST_TRIANGLES, Part};
use crate::xml::{child, children};
use catena::Model;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Mat3, Pose, Vec3};
use catena_io::drawing::{self, Outline};
use roxmltree::{Document, Node};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A shape on a body.
#[derive(Clone, Debug)]
pub struct Visual {
    body: usize,
    body_from_shape: Pose<f64>,
    geometry: Geometry,
    colour: Option<[f64; 4]>,
}

/// Round shapes have their axis along z.
#[derive(Clone, Debug)]
enum Geometry {
    /// Sides.
    Box([f64; 3]),
    Cylinder {
        radius: f64,
        length: f64,
    },
    Sphere(f64),
    /// Semi-axes.
    Ellipsoid([f64; 3]),
    /// The length without the half spheres on its ends.
    Capsule {
        radius: f64,
        length: f64,
    },
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
            Geometry::Ellipsoid(semi) => json!({ "ellipsoid": semi }),
            Geometry::Capsule { radius, length } => json!({ "capsule": [radius, length] }),
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

/// The shapes of a URDF or MJCF file on the bodies of its model, and those that could not be shown.
pub fn of_file(path: &Path, model: &Model) -> Result<(Vec<Visual>, Vec<String>)> {
    match drawing::is_mjcf(path) {
        true => of_mjcf(path, model),
        false => of_urdf(path, model),
    }
}

/// The geoms of an MJCF file.
fn of_mjcf(path: &Path, model: &Model) -> Result<(Vec<Visual>, Vec<String>)> {
    let mut drawing = drawing::of_mjcf(path)?;
    let mut visuals = Vec::new();
    let mut triangles = 0;
    let mut strangers = BTreeSet::new();
    for shape in drawing.shapes {
        let (body, body_from_link) = match &shape.link {
            None => (0, Pose::identity()),
            Some(link) => match model.tree().frame(link) {
                Some(frame) => (frame.body, frame.body_from_frame),
                None => {
                    strangers.insert(link.clone());
                    continue;
                }
            },
        };
        let geometry = match shape.outline {
            Outline::Box(half) => Geometry::Box(half.map(|x| 2.0 * x)),
            Outline::Sphere(radius) => Geometry::Sphere(radius),
            Outline::Ellipsoid(semi) => Geometry::Ellipsoid(semi),
            Outline::Cylinder { radius, half } => Geometry::Cylinder {
                radius,
                length: 2.0 * half,
            },
            Outline::Capsule { radius, half } => Geometry::Capsule {
                radius,
                length: 2.0 * half,
            },
            Outline::Mesh { vertices, faces } => {
                triangles += faces.len();
                if triangles > MOST_TRIANGLES {
                    drawing.notes.push(too_many());
                    break;
                }
                Geometry::Mesh {
                    vertices,
                    faces,
                    scale: [1.0; 3],
                }
            }
        };
        visuals.push(Visual {
            body,
            body_from_shape: body_from_link * shape.link_from_shape,
            geometry,
            colour: shape.colour,
        });
    }
    drawing.notes.extend(unknown(path, &strangers));
    Ok((visuals, drawing.notes))
}

/// The note about links of a file that the model does not have.
fn unknown(path: &Path, links: &BTreeSet<String>) -> Option<String> {
    let first = links.first()?;
    let file = path.display();
    Some(match links.len() {
        1 => format!("link `{first}` of {file} is not in the model and not shown"),
        n => format!("{n} links of {file} are not in the model and not shown, such as `{first}`"),
    })
}

fn too_many() -> String {
    format!("all meshes together have more than {MOST_TRIANGLES} triangles")
}

/// The visuals of a URDF file.
fn of_urdf(path: &Path, model: &Model) -> Result<(Vec<Visual>, Vec<String>)> {
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
    let mut strangers = BTreeSet::new();
    for link in children(robot, "link") {
        let link_name = link.attribute("name").unwrap_or_default();
        let Some(frame) = model.tree().frame(link_name) else {
            if child(link, "visual").is_some() {
                strangers.insert(link_name.to_string());
            }
            continue;
        };
        for visual in children(link, "visual") {
            let Some(geometry) = child(visual, "geometry") else {
                continue;
            };
            let own = child(visual, "material").and_then(|material| {
                colour_of(material).or_else(|| colours.get(material.attribute("name")?).copied())
            });
            for (geometry, colour) in reader.geometry(geometry, link_name) {
                visuals.push(Visual {
                    body: frame.body,
                    body_from_shape: frame.body_from_frame * origin(visual),
                    geometry,
                    colour: own.or(colour),
                });
            }
        }
    }
    reader.notes.extend(unknown(path, &strangers));
    Ok((visuals, reader.notes))
}

struct Reader {
    folder: PathBuf,
    triangles: usize,
    /// None for those that cannot be shown.
    meshes: HashMap<PathBuf, Option<Vec<Part>>>,
    notes: Vec<String>,
}

/// A shape, and its own colour if a mesh has one.
type Shape = (Geometry, Option<[f64; 4]>);

impl Reader {
    fn geometry(&mut self, geometry: Node<'_, '_>, link: &str) -> Vec<Shape> {
        let Some(shape) = geometry.children().find(Node::is_element) else {
            return Vec::new();
        };
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
            "capsule" => positive("radius")
                .zip(positive("length"))
                .map(|(radius, length)| Geometry::Capsule { radius, length }),
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
        found.into_iter().map(|found| (found, None)).collect()
    }

    fn mesh(&mut self, shape: Node<'_, '_>, link: &str) -> Vec<Shape> {
        let name = shape.attribute("filename").unwrap_or_default();
        let scale = shape
            .attribute("scale")
            .and_then(numbers::<3>)
            .unwrap_or([1.0; 3]);
        let Some(path) = self.find(name) else {
            self.notes
                .push(format!("link `{link}`: the mesh {name} does not exist"));
            return Vec::new();
        };
        if !self.meshes.contains_key(&path) {
            let read = mesh::read(&path);
            if let Err(why) = &read {
                self.notes.push(format!(
                    "link `{link}`: the mesh {} is not shown: {why}",
                    path.display()
                ));
            }
            self.meshes.insert(path.clone(), read.ok());
        }
        let Some(Some(parts)) = self.meshes.get(&path) else {
            return Vec::new();
        };
        let count: usize = parts.iter().map(|part| part.faces.len()).sum();
        if self.triangles + count > MOST_TRIANGLES {
            self.notes.push(format!(
                "link `{link}`: the mesh {name} is not shown: {}",
                too_many()
            ));
            return Vec::new();
        }
        self.triangles += count;
        let shapes = parts.iter().map(|part| {
            let geometry = Geometry::Mesh {
                vertices: part.vertices.clone(),
                faces: part.faces.clone(),
                scale,
            };
            (geometry, part.colour)
        });
        shapes.collect()
    }

    /// The file of a mesh: next to the URDF file, or in the package, which is searched for in the folders above.
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
