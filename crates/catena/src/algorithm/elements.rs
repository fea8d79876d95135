//! Wrenches, energies and powers of the force elements of a model.
//!
//! The formulas are those of [`Spring`], [`Torsion`], [`ConstantForce`], [`Drag`] and [`GravityGradient`]. Each element is
//! evaluated from poses and velocities of bodies and adds a wrench to the bodies it acts on, which all recursions then treat as an
//! external wrench:
//!
//! ```text
//! τ = I v̇ + C v + gravity + passive − Jᵀ (w(ext) + w(elements))
//! ```
//!
//! [`inverse_dynamics`](super::inverse_dynamics::inverse_dynamics) and
//! [`forward_dynamics`](super::forward_dynamics::forward_dynamics) include the elements automatically.

use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::elementary;
use crate::matrix::Matrix;
use crate::model::{
    BodyPoint, ConstantForce, Drag, ForceAxes, ForceElement, ForceLaw, GravityGradient, Model,
    Spring, Torsion,
};
use crate::scalar::{Dual, Parameter, Scalar, Task};
use crate::spatial::{Force, Mat3, Vec3};
use crate::state::{State, StateView, step_kernel};

/// Force elements.
pub const CARD: Card = Card {
    name: "Force elements",
    question: "springs, loads and fields of a model",
    call: "element_wrenches",
    file: "algorithm/elements.rs",
    order: "O(n)",
    source: "definition; Hughes 1986 and Clohessy & Wiltshire 1960 for gravity gradients",
};

/// The action of an element at a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action<S> {
    /// Its potential energy, J; zero where it has none.
    pub energy: S,
    /// Power that it supplies from outside, W.
    pub work: S,
    /// Power that it dissipates, W.
    pub dissipated: S,
    /// Spring: tension, length and rate; torsion: torque, angle and rate; others: the resultant force in world axes. Their names are
    /// [`ForceElement::measures`].
    pub measures: [S; 3],
}

impl<S: Scalar> Action<S> {
    fn new(measures: [S; 3]) -> Self {
        Action {
            energy: S::zero(),
            work: S::zero(),
            dissipated: S::zero(),
            measures,
        }
    }
}

/// Adds the wrenches of all elements to those on the bodies 0…n, in body axes about the bodies' origins.
pub fn element_wrenches<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    wrenches: &mut [Force<S>],
) {
    for element in model.forces() {
        act(element, model, kinematics, wrenches);
    }
}

/// Adds the wrenches of one element, and returns its action.
pub fn act<S: Scalar, P: Parameter<S>>(
    element: &ForceElement,
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    wrenches: &mut [Force<S>],
) -> Action<S> {
    let mut scene = Scene {
        kinematics,
        wrenches,
    };
    match &element.law {
        ForceLaw::Spring(spring) => scene.spring(spring),
        ForceLaw::Torsion(torsion) => scene.torsion(torsion),
        ForceLaw::Constant(constant) => scene.constant(constant),
        ForceLaw::Drag(drag) => scene.drag(drag),
        ForceLaw::GravityGradient(field) => scene.gravity_gradient(field, model),
    }
}

/// Sine and cosine, times a common factor, of the angle by which a torsion is deflected from its rest position. [`act`] takes their
/// arc tangent; symbolic formulas represent the angle by them.
pub fn deflection_of<S: Scalar>(torsion: &Torsion, kinematics: &Kinematics<S>) -> [S; 2] {
    let scene = Scene {
        kinematics,
        wrenches: &mut [],
    };
    scene.deflected(torsion).of_angle
}

/// Potential energies of the elements: that of fields, and that of springs.
pub fn element_energies<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
) -> [S; 2] {
    let mut energies = [S::zero(); 2];
    if model.forces().is_empty() {
        return energies;
    }
    let mut wrenches = vec![Force::zero(); model.body_count() + 1];
    for element in model.forces() {
        let is_spring = !matches!(element.law, ForceLaw::GravityGradient(_));
        energies[usize::from(is_spring)] += act(element, model, kinematics, &mut wrenches).energy;
    }
    energies
}

