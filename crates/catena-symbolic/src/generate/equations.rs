//! The expressions of each function: catena's algorithms run in [`Expr`] on a reduced model.

use super::sample::samples;
use super::{Array, CodeOptions, Function, Loops, Question, articulated, composite};
use crate::derive::{Keep, parametric};
use crate::{Expr, Program, jacobian, scope};
use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::elements::{element_energies, element_wrenches, generalized};
use catena::algorithm::energy::mechanical_state;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use catena::algorithm::passive::passive_force;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{BodyInfo, Coordinate, Couplings, Family, FrameInfo, JointKind, Reduced};
use catena::native::Kernel;
use catena::spatial::Force;
use catena::text::shown;
use catena::{Base, Matrix, Model, Scalar, StateView};

/// The frame of the Jacobian and the pose. Unless named: the only frame that the model defines besides those of its
/// links, otherwise the last frame on the last body of a tree without branches.
pub(super) fn chosen_frame<'a>(model: &'a Model, options: &CodeOptions) -> Result<&'a FrameInfo> {
    let tree = model.tree();
    let refused = |what: String| {
        let names: Vec<&str> = tree.frames.iter().map(|f| f.name.as_str()).collect();
        Error::new(ErrorKind::Input, what).hint(format!(
            "name one (`--frame`): its frames are {}",
            names.join(", ")
        ))
    };
    if !options.frame.is_empty() {
        let message = || format!("`{}` has no frame `{}`", model.name(), options.frame);
        return tree.frame(&options.frame).ok_or_else(|| refused(message()));
    }
    let moving = || tree.frames.iter().filter(|frame| frame.body != 0);
    let of_a_link = |frame: &FrameInfo| {
        let body = &tree.bodies[frame.body];
        frame.name == body.name || body.merged.contains(&frame.name)
    };
    let own: Vec<&FrameInfo> = moving().filter(|frame| !of_a_link(frame)).collect();
    if let [only] = own[..] {
        return Ok(only);
    }
    let is_parent = |body: usize| (1..tree.bodies.len()).any(|child| tree.parent(child) == body);
    let tips: Vec<usize> = (1..tree.bodies.len()).filter(|&b| !is_parent(b)).collect();
    let last = match (own.is_empty(), &tips[..]) {
        (true, [tip]) => moving().rfind(|frame| frame.body == *tip),
        _ => None,
    };
    last.ok_or_else(|| {
        refused(format!(
            "Jacobian and pose of which frame? `{}` has {}",
            model.name(),
            match own.len() {
                0 => format!("{} ends", tips.len()),
                n => format!("{n} frames besides those of its links"),
            }
        ))
    })
}

