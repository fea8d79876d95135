//! A model in body coordinates as a problem for the integrator alone, with forces of the test's own.

use catena::algorithm::body_coordinates::{
    Acting, BodyEquations, BodyNewton, Formulation, Layout, Stiff,
};
use catena::algorithm::constrained::ClosedChain;
use catena::integrate::bdf::{Bdf, BdfOptions, Implicit, Role};
use catena::spatial::{Force, Pose};
use catena::state::Base;
use catena::{Dynamics, Model, Result, State};

/// Wrenches on the bodies from their poses: body axes, about the bodies' origins.
pub type Forces = fn(&[Pose<f64>], &mut [Force<f64>]);

pub struct Mechanism {
    pub model: Model,
    pub layout: Layout,
    equations: BodyEquations<f64>,
    newton: BodyNewton,
    forces: Option<Forces>,
    efforts: Vec<f64>,
    external: Vec<Force<f64>>,
    sigma: f64,
}

impl Mechanism {
    pub fn new(
        model: &Model,
        formulation: Formulation,
        efforts: &[f64],
        forces: Option<Forces>,
    ) -> Self {
        let layout = Layout::new(model, formulation);
        Mechanism {
            model: model.clone(),
            layout,
            equations: BodyEquations::new(model, layout),
            newton: BodyNewton::new(model, layout),
            forces,
            efforts: efforts.to_vec(),
            external: vec![Force::zero(); layout.bodies + 1],
            sigma: 1.0,
        }
    }

    fn load(&mut self, x: &[f64]) {
        if let Some(forces) = self.forces {
            let mut poses = vec![Pose::identity(); self.layout.bodies + 1];
            for (i, pose) in poses.iter_mut().enumerate().skip(1) {
                let x = &x[self.layout.body(i)..];
                pose.rotation = catena::spatial::Mat3::from_quaternion([x[3], x[4], x[5], x[6]]);
                pose.translation = catena::spatial::Vec3::new(x[0], x[1], x[2]);
            }
            self.external.fill(Force::zero());
            forces(&poses, &mut self.external);
        }
    }

    /// Consistent values and derivatives at a state that satisfies the constraints.
    pub fn start(&mut self, state: &State) -> (Vec<f64>, Vec<f64>) {
        let layout = self.layout;
        let mut x = vec![0.0; layout.dimension()];
        let mut rates = x.clone();
        x[..layout.nq].copy_from_slice(&state.q);
        x[layout.nq..layout.nq + layout.nv].copy_from_slice(&state.v);
        self.equations
            .place_bodies(&self.model, &Base::fixed(), &mut x);
        self.load(&x);
        let mut chain = ClosedChain::new(&self.model);
        let motion = chain
            .forward(0.0, state, &self.efforts, &self.external)
            .unwrap();
        let vdot = motion.accelerations.to_vec();
        let at = layout.multipliers();
        x[at..at + layout.rows].copy_from_slice(motion.multipliers);
        let wrenches = self
            .equations
            .multiplier_wrenches(&self.model, (0.0, &Base::fixed()), &x);
        let total: Vec<_> = wrenches
            .iter()
            .zip(&self.external)
            .map(|(a, b)| *a + *b)
            .collect();
        let mut dynamics = Dynamics::new(&self.model.clone().open_tree());
        let kinematics = dynamics.kinematics(state, &vdot).unwrap().clone();
        dynamics.inverse(state, &vdot, &total).unwrap();
        rates[..layout.nq].copy_from_slice(&state.v); // plain coordinates only
        rates[layout.nq..layout.nq + layout.nv].copy_from_slice(&vdot);
        for i in 1..=layout.bodies {
            let (at, load) = (layout.body(i), layout.load(i));
            let r = kinematics.world_from_body[i].rotation;
            let (v, a) = (kinematics.velocity[i], kinematics.acceleration[i]);
            let p = [x[at + 3], x[at + 4], x[at + 5], x[at + 6]];
            let w = v.angular;
            rates[at..at + 3].copy_from_slice(&(r * v.linear).to_array());
            let turned = [
                -p[1] * w.x - p[2] * w.y - p[3] * w.z,
                p[0] * w.x + p[2] * w.z - p[3] * w.y,
                p[0] * w.y - p[1] * w.z + p[3] * w.x,
                p[0] * w.z + p[1] * w.y - p[2] * w.x,
            ];
            for k in 0..4 {
                rates[at + 3 + k] = 0.5 * turned[k];
            }
            rates[at + 7..at + 10].copy_from_slice(&(r * a.linear).to_array());
            rates[at + 10..at + 13].copy_from_slice(&a.angular.to_array());
            let wrench = dynamics.joint_wrench(i);
            x[load..load + 3].copy_from_slice(&wrench.moment.to_array());
            x[load + 3..load + 6].copy_from_slice(&(r * wrench.force).to_array());
        }
        if layout.rows > 0 {
            let acting = Acting {
                time: 0.0,
                base: Base::fixed(),
                efforts: &self.efforts,
                external: &self.external,
                held: &[],
            };
            self.newton
                .choose_rows(&self.model, &acting, &x, &rates)
                .unwrap();
            self.equations.activate(self.newton.active());
        }
        (x, rates)
    }

