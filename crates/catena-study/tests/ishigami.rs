//! Sobol's indices of a function whose indices are known in closed form.

use catena_study::{Experiment, Influence, Method, Sample, Study, carry_out, influences};
use std::f64::consts::PI;
use std::path::Path;

/// Ishigami & Homma (1990): f = sin x₁ + a sin² x₂ + b x₃⁴ sin x₁ with x in ±π.
const A: f64 = 7.0;
const B: f64 = 0.1;

struct Ishigami;

impl Experiment for Ishigami {
    fn measure(&self, x: &[f64]) -> catena::error::Result<Vec<f64>> {
        Ok(vec![
            x[0].sin() + A * x[1].sin().powi(2) + B * x[2].powi(4) * x[0].sin(),
        ])
    }
}

fn study(design: &str) -> Study {
    let parameter = |name: &str| {
        format!(
            "[[parameter]]\nname = \"{name}\"\npath = \"q.{name}\"\nuniform = [\"-180deg\", \"180deg\"]\n"
        )
    };
    let text = format!(
        "format = \"catena-study/1\"\nmodel = \"x\"\n{}{}{}[design]\n{design}\n[[measure]]\nname = \"f\"\nvalue = \"1\"\n",
        parameter("a"),
        parameter("b"),
        parameter("c")
    );
    Study::parse(&text, Path::new("ishigami.toml")).expect("a study")
}

fn all(study: &Study, threads: usize) -> Vec<Sample> {
    let indices: Vec<usize> = (0..study.sample_count()).collect();
    let mut samples = Vec::new();
    carry_out(study, &Ishigami, &indices, threads, |sample| {
        samples.push(sample);
        Ok(())
    })
    .expect("it runs");
    samples.sort_by_key(|sample| sample.index);
    samples
}

/// V = a²/8 + bπ⁴/5 + b²π⁸/18 + 1/2; V₁ = (1 + bπ⁴/5)²/2, V₂ = a²/8, V₁₃ = 8b²π⁸/225.
#[test]
fn indices_of_the_closed_form() {
    let study = study("kind = \"saltelli\"\nsamples = 4096\nseed = 7");
    let samples = all(&study, 2);
    assert_eq!(samples.len(), 4096 * 5);
    let (method, found, used) = influences(&study, &samples, 0).expect("indices");
    assert_eq!((method, used), (Method::Sobol, samples.len()));
    let variance = A * A / 8.0 + B * PI.powi(4) / 5.0 + B * B * PI.powi(8) / 18.0 + 0.5;
    let (v1, v2) = ((1.0 + B * PI.powi(4) / 5.0).powi(2) / 2.0, A * A / 8.0);
    let v13 = 8.0 * B * B * PI.powi(8) / 225.0;
    let wanted = [(v1, v1 + v13), (v2, v2), (0.0, v13)];
    for (found, (first, total)) in found.iter().zip(wanted) {
        let Influence::Indices {
            first: s,
            total: t,
            errors,
        } = found
        else {
            panic!("{found:?}");
        };
        let (first, total) = (first / variance, total / variance);
        // quasi-random points are better than the standard error of random ones
        for (found, wanted, error) in [(s, first, errors[0]), (t, total, errors[1])] {
            assert!((found - wanted).abs() < 0.02, "{found} {wanted}");
            assert!(
                (found - wanted).abs() < 4.0 * error,
                "{found} {wanted} ± {error}"
            );
            assert!(error < 0.05, "{error}");
        }
    }
}

/// A point of the design with a failed sample is left out as a whole.
#[test]
fn failed_samples_take_their_point_along() {
    let study = study("kind = \"saltelli\"\nsamples = 64\nseed = 7");
    let mut samples = all(&study, 1);
    samples[7].measures = Err("lost".into());
    let (_, _, used) = influences(&study, &samples, 0).expect("indices");
    assert_eq!(used, 63 * 5);
}

/// Samples do not depend on the number of threads, and every design gives as many as it says.
#[test]
fn samples_are_the_same_on_any_number_of_threads() {
    for design in [
        "kind = \"random\"\nsamples = 50\nseed = 3",
        "kind = \"latin-hypercube\"\nsamples = 50\nseed = 3",
        "kind = \"sobol\"\nsamples = 64\nseed = 3",
    ] {
        let study = study(design);
        let [one, three] = [1, 3].map(|threads| all(&study, threads));
        assert_eq!(one.len(), study.sample_count());
        assert_eq!(one, three);
    }
}
