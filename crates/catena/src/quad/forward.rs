//! Forward dynamics: `algorithm::forward_dynamics::articulated_bodies` with a vector per register.
//!
//! ```text
//! base to tips   ωᵢ = Rᵢᵀ ωₚ + Pᵢ v                                                     (1)
//!                βᵢ = twist rate of body i when v̇ᵢ = 0 and the parent does not accelerate (2)
//!                zᵢ = (ω × Ī ω;  ω × (ω × h)) − w(ext)                                   (3)
//! tips to base   ψ, 1/m̂, M̂' of joint i                                       (Factorization)
//!                τ̂ = τ − Pᵀ z,   z' = z + ψ τ̂ + M̂' β                                     (4)
//!                M̂ₚ += Bᵀ M̂' B,   zₚ += Bᵀ z'                                            (5)
//! base to tips   ṫᵢ = B ṫₚ + βᵢ,   v̇ᵢ = τ̂/m̂ − ψᵀ ṫᵢ,   ṫᵢ += Pᵢ v̇ᵢ        ṫ₀ = (ω̇₀; r̈₀ − g)  (6)
//! ```
//!
//! Symmetric blocks are kept in full, so every step that makes them is symmetric to the last bit (ψ ψᵀ m̂ as (aᵢ aⱼ)/m̂, sums of a
//! matrix and its transpose), and M̂' p is written, not subtracted: what keeps long chains right in the generic recursion
//! keeps them right here.

use super::poses::{QuadPose, along_z, cross_z, fused_pair, symmetric};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::{Angles, passive};
use crate::arch::Link;
use crate::arch::{Quad, QuadMat};
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, Pivots, PivotsMut, with_joint};
use crate::scalar::Fused;
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};
use crate::state::Base;

/// An articulated inertia in three blocks, with D = Bᵀ in the place of B.
///
/// ```text
/// [ moment ]   [ A  Dᵀ ] [ angular acceleration ]
/// [ force  ] = [ D  C  ] [ linear acceleration  ]
/// ```
#[derive(Clone, Copy, Debug)]
struct Inertia {
    rotational: QuadMat,
    coupling: QuadMat,
    translational: QuadMat,
}

impl Inertia {
    #[inline(always)]
    fn zero() -> Self {
        Inertia {
            rotational: QuadMat::zero(),
            coupling: QuadMat::zero(),
            translational: QuadMat::zero(),
        }
    }

