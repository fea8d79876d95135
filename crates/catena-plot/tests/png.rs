//! Pictures as pixels.
#![cfg(feature = "png")]

use catena_plot::{Chart, png};

#[test]
fn a_chart_becomes_pixels_with_text() {
    let with = |label: &str| {
        let svg = Chart::new("", label, "")
            .series("", vec![0.0, 1.0], vec![0.0, 1.0])
            .svg(320, 200);
        png(&svg, 2.0).unwrap()
    };
    let (plain, labelled) = (with(" "), with("q̇ (rad/s), τ₁ (N m)"));
    for picture in [&plain, &labelled] {
        assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
        let size = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
        assert_eq!((size(16), size(20)), (640, 400));
    }
    // the label left ink
    assert!(labelled.len() > plain.len() + 500);
}

#[test]
fn what_is_no_picture_is_refused() {
    assert!(png("<html/>", 1.0).is_err());
    let svg = Chart::default().svg(300, 200);
    for scale in [0.0, -1.0, f32::NAN, 1e6] {
        assert!(png(&svg, scale).is_err(), "{scale}");
    }
}
