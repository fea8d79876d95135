//! Force elements: springs, dampers, loads and fields that belong to a model.
//!
//! This file has their numbers and checks; [`algorithm::elements`](crate::algorithm::elements) evaluates their formulas. Their
//! numbers stay `f64` whatever type the other numbers of a model have.

use super::Model;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::spatial::{Mat3, Pose, Vec3};
use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::Arc;

/// A force element as the user named it.
#[derive(Clone, Debug, PartialEq)]
pub struct ForceSpec {
    /// Name.
    pub name: String,
    /// Its kind, with its numbers.
    pub rule: ForceRule,
    /// Where it was defined.
    pub place: Place,
}

impl ForceSpec {
    /// An element with this name.
    pub fn new(name: &str, rule: ForceRule) -> Self {
        ForceSpec {
            name: name.into(),
            rule,
            place: Place::default(),
        }
    }
}

/// Kinds of force elements, with links by name. `world` is the ground, which moves with a prescribed base.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceRule {
    /// A spring and a damper between points of two links: [`Spring`].
    Spring {
        /// First link, or `world`.
        parent: String,
        /// Second link, or `world`.
        child: String,
        /// Point in the first link's frame, m.
        parent_point: Vec3<f64>,
        /// Point in the second link's frame, m.
        child_point: Vec3<f64>,
        /// Tension per elongation, N/m.
        stiffness: f64,
        /// Tension per rate of elongation, N·s/m.
        damping: f64,
        /// Length without tension, m.
        rest_length: f64,
        /// Pulls only, as a rope does.
        tension_only: bool,
    },
    /// A spring and a damper against rotation of one link relative to another about an axis: [`Torsion`].
    Torsion {
        /// First link, or `world`.
        parent: String,
        /// Second link, or `world`.
        child: String,
        /// The axis, in axes of the first link.
        axis: Vec3<f64>,
        /// Torque per angle, N·m/rad.
        stiffness: f64,
        /// Torque per rate of the angle, N·m·s/rad.
        damping: f64,
        /// Angle without torque, rad.
        rest: f64,
    },
    /// A constant force and torque: [`ConstantForce`].
    Constant {
        /// The link.
        link: String,
        /// Where the force acts, in the link's frame, m.
        point: Vec3<f64>,
        /// Force, N.
        force: Vec3<f64>,
        /// Torque, N·m.
        torque: Vec3<f64>,
        /// The axes in which they are constant.
        axes: ForceAxes,
    },
    /// Resistance of a medium: [`Drag`].
    Drag {
        /// The link.
        link: String,
        /// Where it acts, in the link's frame, m.
        point: Vec3<f64>,
        /// Force per speed, N·s/m.
        linear: f64,
        /// Force per square of the speed, N·s²/m².
        quadratic: f64,
        /// Velocity of the medium, world axes, m/s.
        flow: Vec3<f64>,
    },
    /// The nonuniform field of a central body: [`GravityGradient`].
    GravityGradient(GravityGradient),
}

/// The axes in which a force is constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForceAxes {
    /// World axes.
    #[default]
    World,
    /// Axes of the link: it turns with the link, as a thruster does.
    Link,
}

/// A force element of a checked model: bodies by number, points and axes in body frames.
#[derive(Clone, Debug, PartialEq)]
pub struct ForceElement {
    /// Its name.
    pub name: Arc<str>,
    /// Its kind, with its numbers.
    pub law: ForceLaw,
    /// Where it was defined.
    pub place: Place,
}

/// Kinds of force elements.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceLaw {
    /// A spring and a damper between two points.
    Spring(Spring),
    /// A spring and a damper about an axis.
    Torsion(Torsion),
    /// A constant force and torque.
    Constant(ConstantForce),
    /// Resistance of a medium.
    Drag(Drag),
    /// A nonuniform field.
    GravityGradient(GravityGradient),
}

/// A point of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPoint {
    /// The body; 0 is the ground.
    pub body: usize,
    /// The point in the body's frame, m.
    pub point: Vec3<f64>,
}

