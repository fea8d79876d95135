//! Algorithms do not depend on the processor, nor on the entry points through which they are called.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn algorithms_and_spaces_know_no_processor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["algorithm", "space", "spatial", "model"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 60, "only {} files", files.len());
    let forbidden = [
        "target_arch",
        "target_feature",
        "std::arch",
        "crate::arch",
        "crate::batch",
        "crate::native",
    ];
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        for (line, code) in (1..).zip(text.lines()) {
            let code = code.split("//").next().unwrap_or("");
            for word in forbidden {
                let place = file.strip_prefix(&root).expect("below").display();
                assert!(!code.contains(word), "{place}:{line} mentions `{word}`");
            }
        }
    }
}
