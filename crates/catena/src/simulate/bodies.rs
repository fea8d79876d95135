//! Any model, including loops, integrated implicitly in the redundant coordinates of its bodies.
//!
//! The integrator's unknowns begin with y = (q, v, W, D) of a run, so that inputs, dry friction and events see the same numbers as
//! with other methods; `algorithm/body_coordinates` has the equations and their Newton matrix. After every step quaternions are
//! normalised; with velocity constraints only, positions are also projected: joint coordinates onto the constraints of loops,
//! bodies to the poses that the joint coordinates give.

use super::inputs::{Controller, controlled};
use super::tree_system::TreeSystem;
use crate::algorithm::body_coordinates::{
    Acting, BodyEquations, BodyNewton, Formulation, Layout, Line, PARAMETERS, Stiff, TURNING,
    VELOCITY,
};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::bdf::{Bdf, BdfOptions, Implicit, Role};
use crate::integrate::{StepOutcome, System};
use crate::model::{ForceLaw, Model, Rule};
use crate::spatial::Force;

/// Rows left out as dependent may be violated by this much, m or rad; a larger violation shows that they have become independent.
const STILL_DEPENDENT: f64 = 1e-4;

/// Allowed error of Newton's method, in units of the tolerance. Redundant unknowns enter its norm and dilute the error of the tested ones.
const NEWTON_TOLERANCE: f64 = 0.1;

/// Implicit integration in body coordinates.
pub(super) struct BodiesEngine {
    pub bdf: Bdf,
    parts: Parts,
    x: Vec<f64>,
}

/// Data that the equations need besides the system.
struct Parts {
    layout: Layout,
    /// The model without dry friction, which acts as an effort, and with its constraints.
    model: Model,
    equations: BodyEquations<f64>,
    newton: BodyNewton,
    held: Vec<bool>,
    stiffness: Vec<f64>,
    damping: Vec<f64>,
    lines: Vec<Line>,
    /// ∂E_W/∂v and ∂E_D/∂v.
    slopes: [Vec<f64>; 2],
    sigma: f64,
    /// Drivers: the indices of their multipliers, and the velocity coordinates they drive.
    drivers: Vec<(usize, usize)>,
}

struct BodiesImplicit<'a> {
    system: &'a mut TreeSystem,
    parts: &'a mut Parts,
}

