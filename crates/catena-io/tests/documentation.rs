//! The example in the documentation is a good model, and every key is documented.

use catena_io::{ReadOptions, builder_from_toml};
use std::path::Path;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model-format.md");
    std::fs::read_to_string(path).expect("the page is there")
}

#[test]
fn the_example_is_read() {
    let page = page();
    let (_, after) = page.split_once("```toml crane.toml\n").expect("an example");
    let (example, _) = after.split_once("```").expect("its end");
    let builder = builder_from_toml(example, "crane.toml", &ReadOptions::default());
    let model = builder.and_then(|builder| builder.build());
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.nv(), 4);
}

#[test]
fn every_key_is_documented() {
    let page = page();
    for table in ["", "[[link]]\n", "[[joint]]\n", "[[frame]]\n"] {
        // a key that is far from all known ones makes the reader list them
        let text = format!("format = \"catena/1\"\n{table}zzzzzzzz = 1\n");
        let error =
            builder_from_toml(&text, "x.toml", &ReadOptions::default()).expect_err("unknown key");
        let known = error
            .advice()
            .and_then(|advice| advice.strip_prefix("expected one of: "));
        for key in known.expect("a list of keys").split(", ") {
            let documented = [
                format!("`{key}`"),
                format!("`{key} ="),
                format!("[[{key}]]"),
            ];
            assert!(documented.iter().any(|form| page.contains(form)), "{key}");
        }
    }
}
