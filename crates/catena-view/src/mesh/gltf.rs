//! glTF 2.0, as text (`.gltf`) or binary (`.glb`): the triangles that the scene of a file places, with the base colours of their materials.

use super::{Affine, MOST_NODES, Part, Refusal, expect_few, fan, strip};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::path::Path;

/// The parts that the scene places. Buffers in separate files are looked up in `folder`.
pub(super) fn parts(bytes: &[u8], folder: &Path) -> Result<Vec<Part>, Refusal> {
    let (text, binary) = chunks(bytes)?;
    let document: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if let Some(needed) = document["extensionsRequired"].as_array()
        && let Some(name) = needed.first()
    {
        return Err(format!("it needs the extension {name}, which is not read"));
    }
    let buffers = document["buffers"].as_array().into_iter().flatten();
    let file = File {
        buffers: buffers
            .map(|buffer| self::buffer(buffer, binary, folder))
            .collect::<Result<_, _>>()?,
        document: &document,
    };
    let scene = file.at("scenes", document.get("scene").unwrap_or(&Value::from(0)))?;
    let mut waiting = nodes(&scene["nodes"], Affine::IDENTITY);
    let mut found = Vec::new();
    let mut visited = 0;
    while let Some((index, outer)) = waiting.pop() {
        visited += 1;
        if visited.max(waiting.len()) > MOST_NODES {
            return Err(format!("its scene has more than {MOST_NODES} nodes"));
        }
        let node = file.at("nodes", &index)?;
        let here = outer.times(&transform(node)?);
        if !node["mesh"].is_null() {
            let mesh = file.at("meshes", &node["mesh"])?;
            for primitive in mesh["primitives"].as_array().into_iter().flatten() {
                found.extend(file.primitive(primitive, &here)?);
                expect_few(&found)?;
            }
        }
        waiting.extend(nodes(&node["children"], here));
    }
    Ok(found)
}

/// The text and the binary part of a file.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Refusal> {
    if !bytes.starts_with(b"glTF") {
        return Ok((bytes, None));
    }
    // 12 bytes of header; then parts: their length, their kind, themselves
    let mut rest = bytes.get(12..).ok_or("it is not complete")?;
    let mut found = Vec::new();
    while rest.len() >= 8 {
        let length = integer(&rest[..4]) as usize;
        let part = rest.get(8..8 + length).ok_or("it is not complete")?;
        found.push((&rest[4..8], part));
        rest = &rest[8 + length..];
    }
    let of_kind = |kind: &[u8]| found.iter().find(|(own, _)| *own == kind).map(|(_, p)| *p);
    Ok((
        of_kind(b"JSON").ok_or("it has no scene")?,
        of_kind(b"BIN\0"),
    ))
}

fn integer(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// The bytes of a buffer: in the file itself, in its address, or in another file of the same folder.
fn buffer(buffer: &Value, binary: Option<&[u8]>, folder: &Path) -> Result<Vec<u8>, Refusal> {
    let Some(address) = buffer["uri"].as_str() else {
        return Ok(binary.unwrap_or_default().to_vec());
    };
    if let Some(data) = address.strip_prefix("data:") {
        let (_, data) = data
            .split_once(";base64,")
            .ok_or("its data are not base64")?;
        return STANDARD.decode(data).map_err(|error| error.to_string());
    }
    let name = Path::new(address);
    let is_plain = name
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_plain || address.contains(':') {
        return Err(format!("its buffer `{address}` is not in its folder"));
    }
    let name = address.replace("%20", " ");
    std::fs::read(folder.join(&name)).map_err(|error| format!("its buffer `{name}`: {error}"))
}

/// The nodes of a list, with their transformations.
fn nodes(list: &Value, place: Affine) -> Vec<(Value, Affine)> {
    let list = list.as_array().into_iter().flatten();
    list.map(|index| (index.clone(), place)).collect()
}

/// The transformation of a node.
fn transform(node: &Value) -> Result<Affine, Refusal> {
    if !node["matrix"].is_null() {
        // column by column
        let m: [f64; 16] = list(&node["matrix"])?;
        return Ok(Affine(
            [0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| m[4 * column + row])),
        ));
    }
    let or = |value: &Value, otherwise: [f64; 3]| match value {
        Value::Null => Ok(otherwise),
        value => list(value),
    };
    let [x, y, z, w] = match &node["rotation"] {
        Value::Null => [0.0, 0.0, 0.0, 1.0],
        value => list(value)?,
    };
    let moved = Affine::translation(or(&node["translation"], [0.0; 3])?);
    let turned = Affine::rotation([w, x, y, z]);
    let scaled = Affine::scale(or(&node["scale"], [1.0; 3])?);
    Ok(moved.times(&turned).times(&scaled))
}

