//! What the tests share: models from text, refusals, and parts of models.

use catena::{Model, ModelBuilder};
use catena_io::{ReadOptions, builder_from_mjcf, model_from_mjcf};
use std::path::{Path, PathBuf};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mjcf")
}

pub fn world(inside: &str) -> String {
    format!("<mujoco>\n<worldbody>{inside}</worldbody>\n</mujoco>")
}

pub fn read(text: &str) -> ModelBuilder {
    builder_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

pub fn built(text: &str) -> Model {
    model_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

pub fn refusal(text: &str) -> String {
    let read = model_from_mjcf(text, "x.xml", &ReadOptions::default());
    read.err()
        .unwrap_or_else(|| panic!("accepted: {text}"))
        .to_string()
}

pub fn ignoring(text: &str, names: &[&str]) -> ModelBuilder {
    let options = ReadOptions {
        ignore: names.iter().map(|name| (*name).into()).collect(),
        ..ReadOptions::default()
    };
    builder_from_mjcf(text, "x.xml", &options).unwrap_or_else(|error| panic!("{error}"))
}

pub fn notes_of(text: &str) -> Vec<String> {
    read(text).assumptions
}

pub fn near(a: &[f64], b: &[f64]) {
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-13 * y.abs().max(1e-2), "{a:?} {b:?}");
    }
}

/// Two bodies, each with a site: one turns about `ja`, the other about `jb` and `jc`.
pub const TWO: &str = r#"<worldbody>
  <body name="a" pos="1 0 0"><joint name="ja" ref="10"/><geom size="0.1"/><site name="sa" pos="0 0 0.2"/></body>
  <body name="b" pos="0 2 0" euler="0 0 90"><joint name="jb"/><joint name="jc" axis="1 0 0"/><geom size="0.1"/><site name="sb" pos="0.1 0 0"/></body>
</worldbody>"#;

/// A body of 1 kg that turns about `j`.
pub const BODY: &str = "<worldbody><body><joint name=\"j\"/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/></body></worldbody>";
