//! The page: one file with script and style inside, and a scene or none.

use serde_json::Value;

/// The built bundle of `viewer/`.
const PAGE: &str = include_str!("../assets/viewer.html");

/// Placeholder of the scene.
const MARK: &str = "<!--scene-->";

/// The page with a scene inside. Nothing in the scene can end the element that holds it: `<`, `>` and `&` are written as escapes of
/// JSON, and the page inserts names as text.
pub fn html(scene: &Value) -> String {
    let mut text = String::from("<script type=\"application/json\" id=\"scene\">");
    for c in scene.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text.push_str("</script>");
    PAGE.replacen(MARK, &text, 1)
}

/// The page that requests the scene from its server.
pub fn served() -> &'static str {
    PAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_scene_cannot_leave_its_element() {
        let hostile = "</script><script>alert(1)</script><!--";
        let page = html(&json!({ "title": hostile }));
        assert!(!page.contains("<script>alert"));
        let data = page.split("id=\"scene\">").nth(1).expect("the scene");
        let data = data.split("</script>").next().expect("its end");
        let read: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(read["title"], hostile);
    }

    #[test]
    fn the_bundle_is_whole_and_small() {
        assert_eq!(PAGE.matches(MARK).count(), 1);
        assert!(PAGE.len() < 1_000_000, "{}", PAGE.len());
        // nothing is loaded from anywhere
        for attribute in [
            "src=\"http",
            "href=\"http",
            "src=\"/",
            "href=\"/",
            "@import",
        ] {
            assert!(!PAGE.contains(attribute), "{attribute}");
        }
    }
}