fn list<const N: usize>(value: &Value) -> Result<[f64; N], Refusal> {
    let numbers = value.as_array().into_iter().flatten();
    let numbers: Option<Vec<f64>> = numbers.map(Value::as_f64).collect();
    let numbers = numbers.and_then(|list| list.try_into().ok());
    numbers.ok_or_else(|| format!("{value} should be {N} numbers"))
}

struct File<'a> {
    document: &'a Value,
    buffers: Vec<Vec<u8>>,
}

/// Kinds of components of accessors.
const U8: u64 = 5121;
const U16: u64 = 5123;
const U32: u64 = 5125;
const F32: u64 = 5126;

impl File<'_> {
    /// An entry of a list of the document.
    fn at(&self, list: &str, index: &Value) -> Result<&Value, Refusal> {
        let place = index.as_u64().and_then(|k| usize::try_from(k).ok());
        let found = place.and_then(|k| self.document[list].get(k));
        found.ok_or_else(|| format!("{list} have no number {index}"))
    }

    /// The items of an accessor, each as its bytes.
    fn items(&self, index: &Value, kinds: &[u64], kind: &str) -> Result<Vec<&[u8]>, Refusal> {
        let accessor = self.at("accessors", index)?;
        let component = accessor["componentType"].as_u64().unwrap_or(0);
        if !kinds.contains(&component) || accessor["type"] != kind {
            return Err(format!("accessor {index} has numbers of another kind"));
        }
        if !accessor["sparse"].is_null() {
            return Err("sparse accessors are not read".into());
        }
        let size = match component {
            U8 => 1,
            U16 => 2,
            _ => 4,
        } * if kind == "VEC3" { 3 } else { 1 };
        let count = |value: &Value, otherwise: usize| match value {
            Value::Null => Ok(otherwise),
            value => value
                .as_u64()
                .and_then(|x| usize::try_from(x).ok())
                .ok_or_else(|| format!("{value} is not a count")),
        };
        let view = self.at("bufferViews", &accessor["bufferView"])?;
        let buffer = count(&view["buffer"], 0)?;
        let buffer = self.buffers.get(buffer).ok_or("a buffer is missing")?;
        let start = count(&view["byteOffset"], 0)?;
        let end = start.saturating_add(count(&view["byteLength"], 0)?);
        let bytes = buffer.get(start..end).ok_or("a buffer is too short")?;
        let stride = count(&view["byteStride"], size)?.max(1);
        let offset = count(&accessor["byteOffset"], 0)?;
        let number = count(&accessor["count"], 0)?;
        if number > bytes.len() {
            return Err("a buffer is too short".into());
        }
        let item = |k: usize| {
            let start = offset.checked_add(k.checked_mul(stride)?)?;
            bytes.get(start..start.checked_add(size)?)
        };
        let items: Option<Vec<&[u8]>> = (0..number).map(item).collect();
        items.ok_or_else(|| "a buffer is too short".into())
    }

    /// The triangles of a primitive; none if it has points or lines.
    fn primitive(&self, primitive: &Value, place: &Affine) -> Result<Option<Part>, Refusal> {
        let mode = primitive["mode"].as_u64().unwrap_or(4);
        if mode < 4 {
            return Ok(None);
        }
        let places = self.items(&primitive["attributes"]["POSITION"], &[F32], "VEC3")?;
        let coordinate = |bytes: &[u8]| f32::from_bits(integer(bytes));
        let vertices: Vec<[f32; 3]> = places
            .iter()
            .map(|p| place.point([0, 4, 8].map(|k| coordinate(&p[k..k + 4]))))
            .collect();
        let corners: Vec<u32> = match &primitive["indices"] {
            Value::Null => (0..vertices.len() as u32).collect(),
            index => {
                let items = self.items(index, &[U8, U16, U32], "SCALAR")?;
                items.into_iter().map(integer).collect()
            }
        };
        let faces = match mode {
            5 => strip(&corners).collect(),
            6 => fan(&corners).collect(),
            _ => corners
                .chunks_exact(3)
                .map(|c| [c[0], c[1], c[2]])
                .collect(),
        };
        Ok(Some(Part {
            vertices,
            faces,
            colour: self.colour(primitive),
        }))
    }

    /// The base colour of the material; glTF has linear intensities.
    fn colour(&self, primitive: &Value) -> Option<[f64; 4]> {
        let material = self.at("materials", &primitive["material"]).ok()?;
        let factor = &material["pbrMetallicRoughness"]["baseColorFactor"];
        let [r, g, b, a]: [f64; 4] = list(factor).ok()?;
        let shown = |x: f64| match x <= 0.003_130_8 {
            true => 12.92 * x,
            false => 1.055 * x.powf(1.0 / 2.4) - 0.055,
        };
        let opacity = if material["alphaMode"] == "BLEND" {
            a
        } else {
            1.0
        };
        Some([shown(r), shown(g), shown(b), opacity])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A triangle twice as large, turned by 90° about z and moved up, and its buffer.
    fn triangle() -> (Value, Vec<u8>) {
        let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mut bytes: Vec<u8> = corners
            .iter()
            .flatten()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        bytes.extend([0u16, 1, 2].iter().flat_map(|k| k.to_le_bytes()));
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let document = json!({
            "asset": { "version": "2.0" },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [
                { "children": [1], "translation": [0, 0, 3] },
                { "mesh": 0, "rotation": [0, 0, half, half], "scale": [2, 2, 2] },
            ],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1, "material": 0 }] }],
            "materials": [{ "pbrMetallicRoughness": { "baseColorFactor": [1, 0.5, 0, 1] } }],
            "accessors": [
                { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3" },
                { "bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR" },
            ],
            "bufferViews": [
                { "buffer": 0, "byteOffset": 0, "byteLength": 36 },
                { "buffer": 0, "byteOffset": 36, "byteLength": 6 },
            ],
            "buffers": [{ "byteLength": bytes.len() }],
        });
        (document, bytes)
    }

    /// A document with its bytes as one binary file (GLB).
    fn binary(document: &Value, bytes: &[u8]) -> Vec<u8> {
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut data = bytes.to_vec();
        data.resize(data.len().next_multiple_of(4), 0);
        let mut file = b"glTF".to_vec();
        let word = |x: usize| (x as u32).to_le_bytes();
        file.extend(word(2));
        file.extend(word(28 + text.len() + data.len()));
        file.extend(word(text.len()));
        file.extend(b"JSON");
        file.extend(&text);
        file.extend(word(data.len()));
        file.extend(b"BIN\0");
        file.extend(&data);
        file
    }

    fn check(parts: &[Part]) {
        let [part] = parts else { panic!("{parts:?}") };
        assert_eq!(part.faces, [[0, 1, 2]]);
        for (found, wanted) in part.vertices[1].iter().zip([0.0, 2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-6, "{:?}", part.vertices);
        }
        let [r, g, b, a] = part.colour.expect("a colour");
        assert_eq!((b, a), (0.0, 1.0));
        assert!((r - 1.0).abs() < 1e-12, "{r}");
        assert!((g - 0.735).abs() < 1e-3, "{g}");
    }

    #[test]
    fn text_and_binary_give_the_same() {
        let (mut document, bytes) = triangle();
        check(&parts(&binary(&document, &bytes), Path::new("")).expect("binary"));
        let address = format!(
            "data:application/octet-stream;base64,{}",
            STANDARD.encode(&bytes)
        );
        document["buffers"][0]["uri"] = address.into();
        check(&parts(document.to_string().as_bytes(), Path::new("")).expect("text"));
    }

    /// Strips, fans and lists of corners of every size are the same triangle; points and lines are none.
    #[test]
    fn triangles_of_all_kinds() {
        let (document, bytes) = triangle();
        for mode in [4, 5, 6] {
            let mut other = document.clone();
            other["meshes"][0]["primitives"][0]["mode"] = mode.into();
            check(&parts(&binary(&other, &bytes), Path::new("")).expect("triangles"));
        }
        for mode in [0, 1, 2, 3] {
            let mut other = document.clone();
            other["meshes"][0]["primitives"][0]["mode"] = mode.into();
            assert_eq!(
                parts(&binary(&other, &bytes), Path::new("")),
                Ok(Vec::new())
            );
        }
        for (kind, size) in [(U8, 1), (U16, 2), (U32, 4)] {
            let mut other = document.clone();
            let mut bytes = bytes[..36].to_vec();
            for corner in [0u32, 1, 2] {
                bytes.extend(&corner.to_le_bytes()[..size]);
            }
            other["accessors"][1]["componentType"] = kind.into();
            other["bufferViews"][1]["byteLength"] = (3 * size).into();
            check(&parts(&binary(&other, &bytes), Path::new("")).expect("triangles"));
        }
        // positions with a stride, as in interleaved buffers, and a node with a matrix
        let mut apart = document.clone();
        apart["bufferViews"][0]["byteStride"] = 12.into();
        apart["accessors"][1]["byteOffset"] = 0.into();
        apart["nodes"][0]["matrix"] = json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 3, 1]);
        check(&parts(&binary(&apart, &bytes), Path::new("")).expect("triangles"));
    }

    /// A buffer in a file of its own is found in the folder, also one with a space in its name.
    #[test]
    fn buffers_in_other_files() {
        let folder = std::env::temp_dir().join(format!("catena-gltf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (mut document, bytes) = triangle();
        std::fs::write(folder.join("my corners.bin"), bytes).expect("a file");
        document["buffers"][0]["uri"] = "my%20corners.bin".into();
        let text = document.to_string();
        let found = parts(text.as_bytes(), &folder);
        std::fs::remove_dir_all(&folder).expect("it was there");
        check(&found.expect("the other file"));
        let refusal = parts(text.as_bytes(), &folder).expect_err("it is gone");
        assert!(
            refusal.starts_with("its buffer `my corners.bin`: "),
            "{refusal}"
        );
    }

    /// Opacity counts where the material blends; dark colours are nearly linear.
    #[test]
    fn colours_blend_where_they_say_so() {
        let (mut document, bytes) = triangle();
        document["materials"][0] = json!({
            "alphaMode": "BLEND",
            "pbrMetallicRoughness": { "baseColorFactor": [0.001, 0, 0, 0.25] },
        });
        let colour = |document: &Value| {
            let parts = parts(&binary(document, &bytes), Path::new("")).expect("a triangle");
            parts[0].colour
        };
        assert_eq!(colour(&document), Some([12.92 * 0.001, 0.0, 0.0, 0.25]));
        document["materials"] = json!([{}]);
        assert_eq!(colour(&document), None);
    }

    #[test]
    fn damaged_files_are_refused() {
        let (document, bytes) = triangle();
        let refused = |path: &str, value: Value, wanted: &str| {
            let mut changed = document.clone();
            *changed.pointer_mut(path).expect(path) = value;
            let refusal = parts(&binary(&changed, &bytes), Path::new("")).expect_err(path);
            assert!(refusal.contains(wanted), "{path}: {refusal}");
        };
        refused("/accessors/0/count", json!(4), "too short");
        refused("/accessors/0/count", json!(4_000_000_000u32), "too short");
        refused("/accessors/0/componentType", json!(5123), "another kind");
        refused("/bufferViews/1/byteOffset", json!(u64::MAX), "too short");
        refused("/nodes/1/mesh", json!(7), "meshes have no number 7");
        refused("/nodes/1", json!({ "children": [0] }), "more than");
        refused("/nodes/1/scale", json!([2, 2]), "[2,2] should be 3 numbers");
        refused("/nodes/1/rotation", json!("half"), "should be 4 numbers");
        refused("/bufferViews/1/byteOffset", json!(-1), "-1 is not a count");
        refused("/bufferViews/0/buffer", json!(3), "a buffer is missing");
        refused("/accessors/1/count", json!(4), "too short");
        refused(
            "/accessors/0",
            json!({ "componentType": 5126, "type": "VEC3", "sparse": {} }),
            "sparse accessors are not read",
        );
        let needy = json!({ "extensionsRequired": ["KHR_draco"] }).to_string();
        let refusal = parts(needy.as_bytes(), Path::new("")).expect_err("an extension");
        assert!(
            refusal.contains("needs the extension \"KHR_draco\""),
            "{refusal}"
        );
        let mut address = document.clone();
        for (uri, wanted) in [
            ("data:text/plain,abc", "not base64"),
            ("data:x;base64,?", "Invalid"),
        ] {
            address["buffers"][0]["uri"] = uri.into();
            let refusal = parts(address.to_string().as_bytes(), Path::new("")).expect_err(uri);
            assert!(refusal.contains(wanted), "{refusal}");
        }
        let mut outside = document.clone();
        outside["buffers"][0]["uri"] = "../secret.bin".into();
        let refusal = parts(outside.to_string().as_bytes(), Path::new("")).expect_err("outside");
        assert!(refusal.contains("not in its folder"), "{refusal}");
        let whole = binary(&document, &bytes);
        for length in 0..whole.len() {
            // cut off anywhere: rejected, or its padding is missing
            let _ = parts(&whole[..length], Path::new(""));
        }
        assert!(parts(&whole[..whole.len() - 8], Path::new("")).is_err());
    }
}
