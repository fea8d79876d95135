//! Drawings: where shapes are, their colours, and what is drawn although it cannot move.

use crate::common::{folder, refusal, world};
use catena::{Dynamics, State};
use catena_io::drawing::Outline;
use catena_io::{ReadOptions, read_model};

/// Geoms are drawn where MuJoCo has them: the numbers are those of `geom_xpos` of MuJoCo 4.0 for `shapes.xml`.
#[test]
fn geoms_are_drawn_where_they_are() {
    let path = folder().join("shapes.xml");
    let drawing = catena_io::drawing::of_mjcf(&path).expect("a drawing");
    assert_eq!((drawing.shapes.len(), drawing.notes.len()), (12, 0));
    let model = read_model(&path, &ReadOptions::default()).expect("a model");
    let state = State::start(&model);
    let mut dynamics = Dynamics::new(&model);
    let still = vec![0.0; model.nv()];
    let world = dynamics
        .kinematics(&state, &still)
        .expect("poses")
        .world_from_body
        .clone();
    let places: Vec<[f64; 3]> = drawing
        .shapes
        .iter()
        .map(|shape| {
            let link = shape.link.as_deref().expect("a link");
            let frame = model.tree().frame(link).expect("a frame");
            let pose = world[frame.body] * frame.body_from_frame * shape.link_from_shape;
            pose.translation.to_array()
        })
        .collect();
    let expected = [
        (1, [0.070447979334, 0.283838664359, 1.045801271085]),
        (4, [0.709064487129, 0.354608623837, 1.059158144406]),
        (6, [0.658471663852, 0.322083265724, 1.390979676795]),
        (11, [0.794514802959, 0.430806986175, 1.122332292826]),
    ];
    for (k, wanted) in expected {
        for (found, wanted) in places[k].iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "geom {k}: {:?}", places[k]);
        }
    }
}

/// Meshes, colours of geoms and of their materials, and what is not to be seen.
#[test]
fn meshes_and_colours_are_drawn() {
    let path = std::env::temp_dir().join(format!("catena-colours-{}.xml", std::process::id()));
    let text = r#"<mujoco><asset><material name="red" rgba="1 0 0 2"/>
        <mesh name="m" vertex="0 0 0  1 0 0  0 1.5 0  0 0 0.7" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
        <worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint/>
        <geom type="mesh" mesh="m" material="red"/><geom size="0.1" rgba="0 0.5 1 1"/><geom size="0.1" material="lost"/>
        <geom size="0.1" rgba="1 1 1 0"/><geom size="0.1" group="3"/><geom type="capsule" size="0.1 0.2"/>
        <geom type="box" size="1 2 3"/><geom size="0.1" group="2"/><geom type="mesh" mesh="lost"/><geom type="hfield" hfield="h"/></body></worldbody></mujoco>"#;
    std::fs::write(&path, text).expect("a temporary file");
    let drawing = catena_io::drawing::of_mjcf(&path).expect("a drawing");
    let _ = std::fs::remove_file(&path);
    let found: Vec<_> = drawing.shapes.iter().map(|shape| shape.colour).collect();
    let (red, blue) = (Some([1.0, 0.0, 0.0, 1.0]), Some([0.0, 0.5, 1.0, 1.0]));
    assert_eq!(found, [red, blue, None, None, None, None]);
    assert!(
        drawing
            .shapes
            .iter()
            .all(|shape| shape.link.as_deref() == Some("a"))
    );
    let Outline::Mesh { vertices, faces } = &drawing.shapes[0].outline else {
        panic!("{:?}", drawing.shapes[0]);
    };
    assert_eq!(vertices[2], [0.0, 1.5, 0.0]);
    assert_eq!(faces[3], [1, 2, 3]);
    let capsule = Outline::Capsule {
        radius: 0.1,
        half: 0.2,
    };
    assert_eq!(drawing.shapes[3].outline, capsule);
    assert_eq!(drawing.shapes[4].outline, Outline::Box([1.0, 2.0, 3.0]));
    assert_eq!(drawing.notes.len(), 2);
    for (note, told) in drawing.notes.iter().zip([
        "there is no mesh `lost`",
        "`type` of <geom> of body `a` is not drawn",
    ]) {
        assert!(note.contains(told), "{:?}", drawing.notes);
    }
}

/// A drawing needs no dynamics: what a model is refused for is shown all the same.
#[test]
fn what_cannot_move_is_drawn() {
    let path = std::env::temp_dir().join(format!("catena-drawn-{}.xml", std::process::id()));
    let text = world(
        "<body><joint damping=\"1 2\"/><inertial/><inertial/><geom size=\"0.1\"/><plugin plugin=\"cable\"/><unknown/></body>",
    );
    std::fs::write(&path, &text).expect("a temporary file");
    let drawing = catena_io::drawing::of_mjcf(&path);
    let _ = std::fs::remove_file(&path);
    assert_eq!(drawing.expect("a drawing").shapes.len(), 1);
    assert!(refusal(&text).contains("damping"), "{}", refusal(&text));
}
