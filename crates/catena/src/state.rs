//! States: positions on the manifold of the joints, velocities, and the motion of the base.

use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, Tree};
use crate::random::Random;
use crate::scalar::{Parameter, Scalar, Task};
use crate::spatial::{Mat3, Motion, Pose, Vec3};
pub use crate::text::needed_and_given;

/// Motion of the base (body 0), prescribed. Inertial components; linear quantities are those of the base's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base<S> {
    /// Pose of the base in the world.
    pub pose: Pose<S>,
    /// Angular velocity, and velocity of the origin.
    pub velocity: Motion<S>,
    /// Angular acceleration, and acceleration of the origin.
    pub acceleration: Motion<S>,
}

impl<S: Scalar> Base<S> {
    /// A base at rest at the origin of the world.
    #[inline(always)]
    pub fn fixed() -> Self {
        Base {
            pose: Pose::identity(),
            velocity: Motion::zero(),
            acceleration: Motion::zero(),
        }
    }
}

impl Base<f64> {
    /// Is it the base at rest at the origin of the world? A sum without branches, since every call of an algorithm evaluates it.
    #[inline]
    pub fn is_fixed(&self) -> bool {
        let Mat3 { x, y, z } = self.pose.rotation;
        let zeros = [
            Vec3::new(x.y, x.z, y.x),
            Vec3::new(y.z, z.x, z.y),
            self.pose.translation,
            self.velocity.angular,
            self.velocity.linear,
            self.acceleration.angular,
            self.acceleration.linear,
        ];
        let mut sum = Vec3::new((x.x - 1.0).abs(), (y.y - 1.0).abs(), (z.z - 1.0).abs());
        for zero in zeros {
            sum += Vec3::new(zero.x.abs(), zero.y.abs(), zero.z.abs());
        }
        sum.x + sum.y + sum.z == 0.0
    }

    /// The motion of the base in another scalar.
    pub fn lift<S: Scalar>(&self) -> Base<S> {
        let motion = |m: Motion<f64>| Motion::new(m.angular.lift(), m.linear.lift());
        Base {
            pose: self.pose.lift(),
            velocity: motion(self.velocity),
            acceleration: motion(self.acceleration),
        }
    }
}

/// A state of a model: positions (nq), velocities (nv), and the base's motion.
#[derive(Clone, Debug, PartialEq)]
pub struct State<S = f64> {
    /// Positions, joint after joint; see [`JointKind`](crate::model::JointKind) for their meaning.
    pub q: Vec<S>,
    /// Velocities, joint after joint.
    pub v: Vec<S>,
    /// Prescribed motion of body 0; at rest unless set.
    pub base: Base<S>,
}

/// A borrowed state, as the algorithms take it.
///
/// ```
/// use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
/// use catena::{Base, State, StateView, model::embedded};
///
/// let model = embedded::model("chain-7")?;
/// let state = State::random(&model, 1);
/// let mut work = Kinematics::new(&model);
/// forward_kinematics(&model, state.view(), &[0.0; 7], &mut work);
/// // positions and velocities from elsewhere
/// let (q, v) = ([0.1; 7], [0.0; 7]);
/// let view = StateView { q: &q, v: &v, base: &Base::fixed() };
/// forward_kinematics(&model, view, &[0.0; 7], &mut work);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StateView<'a, S = f64> {
    /// Positions (nq).
    pub q: &'a [S],
    /// Velocities (nv).
    pub v: &'a [S],
    /// Prescribed motion of body 0.
    pub base: &'a Base<S>,
}

impl<S> State<S> {
    /// The state, borrowed.
    #[inline(always)]
    pub fn view(&self) -> StateView<'_, S> {
        StateView {
            q: &self.q,
            v: &self.v,
            base: &self.base,
        }
    }
}

impl<S: Scalar> State<S> {
    /// All coordinates zero, quaternions at identity, everything at rest.
    pub fn neutral<P>(model: &Model<P>) -> Self {
        let mut q = vec![S::zero(); model.tree().nq];
        for body in &model.tree().bodies[1..] {
            if let Some(k) = body.kind.quaternion() {
                q[body.q + k] = S::one();
            }
        }
        State {
            q: independent_positions(model, q),
            v: vec![S::zero(); model.nv()],
            base: Base::fixed(),
        }
    }