/// Traces the algorithm of a quantity.
pub(super) fn function(
    model: &Model,
    question: Question,
    options: &CodeOptions,
    loops: Option<&Loops>,
) -> Result<Function> {
    if let Some(loops) = loops {
        return match question.is_of_loops() {
            true => loops.function(question, options),
            false => function(&model.clone().open_tree(), question, options, None),
        };
    }
    let (nq, nv) = (model.nq(), model.nv());
    let q = array("q", nq, "positions");
    let v = array("v", nv, "velocities");
    let vdot = array("vdot", nv, "accelerations");
    let tau = array("tau", nv, "efforts");
    let square = |name, meaning: &str| array(name, nv * nv, meaning);
    let slopes = |meaning: &str| square("derivative", meaning);
    let (inputs, outputs) = match question {
        Question::Inverse => (vec![q, v, vdot], vec![tau]),
        Question::Forward => (vec![q, v, tau], vec![vdot]),
        Question::Inertia => (vec![q], vec![square("inertia", "inertia matrix")]),
        Question::InertiaUpper => {
            let upper = upper_places(model).len();
            let meaning = "entries of the upper triangle";
            (vec![q], vec![array("upper", upper, meaning)])
        }
        Question::Factor => (
            vec![q],
            vec![square("u", "U"), array("d", nv, "diagonal of D")],
        ),
        Question::Bias => (vec![q, v], vec![array("bias", nv, "efforts")]),
        Question::Gravity => (vec![q], vec![array("gravity", nv, "efforts")]),
        Question::Jacobian => {
            let frame = &chosen_frame(model, options)?.name;
            let meaning = format!("Jacobian of `{frame}`, 6 rows");
            (vec![q], vec![array("jacobian", 6 * nv, &meaning)])
        }
        Question::Pose => {
            let frame = &chosen_frame(model, options)?.name;
            let rotation = format!("rotation matrix of `{frame}`");
            let position = format!("position of `{frame}`");
            (
                vec![q],
                vec![
                    array("rotation", 9, &rotation),
                    array("position", 3, &position),
                ],
            )
        }
        Question::Energy => (vec![q, v], vec![array("energy", 2, "kinetic, potential")]),
        Question::InverseByPosition => (vec![q, v, vdot], vec![slopes("∂τ/∂q")]),
        Question::InverseByVelocity => (vec![q, v, vdot], vec![slopes("∂τ/∂v")]),
        Question::ForwardByPosition => (vec![q, v, tau], vec![slopes("∂v̇/∂q")]),
        Question::ForwardByVelocity => (vec![q, v, tau], vec![slopes("∂v̇/∂v")]),
        Question::ForwardByEffort => (vec![q], vec![slopes("∂v̇/∂τ")]),
    };
    let (program, method) = programs(model, question, options)?
        .into_iter()
        .min_by_key(|(program, _)| cost(program))
        .expect("there is at least one way");
    let (samples, snapping_error) = samples(model, question, options)?;
    let mut inputs = inputs;
    let parameters = parameters(model, options);
    if !parameters.is_empty() {
        inputs.push(array("p", parameters.len(), "parameters of the model"));
    }
    Ok(Function {
        question,
        samples,
        snapping_error,
        inputs,
        outputs,
        method,
        program,
    })
}

pub(super) fn array(name: &'static str, length: usize, meaning: &str) -> Array {
    Array {
        name,
        length,
        meaning: shown(meaning),
    }
}

/// The cost by which variants of a computation are compared: operations, and the latency of the longest dependency chain in cycles. Their
/// sum orders the variants of forward dynamics of chains and arms by measured time; operations alone do not.
pub(super) fn cost(program: &Program) -> u64 {
    let count = program.operation_count();
    let work = count.multiplications + count.additions + 8 * (count.divisions + count.square_roots);
    work + program.longest_chain()
}

/// The variants of a computation. With parameters, given inertias and inertias regrouped by the code are two variants.
pub(super) fn programs(
    model: &Model,
    question: Question,
    options: &CodeOptions,
) -> Result<Vec<(Program, &'static str)>> {
    let mut ways = traced_ways(model, question, options, false)?;
    let kinematic = matches!(
        question,
        Question::Jacobian | Question::Pose | Question::Energy
    );
    if options.parameters != Keep::default() && !kinematic {
        ways.extend(traced_ways(model, question, options, true)?);
    }
    Ok(ways)
}