/// The external wrenches plus those of the elements: `external` itself where there are none, else a sum that is kept in `sum`.
#[inline(always)]
pub(crate) fn loaded<'a, S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    external: &'a [Force<S>],
    sum: &'a mut Vec<Force<S>>,
) -> &'a [Force<S>] {
    if model.forces().is_empty() {
        return external;
    }
    *sum = S::apart(Loading {
        model,
        state,
        external,
    });
    sum
}

/// The sum as a task, so that it is compiled once for every scalar.
struct Loading<'a, S, P> {
    model: &'a Model<P>,
    state: StateView<'a, S>,
    external: &'a [Force<S>],
}

impl<S: Scalar, P: Parameter<S>> Task for Loading<'_, S, P> {
    type Output = Vec<Force<S>>;

    #[inline(always)]
    fn run(self) -> Vec<Force<S>> {
        let Loading {
            model,
            state,
            external,
        } = self;
        let mut kinematics = Kinematics::new(model);
        let still = vec![S::zero(); model.nv()];
        forward_kinematics(model, state, &still, &mut kinematics);
        let mut sum = vec![Force::zero(); model.body_count() + 1];
        for (sum, load) in sum.iter_mut().zip(external) {
            *sum = *load;
        }
        element_wrenches(model, &kinematics, &mut sum);
        sum
    }
}

/// Jᵀ w of wrenches on the bodies: the equivalent efforts. Overwrites the wrenches with those through the joints.
pub fn generalized<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    wrenches: &mut [Force<S>],
    efforts: &mut [S],
) {
    for body in model.bodies().rev() {
        for (k, freedom) in model.tree().dof_range(body).enumerate() {
            efforts[freedom] = wrenches[body].dot(kinematics.joint_column(model, body, k));
        }
        let parent = model.tree().parent(body);
        let passed = kinematics.parent_from_body(body).force_out(wrenches[body]);
        wrenches[parent] += passed;
    }
}

/// Directions that are computed together.
const DIRECTIONS: usize = 4;

type Number = Dual<f64, DIRECTIONS>;

/// Jᵀ ∂w/∂q and Jᵀ ∂w/∂v of the elements' wrenches w in body axes; columns along the increments of [`State::step`]. Exact: the elements
/// are evaluated in dual numbers.
pub(crate) fn slopes(model: &Model, state: &State) -> [Matrix; 2] {
    let nv = model.nv();
    let still = vec![0.0; nv];
    let mut here = Kinematics::new(model);
    forward_kinematics(model, state.view(), &still, &mut here);
    let lifted: State<Number> = state.lift();
    let still = vec![Number::zero(); nv];
    let mut kinematics = Kinematics::new(model);
    let mut efforts = vec![0.0; nv];
    let mut slopes = [Matrix::zeros(nv, nv), Matrix::zeros(nv, nv)];
    for (which, slope) in slopes.iter_mut().enumerate() {
        for first in (0..nv).step_by(DIRECTIONS) {
            let count = DIRECTIONS.min(nv - first);
            let (mut q, mut v) = (lifted.q.clone(), lifted.v.clone());
            if which == 0 {
                let mut delta = still.clone();
                for d in 0..count {
                    delta[first + d] = Number::variable(0.0, d);
                }
                step_kernel(model, &mut q, &delta);
            } else {
                for d in 0..count {
                    v[first + d] = Number::variable(state.v[first + d], d);
                }
            }
            forward_kinematics(
                model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &lifted.base,
                },
                &still,
                &mut kinematics,
            );
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            element_wrenches(model, &kinematics, &mut wrenches);
            for d in 0..count {
                let change = |x: Number| x.derivative[d];
                let mut changes: Vec<Force<f64>> = wrenches
                    .iter()
                    .map(|w| Force::new(w.moment.map(change), w.force.map(change)))
                    .collect();
                generalized(model, &here, &mut changes, &mut efforts);
                for (k, effort) in efforts.iter().enumerate() {
                    slope[(k, first + d)] = *effort;
                }
            }
        }
    }
    slopes
}

