//! Journals, results and lists of samples: what is refused, and what damage and full disks leave behind.

use catena::error::ErrorKind;
use catena_study::{
    Journal, Ledger, Mode, Origin, ResultFormat, Sample, Study, distributions, lines_of,
    samples_of, write_results,
};
use std::path::{Path, PathBuf};

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("catena-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const STUDY: &str = r#"format = "catena-study/1"
model = "x"
[design]
kind = "grid"
[[parameter]]
name = "method"
values = ["rk4", "verner9"]
[[parameter]]
name = "a"
path = "q.a"
unit = "rad"
values = [0.1, 0.2]
[run]
method = "{method}"
[[measure]]
name = "f"
value = "last(q.a)"
unit = "rad"
"#;

fn study() -> Study {
    Study::parse(STUDY, Path::new("study.toml")).expect("a study")
}

fn samples(study: &Study) -> Vec<Sample> {
    let all = (0..4).map(|index| Sample {
        index,
        values: study.values(index),
        measures: match index {
            1 => Err("it failed, \"badly\"".into()),
            _ => Ok(vec![0.5 * index as f64]),
        },
    });
    all.collect()
}

fn origin(text: &str) -> Origin {
    Origin {
        entries: vec![("model".into(), text.into())],
    }
}

#[test]
fn journals_refuse_what_does_not_belong_to_them() {
    let folder = Folder::new("journals");
    let results = folder.0.join("results.csv");
    let journal = folder.0.join("results.csv.journal");
    let study = study();
    let missing = Journal::resume(&results, &origin("one")).expect_err("nothing was begun");
    assert_eq!(missing.kind(), ErrorKind::Missing);
    assert_eq!(missing.message(), "no study was begun under this name");

    let mut begun = Journal::create(&results, &origin("one"), false).expect("a journal");
    // while it is open, nobody else may write it
    let busy = Journal::resume(&results, &origin("one")).expect_err("it is locked");
    assert_eq!(busy.message(), "another process is writing these results");
    begun.note(&samples(&study)[..2]).expect("samples");
    drop(begun);
    let twice = Journal::create(&results, &origin("one"), false).expect_err("it was begun");
    assert_eq!(twice.kind(), ErrorKind::Exists);
    let other = Journal::resume(&results, &origin("another")).expect_err("another model");
    assert_eq!(other.message(), "the study was begun with another model");
    let fewer = Journal::resume(&results, &Origin::default()).expect_err("no model");
    assert_eq!(fewer.message(), "the study was begun with another model");

    // a killed process leaves a part of a line: it is cut off
    let mut bytes = std::fs::read(&journal).expect("the journal");
    let whole = bytes.len();
    let cut = lines_of(&samples(&study)[2..3]);
    bytes.extend(&cut.as_bytes()[..20]);
    std::fs::write(&journal, &bytes).expect("it is written");
    let (resumed, known, left_out) = Journal::resume(&results, &origin("one")).expect("resumed");
    assert_eq!((known, left_out), (samples(&study)[..2].to_vec(), 20));
    drop(resumed);
    assert_eq!(
        std::fs::metadata(&journal).expect("it is there").len(),
        whole as u64
    );

    // a damaged head is no journal of anything
    bytes[3] ^= 1;
    std::fs::write(&journal, &bytes).expect("it is written");
    let damaged = Journal::resume(&results, &origin("one")).expect_err("damaged");
    assert_eq!(damaged.message(), "the journal of the study is damaged");

    let nowhere = folder.0.join("none/results.csv");
    let nowhere = Journal::create(&nowhere, &origin("one"), false).expect_err("no folder");
    assert!(
        nowhere.message().ends_with("none does not exist"),
        "{nowhere}"
    );
    let inside = folder.0.join("taken.csv");
    std::fs::create_dir(folder.0.join("taken.csv.journal")).expect("a folder");
    let inside = Journal::create(&inside, &origin("one"), true).expect_err("a folder is no file");
    assert!(
        inside
            .message()
            .starts_with("the journal cannot be written: "),
        "{inside}"
    );
}

#[test]
fn finished_studies_are_not_resumed() {
    let folder = Folder::new("finished");
    let results = folder.0.join("results.parquet");
    let study = study();
    write_results(&results, &study, &origin("one"), &samples(&study)).expect("results");
    let error = Journal::resume(&results, &origin("one")).expect_err("finished");
    assert_eq!(
        error.message(),
        "the study is finished; there is nothing to resume"
    );
    let error = Journal::create(&results, &origin("one"), false).expect_err("there already");
    assert_eq!(error.message(), "the results already exist");
    // with the same bytes, whatever the order in which samples came
    let bytes = std::fs::read(&results).expect("results");
    let mut turned = samples(&study);
    turned.reverse();
    write_results(&results, &study, &origin("one"), &turned).expect("results");
    assert_eq!(std::fs::read(&results).expect("results"), bytes);
}

/// Damage on the way is found, wherever it is.
#[test]
fn damaged_lines_are_refused() {
    let study = study();
    let lines = lines_of(&samples(&study));
    assert_eq!(
        samples_of(lines.as_bytes()).expect("samples"),
        samples(&study)
    );
    for place in 0..lines.len() {
        let mut bytes = lines.clone().into_bytes();
        bytes[place] ^= 4;
        let read = samples_of(&bytes);
        // letters of a checksum may be of either case
        let same = read.as_ref().is_ok_and(|found| *found == samples(&study));
        assert!(read.is_err() || same, "byte {place}");
    }
    let error = samples_of(b"\xff\xfe").expect_err("no text");
    assert_eq!(
        error.message(),
        "samples have arrived damaged: a checksum is wrong"
    );
}

#[test]
fn results_that_cannot_be_written_are_told() {
    let folder = Folder::new("results");
    let study = study();
    for name in ["results.txt", "results"] {
        let path = folder.0.join(name);
        let error = ResultFormat::from_path(&path).expect_err(name);
        assert_eq!(error.advice(), Some("results are named .parquet or .csv"));
        let error = Ledger::open(&study, origin("one"), Some(&path), Mode::New).expect_err(name);
        assert!(error.message().contains("format of the results"), "{error}");
    }
    for name in ["none/results.csv", "none/results.parquet"] {
        let path = folder.0.join(name);
        let error = write_results(&path, &study, &origin("one"), &samples(&study));
        let error = error.expect_err("there is no such folder");
        assert!(
            error
                .message()
                .starts_with("the results cannot be written: "),
            "{error}"
        );
    }
    // the name is taken by a folder: the file that was begun is removed
    let path = folder.0.join("taken.csv");
    std::fs::create_dir_all(path.join("inside")).expect("a folder");
    write_results(&path, &study, &origin("one"), &samples(&study)).expect_err("a folder");
    let left: Vec<_> = std::fs::read_dir(&folder.0)
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Words are columns of text, and a sample that failed has its reason instead of a measure.
#[test]
fn words_and_failures_are_in_the_results() {
    let folder = Folder::new("words");
    let path = folder.0.join("results.csv");
    let study = study();
    write_results(&path, &study, &origin("one"), &samples(&study)).expect("results");
    let text = std::fs::read_to_string(&path).expect("results");
    assert_eq!(
        text,
        "sample,method,a,f,failure\n0,rk4,0.1,0.0,\n1,rk4,0.2,,\"it failed, \"\"badly\"\"\"\n2,verner9,0.1,1.0,\n3,verner9,0.2,1.5,\n"
    );
    let figure = distributions(&study, &samples(&study));
    // for the measure its histogram, and itself over each parameter
    assert_eq!((figure.charts.len(), figure.columns), (3, 3));
    // all the same, or none: still a figure
    let mut same = samples(&study);
    same.retain(|sample| sample.index == 0);
    assert_eq!(distributions(&study, &same).charts.len(), 3);
    assert_eq!(distributions(&study, &[]).charts.len(), 3);
}

/// A sample of another study is not taken, neither from a journal nor from another machine.
#[test]
fn foreign_samples_are_refused() {
    let study = study();
    let mut ledger = Ledger::open(&study, origin("one"), None, Mode::New).expect("no file");
    let mut beyond = samples(&study).remove(0);
    beyond.index = 4;
    let error = ledger
        .take(&study, vec![beyond])
        .expect_err("there are four");
    assert_eq!(error.message(), "sample 4 does not belong to this study");
    let mut many = samples(&study).remove(0);
    many.measures = Ok(vec![0.0, 0.0]);
    let error = ledger.take(&study, vec![many]).expect_err("one measure");
    assert_eq!(error.message(), "sample 0 does not belong to this study");
    ledger.take(&study, samples(&study)).expect("its own");
    let carried = ledger.finish(&study).expect("all are there");
    assert_eq!(carried.samples, samples(&study));
}

#[test]
fn lists_of_samples() {
    let folder = Folder::new("lists");
    let list = folder.0.join("list.csv");
    let file = folder.0.join("study.toml");
    let text = r#"format = "catena-study/1"
model = "x"
[design]
kind = "list"
file = "list.csv"
[[parameter]]
name = "a"
path = "q.a"
[[parameter]]
name = "b"
path = "q.b"
[[measure]]
name = "f"
value = "a"
"#;
    std::fs::write(&file, text).expect("a study");
    let read = |rows: &str| {
        std::fs::write(&list, rows).expect("a list");
        Study::read(&file).map(|study| {
            let count = study.sample_count();
            (0..count).map(|k| study.values(k)).collect::<Vec<_>>()
        })
    };
    // columns in any order, others in addition to them, a byte order mark before them
    let rows = read("\u{feff}b, other, a\n# a comment\n2, x, 1\n4, y, 3\n").expect("samples");
    assert_eq!(rows, [[1.0, 2.0], [3.0, 4.0]]);
    for (rows, line, told) in [
        ("a,c\n1,2\n", None, "there is no column `b`"),
        ("a,b\n", None, "the list has no rows"),
        ("a,b\n1,two\n", Some(2), "`b`: `two` is not a finite number"),
        (
            "a,b\n1,2\n3,inf\n",
            Some(3),
            "`b`: `inf` is not a finite number",
        ),
        ("a,b\n1,2\n3\n", Some(3), "malformed CSV"),
    ] {
        let error = read(rows).expect_err(told);
        assert!(error.message().contains(told), "{rows}: {error}");
        assert_eq!(error.place().line, line, "{rows}");
    }
    std::fs::remove_file(&list).expect("it was there");
    let error = Study::read(&file).expect_err("the list is gone");
    assert_eq!(error.kind(), ErrorKind::File, "{error}");
}
