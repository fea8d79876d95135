//! Wrong study files, and what is said about each.

use catena_study::Study;
use std::path::Path;

const GOOD: &str = r#"format = "catena-study/1"
model = "stanford"
[design]
kind = "sobol"
samples = 8
seed = 1
[[parameter]]
name = "payload"
path = "link.link6.mass"
uniform = [0.5, 2]
[run]
duration = 1
[[measure]]
name = "peak"
value = "max(abs(tau.joint1))"
"#;

#[test]
fn the_good_one_is_read() {
    let study = Study::parse(GOOD, Path::new("study.toml")).expect("a study");
    assert_eq!((study.sample_count(), study.name.as_str()), (8, "study"));
    let values: Vec<f64> = (0..8).map(|k| study.values(k)[0]).collect();
    assert!(values.iter().all(|x| (0.5..2.0).contains(x)), "{values:?}");
}

/// Numbers of a run are typed as they are written, so that a whole number stays one, and to the last bit.
#[test]
fn numbers_of_a_run() {
    let text = GOOD
        .replace(
            "duration = 1\n",
            "duration = 0.1\nrandom = 3\nkp = \"{gain}\"\n",
        )
        .replace(
            "[run]",
            "[[parameter]]\nname = \"gain\"\nuniform = [1, 9]\n[run]",
        );
    let study = Study::parse(&text, Path::new("study.toml")).expect("a study");
    let typed = |gain: f64| -> Vec<String> {
        let settings = study.settings.iter();
        settings
            .flat_map(|setting| setting.texts(&["gain"], &[gain]))
            .collect()
    };
    assert_eq!(typed(2.0), ["0.1", "3", "2"]);
    for gain in [1.0 / 3.0, 1e-300, -1.7e308, 2f64.powi(60)] {
        assert_eq!(typed(gain)[2].parse(), Ok(gain));
    }
}

#[test]
fn messages() {
    for (old, new, message) in [
        (
            "format = \"catena-study/1\"\n",
            "",
            "study.toml:1: `format` is missing: a study says `format = \"catena-study/1\"`",
        ),
        (
            "study/1",
            "study/9",
            "study.toml:1: `format` must be \"catena-study/1\", not the string \"catena-study/9\"",
        ),
        ("model =", "modle =", "study.toml:2: unknown key `modle`"),
        (
            "kind = \"sobol\"",
            "kind = \"sobel\"",
            "study.toml:4: `design.kind` must be a design, not the string \"sobel\"",
        ),
        (
            "samples = 8",
            "samples = 8.5",
            "study.toml:5: `design.samples` must be a whole number from 1 to 1e8, not the number 8.5",
        ),
        ("seed = 1\n", "", "study.toml:3: `design.seed` is missing"),
        (
            "kind = \"sobol\"\nsamples = 8\nseed = 1",
            "kind = \"grid\"",
            "study.toml:5: parameter `payload` has no values for a grid",
        ),
        (
            "samples = 8",
            "file = \"a.csv\"",
            "study.toml:5: unknown key `design.file`",
        ),
        (
            "uniform = [0.5, 2]\n",
            "",
            "study.toml:7: parameter `payload` has no values",
        ),
        (
            "uniform = [0.5, 2]",
            "uniform = [2, 0.5]",
            "study.toml:10: `uniform` of parameter `payload` must be [LOW, HIGH] in this order",
        ),
        (
            "uniform = [0.5, 2]",
            "uniform = [2]",
            "study.toml:10: `uniform` of parameter `payload` must be [LOW, HIGH], not a list of 1",
        ),
        (
            "uniform = [0.5, 2]",
            "normal = [2, -1]",
            "study.toml:10: `normal` of parameter `payload` must have a positive deviation",
        ),
        (
            "uniform = [0.5, 2]",
            "loguniform = [0, 1]",
            "study.toml:10: `loguniform` of parameter `payload` must be positive",
        ),
        (
            "uniform = [0.5, 2]",
            "uniform = [0.5, 2]\nnormal = [1, 1]",
            "study.toml:7: parameter `payload` has two distributions: uniform and normal",
        ),
        (
            "uniform = [0.5, 2]",
            "uniform = [0.5, 2]\nlow = 1",
            "study.toml:11: `low` of parameter `payload` does not go with `uniform`",
        ),
        (
            "path = \"link.link6.mass\"\n",
            "",
            "study.toml:7: parameter `payload` changes nothing",
        ),
        (
            "duration = 1",
            "duration = \"{paylod}\"",
            "study.toml:12: `{paylod}` in `run.duration` is no parameter",
        ),
        (
            "duration = 1",
            "duration = 2026-01-01",
            "study.toml:12: `run.duration` must be a number, a string, a list of them, true or false, not a date",
        ),
        (
            "name = \"peak\"",
            "name = \"payload\"",
            "study.toml:15: `payload` is the name of two columns of the results",
        ),
        (
            "name = \"peak\"",
            "name = \"peak torque\"",
            "study.toml:15: the name of measure `peak torque` must be one word",
        ),
        (
            "name = \"peak\"",
            "name = \"failure\"",
            "study.toml:15: no measure can be called `failure`",
        ),
        (
            "value =",
            "valeu =",
            "study.toml:15: unknown key `valeu` of measure `peak`",
        ),
    ] {
        assert!(GOOD.contains(old), "{old}");
        let text = GOOD.replace(old, new);
        let error = Study::parse(&text, Path::new("study.toml")).expect_err(new);
        let place = error
            .place()
            .line
            .map_or(String::new(), |line| format!("study.toml:{line}: "));
        assert_eq!(format!("{place}{}", error.message()), message, "{new}");
    }
    let (head, _) = GOOD.split_once("[[measure]]").expect("a measure");
    let error = Study::parse(head, Path::new("study.toml")).expect_err("no measure");
    assert_eq!(
        error.message(),
        "nothing is measured: there is no [[measure]]"
    );
}
