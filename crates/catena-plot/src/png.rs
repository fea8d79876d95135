//! Plots as pixels.
//!
//! Our plots consist of a few kinds of elements (see `svg.rs`), so that they are drawn here without a general SVG renderer,
//! which would take five times as long to build: `tiny-skia` fills and strokes, `ttf-parser` gives the outlines of letters. An
//! element or attribute that is unknown is an error, never ignored.

use catena::{Error, ErrorKind, Result};
use roxmltree::{Document, Node};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke,
    StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// DejaVu Sans, reduced; its licence is in the same folder.
const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Maximum number of pixels of a side.
const MOST: f32 = 20_000.0;

/// A picture of this crate as PNG, magnified `scale` times (2 is good for screens, 3 for print).
///
/// Text is rendered in an embedded font (Latin, Greek, Cyrillic, mathematical signs), so the result is the same on
/// every machine. Characters that the font lacks are left out.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let document = Document::parse(svg)
        .map_err(|error| refusal(format!("the picture is not valid SVG: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "svg" {
        return Err(refusal("the picture is not SVG"));
    }
    let [width, height] = [number(root, "width")?, number(root, "height")?].map(|x| x * scale);
    let fits = |x: f32| (1.0..=MOST).contains(&x.ceil());
    if !(scale > 0.0 && fits(width) && fits(height)) {
        return Err(refusal(format!(
            "a picture cannot be magnified {scale} times to {width} × {height} pixels"
        ))
        .hint("choose a positive scale that gives at most 20000 × 20000 pixels"));
    }
    let pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| refusal(format!("not enough memory for {width} × {height} pixels")))?;
    let face = Face::parse(FONT, 0)
        .map_err(|error| refusal(format!("the embedded font cannot be read: {error}")))?;
    let mut painter = Painter {
        pixels,
        face,
        transform: Transform::from_scale(scale, scale),
        clip: None,
    };
    painter.pixels.fill(Color::WHITE);
    painter.children(root)?;
    painter.pixels.encode_png().map_err(|error| {
        Error::new(
            ErrorKind::File,
            format!("the picture cannot be encoded: {error}"),
        )
    })
}

fn refusal(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message)
}

/// A number among the attributes; 0 if it is missing.
fn number(node: Node<'_, '_>, name: &str) -> Result<f32> {
    let Some(text) = node.attribute(name) else {
        return Ok(0.0);
    };
    text.parse().map_err(|_| {
        let tag = node.tag_name().name();
        refusal(format!("`{name}` of <{tag}> is not a number: `{text}`"))
    })
}

struct Painter<'a> {
    pixels: Pixmap,
    face: Face<'a>,
    transform: Transform,
    clip: Option<Mask>,
}

