//! Response of a system of bodies to given loads: accelerations of joints and bodies, and the loads in the joints.

use super::report::Numbers;
use catena::algorithm::constrained::{Axes, Stabilisation};
use catena::algorithm::forward_dynamics::{WalkerOrin, forward_dynamics_walker_orin};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, frame_jacobian};
use catena::algorithm::passive::passive_force;
use catena::closed_chain::{ClosedChain, Sharing};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{FrameInfo, JointKind};
use catena::residual::larger;
use catena::spatial::{Force, Mat3, Pose, Vec3};
use catena::{Base, Cpu, Dynamics, Matrix, Model, State};
use catena_mechanism::{Formulation, Mechanism, Solution};

/// Maximum number of degrees of freedom for which the classical O(n³) method is run in addition to the O(n) one.
pub(super) const DENSE_LIMIT: usize = 600;

/// Maximum number of bodies for which all formulations in maximal coordinates are run, too.
const MAXIMAL_LIMIT: usize = 40;

/// How accelerations are computed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Route {
    /// Through the UDUᵀ factorization, O(n), on the best path this processor has.
    Fast,
    /// Through the UDUᵀ factorization, O(n), in the arithmetic that every processor has.
    Plain,
    /// Composite bodies and Cholesky, O(n³).
    Dense,
}

/// A load on a body: inertial components, the force at and the torque about the mass centre.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    pub force: Vec3<f64>,
    pub torque: Vec3<f64>,
}

/// Everything that acts at one instant. Loads are indexed by catena's body number, 0 being the ground.
#[derive(Clone)]
pub(super) struct Situation {
    pub state: State,
    pub tau: Vec<f64>,
    pub external: Vec<Load>,
}

/// Motion of one body, in inertial components.
#[derive(Clone, Copy, Default)]
pub(super) struct BodyMotion {
    /// Mass centre, its velocity and acceleration.
    pub position: Vec3<f64>,
    pub velocity: Vec3<f64>,
    pub acceleration: Vec3<f64>,
    /// Body axes → inertial axes.
    pub rotation: Mat3<f64>,
    /// Catena's own body axes → inertial axes.
    pub body_rotation: Mat3<f64>,
    pub angular_velocity: Vec3<f64>,
    pub angular_acceleration: Vec3<f64>,
    /// The hinge point of the body's joint, on the body.
    pub hinge: Vec3<f64>,
    /// Constraint load in that joint, on the parent, at the hinge point; see [`Response::has_loads`].
    pub hinge_force: Vec3<f64>,
    pub hinge_torque: Vec3<f64>,
}

/// Motion of all bodies.
#[derive(Clone)]
pub(super) struct Response {
    /// Accelerations of the joints.
    pub vdot: Vec<f64>,
    /// Motions of the bodies, by catena's body number; 0 is the ground.
    pub bodies: Vec<BodyMotion>,
    /// Whether the loads in the joints are known.
    ///
    /// They come from inverse dynamics in baseline arithmetic. Accelerations computed in another arithmetic would
    /// add round-off to them.
    pub has_loads: bool,
    /// Loads in the joints that close loops, on the child, at the hinge point.
    pub loops: Vec<Force<f64>>,
    /// Further results of a closed chain.
    pub closed: Option<Closed>,
    /// Whether it was computed in maximal coordinates.
    pub maximal: bool,
    /// Name of the method.
    pub route: &'static str,
}

impl Response {
    /// Largest of all accelerations, or of all loads.
    pub(super) fn largest(&self, loads: bool) -> f64 {
        let mut largest = 0.0f64;
        let mut see = |x: f64| largest = largest.max(x.abs());
        for body in &self.bodies {
            let parts = match loads {
                true => [body.hinge_force, body.hinge_torque],
                false => [body.acceleration, body.angular_acceleration],
            };
            parts
                .iter()
                .for_each(|part| part.to_array().into_iter().for_each(&mut see));
        }
        match loads {
            true => self
                .loops
                .iter()
                .for_each(|load| load.to_array().into_iter().for_each(&mut see)),
            false => self.vdot.iter().copied().for_each(&mut see),
        }
        largest
    }
}