/// Acceleration of the gravity gradients at a moving point of the world, which an accelerometer does not measure, and the angular velocity
/// of the world's axes, which a gyroscope measures.
pub(crate) fn field_at(
    model: &Model,
    point: Vec3<f64>,
    velocity: Vec3<f64>,
) -> (Vec3<f64>, Vec3<f64>) {
    let (mut gravity, mut turning) = (Vec3::zero(), Vec3::zero());
    for element in model.forces() {
        match element.law {
            ForceLaw::GravityGradient(GravityGradient::Centre {
                mu,
                centre,
                uniform,
            }) => {
                let pull = |from: Vec3<f64>| from * (-mu / from.norm().powi(3));
                gravity += pull(point - centre);
                if !uniform {
                    gravity -= pull(-centre);
                }
            }
            ForceLaw::GravityGradient(GravityGradient::Orbit { rate, up, normal }) => {
                let squared = rate * rate;
                gravity += up * (3.0 * squared * up.dot(point))
                    - normal * (squared * normal.dot(point))
                    - normal.cross(velocity) * (2.0 * rate);
                turning += normal * rate;
            }
            _ => {}
        }
    }
    (gravity, turning)
}

/// Deflection of a torsion.
struct Deflected<S> {
    /// Sine and cosine of θ − θ₀, times a common factor.
    of_angle: [S; 2],
    /// Direction of the torque, in world axes.
    axis: Vec3<S>,
}

/// Bodies in motion, and the wrenches on them.
struct Scene<'a, S> {
    kinematics: &'a Kinematics<S>,
    wrenches: &'a mut [Force<S>],
}