impl Painter<'_> {
    fn children(&mut self, node: Node<'_, '_>) -> Result<()> {
        for child in node.children().filter(Node::is_element) {
            self.element(child)?;
        }
        Ok(())
    }

    fn element(&mut self, node: Node<'_, '_>) -> Result<()> {
        let get = |name: &str| number(node, name);
        let mut path = PathBuilder::new();
        match node.tag_name().name() {
            "title" => return Ok(()),
            "svg" => return self.region(node),
            "text" => return self.text(node),
            "line" => {
                path.move_to(get("x1")?, get("y1")?);
                path.line_to(get("x2")?, get("y2")?);
            }
            "rect" => {
                let rect = Rect::from_xywh(get("x")?, get("y")?, get("width")?, get("height")?);
                if let Some(rect) = rect {
                    path.push_rect(rect);
                }
            }
            "circle" => path.push_circle(get("cx")?, get("cy")?, get("r")?),
            "polyline" | "polygon" => {
                let text = node.attribute("points").unwrap_or_default();
                for (k, point) in text.split_ascii_whitespace().enumerate() {
                    let parsed = point
                        .split_once(',')
                        .and_then(|(x, y)| Some((x.parse::<f32>().ok()?, y.parse::<f32>().ok()?)));
                    let Some((x, y)) = parsed else {
                        return Err(refusal(format!("`{point}` is not a point")));
                    };
                    match k {
                        0 => path.move_to(x, y),
                        _ => path.line_to(x, y),
                    }
                }
                if node.tag_name().name() == "polygon" {
                    path.close();
                }
            }
            other => return Err(refusal(format!("<{other}> cannot be drawn as pixels"))),
        }
        check_attributes(node)?;
        match path.finish() {
            Some(path) => self.draw(node, &path, self.transform),
            // a single point
            None => Ok(()),
        }
    }

    /// Draws a part of the picture outside which nothing is drawn; its coordinates are those around it.
    fn region(&mut self, node: Node<'_, '_>) -> Result<()> {
        let get = |name: &str| number(node, name);
        let rect = Rect::from_xywh(get("x")?, get("y")?, get("width")?, get("height")?);
        let Some(rect) = rect else {
            return Ok(());
        };
        let mut mask = Mask::new(self.pixels.width(), self.pixels.height())
            .ok_or_else(|| refusal("not enough memory for a region of the picture"))?;
        let path = PathBuilder::from_rect(rect);
        mask.fill_path(&path, FillRule::Winding, true, self.transform);
        let outer = self.clip.replace(mask);
        let done = self.children(node);
        self.clip = outer;
        done
    }

    fn draw(&mut self, node: Node<'_, '_>, path: &Path, transform: Transform) -> Result<()> {
        if let Some(paint) = paint(node, "fill", "#000000")?
            && node.tag_name().name() != "line"
        {
            self.pixels.fill_path(
                path,
                &paint,
                FillRule::Winding,
                transform,
                self.clip.as_ref(),
            );
        }
        let Some(paint) = paint(node, "stroke", "none")? else {
            return Ok(());
        };
        let mut stroke = Stroke {
            width: match node.has_attribute("stroke-width") {
                true => number(node, "stroke-width")?,
                false => 1.0,
            },
            ..Stroke::default()
        };
        stroke.line_cap = match node.attribute("stroke-linecap") {
            None | Some("butt") => LineCap::Butt,
            Some("round") => LineCap::Round,
            Some(other) => return Err(refusal(format!("unknown line cap `{other}`"))),
        };
        stroke.line_join = match node.attribute("stroke-linejoin") {
            None | Some("miter") => LineJoin::Miter,
            Some("round") => LineJoin::Round,
            Some(other) => return Err(refusal(format!("unknown line join `{other}`"))),
        };
        if let Some(text) = node
            .attribute("stroke-dasharray")
            .filter(|text| !text.is_empty())
        {
            let mut lengths = Vec::new();
            for part in text.split([' ', ',']).filter(|part| !part.is_empty()) {
                let length = part.parse::<f32>();
                lengths
                    .push(length.map_err(|_| refusal(format!("`{part}` is not a dash length")))?);
            }
            stroke.dash = StrokeDash::new(lengths, 0.0);
        }
        self.pixels
            .stroke_path(path, &paint, &stroke, transform, self.clip.as_ref());
        Ok(())
    }

    fn text(&mut self, node: Node<'_, '_>) -> Result<()> {
        check_attributes(node)?;
        let text = node.text().unwrap_or_default();
        let (x, y) = (number(node, "x")?, number(node, "y")?);
        let size = number(node, "font-size")?;
        let unit = size / f32::from(self.face.units_per_em());
        let glyphs: Vec<_> = text
            .chars()
            .filter_map(|c| self.face.glyph_index(c))
            .map(|glyph| {
                let advance = self.face.glyph_hor_advance(glyph).unwrap_or(0);
                (glyph, unit * f32::from(advance))
            })
            .collect();
        let width: f32 = glyphs.iter().map(|(_, advance)| advance).sum();
        let start = match node.attribute("text-anchor") {
            None | Some("start") => 0.0,
            Some("middle") => -0.5 * width,
            Some("end") => -width,
            Some(other) => return Err(refusal(format!("unknown text anchor `{other}`"))),
        };
        let mut outline = Outline {
            path: PathBuilder::new(),
            unit,
            origin: (x + start, y),
        };
        for (glyph, advance) in glyphs {
            // a space has no outline
            let _ = self.face.outline_glyph(glyph, &mut outline);
            outline.origin.0 += advance;
        }
        let transform = match node.attribute("transform") {
            None => self.transform,
            Some(text) => self.transform.pre_concat(rotation(text)?),
        };
        match outline.path.finish() {
            Some(path) => self.draw(node, &path, transform),
            None => Ok(()),
        }
    }
}

/// `rotate(angle x y)`.
fn rotation(text: &str) -> Result<Transform> {
    let inside = text
        .strip_prefix("rotate(")
        .and_then(|t| t.strip_suffix(')'));
    let numbers: Option<Vec<f32>> = inside
        .map(|inside| inside.split_ascii_whitespace())
        .and_then(|parts| parts.map(|part| part.parse().ok()).collect());
    match numbers.as_deref() {
        Some(&[angle, x, y]) => Ok(Transform::from_rotate_at(angle, x, y)),
        _ => Err(refusal(format!("`{text}` is not a rotation"))),
    }
}

/// The colour of an area or a line; none if it has none.
fn paint(node: Node<'_, '_>, name: &str, default: &str) -> Result<Option<Paint<'static>>> {
    let text = node.attribute(name).unwrap_or(default);
    if text == "none" {
        return Ok(None);
    }
    let code = text
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| refusal(format!("`{text}` is not a colour")))?;
    let [_, red, green, blue] = code.to_be_bytes();
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    Ok(Some(paint))
}

/// Rejects an attribute that would not be drawn.
fn check_attributes(node: Node<'_, '_>) -> Result<()> {
    const KNOWN: [&str; 24] = [
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "cx",
        "cy",
        "r",
        "width",
        "height",
        "points",
        "fill",
        "stroke",
        "stroke-width",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "font-size",
        "text-anchor",
        "transform",
        "viewBox",
        "font-family",
        "role",
    ];
    let tag = node.tag_name().name();
    for attribute in node.attributes() {
        let name = attribute.name();
        if !KNOWN.contains(&name) || (name == "transform" && tag != "text") {
            return Err(refusal(format!(
                "`{name}` of <{tag}> cannot be drawn as pixels"
            )));
        }
    }
    Ok(())
}

/// The outlines of letters, placed at the position of the text; in fonts y points up.
struct Outline {
    path: PathBuilder,
    unit: f32,
    origin: (f32, f32),
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.origin.0 + self.unit * x, self.origin.1 - self.unit * y)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
