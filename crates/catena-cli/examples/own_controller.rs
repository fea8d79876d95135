//! A robot from a URDF file under a controller of one's own: PD with an integral, at 500 Hz, within the effort limits.

use catena::error::Result;
use catena::simulate::{Control, Controller, Inputs, Law, Sensors, Simulation, SimulationOptions};
use catena::{Model, State};

/// Proportional, integral and derivative feedback of every joint.
#[derive(Clone)]
struct Pid {
    target: Vec<f64>,
    integral: Vec<f64>,
}

const RATE: f64 = 500.0;

impl Control for Pid {
    fn efforts(
        &mut self,
        _t: f64,
        state: &State,
        _sensors: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        for k in 0..tau.len() {
            let error = self.target[k] - state.q[k];
            self.integral[k] += error / RATE;
            tau[k] = 60.0 * error + 80.0 * self.integral[k] - 12.0 * state.v[k];
        }
        Ok(())
    }

    /// The checkpoint of a run holds the integral: a run that is resumed continues with the same bits.
    fn save(&self) -> Option<Vec<f64>> {
        Some(self.integral.clone())
    }

    fn restore(&mut self, saved: &[f64]) -> Result<()> {
        self.integral.copy_from_slice(saved);
        Ok(())
    }
}

fn simulate(model: &Model) -> Result<State> {
    let pid = Pid {
        target: vec![1.2, -0.6],
        integral: vec![0.0; 2],
    };
    let inputs = Inputs {
        controller: Controller::Own(Law::new(pid)),
        actuators: Some(model.actuators()),
        rate: Some(RATE),
        ..Inputs::default()
    };
    let options = SimulationOptions {
        duration: 6.0,
        ..SimulationOptions::default()
    };
    let start = State::neutral(model);
    let mut simulation = Simulation::new(model, &start, inputs, Vec::new(), options)?;
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples)?;
    }
    for used in simulation.actuator_uses() {
        println!(
            "{}: {:.3} s at its limit, largest demand {:.1} N·m",
            used.actuator.name, used.saturated, used.largest_demand
        );
    }
    let last = samples.pop().map_or(start, |sample| sample.state);
    println!("q = {:.4?} rad at the end", last.q);
    assert_eq!(simulation.finish().breaches().count(), 0);
    Ok(last)
}

/// Reads the robot and moves it.
pub fn main() -> Result<()> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/two_link_arm.urdf"
    );
    let model = catena_io::read_model(path.as_ref(), &catena_io::ReadOptions::default())?;
    let end = simulate(&model)?;
    assert!((end.q[0] - 1.2).abs() < 0.01 && (end.q[1] + 0.6).abs() < 0.01);
    Ok(())
}