impl BodiesEngine {
    /// An engine at time 0 and y.
    pub fn new(
        system: &mut TreeSystem,
        options: BdfOptions,
        formulation: Formulation,
        y: &[f64],
    ) -> Result<Self> {
        let mut model = system.model().clone();
        model
            .expect_position_rows("integration in the coordinates of the bodies (BDF)")
            .map_err(|error| error.hint("take another method, such as dop853 or verner9"))?;
        model.dofs.iter_mut().for_each(|dof| dof.friction = 0.0);
        let layout = Layout::new(&model, formulation);
        let nv = layout.nv;
        let (mut stiffness, mut damping) = (vec![0.0; nv], vec![0.0; nv]);
        if let (
            Controller::ProportionalDerivative {
                stiffness: spring,
                damping: damper,
                ..
            },
            None,
        ) = (&system.inputs().controller, system.inputs().rate)
        {
            for (k, (freedom, _)) in controlled(&model).enumerate() {
                if system.drives(freedom) {
                    (stiffness[freedom], damping[freedom]) = (spring.at(k), damper.at(k));
                }
            }
        }
        let mut lines = Vec::new();
        for spring in &system.inputs().springs {
            let mut line = Line {
                bodies: [0; 2],
                points: spring.points,
                stiffness: spring.stiffness,
                damping: spring.damping,
            };
            for side in 0..2 {
                if let Some(frame) = spring.frames[side] {
                    let frame = &model.tree().frames[frame];
                    line.bodies[side] = frame.body;
                    line.points[side] = frame.body_from_frame.point(spring.points[side]);
                }
            }
            lines.push(line);
        }
        lines.extend(model.forces().iter().filter_map(|element| {
            let ForceLaw::Spring(spring) = element.law else {
                return None;
            };
            Some(Line {
                bodies: spring.ends.map(|end| end.body),
                points: spring.ends.map(|end| end.point),
                stiffness: spring.stiffness,
                damping: spring.damping,
            })
        }));
        let mut drivers = Vec::new();
        let mut row = layout.multipliers();
        for constraint in model.constraints() {
            if let Rule::Driver { coordinate, .. } = constraint.rule {
                drivers.push((row, coordinate.v));
            }
            row += constraint.rows();
        }
        let mut options = BdfOptions {
            newton_tolerance: NEWTON_TOLERANCE,
            ..options
        };
        if formulation == Formulation::Index3 {
            // velocities are differences of positions: over shorter steps they are round-off
            let tolerance = options.tolerances.relative.max(options.tolerances.absolute);
            options.initial_step = Some(tolerance.sqrt().min(1e-3));
        }
        let mut engine = BodiesEngine {
            bdf: Bdf::new(layout.dimension(), options)?,
            parts: Parts {
                layout,
                equations: BodyEquations::new(&model, layout),
                newton: BodyNewton::new(&model, layout),
                held: vec![false; nv],
                stiffness,
                damping,
                lines,
                slopes: [vec![0.0; nv], vec![0.0; nv]],
                sigma: 1.0,
                drivers,
                model,
            },
            x: vec![0.0; layout.dimension()],
        };
        let rates = engine.consistent(system, 0.0, y)?;
        // some loads vanish: they are measured relative to the largest
        let loads = layout.load(1)..layout.dimension();
        let largest = engine.x[loads.clone()]
            .iter()
            .fold(1.0, |m: f64, w| m.max(w.abs()));
        let mut absolute = vec![options.tolerances.absolute; layout.dimension()];
        absolute[loads].fill(largest * options.tolerances.absolute);
        engine.bdf.set_absolute_tolerances(&absolute)?;
        engine.choose_rows(system, 0.0, &rates)?;
        engine.begin(system, 0.0, &rates)?;
        Ok(engine)
    }

    /// Restarts at y. The held freedoms and the dependent rows may have changed.
    pub fn restart(&mut self, system: &mut TreeSystem, t: f64, y: &[f64]) -> Result<()> {
        let rates = self.consistent(system, t, y)?;
        self.choose_rows(system, t, &rates)?;
        self.begin(system, t, &rates)
    }

    /// Chooses the independent rows at x with the held freedoms.
    fn choose_rows(&mut self, system: &TreeSystem, t: f64, rates: &[f64]) -> Result<()> {
        let parts = &mut self.parts;
        if parts.layout.rows == 0 {
            return Ok(());
        }
        let (_, efforts, external, base) = system.acting();
        let acting = Acting {
            time: t,
            base: *base,
            efforts,
            external,
            held: &parts.held,
        };
        parts
            .newton
            .choose_rows(&parts.model, &acting, &self.x, rates)?;
        parts.equations.activate(parts.newton.active());
        Ok(())
    }

    fn begin(&mut self, system: &mut TreeSystem, t: f64, rates: &[f64]) -> Result<()> {
        let parts = &mut self.parts;
        self.bdf
            .start(&mut BodiesImplicit { system, parts }, t, &self.x, rates)
    }