impl<S: Scalar> Scene<'_, S> {
    fn rotation(&self, body: usize) -> Mat3<S> {
        self.kinematics.world_from_body[body].rotation
    }

    /// Angular velocity in world axes.
    fn turning(&self, body: usize) -> Vec3<S> {
        self.rotation(body) * self.kinematics.velocity[body].angular
    }

    /// Position and velocity of a point in the world.
    fn point(&self, at: &BodyPoint) -> [Vec3<S>; 2] {
        let (pose, velocity) = (
            self.kinematics.world_from_body[at.body],
            self.kinematics.velocity[at.body],
        );
        let point: Vec3<S> = at.point.lift();
        let moving = velocity.angular.cross_add(point, velocity.linear);
        [pose.point(point), pose.rotation * moving]
    }

    /// A force in world axes at a point.
    fn push(&mut self, at: &BodyPoint, force: Vec3<S>) {
        let force = self.rotation(at.body).transpose_times(force);
        let point: Vec3<S> = at.point.lift();
        self.wrenches[at.body] += Force::new(point.cross(force), force);
    }

    /// A torque in world axes.
    fn turn(&mut self, body: usize, torque: Vec3<S>) {
        let torque = self.rotation(body).transpose_times(torque);
        self.wrenches[body] += Force::new(torque, Vec3::zero());
    }

    fn spring(&mut self, spring: &Spring) -> Action<S> {
        let number = S::constant;
        let [first, second] = &spring.ends;
        let ([r1, v1], [r2, v2]) = (self.point(first), self.point(second));
        let (d, moving) = (r2 - r1, v2 - v1);
        if spring.is_ideal() {
            let pull = d * number(spring.stiffness);
            let (length, inverse) = length_and_inverse(d);
            self.push(first, pull);
            self.push(second, -pull);
            return Action {
                energy: number(0.5) * pull.dot(d),
                ..Action::new([
                    number(spring.stiffness) * length,
                    length,
                    moving.dot(d) * inverse,
                ])
            };
        }
        let length = d.dot(d).sqrt();
        let along = d * length.recip();
        let rate = moving.dot(along);
        let stretch = length - number(spring.rest_length);
        let mut elastic = number(spring.stiffness) * stretch;
        let mut tension = number(spring.damping).mul_add(rate, elastic);
        if spring.tension_only {
            let zero = S::zero();
            let is_taut = zero.less(stretch);
            elastic = S::select(is_taut, elastic, zero);
            let pull = S::select(zero.less(tension), tension, zero);
            tension = S::select(is_taut, pull, zero);
        }
        self.push(first, along * tension);
        self.push(second, -(along * tension));
        Action {
            energy: number(0.5) * elastic * stretch,
            dissipated: (tension - elastic) * rate,
            ..Action::new([tension, length, rate])
        }
    }

    fn deflected(&self, torsion: &Torsion) -> Deflected<S> {
        let number = S::constant;
        let [first, second] = torsion.bodies;
        let zero: Mat3<S> = torsion.zero.lift();
        let parent = self.rotation(first);
        let r = parent.transpose() * self.rotation(second) * zero.transpose();
        let a: Vec3<S> = torsion.axis.lift();
        let b = r * a;
        let w = Vec3::new(r.y.z - r.z.y, r.z.x - r.x.z, r.x.y - r.y.x);
        let cosine = a.dot(b);
        // sine and cosine of θ, and of θ − θ₀, times a common factor
        let (s, c) = (w.dot(a), r.x.x + r.y.y + r.z.z - cosine);
        let (s0, c0) = elementary::sin_cos(torsion.rest);
        Deflected {
            of_angle: [
                s * number(c0) - c * number(s0),
                c * number(c0) + s * number(s0),
            ],
            axis: parent * ((a + b) * (S::one() + cosine).recip()),
        }
    }

    fn torsion(&mut self, torsion: &Torsion) -> Action<S> {
        let number = S::constant;
        let [first, second] = torsion.bodies;
        let Deflected {
            of_angle: [s, c],
            axis: p,
        } = self.deflected(torsion);
        let deflection = atan2(s, c);
        let rate = p.dot(self.turning(second) - self.turning(first));
        let elastic = number(torsion.stiffness) * deflection;
        let torque = number(torsion.damping).mul_add(rate, elastic);
        self.turn(first, p * torque);
        self.turn(second, -(p * torque));
        Action {
            energy: number(0.5) * elastic * deflection,
            dissipated: (torque - elastic) * rate,
            ..Action::new([torque, deflection + number(torsion.rest), rate])
        }
    }

    fn constant(&mut self, constant: &ConstantForce) -> Action<S> {
        let body = constant.at.body;
        let (mut force, mut torque): (Vec3<S>, Vec3<S>) =
            (constant.force.lift(), constant.torque.lift());
        if constant.axes == ForceAxes::Link {
            (force, torque) = (self.rotation(body) * force, self.rotation(body) * torque);
        }
        let [_, velocity] = self.point(&constant.at);
        self.push(&constant.at, force);
        self.turn(body, torque);
        Action {
            work: force.dot(velocity) + torque.dot(self.turning(body)),
            ..Action::new(force.to_array())
        }
    }

    fn drag(&mut self, drag: &Drag) -> Action<S> {
        let [_, velocity] = self.point(&drag.at);
        let flow: Vec3<S> = drag.flow.lift();
        let u = velocity - flow;
        let (speed, _) = length_and_inverse(u);
        let factor = S::constant(drag.quadratic).mul_add(speed, S::constant(drag.linear));
        let force = -(u * factor);
        self.push(&drag.at, force);
        Action {
            work: force.dot(flow),
            dissipated: -force.dot(u),
            ..Action::new(force.to_array())
        }
    }

    fn gravity_gradient<P: Parameter<S>>(
        &mut self,
        field: &GravityGradient,
        model: &Model<P>,
    ) -> Action<S> {
        let (mut energy, mut total) = (S::zero(), Vec3::zero());
        for body in model.bodies() {
            let own = Body::new(model, self.kinematics, body);
            let (potential, wrench) = match *field {
                GravityGradient::Centre {
                    mu,
                    centre,
                    uniform,
                } => own.toward(mu, centre, uniform),
                GravityGradient::Orbit { rate, up, normal } => own.in_orbit(rate, up, normal),
            };
            energy += potential;
            total += wrench.force;
            let r = self.rotation(body);
            self.wrenches[body] += Force::new(
                r.transpose_times(wrench.moment),
                r.transpose_times(wrench.force),
            );
        }
        Action {
            energy,
            ..Action::new(total.to_array())
        }
    }
}

