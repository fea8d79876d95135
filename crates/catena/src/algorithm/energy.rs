//! Energies, momenta and the mass centre.

use crate::algorithm::elements::element_energies;
use crate::algorithm::kinematics::Kinematics;
use crate::algorithm::passive::spring_energy;
use crate::card::Card;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Vec3};

/// Energies and momenta.
pub const CARD: Card = Card {
    name: "Energies, momenta, centre of mass",
    question: "energy and momentum",
    call: "mechanical_state",
    file: "algorithm/energy.rs",
    order: "O(n)",
    source: "definition",
};

/// Energies and momenta of the moving bodies, in inertial components.
#[derive(Clone, Copy, Debug)]
pub struct MechanicalState<S> {
    /// Kinetic energy, including that of the rotors.
    pub kinetic: S,
    /// Potential energy in the gravity field, −Σ m g·r, zero at the origin of the world, and in gravity gradients.
    pub gravitational: S,
    /// Energy stored in the springs of the joints and between the bodies.
    pub elastic: S,
    /// Angular momentum about the origin of the world, and linear momentum.
    pub momentum: Force<S>,
    /// Total mass.
    pub mass: S,
    /// Mass centre; the origin of the world where there is no mass.
    pub centre: Vec3<S>,
    /// Velocity of the mass centre; zero where there is no mass.
    pub centre_velocity: Vec3<S>,
}

/// Energies and momenta at the state `kinematics` was computed for.
pub fn mechanical_state<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    kinematics: &Kinematics<S>,
) -> MechanicalState<S> {
    let half = S::constant(0.5);
    let mut kinetic = S::zero();
    let mut momentum = Force::zero();
    let mut mass = S::zero();
    let mut first = Vec3::zero();
    for i in model.bodies() {
        let inertia = model.inertia::<S>(i);
        let pose = kinematics.world_from_body[i];
        let own = inertia.momentum(kinematics.velocity[i]);
        kinetic += half * own.dot(kinematics.velocity[i]);
        momentum += pose.force_out(own);
        mass += inertia.mass;
        first += pose
            .translation
            .scale_add(inertia.mass, pose.rotation * inertia.first);
    }
    for (k, dof) in model.dofs.iter().enumerate() {
        kinetic += half * dof.armature.lift() * v[k] * v[k];
    }
    let gravity: Vec3<S> = model.gravity.lift();
    // a system without mass has no mass centre: it is set to the origin, at rest
    let has_mass = S::zero().less(mass);
    let inverse = S::select(
        has_mass,
        S::select(has_mass, mass, S::one()).recip(),
        S::zero(),
    );
    let [fields, springs] = element_energies(model, kinematics);
    MechanicalState {
        kinetic,
        gravitational: fields - gravity.dot(first),
        elastic: springs + spring_energy(model, q),
        momentum,
        mass,
        centre: first * inverse,
        centre_velocity: momentum.force * inverse,
    }
}