    /// Writes x of a run's y; returns its derivative.
    fn consistent(&mut self, system: &mut TreeSystem, t: f64, y: &[f64]) -> Result<Vec<f64>> {
        let Parts {
            layout,
            model,
            equations,
            held,
            ..
        } = &mut self.parts;
        let x = &mut self.x;
        let count = y.len();
        x.fill(0.0);
        x[..count].copy_from_slice(y);
        system.project(t, &mut x[..count]);
        let mut rates = vec![0.0; x.len()];
        let (start, rest) = (x[..count].to_vec(), &mut rates[..count]);
        system.derivative(t, &start, rest)?;
        system.held_freedoms(held);
        let state = system.unpack(t, &start);
        let response = system.response(t, &state)?;
        equations.place_bodies(model, &state.base, x);
        let mut external = response.external;
        if let Some(constrained) = &response.constrained {
            let at = layout.multipliers();
            x[at..at + layout.rows].copy_from_slice(&constrained.multipliers);
            let wrenches = equations.multiplier_wrenches(model, (t, &state.base), x);
            external.resize(layout.bodies + 1, Force::zero());
            for (sum, wrench) in external.iter_mut().zip(wrenches) {
                *sum += wrench;
            }
        }
        let vdot = &rates[layout.nq..layout.nq + layout.nv].to_vec();
        let dynamics = system.dynamics();
        let kinematics = dynamics.kinematics(&state, vdot)?.clone();
        dynamics.inverse(&state, vdot, &external)?;
        for i in 1..=layout.bodies {
            let at = layout.body(i);
            let rotation = kinematics.world_from_body[i].rotation;
            let acceleration = kinematics.acceleration[i];
            let velocity = x[at + VELOCITY..at + VELOCITY + 3].to_vec();
            rates[at..at + 3].copy_from_slice(&velocity);
            let p = &x[at + PARAMETERS..at + PARAMETERS + 4];
            let w = &x[at + TURNING..at + TURNING + 3];
            let turned = [
                -p[1] * w[0] - p[2] * w[1] - p[3] * w[2],
                p[0] * w[0] + p[2] * w[2] - p[3] * w[1],
                p[0] * w[1] - p[1] * w[2] + p[3] * w[0],
                p[0] * w[2] + p[1] * w[1] - p[2] * w[0],
            ];
            for (k, turned) in turned.into_iter().enumerate() {
                rates[at + PARAMETERS + k] = 0.5 * turned;
            }
            rates[at + VELOCITY..at + VELOCITY + 3]
                .copy_from_slice(&(rotation * acceleration.linear).to_array());
            rates[at + TURNING..at + TURNING + 3].copy_from_slice(&acceleration.angular.to_array());
            let wrench = dynamics.joint_wrench(i)?;
            let load = layout.load(i);
            x[load..load + 3].copy_from_slice(&wrench.moment.to_array());
            x[load + 3..load + 6].copy_from_slice(&(rotation * wrench.force).to_array());
        }
        system.act(t, &start, vdot)?;
        Ok(rates)
    }

    pub fn step(&mut self, system: &mut TreeSystem, end: f64) -> Result<StepOutcome> {
        let t = self.bdf.time();
        let end = end.min(system.next_kink(t.next_up()));
        let parts = &mut self.parts;
        let outcome = self.bdf.step(&mut BodiesImplicit { system, parts }, end)?;
        if self.parts.newton.active().len() < self.parts.layout.rows {
            self.check_rows(outcome.t)?;
        }
        Ok(outcome)
    }

    /// Checks that rows that depended on others at the start are still satisfied by them.
    fn check_rows(&mut self, t: f64) -> Result<()> {
        let parts = &self.parts;
        let (row, worst) = parts.equations.worst_row(&parts.model, t, self.bdf.x());
        if worst <= STILL_DEPENDENT {
            return Ok(());
        }
        let mut first = 0;
        let constraint = parts.model.constraints().iter().find(|c| {
            first += c.rows();
            row < first
        });
        Err(Error::new(
            ErrorKind::Integration,
            format!(
                "at t = {t} s: constraint `{}` is violated by {worst:.1e} m or rad: its rows were dependent at the start only",
                constraint.map_or("", |c| &c.name)
            ),
        )
        .hint("start from another position, or use an explicit method"))
    }