/// Results that only a closed chain has.
#[derive(Clone, Copy)]
pub(super) struct Closed {
    /// Number of independent rows of the loops, where the method gives it.
    pub rank: Option<usize>,
    /// Length of the vector of all loads.
    pub norm: f64,
    /// Largest distance of two hinge points that should coincide.
    pub gap: f64,
}

/// A model and the frames in which its bodies are described: at the mass centre, in the axes the case uses.
pub(super) struct System {
    fast: Dynamics,
    plain: Dynamics,
    /// With loops: rows in the parent's axes and in world axes. Then `fast` and `plain` belong to the tree.
    closed: Vec<ClosedChain>,
    /// All bodies and hinges, for every formulation there is; not for large systems.
    mechanism: Option<Mechanism>,
    frames: Vec<FrameInfo>,
    /// Does the body belong to a tree on a free joint, which is measured from the inertial frame?
    floating: Vec<bool>,
}

impl System {
    /// Bodies described in their own axes, as catena has them.
    pub(super) fn new(model: &Model) -> Self {
        let frames = (0..=model.body_count())
            .map(|body| {
                let inertial = model.inertial(body);
                frame(body, Pose::shift(inertial.centre))
            })
            .collect();
        System::with_frames(model, frames, Stabilisation::default())
    }

    /// Bodies described in the frames of their links; loops with stabilised constraints, if requested.
    pub(super) fn of_links(model: &Model, stabilisation: Stabilisation) -> Self {
        let bodies = model.tree().bodies.iter().enumerate();
        let frames = bodies.map(|(body, info)| frame(body, info.body_from_link));
        let mut system = System::with_frames(model, frames.collect(), stabilisation);
        if model.body_count() <= MAXIMAL_LIMIT {
            let axes = system.closed.last().map_or(Axes::Parent, ClosedChain::axes);
            let mut mechanism = Mechanism::with_axes(model, axes);
            mechanism.stabilise(stabilisation);
            system.mechanism = Some(mechanism);
        }
        system
    }

    /// `frames` is indexed by body number, 0 being the ground.
    fn with_frames(model: &Model, frames: Vec<FrameInfo>, stabilisation: Stabilisation) -> Self {
        let tree = model.tree();
        // stabilised constraints are written in inertial components
        let axes: &[Axes] = match stabilisation == Stabilisation::default() {
            _ if model.constraints().is_empty() => &[],
            true => &[Axes::Parent, Axes::World],
            false => &[Axes::World],
        };
        let closed = axes.iter().map(|&axes| {
            let mut chain = ClosedChain::with(model, Vec::new(), axes);
            chain.stabilise(stabilisation);
            chain
        });
        let mut floating = vec![false; frames.len()];
        for body in model.bodies() {
            floating[body] = match tree.parent(body) {
                0 => tree.bodies[body].kind == JointKind::Free,
                parent => floating[parent],
            };
        }
        let open = model.clone().open_tree();
        System {
            closed: closed.collect(),
            mechanism: None,
            fast: Dynamics::new(&open),
            plain: Dynamics::with_cpu(&open, Cpu::Baseline),
            frames,
            floating,
        }
    }

    pub(super) fn model(&self) -> &Model {
        self.fast.model()
    }

    pub(super) fn dynamics(&mut self) -> &mut Dynamics {
        &mut self.fast
    }

    /// The response by one method.
    pub(super) fn respond(&mut self, situation: &Situation, route: Route) -> Result<Response> {
        let dynamics = match route {
            Route::Fast => &mut self.fast,
            Route::Plain | Route::Dense => &mut self.plain,
        };
        let mut response = respond(dynamics, &self.frames, situation, route)?;
        if situation.state.base == Base::fixed() || !self.floating.contains(&true) {
            return Ok(response);
        }
        // Trees on a free joint are not affected by the base, and their coordinates are measured from the inertial frame. Trees on
        // the ground do not influence each other: they are computed separately.
        let mut at_rest = situation.clone();
        at_rest.state.base = Base::fixed();
        let apart = respond(dynamics, &self.frames, &at_rest, route)?;
        let model = dynamics.model();
        for body in model.bodies().filter(|&body| self.floating[body]) {
            response.bodies[body] = apart.bodies[body];
            for k in model.tree().dof_range(body) {
                response.vdot[k] = apart.vdot[k];
            }
        }
        Ok(response)
    }

