//! Linear equations about equilibria: closed forms of pendulums and the cart-pole, loops with springs against difference quotients,
//! and what must hold whatever the mechanism.

use catena::error::Place;
use catena::model::{
    ConstraintSpec, Dof, ForceRule, ForceSpec, Inertial, JointKind, JointSpec, RuleSpec, embedded,
};
use catena::simulate::Inputs;
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_mechanism::{Behaviour, Linearisation, SteadyMotion};
use catena_testing::runs::{explicit, forty_samples, run};

const G: f64 = 9.81;

/// A point mass on a rod of length l along −z (the rod has a little inertia of its own, none about its axis of rotation).
fn bob(mass: f64, length: f64) -> Inertial {
    Inertial {
        mass,
        centre: Vec3::new(0.0, 0.0, -length),
        tensor: Sym3::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
}

fn hinge(name: &str, parent: &str, child: &str, at: [f64; 3], dof: Dof) -> JointSpec {
    let mut joint = JointSpec::new(name, JointKind::Revolute, parent, child);
    joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
    joint.parent_from_joint = Pose::shift(Vec3::from_array(at));
    joint.dofs = vec![dof];
    joint
}

fn pendulum(dof: Dof) -> Model {
    let mut builder = ModelBuilder::new("pendulum");
    builder.link("bob", bob(2.0, 0.5));
    builder.joint(hinge("hinge", "world", "bob", [0.0; 3], dof));
    builder.build().unwrap()
}

/// Two equal bobs on equal rods, one below the other.
fn two_bobs(name: &str) -> ModelBuilder {
    let mut builder = ModelBuilder::new(name);
    builder
        .link("upper", bob(1.5, 0.4))
        .link("lower", bob(1.5, 0.4));
    builder.joint(hinge("first", "world", "upper", [0.0; 3], Dof::default()));
    builder.joint(hinge(
        "second",
        "upper",
        "lower",
        [0.0, 0.0, -0.4],
        Dof::default(),
    ));
    builder
}

fn at(model: &Model, q: &[f64]) -> State {
    State::new(model, q, &vec![0.0; model.nv()]).unwrap()
}

fn linear(model: &Model, q: &[f64]) -> Linearisation {
    let effort = vec![0.0; model.nv()];
    let found = Linearisation::new(model, &at(model, q), &effort);
    found.unwrap_or_else(|error| panic!("{}: {error}", model.name()))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * b.abs().max(1.0)
}

#[test]
fn a_pendulum_hangs_and_oscillates() {
    let found = linear(&pendulum(Dof::default()), &[0.8]);
    assert!(found.state.q[0].abs() < 1e-9 && found.residual < 1e-9);
    assert!(close(found.a[(1, 0)], -G / 0.5), "{}", found.a[(1, 0)]);
    assert!(close(found.b[(1, 0)], 1.0 / (2.0 * 0.25)));
    assert_eq!(
        (found.a[(0, 1)], found.a[(0, 0)], found.b[(0, 0)]),
        (1.0, 0.0, 0.0)
    );
    let modes = found.modes().unwrap();
    assert_eq!(modes.list.len(), 1);
    assert_eq!(modes.list[0].value[0], 0.0);
    assert!(close(modes.list[0].value[1], (G / 0.5).sqrt()));
    assert_eq!(modes.list[0].behaviour(), Behaviour::Undamped);
}

#[test]
fn an_inverted_pendulum_falls() {
    let found = linear(&pendulum(Dof::default()), &[2.9]);
    assert!((found.state.q[0] - std::f64::consts::PI).abs() < 1e-9);
    let modes = found.modes().unwrap().list;
    let rates: Vec<[f64; 2]> = modes.iter().map(|mode| mode.value).collect();
    assert_eq!(rates.len(), 2);
    for (value, expected) in rates.iter().zip([-1.0, 1.0]) {
        assert!(close(value[0], expected * (G / 0.5).sqrt()), "{value:?}");
        assert_eq!(value[1], 0.0);
    }
    assert_eq!(modes[1].behaviour(), Behaviour::Growing);
}

/// Without damping the ratio is 0, not −0, which would be printed with its sign.
#[test]
fn undamped_modes_have_no_sign() {
    let modes = linear(&pendulum(Dof::default()), &[0.1]).modes().unwrap();
    assert_eq!(modes.list[0].damping_ratio().map(f64::to_bits), Some(0));
}

/// λ² + 2 ζ ω λ + ω² = 0, below and above the critical damping.
#[test]
fn damping_ratios() {
    let omega = (G / 0.5f64).sqrt();
    for ratio in [0.05, 0.7, 1.5] {
        let damping = 2.0 * ratio * omega * 2.0 * 0.25;
        let dof = Dof {
            damping,
            ..Dof::default()
        };
        let modes = linear(&pendulum(dof), &[0.1]).modes().unwrap();
        assert!(!modes.symmetric && modes.residual < 1e-14);
        if ratio < 1.0 {
            let [mode] = &modes.list[..] else {
                panic!("{modes:?}")
            };
            assert!(close(mode.frequency(), omega));
            assert!(close(mode.damping_ratio().unwrap(), ratio));
            assert_eq!(mode.behaviour(), Behaviour::Damped);
        } else {
            assert_eq!(modes.list.len(), 2);
            let product: f64 = modes.list.iter().map(|mode| mode.value[0]).product();
            assert!(close(product, omega * omega));
            let behaviours = modes.list.iter().map(|mode| mode.behaviour());
            assert!(behaviours.into_iter().all(|b| b == Behaviour::Decaying));
        }
    }
}

/// A guess at which Newton's method has no direction: the effort is largest with the pendulum horizontal.
#[test]
fn another_guess_is_tried_where_newton_stands_still() {
    let model = pendulum(Dof::default()).with_gravity([G, 0.0, 0.0]);
    let found = linear(&model, &[0.0]);
    assert!(!found.from_guess);
    assert!(found.residual < 1e-9);
}

/// Equal bobs and rods: ω² = (2 ± √2) g / l, shapes (1, ∓√2) of the absolute angles.
#[test]
fn double_pendulum() {
    let model = two_bobs("double pendulum").build().unwrap();
    let found = linear(&model, &[0.3, -0.2]);
    let modes = found.modes().unwrap();
    assert!(modes.symmetric && modes.residual < 1e-14);
    for (mode, sign) in modes.list.iter().zip([-1.0, 1.0]) {
        let expected = ((2.0 + sign * 2f64.sqrt()) * G / 0.4).sqrt();
        assert_eq!(mode.value[0], 0.0);
        assert!(
            close(mode.value[1], expected),
            "{} {expected}",
            mode.value[1]
        );
        // relative angles: the second bob's absolute one is the sum
        let ratio = (mode.shape[0][0] + mode.shape[1][0]) / mode.shape[0][0];
        assert!(close(ratio, -sign * 2f64.sqrt()), "{ratio}");
    }
}

/// The textbook's matrices: cart M, pole of mass m as a point at l, upright.
#[test]
fn cart_pole() {
    let (cart, mass, length) = (1.3, 0.4, 0.6);
    let mut builder = ModelBuilder::new("cart-pole");
    builder.link(
        "cart",
        Inertial {
            mass: cart,
            centre: Vec3::zero(),
            tensor: Sym3::new(0.01, 0.01, 0.01, 0.0, 0.0, 0.0),
        },
    );
    builder.link("pole", bob(mass, -length));
    let mut rail = JointSpec::new("rail", JointKind::Prismatic, "world", "cart");
    rail.axes.first = Vec3::new(1.0, 0.0, 0.0);
    builder.joint(rail);
    builder.joint(hinge("pivot", "cart", "pole", [0.0; 3], Dof::default()));
    let found = linear(&builder.build().unwrap(), &[0.0, 0.2]);
    // positive angles about y tip the pole towards +x
    let expected = [
        [0.0, -mass * G / cart],
        [0.0, (cart + mass) * G / (cart * length)],
    ];
    let inputs = [1.0 / cart, -1.0 / (cart * length)];
    for i in 0..2 {
        for j in 0..2 {
            assert!(close(found.a[(2 + i, j)], expected[i][j]), "A {i} {j}");
            assert_eq!(found.a[(2 + i, 2 + j)], 0.0);
        }
        assert!(close(found.b[(2 + i, 0)], inputs[i]), "B {i}");
    }
    let modes = found.modes().unwrap().list;
    assert_eq!(modes[0].behaviour(), Behaviour::Free);
    assert!(modes[0].shape[1][0].abs() < 1e-12);
    let fall = ((cart + mass) * G / (cart * length)).sqrt();
    assert!(close(modes[2].value[0].abs(), fall));
}

/// A free body without gravity has six free motions, and a free robot with springs at its joints oscillates besides.
#[test]
fn free_motions_are_zero() {
    let model = embedded::model("space-robot").unwrap();
    let found = Linearisation::held(&model, &State::neutral(&model)).unwrap();
    let modes = found.modes().unwrap();
    assert!(
        modes.list.iter().all(|mode| mode.value == [0.0; 2]),
        "{modes:?}"
    );
    assert_eq!(modes.list.len(), model.nv());
    let mut builder = embedded::builder("floating-chain-4").unwrap();
    builder.gravity = Vec3::zero();
    for joint in &mut builder.joints {
        if joint.kind != JointKind::Free {
            joint.dofs = vec![Dof {
                stiffness: 30.0,
                ..Dof::default()
            }];
        }
    }
    let model = builder.build().unwrap();
    let found =
        Linearisation::new(&model, &State::neutral(&model), &vec![0.0; model.nv()]).unwrap();
    let modes = found.modes().unwrap();
    assert!(
        modes.symmetric && modes.residual < 1e-13,
        "{:.1e}",
        modes.residual
    );
    let free = modes
        .list
        .iter()
        .filter(|m| m.behaviour() == Behaviour::Free);
    assert_eq!(free.count(), 6);
    assert!(
        modes.list[6..]
            .iter()
            .all(|m| m.value[0] == 0.0 && m.value[1] > 0.1)
    );
}

/// M, D and K are symmetric where forces have a potential, and A is −M⁻¹K, −M⁻¹D: compared with difference quotients of the accelerations for trees
/// with every kind of joint, held at random states.
#[test]
fn trees_agree_with_difference_quotients() {
    let mut compared = 0;
    for seed in 1..=30 {
        let model = embedded::model(&format!("random-{}-{seed}", 1 + seed % 7)).unwrap();
        let mut state = State::random(&model, seed);
        state.v.fill(0.0);
        let found = Linearisation::held(&model, &state).unwrap();
        assert!(found.residual < 1e-6, "{seed}: {:.1e}", found.residual);
        if let Some(difference) = found.by_differences().unwrap() {
            assert!(difference < 1e-6, "{seed}: {difference:.1e}");
            compared += 1;
        }
        found.modes().unwrap();
    }
    assert!(compared > 5, "{compared}");
}

/// A four-bar with springs: one independent freedom, whose stiffness has the loads of the loop in it.
#[test]
fn four_bar_with_springs() {
    for damping in [0.0, 0.4] {
        let mut builder = embedded::builder("four-bar-1").unwrap();
        for joint in &mut builder.joints {
            if joint.kind != JointKind::Fixed {
                joint.dofs = vec![Dof {
                    stiffness: 25.0,
                    rest: 0.4,
                    damping,
                    ..Dof::default()
                }];
            }
        }
        let model = builder.build().unwrap();
        let found = linear(&model, &[1.2, -1.2, 1.2]);
        assert_eq!(found.freedoms(), 1);
        assert!(found.residual < 1e-8, "{:.1e}", found.residual);
        let difference = found.by_differences().unwrap().unwrap();
        assert!(difference < 1e-6, "{difference:.1e}");
        // the energy along the one motion: K is its second derivative, the loop kept closed
        let mut chain = catena::closed_chain::ClosedChain::new(&model);
        let h = 1e-3;
        let mut energy = |step: f64| {
            let mut state = found.state.clone();
            let delta: Vec<f64> = (0..3).map(|k| step * found.spread[(k, 0)]).collect();
            state.step(&model, &delta);
            let closed = chain.assemble(0.0, &state, &found.independent).unwrap();
            let mechanical = chain.tree().mechanical_state(&closed.state).unwrap();
            mechanical.gravitational + mechanical.elastic
        };
        let curvature = (energy(h) - 2.0 * energy(0.0) + energy(-h)) / (h * h);
        let stiffness = found.stiffness[(0, 0)];
        assert!(
            (curvature - stiffness).abs() < 1e-5 * stiffness.abs().max(1.0),
            "{curvature} {stiffness}"
        );
        let modes = found.modes().unwrap();
        assert_eq!(modes.symmetric, damping == 0.0);
        assert_eq!(modes.list.len(), 1);
        let expected = (stiffness / found.mass[(0, 0)]).sqrt();
        assert!(close(modes.list[0].frequency(), expected));
        if damping == 0.0 {
            assert_eq!(modes.list[0].value[0], 0.0);
        } else {
            assert_eq!(modes.list[0].behaviour(), Behaviour::Damped);
        }
    }
}

/// A spring between two bars of a four-bar, and one on a pendulum: elements of the model are part of the equations.
#[test]
fn force_elements() {
    let spring = |parent: &str, child: &str, parent_point, child_point| {
        ForceSpec::new(
            "spring",
            ForceRule::Spring {
                parent: parent.into(),
                child: child.into(),
                parent_point,
                child_point,
                stiffness: 40.0,
                damping: 0.8,
                rest_length: 0.3,
                tension_only: false,
            },
        )
    };
    let mut pendulum = ModelBuilder::new("held pendulum");
    pendulum.link("bob", bob(2.0, 0.5));
    pendulum.joint(hinge("hinge", "world", "bob", [0.0; 3], Dof::default()));
    let (wall, end) = (Vec3::new(0.9, 0.0, -0.2), Vec3::new(0.0, 0.0, -0.5));
    pendulum.forces.push(spring("world", "bob", wall, end));
    let mut bars = embedded::builder("four-bar-1").unwrap();
    let (first, last) = (bars.links[0].name.clone(), bars.links[2].name.clone());
    let (here, there) = (Vec3::new(0.5, 0.0, 0.0), Vec3::new(0.2, 0.1, 0.0));
    bars.forces.push(spring(&first, &last, here, there));
    for (builder, q) in [(pendulum, vec![0.2]), (bars, vec![1.2, -1.2, 1.2])] {
        let found = linear(&builder.build().unwrap(), &q);
        assert!(found.residual < 1e-8, "{:.1e}", found.residual);
        assert_eq!(found.freedoms(), 1);
        let difference = found.by_differences().unwrap().unwrap();
        assert!(difference < 1e-6, "{}: {difference:.1e}", builder.name);
    }
}

/// Eliminated couplings: the tree with them as constraints has the linear equations of the independent freedoms.
#[test]
fn couplings_are_constraints() {
    let mut builder = two_bobs("geared");
    let gear = RuleSpec::Coupling {
        terms: vec![("second".into(), 1.0), ("first".into(), -0.5)],
        offset: 0.0,
    };
    builder.constraints.push(ConstraintSpec {
        name: "gear".into(),
        rule: gear,
        place: Place::default(),
    });
    let model = builder.build().unwrap();
    assert_eq!(model.nv(), 1);
    let state = State::new(&model, &[0.3], &[0.0]).unwrap();
    let refused = Linearisation::new(&model, &state, &[0.0]).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("with_couplings_as_constraints")
    );
    let whole = model.clone().with_couplings_as_constraints();
    let found = Linearisation::new(&whole, &state.of_tree(&model), &[0.0; 2]).unwrap();
    assert_eq!(found.freedoms(), 1);
    let mut dynamics = Dynamics::new(&model);
    let hanging = State::new(&model, &[0.0], &[0.0]).unwrap();
    let expected = dynamics.forward_derivatives(&hanging, &[0.0], &[]).unwrap();
    // per unit of the freedom that was chosen, both are the same number
    assert!(close(found.a[(1, 0)], expected.dq[(0, 0)]));
}

