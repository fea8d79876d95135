//! Pictures and movies of a scene, drawn by the page in a headless browser.
//!
//! The scene carries the wanted instants (`render`); the page draws them all before it has loaded and leaves them in its document, which
//! the browser prints. So one start of the browser makes a whole movie, without any communication while it runs.

use crate::mp4::{Encoded, Movie};
use crate::page;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use catena::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs that can draw the page.
const BROWSERS: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
];

/// What to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Instants, s.
    pub times: Vec<f64>,
    /// `corner`, `front`, `side` or `top`.
    pub view: String,
    /// Instead of a view: the direction from which the scene is seen, in world axes.
    pub from: Option<[f64; 3]>,
    /// Magnification; at 1 the whole mechanism is in view.
    pub zoom: f64,
    /// Light on a dark background.
    pub dark: bool,
    /// Write the time into the picture.
    pub clock: bool,
}

/// A browser on this machine: the one that `CATENA_BROWSER` names, or the first that is found on the path.
pub fn browser() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("CATENA_BROWSER") {
        return Some(chosen.into()).filter(|path: &PathBuf| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    BROWSERS.iter().find_map(|name| {
        let files = folders.iter().map(|folder| folder.join(name));
        files.into_iter().find(|file| file.is_file())
    })
}

/// What a browser has drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    /// Pictures in PNG, one for each instant.
    Pictures(Vec<Vec<u8>>),
    /// A movie in MP4.
    Movie(Vec<u8>),
}

/// The pictures, drawn by a browser. Where `movie` gives a rate and the browser can encode H.264, they are a movie.
pub fn by_browser(
    browser: &Path,
    scene: &Value,
    picture: &Picture,
    movie: Option<f64>,
) -> Result<Drawn> {
    let failed = |what: String| {
        Error::new(
            ErrorKind::Unsupported,
            format!("{} cannot draw the pictures: {what}", browser.display()),
        )
        .hint("name another browser in CATENA_BROWSER; without one the strip's rasteriser draws")
    };
    let mut scene = scene.clone();
    let [width, height] = picture.size;
    scene["render"] = json!({
        "width": width, "height": height, "times": picture.times,
        "view": picture.view, "from": picture.from, "zoom": picture.zoom,
        "dark": picture.dark, "clock": picture.clock, "movie": movie,
    });
    let folder = Temporary::new().map_err(|error| failed(error.to_string()))?;
    let file = folder.0.join("scene.html");
    std::fs::write(&file, page::html(&scene)).map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--dump-dom",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--mute-audio",
        ])
        .args([
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--force-device-scale-factor=1",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.0.join("profile").display()
        ))
        .arg(format!("--window-size={width},{height}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if is_root() {
        // the sandbox of Chromium does not work for root
        command.arg("--no-sandbox");
    }
    let output = command
        .arg(url_of(&file))
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let (Some(rate), Some((_, told))) = (movie, text.split_once("<i class=\"movie\">")) {
        let told = told.split('<').next().unwrap_or_default();
        let movie = movie_of(told, picture.size, rate)
            .filter(|movie| movie.pictures.len() == picture.times.len())
            .ok_or_else(|| failed("its description of the movie is damaged".into()))?;
        return Ok(Drawn::Movie(movie.file()));
    }
    let pictures = text
        .split("<i class=\"picture\">data:image/png;base64,")
        .skip(1)
        .map(|part| STANDARD.decode(part.split('<').next().unwrap_or_default().trim()))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| failed(error.to_string()))?;
    match pictures.len() == picture.times.len() {
        true => Ok(Drawn::Pictures(pictures)),
        false => Err(failed(format!(
            "it drew {} of {} ({})",
            pictures.len(),
            picture.times.len(),
            output.status
        ))),
    }
}

/// The movie that the page reports.
fn movie_of(told: &str, size: [u32; 2], rate: f64) -> Option<Movie> {
    let told: Value = serde_json::from_str(told).ok()?;
    let bytes = |value: &Value| STANDARD.decode(value.as_str()?).ok();
    let pictures = told["pictures"].as_array()?.iter();
    let pictures = pictures.map(|picture| {
        Some(Encoded {
            key: picture["key"].as_bool()?,
            data: bytes(&picture["data"])?,
        })
    });
    Some(Movie {
        size,
        rate,
        description: bytes(&told["description"])?,
        pictures: pictures.collect::<Option<_>>()?,
    })
}