    /// The response by every method that is affordable.
    pub(super) fn responses(&mut self, situation: &Situation) -> Result<Vec<Response>> {
        let mut responses = Vec::new();
        if !self.closed.is_empty() {
            if situation.state.base != Base::fixed() && self.floating.contains(&true) {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "a free joint beside a base that moves is not supported with loops",
                ));
            }
            for chain in &mut self.closed {
                responses.push(respond_closed(chain, &self.frames, situation)?);
            }
            return self.with_formulations(situation, responses);
        }
        if self.fast.cpu() != Cpu::Baseline {
            responses.push(self.respond(situation, Route::Fast)?);
        }
        responses.push(self.respond(situation, Route::Plain)?);
        if self.model().nv() <= DENSE_LIMIT {
            responses.push(self.respond(situation, Route::Dense)?);
        }
        self.with_formulations(situation, responses)
    }

    /// Adds the responses by every formulation of the equations of all bodies and hinges.
    fn with_formulations(
        &mut self,
        situation: &Situation,
        mut responses: Vec<Response>,
    ) -> Result<Vec<Response>> {
        let Some(mechanism) = &mut self.mechanism else {
            return Ok(responses);
        };
        let state = &situation.state;
        if state.base != Base::fixed() && self.floating.contains(&true) {
            return Ok(responses); // trees that are not affected by the base
        }
        let gap = responses[0].closed.map(|closed| closed.gap);
        let still = vec![0.0; situation.tau.len()];
        let placed = self.plain.kinematics(state, &still)?;
        let wrenches = wrenches(placed, &self.frames, &situation.external);
        for formulation in Formulation::ALL {
            let solved =
                mechanism.accelerations(formulation, 0.0, state, &situation.tau, &wrenches);
            let solution = match solved {
                Ok(solution) => solution,
                // not applicable to this structure
                Err(error) if error.kind() == ErrorKind::Unsupported => continue,
                Err(error) => return Err(error),
            };
            let kinematics = self.plain.kinematics(state, &solution.accelerations)?;
            let name = match solution.handed_over {
                true => Formulation::RankBySvd.name(),
                false => formulation.name(),
            };
            responses.push(respond_maximal(
                kinematics,
                &self.frames,
                solution,
                gap,
                name,
            ));
        }
        Ok(responses)
    }
}

/// The response by a formulation in maximal coordinates.
fn respond_maximal(
    kinematics: &Kinematics<f64>,
    frames: &[FrameInfo],
    solution: Solution,
    gap: Option<f64>,
    route: &'static str,
) -> Response {
    let mut bodies: Vec<BodyMotion> = frames
        .iter()
        .map(|frame| body_motion(kinematics, frame))
        .collect();
    let mut square: f64 = solution.multipliers.iter().map(|x| x * x).sum();
    let own = solution.bodies.iter().zip(&solution.tree);
    for (body, (motion, load)) in bodies.iter_mut().zip(own).skip(1) {
        body.acceleration = motion.linear;
        body.angular_acceleration = motion.angular;
        body.hinge_force = -load.force;
        body.hinge_torque = -load.moment;
        square += load.force.dot(load.force) + load.moment.dot(load.moment);
    }
    let tree_rows = solution.rows - solution.multipliers.len();
    Response {
        vdot: solution.accelerations,
        bodies,
        has_loads: true,
        loops: solution.constraints,
        closed: gap.map(|gap| Closed {
            rank: solution.rank.map(|rank| rank - tree_rows),
            norm: square.sqrt(),
            gap,
        }),
        maximal: true,
        route,
    }
}

fn frame(body: usize, body_from_frame: Pose<f64>) -> FrameInfo {
    FrameInfo {
        name: String::new(),
        body,
        body_from_frame,
    }
}

