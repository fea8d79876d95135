//! Serial chains by Denavit–Hartenberg parameters, and the kinds of cases that treat them.

use super::COMMON_KEYS;
use super::element::{Element, Object};
use super::noise::{Sample, Subject, foundations};
use super::report::Numbers;
use super::response::{Response, Situation, System, mechanical_quantity};
use super::simulation::{RUN_KEYS, Run, read_controller, read_instants};
use catena::algorithm::factorization::reverse_gaussian_elimination;
use catena::algorithm::forward_dynamics::{WalkerOrin, forward_dynamics_walker_orin};
use catena::error::Result;
use catena::model::{Inertial, JointKind, JointSpec, LinkSpec, dh};
use catena::simulate::Inputs;
use catena::trajectory::{self, PointToPoint, Profile};
use catena::{Dynamics, Matrix, Model, ModelBuilder, State};

/// Reads a model of the form `dh_chain`.
pub(super) fn read_chain(model: &Element<'_>) -> Result<Model> {
    let object = model.object(&["kind", "gravity", "links"])?;
    expect_kind(&object, "dh_chain")?;
    let mut builder = case_builder(&object)?;
    add_links(&mut builder, "world", &object.require("links")?)?;
    model.build(&builder)
}

/// Checks that the model has the form that the kind of the case requires.
pub(super) fn expect_kind(model: &Object<'_>, wanted: &str) -> Result<()> {
    let kind = model.require("kind")?;
    let found = kind.text()?;
    if found == wanted {
        Ok(())
    } else {
        Err(kind.error(format!("must be \"{wanted}\" here, not \"{found}\"")))
    }
}

/// An empty model with the gravity of the case. The bodies of a case are taken as given: unphysical inertias are accepted.
pub(super) fn case_builder(model: &Object<'_>) -> Result<ModelBuilder> {
    let mut builder = ModelBuilder::new("case");
    builder.gravity = model.require("gravity")?.vector()?;
    builder.allow_unphysical = true;
    Ok(builder)
}

/// Adds `link1`, `link2`, … with their joints.
pub(super) fn add_links(
    builder: &mut ModelBuilder,
    first_parent: &str,
    links: &Element<'_>,
) -> Result<()> {
    let mut parent = first_parent.to_string();
    let links = links.list()?;
    for (index, link) in links.iter().enumerate() {
        let number = index + 1;
        let object = link.object(&["type", "a", "b", "alpha", "theta", "mass", "r", "inertia"])?;
        let kind = object.require("type")?;
        let kind = match kind.text()? {
            "revolute" => JointKind::Revolute,
            "prismatic" => JointKind::Prismatic,
            other => {
                return Err(kind.error(format!(
                    "must be \"revolute\" or \"prismatic\", not \"{other}\""
                )));
            }
        };
        let parameter = |key: &str| object.require(key)?.number();
        let name = format!("link{number}");
        builder.links.push(LinkSpec {
            name: name.clone(),
            inertial: Some(Inertial {
                mass: parameter("mass")?,
                centre: -object.require("r")?.vector()?,
                tensor: object.require("inertia")?.symmetric()?,
            }),
            place: link.place(),
            ..LinkSpec::default()
        });
        let joint = JointSpec {
            joint_from_child: dh(
                parameter("a")?,
                parameter("b")?,
                parameter("alpha")?,
                parameter("theta")?,
            ),
            place: link.place(),
            ..JointSpec::new(&format!("joint{number}"), kind, &parent, &name)
        };
        builder.joint(joint);
        parent = name;
    }
    Ok(())
}

/// Kind `serial_inverse`.
pub(super) fn inverse<'a>(case: &Element<'a>) -> Result<Vec<Sample<'a, Chain>>> {
    let own_keys = ["trajectory", "variants", "model", "samples"];
    let top = case.object(&[COMMON_KEYS, &own_keys].concat())?;
    let trajectory = top.get("trajectory").map(|t| read_trajectory(&t));
    let trajectory = trajectory.transpose()?;
    let variants = match top.get("variants") {
        Some(variants) => variants
            .list()?
            .iter()
            .map(|variant| variant.object(&["model", "samples"]))
            .collect::<Result<_>>()?,
        None => vec![top],
    };
    let mut samples = Vec::new();
    for variant in variants {
        let model = read_chain(&variant.require("model")?)?;
        for element in variant.require("samples")?.list()? {
            let sample = element.object(&["t", "q", "qd", "qdd", "tau"])?;
            let mut chain = Chain::read(&model, &sample, Given::Accelerations)?;
            let mut expected = vec![("tau".to_string(), sample.require("tau")?)];
            if let Some(trajectory) = &trajectory {
                chain.on_trajectory = Some(trajectory.at(sample.require("t")?.number()?));
                for key in ["q", "qd", "qdd"] {
                    expected.push((format!("trajectory.{key}"), sample.require(key)?));
                }
            }
            samples.push(Sample {
                element,
                subject: chain,
                expected,
            });
        }
    }
    Ok(samples)
}

