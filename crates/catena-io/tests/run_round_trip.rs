//! What is written is read back to the last bit; what is not a run is refused with its name.

mod run_support;

use catena::error::ErrorKind;
use catena_io::run::{Column, Format, Header, RunWriter, read_run};
use run_support::{FORMATS, Folder, audit, bits, expected, header, simulate};
use serde_json::json;
use std::fs;
use std::path::Path;

fn two_columns() -> Header {
    Header {
        columns: vec![Column::new("time", "s"), Column::new("q.hinge", "rad")],
        metadata: json!({ "model": "rod" }),
    }
}

/// The message of the error that must come.
fn message<T>(result: catena::error::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn special_values_come_back_with_their_bits() {
    let folder = Folder::new("values");
    let values = [
        0.0,
        -0.0,
        5e-324,
        -2.225_073_858_507_201e-308,
        1e308,
        f64::MAX,
        f64::MIN,
        0.1 + 0.2,
        1.0 / 3.0,
        123_456_789.0,
        1e-7,
        -1e21,
    ];
    let rows: Vec<f64> = (0..)
        .zip(values)
        .flat_map(|(number, value)| [f64::from(number) * 0.1, value])
        .collect();
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &two_columns(), false).unwrap();
        writer.block(&rows[..6], &[]).unwrap();
        writer.block(&[], &[u64::MAX, 0]).unwrap();
        writer.block(&rows[6..], &[1]).unwrap();
        assert_eq!(writer.row_count(), values.len() as u64);
        let unfinished = read_run(&path).unwrap();
        assert!(!unfinished.finished && unfinished.audit.is_none());
        writer.finish(&audit()).unwrap();

        let run = read_run(&path).unwrap();
        assert!(run.finished);
        assert_eq!(run.audit, Some(audit()));
        assert_eq!(run.header, two_columns());
        assert_eq!(run.row_count(), values.len());
        assert_eq!(bits(&run.columns), bits(&unfinished.columns));
        assert_eq!(bits(&run.columns)[1], values.map(f64::to_bits));
        assert_eq!(run.column("q.hinge"), Some(&run.columns[1][..]));
        assert_eq!(run.row(3), rows[6..8]);
    }
}

#[test]
fn many_blocks_and_names_with_odd_characters() {
    let folder = Folder::new("blocks");
    let reference = expected(100, 40);
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        simulate(&path, 100, 40).unwrap();
        let run = read_run(&path).unwrap();
        assert_eq!(run.header, header());
        assert!(bits(&run.columns) == reference.0, "{format}");
    }
}

#[test]
fn resuming_gives_header_and_checkpoint() {
    let folder = Folder::new("resume");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        drop(RunWriter::create(&path, &two_columns(), false).unwrap());
        let (mut writer, header, checkpoint) = RunWriter::resume(&path).unwrap();
        assert_eq!((header, checkpoint), (two_columns(), vec![]));
        writer.block(&[0.0, 1.0], &[3, u64::MAX]).unwrap();

        // While one process writes, no other may.
        assert!(message(RunWriter::resume(&path)).contains("another process"));
        assert!(
            message(RunWriter::create(&path, &two_columns(), true)).contains("another process")
        );
        drop(writer);

        let (writer, _, checkpoint) = RunWriter::resume(&path).unwrap();
        assert_eq!(checkpoint, [3, u64::MAX]);
        assert_eq!((writer.row_count(), writer.last_time()), (1, Some(0.0)));
        writer.finish(&json!(null)).unwrap();
        let run = read_run(&path).unwrap();
        assert!(run.finished);
        assert_eq!(run.columns, [[0.0], [1.0]]);
        assert!(message(RunWriter::resume(&path)).contains("the run is finished"));
    }
}

#[test]
fn an_existing_run_is_kept_unless_overwriting_is_allowed() {
    let folder = Folder::new("overwrite");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &two_columns(), false).unwrap();
        writer.block(&[0.0, 1.0], &[]).unwrap();
        drop(writer);
        assert!(message(RunWriter::create(&path, &header(), false)).contains("exists already"));
        assert_eq!(read_run(&path).unwrap().row_count(), 1);
        simulate(&path, 0, 0).unwrap();
        assert!(message(RunWriter::create(&path, &header(), false)).contains("exists already"));
        assert_eq!(read_run(&path).unwrap().row_count(), 1);
        let mut writer = RunWriter::create(&path, &header(), true).unwrap();
        writer.block(&[], &[]).unwrap();
        drop(writer);
        let run = read_run(&path).unwrap();
        assert_eq!((run.header, run.finished), (header(), false));
    }
}

