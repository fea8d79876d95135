//! Equalities and tendons: the joints and couplings that they become.

use crate::common::{TWO, near, notes_of, read, refusal};
use catena::model::{JointKind, RuleSpec};

fn rule(equality: &str) -> RuleSpec {
    let text = format!(
        "<mujoco>{TWO}<tendon><fixed name=\"sum\"><joint joint=\"jb\" coef=\"2\"/><joint joint=\"ja\" coef=\"3\"/></fixed></tendon>\
         <equality>{equality}</equality></mujoco>"
    );
    let builder = read(&text);
    assert_eq!(builder.constraints.len(), 1);
    builder.build().unwrap_or_else(|error| panic!("{error}"));
    builder.constraints[0].rule.clone()
}

#[test]
fn equalities_of_bodies() {
    let RuleSpec::Joint(point) = rule(r#"<connect body1="a" body2="b" anchor="0 0 1"/>"#) else {
        panic!("a point");
    };
    assert_eq!(
        (point.kind, &point.parent[..], &point.child[..]),
        (JointKind::Spherical, "a", "b")
    );
    assert_eq!(
        point.parent_from_joint.translation.to_array(),
        [0.0, 0.0, 1.0]
    );
    // the point (1, 0, 1) of the world, seen from b
    near(
        &point.joint_from_child.inverse().translation.to_array(),
        &[-2.0, -1.0, 1.0],
    );

    let RuleSpec::Joint(weld) = rule(r#"<weld body1="a"/>"#) else {
        panic!("a weld");
    };
    assert_eq!((weld.kind, &weld.child[..]), (JointKind::Fixed, "world"));
    near(
        &weld.parent_from_joint.translation.to_array(),
        &[-1.0, 0.0, 0.0],
    );

    let RuleSpec::Joint(weld) =
        rule(r#"<weld body1="a" body2="b" relpose="1 2 3 1 0 0 0" anchor="0.1 0 0"/>"#)
    else {
        panic!("a weld");
    };
    assert_eq!(
        weld.parent_from_joint.translation.to_array(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(
        weld.joint_from_child.translation.to_array(),
        [-0.1, 0.0, 0.0]
    );

    let RuleSpec::Joint(point) = rule(r#"<connect site1="sa" site2="sb"/>"#) else {
        panic!("a point");
    };
    assert_eq!(
        point.parent_from_joint.translation.to_array(),
        [0.0, 0.0, 0.2]
    );
    near(
        &point.joint_from_child.translation.to_array(),
        &[-0.1, 0.0, 0.0],
    );
}

/// A weld whose torque is scaled to nothing holds points together, at its anchor.
#[test]
fn welds_without_torque_hold_points() {
    let of = |weld: &str| {
        let text = format!("<mujoco>{TWO}<equality>{weld}</equality></mujoco>");
        let mut constraints = read(&text).constraints;
        match constraints.pop().expect("a constraint").rule {
            RuleSpec::Joint(joint) => *joint,
            other => panic!("{other:?}"),
        }
    };
    let (weld, connect) = (
        of("<weld body1=\"a\" body2=\"b\" anchor=\"0.1 0.2 0.3\" torquescale=\"0\"/>"),
        of("<connect body1=\"b\" body2=\"a\" anchor=\"0.1 0.2 0.3\"/>"),
    );
    assert_eq!(weld.kind, catena::model::JointKind::Spherical);
    let point = weld.joint_from_child.inverse().translation - connect.parent_from_joint.translation;
    let other = weld.parent_from_joint.translation - connect.joint_from_child.inverse().translation;
    assert!(point.norm() < 1e-15 && other.norm() < 1e-15);
    let full = of("<weld body1=\"a\" body2=\"b\" torquescale=\"0.5\"/>");
    assert_eq!(full.kind, catena::model::JointKind::Fixed);
}

#[test]
fn equalities_of_coordinates() {
    let ten = 10.0f64.to_radians();
    let coupling = |equality: &str| match rule(equality) {
        RuleSpec::Coupling { terms, offset } => (terms, offset),
        other => panic!("{other:?}"),
    };
    let term = |name: &str, c: f64| (String::from(name), c);
    let (terms, offset) = coupling(r#"<joint joint1="jb" joint2="ja" polycoef="0.5 2 0 0 0"/>"#);
    assert_eq!(terms, [term("jb", 1.0), term("ja", -2.0)]);
    near(&[offset], &[0.5 - 2.0 * ten]);
    let (terms, offset) = coupling(r#"<joint joint1="ja" polycoef="0.25 1 0 0 0"/>"#);
    assert_eq!(terms, [term("ja", 1.0)]);
    near(&[offset], &[0.25 + ten]);
    let (terms, offset) = coupling(r#"<tendon tendon1="sum" polycoef="0.1 0 0 0 0"/>"#);
    assert_eq!(terms, [term("jb", 2.0), term("ja", 3.0)]);
    near(&[offset], &[0.1 + 3.0 * ten]);
}

/// The offset and the factors of a coupling of two sums.
#[test]
fn couplings_of_tendons() {
    let RuleSpec::Coupling { terms, offset } = ({
        let builder = read(&format!(
            "<mujoco>{TWO}<tendon><fixed name=\"s\"><joint joint=\"jb\" coef=\"2\"/></fixed><fixed name=\"t\"><joint joint=\"ja\" coef=\"4\"/>\
             <joint joint=\"jc\" coef=\"5\"/></fixed></tendon><equality><tendon tendon1=\"s\" tendon2=\"t\" polycoef=\"0.5 3 0 0 0\"/></equality></mujoco>"
        ));
        builder.constraints[0].rule.clone()
    }) else {
        panic!("a coupling");
    };
    let expected = [("jb", 2.0), ("ja", -12.0), ("jc", -15.0)];
    let expected = expected.map(|(name, c)| (String::from(name), c));
    assert_eq!(terms, expected);
    near(&[offset], &[0.5 - 12.0 * 10.0f64.to_radians()]);
}

/// What acts along a tendon is refused, unless it is switched off; its inertia always is.
#[test]
fn tendons_that_act() {
    let text = |flag: &str, attribute: &str| {
        format!(
            "<mujoco><option><flag {flag}/></option>{TWO}<tendon><fixed name=\"t\" {attribute}><joint joint=\"ja\" coef=\"1\"/></fixed></tendon></mujoco>"
        )
    };
    for (key, flag) in [
        ("stiffness", "spring"),
        ("damping", "damper"),
        ("frictionloss", "frictionloss"),
        ("armature", "spring"),
    ] {
        let attribute = format!("{key}=\"2\"");
        let error = refusal(&text("", &attribute));
        let told = format!("`{key}` of fixed `t` is not supported");
        assert!(error.contains(&told), "{error}");
        let off = text(&format!("{flag}=\"disable\""), &attribute);
        match key {
            "armature" => assert!(refusal(&off).contains(&told)),
            _ => assert_eq!(read(&off).joints.len(), 3),
        }
        read(&text("", &format!("{key}=\"0\"")));
    }
    let limits = |flag: &str, attribute: &str| {
        let notes = notes_of(&text(flag, attribute));
        notes.iter().any(|note| note.contains("limits of tendons"))
    };
    assert!(limits("", "range=\"0 1\""));
    assert!(!limits("", ""));
    assert!(!limits("limit=\"disable\"", "range=\"0 1\""));
}
