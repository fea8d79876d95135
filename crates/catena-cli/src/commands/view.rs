//! `catena view MODEL|RUN…`: the mechanism in a browser, served on loopback.

use crate::coordinates::Quantity;
use crate::model_argument::ModelOptions;
use crate::outcome::Outcome;
use crate::scene_argument::Sight;
use crate::state_argument::numbers_of;
use crate::{json, output};
use catena::ClosedChain;
use catena::error::{Error, ErrorKind, Result};
use catena::{Model, State};
use catena_view::server::{Content, Server};
use catena_view::{Budget, engine, live, scene};
use clap::Args;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What to look at, and how.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Model (file or embedded), or runs of `catena simulate -o`; several runs are overlaid
    #[arg(value_name = "MODEL|RUN", required = true)]
    what: Vec<String>,

    #[command(flatten)]
    options: ModelOptions,

    /// Run a simulation of the model in the server: drag bodies, change gravity and motors while it runs
    #[arg(long)]
    live: bool,

    /// Positions at the start of a live run, in rad and m
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        requires = "live",
        conflicts_with = "random"
    )]
    q: Option<String>,

    /// Velocities at the start of a live run, in rad/s and m/s
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        requires = "live",
        conflicts_with = "random"
    )]
    v: Option<String>,

    /// Random state of this seed at the start of a live run
    #[arg(long, value_name = "SEED", requires = "live")]
    random: Option<u64>,

    /// URDF or MJCF file whose shapes and meshes are shown [default: the model, if it is one]
    #[arg(long, value_name = "FILE")]
    visuals: Option<PathBuf>,

    /// Address to listen on; any other than 127.0.0.1 lets every machine that reaches it see the page and control the simulation
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,

    /// Port; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

/// Serves the page until the program is stopped.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let bad = |what: &str| Error::new(ErrorKind::Input, what.to_string());
    let budget = Budget::SERVED.shared_by(arguments.what.len());
    let sights = arguments
        .what
        .iter()
        .map(|name| {
            Sight::of(
                name,
                &arguments.options,
                budget,
                arguments.visuals.as_deref(),
            )
        })
        .collect::<Result<Vec<Sight>>>()?;
    let has_runs = sights.iter().any(|sight| sight.run.is_some());
    if sights.len() > 1 && sights.iter().any(|sight| sight.run.is_none()) {
        return Err(bad("only runs can be overlaid").hint("give one model, or runs"));
    }
    if arguments.live && has_runs {
        return Err(bad("--live needs a model, not a run"));
    }
    for note in sights.iter().flat_map(|sight| &sight.notes) {
        output::complain(note);
    }
    let live = match arguments.live {
        true => Some(start(arguments, &sights[0].model)?),
        false => None,
    };
    let abilities: &[&str] = match (&live, has_runs) {
        (Some(_), _) => &["live", "matrices"],
        (None, true) => &["matrices"],
        (None, false) => &["pose", "matrices"],
    };
    let (subjects, models) = sights
        .into_iter()
        .map(|sight| (sight.subject, sight.model))
        .unzip();
    let scene = scene::scene(subjects, abilities);
    let server = Server::bind(
        arguments.address,
        arguments.port,
        Content {
            scene: scene.to_string(),
            models,
            live,
        },
    )?;
    let url = server.url();
    if !arguments.address.is_loopback() {
        let who = "anyone who reaches this address sees the page and can control the simulation";
        output::complain(&format!("note: {who}"));
    }
    output::print(&match as_json {
        true => json::text(&json!({ "format": "catena-view/1", "url": url })),
        false => format!("{url}  (Ctrl-C ends)\n"),
    })?;
    if !arguments.no_open && !open(&url) {
        output::complain("no browser could be opened; open the address yourself");
    }
    server.run()?;
    Ok(Outcome::default())
}

/// Initial state of a live run.
fn start(arguments: &Arguments, model: &Model) -> Result<live::Start> {
    let mut state = match arguments.random {
        Some(seed) => State::random(model, seed),
        None => {
            let rest = engine::rest(model);
            let list = |quantity, what, text: &Option<String>, rest: &[f64]| match text {
                Some(text) => numbers_of(model, quantity, what, text),
                None => Ok(rest.to_vec()),
            };
            let q = list(Quantity::Position, "--q", &arguments.q, &rest.q)?;
            let v = list(Quantity::Velocity, "--v", &arguments.v, &rest.v)?;
            State::new(model, &q, &v)?
        }
    };
    if !model.constraints().is_empty() {
        state = ClosedChain::new(model).assemble(0.0, &state, &[])?.state;
    }
    Ok(live::Start {
        model: model.clone(),
        state,
    })
}

/// Opens the page in the user's browser.
fn open(url: &str) -> bool {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("cmd");
        command.args(["/c", "start", ""]);
        command
    } else {
        Command::new("xdg-open")
    };
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}