    /// The state of the tree: the coordinates that follow others by couplings are filled in.
    pub fn of_tree<P: Parameter<S>>(&self, model: &Model<P>) -> Self {
        let Some(couplings) = model.couplings() else {
            return self.clone();
        };
        let mut state = State {
            q: vec![S::zero(); model.tree().nq],
            v: vec![S::zero(); model.tree().nv],
            base: self.base,
        };
        couplings.expand_positions(&self.q, &mut state.q);
        couplings.expand_rates(&self.v, &mut state.v);
        state
    }

    /// The model's initial state: neutral and at rest, unless its joints specify otherwise. It need not close the loops; then
    /// it is a guess for assembly.
    pub fn start<P>(model: &Model<P>) -> Self {
        let tree = model.tree();
        let lift = |numbers: &[f64]| numbers.iter().map(|&x| S::constant(x)).collect();
        let (q, v): (Vec<S>, Vec<S>) = (lift(&tree.start), lift(&tree.start_velocity));
        State {
            q: independent_positions(model, q),
            v: match model.couplings() {
                None => v,
                Some(couplings) => couplings.freedoms().iter().map(|&k| v[k]).collect(),
            },
            base: Base::fixed(),
        }
    }

    /// Moves every joint along the manifold: q ⊕ δ, where δ is a velocity times a time.
    ///
    /// Scalar coordinates add. A quaternion p is multiplied by that of the rotation vector δ in child axes, p ∘ exp(δ/2), which keeps it
    /// unit to round-off; it is normalised once more so that repeated steps do not drift.
    pub fn step<P>(&mut self, model: &Model<P>, delta: &[S]) {
        step_kernel(model, &mut self.q, delta);
    }
}

/// The independent coordinates among the positions of the tree.
fn independent_positions<S: Scalar, P>(model: &Model<P>, tree: Vec<S>) -> Vec<S> {
    match model.couplings() {
        None => tree,
        Some(couplings) => couplings.positions().iter().map(|&k| tree[k]).collect(),
    }
}

/// Writes numbers to their places.
fn scatter<S: Copy>(places: &[usize], from: &[S], to: &mut [S]) {
    for (&k, &x) in places.iter().zip(from) {
        to[k] = x;
    }
}

/// q ← q ⊕ δ for every joint, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn step_kernel<S: Scalar, P>(model: &Model<P>, q: &mut [S], delta: &[S]) {
    let tree = model.tree();
    let (mut at, mut to) = (0, 0); // of the independent coordinates
    for i in 1..=model.body_count() {
        let info = tree.nodes[i];
        let (q, delta) = (&mut q[at..], &delta[to..]);
        match info.kind.quaternion() {
            None => {
                let mut count = 0;
                for k in 0..info.kind.nv() {
                    if model.is_independent(info.v + k) {
                        q[count] += delta[count];
                        count += 1;
                    }
                }
                (at, to) = (at + count, to + count);
            }
            Some(first) => {
                (at, to) = (at + info.kind.nq(), to + info.kind.nv());
                for k in 0..first {
                    q[k] += delta[k];
                }
                let p = [q[first], q[first + 1], q[first + 2], q[first + 3]];
                let turn = [delta[first], delta[first + 1], delta[first + 2]];
                q[first..first + 4].copy_from_slice(&S::apart(QuaternionStep(p, turn)));
            }
        }
    }
}

/// q̇ of every joint of a tree: v for scalar coordinates, ½ p ∘ (0, ω) for a quaternion p, with ω in child axes.
#[inline(always)]
pub(crate) fn position_rates<S: Scalar, P>(model: &Model<P>, q: &[S], v: &[S], rates: &mut [S]) {
    let nodes = &model.tree().nodes;
    for i in 1..=model.body_count() {
        let info = nodes[i];
        let plain = match info.kind.quaternion() {
            None => info.kind.nq(),
            Some(k) => k,
        };
        for k in 0..plain {
            rates[info.q + k] = v[info.v + k];
        }
        if let Some(k) = info.kind.quaternion() {
            let p = &q[info.q + k..info.q + k + 4];
            let w = &v[info.v + k..info.v + k + 3];
            let half = S::constant(0.5);
            let rates = &mut rates[info.q + k..info.q + k + 4];
            rates[0] = half * (-p[1] * w[0] - p[2] * w[1] - p[3] * w[2]);
            rates[1] = half * (p[0] * w[0] + p[2] * w[2] - p[3] * w[1]);
            rates[2] = half * (p[0] * w[1] - p[1] * w[2] + p[3] * w[0]);
            rates[3] = half * (p[0] * w[2] + p[1] * w[1] - p[2] * w[0]);
        }
    }
}