/// A spring and a damper along the line between two points r₁ and r₂.
///
/// ```text
/// d = r₂ − r₁,   l = |d|,   l̇ = d·ḋ / l
/// T = k (l − l₀) + c l̇           tension: T d/l acts at r₁, −T d/l at r₂
/// U = ½ k (l − l₀)²              lost: (T − k (l − l₀)) l̇ = c l̇²
/// ```
///
/// With `tension_only` nothing acts while l < l₀, and T is never negative.
/// At length zero the line has no direction: this is an error, unless l₀ = c = 0, where the force k d needs none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The two points.
    pub ends: [BodyPoint; 2],
    /// k, N/m.
    pub stiffness: f64,
    /// c, N·s/m.
    pub damping: f64,
    /// l₀, m.
    pub rest_length: f64,
    /// Pulls only.
    pub tension_only: bool,
}

impl Spring {
    /// Whether its force is k d, linear in the vector between its ends, which may coincide.
    pub fn is_ideal(&self) -> bool {
        self.rest_length == 0.0 && self.damping == 0.0
    }
}

/// A spring and a damper against the rotation of a body in another about an axis.
///
/// R is the rotation of the second body in the first since the zero position of the model (all coordinates zero), a the axis, fixed in
/// the first body, b = R a the same axis carried by the second. The angle θ is the twist of R about a: R is a rotation by θ about a,
/// followed by a swing about an axis normal to a. Where the bodies can only turn about a, b = a and θ is their angle.
///
/// ```text
/// θ = atan2(w·a, tr R − a·b),   w = (R₃₂ − R₂₃, R₁₃ − R₃₁, R₂₁ − R₁₂)
/// θ̇ = p·(ω₂ − ω₁),             p = (a + b)/(1 + a·b)
/// T = k (θ − θ₀) + c θ̇           torque: T p acts on the first body, −T p on the second
/// U = ½ k (θ − θ₀)²              lost: c θ̇²
/// ```
///
/// Turns are not counted: θ − θ₀ is taken between −π and π. A joint's own `stiffness` counts them. Where the axis is
/// reversed, b = −a, the twist is not defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torsion {
    /// The two bodies; 0 is the ground.
    pub bodies: [usize; 2],
    /// a: a unit vector in axes of the first body.
    pub axis: Vec3<f64>,
    /// Rotation of the second body in the first in the zero position of the model.
    pub zero: Mat3<f64>,
    /// k, N·m/rad.
    pub stiffness: f64,
    /// c, N·m·s/rad.
    pub damping: f64,
    /// θ₀, rad.
    pub rest: f64,
}

/// A force f at a point and a torque n, constant in world axes or in those of the link. Their power f·v + n·ω is external work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantForce {
    /// Where the force acts.
    pub at: BodyPoint,
    /// f, N: world axes, or body axes.
    pub force: Vec3<f64>,
    /// n, N·m: world axes, or body axes.
    pub torque: Vec3<f64>,
    /// The axes in which they are constant.
    pub axes: ForceAxes,
}

/// Resistance of a medium with the velocity w, at a point with the velocity v.
///
/// ```text
/// f = −(c₁ + c₂ |u|) u,   u = v − w          lost: −f·u     work from outside: f·w
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// Where it acts.
    pub at: BodyPoint,
    /// c₁, N·s/m.
    pub linear: f64,
    /// c₂, N·s²/m².
    pub quadratic: f64,
    /// w, world axes, m/s.
    pub flow: Vec3<f64>,
}

