//! `catena render RUN -o FILE`: a still or a movie of a run.

use crate::number::six;
use crate::outcome::Outcome;
use crate::scene_argument::Sight;
use crate::{json, limits, output};
use catena::error::{Error, ErrorKind, Result};
use catena_view::render::{self, Picture};
use catena_view::{Budget, scene};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Most pictures of a movie.
const MOST: usize = 3000;

/// Which run, and what the picture is like.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Run written by `catena simulate -o`: .csv, .parquet or .mcap, finished or not
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// The picture (.png) or movie (.gif; .mp4 where ffmpeg is installed)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Instant of a picture, s [default: the end]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    at: Option<f64>,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "800x500")]
    size: String,

    /// From where
    #[arg(long, value_enum, value_name = "NAME", default_value = "corner")]
    view: Standpoint,

    /// Pictures per second of a movie
    #[arg(long, value_name = "N", default_value_t = 25.0)]
    rate: f64,

    /// Seconds of motion per second of a movie
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,

    /// Light on dark
    #[arg(long)]
    dark: bool,

    /// Leave out the time
    #[arg(long)]
    no_clock: bool,

    /// URDF file whose shapes and meshes are shown
    #[arg(long, value_name = "FILE.urdf")]
    visuals: Option<PathBuf>,

    /// Who draws
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

/// What is to be written.
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
    let size = size(&arguments.size)?;
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
        dark: arguments.dark,
        clock: !arguments.no_clock,
    };
    let browser = match arguments.with {
        Drawer::Sticks => None,
        Drawer::Best | Drawer::Browser => render::browser(),
    };
    let (pictures, who) = match browser {
        Some(browser) => {
            let scene = scene::scene(vec![sight.subject.clone()], &[]);
            (render::by_browser(&browser, &scene, &picture)?, "browser")
        }
        None if arguments.with == Drawer::Browser => {
            return Err(
                Error::new(ErrorKind::Unsupported, "there is no browser on the path")
                    .hint("install chromium, name one in CATENA_BROWSER, or give --with sticks"),
            );
        }
        None => (sticks(&sight, &picture)?, "sticks"),
    };
    match format {
        Format::Png => output::write_file(&arguments.output, &pictures[0])?,
        Format::Gif => {
            output::write_file(&arguments.output, render::gif(&pictures, arguments.rate)?)?
        }
        Format::Mp4 => {
            output::refuse_input(&arguments.output)?;
            render::mp4(&pictures, arguments.rate, &arguments.output)?;
        }
    }
    let name = arguments.output.display().to_string();
    let mut outcome = Outcome::default();
    outcome.notes.extend(sight.notes);
    if as_json {
        outcome.text = json::text(&json!({
            "format": "catena-render/1", "file": name, "pictures": pictures.len(),
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
                "the format of {} cannot be told from its name",
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
            Error::new(ErrorKind::Input, format!("--size: `{text}` is no size"))
                .hint("two numbers from 16 to 8000, as 800x500"),
        ),
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
    let view = View {
        width,
        height,
        ..View::of(&sight.model, &all)?
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
