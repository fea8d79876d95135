//! Pictures as pixels.

use catena::{Error, ErrorKind, Result};
use resvg::{tiny_skia, usvg};

/// DejaVu Sans, reduced; its licence stands beside it.
const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");
const FAMILY: &str = "DejaVu Sans";

/// A picture of this crate as PNG, magnified `scale` times (2 is good for screens, 3 for print).
///
/// The text is set in an embedded font (Latin, Greek, Cyrillic, mathematical signs), so the result is the same on every
/// machine. Characters that the font lacks are left out.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let mut options = usvg::Options {
        font_family: FAMILY.to_string(),
        ..usvg::Options::default()
    };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = usvg::Tree::from_str(svg, &options)
        .map_err(|e| Error::new(ErrorKind::Syntax, format!("the picture is not SVG: {e}")))?;
    let [width, height] = [tree.size().width(), tree.size().height()].map(|x| (x * scale).round());
    if !(scale > 0.0 && width * height <= 4e8) {
        return Err(Error::new(
            ErrorKind::Input,
            format!("a picture of {width} × {height} pixels cannot be made"),
        )
        .hint("choose a positive scale that gives at most 20000 × 20000 pixels"));
    }
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32).ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("a picture of {width} × {height} pixels cannot be made"),
        )
    })?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| {
        Error::new(
            ErrorKind::File,
            format!("the picture cannot be encoded: {e}"),
        )
    })
}
