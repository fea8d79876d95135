//! Actuators in model files: TOML, JSON and URDF.

use catena::model::ModelBuilder;
use catena_io::{ReadOptions, builder_from_json, builder_from_toml, builder_from_urdf};

const ARM: &str = r#"
format = "catena/1"
angles = "deg"
[[link]]
name = "upper"
mass = 1
centre = [0, 0, -0.5]
inertia = [0.1, 0.1, 0.1]
[[link]]
name = "lower"
mass = 1
inertia = [0.1, 0.1, 0.1]
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
max_effort = 30
armature = 0.5
[[joint]]
name = "boom"
type = "cylindrical"
child = "lower"
[[actuator]]
joint = "shoulder"
gear = 100
rotor_inertia = 2e-5
max_velocity = 180
lag = 0.002
[[actuator]]
name = "cylinder"
joint = "boom.slide"
max_effort = 400
max_velocity = 0.5
"#;

fn toml(text: &str) -> catena::error::Result<ModelBuilder> {
    builder_from_toml(text, "arm.toml", &ReadOptions::default())
}

#[test]
fn tables_of_actuators() {
    let builder = toml(ARM).unwrap();
    let model = builder.build().unwrap();
    let freedom = |name: &str| {
        let dofs = &model.tree().dofs;
        dofs.iter().position(|dof| dof.name == name).unwrap()
    };
    let actuators = model.actuators();
    assert_eq!(actuators.len(), 2);
    let [motor, cylinder] = &actuators[..] else {
        unreachable!("there are two");
    };
    assert_eq!(
        (motor.name.as_str(), motor.freedom),
        ("shoulder", freedom("shoulder"))
    );
    // the joint's own limit, and a speed in degrees
    assert_eq!(motor.max_effort, Some(30.0));
    assert!((motor.max_velocity.unwrap() - std::f64::consts::PI).abs() < 1e-15);
    assert_eq!((motor.gear, motor.lag), (100.0, 0.002));
    assert!((model.dof(motor.freedom).armature - 0.7).abs() < 1e-15);
    assert_eq!(cylinder.name, "cylinder");
    assert_eq!(cylinder.freedom, freedom("boom.slide"));
    assert_eq!(
        (cylinder.max_effort, cylinder.max_velocity),
        (Some(400.0), Some(0.5))
    );
    // written and read again
    let again = toml(&catena_io::to_toml(&builder)).unwrap();
    assert_eq!(again.build().unwrap().actuators(), actuators);
    let json = catena_io::to_json(&builder);
    let again = builder_from_json(&json, "arm.json", &ReadOptions::default()).unwrap();
    assert_eq!(again.build().unwrap().actuators(), actuators);
}

#[test]
fn mistakes_in_tables() {
    for (from, to, wanted) in [
        ("gear = 100", "gearr = 100", "gearr"),
        (
            "joint = \"boom.slide\"",
            "joint = \"boom\"",
            "there is no freedom `boom`",
        ),
        (
            "joint = \"boom.slide\"",
            "",
            "`joint` of actuator `cylinder` is missing",
        ),
        (
            "lag = 0.002",
            "lag = -1",
            "lag must be a finite number ≥ 0, not -1",
        ),
        (
            "max_effort = 400",
            "max_effort = 0",
            "max_effort must be a finite number > 0, not 0",
        ),
    ] {
        let text = ARM.replace(from, to);
        let error = toml(&text).and_then(|builder| builder.build()).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
        assert!(error.place().line.is_some_and(|line| line > 22), "{error}");
    }
}

const URDF: &str = r#"<robot name="arm">
  <link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="one" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="12" velocity="3"/></joint>
  <joint name="two" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit effort="0" velocity="0"/></joint>
  <joint name="three" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>EXTRA</joint>
  MORE
</robot>"#;

fn actuators(extra: &str, more: &str) -> (Vec<catena::model::Actuator>, Vec<String>) {
    let text = URDF.replace("EXTRA", extra).replace("MORE", more);
    let builder = builder_from_urdf(&text, "arm.urdf", &ReadOptions::default()).unwrap();
    (builder.build().unwrap().actuators(), builder.assumptions)
}

#[test]
fn urdf_limits_and_transmissions() {
    let names = |list: &[catena::model::Actuator]| -> Vec<String> {
        list.iter().map(|actuator| actuator.name.clone()).collect()
    };
    // every joint, within its limits; a limit of 0 is none
    let (all, _) = actuators("", "");
    assert_eq!(names(&all), ["one", "two", "three"]);
    assert_eq!(
        (all[0].max_effort, all[0].max_velocity),
        (Some(12.0), Some(3.0))
    );
    assert_eq!((all[1].max_effort, all[1].max_velocity), (None, None));
    // a joint that follows another one has no motor
    let (two, _) = actuators(r#"<mimic joint="two"/>"#, "");
    assert_eq!(names(&two), ["one", "two"]);
    assert_eq!(two[0].max_effort, Some(12.0));
    // transmissions name what is driven
    let transmission = |joint: &str, actuator: &str| {
        format!(
            r#"<transmission name="t"><type>SimpleTransmission</type><joint name="{joint}"/>
            <actuator name="{actuator}"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>"#
        )
    };
    let more = transmission("one", "motor") + &transmission("nowhere", "other");
    let (one, notes) = actuators("", &more);
    assert_eq!(names(&one), ["motor"]);
    assert_eq!(
        (one[0].freedom, one[0].gear, one[0].max_effort),
        (0, 50.0, Some(12.0))
    );
    assert!(
        notes
            .iter()
            .any(|note| note.contains("<transmission> of `nowhere` left out")),
        "{notes:?}"
    );
}
