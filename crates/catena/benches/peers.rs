//! Speed of one call, for the comparison with other engines: the program that `peers/run.sh speed` runs for catena.
//!
//! It reads commands from standard input, one per line, and answers each with one line; `peers/speed/engine.h` has the commands
//! and the format of the files, which the programs of the other engines use too. What is timed are the public calls of
//! [`Dynamics`] (variant `single`) and [`Batch`] (variant `batch`, time per state) with code compiled for the model, and of the same
//! without it (`single-general`, `batch-general`), checks of their input included, in a plain release build.

mod serving;

use catena::algorithm::factorization::Factorization;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::{Inertial, JointKind, JointSpec, ModelBuilder, embedded};
use catena::native::Kernel;
use catena::scalar::Count;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Base, Batch, Cpu, Dynamics, Matrix, Model, State, StateView};
use catena_symbolic::native::{self, NativeOptions};
use serving::{Done, Table, measure, serve};
use std::hint::black_box;
use std::path::Path;

/// A result: a vector, or up to three matrices by rows.
type Parts<'a> = [&'a [f64]; 3];

/// A batch writes at most about this many numbers, 1 MB, unless one register of states has more: a single state's results stay in the
/// caches, and so may a batch's.
const MOST_RESULTS: usize = 1 << 17;

/// A quantity at one state.
struct Single {
    quantity: &'static str,
    run: for<'a> fn(&'a mut Bench, usize) -> catena::Result<Parts<'a>>,
}

/// A quantity at many states: `results` numbers per state for a model of nv freedoms.
struct Many {
    quantity: &'static str,
    results: fn(usize) -> usize,
    run: fn(&mut Batch, &Inputs<'_>, &mut [f64]) -> catena::Result<()>,
}

/// The upper triangle of the inertia matrix: what Pinocchio fills.
const UPPER: &str = "inertia-upper";

/// What can be asked of [`Dynamics`].
const SINGLE: &[Single] = &[
    Single {
        quantity: "inverse",
        run: |b, k| {
            Ok([
                b.doors[b.route].inverse(&b.states[k], &b.vdot[k], &[])?,
                &[],
                &[],
            ])
        },
    },
    Single {
        quantity: "forward",
        run: |b, k| {
            Ok([
                b.doors[b.route].forward(&b.states[k], &b.tau[k], &[])?,
                &[],
                &[],
            ])
        },
    },
    Single {
        quantity: "inertia",
        run: |b, k| Ok([b.doors[b.route].inertia(&b.states[k])?.as_slice(), &[], &[]]),
    },
    Single {
        quantity: UPPER,
        run: |b, k| {
            let upper = b.doors[b.route].inertia_upper(&b.states[k])?;
            Ok([upper.as_slice(), &[], &[]])
        },
    },
    Single {
        quantity: "factorization",
        run: |b, k| {
            b.doors[b.route]
                .factorize(&b.states[k])
                .map(|()| [&[][..]; 3])
        },
    },
    Single {
        quantity: "inverse-derivatives",
        run: |b, k| {
            let of_tau = b.doors[b.route].inverse_derivatives(&b.states[k], &b.vdot[k], &[])?;
            Ok([&of_tau.dq, &of_tau.dv, &of_tau.inertia].map(Matrix::as_slice))
        },
    },
    Single {
        quantity: "forward-derivatives",
        run: |b, k| {
            let of_vdot = b.doors[b.route].forward_derivatives(&b.states[k], &b.tau[k], &[])?;
            Ok([&of_vdot.dq, &of_vdot.dv, &of_vdot.dtau].map(Matrix::as_slice))
        },
    },
];

/// What can be asked of [`Batch`].
const MANY: &[Many] = &[
    Many {
        quantity: "inverse",
        results: |nv| nv,
        run: |batch, at, out| batch.inverse(at.q, at.v, at.vdot, out),
    },
    Many {
        quantity: "forward",
        results: |nv| nv,
        run: |batch, at, out| batch.forward(at.q, at.v, at.tau, out),
    },
    Many {
        quantity: "inertia",
        results: |nv| nv * nv,
        run: |batch, at, out| batch.inertia(at.q, out),
    },
    Many {
        quantity: UPPER,
        results: |nv| nv * nv,
        run: |batch, at, out| batch.inertia_upper(at.q, out),
    },
    Many {
        quantity: "factorization",
        results: |nv| nv,
        run: |batch, at, _| batch.factorize(at.q),
    },
    Many {
        quantity: "inverse-derivatives",
        results: |nv| 2 * nv * nv,
        run: |batch, at, out| batch.inverse_derivatives(at.q, at.v, at.vdot, out),
    },
    Many {
        quantity: "forward-derivatives",
        results: |nv| 3 * nv * nv,
        run: |batch, at, out| batch.forward_derivatives(at.q, at.v, at.tau, out),
    },
];

/// Operations of a recursion: additions, multiplications and divisions, and pairs of sine and cosine.
type Counting = fn(&Model, &Counted) -> (u64, u64);

/// What is counted.
const COUNTED: &[(&str, Counting)] = &[
    ("inverse", |model, at| {
        let (mut work, mut out) = (InverseDynamics::new(model), at.x.clone());
        at.count(|| {
            inverse_dynamics(
                model,
                StateView {
                    q: &at.q,
                    v: &at.x,
                    base: &Base::fixed(),
                },
                &at.x,
                &[],
                &mut work,
                &mut out,
            )
        })
    }),
    ("forward", |model, at| {
        let (mut work, mut out) = (ForwardDynamics::new(model), at.x.clone());
        at.count(|| {
            forward_dynamics(
                model,
                StateView {
                    q: &at.q,
                    v: &at.x,
                    base: &Base::fixed(),
                },
                &at.x,
                &[],
                &mut work,
                &mut out,
            )
        })
    }),
    ("inertia", |model, at| {
        let mut work = CompositeBodies::new(model);
        let mut out = vec![Count::variable(0.0); model.nv() * model.nv()];
        at.count(|| inertia_matrix(model, &at.q, &mut work, &mut out))
    }),
    ("factorization", |model, at| {
        let mut factors = Factorization::new(model);
        at.count(|| factors.factorize(model, &at.q))
    }),
];

/// Positions, and numbers for velocities, accelerations or efforts, of which nothing is known beforehand.
struct Counted {
    q: Vec<Count>,
    x: Vec<Count>,
}

impl Counted {
    fn count(&self, work: impl FnOnce()) -> (u64, u64) {
        let ((), spent) = Count::measure(work);
        (spent.total() - spent.sines, spent.sines)
    }
}

/// States of a batch, one after another.
struct Inputs<'a> {
    q: &'a [f64],
    v: &'a [f64],
    vdot: &'a [f64],
    tau: &'a [f64],
}