/// The field of a central body, on every body of the model. The model's own `gravity` is uniform and acts in addition; it is usually
/// zero when one of these is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GravityGradient {
    /// Newton's field of a centre that is fixed in the world, to second order in the size of each body. With ρ from the centre to the
    /// mass centre, d = |ρ|, m the mass and Σ the second moments about the mass centre (tensor of inertia I = tr Σ − Σ):
    ///
    /// ```text
    /// U = −μ m/d − (μ/2) (3 ρᵀΣρ/d⁵ − tr Σ/d³)
    /// f = −μ m ρ/d³ + (μ/2) (6 Σρ/d⁵ + 3 tr Σ ρ/d⁵ − 15 ρᵀΣρ ρ/d⁷)
    /// n = (3μ/d⁵) ρ × I ρ            about the mass centre
    /// ```
    Centre {
        /// μ, m³/s².
        mu: f64,
        /// Position of the centre in the world, m.
        centre: Vec3<f64>,
        /// Whether it includes the field at the origin of the world. Without that part the world falls freely with its origin.
        uniform: bool,
    },
    /// The field near a circular orbit, in a world whose origin moves along the orbit and whose axes turn with it (LVLH). With
    /// the orbital rate n, u upward (from the centre to the origin) and h along the orbit's normal, a mass at r has the acceleration
    ///
    /// ```text
    /// a = 3 n² (u·r) u − n² (h·r) h − 2 n h × ṙ
    /// ```
    ///
    /// of gravity minus that of the origin, centrifugal and Coriolis terms (Hill; Clohessy & Wiltshire 1960). It is linear in r, and
    /// its integrals over a rigid body are exact: n = 3 n² u × I u is part of them. Velocities and angular velocities are relative to
    /// these axes. U = −½ ∫ (3 n² (u·r)² − n² (h·r)²) dm; the Coriolis force does no work.
    Orbit {
        /// n, rad/s.
        rate: f64,
        /// u: unit vector, world axes.
        up: Vec3<f64>,
        /// h: unit vector normal to it, world axes.
        normal: Vec3<f64>,
    },
}

impl ForceRule {
    /// Its type: `spring`, `torsion`, `constant`, `drag` or `gravity_gradient`.
    pub fn kind(&self) -> &'static str {
        match self {
            ForceRule::Spring { .. } => "spring",
            ForceRule::Torsion { .. } => "torsion",
            ForceRule::Constant { .. } => "constant",
            ForceRule::Drag { .. } => "drag",
            ForceRule::GravityGradient(_) => "gravity_gradient",
        }
    }

    /// The links it names, and the role of each.
    pub fn links(&self) -> Vec<&str> {
        match self {
            ForceRule::Spring { parent, child, .. } | ForceRule::Torsion { parent, child, .. } => {
                vec![parent, child]
            }
            ForceRule::Constant { link, .. } | ForceRule::Drag { link, .. } => vec![link],
            ForceRule::GravityGradient(_) => Vec::new(),
        }
    }
}

impl ForceElement {
    /// Its type: `spring`, `torsion`, `constant`, `drag` or `gravity_gradient`.
    pub fn kind(&self) -> &'static str {
        match self.law {
            ForceLaw::Spring(_) => "spring",
            ForceLaw::Torsion(_) => "torsion",
            ForceLaw::Constant(_) => "constant",
            ForceLaw::Drag(_) => "drag",
            ForceLaw::GravityGradient(_) => "gravity_gradient",
        }
    }

    /// The bodies it joins or acts on; none for a field, which acts on all.
    pub fn bodies(&self) -> Vec<usize> {
        match &self.law {
            ForceLaw::Spring(spring) => spring.ends.map(|end| end.body).to_vec(),
            ForceLaw::Torsion(torsion) => torsion.bodies.to_vec(),
            ForceLaw::Constant(constant) => vec![constant.at.body],
            ForceLaw::Drag(drag) => vec![drag.at.body],
            ForceLaw::GravityGradient(_) => Vec::new(),
        }
    }

    /// Whether it acts between moving bodies, so that it does not change their total momentum.
    pub fn is_internal(&self) -> bool {
        matches!(self.law, ForceLaw::Spring(_) | ForceLaw::Torsion(_))
            && self.bodies().iter().all(|body| *body != 0)
    }

    /// Names and units of its three measures, see [`Action`](crate::algorithm::elements::Action).
    pub fn measures(&self) -> [(&'static str, &'static str); 3] {
        match self.law {
            ForceLaw::Spring(_) => [("tension", "N"), ("length", "m"), ("rate", "m/s")],
            ForceLaw::Torsion(_) => [("torque", "N·m"), ("angle", "rad"), ("rate", "rad/s")],
            _ => [("x", "N"), ("y", "N"), ("z", "N")],
        }
    }

    /// Stiffness of a spring, N/m or N·m/rad; 0 for other elements.
    pub(crate) fn stiffness(&self) -> f64 {
        match self.law {
            ForceLaw::Spring(spring) => spring.stiffness,
            ForceLaw::Torsion(torsion) => torsion.stiffness,
            _ => 0.0,
        }
    }
}

