//! The inertia matrix is what inverse dynamics says it is, on every path.

use catena::model::embedded;
use catena::{Cpu, Dynamics, State};

/// Column k is the effort for unit acceleration of freedom k, at rest and without gravity. Agreement is measured against
/// √(Iᵢᵢ Iⱼⱼ), the largest an entry can be: 1e-12 of it on chains of hundreds of joints, where both routes add up as many
/// roundings. The matrix is symmetric to the last bit.
#[test]
fn columns_are_efforts_of_unit_accelerations() {
    for name in [
        "stanford",
        "zoo",
        "floating-chain-12",
        "chain-100",
        "chain-300",
        "spherical-chain-40",
        "random-7-1",
        "random-30-2",
        "random-30-3",
        "random-90-4",
    ] {
        let model = embedded::model(name)
            .unwrap()
            .with_gravity([0.0; 3])
            .without_passive_forces();
        let nv = model.nv();
        let mut state = State::random(&model, 3);
        state.v.fill(0.0);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            let inertia = dynamics.inertia(&state).unwrap().clone();
            // what an earlier call left behind does not matter
            let other = State::random(&model, 4);
            dynamics.inertia(&other).unwrap();
            assert_eq!(&inertia, dynamics.inertia(&state).unwrap());
            let mut unit = vec![0.0; nv];
            for k in 0..nv {
                unit[k] = 1.0;
                let column = dynamics.inverse(&state, &unit, &[]).unwrap();
                for i in 0..nv {
                    let largest = (inertia[(i, i)] * inertia[(k, k)]).sqrt();
                    let error = (inertia[(i, k)] - column[i]).abs();
                    assert!(
                        error <= 1e-12 * largest,
                        "{name} {cpu:?} ({i}, {k}): {} and {}",
                        inertia[(i, k)],
                        column[i]
                    );
                    assert_eq!(
                        inertia[(i, k)].to_bits(),
                        inertia[(k, i)].to_bits(),
                        "{name} {cpu:?} ({i}, {k})"
                    );
                }
                unit[k] = 0.0;
            }
        }
    }
}
