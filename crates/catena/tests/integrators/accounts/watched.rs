//! The search for changes of sign, on functions of time alone.

use super::{Digest, compare, in_words, recorded};
use catena::Result;
use catena::integrate::{
    Adaptive, Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System,
};
use catena::random::Random;

/// Functions of the time since the beginning of a step of 1 s, another one in every step.
#[derive(Clone, Copy, Debug)]
enum Function {
    /// Products of differences from several times, two of which may be close together.
    Polynomial,
    /// Extrema near zero, beside it or beyond it.
    Grazing,
    /// Round-off about a small value.
    Noise,
    /// A pole beside the step.
    Rational,
    /// Jumps.
    Step,
    /// Zero at the points where a part is sampled.
    Sampled,
}

struct Watching {
    function: Function,
    interval: f64,
    count: usize,
}

impl Watching {
    fn value(&self, t: f64, number: usize) -> f64 {
        let step = t.ceil() - 1.0;
        let t = t - step;
        let seed = (step.max(0.0) as u64) * 3 + number as u64;
        let mut random = Random::new(1000 + seed);
        let unit = [1.0, -1e-3, 1e4, -1.0][random.below(4)];
        let near = 0.5f64.powi(random.below(40) as i32);
        let at = random.uniform(-0.1, 1.1);
        let turn = match seed % 2 {
            0 => 1.0,
            _ => -1.0,
        };
        unit * match self.function {
            Function::Polynomial => {
                let mut product = (t - at) * (t - at - near);
                for _ in 0..seed % 4 {
                    product *= t - random.uniform(-0.5, 1.5);
                }
                product
            }
            Function::Grazing => (t - at) * (t - at) * (1.0 + 0.3 * t) + turn * near * near,
            Function::Noise => {
                let scrambled = Random::new(t.to_bits()).uniform(-1.0, 1.0);
                1e-15 * near + 1e-15 * scrambled
            }
            Function::Rational => 1.0 / (t + 0.02 + near) - 3.0 + turn * t * t,
            Function::Step => {
                if t < at {
                    -near
                } else {
                    1.0
                }
            }
            Function::Sampled => {
                let node = [0.0, 0.5 - 0.5 * std::f64::consts::FRAC_1_SQRT_2, 0.5, 1.0];
                turn * (t - node[random.below(4)]) * (t - at)
            }
        }
    }

    fn values(&self, t: f64, values: &mut [f64]) {
        for (number, value) in values.iter_mut().enumerate() {
            *value = self.value(t, number);
        }
    }
}

impl System for Watching {
    fn dimension(&self) -> usize {
        1
    }

    fn derivative(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
        dy[0] = 0.0;
        Ok(())
    }

    fn event_count(&self) -> usize {
        self.count
    }

    fn events(&mut self, t: f64, _y: &[f64], values: &mut [f64]) {
        self.values(t, values);
    }

    fn sample_interval(&self) -> f64 {
        self.interval
    }
}

impl Mechanical for Watching {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, _t: f64, _q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot[0] = 0.0;
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }

    fn watched_count(&self) -> usize {
        self.count
    }

    fn watch(&mut self, t: f64, _q: &[f64], _v: &[f64], values: &mut [f64]) {
        self.values(t, values);
    }

    fn sample_interval(&self) -> f64 {
        self.interval
    }
}

const FUNCTIONS: [Function; 6] = [
    Function::Polynomial,
    Function::Grazing,
    Function::Noise,
    Function::Rational,
    Function::Step,
    Function::Sampled,
];

/// Times of the functions that were asked for, and times of the changes of sign.
#[test]
fn changes_of_sign_are_searched_as_recorded() {
    let mut lines = Vec::new();
    for function in FUNCTIONS {
        for (count, parts, interval) in [
            (1, 1, f64::INFINITY),
            (2, 1, 0.3),
            (1, 3, 1e-20),
            (3, 2, 0.25),
        ] {
            let watching = || Watching {
                function,
                interval,
                count,
            };
            // noise costs thousands of evaluations in a step
            let steps = if matches!(function, Function::Noise) {
                4
            } else {
                200
            };
            let options = IntegratorOptions {
                max_step: 1.0,
                initial_step: Some(1.0),
                event_parts: parts,
                ..IntegratorOptions::default()
            };
            let mut system = recorded(Box::new(watching()));
            let mut run = Adaptive::new(Method::Tsitouras5, 1, options).unwrap();
            run.start(&mut system, 1.0, &[1.0]).unwrap();
            let (mut found, mut events) = (Digest::new(), 0);
            for _ in 0..steps {
                let step = run.step(&mut system, 1e9).unwrap();
                found.step(&step);
                found.words(&run.checkpoint());
                events += step.events().len();
            }
            lines.push(format!(
                "{function:?}, {count} functions, {parts} parts, {interval} s: {events} events; asked {}, found {found}",
                system.digest
            ));

            let mut system = recorded(Box::new(watching()));
            let mut run = Fixed::new(FixedMethod::SemiImplicitEuler, 1, 1, 1.0).unwrap();
            run.start(1.0, &[1.0], &[0.5]).unwrap();
            let (mut found, mut events) = (Digest::new(), 0);
            for _ in 0..steps {
                let step = run.step(&mut system).unwrap();
                found.step(&step);
                events += step.events().len();
            }
            lines.push(format!(
                "{function:?}, {count} functions, of one size, {interval} s: {events} events; asked {}, found {found}",
                system.digest
            ));
        }
    }
    compare("watched.txt", &lines);
}

/// What cannot be watched.
#[test]
fn values_that_are_no_numbers_are_refused() {
    struct Ends(usize);
    impl Mechanical for Ends {
        fn position_count(&self) -> usize {
            1
        }
        fn velocity_count(&self) -> usize {
            1
        }
        fn acceleration(&mut self, _t: f64, _q: &[f64], _v: &[f64], a: &mut [f64]) -> Result<()> {
            a[0] = 0.0;
            Ok(())
        }
        fn step(&mut self, q: &mut [f64], delta: &[f64]) {
            q[0] += delta[0];
        }
        fn watched_count(&self) -> usize {
            2
        }
        fn watch(&mut self, t: f64, _q: &[f64], _v: &[f64], values: &mut [f64]) {
            values.fill(1.0);
            values[self.0] = (0.5 - t).sqrt();
        }
    }
    for index in 0..2 {
        for from in [0.25, 0.75] {
            let mut run = Fixed::new(FixedMethod::RungeKutta4, 1, 1, 0.75).unwrap();
            run.start(from, &[0.0], &[1.0]).unwrap();
            let words = in_words(&run.step(&mut Ends(index)).unwrap_err());
            let expected = format!("event function {index} is not a number");
            assert!(words.contains(&expected), "{words}");
            assert!(words.ends_with("wherever the motion goes]"), "{words}");
        }
    }
}
