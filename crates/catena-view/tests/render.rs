//! Pictures and movies of a browser, with scripts in its place: what is made of its answer, and what is said of a wrong one.
#![cfg(unix)]

use catena::model::embedded;
use catena_view::render::{Drawn, Picture, by_browser};
use catena_view::scene::{Subject, scene};
use std::os::unix::fs::PermissionsExt;
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

    /// A program that notes its arguments and its page, then runs these lines.
    fn browser(&self, name: &str, lines: &str) -> PathBuf {
        let path = self.0.join(name);
        let head = "#!/bin/sh\nfor last; do :; done\npage=${last#file://}\ncp \"$page\" \"$0.page\"\necho \"$page\" \"$@\" > \"$0.arguments\"\n";
        std::fs::write(&path, format!("{head}{lines}\n")).expect("a script");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("it may run");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn picture(times: &[f64]) -> Picture {
    Picture {
        size: [320, 200],
        times: times.to_vec(),
        view: "corner".into(),
        from: None,
        zoom: 1.5,
        dark: true,
        clock: false,
    }
}

fn drawn(browser: &Path, times: &[f64], movie: Option<f64>) -> Result<Drawn, String> {
    let model = embedded::model("planar3").expect("an embedded model");
    let scene = scene(vec![Subject::of_model("planar3", &model)], &[]);
    by_browser(browser, &scene, &picture(times), movie).map_err(|error| error.message().into())
}

const TWO: &str = "echo '<html><i class=\"picture\">data:image/png;base64,AQI=</i><i class=\"picture\">data:image/png;base64,Aw==</i></html>'";

#[test]
fn the_pictures_of_the_page_are_returned() {
    let folder = Folder::new("pictures");
    let browser = folder.browser("two", TWO);
    let found = drawn(&browser, &[0.0, 0.5], None).expect("pictures");
    assert_eq!(found, Drawn::Pictures(vec![vec![1, 2], vec![3]]));
    // the page says what it has to draw, and is gone afterwards
    let page = std::fs::read_to_string(folder.0.join("two.page")).expect("the page");
    assert!(page.contains("\"times\":[0.0,0.5]") && page.contains("\"zoom\":1.5"));
    let arguments = std::fs::read_to_string(folder.0.join("two.arguments")).expect("arguments");
    assert!(arguments.contains("--headless") && arguments.contains("--window-size=320,200"));
    let file = arguments.split(' ').next().expect("the page");
    assert!(!Path::new(file).exists(), "{file} is left");
    // a browser that cannot encode draws pictures where a movie is wanted
    let found = drawn(&browser, &[0.0, 0.5], Some(25.0)).expect("pictures");
    assert!(matches!(found, Drawn::Pictures(_)));
}

#[test]
fn the_movie_of_the_page_becomes_a_file() {
    let folder = Folder::new("movie");
    let movie = |pictures: &str| {
        format!(
            "echo '<i class=\"movie\">{{\"description\": \"AQID\", \"pictures\": [{pictures}]}}</i>'"
        )
    };
    let one = r#"{"key": true, "data": "AAECAw=="}"#;
    let good = folder.browser("good", &movie(&format!("{one}, {one}")));
    let Ok(Drawn::Movie(file)) = drawn(&good, &[0.0, 0.04], Some(25.0)) else {
        panic!("no movie");
    };
    assert_eq!(&file[4..8], b"ftyp");
    assert!(file.ends_with(&[0, 1, 2, 3, 0, 1, 2, 3]));
    // fewer pictures than wanted, one without its data, no JSON at all
    let few = movie(one);
    let no_data = movie(&format!("{one}, {{\"key\": true}}"));
    for (name, lines) in [
        ("few", few.as_str()),
        ("no-data", &no_data),
        ("cut", "echo '<i class=\"movie\">{\"description\"'"),
    ] {
        let browser = folder.browser(name, lines);
        let told = drawn(&browser, &[0.0, 0.04], Some(25.0)).expect_err(name);
        assert!(
            told.ends_with("its description of the movie is damaged"),
            "{told}"
        );
    }
}

#[test]
fn browsers_that_do_not_draw_are_told() {
    let folder = Folder::new("browsers");
    for (name, lines, words) in [
        (
            "one",
            "echo '<i class=\"picture\">data:image/png;base64,AQI=</i>'; exit 3",
            "it drew 1 of 2 (exit status: 3)",
        ),
        ("none", "kill -9 $$", "it drew 0 of 2 (signal: 9 (SIGKILL))"),
        (
            "damaged",
            "echo '<i class=\"picture\">data:image/png;base64,A?=</i>'",
            "Invalid symbol",
        ),
    ] {
        let browser = folder.browser(name, lines);
        let told = drawn(&browser, &[0.0, 0.5], None).expect_err(name);
        assert!(told.contains(words), "{told}");
        assert!(
            told.contains(&format!("{name} cannot draw the pictures: ")),
            "{told}"
        );
    }
    let told = drawn(&folder.0.join("missing"), &[0.0], None).expect_err("no browser");
    assert!(told.contains("cannot draw the pictures: "), "{told}");
}
