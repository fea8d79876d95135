use std::path::Path;
#[test]
fn probe() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    for f in files {
        match catena_io::conformance::verify_file(&f) {
            Ok(r) => println!("{r}"),
            Err(e) => println!("{}: {e}", f.file_name().unwrap().to_string_lossy()),
        }
    }
    for m in [
        "stanford",
        "space-robot",
        "zoo",
        "chain-7",
        "pendulum-5",
        "pendulum-30",
        "pendulum-100",
        "chain-40",
        "floating-chain-20",
        "random-10-1",
        "random-10-2",
        "random-20-3",
        "random-20-4",
        "random-40-5",
        "random-60-6",
        "random-30-7",
    ] {
        let model = catena::model::embedded::model(m).unwrap();
        let text = catena_io::conformance::export_case(m, &model, 3, 11).unwrap();
        if m == "zoo" {
            std::fs::write("/tmp/zoo_case.json", &text).unwrap();
        }
        match catena_io::conformance::verify_text(&text, m) {
            Ok(r) => println!("{r}"),
            Err(e) => println!("{m}: {e}"),
        }
    }
}
