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
            .flat_map(|setting| setting.texts(&study.parameters[1..], &[gain]))
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
            "study.toml:12: `{paylod}` in `run.duration` is not a parameter",
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

/// The message about a study after a replacement in the good one.
fn message(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    let text = GOOD.replace(old, new);
    let read = Study::parse(&text, Path::new("study.toml"));
    read.expect_err(new).message().into()
}

#[test]
fn wrong_distributions() {
    for (spread, told) in [
        ("low = 1", "`low` of parameter `payload` bounds nothing"),
        ("loguniform = [0, 1]", "must be positive"),
        ("lognormal = [-1, 0.1]", "must have a positive median"),
        ("normal = [1, -0.1]", "must have a positive deviation"),
        (
            "normal = [1, 0.1]\nlow = 2\nhigh = 1",
            "parameter `payload` has no room between `low` and `high`",
        ),
        ("values = []", "must have at least one number"),
        ("range = [0, 1, 1]", "a whole number from 2 to 1e4"),
        ("range = [0, 1, 100000]", "a whole number from 2 to 1e4"),
        (
            "uniform = [-1e308, 1e308]",
            "has samples that are not finite",
        ),
        ("lognormal = [1e300, 50]", "has samples that are not finite"),
    ] {
        let found = message("uniform = [0.5, 2]", spread);
        assert!(found.contains(told), "{spread}: {found}");
    }
}

#[test]
fn wrong_designs() {
    for (design, told) in [
        (
            "kind = \"list\"\nfile = \"a.csv\"",
            "parameter `payload` has values of its own",
        ),
        ("kind = \"sobol\"\nsamples = 0\nseed = 1", "from 1 to 1e8"),
        ("kind = \"random\"\nsamples = 8\nseed = -1", "`design.seed`"),
    ] {
        let found = message("kind = \"sobol\"\nsamples = 8\nseed = 1", design);
        assert!(found.contains(told), "{design}: {found}");
    }
    let levels = "name = \"b\"\nvalues = [1, 2]\n";
    let many = format!("[[parameter]]\nrange = [0, 1, 10000]\n{levels}");
    let many = many.replace("values = [1, 2]", "path = \"link.link1.mass\"");
    let third = many.replace("\"b\"", "\"c\"").replace("link1", "link2");
    let text = GOOD
        .replace("kind = \"sobol\"\nsamples = 8\nseed = 1", "kind = \"grid\"")
        .replace("uniform = [0.5, 2]", "range = [0.5, 2, 10000]")
        .replace("[run]", &format!("{many}{third}[run]"));
    let error = Study::parse(&text, Path::new("study.toml")).expect_err("a large grid");
    assert_eq!(
        error.message(),
        "the grid has 1.0e12 samples, more than 1e8"
    );
}

#[test]
fn wrong_searches() {
    for (search, told) in [
        (
            "[[constraint]]\nmeasure = \"peak\"\nhigh = 1",
            "a [[constraint]] needs an [optimize]",
        ),
        (
            "[optimize]\nevaluations = 9",
            "[optimize] has one of `minimise` and `maximise`",
        ),
        ("[optimize]\nminimise = \"paek\"", "is not a measure"),
        (
            "[optimize]\nminimise = \"peak\"\n[[constraint]]\nmeasure = \"peak\"",
            "a constraint has no bound",
        ),
        (
            "[optimize]\nminimise = \"peak\"\n[[constraint]]\nmeasure = \"peak\"\nlow = 2\nhigh = 1",
            "no number satisfies a constraint whose `low` is above `high`",
        ),
        (
            "[optimize]\nminimise = \"peak\"\nstart = { payload = 9 }",
            "the start of parameter `payload` is 9, outside of its bounds",
        ),
        (
            "[optimize]\nminimise = \"peak\"\ntolerance = 0.5",
            "must be a part of the ranges from 1e-12 to 0.1",
        ),
        (
            "[optimize]\nminimise = \"peak\"\nevaluations = 2",
            "must be a whole number from 3 to 1e6",
        ),
        (
            "[optimize]\nminimise = \"peak\"\nmethod = \"newton\"",
            "must be a method of search, not the string \"newton\"",
        ),
        (
            "[optimize]\nminimise = \"peak\"\nstart = 1",
            "must be a table of parameters",
        ),
    ] {
        let found = message("[run]", &format!("{search}\n[run]"));
        assert!(found.contains(told), "{search}: {found}");
    }
    let (head, tail) = GOOD.split_once("[[parameter]]").expect("a parameter");
    let (_, tail) = tail.split_once("[run]").expect("a run");
    for extra in ["", "[optimize]\nminimise = \"peak\"\n"] {
        let text = format!("{head}{extra}[run]{tail}");
        let error = Study::parse(&text, Path::new("study.toml")).expect_err("no parameter");
        assert_eq!(error.message(), "nothing varies: there is no [[parameter]]");
    }
    let unbounded = GOOD
        .replace("uniform = [0.5, 2]", "normal = [1, 0.1]")
        .replace("[run]", "[optimize]\nminimise = \"peak\"\n[run]");
    let error = Study::parse(&unbounded, Path::new("study.toml")).expect_err("no bounds");
    assert_eq!(error.message(), "parameter `payload` has no bounds");
}

#[test]
fn a_study_that_is_no_toml() {
    let path = std::env::temp_dir().join(format!("catena-study-{}.json", std::process::id()));
    std::fs::write(&path, "{}").expect("a temporary file");
    let error = Study::read(&path).expect_err("JSON");
    let _ = std::fs::remove_file(&path);
    assert_eq!(error.message(), "a study file is written in TOML");
}