fn respond(
    dynamics: &mut Dynamics,
    frames: &[FrameInfo],
    situation: &Situation,
    route: Route,
) -> Result<Response> {
    let Situation {
        state,
        tau,
        external,
    } = situation;
    let still = vec![0.0; tau.len()];
    let wrenches = wrenches(dynamics.kinematics(state, &still)?, frames, external);
    let vdot = match route {
        Route::Fast | Route::Plain => dynamics.forward(state, tau, &wrenches)?.to_vec(),
        Route::Dense => dense(dynamics.model(), state, tau, &wrenches)?,
    };
    let kinematics = dynamics.kinematics(state, &vdot)?.clone();
    let model = dynamics.model();
    let mut work = InverseDynamics::new(model);
    let mut needed = still;
    inverse_dynamics(
        model,
        state.view(),
        &vdot,
        &wrenches,
        &mut work,
        &mut needed,
    );
    let mut jacobian = Matrix::zeros(6, model.nv());
    let mut bodies: Vec<BodyMotion> = frames
        .iter()
        .map(|frame| body_motion(&kinematics, frame))
        .collect();
    for body in model.bodies() {
        let effort = effort(model, situation, &vdot, &kinematics, body, &mut jacobian);
        let rotation = kinematics.world_from_body[body].rotation;
        let through = work.joint_wrench(body);
        bodies[body].hinge_force = effort.force - rotation * through.force;
        bodies[body].hinge_torque = effort.moment - rotation * through.moment;
    }
    Ok(Response {
        vdot,
        bodies,
        has_loads: route != Route::Fast,
        loops: Vec::new(),
        closed: None,
        maximal: false,
        route: match route {
            Route::Fast | Route::Plain => "U D Uᵀ",
            Route::Dense => "Walker–Orin",
        },
    })
}

/// Loads as wrenches on the bodies.
fn wrenches(placed: &Kinematics<f64>, frames: &[FrameInfo], external: &[Load]) -> Vec<Force<f64>> {
    let loaded = external.iter().zip(frames);
    let wrench = |(load, frame): (&Load, &FrameInfo)| {
        let centre = placed.frame_pose(frame).translation;
        let moment = centre.cross(load.force) + load.torque;
        placed.world_from_body[frame.body].force_into(Force::new(moment, load.force))
    };
    loaded.map(wrench).collect()
}

/// The response of a closed chain.
fn respond_closed(
    chain: &mut ClosedChain,
    frames: &[FrameInfo],
    situation: &Situation,
) -> Result<Response> {
    let Situation {
        state,
        tau,
        external,
    } = situation;
    let still = vec![0.0; tau.len()];
    let placed = chain.tree().kinematics(state, &still)?;
    let wrenches = wrenches(placed, frames, external);
    let motion = chain.forward(0.0, state, tau, &wrenches)?;
    let (vdot, rank) = (motion.accelerations.to_vec(), motion.rank);
    let loads = chain.loads(state, tau, &wrenches, Sharing::AllJoints)?;
    let rows = chain.rows(0.0, state)?;
    let gaps = rows.blocks().iter().map(|block| {
        // the first three rows of these joints are those of the hinge point
        let gap = &rows.residual[block.first..block.first + 3];
        gap.iter().map(|x| x * x).sum::<f64>().sqrt()
    });
    let gap = gaps.fold(0.0, larger);
    let kinematics = chain.tree().kinematics(state, &vdot)?;
    let mut bodies: Vec<BodyMotion> = frames
        .iter()
        .map(|frame| body_motion(kinematics, frame))
        .collect();
    for (body, load) in bodies.iter_mut().zip(&loads.tree) {
        body.hinge_force = -load.force;
        body.hinge_torque = -load.moment;
    }
    Ok(Response {
        vdot,
        bodies,
        has_loads: true,
        loops: loads.constraints,
        closed: Some(Closed {
            rank: Some(rank),
            norm: loads.norm,
            gap,
        }),
        maximal: false,
        route: match chain.axes() {
            Axes::Parent => "cut-loops",
            Axes::World => "cut-loops in world axes",
        },
    })
}

fn dense(model: &Model, state: &State, tau: &[f64], wrenches: &[Force<f64>]) -> Result<Vec<f64>> {
    let mut vdot = vec![0.0; model.nv()];
    forward_dynamics_walker_orin(
        model,
        state.view(),
        tau,
        wrenches,
        &mut WalkerOrin::new(model),
        &mut vdot,
    );
    if vdot.iter().all(|x| x.is_finite()) {
        Ok(vdot)
    } else {
        Err(Error::new(
            ErrorKind::Singular,
            "the inertia matrix cannot be factorized at this state",
        ))
    }
}