/// Kinds `serial_matrices` (accelerations given) and `serial_forward` (efforts given).
pub(super) fn samples<'a>(case: &Element<'a>, given: Given) -> Result<Vec<Sample<'a, Chain>>> {
    let top = case.object(&[COMMON_KEYS, &["model", "samples"]].concat())?;
    let mut samples = Vec::new();
    for element in top.require("samples")?.list()? {
        let sample = element.object(&["model", "q", "qd", given.key(), "expected"])?;
        // values missing in a sample are those of the case
        let model = match sample.get("model") {
            Some(model) => read_chain(&model)?,
            None => read_chain(&top.require("model")?)?,
        };
        samples.push(Sample {
            subject: Chain::read(&model, &sample, given)?,
            expected: sample.require("expected")?.open_object()?.quantities("")?,
            element,
        });
    }
    Ok(samples)
}

/// Kind `serial_sim`.
pub(super) fn simulation<'a>(case: &Element<'a>) -> Result<Run<'a>> {
    let top = case.object(&[COMMON_KEYS, RUN_KEYS, &["q0", "qd0"]].concat())?;
    let model = read_chain(&top.require("model")?)?;
    let q = top.require("q0")?.numbers(model.nq())?;
    let v = top.require("qd0")?.numbers(model.nv())?;
    Ok(Run {
        initial: State::new(&model, &q, &v).map_err(|error| case.blame(error))?,
        inputs: Inputs {
            controller: read_controller(&top, |element| element.numbers(model.nv()))?,
            ..Inputs::default()
        },
        instants: read_instants(&top)?,
        stabilisation: Default::default(),
        model: model.clone(),
        view: Box::new(move |situation, _| Ok(Box::new(Falling::new(&model, situation)?))),
    })
}

/// A chain at an instant of its motion.
struct Falling {
    system: System,
    situation: Situation,
    responses: Vec<Response>,
}

impl Falling {
    fn new(model: &Model, situation: Situation) -> Result<Self> {
        let mut system = System::new(model);
        Ok(Falling {
            responses: system.responses(&situation)?,
            system,
            situation,
        })
    }
}

impl Subject for Falling {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "q" => vec![self.situation.state.q[..].into()],
            "qd" => vec![self.situation.state.v[..].into()],
            "qdd" => {
                let responses = self.responses.iter();
                responses.map(|response| response.vdot[..].into()).collect()
            }
            _ => {
                let response = &self.responses[0];
                return mechanical_quantity(name, &mut self.system, &self.situation, response);
            }
        }))
    }

    fn foundations(&mut self) -> Result<Numbers> {
        foundations(self.system.dynamics(), &self.situation.state)
    }
}

/// The cycloid from rest to rest along which the samples of a case lie.
fn read_trajectory(element: &Element<'_>) -> Result<PointToPoint> {
    let object = element.object(&["q0", "q1", "T"])?;
    let start = object.require("q0")?;
    let start = start.numbers(start.list()?.len())?;
    let end = object.require("q1")?.numbers(start.len())?;
    let duration = object.require("T")?.number()?;
    PointToPoint::new(Profile::Cycloid, &start, &end, duration).map_err(|e| element.blame(e))
}

/// Quantity that a sample gives besides positions and velocities.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Given {
    Accelerations,
    Efforts,
}

impl Given {
    fn key(self) -> &'static str {
        match self {
            Given::Accelerations => "qdd",
            Given::Efforts => "tau",
        }
    }
}

/// A chain at one state.
pub(super) struct Chain {
    dynamics: Dynamics,
    state: State,
    given: Given,
    /// The accelerations or efforts given.
    numbers: Vec<f64>,
    /// The given accelerations, or those that the given efforts produce.
    vdot: Vec<f64>,
    /// The motion that the trajectory of the case prescribes, where it has one.
    on_trajectory: Option<trajectory::Sample>,
}

impl Chain {
    fn read(model: &Model, sample: &Object<'_>, given: Given) -> Result<Self> {
        let q = sample.require("q")?.numbers(model.nq())?;
        let v = sample.require("qd")?.numbers(model.nv())?;
        let numbers = sample.require(given.key())?.numbers(model.nv())?;
        let blame = |error| sample.element.blame(error);
        let state = State::new(model, &q, &v).map_err(blame)?;
        Chain::new(model, state, given, numbers).map_err(blame)
    }

