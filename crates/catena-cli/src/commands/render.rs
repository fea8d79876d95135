//! `catena render RUN -o FILE`: a still or a movie of a run.

use crate::number::{self, six};
use crate::outcome::Outcome;
use crate::scene_argument::Sight;
use crate::{json, limits, output};
use catena::error::{Error, ErrorKind, Result};
#[cfg(feature = "png")]
use catena::spatial::Vec3;
use catena_view::render::{self, Drawn, Picture};
use catena_view::{Budget, scene};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Maximum number of pictures in a movie.
const MOST: usize = 3000;

/// Which run, and what the picture is like.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Run written by `catena simulate -o`: .csv, .parquet or .mcap, finished or not
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// The picture (.png) or movie (.gif, .mp4)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Instant of a picture, s [default: the end]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    at: Option<f64>,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "800x500")]
    size: String,

    /// Viewpoint
    #[arg(long, value_enum, value_name = "NAME", default_value = "corner")]
    view: Standpoint,

    /// Look from this direction instead, world axes
    #[arg(
        long,
        value_name = "X,Y,Z",
        allow_hyphen_values = true,
        conflicts_with = "view"
    )]
    from: Option<String>,

    /// Magnification; at 1 the whole mechanism is in view
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    zoom: f64,

    /// Pictures per second of a movie
    #[arg(long, value_name = "N", default_value_t = 25.0)]
    rate: f64,

    /// Seconds of motion per second of a movie
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,

    /// Light on a dark background
    #[arg(long)]
    dark: bool,

    /// Leave out the time
    #[arg(long)]
    no_clock: bool,

    /// URDF or MJCF file whose shapes and meshes are shown
    #[arg(long, value_name = "FILE")]
    visuals: Option<PathBuf>,

    /// Renderer
    #[arg(long, value_enum, value_name = "WHO", default_value = "best")]
    with: Drawer,
}

/// From where a mechanism is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Standpoint {
    /// From a corner, a little from above.
    Corner,
    /// From the front.
    Front,
    /// From the side.
    Side,
    /// From above.
    Top,
}

/// Who draws the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Drawer {
    /// The browser if there is one, else sticks.
    Best,
    /// A browser without a window (Chromium, Chrome, Edge).
    Browser,
    /// The stick figures of `catena plot`.
    Sticks,
}

/// Kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Png,
    Gif,
    Mp4,
}

/// Draws the run.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let format = format_of(&arguments.output)?;
    output::expect_folder(&arguments.output)?;
    let mut size = size(&arguments.size)?;
    if format == Format::Mp4 {
        // H.264 stores colours for every second pixel
        size = size.map(|side| side.next_multiple_of(2));
    }
    limits::positive("--zoom", arguments.zoom)?;
    limits::positive("--rate", arguments.rate)?;
    limits::positive("--speed", arguments.speed)?;
    let sight = Sight::of_run(&arguments.run, Budget::SERVED, arguments.visuals.as_deref())?;
    let time = sight
        .run
        .as_ref()
        .and_then(|run| run.column("time"))
        .unwrap_or_default();
    let (start, end) = match time {
        [start, .., end] => (*start, *end),
        [only] => (*only, *only),
        [] => (0.0, 0.0),
    };
    let times = match (format, arguments.at) {
        (Format::Png, at) => vec![within(at.unwrap_or(end), start, end)?],
        (_, Some(_)) => {
            return Err(Error::new(
                ErrorKind::Input,
                "--at is for pictures; a movie shows the whole run",
            ));
        }
        (_, None) => {
            let count = ((end - start) / arguments.speed * arguments.rate).floor() + 1.0;
            if count > MOST as f64 {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("a movie of {count} pictures is too long: at most {MOST}"),
                )
                .hint("raise --speed or lower --rate"));
            }
            (0..count as usize)
                .map(|k| start + k as f64 / arguments.rate * arguments.speed)
                .collect()
        }
    };
    let picture = Picture {
        size,
        times,
        view: format!("{:?}", arguments.view).to_lowercase(),
        from: arguments.from.as_deref().map(direction).transpose()?,
        zoom: arguments.zoom,
        dark: arguments.dark,
        clock: !arguments.no_clock,
    };
    let browser = match arguments.with {
        Drawer::Sticks => None,
        Drawer::Best | Drawer::Browser => render::browser(),
    };
    let mut outcome = Outcome::default();
    outcome.notes.extend(sight.notes.clone());
    let (drawn, who) = match browser {
        Some(browser) => {
            let scene = scene::scene(vec![sight.subject.clone()], &[]);
            let movie = (format == Format::Mp4).then_some(arguments.rate);
            let drawn = render::by_browser(&browser, &scene, &picture, movie)?;
            (drawn, "browser")
        }
        None if arguments.with == Drawer::Browser => {
            return Err(
                Error::new(ErrorKind::Unsupported, "there is no browser on the path")
                    .hint("install chromium, name one in CATENA_BROWSER, or give --with sticks"),
            );
        }
        None => {
            if arguments.dark || arguments.zoom != 1.0 {
                outcome = outcome.note(
                    "sticks are drawn on white and fill the picture: --dark and --zoom do nothing",
                );
            }
            (Drawn::Pictures(sticks(&sight, &picture)?), "sticks")
        }
    };
    match (format, &drawn) {
        (_, Drawn::Movie(bytes)) => output::write_file(&arguments.output, bytes)?,
        (Format::Png, Drawn::Pictures(pictures)) => {
            output::write_file(&arguments.output, &pictures[0])?
        }
        (Format::Gif, Drawn::Pictures(pictures)) => {
            output::write_file(&arguments.output, render::gif(pictures, arguments.rate)?)?
        }
        (Format::Mp4, Drawn::Pictures(pictures)) => {
            output::refuse_input(&arguments.output)?;
            render::mp4(pictures, arguments.rate, &arguments.output)?;
        }
    }
    let name = arguments.output.display().to_string();
    if as_json {
        outcome.text = json::text(&json!({
            "format": "catena-render/1", "file": name, "pictures": picture.times.len(),
            "drawn_by": who, "width": size[0], "height": size[1],
        }));
        return Ok(outcome);
    }
    let how = match who {
        "sticks" => ", drawn as sticks: there is no browser on the path",
        _ => "",
    };
    let how = if arguments.with == Drawer::Sticks {
        ""
    } else {
        how
    };
    Ok(outcome.note(format!("wrote {name}{how}")))
}

