//! COLLADA: the geometries that the scene of a file places, with their diffuse colours.

use super::{Affine, MOST_NODES, Part, Refusal, expect_few, fan, strip};
use crate::xml::{child, children};
use roxmltree::{Document, Node};
use std::collections::HashMap;

/// The parts that the scene places.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, Refusal> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err("it does not begin with <COLLADA>".into());
    }
    let named = document.descendants();
    let file = File {
        named: named
            .filter_map(|node| Some((node.attribute("id")?, node)))
            .collect(),
    };
    let unit = child(root, "asset")
        .and_then(|asset| child(asset, "unit")?.attribute("meter"))
        .map_or(Ok(1.0), number)?;
    let chosen = child(root, "scene").and_then(|scene| child(scene, "instance_visual_scene"));
    let scene = match chosen {
        Some(chosen) => Some(file.target(chosen, "url")?),
        None => child(root, "library_visual_scenes").and_then(|all| child(all, "visual_scene")),
    };
    let scene = scene.ok_or("it has no scene")?;
    let mut found = Vec::new();
    let mut waiting = vec![(scene, Affine::scale([unit; 3]))];
    let mut visited = 0;
    while let Some((node, outer)) = waiting.pop() {
        visited += 1;
        if visited.max(waiting.len()) > MOST_NODES {
            return Err(format!("its scene has more than {MOST_NODES} nodes"));
        }
        let mut here = outer;
        for part in node.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "matrix" | "translate" | "rotate" | "scale" | "skew" | "lookat" => {
                    here = here.times(&transform(part)?);
                }
                "node" => waiting.push((part, here)),
                "instance_node" => waiting.push((file.target(part, "url")?, here)),
                "instance_geometry" => {
                    file.geometry(part, &here, &mut found)?;
                    expect_few(&found)?;
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// The transformation of an element of a node.
fn transform(element: Node<'_, '_>) -> Result<Affine, Refusal> {
    let tag = element.tag_name().name();
    let list = numbers(element)?;
    let wrong = || format!("its <{tag}> has {} numbers", list.len());
    match tag {
        "matrix" => {
            let rows: [f64; 16] = list[..].try_into().map_err(|_| wrong())?;
            let row = |i: usize| [0, 1, 2, 3].map(|j| rows[4 * i + j]);
            Ok(Affine([row(0), row(1), row(2)]))
        }
        "translate" => Ok(Affine::translation(
            list[..].try_into().map_err(|_| wrong())?,
        )),
        "scale" => Ok(Affine::scale(list[..].try_into().map_err(|_| wrong())?)),
        "rotate" => {
            let [x, y, z, degrees]: [f64; 4] = list[..].try_into().map_err(|_| wrong())?;
            let length = (x * x + y * y + z * z).sqrt();
            if length == 0.0 {
                return Ok(Affine::IDENTITY);
            }
            let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
            let part = |axis: f64| axis / length * sin;
            Ok(Affine::rotation([cos, part(x), part(y), part(z)]))
        }
        _ => Err(format!("its <{tag}> is not understood")),
    }
}

struct File<'a, 'i> {
    named: HashMap<&'a str, Node<'a, 'i>>,
}

impl<'a, 'i> File<'a, 'i> {
    /// The element that an attribute refers to, as `#name`.
    fn target(&self, element: Node<'a, 'i>, key: &str) -> Result<Node<'a, 'i>, Refusal> {
        let name = element.attribute(key).unwrap_or_default();
        let found = name.strip_prefix('#').and_then(|id| self.named.get(id));
        found
            .copied()
            .ok_or_else(|| format!("it refers to `{name}`, which does not exist"))
    }

    /// Adds the triangles of a geometry.
    fn geometry(
        &self,
        instance: Node<'a, 'i>,
        place: &Affine,
        parts: &mut Vec<Part>,
    ) -> Result<(), Refusal> {
        let geometry = self.target(instance, "url")?;
        // splines and other curves have no faces
        let Some(mesh) = child(geometry, "mesh") else {
            return Ok(());
        };
        let mut known: HashMap<&str, Vec<[f32; 3]>> = HashMap::new();
        for primitive in mesh.children().filter(Node::is_element) {
            let tag = primitive.tag_name().name();
            let kinds = ["triangles", "polylist", "polygons", "tristrips", "trifans"];
            if !kinds.contains(&tag) {
                continue;
            }
            let inputs: Vec<Node<'_, '_>> = children(primitive, "input").collect();
            let offset = |input: &Node<'_, '_>| {
                let text = input.attribute("offset").unwrap_or("0");
                text.parse::<usize>()
                    .map_err(|_| format!("`{text}` is not an offset"))
            };
            let mut stride = 1;
            for input in &inputs {
                stride = stride.max(offset(input)?.saturating_add(1));
            }
            let semantic = |input: &&Node<'_, '_>| input.attribute("semantic") == Some("VERTEX");
            let Some(vertex) = inputs.iter().find(semantic) else {
                continue;
            };
            let first = offset(vertex)?;
            let positions = self.positions(*vertex)?;
            let key = positions.attribute("id").unwrap_or_default();
            if !known.contains_key(key) {
                known.insert(key, points(positions, self)?);
            }
            let corners = |list: Node<'_, '_>| -> Result<Vec<u32>, Refusal> {
                let all = list.text().unwrap_or_default().split_ascii_whitespace();
                all.skip(first)
                    .step_by(stride)
                    .map(|word| {
                        word.parse()
                            .map_err(|_| format!("`{word}` is not a vertex index"))
                    })
                    .collect()
            };
            let mut faces = Vec::new();
            let holes = children(primitive, "ph").filter_map(|polygon| child(polygon, "p"));
            for list in children(primitive, "p").chain(holes) {
                let corners = corners(list)?;
                match tag {
                    "triangles" => {
                        faces.extend(corners.chunks_exact(3).map(|c| [c[0], c[1], c[2]]))
                    }
                    "tristrips" => faces.extend(strip(&corners)),
                    "polylist" => {
                        let counts = child(primitive, "vcount").and_then(|node| node.text());
                        let mut rest = &corners[..];
                        for word in counts.unwrap_or_default().split_ascii_whitespace() {
                            let count = word
                                .parse()
                                .map_err(|_| format!("`{word}` is not a count"))?;
                            let polygon = rest.get(..count).ok_or("a polygon is not complete")?;
                            faces.extend(fan(polygon));
                            rest = &rest[count..];
                        }
                    }
                    _ => faces.extend(fan(&corners)),
                }
            }
            let vertices = known.get(key).into_iter().flatten();
            parts.push(Part {
                vertices: vertices.map(|p| place.point(*p)).collect(),
                faces,
                colour: self.colour(instance, primitive),
            });
        }
        Ok(())
    }

    /// The source of the positions of a primitive.
    fn positions(&self, vertex: Node<'a, 'i>) -> Result<Node<'a, 'i>, Refusal> {
        let vertices = self.target(vertex, "source")?;
        let mut inputs = children(vertices, "input");
        let position = inputs.find(|input| input.attribute("semantic") == Some("POSITION"));
        self.target(position.ok_or("its vertices have no positions")?, "source")
    }

    /// The diffuse colour of the material of a primitive.
    fn colour(&self, instance: Node<'a, 'i>, primitive: Node<'a, 'i>) -> Option<[f64; 4]> {
        let symbol = primitive.attribute("material")?;
        let mut bound = instance
            .descendants()
            .filter(|node| node.has_tag_name("instance_material"));
        let bound = bound.find(|node| node.attribute("symbol") == Some(symbol));
        let material = match bound {
            Some(bound) => self.target(bound, "target").ok()?,
            None => *self.named.get(symbol)?,
        };
        let effect = self
            .target(child(material, "instance_effect")?, "url")
            .ok()?;
        let mut diffuse = effect
            .descendants()
            .filter(|node| node.has_tag_name("diffuse"));
        let colour = numbers(child(diffuse.next()?, "color")?).ok()?;
        match colour[..] {
            [r, g, b, ..] => Some([r, g, b, 1.0]),
            _ => None,
        }
    }
}

/// The points of a source.
fn points<'a, 'i>(source: Node<'a, 'i>, file: &File<'a, 'i>) -> Result<Vec<[f32; 3]>, Refusal> {
    let accessor = child(source, "technique_common").and_then(|node| child(node, "accessor"));
    let (array, stride, offset) = match accessor {
        Some(accessor) => {
            let integer = |key: &str, otherwise: usize| {
                let text = accessor.attribute(key);
                text.map_or(Ok(otherwise), str::parse)
                    .map_err(|_| format!("the {key} of its positions is not a number"))
            };
            let array = file.target(accessor, "source")?;
            (array, integer("stride", 3)?, integer("offset", 0)?)
        }
        None => (
            child(source, "float_array").ok_or("its positions are missing")?,
            3,
            0,
        ),
    };
    let list = numbers(array)?;
    let list = list.get(offset..).unwrap_or_default();
    if stride < 3 {
        return Err("its positions have fewer than three numbers each".into());
    }
    let places = list.chunks(stride).filter(|place| place.len() >= 3);
    Ok(places
        .map(|place| [place[0] as f32, place[1] as f32, place[2] as f32])
        .collect())
}

fn number(word: &str) -> Result<f64, Refusal> {
    let number = word.trim().parse().ok().filter(|x: &f64| x.is_finite());
    number.ok_or_else(|| format!("`{word}` is not a number"))
}

/// The numbers in an element.
fn numbers(element: Node<'_, '_>) -> Result<Vec<f64>, Refusal> {
    let words = element.text().unwrap_or_default().split_ascii_whitespace();
    words.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square that the scene places twice, in millimetres, inside a node that is turned and one that is moved.
    const FILE: &str = r##"<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="0.001"/><up_axis>Y_UP</up_axis></asset>
  <library_effects><effect id="red-effect"><profile_COMMON><technique sid="t"><phong>
    <diffuse><color>0.8 0.1 0.2 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="red"><instance_effect url="#red-effect"/></material></library_materials>
  <library_geometries><geometry id="square"><mesh>
    <source id="places"><float_array id="numbers" count="12">0 0 0  1000 0 0  1000 1000 0  0 1000 0</float_array>
      <technique_common><accessor source="#numbers" count="4" stride="3"/></technique_common></source>
    <vertices id="corners"><input semantic="POSITION" source="#places"/></vertices>
    <polylist material="paint" count="1"><input semantic="VERTEX" source="#corners" offset="0"/>
      <input semantic="NORMAL" source="#places" offset="1"/><vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene">
    <node><translate>0 0 5</translate><node><rotate>0 0 1 90</rotate>
      <instance_geometry url="#square"><bind_material><technique_common>
        <instance_material symbol="paint" target="#red"/></technique_common></bind_material></instance_geometry></node></node>
    <node><matrix>1 0 0 2000  0 1 0 0  0 0 1 0  0 0 0 1</matrix><instance_geometry url="#square"/></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>"##;

    #[test]
    fn nodes_place_units_scale_and_materials_colour() {
        let parts = parts(FILE).expect("parts");
        assert_eq!(parts.len(), 2);
        let with_colour = parts.iter().find(|part| part.colour.is_some());
        let turned = with_colour.expect("the red square");
        assert_eq!(turned.colour, Some([0.8, 0.1, 0.2, 1.0]));
        assert_eq!(turned.faces, [[0, 1, 2], [0, 2, 3]]);
        // 5 mm up, the x axis turned to y
        for (found, wanted) in turned.vertices[1].iter().zip([0.0, 1.0, 0.005]) {
            assert!((found - wanted).abs() < 1e-7, "{:?}", turned.vertices);
        }
        let moved = parts.iter().find(|part| part.colour.is_none());
        assert_eq!(moved.expect("the other").vertices[2], [3.0, 1.0, 0.0]);
    }

    #[test]
    fn what_is_missing_is_told() {
        for (old, new, wanted) in [
            (
                "#square\"/>",
                "#circle\"/>",
                "`#circle`, which does not exist",
            ),
            ("<vcount>4", "<vcount>5", "not complete"),
            ("0 0 1 90", "0 0 1", "<rotate> has 3 numbers"),
            ("1000 0 0 ", "1000 x 0 ", "`x` is not a number"),
            ("COLLADA", "COLLADE", "<COLLADA>"),
            (
                "url=\"#scene\"",
                "url=\"scene\"",
                "`scene`, which does not exist",
            ),
            ("visual_scene", "scenery", "no scene"),
            (
                "<rotate>0 0 1 90</rotate>",
                "<lookat>1 1 1 0 0 0 0 0 1</lookat>",
                "<lookat> is not understood",
            ),
            (
                "<matrix>1 0 0 2000",
                "<matrix>1 0 0",
                "<matrix> has 15 numbers",
            ),
            (
                "<translate>0 0 5",
                "<translate>0 5",
                "<translate> has 2 numbers",
            ),
            ("meter=\"0.001\"", "meter=\"mm\"", "`mm` is not a number"),
            ("POSITION", "COLOR", "its vertices have no positions"),
            ("stride=\"3\"", "stride=\"2\"", "fewer than three numbers"),
            (
                "stride=\"3\"",
                "stride=\"-3\"",
                "the stride of its positions is not a number",
            ),
            ("offset=\"1\"", "offset=\"one\"", "`one` is not an offset"),
            ("<p>0 0 1", "<p>0 0 -1", "`-1` is not a vertex index"),
            ("<vcount>4", "<vcount>four", "`four` is not a count"),
            (
                "source=\"#numbers\"",
                "source=\"#letters\"",
                "`#letters`, which does not exist",
            ),
            ("</COLLADA>", "", "never closed"),
        ] {
            let refusal = parts(&FILE.replace(old, new)).expect_err(wanted);
            assert!(refusal.contains(wanted), "{refusal}");
        }
    }

    /// However its primitives are written, the square has its area.
    #[test]
    fn primitives_of_all_kinds() {
        let (head, rest) = FILE.split_once("<polylist").expect("the square");
        let (_, tail) = rest.split_once("</polylist>").expect("its end");
        let inputs = "<input semantic=\"VERTEX\" source=\"#corners\"/>";
        for (tag, list) in [
            ("triangles", "<p>0 1 2 0 2 3</p>"),
            ("tristrips", "<p>0 1 3 2</p>"),
            ("trifans", "<p>0 1 2 3</p>"),
            ("polygons", "<p>0 1 2 3</p>"),
            ("polygons", "<ph><p>0 1 2 3</p><h>0 1 2</h></ph>"),
        ] {
            let file = format!("{head}<{tag} material=\"paint\">{inputs}{list}</{tag}>{tail}");
            for part in parts(&file).expect(tag) {
                let corner = |k: u32| part.vertices[k as usize].map(f64::from);
                let area = |face: &[u32; 3]| {
                    let [a, b, c] = face.map(corner);
                    0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
                };
                let whole: f64 = part.faces.iter().map(area).sum();
                assert!((whole - 1.0).abs() < 1e-6, "{tag}: {whole}");
            }
        }
        // lines have no faces, splines no mesh, and what has no vertices is left out
        let lines = format!("{head}<lines>{inputs}<p>0 1</p></lines>{tail}");
        assert!(parts(&lines).expect("lines").is_empty());
        let bare = format!("{head}<triangles><p>0 1 2</p></triangles>{tail}");
        assert!(parts(&bare).expect("no vertices").is_empty());
        let spline = FILE
            .replace("<mesh>", "<spline>")
            .replace("</mesh>", "</spline>");
        assert!(parts(&spline).expect("a spline").is_empty());
    }

    /// Without a choice of a scene the first is shown; positions without an accessor are three numbers each; a rotation about no axis is none; a node
    /// may be placed by its name, and be scaled.
    #[test]
    fn what_may_be_left_out() {
        let file = FILE
            .replace("<scene><instance_visual_scene url=\"#scene\"/></scene>", "")
            .replace("<rotate>0 0 1 90", "<rotate>0 0 0 90")
            .replace(
                "<technique_common><accessor source=\"#numbers\" count=\"4\" stride=\"3\"/></technique_common>",
                "",
            )
            .replace(
                "<library_visual_scenes>",
                "<library_nodes><node id=\"twice\"><scale>2 2 2</scale><instance_geometry url=\"#square\"/></node></library_nodes><library_visual_scenes>",
            )
            .replace("<node><matrix>", "<node><instance_node url=\"#twice\"/></node><node><matrix>");
        let parts = parts(&file).expect("parts");
        let mut ends: Vec<[f32; 3]> = parts.iter().map(|part| part.vertices[2]).collect();
        ends.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(ends, [[1.0, 1.0, 0.005], [2.0, 2.0, 0.0], [3.0, 1.0, 0.0]]);
    }

    /// A colour reference to nothing gives no colour; a material without a binding is found by its own name.
    #[test]
    fn colours_are_optional() {
        let colours = |old: &str, new: &str| -> Vec<Option<[f64; 4]>> {
            let parts = parts(&FILE.replace(old, new)).expect(new);
            parts.iter().map(|part| part.colour).collect()
        };
        let red = Some([0.8, 0.1, 0.2, 1.0]);
        assert_eq!(
            colours("material=\"paint\"", "material=\"red\""),
            [red, red]
        );
        for (old, new) in [
            ("target=\"#red\"", "target=\"#blue\""),
            ("url=\"#red-effect\"", "url=\"#blue-effect\""),
            ("0.8 0.1 0.2 1", "0.8 0.1"),
            ("0.8 0.1 0.2 1", "red"),
            ("material=\"paint\"", ""),
        ] {
            assert_eq!(colours(old, new), [None, None], "{new}");
        }
    }

    /// A node that contains itself terminates.
    #[test]
    fn a_scene_without_end_is_refused() {
        let round = FILE.replace(
            "<node><translate>",
            "<node id=\"n\"><instance_node url=\"#n\"/><translate>",
        );
        let refusal = parts(&round).expect_err("no end");
        assert!(refusal.contains("nodes"), "{refusal}");
    }
}