/// Closed chains under the efforts that hold them, several freedoms and dependent rows among them.
#[test]
fn closed_chains_agree_with_difference_quotients() {
    for name in [
        "four-bar-1",
        "slider-crank",
        "stewart",
        "governor",
        "squeezer",
        "bricard",
    ] {
        let model = embedded::model(name).unwrap();
        let start = match name {
            "four-bar-1" => at(&model, &[1.2, -1.2, 1.2]),
            _ => State::start(&model),
        };
        let found = match Linearisation::held(&model, &start) {
            Ok(found) => found,
            Err(error) => panic!("{name}: {error}"),
        };
        assert!(found.residual < 1e-6, "{name}: {:.1e}", found.residual);
        if let Some(difference) = found.by_differences().unwrap() {
            assert!(difference < 2e-6, "{name}: {difference:.1e}");
        }
        let modes = found.modes().unwrap();
        assert!(modes.residual < 1e-10, "{name}: {:.1e}", modes.residual);
    }
}

/// Flat, a parallelogram can leave as one or crossed.
#[test]
fn branches_are_refused() {
    let model = embedded::model("four-bar-1").unwrap();
    let flat = at(&model, &[0.0, 0.0, 0.0]);
    let error = Linearisation::held(&model, &flat).unwrap_err().to_string();
    assert!(error.contains("lose rank"), "{error}");
}