/// A body in a field: world axes, moments about its origin.
struct Body<S> {
    mass: S,
    /// ∫ (r − r₀) dm.
    first: Vec3<S>,
    /// ∫ (r − r₀)(r − r₀)ᵀ dm.
    second: Mat3<S>,
    origin: Vec3<S>,
    velocity: Vec3<S>,
    turning: Vec3<S>,
}

impl<S: Scalar> Body<S> {
    fn new<P: Parameter<S>>(model: &Model<P>, kinematics: &Kinematics<S>, body: usize) -> Self {
        let inertia = model.inertia::<S>(body);
        let pose = kinematics.world_from_body[body];
        let motion = kinematics.velocity[body];
        Body {
            mass: inertia.mass,
            first: pose.rotation * inertia.first,
            second: inertia.second.full().conjugate(pose.rotation),
            origin: pose.translation,
            velocity: pose.rotation * motion.linear,
            turning: pose.rotation * motion.angular,
        }
    }

    /// Energy, and wrench about its origin, in the field of a centre.
    fn toward(&self, mu: f64, centre: Vec3<f64>, uniform: bool) -> (S, Force<S>) {
        let number = S::constant;
        // a body without mass has no mass centre, and second moments about any point are zero
        let has_mass = S::zero().less(self.mass);
        let inverse = S::select(has_mass, self.mass, S::one()).recip();
        let arm = self.first * S::select(has_mass, inverse, S::zero());
        let sigma = self.second - outer(arm, self.first);
        let at = self.origin + arm;
        let rho = at - centre.lift();
        let (half, trace) = (number(0.5 * mu), sigma.x.x + sigma.y.y + sigma.z.z);
        let inverse = rho.dot(rho).sqrt().recip();
        let square = inverse * inverse;
        let (cube, fifth) = (square * inverse, square * square * inverse);
        let turned = sigma * rho;
        let spread = rho.dot(turned);
        let mut energy = -(number(mu) * self.mass * inverse)
            - half * (number(3.0) * spread * fifth - trace * cube);
        let along = number(3.0) * trace * fifth - number(15.0) * spread * fifth * square;
        let mut force = rho * (half * along - number(mu) * self.mass * cube)
            + turned * (number(6.0) * half * fifth);
        if !uniform {
            let distance = centre.norm();
            let field: Vec3<S> = (centre * (mu / (distance * distance * distance))).lift();
            force -= field * self.mass;
            energy += self.mass * field.dot(at);
        }
        // ρ × I ρ = Σρ × ρ
        let torque = turned.cross(rho) * (number(3.0 * mu) * fifth);
        (energy, Force::new(arm.cross_add(force, torque), force))
    }

    /// Energy, and wrench about its origin, in orbiting axes: the acceleration is A r + B ṙ.
    fn in_orbit(&self, rate: f64, up: Vec3<f64>, normal: Vec3<f64>) -> (S, Force<S>) {
        let (u, h): (Vec3<S>, Vec3<S>) = (up.lift(), normal.lift());
        let squared = S::constant(rate * rate);
        let a = outer(u * (S::constant(3.0) * squared), u) - outer(h * squared, h);
        let b = Mat3::skew(h * S::constant(-2.0 * rate));
        let at_origin = a * self.origin + b * self.velocity;
        let m = a + b * Mat3::skew(self.turning);
        let force = at_origin * self.mass + m * self.first;
        let turned = m * self.second;
        let moment = self
            .first
            .cross_add(at_origin, axial(turned - turned.transpose()));
        let stretched = a * self.second;
        let double = self.mass * self.origin.dot(a * self.origin)
            + S::constant(2.0) * self.origin.dot(a * self.first)
            + stretched.x.x
            + stretched.y.y
            + stretched.z.z;
        (S::constant(-0.5) * double, Force::new(moment, force))
    }
}

