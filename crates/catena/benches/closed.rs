//! Speed of forward dynamics of closed chains, for the comparison with Pinocchio: the program that `peers/run.sh closed-chains` runs for
//! catena. It answers orders as the bench `peers` does, and writes closed states for everyone.
//!
//! * `ring`: twelve revolute joints in a row, the tip of the last link held at a point: 3 rows;
//! * `loop-N`: N revolute joints in a row, the tip held in all directions: 6 rows;
//! * `four-bar-N`: N four-bar linkages in a row, each closed at a point: 3 N rows, N of them dependent;
//! * `stewart`: six legs under a plate, each closed at a point: 18 rows.
//!
//! `single` and `batch` run code made for the model, `single-general` and `batch-general` do without it; a batch runs on one thread.
//! `exact` has the digits: double-double arithmetic.

mod serving;

use catena::ClosedChain;
use catena::algorithm::constrained::chosen_rows::forward_dynamics_closed;
use catena::model::{ConstraintSpec, JointKind, JointSpec, RuleSpec, embedded};
use catena::random::Random;
use catena::scalar::DoubleDouble;
use catena::spatial::{Pose, Vec3};
use catena::{
    Base, Batch, CompiledChain, Cpu, Dynamics, Model, ModelBuilder, Scalar, State, StateView,
};
use catena_symbolic::native::{self, NativeOptions};
use serving::{Done, Table, measure, serve};
use std::hint::black_box;
use std::path::Path;

/// The reach of the links of an embedded chain.
const TIP: Vec3<f64> = Vec3::new(0.0, 0.0, 0.2);

/// A mechanism, and a state near which it is closed.
fn mechanism(name: &str) -> Done<(Model, State)> {
    let count = |prefix: &str| {
        name.strip_prefix(prefix)
            .and_then(|n| n.parse::<usize>().ok())
    };
    if name == "ring" {
        return held_chain(12, JointKind::Spherical);
    }
    if let Some(n) = count("loop-") {
        return held_chain(n, JointKind::Fixed);
    }
    if let Some(n) = count("four-bar-") {
        return four_bars(n);
    }
    let model = embedded::model(name)?;
    let state = State::start(&model);
    Ok((model, state))
}

/// A chain whose tip is held where it is at a first state, at a point or altogether.
fn held_chain(n: usize, held: JointKind) -> Done<(Model, State)> {
    let mut builder = embedded::builder(&format!("chain-{n}"))?;
    let tree = builder.build()?;
    let q: Vec<f64> = (0..n).map(|k| 0.3 + 0.2 * (k as f64).sin()).collect();
    let v: Vec<f64> = (0..n).map(|k| 0.5 * (k as f64).cos()).collect();
    let state = State::new(&tree, &q, &v)?;
    let last = format!("link{n}");
    let frame = tree.tree().frame(&last).cloned().ok_or("the last link")?;
    let tip = Dynamics::new(&tree).frame_pose(&state, &frame)? * Pose::shift(TIP);
    let mut joint = JointSpec::new("tip", held, "world", &last);
    joint.parent_from_joint = match held {
        JointKind::Fixed => tip,
        _ => Pose::shift(tip.translation),
    };
    joint.joint_from_child = Pose::shift(-TIP);
    builder.constraint(ConstraintSpec::joint(joint));
    Ok((builder.build()?, state))
}

fn four_bars(n: usize) -> Done<(Model, State)> {
    let mut builder: ModelBuilder = embedded::builder(&format!("four-bar-{n}"))?;
    let end = Vec3::new(1.0, 0.0, 0.0);
    for constraint in &mut builder.constraints {
        if let RuleSpec::Joint(joint) = &constraint.rule {
            let (parent, child) = (joint.parent.clone(), joint.child.clone());
            *constraint = ConstraintSpec::point(&constraint.name, &parent, end, &child, end);
        }
    }
    for joint in &mut builder.joints {
        let upright = joint.name.starts_with("foot");
        joint.start = vec![if upright { 1.1 } else { -1.1 }];
    }
    let model = builder.build()?;
    let mut state: State = State::start(&model);
    for (v, q) in state.v.iter_mut().zip(&state.q) {
        *v = -q.signum();
    }
    Ok((model, state))
}