/// A chain of seven links with skew axes, from anywhere: it hangs, and oscillates.
#[test]
fn chains_settle() {
    let model = embedded::model("chain-7").unwrap();
    for seed in 1..=5 {
        let mut start = State::random(&model, seed);
        start.v.fill(0.0);
        let found = linear(&model, &start.q);
        assert!(found.residual < 1e-8, "{seed}: {:.1e}", found.residual);
        assert!(found.by_differences().unwrap().unwrap() < 1e-6);
    }
}

#[test]
fn what_has_no_equilibrium_is_refused() {
    let model = embedded::model("floating-chain-2").unwrap();
    let error = Linearisation::new(&model, &State::neutral(&model), &vec![0.0; model.nv()]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no equilibrium"), "{error}");
    let model = pendulum(Dof::default());
    // m g l is the most that can be held
    let error = Linearisation::new(&model, &at(&model, &[0.0]), &[2.0 * G * 0.5 * 1.01]);
    assert!(error.is_err());
    let found = Linearisation::new(&model, &at(&model, &[0.0]), &[-2.0 * G * 0.5 * 0.5]).unwrap();
    assert!((found.state.q[0].abs() - std::f64::consts::FRAC_PI_6).abs() < 1e-9);
    let mut moving = at(&model, &[0.0]);
    moving.base.velocity.linear.x = 1.0;
    assert!(Linearisation::new(&model, &moving, &[0.0]).is_err());
}

/// Efforts given are part of the equilibrium: held at a position, the state does not move.
#[test]
fn efforts_hold_the_given_positions() {
    let model = embedded::model("stanford").unwrap();
    let state = at(&model, &[0.1, 1.2, 0.05, 0.3, -0.4, 0.5]);
    let held = Linearisation::held(&model, &state).unwrap();
    let mut dynamics = Dynamics::new(&model);
    assert_eq!(held.effort, dynamics.gravity(&state).unwrap());
    let found = Linearisation::new(&model, &state, &held.effort).unwrap();
    assert_eq!(found.state.q, state.q);
    assert_eq!(found.a, held.a);
}

/// A point mass m on a rod of length l that swings about a horizontal axis, which turns about the vertical.
fn conical_pendulum(mass: f64, length: f64) -> Model {
    let mut builder = ModelBuilder::new("conical pendulum");
    builder.gravity = Vec3::new(0.0, 0.0, -G);
    builder.link("yoke", Inertial::default());
    builder.link("bob", bob(mass, length));
    builder.joint(JointSpec::new("spin", JointKind::Revolute, "world", "yoke"));
    builder.joint(hinge("swing", "yoke", "bob", [0.0; 3], Dof::default()));
    builder.build().expect("sound")
}

/// cos θ = g / (l ω²), and small oscillations about it with ω √(1 + 3 cos² θ), whatever the mass.
#[test]
fn a_conical_pendulum_is_found_and_oscillates() {
    for (speed, guess) in [(4.0, 0.8), (6.0, 1.0), (12.0, -1.2)] {
        let (model, length) = (conical_pendulum(1.7, 1.0), 1.0);
        let mut state = State::neutral(&model);
        state.q[1] = guess;
        state.v[0] = speed;
        let linear = SteadyMotion::near(&model, &state, &[0.0; 2]).expect("it turns");
        let cosine = G / (length * speed * speed);
        assert!(
            (linear.state.q[1].cos() - cosine).abs() < 1e-12,
            "{:?}",
            linear.state
        );
        assert_eq!(linear.state.v, [speed, 0.0]);
        let (modes, zeros) = linear.modes().expect("solved");
        // where it is on the circle, and how fast it turns
        assert_eq!((modes.list.len(), zeros), (1, 2));
        let [real, imaginary] = modes.list[0].value;
        let wanted = speed * (1.0 + 3.0 * cosine * cosine).sqrt();
        assert!(real.abs() < 1e-9, "{real}");
        assert!(
            (imaginary - wanted).abs() < 1e-10 * wanted,
            "{imaginary} {wanted}"
        );
    }
}

/// A body free to turn about its mass centre that spins about a principal axis: small turns about the others return with the spin, and the axis moves by
/// λ² = (I₂ − I)(I − I₁) Ω² / (I₁ I₂), unstable about the middle one.
#[test]
fn a_spinning_body_turns_by_eulers_equations() {
    let (moments, speed) = ([0.3, 0.5, 0.6], 3.0);
    let mut builder = ModelBuilder::new("top");
    builder.gravity = Vec3::zero();
    let [x, y, z] = moments;
    let body = Inertial {
        mass: 2.0,
        centre: Vec3::zero(),
        tensor: Sym3::new(x, y, z, 0.0, 0.0, 0.0),
    };
    builder.link("body", body);
    builder.joint(JointSpec::new(
        "socket",
        JointKind::Spherical,
        "world",
        "body",
    ));
    let model = builder.build().expect("sound");
    for axis in 0..3 {
        let mut state = State::neutral(&model);
        state.v[axis] = speed;
        let linear = SteadyMotion::new(&model, &state, &[0.0; 3]).expect("steady");
        let (modes, zeros) = linear.modes().expect("solved");
        // where it is about the axis, and how fast it spins
        assert_eq!(zeros, 2);
        let [own, one, other] = [0, 1, 2].map(|k| moments[(axis + k) % 3]);
        let square: f64 = (other - own) * (own - one) / (one * other) * speed * speed;
        let rate = square.abs().sqrt();
        let mut expected = match square < 0.0 {
            true => vec![[0.0, rate], [0.0, speed]],
            false => vec![[-rate, 0.0], [0.0, speed], [rate, 0.0]],
        };
        let mut found: Vec<[f64; 2]> = modes.list.iter().map(|mode| mode.value).collect();
        let by_size =
            |a: &[f64; 2], b: &[f64; 2]| (a[0] + 0.1 * a[1]).total_cmp(&(b[0] + 0.1 * b[1]));
        expected.sort_by(by_size);
        found.sort_by(by_size);
        assert_eq!(found.len(), expected.len(), "{axis}: {found:?}");
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!(
                (found - expected).abs() < 1e-9,
                "{axis}: {found} {expected}"
            );
        }
    }
}