/// Placement of the links of a model under construction.
pub(super) struct Places<'a> {
    /// Body of every link, and the link's pose in it.
    pub links: &'a HashMap<String, (usize, Pose<f64>)>,
    /// Rotation of every body in the world in the zero position.
    pub rotations: Vec<Mat3<f64>>,
}

impl ForceSpec {
    /// Resolves its links, and checks its numbers.
    pub(super) fn resolve(&self, places: &Places<'_>) -> Result<ForceElement> {
        let at = |link: &str, point: Vec3<f64>| {
            let (body, body_from_link) = places.links[link];
            BodyPoint {
                body,
                point: body_from_link.point(point),
            }
        };
        self.numbers()?;
        let law = match &self.rule {
            ForceRule::Spring {
                parent,
                child,
                parent_point,
                child_point,
                stiffness,
                damping,
                rest_length,
                tension_only,
            } => {
                let ends = [at(parent, *parent_point), at(child, *child_point)];
                self.two_bodies(ends.map(|end| end.body), parent)?;
                ForceLaw::Spring(Spring {
                    ends,
                    stiffness: *stiffness,
                    damping: *damping,
                    rest_length: *rest_length,
                    tension_only: *tension_only,
                })
            }
            ForceRule::Torsion {
                parent,
                child,
                axis,
                stiffness,
                damping,
                rest,
            } => {
                let (first, body_from_link) = places.links[parent.as_str()];
                let (second, _) = places.links[child.as_str()];
                self.two_bodies([first, second], parent)?;
                ForceLaw::Torsion(Torsion {
                    bodies: [first, second],
                    axis: body_from_link.rotation * self.unit("axis", *axis)?,
                    zero: places.rotations[first].transpose() * places.rotations[second],
                    stiffness: *stiffness,
                    damping: *damping,
                    rest: *rest,
                })
            }
            ForceRule::Constant {
                link,
                point,
                force,
                torque,
                axes,
            } => {
                let (_, body_from_link) = places.links[link.as_str()];
                let turn = match axes {
                    ForceAxes::World => Mat3::identity(),
                    ForceAxes::Link => body_from_link.rotation,
                };
                ForceLaw::Constant(ConstantForce {
                    at: self.moving(at(link, *point), link)?,
                    force: turn * *force,
                    torque: turn * *torque,
                    axes: *axes,
                })
            }
            ForceRule::Drag {
                link,
                point,
                linear,
                quadratic,
                flow,
            } => ForceLaw::Drag(Drag {
                at: self.moving(at(link, *point), link)?,
                linear: *linear,
                quadratic: *quadratic,
                flow: *flow,
            }),
            ForceRule::GravityGradient(field) => ForceLaw::GravityGradient(match *field {
                GravityGradient::Centre { .. } => *field,
                GravityGradient::Orbit { rate, up, normal } => {
                    let (up, normal) = (self.unit("up", up)?, self.unit("normal", normal)?);
                    let skewness = up.dot(normal);
                    if skewness.abs() > 1e-9 {
                        return Err(self.refuse(format!(
                            "`up` and `normal` are not orthogonal (cosine {skewness:.3e})"
                        )));
                    }
                    GravityGradient::Orbit { rate, up, normal }
                }
            }),
        };
        Ok(ForceElement {
            name: self.name.as_str().into(),
            law,
            place: self.place.clone(),
        })
    }

    fn refuse(&self, message: String) -> Error {
        Error::new(
            ErrorKind::Model,
            format!("force `{}`: {message}", self.name),
        )
        .at(self.place.clone())
    }

    fn two_bodies(&self, [first, second]: [usize; 2], link: &str) -> Result<()> {
        if first != second {
            return Ok(());
        }
        Err(self
            .refuse(format!("it acts between body `{link}` and itself"))
            .hint("links joined by fixed joints are one body"))
    }

    fn moving(&self, at: BodyPoint, link: &str) -> Result<BodyPoint> {
        match at.body {
            0 => Err(self
                .refuse(format!("it acts on `{link}`, which does not move"))
                .hint("name a link that a joint moves")),
            _ => Ok(at),
        }
    }

    fn unit(&self, what: &str, direction: Vec3<f64>) -> Result<Vec3<f64>> {
        let unit = direction.unit().filter(|_| direction.norm() >= 1e-12);
        unit.ok_or_else(|| {
            self.refuse(format!("`{what}` has zero length"))
                .hint("give a direction, for example [0, 0, 1]")
        })
    }