fn body_motion(kinematics: &Kinematics<f64>, frame: &FrameInfo) -> BodyMotion {
    let pose = kinematics.frame_pose(frame);
    let velocity = kinematics.frame_velocity(frame);
    let acceleration = kinematics.frame_acceleration(frame);
    BodyMotion {
        position: pose.translation,
        velocity: velocity.linear,
        acceleration: acceleration.linear,
        rotation: pose.rotation,
        body_rotation: kinematics.world_from_body[frame.body].rotation,
        angular_velocity: velocity.angular,
        angular_acceleration: acceleration.angular,
        // catena's body frame has its origin on the joint
        hinge: kinematics.world_from_body[frame.body].translation,
        ..BodyMotion::default()
    }
}

/// Load of the freedoms of a joint on its child at the hinge point, in inertial axes: motor, rotor, spring and friction.
///
/// The freedoms move along orthonormal directions, so the effort e of each is the force e along (or the torque e about)
/// its direction. A helical joint is driven by a torque about its axis.
fn effort(
    model: &Model,
    situation: &Situation,
    vdot: &[f64],
    kinematics: &Kinematics<f64>,
    body: usize,
    jacobian: &mut Matrix,
) -> Force<f64> {
    frame_jacobian(model, kinematics, &frame(body, Pose::identity()), jacobian);
    let State { q, v, .. } = &situation.state;
    let mut effort = Force::zero();
    for k in model.tree().dof_range(body) {
        let lost = model.dof(k).armature * vdot[k] + passive_force(model, q, v, k);
        let e = situation.tau[k] - lost;
        let row = |i: usize| jacobian[(i, k)];
        effort.moment += Vec3::new(row(0), row(1), row(2)) * e;
        if model.tree().bodies[body].kind != JointKind::Helical {
            effort.force += Vec3::new(row(3), row(4), row(5)) * e;
        }
    }
    effort
}

/// Energies and momenta by name: from the bodies one by one and, unless the base moves, by catena's own sum.
pub(super) fn mechanical_quantity(
    name: &str,
    system: &mut System,
    situation: &Situation,
    response: &Response,
) -> Result<Option<Vec<Numbers>>> {
    let sums = Sums::of(system.model(), situation, response);
    let summed = match name {
        "kinetic" => sums.kinetic.into(),
        "potential" => sums.potential.into(),
        "linear_momentum" => sums.linear.into(),
        "angular_momentum_about_origin" => sums.angular.into(),
        _ => return Ok(None),
    };
    let mut routes = vec![summed];
    if situation.state.base == Base::fixed() {
        let whole = system.dynamics().mechanical_state(&situation.state)?;
        routes.push(match name {
            "kinetic" => whole.kinetic.into(),
            "potential" => whole.gravitational.into(),
            "linear_momentum" => whole.momentum.force.into(),
            _ => whole.momentum.moment.into(),
        });
    }
    Ok(Some(routes))
}

/// Energies and momenta, summed over the bodies.
#[derive(Default)]
struct Sums {
    kinetic: f64,
    potential: f64,
    linear: Vec3<f64>,
    angular: Vec3<f64>,
}

impl Sums {
    fn of(model: &Model, situation: &Situation, response: &Response) -> Self {
        let mut sums = Sums::default();
        for body in model.bodies() {
            let here = &response.bodies[body];
            let inertial = model.inertial(body);
            // the tensor is in catena's body axes, which need not be those of the case
            let tensor = inertial.tensor.conjugate(here.body_rotation).full();
            let spin = tensor * here.angular_velocity;
            let momentum = here.velocity * inertial.mass;
            sums.kinetic += 0.5 * (momentum.dot(here.velocity) + spin.dot(here.angular_velocity));
            sums.potential -= inertial.mass * model.gravity().dot(here.position);
            sums.linear += momentum;
            sums.angular += here.position.cross(momentum) + spin;
        }
        for (k, v) in situation.state.v.iter().enumerate() {
            sums.kinetic += 0.5 * model.dof(k).armature * v * v;
        }
        sums
    }
}