fn traced_ways(
    model: &Model,
    question: Question,
    options: &CodeOptions,
    regroup: bool,
) -> Result<Vec<(Program, &'static str)>> {
    let tree = &model.clone().open_tree();
    let reduced = match options.parameters == Keep::default() {
        true => tree.reduced(options.dust),
        false => unchanged(tree, options),
    };
    let traced = || {
        let traced = Traced::new(&reduced, model, options);
        match regroup {
            true => Traced {
                model: traced.model.regrouped(),
                ..traced
            },
            false => traced,
        }
    };
    let one = |work: &dyn Fn(&Traced<'_>) -> Vec<Expr>, method| {
        vec![(scope(|| Program::new(&work(&traced()))), method)]
    };
    let newton_euler = "recursive Newton–Euler";
    Ok(match question {
        Question::Inverse => one(&|t| t.inverse(&t.v(), &t.x("vdot")), newton_euler),
        Question::Bias => one(&|t| t.inverse(&t.v(), &t.rest()), newton_euler),
        Question::Gravity => one(&|t| t.inverse(&t.rest(), &t.rest()), newton_euler),
        Question::Inertia => one(&|t| t.inertia().as_slice().to_vec(), "composite bodies"),
        Question::InertiaUpper => one(
            &|t| {
                let inertia = t.inertia();
                let places = upper_places(model).into_iter();
                places.map(|place| inertia[place]).collect()
            },
            "composite bodies",
        ),
        Question::Factor => one(
            &|t| {
                let (u, d) = eliminated(t.inertia());
                u.as_slice().iter().chain(&d).copied().collect()
            },
            "composite bodies, elimination",
        ),
        Question::Forward => forward_ways(&traced, false),
        Question::InverseByPosition => one(
            &|t| t.by_position(&t.inverse(&t.v(), &t.x("vdot"))),
            "derivative of recursive Newton–Euler",
        ),
        Question::InverseByVelocity => one(
            &|t| jacobian(&t.inverse(&t.v(), &t.x("vdot")), &t.v()),
            "derivative of recursive Newton–Euler",
        ),
        Question::ForwardByPosition => one(
            &|t| t.forward_derivative(&|efforts| t.by_position(efforts)),
            "−I⁻¹ ∂τ/∂q at the accelerations found",
        ),
        Question::ForwardByVelocity => one(
            &|t| t.forward_derivative(&|efforts| jacobian(efforts, &t.v())),
            "−I⁻¹ ∂τ/∂v at the accelerations found",
        ),
        Question::ForwardByEffort => one(
            &|t| {
                let factors = eliminated(t.inertia());
                t.inverse_of_inertia(&factors)
            },
            "composite bodies, elimination",
        ),
        Question::Jacobian | Question::Pose | Question::Energy => {
            let aligned = match options.parameters == Keep::default() {
                true => tree.in_common_normal_frames(options.dust),
                false => unchanged(tree, options),
            };
            let name = match question {
                Question::Energy => String::new(), // of no frame
                _ => chosen_frame(model, options)?.name.clone(),
            };
            let program = scope(|| {
                Program::new(&Traced::new(&aligned, model, options).kinematic(question, &name))
            });
            vec![(program, "forward kinematics")]
        }
    })
}

/// The program of a kernel of machine code, with its results in the order of [`Kernel`]. The cheapest of several variants is
/// used. Kernels have no parameters: they contain the numbers of the model.
pub(super) fn kernel(model: &Model, kernel: Kernel, lanes: bool, options: &CodeOptions) -> Program {
    let reduced = model.clone().open_tree().reduced(options.dust);
    let options = &CodeOptions {
        parameters: Keep::default(),
        ..options.clone()
    };
    let traced = |work: &dyn Fn(&Traced<'_>) -> Vec<Expr>| {
        scope(|| Program::new(&work(&Traced::new(&reduced, model, options))))
    };
    let ways = match kernel {
        Kernel::Inverse => vec![traced(&|t| t.inverse(&t.v(), &t.x("vdot")))],
        Kernel::Inertia => vec![traced(&|t| t.inertia().as_slice().to_vec())],
        // a tree has no loops to keep closed
        Kernel::Forward | Kernel::Closed => {
            let ways = forward_ways(&|| Traced::new(&reduced, model, options), true).into_iter();
            ways.map(|(program, _)| program).collect()
        }
        Kernel::InverseDerivatives => vec![traced(&|t| {
            let efforts = t.inverse(&t.v(), &t.x("vdot"));
            let mut outputs = t.by_position(&efforts);
            outputs.extend(jacobian(&efforts, &t.v()));
            if !lanes {
                outputs.extend_from_slice(t.inertia().as_slice());
            }
            outputs
        })],
        Kernel::ForwardDerivatives => vec![traced(&|t| {
            let (vdot, factors) = t.forward();
            let mut outputs = t.forward_derivative(&|efforts| t.by_position(efforts));
            outputs.extend(t.forward_derivative(&|efforts| jacobian(efforts, &t.v())));
            outputs.extend(t.inverse_of_inertia(&factors));
            outputs.extend(vdot);
            outputs.extend(factors.1.iter().map(|d| d.recip()));
            outputs
        })],
    };
    ways.into_iter()
        .min_by_key(cost)
        .expect("there is at least one way")
}