/// Closed states near the first: moved along closed motions, and closed again.
fn closed_states(name: &str, count: usize) -> Done<Table> {
    let (model, mut state) = mechanism(name)?;
    let mut chain = ClosedChain::new(&model);
    chain.project(0.0, &mut state)?;
    let (mut random, mut table) = (Random::new(7), Table::default());
    table.count = count;
    for _ in 0..count {
        let mut next = state.clone();
        for v in &mut next.v {
            *v = random.uniform(-1.0, 1.0);
        }
        chain.project(0.0, &mut next)?;
        let reach = 0.5 / (5.0 + model.nv() as f64);
        let step: Vec<f64> = next.v.iter().map(|v| reach * v).collect();
        next.step(&model, &step);
        chain.project(0.0, &mut next)?;
        table.q.extend(&next.q);
        table.v.extend(&next.v);
        table
            .tau
            .extend((0..model.nv()).map(|_| random.uniform(-1.0, 1.0)));
    }
    table.vdot = vec![0.0; table.tau.len()];
    Ok(table)
}

/// One mechanism at its states.
struct Bench {
    model: Model,
    general: ClosedChain,
    compiled: CompiledChain,
    batches: [Batch; 2],
    states: Vec<State>,
    table: Table,
    /// Independent rows.
    chosen: Vec<usize>,
}

const CALLS: [&str; 4] = ["single-general", "single", "batch-general", "batch"];

impl Bench {
    fn load(tree: &str, states: &str) -> Done<Self> {
        let name = Path::new(tree).file_stem().and_then(|n| n.to_str());
        let (model, _) = mechanism(name.ok_or("a file of a tree")?)?;
        let table = Table::read(states, &model)?;
        let states: Vec<State> = (table.q.chunks_exact(model.nq()))
            .zip(table.v.chunks_exact(model.nv()))
            .map(|(q, v)| State::new(&model, q, v))
            .collect::<catena::Result<_>>()?;
        let mut general = ClosedChain::new(&model);
        let chosen = general.freedoms(0.0, &states[0])?.rows;
        let compiled = native::compile(&model, &NativeOptions::default())?;
        Ok(Bench {
            general,
            compiled: CompiledChain::new(&compiled),
            batches: [Batch::new(&model), Batch::with_compiled(&compiled)],
            states,
            table,
            chosen,
            model,
        })
    }

    fn tau(&self, k: usize) -> &[f64] {
        let nv = self.model.nv();
        &self.table.tau[k * nv..(k + 1) * nv]
    }

    /// v̇ at one state.
    fn single(&mut self, call: &str, k: usize) -> catena::Result<&[f64]> {
        let (nv, state) = (self.model.nv(), &self.states[k]);
        let tau = &self.table.tau[k * nv..(k + 1) * nv];
        let motion = match call {
            "single" => self.compiled.forward(0.0, state, tau, &[])?,
            _ => self.general.forward(0.0, state, tau, &[])?,
        };
        Ok(motion.accelerations)
    }

    /// v̇ at all states.
    fn batch(&mut self, call: &str, out: &mut [f64]) -> catena::Result<()> {
        let batch = &mut self.batches[usize::from(call == "batch")];
        let Table { q, v, tau, .. } = &self.table;
        batch.forward(q, v, tau, out)
    }

    /// v̇ in double-double arithmetic.
    fn exact(&self, k: usize) -> Vec<f64> {
        let wide = |x: &[f64]| -> Vec<DoubleDouble> {
            x.iter().map(|&x| DoubleDouble::constant(x)).collect()
        };
        let (q, v) = (wide(&self.states[k].q), wide(&self.states[k].v));
        let state = StateView {
            q: &q,
            v: &v,
            base: &Base::fixed(),
        };
        let tau = wide(self.tau(k));
        let time = DoubleDouble::zero();
        let found = forward_dynamics_closed(&self.model, &self.chosen, time, state, &tau, &[]);
        found.0.iter().map(|x| x.value()).collect()
    }

