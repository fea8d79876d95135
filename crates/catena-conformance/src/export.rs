//! A model and its responses at random states, as a case of kind `multibody_accel`.

use super::FORMAT;
use super::multibody::JOINT_TYPES;
use super::report::Numbers;
use super::response::{BodyMotion, DENSE_LIMIT, Load, Response, Route, Situation, System};
use super::written::Written;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Dof, Inertial, JointKind};
use catena::random::Random;
use catena::residual::larger;
use catena::spatial::{Mat3, Sym3, Vec3};
use catena::{Model, State};

/// Largest random effort (N or N·m), force (N) and torque (N·m).
const EFFORT: f64 = 5.0;
const FORCE: f64 = 5.0;
const TORQUE: f64 = 1.0;

/// Writes a case with the responses of a model at random states, under random efforts and external loads.
///
/// The states are those of [`State::random`] with `seed`, `seed` + 1, …; the expected values are computed in O(n) without fused
/// operations, so that a case is the same on every processor of an architecture. Bodies are described about their mass centres,
/// in catena's own body axes: the case holds the same system, not the same frames.
pub fn export_case(name: &str, model: &Model, states: usize, seed: u64) -> Result<String> {
    if states == 0 {
        let message = "a case needs at least one state";
        return Err(Error::new(ErrorKind::Input, message));
    }
    model.expect_no_forces("a conformance case")?;
    let mut system = System::new(model);
    let mut samples = Vec::new();
    let mut disagreement: Option<f64> = None;
    for index in 0..states {
        let situation = random_situation(model, seed.wrapping_add(index as u64));
        let response = system.respond(&situation, Route::Plain)?;
        if model.nv() <= DENSE_LIMIT {
            let other = system.respond(&situation, Route::Dense)?;
            let between = difference(&response, &other);
            disagreement = Some(larger(disagreement.unwrap_or(0.0), between));
        }
        samples.push(sample(model, &situation, &response));
    }
    let mut case = vec![
        ("format", Written::text(FORMAT)),
        ("id", Written::text(name)),
        ("kind", Written::text("multibody_accel")),
        (
            "title",
            Written::Text(format!(
                "{}: {} bodies, {} freedoms, random states from seed {seed}",
                model.name(),
                model.body_count(),
                model.nv()
            )),
        ),
        ("model", written_model(model)?),
        ("samples", Written::List(samples)),
    ];
    if let Some(disagreement) = disagreement {
        let how = "largest difference between accelerations in O(n) and by composite bodies with Cholesky, in double precision";
        case.push((
            "accuracy",
            Written::Object(vec![
                ("abs", Written::Number(disagreement)),
                ("how", Written::text(how)),
            ]),
        ));
    }
    Ok(Written::Object(case).to_json())
}

fn random_situation(model: &Model, seed: u64) -> Situation {
    let state = State::random(model, seed);
    // a random sequence other than that of the state
    let mut random = Random::new(!seed);
    let mut vector = |reach: f64| {
        let mut component = || random.uniform(-reach, reach);
        Vec3::new(component(), component(), component())
    };
    let mut external = vec![Load::default()];
    for _ in model.bodies() {
        external.push(Load {
            force: vector(FORCE),
            torque: vector(TORQUE),
        });
    }
    let tau = (0..model.nv()).map(|_| vector(EFFORT).x).collect();
    Situation {
        state,
        tau,
        external,
    }
}

/// Largest difference of two accelerations.
fn difference(a: &Response, b: &Response) -> f64 {
    let pairs = a.vdot.iter().zip(&b.vdot);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger)
}

fn written_model(model: &Model) -> Result<Written> {
    let bodies = model.bodies().map(|body| {
        let Inertial {
            mass,
            centre,
            mut tensor,
        } = model.inertial(body);
        // a point mass has no inertia about its centre beyond round-off
        if tensor.trace() < 1e-14 * mass * centre.dot(centre) {
            tensor = Sym3::zero();
        }
        Written::Object(vec![
            ("name", Written::text(&model.tree().bodies[body].name)),
            ("mass", Written::Number(mass)),
            ("inertia", Written::numbers(tensor.full())),
        ])
    });
    let joints = model.bodies().map(|body| written_joint(model, body));
    Ok(Written::Object(vec![
        ("kind", Written::text("multibody")),
        ("gravity", Written::numbers(model.gravity())),
        ("bodies", Written::List(bodies.collect())),
        ("joints", Written::List(joints.collect::<Result<_>>()?)),
    ]))
}