/// No oscillation about a motion that gravity changes, and no steady motion where no position keeps the velocities.
#[test]
fn what_is_not_steady_is_told() {
    let model = conical_pendulum(1.0, 1.0);
    let mut state = State::neutral(&model);
    state.q[1] = 0.7;
    state.v = vec![0.0, 2.0];
    let error = SteadyMotion::near(&model, &state, &[0.0; 2]).expect_err("it swings");
    let message = error.message();
    assert!(
        message.contains("not a steady motion of `conical pendulum`: `swing` accelerates"),
        "{error}"
    );
}

/// A small multiple of a mode, run for a while, grows, turns and decays as its eigenvalue says: the governor at two speeds.
#[test]
fn a_governor_moves_by_its_modes() {
    let model = embedded::model("governor").expect("embedded");
    for speed in [3.0, 2.0 * std::f64::consts::PI] {
        let mut state = State::start(&model);
        state.v[0] = speed;
        let linear = SteadyMotion::near(&model, &state, &[0.0; 4]).expect("it turns");
        let (modes, _) = linear.modes().expect("solved");
        assert!(modes.residual < 1e-12, "{:e}", modes.residual);
        for mode in &modes.list {
            let [re, im] = mode.value;
            // until it has turned by a radian or so, or decayed to a third
            let duration = 1.0 / re.hypot(im);
            let small = 1e-5;
            let ends: Vec<State> = [small, -small]
                .into_iter()
                .map(|by| {
                    let mut start = linear.state.clone();
                    for k in 0..4 {
                        let [x, y] = mode.shape[k];
                        start.q[k] += by * x;
                        start.v[k] += by * (re * x - im * y);
                    }
                    let options = forty_samples(explicit(1e-12), duration);
                    let done = run(&model, &start, Inputs::default(), options);
                    done.last().state.clone()
                })
                .collect();
            let (sine, cosine) = (im * duration).sin_cos();
            let grown = (re * duration).exp();
            for k in 0..4 {
                let [x, y] = mode.shape[k];
                let found = (ends[0].q[k] - ends[1].q[k]) / (2.0 * small);
                let wanted = grown * (cosine * x - sine * y);
                assert!(
                    (found - wanted).abs() < 1e-5,
                    "λ {re} {im}: {found} {wanted}"
                );
            }
        }
    }
}

