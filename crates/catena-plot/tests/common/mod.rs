//! What every picture must satisfy.

/// Parses a picture: valid XML, finite numbers, text and shapes within the canvas.
pub fn check(svg: &str) -> roxmltree::Document<'_> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    let root = document.root_element();
    assert_eq!(
        root.tag_name().namespace(),
        Some("http://www.w3.org/2000/svg")
    );
    let [width, height] = ["width", "height"].map(|name| number(root.attribute(name).unwrap()));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in node.attributes() {
            match attribute.name() {
                "x" | "x1" | "x2" | "cx" => {
                    let x = number(attribute.value());
                    // lines may leave the canvas only where they are cut off
                    assert!(
                        (-0.01..=width + 0.01).contains(&x),
                        "{x} of {width}: {node:?}"
                    );
                }
                "y" | "y1" | "y2" | "cy" => {
                    let y = number(attribute.value());
                    assert!(
                        (-0.01..=height + 0.01).contains(&y),
                        "{y} of {height}: {node:?}"
                    );
                }
                "width" | "height" | "r" | "font-size" | "stroke-width" => {
                    assert!(number(attribute.value()) >= 0.0, "{node:?}");
                }
                "points" => {
                    for x in attribute.value().split([' ', ',']) {
                        number(x);
                    }
                }
                _ => {}
            }
        }
    }
    document
}

fn number(text: &str) -> f64 {
    let x: f64 = text
        .parse()
        .unwrap_or_else(|_| panic!("`{text}` is not a number"));
    assert!(x.is_finite(), "{text}");
    x
}

/// All texts of a picture.
#[allow(dead_code)]
pub fn texts(document: &roxmltree::Document<'_>) -> Vec<String> {
    document
        .descendants()
        .filter(|n| n.has_tag_name("text"))
        .filter_map(|n| n.text().map(str::to_string))
        .collect()
}
