//! Masses of shapes and of what they add up to, their sizes and ends.

use crate::common::{BODY, near, read, refusal, world};
use std::f64::consts::PI;

/// Mass, mass centre and moments of the only link of a body with these geoms.
fn mass_of(geoms: &str) -> (f64, [f64; 3], [f64; 3]) {
    let builder = read(&world(&format!("<body><joint/>{geoms}</body>")));
    let inertial = builder.links[0].inertial.expect("it has mass");
    let tensor = inertial.tensor;
    (
        inertial.mass,
        inertial.centre.to_array(),
        [tensor.xx, tensor.yy, tensor.zz],
    )
}

#[test]
fn geoms_have_the_mass_of_their_shapes() {
    let (mass, _, moments) = mass_of(r#"<geom size="0.2" density="500"/>"#);
    let expected = 500.0 * 4.0 / 3.0 * PI * 0.008;
    near(&[mass], &[expected]);
    near(&moments, &[0.4 * expected * 0.04; 3]);

    let (mass, centre, [x, y, z]) =
        mass_of(r#"<geom type="box" size="0.1 0.2 0.3" pos="1 2 3" mass="6"/>"#);
    near(&[mass, x, y, z], &[6.0, 2.0 * 0.13, 2.0 * 0.1, 2.0 * 0.05]);
    assert_eq!(centre, [1.0, 2.0, 3.0]);

    // along x: the axis of the cylinder is turned
    let (mass, centre, [x, y, z]) =
        mass_of(r#"<geom type="cylinder" fromto="0 0 0 0.6 0 0" size="0.1" mass="2"/>"#);
    let across = 2.0 * (3.0 * 0.01 + 0.36) / 12.0;
    near(&[mass, x, y, z], &[2.0, 2.0 * 0.005, across, across]);
    near(&centre, &[0.3, 0.0, 0.0]);
}

/// A shape needs all its sizes, and none of them may be zero or negative.
#[test]
fn sizes_are_checked() {
    for (kind, good) in [
        ("sphere", "0.1"),
        ("capsule", "0.1 0.2"),
        ("cylinder", "0.1 0.2"),
        ("box", "0.1 0.2 0.3"),
        ("ellipsoid", "0.1 0.2 0.3"),
    ] {
        let with = |size: &str| {
            world(&format!(
                "<body><joint/><geom type=\"{kind}\" {size}/></body>"
            ))
        };
        read(&with(&format!("size=\"{good}\"")));
        let error = refusal(&with(""));
        assert!(
            error.starts_with("<geom> has no attribute `size`"),
            "{error}"
        );
        let words: Vec<&str> = good.split(' ').collect();
        for k in 0..words.len() {
            for wrong in ["0", "-0.1"] {
                let mut sizes = words.clone();
                sizes[k] = wrong;
                let error = refusal(&with(&format!("size=\"{}\"", sizes.join(" "))));
                assert!(error.contains("must be positive"), "{kind}: {error}");
            }
        }
        if words.len() > 1 {
            let few = words[1..].join(" ");
            let error = refusal(&with(&format!("size=\"{few}\"")));
            assert!(error.contains("has too few numbers"), "{kind}: {error}");
        }
    }
}

/// Ends of a capsule anywhere: its middle, its length and its direction.
#[test]
fn ends_of_geoms() {
    let (mass, centre, moments) =
        mass_of(r#"<geom type="cylinder" fromto="1 2 3 1 2.6 3" size="0.1" mass="2"/>"#);
    let across = 2.0 * (3.0 * 0.01 + 0.36) / 12.0;
    near(&[mass], &[2.0]);
    near(&centre, &[1.0, 2.3, 3.0]);
    near(&moments, &[across, 2.0 * 0.005, across]);
    let error = refusal(&world(
        r#"<body><joint/><geom type="capsule" fromto="1 2 3 1 2 3" size="0.1"/></body>"#,
    ));
    assert!(
        error.starts_with("`fromto` of <geom> has zero length"),
        "{error}"
    );
}

/// Two spheres: the parallel axis theorem. A third one is in a group that does not count, a fourth has no mass.
#[test]
fn geoms_of_a_body_add_up() {
    let text = r#"<mujoco><compiler inertiagrouprange="0 1"/><worldbody><body><joint/>
        <geom size="0.1" mass="1" pos="1 0 0"/><geom size="0.1" mass="3" pos="-1 0 0" group="1"/>
        <geom size="5" group="2"/><geom size="5" mass="0"/></body></worldbody></mujoco>"#;
    let inertial = read(text).links[0].inertial.expect("it has mass");
    assert_eq!(inertial.mass, 4.0);
    near(&inertial.centre.to_array(), &[-0.5, 0.0, 0.0]);
    let own = 4.0 * 0.4 * 0.01;
    let moments = [inertial.tensor.xx, inertial.tensor.yy];
    near(&moments, &[own, own + 1.0 * 2.25 + 3.0 * 0.25]);
}

/// Planes and height fields have no mass, nor do shapes of no volume, whatever mass they are given.
#[test]
fn what_has_no_volume_has_no_mass() {
    let ball = "<geom size=\"0.1\" mass=\"2\"/>";
    for other in [
        "<geom type=\"plane\" size=\"1 1 1\" pos=\"3 0 0\"/>",
        "<geom type=\"plane\" size=\"1 1 1\" pos=\"3 0 0\" mass=\"5\"/>",
        "<geom type=\"hfield\" hfield=\"h\" pos=\"3 0 0\"/>",
        "<geom size=\"1e-6\" pos=\"3 0 0\" mass=\"5\"/>",
    ] {
        let (mass, centre, moments) = mass_of(&format!("{ball}{other}"));
        assert_eq!((mass, centre), (2.0, [0.0; 3]), "{other}");
        near(&moments, &[2.0 * 0.4 * 0.01; 3]);
    }
    // a body of nothing has no inertial at all
    let builder = read(&world(
        "<body><joint/><body><joint/><geom size=\"0.1\"/></body></body>",
    ));
    assert!(builder.links[0].inertial.is_none());
}

/// Each of the bounds acts alone, on every body, also on one without mass of its own.
#[test]
fn masses_are_bounded_from_below() {
    let of = |bounds: &str| {
        let builder = read(&format!(
            r#"<mujoco><compiler {bounds}/><worldbody><body><joint/><inertial pos="0 0 0" mass="2" diaginertia="0.3 0.4 0.5"/>
            <body><joint axis="0 1 0"/></body></body></worldbody></mujoco>"#
        ));
        let numbers = builder.links.iter().map(|link| {
            let own = link.inertial.unwrap_or_default();
            [own.mass, own.tensor.xx, own.tensor.yy, own.tensor.zz]
        });
        numbers.collect::<Vec<_>>()
    };
    let heavy = [2.0, 0.3, 0.4, 0.5];
    let sorted = |mut numbers: [f64; 4]| {
        numbers[1..].sort_by(f64::total_cmp);
        numbers
    };
    let masses = of("boundmass=\"0.1\"");
    assert_eq!((masses[0], masses[1]), (heavy, [0.1, 0.0, 0.0, 0.0]));
    let moments = of("boundinertia=\"0.4\"");
    near(&sorted(moments[0]), &[2.0, 0.4, 0.4, 0.5]);
    near(&moments[1], &[0.0, 0.4, 0.4, 0.4]);
    let both = of("boundmass=\"3\" boundinertia=\"0.1\"");
    near(&both[0], &[3.0, 0.3, 0.4, 0.5]);
    near(&both[1], &[3.0, 0.1, 0.1, 0.1]);
}

/// A total mass that is not positive asks for nothing.
#[test]
fn total_masses() {
    let total = |wanted: &str| {
        let builder = read(&format!(
            "<mujoco><compiler settotalmass=\"{wanted}\"/>{BODY}</mujoco>"
        ));
        builder.links[0].inertial.expect("it has mass").mass
    };
    assert_eq!([total("4"), total("0"), total("-1")], [4.0, 1.0, 1.0]);
}