    /// y at a time within the last step, projected onto the loops where there are any.
    pub fn interpolate(&mut self, system: &mut TreeSystem, t: f64, y: &mut [f64]) -> Result<()> {
        let parts = &mut self.parts;
        let mut problem = BodiesImplicit { system, parts };
        self.bdf.interpolate(&mut problem, t, &mut self.x)?;
        y.copy_from_slice(&self.x[..y.len()]);
        if self.parts.layout.rows > 0 {
            system.project(t, y);
        }
        Ok(())
    }

    /// Time at the beginning of the last step; y there is written.
    pub fn before(&self, y: &mut [f64]) -> f64 {
        let mut x = vec![0.0; self.x.len()];
        let t = self.bdf.before(&mut x);
        y.copy_from_slice(&x[..y.len()]);
        t
    }

    pub fn checkpoint(&self) -> Vec<u64> {
        let active = self.parts.newton.active();
        let mut words = vec![active.len() as u64];
        words.extend(active.iter().map(|&row| row as u64));
        words.extend(self.bdf.checkpoint());
        words
    }

    pub fn restore(&mut self, system: &mut TreeSystem, checkpoint: &[u64]) -> Result<()> {
        let parts = &mut self.parts;
        let rows = parts.layout.rows as u64;
        let taken = checkpoint.split_first().and_then(|(&count, rest)| {
            let (active, rest) = rest.split_at_checked(usize::try_from(count).ok()?)?;
            active
                .iter()
                .all(|&row| row < rows)
                .then_some((active, rest))
        });
        let Some((active, checkpoint)) = taken else {
            return Err(Error::new(
                ErrorKind::Input,
                "the checkpoint does not belong to this run",
            ));
        };
        let active: Vec<usize> = active.iter().map(|&row| row as usize).collect();
        parts.equations.activate(&active);
        parts.newton.activate(active);
        self.bdf
            .restore(&mut BodiesImplicit { system, parts }, checkpoint)
    }
}

