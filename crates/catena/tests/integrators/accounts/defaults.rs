//! What a system need not say.

use super::super::systems::{Pendulum, oscillator, plain};
use catena::Result;
use catena::integrate::bdf::{BdfOptions, Implicit, MAX_ORDER, Role};
use catena::integrate::{IntegratorOptions, Mechanical, System, Tolerances};

struct Decay;

impl Implicit for Decay {
    fn dimension(&self) -> usize {
        1
    }

    fn residual(&mut self, _t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = xdot[0] + x[0];
        Ok(())
    }

    fn linearize(&mut self, _t: f64, _x: &[f64], _xdot: &[f64], _sigma: f64) -> Result<()> {
        Ok(())
    }

    fn solve(&mut self, _rhs: &mut [f64]) -> Result<()> {
        Ok(())
    }
}

#[test]
fn what_a_system_does_not_say_is_nothing() {
    let mut system = plain(2, oscillator);
    let mut y = [3.0, 4.0];
    System::project(&mut system, 0.0, &mut y);
    System::events(&mut system, 0.0, &[1.0, 2.0], &mut y);
    assert_eq!(y, [3.0, 4.0]);
    assert_eq!((system.integrals(), system.event_count()), (0, 0));
    assert_eq!(system.next_kink(1.0), f64::INFINITY);
    assert_eq!(system.sample_interval(), f64::INFINITY);

    let (mut q, mut v) = ([3.0], [4.0]);
    Pendulum.settle(0.0, &mut q, &mut v).unwrap();
    Pendulum.watch(0.0, &[1.0], &[2.0], &mut v);
    assert_eq!((q, v), ([3.0], [4.0]));
    assert_eq!(Pendulum.watched_count(), 0);
    assert_eq!(Pendulum.sample_interval(), f64::INFINITY);

    let mut x = [3.0];
    Decay.project(0.0, &mut x);
    Decay.events(0.0, &[1.0], &mut x);
    assert_eq!(x, [3.0]);
    assert_eq!((Decay.role(0), Decay.tested(0)), (Role::Differential, true));
    assert_eq!(Decay.name(3), "unknown 3");
    assert_eq!(Decay.event_count(), 0);
    assert_eq!(Decay.sample_interval(), f64::INFINITY);
}

#[test]
fn settings_are_those_documented() {
    let tolerances = Tolerances {
        relative: 1e-8,
        absolute: 1e-8,
    };
    assert_eq!(Tolerances::default(), tolerances);
    let options = IntegratorOptions {
        tolerances,
        max_step: f64::INFINITY,
        min_step: 0.0,
        initial_step: None,
        event_parts: 1,
    };
    assert_eq!(IntegratorOptions::default(), options);
    assert_eq!(IntegratorOptions::with_tolerance(1e-8), options);
    let options = BdfOptions {
        tolerances,
        max_order: MAX_ORDER,
        max_step: f64::INFINITY,
        min_step: 0.0,
        initial_step: None,
        exclude_algebraic: false,
        newton_tolerance: 0.33,
        newton_iterations: 4,
        event_parts: 1,
    };
    assert_eq!(BdfOptions::default(), options);
    assert_eq!(BdfOptions::with_tolerance(1e-8), options);
}
