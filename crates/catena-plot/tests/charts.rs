//! Every chart is valid XML with finite coordinates inside the picture, whatever the data.

use catena_plot::{Chart, Figure, Series};

mod common;
use common::{check, texts};

fn ramp(n: usize) -> Vec<f64> {
    (0..n).map(|k| k as f64).collect()
}

#[test]
fn a_plain_chart_has_its_texts_and_lines() {
    let chart = Chart::new("Torques", "time (s)", "torque (N m)")
        .series("τ₁", ramp(11), ramp(11))
        .series("τ₂", ramp(11), vec![5.0; 11]);
    let svg = chart.svg(640, 400);
    let document = check(&svg);
    let texts = texts(&document);
    for text in ["Torques", "time (s)", "torque (N m)", "τ₁", "τ₂", "10"] {
        assert!(
            texts.iter().any(|t| t == text),
            "{text} is missing: {texts:?}"
        );
    }
    let lines: Vec<_> = document
        .descendants()
        .filter(|n| n.has_tag_name("polyline"))
        .collect();
    assert_eq!(lines.len(), 2);
    // told apart in colour and in grey
    assert_ne!(lines[0].attribute("stroke"), lines[1].attribute("stroke"));
    assert_ne!(
        lines[0].attribute("stroke-dasharray"),
        lines[1].attribute("stroke-dasharray")
    );
}

#[test]
fn odd_data_make_valid_pictures() {
    let nan = f64::NAN;
    let inf = f64::INFINITY;
    let cases: Vec<(&str, Vec<f64>, Vec<f64>)> = vec![
        ("empty", vec![], vec![]),
        ("a point", vec![1.0], vec![2.0]),
        ("constant", ramp(5), vec![3.0; 5]),
        ("zero", ramp(5), vec![0.0; 5]),
        ("all NaN", ramp(3), vec![nan; 3]),
        ("gaps", ramp(5), vec![1.0, nan, 2.0, inf, 3.0]),
        ("gaps in x", vec![0.0, nan, 2.0], ramp(3)),
        ("huge", ramp(3), vec![-1e300, 0.0, 1e300]),
        ("beyond huge", ramp(3), vec![f64::MAX, 0.0, f64::MIN]),
        ("tiny", ramp(3), vec![1e-310, 0.0, 3e-310]),
        ("small", vec![0.0, 1e-9], vec![1e-200, 3e-200]),
        ("round-off", ramp(3), vec![1.0, 1.0 + 1e-15, 1.0]),
        ("offset", vec![1e9, 1e9 + 1.0], vec![1000.0, 1000.0 + 1e-7]),
        ("different lengths", ramp(5), ramp(2)),
        ("backwards", vec![3.0, 1.0, 2.0], ramp(3)),
        ("one x", vec![2.0; 4], ramp(4)),
        ("negative", ramp(4), vec![-1.0, -2.0, 0.0, 1e-30]),
    ];
    for (name, x, y) in &cases {
        for log in [(false, false), (true, false), (false, true), (true, true)] {
            for markers in [false, true] {
                let mut chart = Chart::new(*name, "x (m)", "y (m)").log(log.0, log.1);
                chart.series.push(Series {
                    name: "line".into(),
                    x: x.clone(),
                    y: y.clone(),
                    markers,
                });
                for (w, h) in [(640, 400), (0, 0), (200, 150), (3000, 100)] {
                    check(&chart.svg(w, h));
                }
            }
        }
    }
    check(&Chart::default().svg(300, 200));
    check(&Figure::default().svg(300, 200));
    let nothing = Chart::new("t", "x", "y")
        .series("a", vec![], vec![])
        .svg(300, 200);
    assert!(nothing.contains("no data"));
}

#[test]
fn names_with_special_characters_are_escaped() {
    let name = "a < b & \"c\" > 'd'\u{7}\n";
    let svg = Chart::new(name, name, name)
        .series(name, ramp(3), ramp(3))
        .svg(900, 400);
    let document = check(&svg);
    assert!(
        texts(&document)
            .iter()
            .any(|t| t.starts_with("a < b & \"c\" > 'd'"))
    );
}