/// Forward dynamics of the members of a family, followed by the inverses of the pivots D. The parameters follow the efforts in `tau`.
pub(super) fn family_kernel(family: &Family) -> Program {
    let ways = forward_ways(&|| Traced::of_family(family), true).into_iter();
    ways.map(|(program, _)| program)
        .min_by_key(cost)
        .expect("there is at least one way")
}

/// Forward dynamics by articulated bodies, and by the inertia matrix; on request followed by the inverses of the pivots D.
fn forward_ways<'a>(traced: &dyn Fn() -> Traced<'a>, pivots: bool) -> Vec<(Program, &'static str)> {
    let (mut freedoms, mut is_coupled) = (0, false);
    let articulated = scope(|| {
        let t = traced();
        freedoms = t.nv();
        let mut vdot = t.rest();
        if let Some(couplings) = &t.couplings {
            let mut work = CoupledDynamics::new(&t.model, couplings);
            let state = StateView {
                q: &t.independent,
                v: &t.v(),
                base: &Base::fixed(),
            };
            let tau = t.pushed(&t.x("tau"));
            work.forward(&t.model, couplings, state, &tau, &[], &mut vdot);
            if pivots {
                vdot.extend_from_slice(work.factors.inverse_pivots());
            }
            is_coupled = true;
            return Program::new(&vdot);
        }
        let mut work = ForwardDynamics::new(&t.model);
        forward_dynamics(
            &t.model,
            StateView {
                q: &t.q,
                v: &t.v(),
                base: &Base::fixed(),
            },
            &t.pushed(&t.x("tau")),
            &[],
            &mut work,
            &mut vdot,
        );
        if pivots {
            vdot.extend_from_slice(work.factors.inverse_pivots());
        }
        Program::new(&vdot)
    });
    let mut ways = Vec::new();
    if is_coupled {
        ways.push((articulated, "articulated clusters of coupled joints"));
    } else {
        ways.push((articulated, "articulated bodies"));
        ways.push((in_steps(traced, pivots), "articulated bodies, in steps"));
    }
    if !passed_over(freedoms) {
        let composite = scope(|| {
            let (mut vdot, (_, d)) = traced().forward();
            if pivots {
                vdot.extend(d.iter().map(|d| d.recip()));
            }
            Program::new(&vdot)
        });
        ways.push((composite, "Newton–Euler, composite bodies, elimination"));
    }
    ways
}

/// Articulated bodies in elementary steps.
fn in_steps<'a>(traced: &dyn Fn() -> Traced<'a>, pivots: bool) -> Program {
    scope(|| {
        let t = traced();
        let (v, mut effort) = (t.v(), t.pushed(&t.x("tau")));
        for (k, effort) in effort.iter_mut().enumerate() {
            *effort -= passive_force(&t.model, &t.q, &v, k);
        }
        let (mut vdot, inverse) =
            articulated::forward_dynamics(&t.model, &t.rotors, &t.q, &v, &effort);
        if pivots {
            vdot.extend(inverse);
        }
        Program::new(&vdot)
    })
}

/// Models with this many freedoms are not eliminated by the inertia matrix: it is never cheaper.
pub(super) fn passed_over(freedoms: usize) -> bool {
    freedoms > 40
}

/// A model with tiny numbers snapped: with parameters it keeps its frames.
pub(super) fn unchanged(model: &Model, options: &CodeOptions) -> Reduced {
    Reduced {
        model: model.clone().swept(options.dust),
        offset: vec![0.0; model.nq()],
    }
}