    /// A rigid body.
    #[inline(always)]
    fn rigid(link: &Link) -> Self {
        Inertia {
            rotational: link.tensor,
            coupling: link.lever,
            translational: QuadMat {
                x: Quad::zero().blend::<0b0001>(link.mass),
                y: Quad::zero().blend::<0b0010>(link.mass),
                z: Quad::zero().blend::<0b0100>(link.mass),
            },
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Inertia {
            rotational: self.rotational.plus(b.rotational),
            coupling: self.coupling.plus(b.coupling),
            translational: self.translational.plus(b.translational),
        }
    }

    /// The wrench that gives a twist rate.
    #[inline(always)]
    fn times(self, rate: &Rate) -> Wrench {
        let angular = rate.angular.spread_from_memory();
        let linear = rate.linear.spread_from_memory();
        Wrench {
            moment: self.rotational.times(angular) + self.coupling.transpose_times(rate.linear),
            force: self.coupling.times(angular) + self.translational.times(linear),
        }
    }

    /// Takes out the rotation about z: `spatial::elimination`.
    #[inline(always)]
    fn eliminate_rotation_z(self, rotor: f64) -> Eliminated {
        let (a, d, c) = (self.rotational, self.coupling, self.translational);
        let (moment, force) = (a.z, d.z); // M̂ p
        let inverse = 1.0 / (moment.z() + rotor);
        let scale = Quad::splat(inverse);
        let (m, f) = (moment.spread(), force.spread());
        let psi = Wrench {
            moment: (moment * scale).blend::<0b0100>(Quad::splat(1.0 - rotor * inverse)),
            force: force * scale,
        };
        // M̂' p = ψ J: row and column z are written
        let along = Quad::splat(rotor);
        let column = psi.moment * along;
        Eliminated {
            rest: Inertia {
                rotational: QuadMat {
                    x: (moment * m[0])
                        .taken_from(scale, a.x)
                        .blend::<0b0100>(column.xxx()),
                    y: (moment * m[1])
                        .taken_from(scale, a.y)
                        .blend::<0b0100>(column.yyy()),
                    z: column,
                },
                coupling: QuadMat {
                    x: (force * m[0]).taken_from(scale, d.x),
                    y: (force * m[1]).taken_from(scale, d.y),
                    z: psi.force * along,
                },
                translational: minus_outer(c, force, f, scale),
            },
            psi,
            inverse,
        }
    }

    /// Takes out the translation along z.
    #[inline(always)]
    fn eliminate_translation_z(self, rotor: f64) -> Eliminated {
        let (a, d, c) = (self.rotational, self.coupling, self.translational);
        let (moment, force) = (d.transpose().z, c.z); // M̂ p
        let inverse = 1.0 / (force.z() + rotor);
        let scale = Quad::splat(inverse);
        let (m, f) = (moment.spread(), force.spread());
        let psi = Wrench {
            moment: moment * scale,
            force: (force * scale).blend::<0b0100>(Quad::splat(1.0 - rotor * inverse)),
        };
        let along = Quad::splat(rotor);
        let column = psi.force * along;
        let row = psi.moment * along;
        Eliminated {
            rest: Inertia {
                rotational: minus_outer(a, moment, m, scale),
                coupling: QuadMat {
                    x: psi.force.taken_from(m[0], d.x).blend::<0b0100>(row.xxx()),
                    y: psi.force.taken_from(m[1], d.y).blend::<0b0100>(row.yyy()),
                    z: psi.force.taken_from(m[2], d.z).blend::<0b0100>(row.zzz()),
                },
                translational: QuadMat {
                    x: (force * f[0])
                        .taken_from(scale, c.x)
                        .blend::<0b0100>(column.xxx()),
                    y: (force * f[1])
                        .taken_from(scale, c.y)
                        .blend::<0b0100>(column.yyy()),
                    z: column,
                },
            },
            psi,
            inverse,
        }
    }

    /// The inertia left at a body seen from its parent, together with the parent's own.
    #[inline(always)]
    fn onto(self, parent: &Link, body: &Body, translation_yzx: Quad) -> Self {
        let (rotation, translation) = (&body.rotation, &body.translation);
        let a = turned_symmetric(self.rotational, rotation);
        let d = turned(self.coupling, rotation);
        let c = turned_symmetric(self.translational, rotation);
        let (rotational, shifted) =
            moved(a.plus(parent.tensor), d, c, translation, translation_yzx);
        let mirrored = mirrored(c);
        Inertia {
            rotational,
            coupling: shifted.plus(parent.lever),
            translational: QuadMat {
                x: mirrored.x + Quad::zero().blend::<0b0001>(parent.mass),
                y: mirrored.y + Quad::zero().blend::<0b0010>(parent.mass),
                z: mirrored.z + Quad::zero().blend::<0b0100>(parent.mass),
            },
        }
    }

    #[inline(always)]
    fn to_fused(self) -> ArticulatedInertia<Fused> {
        ArticulatedInertia {
            rotational: symmetric(self.rotational),
            coupling: self.coupling.to_fused().transpose(),
            translational: symmetric(self.translational),
        }
    }

    #[inline(always)]
    fn from_fused(inertia: ArticulatedInertia<Fused>) -> Self {
        Inertia {
            rotational: QuadMat::from_fused(inertia.rotational.full()),
            coupling: QuadMat::from_fused(inertia.coupling.transpose()),
            translational: QuadMat::from_fused(inertia.translational.full()),
        }
    }
}

/// A and D of an inertia about a point from which the present one is seen at p: D' = D − C p̃ and A' = A + W + Wᵀ,
/// W = ½ p̃ (D + D'). What is added last is what is ready last.
#[inline(always)]
pub(super) fn moved(
    a: QuadMat,
    d: QuadMat,
    c: QuadMat,
    translation: &Quad,
    translation_yzx: Quad,
) -> (QuadMat, QuadMat) {
    let p = translation.spread_from_memory();
    // columns of C p̃: C_y p.z − C_z p.y and so on around
    let shifted = QuadMat {
        x: c.z.mul_add(p[1], c.y.taken_from(p[2], d.x)),
        y: c.x.mul_add(p[2], c.z.taken_from(p[0], d.y)),
        z: c.y.mul_add(p[0], c.x.taken_from(p[1], d.z)),
    };
    let half = Quad::splat(0.5);
    let (arm, half_yzx) = (*translation * half, translation_yzx * half);
    let sum = d.plus(shifted);
    let w = QuadMat {
        x: Quad::cross_of(arm, half_yzx, sum.x) + a.x * half,
        y: Quad::cross_of(arm, half_yzx, sum.y) + a.y * half,
        z: Quad::cross_of(arm, half_yzx, sum.z) + a.z * half,
    };
    (w.plus(w.transpose()), shifted)
}

/// c − b bᵀ scale, symmetric to the last bit.
#[inline(always)]
pub(super) fn minus_outer(c: QuadMat, b: Quad, spread: [Quad; 3], scale: Quad) -> QuadMat {
    QuadMat {
        x: (b * spread[0]).taken_from(scale, c.x),
        y: (b * spread[1]).taken_from(scale, c.y),
        z: (b * spread[2]).taken_from(scale, c.z),
    }
}

/// R M Rᵀ of a symmetric M, symmetric up to round-off: (M Rᵀ)ᵀ Rᵀ.
#[inline(always)]
pub(super) fn turned_symmetric(m: QuadMat, r: &QuadMat) -> QuadMat {
    m.times_transposed(r).transpose().times_transposed(r)
}

/// R M Rᵀ.
#[inline(always)]
fn turned(m: QuadMat, r: &QuadMat) -> QuadMat {
    let half = m.times_transposed(r);
    QuadMat {
        x: r.times(half.x.spread()),
        y: r.times(half.y.spread()),
        z: r.times(half.z.spread()),
    }
}

/// The lower triangle of a matrix written into its upper one.
#[inline(always)]
fn mirrored(m: QuadMat) -> QuadMat {
    let t = m.transpose();
    QuadMat {
        x: m.x,
        y: m.y.blend::<0b0001>(t.y),
        z: m.z.blend::<0b0011>(t.z),
    }
}

/// Moment and force on a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrench {
    pub moment: Quad,
    pub force: Quad,
}