/// One model, its states, and the entry points to its dynamics.
struct Bench {
    /// General, and with code for the model.
    doors: [Dynamics; 2],
    batches: [Batch; 2],
    /// Which of them.
    route: usize,
    states: Vec<State>,
    vdot: Vec<Vec<f64>>,
    tau: Vec<Vec<f64>>,
    table: Table,
}

impl Bench {
    fn load(tree: &str, states: &str) -> Done<Self> {
        let model = read_tree(Path::new(tree))?;
        let (nq, nv) = (model.nq(), model.nv());
        let table = Table::read(states, &model)?;
        let options = NativeOptions {
            kernels: Kernel::ALL.to_vec(),
            ..NativeOptions::default()
        };
        let compiled = native::compile(&model, &options)?;
        let rows = |numbers: &[f64]| -> Vec<Vec<f64>> {
            numbers.chunks_exact(nv).map(<[f64]>::to_vec).collect()
        };
        Ok(Bench {
            doors: [Dynamics::new(&model), Dynamics::with_compiled(&compiled)],
            batches: [Batch::new(&model), Batch::with_compiled(&compiled)],
            route: 0,
            states: table
                .q
                .chunks_exact(nq)
                .zip(table.v.chunks_exact(nv))
                .map(|(q, v)| State::new(&model, q, v))
                .collect::<catena::Result<_>>()?,
            vdot: rows(&table.vdot),
            tau: rows(&table.tau),
            table,
        })
    }

    fn model(&self) -> &Model {
        self.doors[0].model()
    }

    /// States per call of a batch: all of them, or as many full registers as their results have room.
    fn batch_size(&self, many: &Many) -> usize {
        let lanes = self.batches[0].lanes();
        let fitting = MOST_RESULTS / (many.results)(self.model().nv());
        self.table.count.min((fitting / lanes).max(1) * lanes)
    }