/// Names and values of the parameters, in the order of the array `p`.
pub(super) fn parameters(model: &Model, options: &CodeOptions) -> Vec<(String, f64)> {
    let mut values = Vec::new();
    if options.parameters != Keep::default() {
        let model = model.clone().open_tree().swept(options.dust);
        scope(|| parametric(&model, options.parameters, &mut values));
    }
    values
}

/// A model with its coordinates as symbols, and its parameters too.
pub(super) struct Traced<'a> {
    /// The tree.
    model: Model<Expr>,
    numbers: &'a Model,
    couplings: Option<Couplings<Expr>>,
    /// Rotor inertias of the tree.
    rotors: Vec<Expr>,
    /// Independent positions, in the frames of the tree.
    independent: Vec<Expr>,
    /// Positions of the tree.
    q: Vec<Expr>,
    /// Force elements are expressed in the frames of the given tree, with its own inertias: that tree and its positions.
    loaded: Option<(Model<Expr>, Vec<Expr>)>,
}

impl<'a> Traced<'a> {
    /// The tree of `given` in other frames, with the couplings of `given`.
    pub(super) fn new(reduced: &'a Reduced, given: &Model, options: &CodeOptions) -> Self {
        let numbers = &reduced.model;
        // coordinates first: among equal choices the optimiser takes the oldest factor
        let mut independent = Expr::symbols("q", given.nq());
        let shifted = given.couplings().map(|c| c.shifted(&reduced.offset));
        for (k, q) in independent.iter_mut().enumerate() {
            let at = shifted.as_ref().map_or(k, |c| c.positions()[k]);
            *q += Expr::constant(reduced.offset[at]);
        }
        let couplings = shifted.map(|c| c.map(&Expr::constant));
        let mut q = independent.clone();
        if let Some(couplings) = &couplings {
            q = vec![Expr::zero(); numbers.nq()];
            couplings.expand_positions(&independent, &mut q);
        }
        let (model, rotors) = match options.parameters == Keep::default() {
            true => {
                let rotors = (0..numbers.nv()).map(|k| Expr::constant(numbers.dof(k).armature));
                (numbers.map(Expr::constant), rotors.collect())
            }
            false => parametric(numbers, options.parameters, &mut Vec::new()),
        };
        let loaded = (!given.forces().is_empty()).then(|| {
            // with parameters the frames are those of the given tree already
            let tree = match options.parameters == Keep::default() {
                true => given.clone().open_tree().map(Expr::constant),
                false => model.clone(),
            };
            let own = Expr::symbols("q", given.nq());
            let mut positions = own.clone();
            if let Some(couplings) = given.couplings() {
                positions = vec![Expr::zero(); tree.nq()];
                (couplings.map(&Expr::constant)).expand_positions(&own, &mut positions);
            }
            (tree, positions)
        });
        Traced {
            model: model.without_forces(),
            numbers,
            couplings,
            rotors,
            independent,
            q,
            loaded,
        }
    }

    /// The reduced model of a family, with its parameters as symbols.
    fn of_family(family: &'a Family) -> Self {
        let reduced = family.reduced();
        let (nq, nv) = (reduced.model.nq(), reduced.model.nv());
        let mut q = Expr::symbols("q", nq);
        for (q, offset) in q.iter_mut().zip(&reduced.offset) {
            *q += Expr::constant(*offset);
        }
        let inputs = Expr::symbols("tau", nv + family.parameter_count());
        let (model, rotors) = family.map(Expr::constant, |k| inputs[nv + k]);
        Traced {
            model,
            numbers: &reduced.model,
            couplings: None,
            rotors,
            independent: q.clone(),
            q,
            loaded: None,
        }
    }

    /// Number of independent freedoms.
    pub(super) fn nv(&self) -> usize {
        (self.couplings.as_ref()).map_or(self.numbers.nv(), Couplings::nv)
    }

    /// Rates of the tree.
    fn rates(&self, v: &[Expr]) -> Vec<Expr> {
        let Some(couplings) = &self.couplings else {
            return v.to_vec();
        };
        let mut rates = vec![Expr::zero(); self.numbers.nv()];
        couplings.expand_rates(v, &mut rates);
        rates
    }