/// [`quaternion_step`] as a task.
struct QuaternionStep<S>([S; 4], [S; 3]);

impl<S: Scalar> Task for QuaternionStep<S> {
    type Output = [S; 4];

    #[inline(always)]
    fn run(self) -> [S; 4] {
        quaternion_step(self.0, self.1)
    }
}

/// p ∘ exp(δ/2), normalised.
#[inline(always)]
pub fn quaternion_step<S: Scalar>(p: [S; 4], delta: [S; 3]) -> [S; 4] {
    let half = S::constant(0.5);
    let h = [delta[0] * half, delta[1] * half, delta[2] * half];
    let squared = h[0] * h[0] + h[1] * h[1] + h[2] * h[2];
    // sin(x)/x and cos(x) of x² without a division by zero: series below 1e-4, where its next term is under 1e-17
    let small = squared.less(S::constant(1e-4));
    let safe = S::select(small, S::one(), squared).sqrt();
    let (sin, cos) = safe.sin_cos();
    let series_sinc = S::one()
        - squared
            * (S::constant(1.0 / 6.0)
                - squared * (S::constant(1.0 / 120.0) - squared * S::constant(1.0 / 5040.0)));
    let series_cos = S::one()
        - squared
            * (half - squared * (S::constant(1.0 / 24.0) - squared * S::constant(1.0 / 720.0)));
    let sinc = S::select(small, series_sinc, sin / safe);
    let w = S::select(small, series_cos, cos);
    let (x, y, z) = (h[0] * sinc, h[1] * sinc, h[2] * sinc);
    let [pw, px, py, pz] = p;
    let product = [
        pw * w - px * x - py * y - pz * z,
        pw * x + px * w + py * z - pz * y,
        pw * y - px * z + py * w + pz * x,
        pw * z + px * y - py * x + pz * w,
    ];
    let norm = (product[0] * product[0]
        + product[1] * product[1]
        + product[2] * product[2]
        + product[3] * product[3])
        .sqrt();
    let scale = norm.recip();
    [
        product[0] * scale,
        product[1] * scale,
        product[2] * scale,
        product[3] * scale,
    ]
}

/// The δ with which [`quaternion_step`] leads from p to `to`: 2 log(p* ∘ to).
fn quaternion_change([pw, px, py, pz]: [f64; 4], [w, x, y, z]: [f64; 4]) -> [f64; 3] {
    let cosine = pw * w + px * x + py * y + pz * z;
    let sine = [
        pw * x - px * w - py * z + pz * y,
        pw * y + px * z - py * w - pz * x,
        pw * z - px * y + py * x - pz * w,
    ];
    let length = sine.iter().map(|x| x * x).sum::<f64>().sqrt();
    // −p is the same rotation as p
    let angle = 2.0 * elementary::atan2(length * cosine.signum(), cosine.abs());
    let scale = if length > 1e-9 {
        angle / length
    } else {
        2.0 * cosine.signum()
    };
    sine.map(|x| x * scale)
}

impl State<f64> {
    /// An empty state, as a placeholder in a swap.
    pub(crate) fn empty() -> Self {
        State {
            q: Vec::new(),
            v: Vec::new(),
            base: Base::fixed(),
        }
    }

    /// The increment δ that leads to the positions of another state: its q is this q ⊕ δ. For a quaternion it is the rotation vector of
    /// the shorter rotation, in child axes.
    pub fn change_to<P>(&self, model: &Model<P>, other: &State) -> Vec<f64> {
        if let Some(couplings) = model.couplings() {
            // coordinates that follow others are scalars: their values do not matter here
            let tree = model.tree();
            let [mut from, mut to] = [(); 2].map(|()| State {
                q: vec![0.0; tree.nq],
                v: Vec::new(),
                base: Base::fixed(),
            });
            scatter(couplings.positions(), &self.q, &mut from.q);
            scatter(couplings.positions(), &other.q, &mut to.q);
            let all = from.change_along(tree, &to);
            return couplings.freedoms().iter().map(|&k| all[k]).collect();
        }
        self.change_along(model.tree(), other)
    }