fn written_joint(model: &Model, body: usize) -> Result<Written> {
    let info = &model.tree().bodies[body];
    // without its limits a continuous joint is revolute
    let kind = match info.kind {
        JointKind::Continuous => JointKind::Revolute,
        kind => kind,
    };
    if !JOINT_TYPES.contains(&kind) {
        let message = format!("cases have no {kind} joint such as `{}`", info.joint);
        return Err(Error::new(ErrorKind::Unsupported, message).at(info.place.clone()));
    }
    let placement = model.placement(body);
    let on_parent = placement.translation - model.inertial(info.parent).centre;
    let on_child = -model.inertial(body).centre;
    let turn = placement.rotation;
    let mut joint = vec![
        ("name", Written::text(&info.joint)),
        ("type", Written::text(kind.name())),
        ("parent", Written::Whole(info.parent as i64 - 1)),
        ("child", Written::Whole(body as i64 - 1)),
        ("lp", Written::numbers(on_parent)),
        ("lc", Written::numbers(on_child)),
        ("q0", Written::numbers(quaternion(turn).to_vec())),
    ];
    let axes = match kind {
        JointKind::Spherical | JointKind::Free => vec![],
        JointKind::Universal => vec![turn.x, turn.z],
        JointKind::Planar => vec![turn.x, turn.y],
        _ => vec![turn.z],
    };
    if !axes.is_empty() {
        joint.push(("axes", Written::numbers(Numbers::list(axes))));
    }
    if kind == JointKind::Helical {
        joint.push(("pitch", Written::Number(model.pitch(body))));
    }
    let dofs: Vec<Dof> = model.tree().dof_range(body).map(|k| model.dof(k)).collect();
    let mut push = |key, of: fn(&Dof) -> f64| {
        let numbers: Vec<f64> = dofs.iter().map(of).collect();
        if numbers.iter().any(|&x| x != 0.0) {
            joint.push((key, Written::numbers(numbers)));
        }
    };
    push("armature", |dof| dof.armature);
    push("damping", |dof| dof.damping);
    push("friction", |dof| dof.friction);
    push("stiffness", |dof| dof.stiffness);
    push("rest", |dof| dof.rest);
    Ok(Written::Object(joint))
}

fn sample(model: &Model, situation: &Situation, response: &Response) -> Written {
    let tree = model.tree();
    let per_freedom = |numbers: &[f64]| {
        let lists = model.bodies().map(|body| &numbers[tree.dof_range(body)]);
        Written::numbers(Numbers::list(lists))
    };
    let State { q, v, .. } = &situation.state;
    let positions = model.bodies().map(|body| &q[tree.q_range(body)]);
    let loads = situation.external[1..].iter().map(|load| {
        Written::Object(vec![
            ("force", Written::numbers(load.force)),
            ("torque", Written::numbers(load.torque)),
        ])
    });
    let bodies = &response.bodies[1..];
    Written::Object(vec![
        ("q", Written::numbers(Numbers::list(positions))),
        ("qd", per_freedom(v)),
        ("tau", per_freedom(&situation.tau)),
        ("external", Written::List(loads.collect())),
        (
            "state",
            Written::Object(vec![
                ("r", listed(bodies, |body| body.position)),
                ("R", listed(bodies, |body| body.rotation)),
                ("w", listed(bodies, |body| body.angular_velocity)),
                ("v", listed(bodies, |body| body.velocity)),
            ]),
        ),
        (
            "expected",
            Written::Object(vec![
                ("joint_acc", per_freedom(&response.vdot)),
                ("body_lin_acc", listed(bodies, |body| body.acceleration)),
                (
                    "body_ang_acc",
                    listed(bodies, |body| body.angular_acceleration),
                ),
                ("hinge_force", listed(bodies, |body| body.hinge_force)),
                ("hinge_torque", listed(bodies, |body| body.hinge_torque)),
            ]),
        ),
    ])
}

fn listed<T: Into<Numbers>>(bodies: &[BodyMotion], quantity: impl Fn(&BodyMotion) -> T) -> Written {
    Written::numbers(Numbers::list(bodies.iter().map(quantity)))
}

/// The unit quaternion (w, x, y, z) of a rotation, computed from its largest component.
fn quaternion(rotation: Mat3<f64>) -> [f64; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation.rows();
    // four times the square of each component
    let squares = [
        1.0 + xx + yy + zz,
        1.0 + xx - yy - zz,
        1.0 - xx + yy - zz,
        1.0 - xx - yy + zz,
    ];
    // four times the products of each component with the largest one
    let products = if squares[0] >= 1.0 {
        [squares[0], zy - yz, xz - zx, yx - xy]
    } else if squares[1] >= squares[2] && squares[1] >= squares[3] {
        [zy - yz, squares[1], yx + xy, xz + zx]
    } else if squares[2] >= squares[3] {
        [xz - zx, yx + xy, squares[2], zy + yz]
    } else {
        [yx - xy, xz + zx, zy + yz, squares[3]]
    };
    let length = products.iter().map(|x| x * x).sum::<f64>().sqrt();
    products.map(|x| x / length)
}