fn format_of(path: &Path) -> Result<Format> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match extension.as_str() {
        "png" => Ok(Format::Png),
        "gif" => Ok(Format::Gif),
        "mp4" => Ok(Format::Mp4),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the format of {} cannot be determined from its name",
                path.display()
            ),
        )
        .hint("give a name that ends in .png, .gif or .mp4")),
    }
}

fn size(text: &str) -> Result<[u32; 2]> {
    let side = |part: &str| part.parse::<u32>().ok().filter(|x| (16..=8000).contains(x));
    let parts = text.split_once(['x', '×']);
    match parts.and_then(|(width, height)| side(width).zip(side(height))) {
        Some((width, height)) => Ok([width, height]),
        None => Err(
            Error::new(ErrorKind::Input, format!("--size: `{text}` is not a size"))
                .hint("two numbers from 16 to 8000, as 800x500"),
        ),
    }
}

/// A direction of nonzero length.
fn direction(text: &str) -> Result<[f64; 3]> {
    let direction = number::vector::<3>("--from", text)?;
    match direction.iter().any(|x| *x != 0.0) {
        true => Ok(direction),
        false => Err(Error::new(
            ErrorKind::Input,
            "--from: the direction is zero",
        )),
    }
}

fn within(at: f64, start: f64, end: f64) -> Result<f64> {
    match (start..=end).contains(&at) {
        true => Ok(at),
        false => Err(Error::new(
            ErrorKind::Input,
            format!("--at: the run goes from {} to {} s", six(start), six(end)),
        )),
    }
}

/// The viewing direction of a view, where it is not the usual one.
#[cfg(feature = "png")]
fn along(view: &str, up: [f64; 3]) -> Option<[f64; 3]> {
    let up = Vec3::from_array(up);
    let axis = if up.x.abs() < 0.9 * up.norm() {
        Vec3::new(1.0, 0.0, 0.0)
    } else {
        Vec3::new(0.0, 1.0, 0.0)
    };
    let side = axis - up * (axis.dot(up) / up.dot(up));
    match view {
        "front" => Some(up.cross(side).to_array()),
        "side" => Some((-side).to_array()),
        "top" => Some((up.cross(side) * 1e-3 - up).to_array()),
        _ => None,
    }
}

/// The pictures as the strip draws them.
#[cfg(feature = "png")]
fn sticks(sight: &Sight, picture: &Picture) -> Result<Vec<Vec<u8>>> {
    use catena_plot::{View, strip};
    let Some(run) = &sight.run else {
        return Ok(Vec::new());
    };
    let time = run.column("time").unwrap_or_default();
    let row = |t: f64| time.partition_point(|x| *x <= t).saturating_sub(1);
    let state = |row| scene::state_of_run(run, &sight.model, row);
    // one view for all: that of the whole motion
    let all: Vec<catena::State> = (0..20)
        .map(|k| state(k * (time.len() - 1) / 19))
        .collect::<Result<_>>()?;
    let [width, height] = picture.size;
    let usual = View::of(&sight.model, &all)?;
    let direction = match (picture.from, picture.view.as_str()) {
        (Some(from), _) => from.map(|x| -x),
        (None, view) => along(view, usual.up).unwrap_or(usual.direction),
    };
    let view = View {
        width,
        height,
        direction,
        ..usual
    };
    picture
        .times
        .iter()
        .map(|&t| {
            let label = if picture.clock {
                format!("t = {} s", six(t))
            } else {
                String::new()
            };
            let svg = strip(&sight.model, &[state(row(t))?], &[label], &view)?;
            catena_plot::png(&svg, 1.0)
        })
        .collect()
}

#[cfg(not(feature = "png"))]
fn sticks(_: &Sight, _: &Picture) -> Result<Vec<Vec<u8>>> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "there is no browser on the path, and this catena was built without PNG",
    ))
}
