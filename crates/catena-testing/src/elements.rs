//! Force elements on models.

use crate::draw::vector;
use catena::model::embedded;
use catena::model::{ForceAxes, ForceRule, ForceSpec, GravityGradient};
use catena::random::Random;
use catena::spatial::Vec3;
use catena::{Model, ModelBuilder};

/// A spring between points of two links: stiffness, damping, rest length.
pub fn spring(parent: &str, child: &str, at: [Vec3<f64>; 2], numbers: [f64; 3]) -> ForceRule {
    let [stiffness, damping, rest_length] = numbers;
    ForceRule::Spring {
        parent: parent.into(),
        child: child.into(),
        parent_point: at[0],
        child_point: at[1],
        stiffness,
        damping,
        rest_length,
        tension_only: false,
    }
}

/// One element of each kind and more, between random links. `lossy` ones dissipate or supply energy.
pub fn load(builder: &mut ModelBuilder, seed: u64, lossy: bool) {
    let mut random = Random::new(seed);
    let links: Vec<String> = builder.links.iter().map(|l| l.name.clone()).collect();
    let pick = |random: &mut Random| links[random.below(links.len())].clone();
    let loss = if lossy { 0.7 } else { 0.0 };
    // ends far from each other, so that no spring is short
    let far = Vec3::new(3.0, -4.0, 2.0);
    builder.force(ForceSpec::new(
        "ground",
        spring(
            "world",
            &pick(&mut random),
            [far, vector(&mut random, 1.0)],
            [3.0, loss, 1.1],
        ),
    ));
    let (first, last) = (links[0].clone(), links[links.len() - 1].clone());
    builder.force(ForceSpec::new(
        "between",
        spring(
            &first,
            &last,
            [vector(&mut random, 1.0) * 3.0, vector(&mut random, 1.0)],
            [2.0, 0.5 * loss, 0.4],
        ),
    ));
    builder.force(ForceSpec::new(
        "ideal",
        spring("world", &last, [far, Vec3::zero()], [0.4, 0.0, 0.0]),
    ));
    builder.force(ForceSpec::new(
        "torsion",
        ForceRule::Torsion {
            parent: first.clone(),
            child: last.clone(),
            axis: vector(&mut random, 1.0),
            stiffness: 1.3,
            damping: 0.3 * loss,
            rest: 0.4,
        },
    ));
    builder.force(ForceSpec::new(
        "orbit",
        ForceRule::GravityGradient(GravityGradient::Orbit {
            rate: 0.3,
            up: Vec3::new(0.0, 0.6, 0.8),
            normal: Vec3::new(1.0, 0.0, 0.0),
        }),
    ));
    builder.force(ForceSpec::new(
        "planet",
        ForceRule::GravityGradient(GravityGradient::Centre {
            mu: 2000.0,
            centre: Vec3::new(1.0, 12.0, -31.0),
            uniform: seed.is_multiple_of(2),
        }),
    ));
    if lossy {
        for (name, axes) in [("push", ForceAxes::World), ("thruster", ForceAxes::Link)] {
            builder.force(ForceSpec::new(
                name,
                ForceRule::Constant {
                    link: pick(&mut random),
                    point: vector(&mut random, 1.0),
                    force: vector(&mut random, 1.0),
                    torque: vector(&mut random, 1.0) * 0.2,
                    axes,
                },
            ));
        }
        builder.force(ForceSpec::new(
            "drag",
            ForceRule::Drag {
                link: pick(&mut random),
                point: vector(&mut random, 1.0),
                linear: 0.2,
                quadratic: 0.3,
                flow: vector(&mut random, 1.0),
            },
        ));
    }
}

/// An embedded model with the elements of [`load`] and two ropes, one taut and one slack: every law with a root or a branch is in it.
pub fn loaded(name: &str, seed: u64) -> Model {
    let mut builder = embedded::builder(name).expect("embedded");
    load(&mut builder, seed, true);
    let last = builder.links.last().expect("a link").name.clone();
    for (name, rest_length) in [("rope", 0.3), ("slack", 90.0)] {
        builder.force(ForceSpec::new(
            name,
            ForceRule::Spring {
                parent: "world".into(),
                child: last.clone(),
                parent_point: Vec3::new(2.0, 3.0, -1.0),
                child_point: Vec3::new(0.1, 0.0, 0.2),
                stiffness: 4.0,
                damping: 0.3,
                rest_length,
                tension_only: true,
            },
        ));
    }
    builder.build().expect("sound")
}
