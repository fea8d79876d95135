//! Volumes, surfaces and inertias of simple shapes.
//!
//! Moments are about the centre, divided by the mass. Sizes are half lengths, as in MJCF; z is the axis of capsules and cylinders.

use catena::elementary;
use std::f64::consts::PI;

/// A simple shape with its sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Sphere { radius: f64 },
    Capsule { radius: f64, half: f64 },
    Cylinder { radius: f64, half: f64 },
    Ellipsoid { semi: [f64; 3] },
    Box { half: [f64; 3] },
}

impl Shape {
    /// Volume of the solid.
    pub(crate) fn volume(self) -> f64 {
        match self {
            Shape::Sphere { radius } => 4.0 / 3.0 * PI * radius.powi(3),
            Shape::Capsule { radius, half } => {
                PI * (radius * radius * 2.0 * half + 4.0 / 3.0 * radius.powi(3))
            }
            Shape::Cylinder { radius, half } => PI * radius * radius * 2.0 * half,
            Shape::Ellipsoid { semi: [a, b, c] } => 4.0 / 3.0 * PI * a * b * c,
            Shape::Box { half: [a, b, c] } => 8.0 * a * b * c,
        }
    }

    /// Principal moments of the solid, per mass.
    pub(crate) fn solid(self) -> [f64; 3] {
        match self {
            Shape::Sphere { radius } => [0.4 * radius * radius; 3],
            Shape::Capsule { radius, half } => {
                let length = 2.0 * half;
                // shares of the two half spheres and of the cylinder in the volume
                let spheres = 4.0 * radius / (4.0 * radius + 3.0 * length);
                let cylinder = 1.0 - spheres;
                let [across, _, along] = Shape::Cylinder { radius, half }.solid();
                let ball = 0.4 * radius * radius;
                // the half spheres are half a length away: h²/4, and 3 r h/8 from their own mass centres
                let away = length * (3.0 * radius + 2.0 * length) / 8.0;
                let across = cylinder * across + spheres * (ball + away);
                [across, across, cylinder * along + spheres * ball]
            }
            Shape::Cylinder { radius, half } => {
                let across = (3.0 * radius * radius + 4.0 * half * half) / 12.0;
                [across, across, radius * radius / 2.0]
            }
            Shape::Ellipsoid { semi: [a, b, c] } => {
                let [a, b, c] = [a * a, b * b, c * c];
                [(b + c) / 5.0, (a + c) / 5.0, (a + b) / 5.0]
            }
            Shape::Box { half: [a, b, c] } => {
                let [a, b, c] = [a * a, b * b, c * c];
                [(b + c) / 3.0, (a + c) / 3.0, (a + b) / 3.0]
            }
        }
    }

    /// Area of the surface; that of an ellipsoid by Thomsen's approximation, which MuJoCo uses too.
    pub(crate) fn area(self) -> f64 {
        match self {
            Shape::Sphere { radius } => 4.0 * PI * radius * radius,
            Shape::Capsule { radius, half } => 4.0 * PI * radius * (radius + half),
            Shape::Cylinder { radius, half } => 2.0 * PI * radius * (radius + 2.0 * half),
            Shape::Ellipsoid { semi: [a, b, c] } => {
                let p = 1.6075;
                let mean = (elementary::powf(a * b, p)
                    + elementary::powf(b * c, p)
                    + elementary::powf(c * a, p))
                    / 3.0;
                4.0 * PI * elementary::powf(mean, 1.0 / p)
            }
            Shape::Box { half: [a, b, c] } => 8.0 * (a * b + b * c + c * a),
        }
    }