    /// Checks that every number is finite, and nonnegative where required.
    fn numbers(&self) -> Result<()> {
        let mut vectors: Vec<(&str, Vec3<f64>)> = Vec::new();
        let mut sizes: Vec<(&str, f64)> = Vec::new();
        match &self.rule {
            ForceRule::Spring {
                parent_point,
                child_point,
                stiffness,
                damping,
                rest_length,
                ..
            } => {
                vectors.extend([
                    ("parent_point", *parent_point),
                    ("child_point", *child_point),
                ]);
                sizes.extend([
                    ("stiffness", *stiffness),
                    ("damping", *damping),
                    ("rest_length", *rest_length),
                ]);
            }
            ForceRule::Torsion {
                axis,
                stiffness,
                damping,
                rest,
                ..
            } => {
                vectors.push(("axis", *axis));
                sizes.extend([("stiffness", *stiffness), ("damping", *damping)]);
                if rest.is_nan() || rest.abs() > PI {
                    return Err(self
                        .refuse(format!("`rest` must be an angle from −π to π, not {rest}"))
                        .hint(
                            "full turns are not counted; the `stiffness` of a joint counts them",
                        ));
                }
            }
            ForceRule::Constant {
                point,
                force,
                torque,
                ..
            } => vectors.extend([("point", *point), ("force", *force), ("torque", *torque)]),
            ForceRule::Drag {
                point,
                linear,
                quadratic,
                flow,
                ..
            } => {
                vectors.extend([("point", *point), ("flow", *flow)]);
                sizes.extend([("linear", *linear), ("quadratic", *quadratic)]);
            }
            ForceRule::GravityGradient(GravityGradient::Centre {
                mu,
                centre,
                uniform,
            }) => {
                vectors.push(("centre", *centre));
                sizes.push(("mu", *mu));
                if !uniform && centre.norm() == 0.0 {
                    return Err(self
                        .refuse(
                            "the origin of the world is at its centre, where the field is singular"
                                .into(),
                        )
                        .hint("give the place of the `centre`"));
                }
            }
            ForceRule::GravityGradient(GravityGradient::Orbit { rate, up, normal }) => {
                vectors.extend([("up", *up), ("normal", *normal)]);
                sizes.push(("rate", rate.abs()));
            }
        }
        for (key, vector) in vectors {
            if vector.to_array().iter().any(|x| !x.is_finite()) {
                return Err(self.refuse(format!("`{key}` is not finite")));
            }
        }
        for (key, size) in sizes {
            if !(size.is_finite() && size >= 0.0) {
                return Err(self.refuse(format!("`{key}` must be a finite number ≥ 0, not {size}")));
            }
        }
        Ok(())
    }
}

impl<P> Model<P> {
    /// The force elements: springs, dampers, loads, fields.
    pub fn forces(&self) -> &[ForceElement] {
        &self.forces
    }

    /// For algorithms without support for force elements: rejects a model that has any.
    pub fn expect_no_forces(&self, what: &str) -> Result<()> {
        match self.forces.first() {
            None => Ok(()),
            Some(element) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{what} does not support force elements, and model `{}` has the {} `{}`",
                    self.name(),
                    element.kind().replace('_', " "),
                    element.name
                ),
            )
            .at(element.place.clone())
            .hint("leave the [[force]] tables out (`--no-forces`, `Model::without_forces`), or use forward and inverse dynamics, derivatives or a simulation, which have them")),
        }
    }

    /// For algorithms that take forces as independent of the inertias: rejects a model with a gravity gradient.
    pub fn expect_no_gravity_gradient(&self, what: &str) -> Result<()> {
        let is_field = |e: &&ForceElement| matches!(e.law, ForceLaw::GravityGradient(_));
        match self.forces.iter().find(is_field) {
            None => Ok(()),
            Some(element) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{what} does not support gravity gradients, and model `{}` has `{}`: its forces depend on the inertias",
                    self.name(),
                    element.name
                ),
            )
            .at(element.place.clone())
            .hint("leave its [[force]] table out (`Model::without_forces`)")),
        }
    }

    /// A copy without force elements.
    #[must_use]
    pub fn without_forces(mut self) -> Self {
        self.forces.clear();
        self
    }
}