/// a bᵀ.
fn outer<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> Mat3<S> {
    Mat3::from_columns(a * b.x, a * b.y, a * b.z)
}

/// The vector whose cross product is a skew matrix.
fn axial<S: Scalar>(m: Mat3<S>) -> Vec3<S> {
    Vec3::new(m.y.z, m.z.x, m.x.y)
}

/// |v| and 1/|v|; both zero for the zero vector, where they have no derivatives either.
fn length_and_inverse<S: Scalar>(v: Vec3<S>) -> (S, S) {
    let (zero, squared) = (S::zero(), v.dot(v));
    let is_there = zero.less(squared);
    let length = S::select(is_there, squared, S::one()).sqrt();
    (
        S::select(is_there, length, zero),
        S::select(is_there, length.recip(), zero),
    )
}

/// The angle of the point (x, y), between −π and π.
///
/// The ratio of the smaller to the larger coordinate is an angle of up to 45°, which is halved twice, t → t/(1 + √(1 + t²)), and
/// summed as a series; one step of Newton's method makes it and its derivatives exact in every scalar.
pub fn atan2<S: Scalar>(y: S, x: S) -> S {
    let (zero, number) = (S::zero(), S::constant);
    let positive = |x: S| S::select(x.less(zero), -x, x);
    let (ax, ay) = (positive(x), positive(y));
    let is_steep = ax.less(ay);
    let mut t = S::select(is_steep, ax, ay) / S::select(is_steep, ay, ax);
    for _ in 0..2 {
        t = t / (S::one() + t.mul_add(t, S::one()).sqrt());
    }
    let square = t * t;
    let mut series = zero;
    for k in (0..12).rev() {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        series = series.mul_add(square, number(sign / f64::from(2 * k + 1)));
    }
    let quarter = number(std::f64::consts::FRAC_PI_2);
    let mut angle = number(4.0) * t * series;
    angle = S::select(is_steep, quarter - angle, angle);
    angle = S::select(x.less(zero), quarter + quarter - angle, angle);
    angle = S::select(y.less(zero), -angle, angle);
    let (s, c) = angle.sin_cos();
    angle + (y * c - x * s) / (x * c + y * s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::DoubleDouble;

    #[test]
    fn angles_of_points() {
        for k in 0..4000 {
            let angle = 3.1 * (f64::from(k) / 2000.0 - 1.0);
            let (y, x) = angle.sin_cos();
            let found = atan2(3.0 * y, 3.0 * x);
            assert!(
                (found - angle).abs() < 1e-15 * angle.abs().max(1.0),
                "{angle} {found}"
            );
            // and its derivative, which is that of the angle about the origin
            let [y, x] = [Dual::<f64, 1>::variable(y, 0), Dual::constant(x)];
            let found = atan2(y, x).derivative[0];
            assert!((found - x.value).abs() < 1e-15, "{angle} {found}");
        }
        for (y, x, angle) in [
            (0.0, 1.0, 0.0),
            (1.0, 0.0, std::f64::consts::FRAC_PI_2),
            (-2.0, 0.0, -std::f64::consts::FRAC_PI_2),
            (0.0, -1.0, std::f64::consts::PI),
            (1.0, 1.0, std::f64::consts::FRAC_PI_4),
        ] {
            assert!((atan2(y, x) - angle).abs() < 1e-15, "{y} {x}");
        }
        // twice the digits: the tangent is recovered
        let angle = DoubleDouble::constant(0.7);
        let (s, c) = angle.sin_cos();
        let rest = (atan2(s, c) - angle).value();
        assert!(rest.abs() < 1e-30, "{rest:e}");
    }
}