    /// Principal moments of a thin shell, per mass.
    pub(crate) fn shell(self) -> [f64; 3] {
        match self {
            Shape::Sphere { radius } => [2.0 / 3.0 * radius * radius; 3],
            Shape::Capsule { radius, half } => {
                let length = 2.0 * half;
                let spheres = 2.0 * radius / (2.0 * radius + length);
                let tube = 1.0 - spheres;
                let ball = 2.0 / 3.0 * radius * radius;
                // mass centres of half shells are half a radius from the ends of the tube
                let (own, away) = (radius / 2.0, half + radius / 2.0);
                let across = tube * (6.0 * radius * radius + length * length) / 12.0
                    + spheres * (ball - own * own + away * away);
                [across, across, tube * radius * radius + spheres * ball]
            }
            Shape::Cylinder { radius, half } => {
                let discs = radius / (radius + 2.0 * half);
                let tube = 1.0 - discs;
                let square = radius * radius;
                let across = tube * (square / 2.0 + half * half / 3.0)
                    + discs * (square / 4.0 + half * half);
                [across, across, tube * square + discs * square / 2.0]
            }
            // a layer of 1 µm on the solid, as in MuJoCo
            Shape::Ellipsoid { semi } => {
                let outer = Shape::Ellipsoid {
                    semi: semi.map(|a| a + 1e-6),
                };
                let (more, less) = (outer.volume(), self.volume());
                let (far, near) = (outer.solid(), self.solid());
                [0, 1, 2].map(|k| (far[k] * more - near[k] * less) / (more - less))
            }
            Shape::Box { half: [a, b, c] } => {
                let whole = a * b + b * c + c * a;
                // two faces across each axis: x² is a² on those across x, and a²/3 on all others
                let square =
                    |own: f64, across: f64| own * own * (across + (whole - across) / 3.0) / whole;
                let (xx, yy, zz) = (square(a, b * c), square(b, a * c), square(c, a * b));
                [yy + zz, xx + zz, xx + yy]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 5] = [
        Shape::Sphere { radius: 0.3 },
        Shape::Capsule {
            radius: 0.2,
            half: 0.5,
        },
        Shape::Cylinder {
            radius: 0.2,
            half: 0.5,
        },
        Shape::Ellipsoid {
            semi: [0.3, 0.2, 0.5],
        },
        Shape::Box {
            half: [0.3, 0.2, 0.5],
        },
    ];

    /// The shape with every face moved outwards.
    fn grown(shape: Shape, by: f64) -> Shape {
        match shape {
            Shape::Sphere { radius } => Shape::Sphere {
                radius: radius + by,
            },
            Shape::Capsule { radius, half } => Shape::Capsule {
                radius: radius + by,
                half,
            },
            Shape::Cylinder { radius, half } => Shape::Cylinder {
                radius: radius + by,
                half: half + by,
            },
            Shape::Ellipsoid { semi } => Shape::Ellipsoid {
                semi: semi.map(|a| a + by),
            },
            Shape::Box { half } => Shape::Box {
                half: half.map(|a| a + by),
            },
        }
    }

    /// A shell is the difference between a solid and a slightly larger one; so is its area, except for the ellipsoid, whose
    /// faces do not move by the same distance everywhere, and whose shell is 1 µm thick: 4e-6 of it.
    #[test]
    fn shells_are_rates_of_solids() {
        let h = 1e-4;
        for shape in SHAPES {
            let (outer, inner) = (grown(shape, h), grown(shape, -h));
            let volume = outer.volume() - inner.volume();
            if !matches!(shape, Shape::Ellipsoid { .. }) {
                let area = volume / (2.0 * h);
                assert!((area / shape.area() - 1.0).abs() < 1e-6, "{shape:?}");
            }
            for k in 0..3 {
                let moment = outer.solid()[k] * outer.volume() - inner.solid()[k] * inner.volume();
                let ratio = moment / volume / shape.shell()[k];
                let allowed = match shape {
                    Shape::Ellipsoid { .. } => 5e-6,
                    _ => 1e-6,
                };
                assert!(
                    (ratio - 1.0).abs() < allowed,
                    "{shape:?}, axis {k}: {ratio}"
                );
            }
        }
    }

    /// Special cases coincide: a cube of equal sides is isotropic, a capsule without length is a sphere.
    #[test]
    fn shapes_meet() {
        let point = Shape::Capsule {
            radius: 0.3,
            half: 0.0,
        };
        let sphere = Shape::Sphere { radius: 0.3 };
        let round = Shape::Ellipsoid { semi: [0.3; 3] };
        for other in [point, round] {
            for (a, b) in other.solid().into_iter().zip(sphere.solid()) {
                assert!((a - b).abs() < 1e-16);
            }
            for (a, b) in other.shell().into_iter().zip(sphere.shell()) {
                assert!((a - b).abs() < 1e-6);
            }
            assert!((other.volume() / sphere.volume() - 1.0).abs() < 1e-15);
            assert!((other.area() / sphere.area() - 1.0).abs() < 1e-15);
        }
        let cube = Shape::Box { half: [0.5; 3] };
        assert_eq!(cube.solid(), [1.0 / 6.0; 3]);
        for moment in cube.shell() {
            assert!((moment - 5.0 / 18.0).abs() < 1e-15);
        }
    }
}