    /// A batch of the states from `first` on.
    fn run_batch(
        &mut self,
        many: &Many,
        first: usize,
        count: usize,
        out: &mut [f64],
    ) -> catena::Result<()> {
        let (nq, nv) = (self.model().nq(), self.model().nv());
        let (positions, others) = (
            first * nq..(first + count) * nq,
            first * nv..(first + count) * nv,
        );
        let inputs = Inputs {
            q: &self.table.q[positions],
            v: &self.table.v[others.clone()],
            vdot: &self.table.vdot[others.clone()],
            tau: &self.table.tau[others],
        };
        (many.run)(&mut self.batches[self.route], &inputs, out)
    }

    /// Results of the first states, for comparison with the other engines.
    fn results(&mut self, call: &str, count: usize, path: &str) -> Done<String> {
        let count = count.min(self.table.count);
        let mut numbers = Vec::new();
        let (call, route) = find(call)?;
        self.route = route;
        let quantity = match call {
            Call::Single(single) => single.quantity,
            Call::Many(many) => many.quantity,
        };
        match call {
            Call::Single(single) => {
                for k in 0..count {
                    for part in (single.run)(self, k)? {
                        numbers.extend_from_slice(part);
                    }
                    if single.quantity == "factorization" {
                        let mut x = self.tau[k].clone(); // what the factors solve: I x = τ
                        self.doors[self.route].solve(&mut x)?;
                        numbers.extend(x);
                    }
                }
            }
            Call::Many(many) => {
                numbers.resize(count * (many.results)(self.model().nv()), 0.0);
                self.run_batch(many, 0, count, &mut numbers)?;
                if many.quantity == "factorization" {
                    numbers.clone_from_slice(&self.table.tau[..count * self.model().nv()]);
                    self.batches[self.route].solve(&mut numbers)?;
                }
            }
        }
        if quantity == UPPER {
            let nv = self.model().nv();
            for matrix in numbers.chunks_exact_mut(nv * nv) {
                mirror(matrix, nv);
            }
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(path, bytes)?;
        Ok("done".into())
    }

    fn time(&mut self, call: &str, seconds: f64) -> Done<String> {
        let count = self.table.count;
        let (call, route) = find(call)?;
        self.route = route;
        match call {
            Call::Single(single) => {
                let mut k = 0;
                measure(seconds, count, 1, || {
                    black_box((single.run)(self, k)?);
                    k = if k + 1 < count { k + 1 } else { 0 };
                    Ok(())
                })
            }
            Call::Many(many) => {
                let size = self.batch_size(many);
                let mut out = vec![0.0; size * (many.results)(self.model().nv())];
                let mut first = 0;
                measure(seconds, 1, size, || {
                    self.run_batch(many, first, size, &mut out)?;
                    black_box(&out);
                    first = if first + 2 * size <= count {
                        first + size
                    } else {
                        0
                    };
                    Ok(())
                })
            }
        }
    }
}

/// Writes the upper triangle of a matrix over the lower one.
fn mirror(matrix: &mut [f64], nv: usize) {
    for row in 1..nv {
        for column in 0..row {
            matrix[row * nv + column] = matrix[column * nv + row];
        }
    }
}

enum Call {
    Single(&'static Single),
    Many(&'static Many),
}

/// Names of the variants: one state and batches, general and compiled.
const VARIANTS: [&str; 4] = ["single-general", "single", "batch-general", "batch"];

fn find(call: &str) -> Done<(Call, usize)> {
    let (quantity, variant) = call.split_once('/').unwrap_or((call, ""));
    let route = VARIANTS.iter().position(|known| *known == variant);
    let found = match route {
        Some(0 | 1) => {
            let single = SINGLE.iter().find(|c| c.quantity == quantity);
            single.map(Call::Single)
        }
        Some(_) => MANY.iter().find(|c| c.quantity == quantity).map(Call::Many),
        None => None,
    };
    match (found, route) {
        (Some(found), Some(route)) => Ok((found, route % 2)),
        _ => Err(format!("there is no call `{call}`").into()),
    }
}

/// The model of a tree file (the format is described in peers/speed_models.py). Chains are taken from the embedded models instead, by the
/// file's name: that the two are the same shows when results are compared.
fn read_tree(path: &Path) -> Done<Model> {
    let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or("tree");
    if name.contains("chain-") {
        return Ok(embedded::model(name)?);
    }
    let mut builder = ModelBuilder::new(name);
    builder.allow_unphysical = true; // inertias as the robot's makers published them
    let mut names = vec!["world".to_string()];
    for line in std::fs::read_to_string(path)?.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[body, kind, parent, ..] = &words[..] else {
            return Err(format!("wrong line in {}: {line}", path.display()).into());
        };
        let numbers: Vec<f64> = words[3..]
            .iter()
            .map(|w| w.parse())
            .collect::<Result<_, _>>()?;
        let numbers: [f64; 25] = numbers.try_into().map_err(|_| "25 numbers per body")?;
        let vector = |k: usize| Vec3::new(numbers[k], numbers[k + 1], numbers[k + 2]);
        // rows of the rotation are columns of its transpose
        let rotation = Mat3 {
            x: vector(0),
            y: vector(3),
            z: vector(6),
        }
        .transpose();
        let kind = JointKind::ALL
            .into_iter()
            .find(|k| k.name() == kind)
            .ok_or_else(|| format!("unknown joint `{kind}`"))?;
        let parent = names.get(parent.parse::<usize>()?).ok_or("parent")?;
        let mut joint = JointSpec::new(&format!("{body}-joint"), kind, parent, body);
        joint.parent_from_joint = Pose::new(rotation, vector(9));
        joint.axes.first = vector(12);
        let [xx, yy, zz, xy, xz, yz] = [19, 20, 21, 22, 23, 24].map(|k| numbers[k]);
        builder.link(
            body,
            Inertial {
                mass: numbers[15],
                centre: vector(16),
                tensor: Sym3::new(xx, yy, zz, xy, xz, yz),
            },
        );
        builder.joint(joint);
        names.push(body.into());
    }
    Ok(builder.build()?)
}

fn answer(bench: &mut Option<Bench>, line: &str) -> Done<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let loaded = || "nothing is loaded".to_string();
    match words[..] {
        ["load", tree, states] => {
            let new = bench.insert(Bench::load(tree, states)?);
            Ok(format!("loaded {} {}", new.model().nq(), new.model().nv()))
        }
        ["calls"] => {
            let mut told = "calls".to_string();
            for (k, variant) in VARIANTS.iter().enumerate() {
                let single = SINGLE.iter().map(|c| c.quantity).filter(|_| k < 2);
                let many = MANY.iter().map(|c| c.quantity).filter(|_| k >= 2);
                for quantity in single.chain(many) {
                    told += &format!(" {quantity}/{variant}");
                }
            }
            Ok(told)
        }
        ["joints"] => {
            let model = bench.as_ref().ok_or_else(loaded)?.model();
            let joints = model.tree().bodies[1..].iter();
            let told = joints.map(|b| format!(" {}:{}:{}:{}", b.name, b.kind.name(), b.q, b.v));
            Ok(format!("joints{}", told.collect::<String>()))
        }
        ["operations"] => {
            let bench = bench.as_ref().ok_or_else(loaded)?;
            let counted = |numbers: &[f64]| numbers.iter().map(|x| Count::variable(*x)).collect();
            let at = Counted {
                q: counted(&bench.states[0].q),
                x: counted(&bench.states[0].v),
            };
            let told = COUNTED.iter().map(|(quantity, counting)| {
                let (plain, sines) = counting(bench.model(), &at);
                format!(" {quantity}:{plain}:{sines}")
            });
            Ok(format!("operations{}", told.collect::<String>()))
        }
        ["version"] => Ok(format!(
            "version {} {:?}",
            env!("CARGO_PKG_VERSION"),
            Cpu::detect()
        )),
        ["results", call, count, path] => {
            let bench = bench.as_mut().ok_or_else(loaded)?;
            bench.results(call, count.parse()?, path)
        }
        ["time", call, seconds] => bench
            .as_mut()
            .ok_or_else(loaded)?
            .time(call, seconds.parse()?),
        _ => Err(format!("not understood: {line}").into()),
    }
}

fn main() -> Done<()> {
    let mut bench = None;
    serve("speed", |line| answer(&mut bench, line))
}