    fn results(&mut self, call: &str, count: usize) -> Done<Vec<f64>> {
        let count = count.min(self.table.count);
        let mut numbers = vec![0.0; self.table.tau.len()];
        match call {
            "batch" | "batch-general" => self.batch(call, &mut numbers)?,
            _ => {
                numbers.clear();
                for k in 0..count {
                    match call {
                        "exact" => numbers.extend(self.exact(k)),
                        _ => numbers.extend(self.single(call, k)?),
                    }
                }
            }
        }
        numbers.truncate(count * self.model.nv());
        Ok(numbers)
    }

    fn time(&mut self, call: &str, seconds: f64) -> Done<String> {
        let count = self.table.count;
        if call.starts_with("batch") {
            let mut out = vec![0.0; self.table.tau.len()];
            return measure(seconds, 1, count, || {
                self.batch(call, &mut out)?;
                black_box(&out);
                Ok(())
            });
        }
        let mut k = 0;
        measure(seconds, count, 1, || {
            black_box(self.single(call, k)?);
            k = if k + 1 < count { k + 1 } else { 0 };
            Ok(())
        })
    }
}

/// A file of states, as `peers/speed/engine.h` has it.
fn write_states(path: &str, model: &Model, table: &Table) -> Done<String> {
    let head = [table.count, model.nq(), model.nv()].map(|n| (n as i64).to_le_bytes());
    let numbers = [&table.q, &table.v, &table.vdot, &table.tau];
    let numbers = numbers.into_iter().flatten().map(|x| x.to_le_bytes());
    let bytes: Vec<u8> = head.into_iter().chain(numbers).flatten().collect();
    std::fs::write(path, bytes)?;
    Ok("done".into())
}

fn answer(bench: &mut Option<Bench>, line: &str) -> Done<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let loaded = || "nothing is loaded".to_string();
    let variant = |call: &str| -> Done<String> {
        let found = call
            .strip_prefix("forward/")
            .filter(|c| CALLS.contains(c) || *c == "exact");
        Ok(found
            .ok_or_else(|| format!("there is no call `{call}`"))?
            .to_string())
    };
    match words[..] {
        ["states", name, count, path] => {
            let table = closed_states(name, count.parse()?)?;
            write_states(path, &mechanism(name)?.0, &table)
        }
        ["load", tree, states] => {
            let new = bench.insert(Bench::load(tree, states)?);
            Ok(format!("loaded {} {}", new.model.nq(), new.model.nv()))
        }
        ["calls"] => Ok(CALLS
            .iter()
            .fold("calls".into(), |told, call| told + " forward/" + call)),
        ["joints", name] => {
            let (model, _) = mechanism(name)?;
            let joints = model.tree().bodies[1..].iter();
            let told = joints.map(|b| format!(" {}:{}:{}:{}", b.name, b.kind.name(), b.q, b.v));
            Ok(format!("joints{}", told.collect::<String>()))
        }
        ["route"] => {
            let bench = bench.as_ref().ok_or_else(loaded)?;
            Ok(format!("route {:?}", bench.general.route()))
        }
        ["version"] => Ok(format!(
            "version {} {:?}",
            env!("CARGO_PKG_VERSION"),
            Cpu::detect()
        )),
        ["results", call, count, path] => {
            let bench = bench.as_mut().ok_or_else(loaded)?;
            let numbers = bench.results(&variant(call)?, count.parse()?)?;
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            std::fs::write(path, bytes)?;
            Ok("done".into())
        }
        ["time", call, seconds] => {
            let bench = bench.as_mut().ok_or_else(loaded)?;
            bench.time(&variant(call)?, seconds.parse()?)
        }
        _ => Err(format!("not understood: {line}").into()),
    }
}

fn main() -> Done<()> {
    let mut bench = None;
    serve("closed-chains", |line| answer(&mut bench, line))
}