/// A GIF movie of PNG pictures, all of the same size, in an endless loop.
pub fn gif(pictures: &[Vec<u8>], rate: f64) -> Result<Vec<u8>> {
    let failed = |error: String| {
        Error::new(
            ErrorKind::Input,
            format!("the movie cannot be made: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let mut encoder: Option<gif::Encoder<&mut Vec<u8>>> = None;
    let mut room = Some(&mut bytes);
    for (k, picture) in pictures.iter().enumerate() {
        let (width, height, mut pixels) = pixels(picture).map_err(failed)?;
        let mut frame = gif::Frame::from_rgba_speed(width, height, &mut pixels, 10);
        // hundredths of a second, without accumulating rounding errors
        let hundredths = |k: usize| (100.0 * k as f64 / rate).round() as u16;
        frame.delay = hundredths(k + 1) - hundredths(k);
        let encoder = match &mut encoder {
            Some(encoder) => encoder,
            None => {
                let Some(room) = room.take() else { break };
                let mut new = gif::Encoder::new(room, width, height, &[])
                    .map_err(|e| failed(e.to_string()))?;
                new.set_repeat(gif::Repeat::Infinite)
                    .map_err(|e| failed(e.to_string()))?;
                encoder.insert(new)
            }
        };
        encoder
            .write_frame(&frame)
            .map_err(|e| failed(e.to_string()))?;
    }
    drop(encoder);
    Ok(bytes)
}

/// Writes a movie in MP4 (H.264) of pictures in PNG, by ffmpeg: where there is no browser, or it cannot encode.
pub fn mp4(pictures: &[Vec<u8>], rate: f64, path: &Path) -> Result<()> {
    let failed = |what: String| {
        Error::new(
            ErrorKind::Unsupported,
            format!("ffmpeg cannot make the MP4: {what}"),
        )
        .hint("write a .gif")
    };
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(
            ErrorKind::Unsupported,
            "MP4 needs a browser that encodes H.264, or ffmpeg; neither is there",
        )
        .hint("install chromium or ffmpeg (`apt install ffmpeg`), or write a .gif"),
        _ => failed(error.to_string()),
    };
    let mut child = Command::new("ffmpeg")
        .args([
            "-y",
            "-loglevel",
            "error",
            "-f",
            "image2pipe",
            "-framerate",
            &rate.to_string(),
            "-i",
            "-",
        ])
        // players require even sizes and this pixel format
        .args([
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-pix_fmt",
            "yuv420p",
            "-c:v",
            "libx264",
            "-crf",
            "18",
        ])
        .args(["-f", "mp4", "-movflags", "+faststart"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut input) = child.stdin.take() {
        for picture in pictures {
            // ffmpeg reports its own errors
            if input.write_all(picture).is_err() {
                break;
            }
        }
    }
    let output = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_string(),
        )),
    }
}

/// Width, height and RGBA pixels of a picture in PNG.
fn pixels(picture: &[u8]) -> std::result::Result<(u16, u16, Vec<u8>), String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(picture));
    decoder.set_transformations(
        png::Transformations::EXPAND | png::Transformations::STRIP_16 | png::Transformations::ALPHA,
    );
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader
        .output_buffer_size()
        .ok_or("the picture is too large")?;
    let mut pixels = vec![0; size];
    let info = reader
        .next_frame(&mut pixels)
        .map_err(|error| error.to_string())?;
    if info.color_type != png::ColorType::Rgba {
        return Err(format!("the picture has the colours {:?}", info.color_type));
    }
    let side = |x: u32| u16::try_from(x).map_err(|_| "the picture is too large".to_string());
    Ok((side(info.width)?, side(info.height)?, pixels))
}

/// The address of a file.
fn url_of(file: &Path) -> String {
    let mut path = file.display().to_string();
    for (letter, code) in [
        ("%", "%25"),
        (" ", "%20"),
        ("#", "%23"),
        ("?", "%3F"),
        ("\\", "/"),
    ] {
        path = path.replace(letter, code);
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{path}")
}

fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
    }
    #[cfg(not(unix))]
    false
}

/// A folder that is removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> std::io::Result<Self> {
        for count in 0u32.. {
            let name = format!("catena-render-{}-{count}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match std::fs::create_dir(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Temporary(folder)),
            }
        }
        Err(std::io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(grey: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 8, 4);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(&[grey; 8 * 4 * 3]).expect("pixels");
        writer.finish().expect("an end");
        bytes
    }

    /// The frames of a movie have the pictures' size and the expected duration.
    #[test]
    fn a_gif_has_all_pictures_and_its_duration() {
        let pictures: Vec<Vec<u8>> = [10, 120, 240].map(picture).to_vec();
        let bytes = gif(&pictures, 30.0).expect("a movie");
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).expect("a GIF");
        assert_eq!((decoder.width(), decoder.height()), (8, 4));
        let (mut delays, mut greys) = (0, Vec::new());
        while let Some(frame) = decoder.read_next_frame().expect("a frame") {
            delays += frame.delay;
            greys.push(frame.buffer[0]);
        }
        assert_eq!(delays, 10);
        assert_eq!(greys.len(), 3);
        for (grey, wanted) in greys.iter().zip([10u8, 120, 240]) {
            assert!(grey.abs_diff(wanted) < 8, "{greys:?}");
        }
    }

    #[test]
    fn addresses_of_files() {
        assert_eq!(
            url_of(Path::new("/tmp/a b#1.html")),
            "file:///tmp/a%20b%231.html"
        );
        assert_eq!(
            url_of(Path::new("C:\\tmp\\a.html")),
            "file:///C:/tmp/a.html"
        );
    }

    #[test]
    fn what_is_no_picture_is_told() {
        assert!(gif(&[b"no".to_vec()], 30.0).is_err());
    }
}
