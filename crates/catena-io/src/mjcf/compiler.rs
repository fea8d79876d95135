//! `<compiler>` and `<option>`: how the rest of the file is to be read, gravity, and disabled features.

use super::attributes::Attributes;
use super::tree::Node;
use super::{Ignored, schema};
use crate::placement::from_axis_angle;
use catena::error::Result;
use catena::spatial::{Mat3, Vec3};
use std::path::{Path, PathBuf};

/// Source of the inertia of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromGeoms {
    /// From `<inertial>` only.
    Never,
    /// From geoms only.
    Always,
    /// From geoms where there is no `<inertial>`.
    Auto,
}

/// The settings of `<compiler>`.
pub(super) struct Compiler {
    degrees: bool,
    /// Axes of three successive rotations, and whether they are those of the rotated frame.
    eulerseq: [(Vec3<f64>, bool); 3],
    pub(super) autolimits: bool,
    pub(super) from_geoms: FromGeoms,
    /// Groups of geoms that count.
    pub(super) groups: [f64; 2],
    pub(super) boundmass: f64,
    pub(super) boundinertia: f64,
    pub(super) balanceinertia: bool,
    /// Scale masses so that their sum is this.
    pub(super) settotalmass: Option<f64>,
    pub(super) fitaabb: bool,
    pub(super) alignfree: bool,
    /// Volumes of meshes with their signs.
    pub(super) exact_meshes: bool,
    meshdir: PathBuf,
    strippath: bool,
}

impl Default for Compiler {
    fn default() -> Self {
        let [x, y, z] = AXES;
        Compiler {
            degrees: true,
            eulerseq: [(x, true), (y, true), (z, true)],
            autolimits: true,
            from_geoms: FromGeoms::Auto,
            groups: [0.0, 5.0],
            boundmass: 0.0,
            boundinertia: 0.0,
            balanceinertia: false,
            settotalmass: None,
            fitaabb: false,
            alignfree: false,
            exact_meshes: false,
            meshdir: PathBuf::new(),
            strippath: false,
        }
    }
}

const AXES: [Vec3<f64>; 3] = [
    Vec3::new(1.0, 0.0, 0.0),
    Vec3::new(0.0, 1.0, 0.0),
    Vec3::new(0.0, 0.0, 1.0),
];

impl Compiler {
    /// Reads the sections `<compiler>`; where a setting is repeated, the last one counts.
    pub(super) fn read(root: Node<'_>, ignore_unknown: bool) -> Result<Self> {
        let mut settings = Compiler::default();
        for section in root.all("compiler") {
            schema::check(section, ignore_unknown)?;
            settings.section(&Attributes::own(section))?;
        }
        Ok(settings)
    }

    fn section(&mut self, section: &Attributes<'_>) -> Result<()> {
        let set = |flag: &mut bool, key: &str| -> Result<()> {
            *flag = section.flag(key)?.unwrap_or(*flag);
            Ok(())
        };
        if let Some(degrees) = section.keyword("angle", &[("degree", true), ("radian", false)])? {
            self.degrees = degrees;
        }
        if section
            .text("coordinate")
            .is_some_and(|word| word != "local")
        {
            return Err(section.error("coordinate", "is not supported").hint(
                "write the model in local coordinates; MuJoCo itself has no others any more",
            ));
        }
        set(&mut self.autolimits, "autolimits")?;
        set(&mut self.balanceinertia, "balanceinertia")?;
        set(&mut self.fitaabb, "fitaabb")?;
        set(&mut self.alignfree, "alignfree")?;
        set(&mut self.exact_meshes, "exactmeshinertia")?;
        set(&mut self.strippath, "strippath")?;
        let words = [
            ("false", FromGeoms::Never),
            ("true", FromGeoms::Always),
            ("auto", FromGeoms::Auto),
        ];
        if let Some(from_geoms) = section.keyword("inertiafromgeom", &words)? {
            self.from_geoms = from_geoms;
        }
        self.groups = section.numbers("inertiagrouprange")?.unwrap_or(self.groups);
        self.boundmass = section.number_or("boundmass", self.boundmass)?;
        self.boundinertia = section.number_or("boundinertia", self.boundinertia)?;
        if let Some(total) = section.number("settotalmass")? {
            self.settotalmass = (total > 0.0).then_some(total);
        }
        if let Some(written) = section.text("eulerseq") {
            self.eulerseq = eulerseq(written)
                .ok_or_else(|| section.error("eulerseq", "must be three of x, y, z, X, Y, Z"))?;
        }
        for key in ["assetdir", "meshdir"] {
            if let Some(folder) = section.text(key) {
                self.meshdir = folder.into();
            }
        }
        Ok(())
    }