/// The names in a folder.
fn files(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_that_is_overwritten_stays_until_the_new_one_has_a_block() {
    for format in FORMATS {
        for finished in [true, false] {
            let folder = Folder::new("survive");
            let path = folder.file(&format!("run.{format}"));
            let mut writer = RunWriter::create(&path, &two_columns(), false).unwrap();
            // More than one part of a Parquet run.
            for row in 0..20 {
                writer.block(&[f64::from(row), 1.0], &[7]).unwrap();
            }
            match finished {
                true => writer.finish(&audit()).unwrap(),
                false => drop(writer),
            }
            let old = read_run(&path).unwrap();
            let before = files(&folder);

            let mut writer = RunWriter::create(&path, &header(), true).unwrap();
            assert_eq!(read_run(&path).unwrap(), old, "{format}");
            assert!(message(RunWriter::create(&path, &header(), true)).contains("another process"));
            assert!(writer.block(&[f64::NAN; 7], &[]).is_err());
            drop(writer);
            assert_eq!(read_run(&path).unwrap(), old, "{format}");
            assert_eq!(files(&folder), before, "{format}");

            writer = RunWriter::create(&path, &header(), true).unwrap();
            writer.block(&[0.5; 7], &[8]).unwrap();
            let new = read_run(&path).unwrap();
            assert_eq!((new.header, new.columns), (header(), vec![vec![0.5]; 7]));
            drop(writer);
            let (mut writer, found, checkpoint) = RunWriter::resume(&path).unwrap();
            assert_eq!((found, checkpoint), (header(), vec![8]));
            writer.block(&[1.5; 7], &[9]).unwrap();
            writer.finish(&audit()).unwrap();
            assert_eq!(read_run(&path).unwrap().row_count(), 2);
            assert_eq!(files(&folder), [format!("run.{format}")]);

            // A run may end without a block.
            let writer = RunWriter::create(&path, &two_columns(), true).unwrap();
            writer.finish(&audit()).unwrap();
            let run = read_run(&path).unwrap();
            assert_eq!((run.header, run.finished), (two_columns(), true));
            assert_eq!(files(&folder), [format!("run.{format}")]);
        }
    }
}

#[test]
fn an_empty_file_is_no_run_and_in_nobodys_way() {
    let folder = Folder::new("empty");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        fs::write(&path, []).unwrap();
        for error in [
            read_run(&path).unwrap_err(),
            RunWriter::resume(&path).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Missing);
            assert!(error.message().contains("before its header"), "{error}");
        }
        simulate(&path, 3, 3).unwrap();
        assert!(read_run(&path).unwrap().finished);
    }
}

#[test]
fn numbers_that_are_none_are_refused_with_column_and_row() {
    let folder = Folder::new("nan");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &two_columns(), false).unwrap();
        writer.block(&[0.0, 1.0], &[]).unwrap();
        let text = message(writer.block(&[0.5, 1.0, 0.75, f64::NAN], &[]));
        assert!(
            text.contains("`q.hinge`, row 3 (time 0.75 s) is NaN"),
            "{text}"
        );
        let text = message(writer.block(&[f64::INFINITY, 1.0], &[]));
        assert!(text.contains("`time`, row 2 is inf"), "{text}");
        let text = message(writer.block(&[1.0], &[]));
        assert!(text.contains("whole number of rows"), "{text}");
        writer.block(&[0.5, 2.0], &[]).unwrap();
        writer.finish(&audit()).unwrap();
        assert_eq!(read_run(&path).unwrap().columns[1], [1.0, 2.0]);
    }
}

