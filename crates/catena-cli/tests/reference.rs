//! The options on the pages of docs/commands are those of the program: every command has a page, which ends with what `catena man COMMAND --markdown`
//! prints. `CATENA_UPDATE=1 cargo test -p catena-cli --test reference` writes the options of today into the pages.

mod common;

use common::good;
use std::path::Path;

const BEGIN: &str = "## Options\n\n<!-- catena man COMMAND --markdown: written by a test -->\n\n";

#[test]
fn pages_end_with_the_options_of_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    let list = good("man --markdown").stdout;
    let commands: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert!(commands.len() > 30, "{list}");
    let mut wrong = Vec::new();
    for command in &commands {
        let path = folder.join(format!("{command}.md"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| {
            panic!("docs/commands/{command}.md: the command has no page");
        });
        let marked = BEGIN.replace("COMMAND", command);
        let prose = match page.split_once(&marked) {
            Some((prose, _)) => prose.to_string(),
            None => page.clone() + "\n",
        };
        let options = good(&format!("man {command} --markdown")).stdout;
        let written = format!("{prose}{marked}{options}");
        if std::env::var_os("CATENA_UPDATE").is_some() {
            std::fs::write(&path, &written).expect("the page can be written");
        } else if written != page {
            wrong.push(*command);
        }
    }
    assert!(
        wrong.is_empty(),
        "the options on the pages of {wrong:?} are not those of the program; \
         CATENA_UPDATE=1 cargo test -p catena-cli --test reference writes them"
    );
    // no page of a command that is gone
    for entry in std::fs::read_dir(&folder).expect("the pages").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let command = name.trim_end_matches(".md");
        assert!(commands.contains(&command), "docs/commands/{name}");
    }
}
