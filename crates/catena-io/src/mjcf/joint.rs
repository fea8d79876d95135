//! `<joint>` and `<freejoint>`: the freedoms of a body relative to its parent.

use super::File;
use super::attributes::Attributes;
use super::compiler::Compiler;
use super::tree::Node;
use catena::error::{ErrorKind, Place, Result};
use catena::model::Dof;
use catena::spatial::{Pose, Vec3};

/// The kinds of joints of MJCF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hinge,
    Slide,
    Ball,
    Free,
}

/// A joint in the frame of its body.
pub(super) struct Joint {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// A point on the axis, or the centre of a ball.
    pub(super) anchor: Vec3<f64>,
    /// Unit vector.
    pub(super) axis: Vec3<f64>,
    /// Position at which the body has the pose of the file.
    pub(super) reference: f64,
    /// Damping, friction, rotor inertia, spring and limits of every freedom of the joint.
    pub(super) dof: Dof,
    /// Time constant and damping ratio from which stiffness and damping are computed.
    pub(super) springdamper: Option<[f64; 2]>,
    pub(super) place: Place,
}

/// Reads a joint that is `at` this pose in its body; `parent` carries the body.
pub(super) fn read(
    file: &mut File<'_>,
    node: Node<'_>,
    at: Pose<f64>,
    class: Option<&str>,
    parent: usize,
) -> Result<Joint> {
    let mut joint = Joint {
        name: node.attribute("name").unwrap_or_default().into(),
        kind: Kind::Free,
        anchor: Vec3::zero(),
        axis: Vec3::new(0.0, 0.0, 1.0),
        reference: 0.0,
        dof: Dof::default(),
        springdamper: None,
        place: node.place().clone(),
    };
    if node.tag() == "joint" {
        let attributes = file.defaults.of(node, "joint", class)?;
        joint.read(file, &attributes, at)?;
    } else if file.compiler.alignfree || node.attribute("align") == Some("true") {
        file.notes.alignfree = true;
    }
    if joint.kind == Kind::Free && parent != 0 {
        let message = format!(
            "{}: a free joint is for bodies in the world",
            node.describe()
        );
        return Err(node.error(ErrorKind::Model, message));
    }
    Ok(joint)
}

impl Joint {
    fn read(&mut self, file: &mut File<'_>, joint: &Attributes<'_>, at: Pose<f64>) -> Result<()> {
        let kinds = [
            ("hinge", Kind::Hinge),
            ("slide", Kind::Slide),
            ("ball", Kind::Ball),
            ("free", Kind::Free),
        ];
        self.kind = joint.keyword("type", &kinds)?.unwrap_or(Kind::Hinge);
        self.dof = Dof {
            armature: joint.number_or("armature", 0.0)?,
            damping: linear(file, joint, "damping")?,
            friction: joint.number_or("frictionloss", 0.0)?,
            stiffness: linear(file, joint, "stiffness")?,
            ..Dof::default()
        };
        if let Some([time, ratio]) = joint.numbers("springdamper")? {
            self.springdamper = (time > 0.0 && ratio > 0.0).then_some([time, ratio]);
        }
        if joint.number_or("springyield", 0.0)? > 0.0 {
            let what = format!(
                "the spring of {} yields, which is not supported",
                joint.node.describe()
            );
            file.ignored.or_refuse("stiffness", joint.node, what)?;
        }
        if self.kind != Kind::Free {
            let anchor = joint.vector("pos")?.unwrap_or(Vec3::zero());
            self.anchor = at.point(anchor);
        }
        if matches!(self.kind, Kind::Hinge | Kind::Slide) {
            let axis = joint.vector("axis")?.unwrap_or(Vec3::new(0.0, 0.0, 1.0));
            let unit = axis.unit().filter(|_| axis.norm() > 1e-15);
            let unit = unit.ok_or_else(|| joint.error("axis", "has zero length"))?;
            self.axis = at.rotation * unit;
            self.positions(file, joint)?;
        } else {
            self.without_coordinates(file, joint)?;
        }
        if !file.dynamics.springs {
            self.dof.stiffness = 0.0;
        }
        if !file.dynamics.dampers {
            self.dof.damping = 0.0;
        }
        if !file.dynamics.friction {
            self.dof.friction = 0.0;
        }
        if self.dof.friction > 0.0 {
            file.notes.frictions += 1;
        }
        Ok(())
    }

    /// Reads reference, spring and limits of a joint with one coordinate.
    fn positions(&mut self, file: &mut File<'_>, joint: &Attributes<'_>) -> Result<()> {
        let compiler: &Compiler = file.compiler;
        let turns = self.kind == Kind::Hinge;
        let coordinate = |x: f64| if turns { compiler.angle(x) } else { x };
        self.reference = coordinate(joint.number_or("ref", 0.0)?);
        self.dof.rest = coordinate(joint.number_or("springref", 0.0)?);
        if joint.limited("limited", "range", compiler.autolimits)? && file.dynamics.limits {
            let [lower, upper] = joint.numbers("range")?.unwrap_or([0.0; 2]);
            if lower >= upper {
                let message = format!(
                    "{} is limited, but its range is empty",
                    joint.node.describe()
                );
                return Err(joint.node.error(ErrorKind::Model, message));
            }
            self.dof.limits = Some((coordinate(lower), coordinate(upper)));
            file.notes.limits += 1;
        }
        if joint.limited(
            "actuatorfrclimited",
            "actuatorfrcrange",
            compiler.autolimits,
        )? {
            let [lower, upper] = joint.numbers("actuatorfrcrange")?.unwrap_or([0.0; 2]);
            let largest = f64::max(-lower, upper);
            self.dof.max_effort = (largest > 0.0).then_some(largest);
        }
        Ok(())
    }

    /// Rejects the spring and notes the limits of a ball or free joint, which has no coordinate for them.
    fn without_coordinates(&mut self, file: &mut File<'_>, joint: &Attributes<'_>) -> Result<()> {
        if self.dof.stiffness > 0.0 && file.dynamics.springs {
            let kind = if self.kind == Kind::Ball {
                "ball"
            } else {
                "free"
            };
            let what = format!(
                "the spring of {}: stiffness of {kind} joints is not supported",
                joint.node.describe()
            );
            file.ignored.or_refuse("stiffness", joint.node, what)?;
        }
        self.dof.stiffness = 0.0;
        let limited = joint.limited("limited", "range", file.compiler.autolimits)?;
        if self.kind == Kind::Ball && limited && file.dynamics.limits {
            file.notes.ball_limits.push(joint.node.describe());
        }
        Ok(())
    }
}

/// A coefficient of a proportional force; further coefficients are those of higher powers.
fn linear(file: &mut File<'_>, joint: &Attributes<'_>, key: &'static str) -> Result<f64> {
    let Some(list) = joint.list(key)? else {
        return Ok(0.0);
    };
    if list.iter().skip(1).any(|higher| *higher != 0.0) {
        let what = format!(
            "`{key}` of {} has terms that are not linear",
            joint.node.describe()
        );
        file.ignored.or_refuse(key, joint.node, what)?;
    }
    list.first()
        .copied()
        .ok_or_else(|| joint.error(key, "has no number"))
}