#[test]
fn headers_that_could_not_be_read_back_are_refused() {
    let folder = Folder::new("header");
    let path = folder.file("run.csv");
    for (columns, part) in [
        (vec![], "first column"),
        (vec![Column::new("q", "rad")], "first column"),
        (vec![Column::new("time", "ms")], "first column"),
        (
            vec![Column::new("time", "s"), Column::new("", "s")],
            "no name",
        ),
        (
            vec![Column::new("time", "s"), Column::new("a\nb", "s")],
            "control",
        ),
        (
            vec![Column::new("time", "s"), Column::new("time", "s")],
            "another column",
        ),
    ] {
        let header = Header {
            columns,
            metadata: json!(null),
        };
        let text = message(RunWriter::create(&path, &header, false));
        assert!(text.contains(part), "{text}");
        assert!(!path.exists());
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = Folder::new("wrong");
    for name in ["run.txt", "run", "run.xlsx"] {
        let error = Format::from_path(Path::new(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    assert!(message(read_run(&folder.file("run.parquet.parts"))).contains("without `.parts`"));
    for format in FORMATS {
        let path = folder.file(&format!("absent.{format}"));
        assert!(message(read_run(&path)).contains("does not exist"));
        assert!(message(RunWriter::resume(&path)).contains("does not exist"));
        let path = folder.file(&format!("no/such/run.{format}"));
        let text = message(RunWriter::create(&path, &header(), false));
        assert!(
            text.contains("the folder") && text.contains("does not exist"),
            "{text}"
        );
        let path = folder.file(&format!("folder.{format}"));
        fs::create_dir(&path).unwrap();
        assert!(message(read_run(&path)).contains("folder"), "{format}");
        assert!(RunWriter::resume(&path).is_err());
        assert!(RunWriter::create(&path, &header(), true).is_err());

        for bytes in [
            &b""[..],
            b"a,b\n1,2\n",
            b"PAR1",
            &[0x89, b'M', b'C', b'A', b'P', 0x30, 13, 10],
            &[0; 99],
        ] {
            let path = folder.file(&format!("other.{format}"));
            fs::write(&path, bytes).unwrap();
            let text = message(read_run(&path));
            assert!(
                text.contains("not a") || text.contains("cut off") || text.contains("was stopped"),
                "{text}"
            );
            assert_eq!(message(RunWriter::resume(&path)), text);
            assert_eq!(
                fs::read(&path).unwrap(),
                bytes,
                "{format}: must not be touched"
            );
        }
    }
}

#[test]
fn other_versions_and_cut_files_are_refused() {
    let folder = Folder::new("version");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        simulate(&path, 5, 10).unwrap();
        let bytes = fs::read(&path).unwrap();
        let name = b"catena-run/2";
        let at = bytes
            .windows(name.len())
            .position(|part| part == name)
            .unwrap();
        let mut newer = bytes.clone();
        newer[at + name.len() - 1] = b'3';
        fs::write(&path, newer).unwrap();
        let text = message(read_run(&path));
        // A Parquet file is compared with its checksum before anything is read from it.
        let expected = match format {
            "parquet" => "`run.parquet` was changed",
            _ => "`catena-run/3`",
        };
        assert!(text.contains(expected), "{text}");
        assert_eq!(message(RunWriter::resume(&path)), text);

        // A cut in the header is an error, never a panic; after it, fewer blocks.
        let mut rows = 0;
        for length in (0..bytes.len()).filter(|length| length % 7 == 0 || *length < 2000) {
            // Some file systems wait for the disk when a file is overwritten.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes[..length]).unwrap();
            match read_run(&path) {
                Ok(run) => {
                    assert!(run.row_count() >= rows && format != "parquet");
                    rows = run.row_count();
                }
                Err(error) => {
                    let expected = match length {
                        0 => ErrorKind::Missing,
                        _ => ErrorKind::Syntax,
                    };
                    assert_eq!((error.kind(), rows), (expected, 0), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_change_in_the_middle_is_found() {
    let folder = Folder::new("changed");
    for format in ["csv", "mcap"] {
        let path = folder.file(&format!("run.{format}"));
        simulate(&path, 5, 10).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let first = match format {
            "csv" => &b"\n0.0,"[..],
            _ => b"{\"time\":0.0,",
        };
        let at = bytes
            .windows(first.len())
            .position(|part| part == first)
            .unwrap();
        bytes[at + first.len() - 2] = b'5';
        fs::write(&path, bytes).unwrap();
        assert!(message(read_run(&path)).contains("damaged"));
        assert!(message(RunWriter::resume(&path)).contains("damaged"));
    }
}

#[test]
fn a_missing_part_is_found() {
    let folder = Folder::new("parts");
    let path = folder.file("run.parquet");
    let mut writer = RunWriter::create(&path, &two_columns(), false).unwrap();
    for row in 0..50 {
        writer.block(&[f64::from(row), 1.0], &[]).unwrap();
    }
    drop(writer);
    assert_eq!(read_run(&path).unwrap().row_count(), 50);
    // Killed before anything was written: a new run may be started.
    let begun = folder.file("begun.parquet");
    fs::create_dir(folder.file("begun.parquet.parts")).unwrap();
    assert!(message(read_run(&begun)).contains("before its header"));
    assert!(message(RunWriter::resume(&begun)).contains("before its header"));
    simulate(&begun, 3, 3).unwrap();
    assert!(read_run(&begun).unwrap().finished);

    fs::remove_file(folder.file("run.parquet.parts/part-00000002.parquet")).unwrap();
    assert!(message(read_run(&path)).contains("part 2 of the unfinished run is missing"));
    assert!(message(RunWriter::resume(&path)).contains("part 2"));
}