impl Implicit for BodiesImplicit<'_> {
    fn dimension(&self) -> usize {
        self.parts.layout.dimension()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        let parts = &mut *self.parts;
        let layout = parts.layout;
        let vdot = &xdot[layout.nq..layout.nq + layout.nv];
        let mut powers = self.system.act(t, x, vdot)?;
        self.system.held_freedoms(&mut parts.held);
        let (_, efforts, external, base) = self.system.acting();
        let acting = Acting {
            time: t,
            base: *base,
            efforts,
            external,
            held: &parts.held,
        };
        parts
            .equations
            .residual(&parts.model, &acting, x, xdot, out);
        for &(row, v) in &parts.drivers {
            powers[0] += x[row] * x[layout.nq + v];
        }
        let at = layout.integrals();
        for k in 0..2 {
            out[at + k] = xdot[at + k] - powers[k];
        }
        Ok(())
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        let parts = &mut *self.parts;
        let layout = parts.layout;
        let [work, lost] = &mut parts.slopes;
        self.system.power_slopes(t, x, work, lost)?;
        self.system
            .act(t, x, &xdot[layout.nq..layout.nq + layout.nv])?;
        self.system.held_freedoms(&mut parts.held);
        let (_, efforts, external, base) = self.system.acting();
        let acting = Acting {
            time: t,
            base: *base,
            efforts,
            external,
            held: &parts.held,
        };
        parts.sigma = sigma;
        let stiff = Stiff {
            stiffness: &parts.stiffness,
            damping: &parts.damping,
            lines: &parts.lines,
            forces_stay: true,
        };
        parts
            .newton
            .linearize(&parts.model, &acting, &stiff, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        let parts = &mut *self.parts;
        let layout = parts.layout;
        parts.newton.solve(&parts.model, rhs);
        let at = layout.integrals();
        let (before, rest) = rhs.split_at_mut(at);
        let v = &before[layout.nq..];
        for (power, slopes) in rest.iter_mut().zip(&parts.slopes) {
            let mut sum = *power;
            for (slope, v) in slopes.iter().zip(v) {
                sum -= slope * v;
            }
            *power = sum / parts.sigma;
        }
        Ok(())
    }

    fn role(&self, i: usize) -> Role {
        let layout = self.parts.layout;
        let is_index_3 = layout.formulation == Formulation::Index3;
        if i >= layout.load(1) {
            let index = if is_index_3 { 3 } else { 2 };
            return Role::Algebraic { index };
        }
        let is_velocity = if i < layout.body(1) {
            i >= layout.nq // and the integrals, whose rates are functions of velocities
        } else {
            i >= layout.body(1) && (i - layout.body(1)) % 13 >= VELOCITY
        };
        if is_index_3 && is_velocity {
            return Role::Algebraic { index: 2 };
        }
        Role::Differential
    }

    /// Components in the error test, as with every method: coordinates and rates of the joints, and the integrals.
    /// The bodies follow from them.
    fn tested(&self, i: usize) -> bool {
        i < self.parts.layout.body(1)
    }

    fn name(&self, i: usize) -> String {
        let (layout, tree) = (self.parts.layout, self.parts.model.tree());
        if i < layout.nq {
            let body = tree.bodies[1..]
                .iter()
                .find(|b| (b.q..b.q + b.kind.nq()).contains(&i));
            let joint = body.map_or("", |b| b.joint.as_str());
            format!("the position of joint `{joint}`")
        } else if i < layout.integrals() {
            format!("the velocity of `{}`", tree.dofs[i - layout.nq].name)
        } else if i < layout.body(1) {
            "the energy balance".to_string()
        } else if i < layout.load(1) {
            let body = 1 + (i - layout.body(1)) / 13;
            let part = (i - layout.body(1)) % 13;
            let what = ["position", "orientation", "velocity", "angular velocity"][usize::from(
                part >= PARAMETERS,
            ) + usize::from(
                part >= VELOCITY,
            ) + usize::from(
                part >= TURNING,
            )];
            format!("the {what} of `{}`", tree.bodies[body].name)
        } else if i < layout.multipliers() {
            let body = 1 + (i - layout.load(1)) / 6 % layout.bodies;
            format!("the load in joint `{}`", tree.bodies[body].joint)
        } else {
            let mut row = (i - layout.multipliers()) % layout.rows;
            let mut constraints = self.parts.model.constraints().iter();
            let constraint = constraints.find(|c| {
                let own = row < c.rows();
                row = row.wrapping_sub(c.rows());
                own
            });
            format!(
                "the multiplier of constraint `{}`",
                constraint.map_or("", |c| &c.name)
            )
        }
    }

    fn project(&mut self, t: f64, x: &mut [f64]) {
        let parts = &mut *self.parts;
        let layout = parts.layout;
        let count = layout.body(1);
        if layout.formulation == Formulation::Index2 {
            self.system.project(t, &mut x[..count]);
            let base = self.system.inputs().base.at(t);
            parts.equations.place_bodies(&parts.model, &base, x);
            return;
        }
        for body in &parts.model.tree().nodes[1..] {
            if let Some(k) = body.kind.quaternion() {
                normalise(&mut x[body.q + k..body.q + k + 4]);
            }
        }
        for i in 1..=layout.bodies {
            let at = layout.body(i) + PARAMETERS;
            normalise(&mut x[at..at + 4]);
        }
    }

    fn event_count(&self) -> usize {
        System::event_count(self.system)
    }

    fn events(&mut self, t: f64, x: &[f64], values: &mut [f64]) {
        let count = self.parts.layout.body(1);
        System::events(self.system, t, &x[..count], values);
    }

    fn sample_interval(&self) -> f64 {
        System::sample_interval(self.system)
    }
}

fn normalise(p: &mut [f64]) {
    let scale = 1.0 / (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
    p.iter_mut().for_each(|p| *p *= scale);
}