/// What has no linear equations about a steady motion, each in its words.
#[test]
fn steady_motions_that_are_refused() {
    let model = conical_pendulum(1.0, 1.0);
    let told = |model: &Model, state: &State| {
        let effort = vec![0.0; model.nv()];
        SteadyMotion::new(model, state, &effort)
            .expect_err("refused")
            .to_string()
    };
    let mut moving = State::neutral(&model);
    moving.base.velocity.angular.z = 1.0;
    assert_eq!(
        told(&model, &moving),
        "the base moves: linear equations are those on a base at rest"
    );
    let mut swinging = State::neutral(&model);
    swinging.q[1] = std::f64::consts::FRAC_PI_6;
    // g sin q
    assert_eq!(
        told(&model, &swinging),
        "this is not a steady motion of `conical pendulum`: `swing` accelerates with -4.905000e0 rad/s²\n\
         hint: give positions, velocities and efforts with which all velocities stay constant"
    );
    let with = |rule: RuleSpec| {
        let mut builder = two_bobs("driven");
        builder.constraint(ConstraintSpec::new("rule", rule));
        builder.build().expect("sound")
    };
    let driven = with(RuleSpec::Driver {
        coordinate: "first".into(),
        law: catena::model::Law::Polynomial(vec![0.0]),
    });
    assert_eq!(
        told(&driven, &State::neutral(&driven)),
        "driver `rule` depends on time: linear equations about a steady motion do not\n\
         hint: give a constant rate by a constraint of the type velocity"
    );
    let moved = with(RuleSpec::Driver {
        coordinate: "first".into(),
        law: catena::model::Law::Polynomial(vec![0.0, 0.5]),
    });
    let error =
        Linearisation::new(&moved, &State::neutral(&moved), &[0.0; 2]).expect_err("it moves");
    assert_eq!(
        error.to_string(),
        "`driven` has drivers that move: it has no equilibrium\nhint: leave the drivers out, or make them constant"
    );
    let geared = with(RuleSpec::Coupling {
        terms: vec![("first".into(), 1.0), ("second".into(), -0.5)],
        offset: 0.0,
    });
    assert_eq!(
        told(&geared, &State::neutral(&geared)),
        "couplings of `driven` are eliminated\nhint: take `Model::with_couplings_as_constraints` and `State::of_tree`"
    );
    // an unequal spinning body swings: its equations turn with it
    let mut builder = ModelBuilder::new("spinner");
    builder.gravity = Vec3::zero();
    let body = Inertial {
        mass: 1.0,
        centre: Vec3::zero(),
        tensor: Sym3::new(0.3, 0.5, 0.6, 0.0, 0.0, 0.0),
    };
    builder
        .link("gimbal", Inertial::default())
        .link("body", body);
    builder.joint(hinge("tilt", "world", "gimbal", [0.0; 3], Dof::default()));
    builder.joint(JointSpec::new(
        "spin",
        JointKind::Revolute,
        "gimbal",
        "body",
    ));
    let spinner = builder.build().expect("sound");
    let mut state = State::neutral(&spinner);
    state.v[1] = 2.0;
    let change = told(&spinner, &state);
    assert!(
        change.starts_with("the linear equations of `spinner` change along the motion: it has no modes\nhint: a body that spins"),
        "{change}"
    );
}