    /// Integrates from a state; the unknowns at the end.
    pub fn follow(&mut self, state: &State, end: f64, tolerance: f64) -> Bdf {
        let (x, rates) = self.start(state);
        // as `simulate` has it
        let mut options = BdfOptions {
            newton_tolerance: 0.1,
            ..BdfOptions::with_tolerance(tolerance)
        };
        if self.layout.formulation == Formulation::Index3 {
            options.initial_step = Some(tolerance.sqrt() * end);
        }
        let mut bdf = Bdf::new(x.len(), options).unwrap();
        let mut absolute = vec![0.01 * tolerance; x.len()];
        absolute[self.layout.load(1)..].fill(1e100);
        bdf.set_absolute_tolerances(&absolute).unwrap();
        bdf.start(self, 0.0, &x, &rates).unwrap();
        while bdf.time() < end {
            bdf.step(self, end).unwrap();
        }
        bdf
    }
}

impl Implicit for Mechanism {
    fn dimension(&self) -> usize {
        self.layout.dimension()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        self.load(x);
        let acting = Acting {
            time: t,
            base: Base::fixed(),
            efforts: &self.efforts,
            external: &self.external,
            held: &[],
        };
        self.equations.residual(&self.model, &acting, x, xdot, out);
        let at = self.layout.integrals();
        out[at..at + 2].copy_from_slice(&xdot[at..at + 2]);
        Ok(())
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.load(x);
        let none = vec![0.0; self.layout.nv];
        let acting = Acting {
            time: t,
            base: Base::fixed(),
            efforts: &self.efforts,
            external: &self.external,
            held: &[],
        };
        self.sigma = sigma;
        let stiff = Stiff {
            stiffness: &none,
            damping: &none,
            lines: &[],
            forces_stay: false,
        };
        self.newton
            .linearize(&self.model, &acting, &stiff, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.newton.solve(&self.model, rhs);
        let at = self.layout.integrals();
        rhs[at] /= self.sigma;
        rhs[at + 1] /= self.sigma;
        Ok(())
    }

    fn role(&self, i: usize) -> Role {
        let layout = self.layout;
        let is_index_3 = layout.formulation == Formulation::Index3;
        if i >= layout.load(1) {
            return Role::Algebraic {
                index: if is_index_3 { 3 } else { 2 },
            };
        }
        let is_velocity = (layout.nq..layout.integrals()).contains(&i)
            || (i >= layout.body(1) && (i - layout.body(1)) % 13 >= 7);
        if is_index_3 && is_velocity {
            return Role::Algebraic { index: 2 };
        }
        Role::Differential
    }

    fn tested(&self, i: usize) -> bool {
        i < self.layout.body(1)
    }

    fn project(&mut self, _t: f64, x: &mut [f64]) {
        for i in 1..=self.layout.bodies {
            let p = &mut x[self.layout.body(i) + 3..self.layout.body(i) + 7];
            let length = p.iter().map(|p| p * p).sum::<f64>().sqrt();
            p.iter_mut().for_each(|p| *p /= length);
        }
    }
}