impl Wrench {
    #[inline(always)]
    pub fn zero() -> Self {
        Wrench {
            moment: Quad::zero(),
            force: Quad::zero(),
        }
    }
    #[inline(always)]
    pub fn plus(self, b: Self) -> Self {
        Wrench {
            moment: self.moment + b.moment,
            force: self.force + b.force,
        }
    }
    #[inline(always)]
    fn add_scaled(self, b: Self, s: Quad) -> Self {
        Wrench {
            moment: b.moment.mul_add(s, self.moment),
            force: b.force.mul_add(s, self.force),
        }
    }
    #[inline(always)]
    fn to_fused(self) -> Force<Fused> {
        Force::new(self.moment.to_fused(), self.force.to_fused())
    }
    #[inline(always)]
    fn from_fused(force: Force<Fused>) -> Self {
        Wrench {
            moment: Quad::from_fused(force.moment),
            force: Quad::from_fused(force.force),
        }
    }
}

struct Eliminated {
    rest: Inertia,
    psi: Wrench,
    inverse: f64,
}

/// A twist rate.
#[derive(Clone, Copy, Debug)]
struct Rate {
    angular: Quad,
    linear: Quad,
}

/// What the passes leave at a body for each other.
#[derive(Clone, Copy, Debug)]
struct Body {
    rotation: QuadMat,
    /// Of the rotation.
    rows: QuadMat,
    translation: Quad,
    /// (2)
    beta: Rate,
    /// (3), then gathers (5).
    z: Wrench,
    /// Of a joint with one axis.
    psi: Wrench,
    /// τ̂/m̂ of it.
    freed: f64,
}

impl Body {
    #[inline(always)]
    fn place(&mut self, pose: &QuadPose) {
        self.rotation = pose.columns;
        self.rows = pose.rows;
        self.translation = pose.translation;
    }

    #[inline(always)]
    fn pose(&self) -> Pose<Fused> {
        Pose::new(self.rotation.to_fused(), self.translation.to_fused())
    }
}

/// What is kept where the tree branches.
#[derive(Clone, Copy, Debug)]
struct Fork {
    /// (1), its components spread.
    omega: [Quad; 3],
    /// (6)
    rate: Rate,
    /// (5)
    gathered: Inertia,
}

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadForward {
    angles: Angles<Fused>,
    body: Vec<Body>,
    fork: Vec<Fork>,
    inverse: Vec<Fused>,
    effort: Vec<Fused>,         // τ less passive forces
    freed: Vec<Fused>,          // τ̂/m̂ and
    several: Vec<Force<Fused>>, // ψ of joints with several freedoms
}

