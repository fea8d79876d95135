//! Models of one structure that differ in inertias, passive joint forces, rotors or gravity: one reduction for all of them.
//!
//! [`Model::reduced`] chooses frames by lengths and directions, and then regroups inertias, which is linear in them. With the frames of one
//! model, most of the reduced numbers are therefore the same for all members of a family: code can be generated with the others as inputs.

use super::reduced::regroup;
use super::{BodyNumbers, Model, Reduced, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::spatial::{Pose, RigidInertia, Sym3, Vec3};
use std::sync::Arc;

/// Numbers of an inertia.
const INERTIA: usize = 10;

/// Numbers of a freedom.
const FREEDOM: usize = 4;

/// Numbers of members that differ by less than this fraction of the largest of their kind count as equal: a number that is zero for all of them
/// is round-off in each.
const DUST: f64 = 1e-13;

/// Models that differ in some of their numbers.
///
/// ```
/// use catena::model::{Family, embedded};
///
/// let arm = embedded::builder("stanford")?;
/// let mut loaded = arm.clone();
/// let hand = loaded.links.last_mut().and_then(|link| link.inertial.as_mut());
/// hand.expect("a mass").mass *= 2.0;
/// let (arm, loaded) = (arm.build()?, loaded.build()?);
/// let family = Family::new(&arm, [&loaded].into_iter(), 1e-10)?;
/// let numbers = family.parameters(&loaded)?;
/// assert_eq!(numbers.len(), family.parameter_count());
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Family {
    nominal: Model,
    /// The nominal model, reduced: its constants are those of all members.
    reduced: Reduced,
    /// Bodies in the new frames, whose inertias are those of a member before they are regrouped.
    bodies: Vec<BodyNumbers<f64>>,
    /// New body frames from the frames of the model.
    shift: Vec<Pose<f64>>,
    /// The reduced numbers of the nominal model, and the differences up to which those of members count as equal.
    numbers: Vec<f64>,
    allowed: Vec<f64>,
    /// Which of them vary.
    varied: Vec<usize>,
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
        .hint("the general recursion runs such members: leave compilation out")
}

impl Family {
    /// The family of these members, with a nominal model that gives their common numbers. Members that differ in lengths or directions are
    /// rejected, as are models with constraints, couplings or force elements. `dust` is the tolerance of [`Model::swept`].
    pub fn new<'m>(
        nominal: &Model,
        members: impl Iterator<Item = &'m Model>,
        dust: f64,
    ) -> Result<Self> {
        nominal.expect_no_forces("code for a family of models")?;
        if !nominal.constraints.is_empty() || nominal.couplings.is_some() {
            let name = nominal.name();
            return Err(unsupported(format!(
                "`{name}` has constraints or couplings"
            )));
        }
        let (frames, shift) = nominal.swept_frames(dust);
        let mut family = Family {
            nominal: nominal.clone(),
            bodies: frames.model.bodies.clone(),
            reduced: nominal.reduced(dust),
            shift,
            numbers: Vec::new(),
            allowed: Vec::new(),
            varied: Vec::new(),
        };
        family.numbers = family.numbers_of(nominal);
        let (mut low, mut high) = (family.numbers.clone(), family.numbers.clone());
        for (k, member) in members.enumerate() {
            family.expect_member(member).map_err(|error| {
                let message = format!("member {k}: {}", error.message());
                unsupported(message)
            })?;
            let numbers = family.numbers_of(member);
            for ((low, high), x) in low.iter_mut().zip(&mut high).zip(numbers) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
        let sizes: Vec<f64> = low
            .iter()
            .zip(&high)
            .map(|(a, b)| a.abs().max(b.abs()))
            .collect();
        let inertias = INERTIA * nominal.body_count();
        let largest = |kind: usize| {
            let own = (0..inertias).filter(|k| kind_of(*k) == kind);
            own.fold(0.0, |most: f64, k| most.max(sizes[k]))
        };
        let largest = [0, 1, 2].map(largest);
        let all = 0..family.numbers.len();
        family.allowed = all
            .map(|k| match k < inertias {
                true => DUST * largest[kind_of(k)],
                false => 0.0,
            })
            .collect();
        let differs = |k: &usize| high[*k] - low[*k] > family.allowed[*k];
        family.varied = (0..family.numbers.len()).filter(differs).collect();
        Ok(family)
    }

    /// The model that gives the common numbers.
    pub fn nominal(&self) -> &Model {
        &self.nominal
    }

    /// The nominal model, reduced.
    pub fn reduced(&self) -> &Reduced {
        &self.reduced
    }

    /// Number of values that vary.
    pub fn parameter_count(&self) -> usize {
        self.varied.len()
    }

    /// Identifies the nominal model and the numbers that vary.
    pub fn fingerprint(&self) -> u64 {
        // FNV-1a over the places
        let start = self.nominal.fingerprint() ^ 0xcbf2_9ce4_8422_2325;
        let places = self.varied.iter().map(|k| *k as u64 + 1);
        places.fold(start, |hash, place| {
            (hash ^ place).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// The numbers of a member that vary; an error if it differs in others.
    pub fn parameters(&self, member: &Model) -> Result<Vec<f64>> {
        self.expect_member(member)?;
        let numbers = self.numbers_of(member);
        let mut varied = self.varied.iter().peekable();
        for (k, x) in numbers.iter().enumerate() {
            if varied.next_if(|place| **place == k).is_some() {
                continue;
            }
            if (x - self.numbers[k]).abs() > self.allowed[k] || x.is_nan() {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "`{}` differs from the nominal model in numbers that do not vary in its family",
                        member.name()
                    ),
                )
                .hint("make the family, and its code, with all members"));
            }
        }
        Ok(self.varied.iter().map(|&k| numbers[k]).collect())
    }

    /// The reduced model over another kind of number, with its rotor inertias: constants, and the parameters by their index.
    pub fn map<T: Copy>(
        &self,
        constant: impl Fn(f64) -> T,
        parameter: impl Fn(usize) -> T,
    ) -> (Model<T>, Vec<T>) {
        let mut model = self.reduced.model.map(&constant);
        let inertias = INERTIA * model.body_count();
        let freedoms = inertias + FREEDOM * model.nv();
        for (j, &k) in self.varied.iter().enumerate() {
            let x = parameter(j);
            if k < inertias {
                let m = &mut model.bodies[1 + k / INERTIA].inertia;
                let s = &mut m.second;
                *[
                    &mut m.mass,
                    &mut m.first.x,
                    &mut m.first.y,
                    &mut m.first.z,
                    &mut s.xx,
                    &mut s.yy,
                    &mut s.zz,
                    &mut s.xy,
                    &mut s.xz,
                    &mut s.yz,
                ][k % INERTIA] = x;
            } else if k < freedoms {
                let dof = &mut model.dofs[(k - inertias) / FREEDOM];
                *[
                    &mut dof.armature,
                    &mut dof.damping,
                    &mut dof.stiffness,
                    &mut dof.rest,
                ][(k - inertias) % FREEDOM] = x;
                let tree: &Tree = &model.tree;
                model.tree = Arc::new(tree.with_everything());
            } else {
                let g = &mut model.gravity;
                *[&mut g.x, &mut g.y, &mut g.z][k - freedoms] = x;
            }
        }
        let rotors = model.dofs.iter().map(|dof| dof.armature).collect();
        (model, rotors)
    }

    /// Checks that a member has the bodies, joints, lengths and directions of the nominal model.
    fn expect_member(&self, member: &Model) -> Result<()> {
        let refuse = |what: &str| {
            let (name, nominal) = (member.name(), self.nominal.name());
            Err(unsupported(format!(
                "`{name}` has other {what} than `{nominal}`"
            )))
        };
        if !self.nominal.is_alike(member) || self.nominal.nv() != member.nv() {
            return refuse("bodies or joints");
        }
        if !member.forces.is_empty() || !member.constraints.is_empty() {
            return refuse("constraints or force elements");
        }
        let pairs = self.nominal.bodies.iter().zip(&member.bodies).skip(1);
        let same = |(a, b): (&BodyNumbers<f64>, &BodyNumbers<f64>)| {
            a.placement == b.placement && a.pitch == b.pitch
        };
        let same_friction =
            |(a, b): (&super::DofNumbers<f64>, &super::DofNumbers<f64>)| a.friction == b.friction;
        match pairs.clone().all(same) {
            false => refuse("lengths or directions"),
            true if !self
                .nominal
                .dofs
                .iter()
                .zip(&member.dofs)
                .all(same_friction) =>
            {
                refuse("dry friction")
            }
            true => Ok(()),
        }
    }

    /// The reduced numbers of a member: inertias body by body, then rotors, damping, springs and their rest, then gravity.
    fn numbers_of(&self, member: &Model) -> Vec<f64> {
        let mut bodies = self.bodies.clone();
        for (i, body) in bodies.iter_mut().enumerate().skip(1) {
            body.inertia = member.bodies[i].inertia.seen_from(self.shift[i]);
        }
        regroup(&self.nominal.tree, &mut bodies);
        let mut numbers = Vec::new();
        for body in &bodies[1..] {
            let RigidInertia {
                mass,
                first: Vec3 { x, y, z },
                second,
            } = body.inertia;
            let Sym3 {
                xx,
                yy,
                zz,
                xy,
                xz,
                yz,
            } = second;
            numbers.extend([mass, x, y, z, xx, yy, zz, xy, xz, yz]);
        }
        let dofs = self.nominal.dofs.iter().zip(&self.reduced.model.dofs);
        for (dof, (nominal, reduced)) in member.dofs.iter().zip(dofs) {
            let rest = dof.rest + (reduced.rest - nominal.rest);
            numbers.extend([dof.armature, dof.damping, dof.stiffness, rest]);
        }
        numbers.extend(member.gravity.to_array());
        numbers
    }
}

/// Mass, first or second moment.
fn kind_of(number: usize) -> usize {
    match number % INERTIA {
        0 => 0,
        1..=3 => 1,
        _ => 2,
    }
}