    /// An angle in radians.
    pub(super) fn angle(&self, written: f64) -> f64 {
        if self.degrees {
            written.to_radians()
        } else {
            written
        }
    }

    /// Three successive rotations.
    pub(super) fn euler(&self, angles: [f64; 3]) -> Mat3<f64> {
        let mut rotation = Mat3::identity();
        for ((axis, moving), angle) in self.eulerseq.into_iter().zip(angles) {
            let turn = from_axis_angle(axis, self.angle(angle));
            rotation = if moving {
                rotation * turn
            } else {
                turn * rotation
            };
        }
        rotation
    }

    /// The file of a mesh.
    pub(super) fn mesh_file(&self, folder: &Path, file: &str) -> PathBuf {
        let file = Path::new(file);
        let name = match file.file_name() {
            Some(name) if self.strippath => Path::new(name),
            _ => file,
        };
        folder.join(&self.meshdir).join(name)
    }
}

/// Lower-case letters are rotations about moving axes, upper-case letters about fixed ones.
fn eulerseq(written: &str) -> Option<[(Vec3<f64>, bool); 3]> {
    let axis = |letter: char| {
        let k = "xyz".find(letter.to_ascii_lowercase())?;
        Some((AXES[k], letter.is_ascii_lowercase()))
    };
    let turns: Option<Vec<_>> = written.chars().map(axis).collect();
    turns?.try_into().ok()
}

/// Attributes that make the medium around the bodies a fluid.
const FLUID: [&str; 2] = ["density", "viscosity"];

/// Settings of `<option>` that concern the dynamics.
pub(super) struct Dynamics {
    pub(super) gravity: Vec3<f64>,
    pub(super) springs: bool,
    pub(super) dampers: bool,
    pub(super) friction: bool,
    pub(super) limits: bool,
    pub(super) equalities: bool,
    pub(super) actuation: bool,
    /// Settings that choose MuJoCo's numerical method.
    pub(super) method: Vec<String>,
}

impl Dynamics {
    /// Reads the sections `<option>`.
    pub(super) fn read(root: Node<'_>, ignored: &mut Ignored) -> Result<Self> {
        let mut dynamics = Dynamics {
            gravity: Vec3::new(0.0, 0.0, -9.81),
            springs: true,
            dampers: true,
            friction: true,
            limits: true,
            equalities: true,
            actuation: true,
            method: Vec::new(),
        };
        let mut gravity_acts = true;
        let mut fluid = [None; 2];
        for section in root.all("option") {
            schema::check(section, ignored.unknown())?;
            let option = Attributes::own(section);
            if let Some(gravity) = option.vector("gravity")? {
                dynamics.gravity = gravity;
            }
            for (acts, key) in fluid.iter_mut().zip(FLUID) {
                if let Some(value) = option.number(key)? {
                    *acts = (value != 0.0).then_some(section);
                }
            }
            let method = [
                "timestep",
                "integrator",
                "solver",
                "cone",
                "jacobian",
                "iterations",
            ];
            for key in method.iter().filter(|key| option.text(key).is_some()) {
                dynamics.method.push((*key).into());
            }
            for flags in section.all("flag") {
                schema::check(flags, ignored.unknown())?;
                let flags = Attributes::own(flags);
                let enabled =
                    |key: &str| flags.keyword(key, &[("enable", true), ("disable", false)]);
                let set = |flag: &mut bool, keys: &[&str]| -> Result<()> {
                    for key in keys {
                        *flag = enabled(key)?.unwrap_or(*flag);
                    }
                    Ok(())
                };
                set(&mut gravity_acts, &["gravity"])?;
                set(&mut dynamics.springs, &["passive", "spring"])?;
                set(&mut dynamics.dampers, &["passive", "damper"])?;
                set(&mut dynamics.friction, &["constraint", "frictionloss"])?;
                set(&mut dynamics.limits, &["constraint", "limit"])?;
                set(&mut dynamics.equalities, &["constraint", "equality"])?;
                set(&mut dynamics.actuation, &["actuation"])?;
            }
        }
        for (section, key) in fluid.into_iter().zip(FLUID) {
            let Some(section) = section else { continue };
            let what = format!("<option> gives the medium a {key}: fluid forces are not supported");
            ignored.or_refuse("fluid", section, what)?;
        }
        if !gravity_acts {
            dynamics.gravity = Vec3::zero();
        }
        Ok(dynamics)
    }
}