    pub(super) fn v(&self) -> Vec<Expr> {
        self.x("v")
    }

    pub(super) fn x(&self, name: &str) -> Vec<Expr> {
        Expr::symbols(name, self.nv())
    }

    pub(super) fn rest(&self) -> Vec<Expr> {
        vec![Expr::zero(); self.nv()]
    }

    /// Motion of the tree that force elements act on.
    fn motion_under_load(&self, v: &[Expr]) -> Option<(&Model<Expr>, Kinematics<Expr>)> {
        let (tree, q) = self.loaded.as_ref()?;
        let v = self.rates(v);
        let mut motion = Kinematics::new(tree);
        let (still, base) = (vec![Expr::zero(); v.len()], Base::fixed());
        let state = StateView {
            q,
            v: &v,
            base: &base,
        };
        forward_kinematics(tree, state, &still, &mut motion);
        Some((tree, motion))
    }

    /// The force elements at velocities v, as efforts of the independent freedoms.
    fn loads(&self, v: &[Expr]) -> Option<Vec<Expr>> {
        let (tree, motion) = self.motion_under_load(v)?;
        let mut wrenches = vec![Force::zero(); tree.body_count() + 1];
        element_wrenches(tree, &motion, &mut wrenches);
        let mut efforts = vec![Expr::zero(); tree.nv()];
        generalized(tree, &motion, &mut wrenches, &mut efforts);
        let Some(couplings) = &self.couplings else {
            return Some(efforts);
        };
        let mut independent = self.rest();
        couplings.contract(&efforts, &mut independent);
        Some(independent)
    }

    /// Efforts plus those of the force elements.
    fn pushed(&self, tau: &[Expr]) -> Vec<Expr> {
        let mut sum = tau.to_vec();
        for (sum, load) in sum
            .iter_mut()
            .zip(self.loads(&self.v()).unwrap_or_default())
        {
            *sum += load;
        }
        sum
    }

    pub(super) fn inverse(&self, v: &[Expr], vdot: &[Expr]) -> Vec<Expr> {
        let mut efforts = self.unloaded(v, vdot);
        for (effort, load) in efforts.iter_mut().zip(self.loads(v).unwrap_or_default()) {
            *effort -= load;
        }
        efforts
    }

    /// Inverse dynamics without force elements.
    fn unloaded(&self, v: &[Expr], vdot: &[Expr]) -> Vec<Expr> {
        let (v, vdot) = (self.rates(v), self.rates(vdot));
        let mut tau = vec![Expr::zero(); self.numbers.nv()];
        let mut work = InverseDynamics::new(&self.model);
        inverse_dynamics(
            &self.model,
            StateView {
                q: &self.q,
                v: &v,
                base: &Base::fixed(),
            },
            &vdot,
            &[],
            &mut work,
            &mut tau,
        );
        let Some(couplings) = &self.couplings else {
            return tau;
        };
        let mut independent = self.rest();
        couplings.contract(&tau, &mut independent);
        independent
    }

    fn inertia(&self) -> Matrix<Expr> {
        let inertia = composite::inertia_matrix(&self.model, &self.rotors, &self.q);
        match &self.couplings {
            None => inertia,
            Some(couplings) => couplings.congruence(&inertia),
        }
    }

    /// I v̇ = τ − bias, and the factors of I.
    pub(super) fn forward(&self) -> (Vec<Expr>, (Matrix<Expr>, Vec<Expr>)) {
        let bias = self.inverse(&self.v(), &self.rest());
        let factors = eliminated(self.inertia());
        let mut vdot = self.x("tau");
        for (tau, bias) in vdot.iter_mut().zip(bias) {
            *tau -= bias;
        }
        solve(&factors, &mut vdot);
        (vdot, factors)
    }

