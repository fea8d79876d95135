//! `springdamper`: stiffness and damping of a joint from a time constant and a damping ratio.
//!
//! With m the effective inertia of a freedom at the reference position, 1/m an entry on the diagonal of I⁻¹: damping 2 m / T
//! and stiffness m / (T ζ)².

use super::body::Bodies;
use super::joint::{Joint, Kind};
use catena::Dynamics;
use catena::error::Result;
use catena::model::{Dof, ModelBuilder};
use catena::state::State;

/// Sets stiffness and damping of the joints that have this attribute.
pub(super) fn automatic(bodies: &Bodies, builder: &mut ModelBuilder) -> Result<()> {
    let joints: Vec<&Joint> = bodies.all.iter().flat_map(|body| &body.joints).collect();
    if joints.iter().all(|joint| joint.springdamper.is_none()) {
        return Ok(());
    }
    let mut alone = builder.clone();
    alone.constraints.clear();
    let model = alone.build()?;
    let mut q = Vec::new();
    for body in &bodies.all {
        for joint in &body.joints {
            match joint.kind {
                Kind::Hinge | Kind::Slide => q.push(joint.reference),
                Kind::Ball => q.extend([1.0, 0.0, 0.0, 0.0]),
                Kind::Free => {
                    q.extend(body.at.translation.to_array());
                    q.extend([1.0, 0.0, 0.0, 0.0]);
                }
            }
        }
    }
    // the orientation of a free body does not affect the inertia of the bodies it carries
    let mut state = State::neutral(&model);
    state.q = q;
    let mut dynamics = Dynamics::new(&model);
    let mut tau = vec![0.0; model.nv()];
    let still = dynamics.forward(&state, &tau, &[])?.to_vec();
    let mut freedom = 0;
    for joint in joints {
        let count = match joint.kind {
            Kind::Hinge | Kind::Slide => 1,
            Kind::Ball => 3,
            Kind::Free => 6,
        };
        let own = freedom..freedom + count;
        freedom += count;
        let Some([time, ratio]) = joint.springdamper else {
            continue;
        };
        let mut mobility = 0.0;
        for k in own {
            tau[k] = 1.0;
            mobility += dynamics.forward(&state, &tau, &[])?[k] - still[k];
            tau[k] = 0.0;
        }
        let inertia = count as f64 / mobility;
        let Some(spec) = builder
            .joints
            .iter_mut()
            .find(|spec| spec.name == joint.name)
        else {
            continue;
        };
        if spec.dofs.is_empty() {
            spec.dofs = vec![Dof::default(); count];
        }
        for dof in &mut spec.dofs {
            dof.damping = 2.0 * inertia / time;
            if matches!(joint.kind, Kind::Hinge | Kind::Slide) {
                dof.stiffness = inertia / (time * ratio).powi(2);
            }
        }
    }
    Ok(())
}