#[test]
fn a_long_series_is_thinned_without_losing_its_peak() {
    let n = 1_000_000;
    let mut y: Vec<f64> = (0..n).map(|k| (k as f64 * 1e-3).sin()).collect();
    y[123_457] = 7.0;
    y[654_321] = -9.0;
    let svg = Chart::new("", "t (s)", "y (m)")
        .series("", ramp(n), y)
        .svg(640, 400);
    assert!(svg.len() < 60_000, "{} bytes", svg.len());
    let document = check(&svg);
    let frame = plot_area(&document);
    let heights: Vec<f64> = document
        .descendants()
        .find(|n| n.has_tag_name("polyline"))
        .and_then(|n| n.attribute("points"))
        .unwrap()
        .split([' ', ','])
        .skip(1)
        .step_by(2)
        .map(|y| y.parse().unwrap())
        .collect();
    let (low, high) = heights
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &y| {
            (a.min(y), b.max(y))
        });
    // the range −9…7 is padded by 5 % on both sides
    let [_, top, _, height] = frame;
    assert!((low - (top + height * 0.05 / 1.1)).abs() < 0.5);
    assert!((high - (top + height * 1.05 / 1.1)).abs() < 0.5);
}

#[test]
fn a_closed_curve_is_thinned_too() {
    let n = 200_000;
    let (x, y): (Vec<f64>, Vec<f64>) = (0..n).map(|k| (k as f64 * 1e-3).sin_cos()).unzip();
    let svg = Chart::new("", "x (m)", "y (m)")
        .series("", x, y)
        .svg(400, 400);
    check(&svg);
    // a turn of the circle keeps a few thousand points; all turns are drawn
    assert!(svg.len() < 3_000_000);
}

#[test]
fn labels_of_an_axis_do_not_overlap() {
    for (low, high) in [
        (0.0, 1.0),
        (-3.7, 12.9),
        (0.0, 1e-5),
        (99_990.0, 100_010.0),
        (0.0, 12345.0),
    ] {
        for width in [200, 300, 500, 900] {
            let svg = Chart::new("", "x (m)", "y (m)")
                .series("", vec![low, high], vec![low, high])
                .svg(width, 300);
            let document = check(&svg);
            let [_, top, _, height] = plot_area(&document);
            let mut spans: Vec<(f64, f64)> = document
                .descendants()
                .filter(|n| n.has_tag_name("text"))
                .filter(|n| n.attribute("text-anchor") == Some("middle"))
                .filter(|n| number(n, "y") > top + height && number(n, "y") < top + height + 20.0)
                .map(|n| {
                    let half = 0.34 * 11.0 * n.text().unwrap().chars().count() as f64;
                    (number(&n, "x") - half, number(&n, "x") + half)
                })
                .collect();
            spans.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(spans.len() >= 2);
            assert!(
                spans.windows(2).all(|w| w[0].1 <= w[1].0),
                "{low} to {high} at {width}: {spans:?}"
            );
            assert!(spans[spans.len() - 1].1 <= f64::from(width));
        }
    }
}

#[test]
fn a_figure_aligns_the_charts_of_a_column() {
    let chart = |scale: f64| {
        Chart::new("", "t (s)", "y (m)").series("", ramp(3), vec![0.0, scale, 2.0 * scale])
    };
    let figure = Figure {
        title: "All".into(),
        charts: vec![
            chart(1.0),
            chart(20.0),
            chart(1234.0),
            chart(0.5),
            chart(3.0),
        ],
        columns: 2,
    };
    let svg = figure.svg(800, 900);
    let document = check(&svg);
    let left: Vec<String> = document
        .descendants()
        .filter(|n| n.has_tag_name("rect") && n.attribute("stroke").is_some())
        .map(|n| n.attribute("x").unwrap().to_string())
        .collect();
    assert_eq!(left.len(), 5);
    assert!(left[0] == left[2] && left[2] == left[4] && left[1] == left[3]);
}

#[test]
fn many_series_are_counted_where_the_legend_is_full() {
    let mut chart = Chart::new("", "t (s)", "y (m)");
    for k in 0..100 {
        chart = chart.series(format!("joint {k}"), ramp(2), vec![0.0, f64::from(k)]);
    }
    let svg = chart.svg(500, 300);
    let document = check(&svg);
    let texts = texts(&document);
    let shown = texts.iter().filter(|t| t.starts_with("joint")).count();
    assert!(
        texts
            .iter()
            .any(|t| *t == format!("and {} more", 100 - shown)),
        "{texts:?}"
    );
}

fn number(node: &roxmltree::Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

fn plot_area(document: &roxmltree::Document<'_>) -> [f64; 4] {
    let frame = document
        .descendants()
        .find(|n| n.has_tag_name("rect") && n.attribute("stroke").is_some())
        .unwrap();
    ["x", "y", "width", "height"].map(|name| number(&frame, name))
}