    /// Derivatives along q ⊕ δ, with respect to δ, a velocity times a time. For scalar coordinates that is ∂/∂q; a
    /// quaternion p changes by ½ p ∘ (0, δ).
    pub(super) fn by_position(&self, expressions: &[Expr]) -> Vec<Expr> {
        let (nv, q) = (self.nv(), Expr::symbols("q", self.independent.len()));
        let mut matrix = vec![Expr::zero(); expressions.len() * nv];
        for column in 0..nv {
            let (body, first) = places(&self.model, self.couplings.as_ref(), column);
            let k = column - first.v;
            let numbers = match body.kind.quaternion() {
                None => vec![(k, None)],
                Some(_) => direction(body.kind, k),
            };
            let seeds: Vec<(Expr, Expr)> = numbers
                .into_iter()
                .map(|(at, from)| {
                    let rate = match from {
                        None => Expr::one(),
                        Some((from, half)) => q[first.q + from] * Expr::constant(half),
                    };
                    (q[first.q + at], rate)
                })
                .collect();
            let rates = crate::rates(expressions, &seeds);
            for (row, value) in rates.into_iter().enumerate() {
                matrix[row * nv + column] = value;
            }
        }
        matrix
    }

    /// ∂v̇ from I v̇ + bias = τ: I ∂v̇ = −∂τ with v̇ held at its value.
    fn forward_derivative(&self, slopes: &dyn Fn(&[Expr]) -> Vec<Expr>) -> Vec<Expr> {
        let (vdot, factors) = self.forward();
        let held = self.x("vdot");
        let slopes = slopes(&self.inverse(&self.v(), &held));
        let replace: Vec<(Expr, Expr)> = held.into_iter().zip(vdot).collect();
        let slopes = crate::substitute(&slopes, &replace);
        let nv = self.nv();
        let mut derivative = vec![Expr::zero(); nv * nv];
        for column in 0..nv {
            let mut x: Vec<Expr> = (0..nv).map(|row| -slopes[row * nv + column]).collect();
            solve(&factors, &mut x);
            for row in 0..nv {
                derivative[row * nv + column] = x[row];
            }
        }
        derivative
    }

    fn inverse_of_inertia(&self, factors: &(Matrix<Expr>, Vec<Expr>)) -> Vec<Expr> {
        let nv = self.nv();
        let mut inverse = vec![Expr::zero(); nv * nv];
        for column in 0..nv {
            let mut x = self.rest();
            x[column] = Expr::one();
            solve(factors, &mut x);
            // symmetric: each entry is computed once
            for row in 0..=column {
                inverse[row * nv + column] = x[row];
                inverse[column * nv + row] = x[row];
            }
        }
        inverse
    }

    fn kinematic(&self, question: Question, frame: &str) -> Vec<Expr> {
        let model = &self.model;
        let v = self.rates(&match question {
            Question::Energy => self.v(),
            _ => self.rest(),
        });
        let still = vec![Expr::zero(); v.len()];
        let mut work = Kinematics::new(model);
        forward_kinematics(
            model,
            StateView {
                q: &self.q,
                v: &v,
                base: &Base::fixed(),
            },
            &still,
            &mut work,
        );
        let frame = || {
            let found = model.tree().frame(frame);
            found.expect("the frame was found before")
        };
        match question {
            Question::Energy => {
                let state = mechanical_state(model, &self.q, &v, &work);
                let mut potential = state.gravitational + state.elastic;
                if let Some((tree, motion)) = self.motion_under_load(&self.v()) {
                    let [fields, springs] = element_energies(tree, &motion);
                    potential += fields + springs;
                }
                vec![state.kinetic, potential]
            }
            Question::Pose => {
                let pose = work.frame_pose(frame());
                let mut entries: Vec<Expr> = pose.rotation.rows().into_iter().flatten().collect();
                entries.extend(pose.translation.to_array());
                entries
            }
            _ => {
                let mut jacobian = Matrix::zeros(6, model.nv());
                frame_jacobian(model, &work, frame(), &mut jacobian);
                if let Some(couplings) = &self.couplings {
                    let mut independent = Matrix::zeros(6, self.nv());
                    couplings.contract_columns(&jacobian, &mut independent);
                    jacobian = independent;
                }
                jacobian.as_slice().to_vec()
            }
        }
    }
}