/// A and B of a conical pendulum in closed form: x = (spin, swing, their rates), B the inverse of the inertia; (1) stays within (2).
#[test]
fn matrices_of_a_conical_pendulum() {
    let (mass, length, speed) = (1.7, 0.8, 5.0);
    let model = conical_pendulum(mass, length);
    let mut state = State::neutral(&model);
    state.q[1] = 1.0;
    state.v[0] = speed;
    let found = SteadyMotion::near(&model, &state, &[0.0; 2]).expect("it turns");
    let cosine = G / (length * speed * speed);
    let sine = (1.0 - cosine * cosine).sqrt();
    assert_eq!(
        found.variables,
        [(0, false), (1, false), (0, true), (1, true)]
    );
    let inertia = mass * length * length;
    let (spin, swing) = (1.0 / (inertia * sine * sine), 1.0 / inertia);
    // ψ̈ sin θ = −2 Ω θ̇ cos θ,   θ̈ = 2 Ω ψ̇ sin θ cos θ − Ω² sin² θ θ
    let a = [
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, -2.0 * speed * cosine / sine],
        [
            0.0,
            -(speed * sine).powi(2),
            2.0 * speed * sine * cosine,
            0.0,
        ],
    ];
    let b = [[0.0; 2], [0.0; 2], [spin, 0.0], [0.0, swing]];
    for i in 0..4 {
        for j in 0..4 {
            let apart = (found.a[(i, j)] - a[i][j]).abs();
            assert!(apart < 1e-9, "{i} {j}: {}", found.a[(i, j)]);
            assert_eq!(found.spread[(i, j)], f64::from(u8::from(i == j)));
        }
        for j in 0..2 {
            assert!((found.b[(i, j)] - b[i][j]).abs() < 1e-12, "{i} {j}");
        }
    }
    assert_eq!(found.leaves, 0.0);
    assert!(found.from_guess && found.residual < 1e-12 && found.iterations > 1);
    // drawn at the end of an oscillation, at rest
    let (modes, _) = found.modes().expect("solved");
    let mode = &modes.list[0];
    let end = found.displaced(mode, 0.1).expect("closed");
    assert_eq!(end.v, [0.0; 2]);
    for k in 0..2 {
        let wanted = found.state.q[k] + 0.1 * mode.shape[k][0];
        assert!((end.q[k] - wanted).abs() < 1e-12);
    }
}