    fn new(model: &Model, state: State, given: Given, numbers: Vec<f64>) -> Result<Self> {
        let mut dynamics = Dynamics::new(model);
        let vdot = match given {
            Given::Accelerations => numbers.clone(),
            Given::Efforts => dynamics.forward(&state, &numbers, &[])?.to_vec(),
        };
        Ok(Chain {
            dynamics,
            state,
            given,
            numbers,
            vdot,
            on_trajectory: None,
        })
    }

    fn inertia(&mut self) -> Result<&Matrix> {
        self.dynamics.inertia(&self.state)
    }

    /// I as U D Uᵀ.
    fn product_of_factors(&mut self) -> Result<Matrix> {
        let factors = self.dynamics.factorization(&self.state)?;
        let u = factors.u(self.dynamics.model());
        let mut scaled = u.clone();
        for (k, d) in factors.d().into_iter().enumerate() {
            for i in 0..=k {
                scaled[(i, k)] *= d;
            }
        }
        Ok(scaled.product(&u.transpose()))
    }

    fn gravity(&mut self) -> Result<Vec<f64>> {
        Ok(self.dynamics.gravity(&self.state)?.to_vec())
    }

    /// I v̇.
    fn inertial_efforts(&mut self) -> Result<Vec<f64>> {
        Ok(self.dynamics.inertia(&self.state)?.times(&self.vdot))
    }

    /// C v.
    fn convective_efforts(&mut self) -> Result<Vec<f64>> {
        Ok(self.dynamics.coriolis(&self.state)?.times(&self.state.v))
    }

    /// τ by the recursion.
    fn recursive_efforts(&mut self) -> Result<Vec<f64>> {
        let Chain {
            dynamics,
            state,
            vdot,
            ..
        } = self;
        Ok(dynamics.inverse(state, vdot, &[])?.to_vec())
    }

    /// τ by the recursion, minus I v̇, C v and gravity as requested.
    fn efforts_less(&mut self, terms: &[&[f64]]) -> Result<Vec<f64>> {
        let mut efforts = self.recursive_efforts()?;
        for term in terms {
            for (effort, term) in efforts.iter_mut().zip(*term) {
                *effort -= term;
            }
        }
        Ok(efforts)
    }

    /// v̇ by composite bodies and Cholesky.
    fn dense_accelerations(&self) -> Vec<f64> {
        let model = self.dynamics.model();
        let mut vdot = vec![0.0; model.nv()];
        forward_dynamics_walker_orin(
            model,
            self.state.view(),
            &self.numbers,
            &[],
            &mut WalkerOrin::new(model),
            &mut vdot,
        );
        vdot
    }
}

impl Subject for Chain {
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>> {
        Ok(Some(match name {
            "gim" => {
                let product = self.product_of_factors()?;
                vec![self.inertia()?.into(), (&product).into()]
            }
            "C" => vec![self.dynamics.coriolis(&self.state)?.into()],
            "gravity_torque" => {
                let inertial = self.inertial_efforts()?;
                let convective = self.convective_efforts()?;
                let rest = self.efforts_less(&[&inertial, &convective])?;
                vec![self.gravity()?.into(), rest.into()]
            }
            "tau" => {
                let mut sum = self.inertial_efforts()?;
                let others = [self.convective_efforts()?, self.gravity()?];
                for (k, sum) in sum.iter_mut().enumerate() {
                    *sum += others[0][k] + others[1][k];
                }
                vec![self.recursive_efforts()?.into(), sum.into()]
            }
            // φ = τ − C v − gravity = I v̇
            "phi" => {
                let terms = [self.convective_efforts()?, self.gravity()?];
                let rest = self.efforts_less(&[&terms[0], &terms[1]])?;
                vec![rest.into(), self.inertial_efforts()?.into()]
            }
            "U" => {
                let factors = self.dynamics.factorization(&self.state)?;
                let explicit = reverse_gaussian_elimination(self.inertia()?);
                let u = factors.u(self.dynamics.model());
                vec![(&u).into(), (&explicit.u).into()]
            }
            "D" => {
                let factors = self.dynamics.factorization(&self.state)?;
                let explicit = reverse_gaussian_elimination(self.inertia()?);
                vec![factors.d().into(), explicit.d.into()]
            }
            "qdd" if self.given == Given::Efforts => {
                vec![self.vdot[..].into(), self.dense_accelerations().into()]
            }
            _ => match (&self.on_trajectory, name) {
                (Some(at), "trajectory.q") => vec![at.q[..].into()],
                (Some(at), "trajectory.qd") => vec![at.v[..].into()],
                (Some(at), "trajectory.qdd") => vec![at.vdot[..].into()],
                _ => return Ok(None),
            },
        }))
    }

    fn foundations(&mut self) -> Result<Numbers> {
        foundations(&mut self.dynamics, &self.state)
    }
}