/// The body that an independent freedom moves, and the first independent coordinates of its joint.
pub(super) fn places<'a, P>(
    model: &'a Model<P>,
    couplings: Option<&Couplings<P>>,
    freedom: usize,
) -> (&'a BodyInfo, Coordinate) {
    let tree = model.tree();
    let Some(couplings) = couplings else {
        let body = &tree.bodies[tree.dofs[freedom].body];
        return (
            body,
            Coordinate {
                q: body.q,
                v: body.v,
            },
        );
    };
    let body = &tree.bodies[tree.dofs[couplings.freedoms()[freedom]].body];
    let first = Coordinate {
        q: couplings.positions().partition_point(|&k| k < body.q),
        v: couplings.freedoms().partition_point(|&k| k < body.v),
    };
    (body, first)
}

/// How the positions of a joint change with its velocity k: the position that changes, and its rate: 1, or a factor times another
/// position. ṗ = ½ p ∘ (0, ω) for a quaternion.
pub(crate) fn direction(kind: JointKind, k: usize) -> Vec<(usize, Option<(usize, f64)>)> {
    let Some(first) = kind.quaternion() else {
        return vec![(k, None)];
    };
    if k < first {
        return vec![(k, None)];
    }
    // rows w, x, y, z of ½ p ∘ (0, e): which component of p, with what sign
    let table = [
        [(1, -0.5), (0, 0.5), (3, 0.5), (2, -0.5)],
        [(2, -0.5), (3, -0.5), (0, 0.5), (1, 0.5)],
        [(3, -0.5), (2, 0.5), (1, -0.5), (0, 0.5)],
    ];
    let rows = table[k - first].iter().enumerate();
    rows.map(|(row, &(from, half))| (first + row, Some((first + from, half))))
        .collect()
}

/// Rows and columns of the entries of I on and above its diagonal, row after row, except those that are zero in every position:
/// freedoms of bodies on different branches.
pub(super) fn upper_places(model: &Model) -> Vec<(usize, usize)> {
    let tree = model.tree();
    let carries = |row: usize, column: usize| {
        if model.couplings().is_some() {
            return true; // couplings join branches
        }
        let (lower, mut at) = (tree.dofs[row].body, tree.dofs[column].body);
        while at > lower {
            at = tree.bodies[at].parent;
        }
        at == lower
    };
    let mut places = Vec::new();
    for row in 0..model.nv() {
        places.extend(
            (row..model.nv())
                .filter(|&column| carries(row, column))
                .map(|column| (row, column)),
        );
    }
    places
}

/// I = U D Uᵀ by reverse elimination of the upper triangle; zeros of a branching tree stay zeros.
pub(super) fn eliminated<S: Scalar>(mut inertia: Matrix<S>) -> (Matrix<S>, Vec<S>) {
    let n = inertia.rows();
    let mut u = Matrix::identity(n);
    for k in (0..n).rev() {
        let pivot = inertia[(k, k)].recip();
        for i in 0..k {
            let factor = inertia[(i, k)] * pivot;
            for j in 0..=i {
                let other = inertia[(j, k)];
                inertia[(j, i)] -= factor * other;
            }
            u[(i, k)] = factor;
        }
    }
    let d = (0..n).map(|k| inertia[(k, k)]).collect();
    (u, d)
}

/// Solves U D Uᵀ x = b in place.
pub(super) fn solve((u, d): &(Matrix<Expr>, Vec<Expr>), x: &mut [Expr]) {
    let n = x.len();
    for k in (0..n).rev() {
        for i in 0..k {
            let carried = u[(i, k)] * x[k];
            x[i] -= carried;
        }
    }
    for k in 0..n {
        x[k] = x[k] / d[k];
    }
    for k in 0..n {
        for i in 0..k {
            let carried = u[(i, k)] * x[i];
            x[k] -= carried;
        }
    }
}