    /// The increment in all coordinates of a tree.
    fn change_along(&self, tree: &Tree, other: &State) -> Vec<f64> {
        let mut delta = vec![0.0; tree.nv];
        for body in &tree.bodies[1..] {
            let plain = body.kind.quaternion().unwrap_or(body.kind.nv());
            for k in 0..plain {
                delta[body.v + k] = other.q[body.q + k] - self.q[body.q + k];
            }
            if body.kind.quaternion().is_some() {
                let of = |state: &State| std::array::from_fn(|k| state.q[body.q + plain + k]);
                let turn = quaternion_change(of(self), of(other));
                delta[body.v + plain..body.v + plain + 3].copy_from_slice(&turn);
            }
        }
        delta
    }

    /// A state with these positions and velocities: lengths and numbers checked, quaternions normalised.
    ///
    /// A quaternion further than 1e-3 from unit length is rejected: it is more likely a mistake than round-off.
    pub fn new<P>(model: &Model<P>, q: &[f64], v: &[f64]) -> Result<Self> {
        let tree = model.tree();
        check_length("positions q", q.len(), model.nq())?;
        check_length("velocities v", v.len(), model.nv())?;
        let mut q = match model.couplings() {
            None => q.to_vec(),
            Some(couplings) => {
                let mut all = vec![0.0; tree.nq];
                scatter(couplings.positions(), q, &mut all);
                all
            }
        };
        for body in &tree.bodies[1..] {
            for k in body.q..body.q + body.kind.nq() {
                if !q[k].is_finite() {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!(
                            "position {} of joint `{}` is {}",
                            k - body.q + 1,
                            body.joint,
                            q[k]
                        ),
                    )
                    .hint("positions must be finite numbers"));
                }
            }
            if let Some(k) = body.kind.quaternion() {
                normalise(&mut q[body.q + k..body.q + k + 4], &body.joint)?;
            }
        }
        if let Some(k) = v.iter().position(|x| !x.is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("velocity of `{}` is {}", model.freedom(k).name, v[k]),
            )
            .hint("velocities must be finite numbers"));
        }
        Ok(State {
            q: independent_positions(model, q),
            v: v.to_vec(),
            base: Base::fixed(),
        })
    }

    /// A random state: angles in ±π, lengths in ±1 m (within limits where the joint has them), uniformly random
    /// orientations, velocities in ±1.
    pub fn random<P>(model: &Model<P>, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut state = State::neutral(model);
        let mut all = vec![0.0; model.tree().nq];
        for body in &model.tree().bodies[1..] {
            let q = &mut all[body.q..body.q + body.kind.nq()];
            if let Some(k) = body.kind.quaternion() {
                q[k..].copy_from_slice(&random.quaternion());
                for x in &mut q[..k] {
                    *x = random.uniform(-1.0, 1.0);
                }
            } else {
                for (k, (x, &(_, rotation))) in q.iter_mut().zip(body.kind.freedoms()).enumerate() {
                    let reach = if rotation { std::f64::consts::PI } else { 1.0 };
                    let (low, high) = model.tree().dofs[body.v + k]
                        .limits
                        .unwrap_or((-reach, reach));
                    *x = random.uniform(low.max(-reach), high.min(reach).max(low.max(-reach)));
                }
            }
        }
        state.q = independent_positions(model, all);
        for v in &mut state.v {
            *v = random.uniform(-1.0, 1.0);
        }
        state
    }

    /// The state in another scalar.
    pub fn lift<S: Scalar>(&self) -> State<S> {
        State {
            q: self.q.iter().map(|&x| S::constant(x)).collect(),
            v: self.v.iter().map(|&x| S::constant(x)).collect(),
            base: self.base.lift(),
        }
    }
}

/// Rejects a slice of the wrong length.
#[inline]
pub(crate) fn check_length(what: &str, got: usize, expected: usize) -> Result<()> {
    match got == expected {
        true => Ok(()),
        false => Err(wrong_length(what, got, expected)),
    }
}

#[cold]
fn wrong_length(what: &str, got: usize, expected: usize) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("{what}: {}", needed_and_given(expected, got)),
    )
}

fn normalise(quaternion: &mut [f64], joint: &str) -> Result<()> {
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(Error::new(
            ErrorKind::Input,
            format!("quaternion of joint `{joint}` has length {length:.6}, not 1"),
        )
        .hint("give (w, x, y, z) of unit length; identity is 1, 0, 0, 0"));
    }
    quaternion.iter_mut().for_each(|x| *x /= length);
    Ok(())
}
