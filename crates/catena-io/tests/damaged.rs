//! Damaged texts give errors or models, never a panic.

use catena::error::Result;
use catena::model::Model;
use catena::random::Random;
use catena_io::{ReadOptions, model_from_json, model_from_toml, model_from_urdf};
use std::path::Path;

type Reader = fn(&str, &str, &ReadOptions) -> Result<Model>;

const FILES: [(&str, Reader); 4] = [
    ("planar3.toml", model_from_toml),
    ("space_robot.toml", model_from_toml),
    ("gripper.json", model_from_json),
    ("double_pendulum.urdf", model_from_urdf),
];

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    std::fs::read_to_string(folder.join(name)).expect("the example is there")
}

#[test]
fn cut_anywhere() {
    for (name, read) in FILES {
        let text = text(name);
        for (at, _) in text.char_indices() {
            let _ = read(&text[..at], name, &ReadOptions::default());
        }
    }
}

#[test]
fn words_and_letters_changed() {
    let words = [
        "\"",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "/>",
        "=",
        ",",
        "0",
        "-1",
        "nan",
        "inf",
        "1e999",
        "null",
        "true",
        "[[joint]]",
        "[]",
        "{}",
        "\"none\"",
        "\"world\"",
        "é",
        "\u{0}",
        "\n",
        "free",
        "fixed",
        "universal",
        "spherical",
        "1979-05-27",
    ];
    for (name, read) in FILES {
        let text = text(name);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let mut random = Random::new(7);
        for _ in 0..5000 {
            let from = places[random.below(places.len())];
            let length = random.below(8);
            let to = places.iter().copied().find(|&at| at >= from + length);
            let word = words[random.below(words.len())];
            let damaged = format!(
                "{}{word}{}",
                &text[..from],
                &text[to.unwrap_or(text.len())..]
            );
            let _ = read(&damaged, name, &ReadOptions::default());
        }
    }
}