impl QuadForward {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        let zero = Quad::zero();
        let still = Rate {
            angular: zero,
            linear: zero,
        };
        let body = Body {
            rotation: QuadMat::zero(),
            rows: QuadMat::zero(),
            translation: zero,
            beta: still,
            z: Wrench::zero(),
            psi: Wrench::zero(),
            freed: 0.0,
        };
        let fork = Fork {
            omega: [zero; 3],
            rate: still,
            gathered: Inertia::zero(),
        };
        QuadForward {
            angles: Angles::padded(model.tree()),
            body: vec![body; n],
            fork: vec![fork; n],
            inverse: vec![Fused(0.0); nv],
            effort: vec![Fused(0.0); nv],
            freed: vec![Fused(0.0); nv],
            several: vec![Force::zero(); nv],
        }
    }

    /// 1/m̂ of every freedom, after a call.
    pub fn inverse(&self) -> &[Fused] {
        &self.inverse
    }

    /// Sines and cosines, likewise.
    pub(super) fn angles(&self) -> &Angles<Fused> {
        &self.angles
    }

    /// Rotation and translation of a body in its parent, likewise.
    #[inline(always)]
    pub(super) fn placed(&self, body: usize) -> (QuadMat, Quad) {
        (self.body[body].rotation, self.body[body].translation)
    }

    /// ψ of the freedoms of a body, likewise; there is room for several.
    #[inline(always)]
    pub(super) fn psi_of<'a>(
        &'a self,
        model: &Model,
        body: usize,
        several: &'a mut [Wrench; 6],
    ) -> &'a [Wrench] {
        let node = model.tree().nodes[body];
        match node.kind {
            JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => {
                std::slice::from_ref(&self.body[body].psi)
            }
            kind => {
                let pose = self.body[body].pose();
                let setting = model.setting(body, &self.angles);
                with_joint!(kind, J => {
                    let joint = J::<Fused>::at(setting, &pose);
                    for k in 0..J::<Fused>::NV {
                        several[k] = Wrench::from_fused(joint.restore(self.several[node.v + k]));
                    }
                    &several[..J::<Fused>::NV]
                })
            }
        }
    }

    /// The factors as the generic recursions take them.
    pub fn export(&self, model: &Model, factors: &mut Factorization<Fused>) {
        factors.angles.fill_from(&self.angles);
        for i in model.bodies() {
            factors.pose[i] = self.body[i].pose();
            let info = model.tree().nodes[i];
            for k in info.v..info.v + info.kind.nv() {
                factors.psi[k] = match info.kind {
                    JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => {
                        self.body[i].psi.to_fused()
                    }
                    _ => self.several[k],
                };
            }
        }
        factors.inverse.copy_from_slice(&self.inverse);
    }

    /// v̇; the arguments are those of the generic recursion.
    #[inline(always)]
    pub fn run(
        &mut self,
        model: &Model,
        links: &[Link],
        [q, v, tau]: [&[Fused]; 3],
        base: &Base<Fused>,
        external: &[Force<Fused>],
        vdot: &mut [Fused],
    ) {
        let tree = model.tree();
        let n = model.body_count();
        self.angles.fill_by_four(tree, q);
        self.effort.copy_from_slice(tau);
        if tree.has_passive_forces {
            for k in 0..model.nv() {
                self.effort[k] -= passive::passive_force(model, q, v, k);
            }
        }
        let links = &links[..=n];
        let bodies = &mut self.body[..=n];

        // base to tips
        let to_base = base.pose.rotation;
        let mut before = Quad::from_fused(to_base.transpose_times(base.velocity.angular)).spread();
        self.fork[0].omega = before;
        for i in 1..=n {
            let (link, body) = (&links[i], &mut bodies[i]);
            let info = link.node;
            if info.parent + 1 != i {
                before = self.fork[info.parent].omega;
            }
            let omega = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let (sin, cos) = (self.angles.sin[info.angle], self.angles.cos[info.angle]);
                    let pose = QuadPose::revolute(link, sin, cos);
                    body.place(&pose);
                    let r = link.translation.spread_from_memory();
                    let carried = pose.rows.times(before);
                    let rate = v[info.v];
                    let omega = carried + along_z(rate); // (1)
                    body.beta = Rate {
                        angular: cross_z(omega, rate),
                        linear: centripetal(&pose, carried, r),
                    }; // (2)
                    omega
                }
                JointKind::Prismatic => {
                    let pose = QuadPose::prismatic(link, q[info.q]);
                    body.place(&pose);
                    let r = pose.translation.spread();
                    let omega = pose.rows.times(before);
                    let rate = v[info.v];
                    body.beta = Rate {
                        angular: Quad::zero(),
                        linear: centripetal(&pose, omega, r) + cross_z(omega, rate + rate),
                    };
                    omega
                }
                kind => {
                    let setting = model.setting(i, &self.angles);
                    let parent_from_body =
                        with_joint!(kind, J => { J::<Fused>::pose(setting, &q[info.q..]) });
                    let pose = QuadPose::general(parent_from_body);
                    body.place(&pose);
                    let r = pose.translation.spread();
                    let carried = pose.rows.times(before);
                    let centripetal = centripetal(&pose, carried, r);
                    with_joint!(kind, J => {
                        let v = &v[info.v..];
                        let joint = J::<Fused>::at(setting, &parent_from_body);
                        let carried = carried.to_fused();
                        let bias = joint.bias(carried, v);
                        body.beta = Rate {
                            angular: Quad::from_fused(bias.angular),
                            linear: Quad::from_fused(bias.linear) + centripetal,
                        };
                        let twist = joint.plus(Motion::new(carried, Vec3::zero()), v);
                        Quad::from_fused(twist.angular)
                    })
                }
            };
            before = omega.spread();
            if info.gathers {
                self.fork[i].omega = before;
                self.fork[i].gathered = Inertia::zero();
            }
            // the moment is ω × Ī ω = (Σ ω) × ω
            let omega_yzx = omega.yzx();
            let velocity = Quad::cross_of(omega, omega_yzx, link.first);
            body.z = Wrench {
                moment: link.second.times(before).cross(omega),
                force: Quad::cross_of(omega, omega_yzx, velocity),
            }; // (3)
        }
        if !external.is_empty() {
            for i in 1..=n {
                let load = Wrench::from_fused(external[i]);
                let z = &mut bodies[i].z;
                z.moment = z.moment - load.moment;
                z.force = z.force - load.force;
            }
        }

        // tips to base
        let mut inertia = Inertia::rigid(&links[n]);
        let mut z = bodies[n].z;
        for i in (1..=n).rev() {
            let link = &links[i];
            let info = link.node;
            if info.gathers {
                inertia = inertia.plus(self.fork[i].gathered);
            }
            let (rest, through) = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let eliminated = inertia.eliminate_rotation_z(link.rotor);
                    let effort = self.effort[info.v].0;
                    let left = effort - z.moment.z();
                    let freed = left * eliminated.inverse;
                    bodies[i].psi = eliminated.psi;
                    bodies[i].freed = freed;
                    self.inverse[info.v] = Fused(eliminated.inverse);
                    let mut through = z.add_scaled(eliminated.psi, Quad::splat(left));
                    let along = Quad::splat(effort - link.rotor * freed);
                    through.moment = through.moment.blend::<0b0100>(along);
                    (eliminated.rest, through)
                }
                JointKind::Prismatic => {
                    let eliminated = inertia.eliminate_translation_z(link.rotor);
                    let effort = self.effort[info.v].0;
                    let left = effort - z.force.z();
                    let freed = left * eliminated.inverse;
                    bodies[i].psi = eliminated.psi;
                    bodies[i].freed = freed;
                    self.inverse[info.v] = Fused(eliminated.inverse);
                    let mut through = z.add_scaled(eliminated.psi, Quad::splat(left));
                    let along = Quad::splat(effort - link.rotor * freed);
                    through.force = through.force.blend::<0b0100>(along);
                    (eliminated.rest, through)
                }
                kind => {
                    let pose = bodies[i].pose();
                    let setting = model.setting(i, &self.angles);
                    with_joint!(kind, J => {
                        let range = info.v..info.v + J::<Fused>::NV;
                        let joint = J::<Fused>::at(setting, &pose);
                        let dofs = &model.dofs[range.clone()];
                        let rest = joint.eliminate(inertia.to_fused(), PivotsMut {
                            psi: &mut self.several[range.clone()],
                            inverse: &mut self.inverse[range.clone()],
                            dofs,
                        });
                        let pivots = Pivots {
                            psi: &self.several[range.clone()],
                            inverse: &self.inverse[range.clone()],
                            dofs,
                        };
                        let effort = &self.effort[range.clone()];
                        let through =
                            joint.inward(z.to_fused(), effort, pivots, &mut self.freed[range]);
                        (Inertia::from_fused(rest), Wrench::from_fused(through))
                    })
                }
            };
            if info.parent == 0 {
                inertia = Inertia::rigid(&links[i - 1]);
                z = bodies[i - 1].z;
                continue;
            }
            let body = &bodies[i];
            let through = through.plus(rest.times(&body.beta)); // (4)
            let translation = body.translation;
            let translation_yzx = translation.yzx();
            let force = body.rotation.times(through.force.spread());
            let arm = Quad::cross_of(translation, translation_yzx, force);
            let parent = bodies[info.parent].z;
            let sum = Wrench {
                moment: body
                    .rotation
                    .times_add(through.moment.spread(), arm + parent.moment),
                force: force + parent.force,
            };
            if info.parent + 1 == i {
                inertia = rest.onto(&links[i - 1], body, translation_yzx); // (5)
                z = sum;
            } else {
                let massless = &links[0];
                let gathered = &mut self.fork[info.parent].gathered;
                *gathered = gathered.plus(rest.onto(massless, body, translation_yzx));
                bodies[info.parent].z = sum;
                inertia = Inertia::rigid(&links[i - 1]);
                z = bodies[i - 1].z;
            }
        }

        // base to tips
        let gravity = model.gravity.lift();
        let mut before = Rate {
            angular: Quad::from_fused(to_base.transpose_times(base.acceleration.angular)),
            linear: Quad::from_fused(to_base.transpose_times(base.acceleration.linear - gravity)),
        };
        self.fork[0].rate = before;
        for i in 1..=n {
            let (info, body) = (links[i].node, &bodies[i]);
            if info.parent + 1 != i {
                before = self.fork[info.parent].rate;
            }
            let translation = body.translation;
            let translation_yzx = translation.yzx();
            let turned = Quad::cross_of(translation, translation_yzx, before.angular);
            let at_joint = before.linear - turned;
            let beta = body.beta;
            let mut rate = Rate {
                angular: body.rows.times_add(before.angular.spread(), beta.angular),
                linear: body.rows.times_add(at_joint.spread(), beta.linear),
            };
            match info.kind {
                JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => {
                    // ψᵀ (B ṫₚ + β) = (Bᵀψ)ᵀ ṫₚ + ψᵀβ: only one product waits for the parent
                    let psi = &body.psi;
                    let force = body.rotation.times(psi.force.spread_from_memory());
                    let moment = body.rotation.times(psi.moment.spread_from_memory())
                        + Quad::cross_of(translation, translation_yzx, force);
                    let own = psi.moment.mul_add(beta.angular, psi.force * beta.linear);
                    let along = moment.mul_add(before.angular, force.mul_add(before.linear, own));
                    let acceleration = Fused(body.freed - along.sum());
                    vdot[info.v] = acceleration;
                    if info.kind == JointKind::Prismatic {
                        rate.linear = rate.linear + along_z(acceleration);
                    } else {
                        rate.angular = rate.angular + along_z(acceleration);
                    }
                }
                kind => {
                    let pose = body.pose();
                    let setting = model.setting(i, &self.angles);
                    let (angular, linear) = fused_pair(rate.angular, rate.linear);
                    with_joint!(kind, J => {
                        let range = info.v..info.v + J::<Fused>::NV;
                        let joint = J::<Fused>::at(setting, &pose);
                        let pivots = Pivots {
                            psi: &self.several[range.clone()],
                            inverse: &self.inverse[range.clone()],
                            dofs: &model.dofs[range.clone()],
                        };
                        let freed = &self.freed[range.clone()];
                        let carried = Motion::new(angular, linear);
                        let moved = joint.outward(carried, freed, pivots, &mut vdot[range]);
                        rate = Rate {
                            angular: Quad::from_fused(moved.angular),
                            linear: Quad::from_fused(moved.linear),
                        };
                    });
                }
            }
            before = rate; // (6)
            if info.gathers {
                self.fork[i].rate = before;
            }
        }
    }
}

/// Acceleration of the joint due to the parent's turning, in body axes: Rᵀ ω × (ω × r).
#[inline(always)]
fn centripetal(pose: &QuadPose, carried: Quad, r: [Quad; 3]) -> Quad {
    let carried_yzx = carried.yzx();
    let velocity = Quad::cross_of(carried, carried_yzx, pose.rows.times(r));
    Quad::cross_of(carried, carried_yzx, velocity)
}
