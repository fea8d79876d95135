//! Methods with fixed steps.

use super::super::systems::*;
use super::{Digest, compare, in_words, recorded};
use catena::integrate::{Fixed, FixedMethod, Mechanical};
use catena::{Error, ErrorKind, Result};

/// A body that a spring pulls back to its first orientation, faster and faster; its unit quaternion moves by Cayley's map.
struct Spinning;

impl Mechanical for Spinning {
    fn position_count(&self) -> usize {
        4
    }

    fn velocity_count(&self) -> usize {
        3
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        BODY.euler(v, vdot);
        for k in 0..3 {
            vdot[k] -= (1.0 + t * t) * q[0] * q[1 + k] + 0.1 * v[k];
        }
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        let [x, y, z] = [0.5 * delta[0], 0.5 * delta[1], 0.5 * delta[2]];
        let [a, b, c, d] = [q[0], q[1], q[2], q[3]];
        let turned = [
            a - b * x - c * y - d * z,
            a * x + b + c * z - d * y,
            a * y - b * z + c + d * x,
            a * z + b * y - c * x + d,
        ];
        let length = norm(&turned);
        for (q, turned) in q.iter_mut().zip(turned) {
            *q = turned / length;
        }
    }

    fn settle(&mut self, _t: f64, _q: &mut [f64], v: &mut [f64]) -> Result<()> {
        // no axis may turn faster than this
        for v in v {
            *v = v.clamp(-1.5, 1.5);
        }
        Ok(())
    }

    fn watched_count(&self) -> usize {
        3
    }

    fn watch(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        values[0] = q[1] - 0.2;
        values[1] = v[0] + 0.35;
        values[2] = (t - 0.305) * (t - 0.3051);
    }

    fn sample_interval(&self) -> f64 {
        0.04
    }
}

/// Two masses on springs about a place, one of them stiff, and a force that breaks at a time.
struct Springs {
    stiffness: f64,
    place: f64,
    breaks: f64,
    value: Option<f64>,
}

impl Mechanical for Springs {
    fn position_count(&self) -> usize {
        2
    }

    fn velocity_count(&self) -> usize {
        2
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        let (x, y) = (q[0] - self.place, q[1] - self.place);
        vdot[0] = -self.stiffness * (x - 0.3 * y) - 0.01 * v[0];
        vdot[1] = -2.0 * y - x * y * y;
        if t > self.breaks {
            vdot[1] = (self.value).ok_or_else(|| {
                Error::new(ErrorKind::Singular, "a spring broke").hint("take another one")
            })?;
        }
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
        q[1] += delta[1];
    }
}

/// Tries everything that can be done with a run, and returns how it went.
fn account(
    what: &str,
    method: FixedMethod,
    size: f64,
    system: Box<dyn Mechanical>,
    (t, q, v): (f64, &[f64], &[f64]),
) -> String {
    let mut system = recorded(system);
    let mut found = Digest::new();
    let new = || Fixed::new(method, q.len(), v.len(), size).unwrap();
    let mut run = new();
    assert_eq!((run.method(), run.size()), (method, size));
    run.start(t, q, v).unwrap();
    found.words(&run.checkpoint());
    let mut ending = String::new();
    let (mut q, mut v) = (q.to_vec(), v.to_vec());
    for k in 0..60 {
        let step = match run.step(&mut system) {
            Ok(step) => step,
            Err(error) => {
                ending = in_words(&error);
                found.words(&run.checkpoint());
                break;
            }
        };
        found.step(&step);
        found.words(&run.checkpoint());
        let (before, q_old, v_old) = run.before();
        found.number(before);
        found.numbers(q_old);
        found.numbers(v_old);
        if k % 3 != 2 {
            for part in [0.0, 0.13, 0.5, 0.97] {
                let t = step.t_old + part * step.size;
                if let Err(error) = run.interpolate(&mut system, t, &mut q, &mut v) {
                    found.text(&in_words(&error));
                }
                found.numbers(&q);
                found.numbers(&v);
            }
            found.words(&run.checkpoint());
        }
        if k % 4 == 1 {
            if let Err(error) = run.in_halves(&mut system, &mut v) {
                found.text(&in_words(&error));
            }
            found.numbers(&v);
            found.words(&run.checkpoint());
        }
        if k % 5 == 4 {
            let mut other = new();
            other.restore(&run.checkpoint()).unwrap();
            run = other;
        }
        if let (Some(event), true) = (step.events().first(), k % 2 == 0) {
            run.interpolate(&mut system, event.time, &mut q, &mut v)
                .unwrap();
            run.restart(event.time, &q, &v).unwrap();
            found.words(&run.checkpoint());
        }
    }
    let cost = run.statistics();
    format!(
        "{what}, {method}, {size} s: {} steps, {} rejected, {} evaluations, to {} s; asked {}, found {found}; {ending}",
        cost.steps,
        cost.rejected,
        cost.evaluations,
        run.time(),
        system.digest
    )
}

#[test]
fn steps_of_one_size_are_as_recorded() {
    let mut lines = Vec::new();
    for method in FixedMethod::ALL {
        for size in [0.01, 0.1, 0.37] {
            let start = (-0.2, &BODY_START[..4], &BODY_START[4..]);
            lines.push(account("spinning", method, size, Box::new(Spinning), start));
            for (stiffness, place) in [(3.0, 0.0), (900.0, 0.0), (900.0, 1e6)] {
                let springs = Springs {
                    stiffness,
                    place,
                    breaks: f64::INFINITY,
                    value: None,
                };
                let q = [place + 0.1, place - 0.2];
                lines.push(account(
                    &format!("springs {stiffness} at {place}"),
                    method,
                    size,
                    Box::new(springs),
                    (0.0, &q, &[0.0, 1.0]),
                ));
            }
        }
        for value in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let springs = Springs {
                stiffness: 3.0,
                place: 0.0,
                breaks: 0.55,
                value,
            };
            let start = (0.0, &[0.1, 0.2][..], &[0.0, 1.0][..]);
            lines.push(account("broken", method, 0.1, Box::new(springs), start));
        }
    }
    compare("fixed.txt", &lines);
}
