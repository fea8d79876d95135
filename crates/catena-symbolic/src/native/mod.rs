//! Machine code for one model: its straight-line programs assembled in memory, for one state or for the lanes of a register.
//!
//! The general recursions traverse any tree; many of their factors are 0 or 1 for a given robot. Here the algorithm is traced
//! symbolically, simplified for the numbers of this model, and assembled for this processor, in milliseconds and without a
//! compiler (in the files `lower`, `allocate` and `encode`). [`compile`] compares the code with the general recursions at random
//! states before it returns it.
//!
//! ```
//! use catena::{Dynamics, State, model::embedded};
//! use catena_symbolic::native::{self, NativeOptions};
//!
//! let model = embedded::model("chain-7")?;
//! let compiled = native::compile(&model, &NativeOptions::default())?;
//! let mut dynamics = Dynamics::with_compiled(&compiled);
//! let state = State::neutral(&model);
//! let vdot = dynamics.forward(&state, &[0.0; 7], &[])?;
//! assert_eq!(vdot.len(), 7);
//! # Ok::<(), catena::Error>(())
//! ```

mod allocate;
mod encode;
mod lower;

use crate::Program;
use crate::generate;
use catena::ClosedChain;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Family;
use catena::native::{Code, Compiled, FamilyCode, Kernel, MadeFor, Routine, Width};
use catena::residual::{self, difference, ratio, within};
use catena::{Base, Cpu, Dynamics, Model, State};
use std::sync::Arc;
use std::time::Instant;

/// Options of the compilation.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// Quantities to compute.
    pub kernels: Vec<Kernel>,
    /// Code for one state at a time.
    pub single: bool,
    /// Code for the states in the lanes of a register.
    pub lanes: bool,
    /// The instruction set of the code.
    pub cpu: Cpu,
    /// As in [`generate::CodeOptions::dust`].
    pub dust: f64,
}

impl Default for NativeOptions {
    /// Inverse and forward dynamics and the inertia matrix, for one state and for lanes, on the best path of this processor.
    fn default() -> Self {
        NativeOptions {
            kernels: vec![Kernel::Inverse, Kernel::Forward, Kernel::Inertia],
            single: true,
            lanes: true,
            cpu: Cpu::detect(),
            dust: generate::CodeOptions::DUST,
        }
    }
}

/// Code for the accelerations of one state at a time, as a [`Compiler`](catena::native::Compiler).
pub fn for_simulation(model: &Model) -> Result<Compiled> {
    let options = NativeOptions {
        kernels: vec![Kernel::Forward],
        lanes: false,
        ..NativeOptions::default()
    };
    model.expect_tree()?;
    compile(model, &options)
}

/// Degrees of freedom beyond which the general algorithm is faster anyway. Derivatives of an expression grow with the depth of the tree.
fn most_freedoms(kernel: Kernel) -> usize {
    match kernel {
        Kernel::Inverse | Kernel::Forward | Kernel::Closed => usize::MAX,
        Kernel::Inertia => 64,
        Kernel::InverseDerivatives | Kernel::ForwardDerivatives => 24,
    }
}

/// Length of code, in bytes, beyond which the general algorithm is faster: straight-line code is executed once, fetched from the
/// outer caches; the loops of the general algorithms stay in the L1 cache, with a column in every lane. Measured: docs/theory/speed.md.
fn largest(kernel: Kernel, lanes: bool) -> usize {
    match (kernel, lanes) {
        (Kernel::Inverse | Kernel::Forward | Kernel::Closed, _) => 4 << 20,
        (Kernel::Inertia, false) => 96 << 10,
        (Kernel::Inertia, true) => 256 << 10,
        (Kernel::InverseDerivatives, false) => 24 << 10,
        (Kernel::InverseDerivatives, true) => 128 << 10,
        (Kernel::ForwardDerivatives, false) => 64 << 10,
        (Kernel::ForwardDerivatives, true) => 512 << 10,
    }
}

/// Allowed difference between compiled and general results, relative to the largest number of a result: round-off of a model
/// with long sums stays far below.
const AGREEMENT: f64 = 1e-9;

/// Number of states at which they are compared.
const STATES: u64 = 3;

/// Traces, assembles and checks the code of a model. Where the general algorithm is faster, there is no code: [`Compiled::code`] returns
/// what there is. For a model with loops there is code only for [`Kernel::Closed`], which [`CompiledChain`](catena::CompiledChain)
/// and [`Batch`](catena::Batch) run.
pub fn compile(model: &Model, options: &NativeOptions) -> Result<Compiled> {
    model.expect_no_forces("compiled code")?;
    let start = Instant::now();
    let cpu = options.cpu.min(Cpu::best());
    if cpu == Cpu::Baseline {
        return Err(no_processor());
    }
    let mut widths = Vec::new();
    if options.single {
        widths.push(Width::single(cpu));
    }
    if options.lanes {
        widths.push(Width::lanes_of(cpu));
    }
    let traced = generate::CodeOptions {
        dust: options.dust,
        ..generate::CodeOptions::default()
    };
    let mut codes = Vec::new();
    let made_for = model.fingerprint();
    if let Some(loops) = generate::Loops::examined(model)? {
        if loops.has_drivers() {
            let message = format!(
                "compiled code does not take the time, on which the drivers of `{}` depend",
                model.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message).hint(
                "the general algorithm takes it: leave compilation out; source code (`catena generate`) takes it, too",
            ));
        }
        let program = loops.kernel(&traced)?;
        let kernel = Kernel::Closed;
        for &width in &widths {
            let made_for = MadeFor {
                kernel,
                model: made_for,
            };
            let code = assemble(&program, width, 0, Some(made_for))?;
            if code.bytes() <= largest(kernel, width.lanes() > 1) {
                codes.push((kernel, code));
            }
        }
        let compiled = Compiled::new(model, codes, start.elapsed())?;
        agree_closed(model, &loops, &compiled, &widths)?;
        return Ok(compiled);
    }
    for &kernel in &options.kernels {
        for &width in &widths {
            let lanes = width.lanes() > 1;
            if model.nv() > most_freedoms(kernel) {
                continue;
            }
            let program = generate::kernel(model, kernel, lanes, &traced)?;
            let shared = if lanes {
                kernel.matrices(model.nv())
            } else {
                0
            };
            let code = assemble(
                &program,
                width,
                shared,
                Some(MadeFor {
                    kernel,
                    model: made_for,
                }),
            )?;
            if code.bytes() <= largest(kernel, lanes) {
                codes.push((kernel, code));
            }
        }
    }
    let compiled = Compiled::new(model, codes, start.elapsed())?;
    agree(model, &compiled, options, &widths)?;
    Ok(compiled)
}

/// Forward dynamics in lanes for a family of models: one code for all members, in which the numbers that differ are inputs. It is compared with
/// the general recursion of the nominal model and of some `members` before it is returned.
pub fn compile_family(family: Family, members: &[Model], cpu: Cpu) -> Result<FamilyCode> {
    let start = Instant::now();
    let cpu = cpu.min(Cpu::best());
    if cpu == Cpu::Baseline {
        return Err(no_processor());
    }
    let width = Width::lanes_of(cpu);
    let made_for = MadeFor {
        kernel: Kernel::Forward,
        model: family.fingerprint(),
    };
    let program = generate::family_kernel(&family);
    let code = assemble(&program, width, 0, Some(made_for))?;
    if code.bytes() > largest(Kernel::Forward, true) {
        let name = family.nominal().name();
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the code for `{name}` is too long to be faster than the general recursion"),
        )
        .hint("leave compilation out"));
    }
    let compiled = FamilyCode::new(family, code, start.elapsed())?;
    let compared = [members.first(), members.last()].into_iter().flatten();
    for member in compared.chain([compiled.family().nominal()]) {
        let parameters = compiled.family().parameters(member)?;
        let mut general = Dynamics::with_cpu(member, cpu);
        for seed in 0..STATES {
            let (mut state, other) = (State::random(member, seed), State::random(member, !seed));
            state.base = Base::fixed();
            let input = [&other.v[..], &parameters].concat();
            let found = compiled.code().try_out(&state.q, &state.v, &input);
            let wanted = general.kernel_results(Kernel::Forward, &state, &other.v)?;
            let apart = difference(&found[..wanted.len()], &wanted);
            let error = ratio(apart, residual::largest(&wanted));
            judge(member, (error, Kernel::Forward))?;
        }
    }
    Ok(compiled)
}

/// Code of a program of q, v and further numbers (`tau[…]`), for one state at a time. It belongs to no model.
pub(crate) fn routine(program: &Program) -> Result<Routine> {
    let cpu = Cpu::detect();
    if cpu == Cpu::Baseline {
        return Err(no_processor());
    }
    Routine::new(&assemble(program, Width::single(cpu), 0, None)?)
}

fn no_processor() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "code is assembled for processors with AVX2 or AVX-512 only; this processor has neither, or CATENA_CPU excludes them",
    )
    .hint("the general recursions run everywhere: leave compilation out")
}

/// Bytes after the code: decoders of other programs, valgrind's among them, read beyond the last instruction.
const BEYOND: usize = 64;

/// The code of a program. Among the first few results equal ones share a register.
#[allow(unsafe_code)]
fn assemble(
    program: &Program,
    width: Width,
    shared: usize,
    made_for: Option<MadeFor>,
) -> Result<Code> {
    let (places, outputs) = lower::places(program, shared);
    let steps = lower::lowered(program, &places)?;
    let (bytes, frame) = allocate::assembled(&steps, width);
    let refused = |problem: std::io::Error| {
        Error::new(
            ErrorKind::Unsupported,
            format!("the system provides no memory for code: {problem}"),
        )
        .hint("the general recursions need none: leave compilation out")
    };
    let mut memory = memmap2::MmapMut::map_anon(bytes.len() + BEYOND).map_err(refused)?;
    memory[..bytes.len()].copy_from_slice(&bytes);
    let memory = memory.make_exec().map_err(refused)?;
    let entry = memory.as_ptr();
    // constants are broadcast to the lanes when they are read, or here
    let copies = if width.extended() { 1 } else { width.lanes() };
    let constants = steps
        .constants
        .iter()
        .flat_map(|&x| std::iter::repeat_n(x, copies))
        .collect();
    // SAFETY: the memory holds a whole function for the processor of `width`, which reads its arguments within the lengths given
    // here and writes nothing but its frame and its output; it lives as long as the code.
    Ok(unsafe {
        Code::new(
            entry,
            Arc::new(memory),
            bytes.len(),
            width,
            constants,
            steps.angles,
            steps.inputs,
            frame,
            outputs,
            places,
            made_for,
        )
    })
}

/// Compares the code with the general recursions at random states.
fn agree(
    model: &Model,
    compiled: &Compiled,
    options: &NativeOptions,
    widths: &[Width],
) -> Result<()> {
    let mut general = Dynamics::with_cpu(model, options.cpu);
    let mut worst = (0.0, Kernel::Inverse);
    for seed in 0..STATES {
        let (mut state, other) = (State::random(model, seed), State::random(model, !seed));
        state.base = Base::fixed();
        let x = other.v;
        for &kernel in &options.kernels {
            for &width in widths {
                let Some(code) = compiled.code(kernel, width) else {
                    continue;
                };
                let found = code.try_out(&state.q, &state.v, &x);
                let wanted = general.kernel_results(kernel, &state, &x)?;
                // pivots may follow the results, and code for lanes gives no inertia matrix with derivatives
                let count = found.len().min(wanted.len());
                let apart = difference(&found[..count], &wanted[..count]);
                let error = ratio(apart, residual::largest(&wanted));
                if error.is_nan() || error > worst.0 {
                    worst = (error, kernel);
                }
            }
        }
    }
    judge(model, worst)
}

/// Compares the code of a closed chain with the general algorithm at the closed states at which its rows were examined, wherever its
/// signs say that it is valid. Code that is valid nowhere is useless.
fn agree_closed(
    model: &Model,
    loops: &generate::Loops,
    compiled: &Compiled,
    widths: &[Width],
) -> Result<()> {
    let mut general = ClosedChain::new(model);
    let mut worst = (0.0, Kernel::Closed);
    let mut useful = codes_of(compiled, widths) == 0;
    let results = model.nv() + model.constraint_rows();
    for (k, (_, state)) in loops.states().iter().enumerate() {
        let tau = State::random(model, !(k as u64)).v;
        let wanted = general.forward(0.0, state, &tau, &[])?.accelerations;
        for &width in widths {
            let Some(code) = compiled.code(Kernel::Closed, width) else {
                continue;
            };
            let found = code.try_out(&state.q, &state.v, &tau);
            if !found[results..].iter().all(|&sign| sign > 0.0) {
                continue;
            }
            useful = true;
            let apart = difference(&found[..wanted.len()], wanted);
            let error = ratio(apart, residual::largest(wanted));
            if error.is_nan() || error > worst.0 {
                worst = (error, Kernel::Closed);
            }
        }
    }
    if !useful {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the constraints of `{}` lose rank at every position that was tried: code for it would be of no use",
                model.name()
            ),
        )
        .hint("leave compilation out; the general algorithm is not affected"));
    }
    judge(model, worst)
}

/// Number of these widths that have code for a closed chain.
fn codes_of(compiled: &Compiled, widths: &[Width]) -> usize {
    let with_code = |width: &&Width| compiled.code(Kernel::Closed, **width).is_some();
    widths.iter().filter(with_code).count()
}

/// Rejects code that differs.
fn judge(model: &Model, (worst, kernel): (f64, Kernel)) -> Result<()> {
    if within(worst, AGREEMENT) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "the code compiled for {} of `{}` differs from the general recursion by {worst:.1e}",
            kernel.name(),
            model.name(),
        ),
    )
    .hint("leave compilation out; the general recursions are not affected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expr, scope};
    use catena::Scalar;
    use catena::random::Random;

    fn widths() -> Vec<Width> {
        let all = [Cpu::Avx2, Cpu::Avx512].into_iter();
        all.filter(|&cpu| cpu <= Cpu::best())
            .flat_map(|cpu| [Width::single(cpu), Width::lanes_of(cpu)])
            .collect()
    }

    /// A program of this many operations, each of earlier results, near or far; with this many outputs of either sign.
    fn random_program(random: &mut Random, operations: usize, outputs: usize) -> Program {
        scope(|| {
            let mut known: Vec<Expr> = Vec::new();
            for name in ["q", "v", "tau"] {
                known.extend(Expr::symbols(name, 5));
            }
            let q = Expr::symbols("q", 5);
            for (k, angle) in q.iter().enumerate() {
                let (sin, cos) = (*angle + Expr::constant(0.1 * k as f64)).sin_cos();
                known.extend([sin, cos, Expr::constant(random.uniform(-2.0, 2.0))]);
            }
            for _ in 0..operations {
                let mut pick = || {
                    let far = random.below(4) == 0;
                    let reach = if far {
                        known.len()
                    } else {
                        known.len().min(12)
                    };
                    let x = known[known.len() - 1 - random.below(reach)];
                    if random.below(3) == 0 { -x } else { x }
                };
                let (a, b, c, d) = (pick(), pick(), pick(), pick());
                let tame = Expr::constant(1.5) + a * a;
                known.push(match random.below(9) {
                    0 | 1 => a + b,
                    2 | 3 => a * b * Expr::constant(0.7),
                    4 | 5 => a * b + c,
                    6 => a * a + a,
                    7 => b / tame + tame.sqrt().recip(),
                    _ => Expr::select(a.less(b), c, d),
                });
                let last = known.len() - 1;
                // numbers stay of the order of one
                let size = known[last] * known[last] + Expr::one();
                known[last] = known[last] / size;
            }
            let wanted: Vec<Expr> = (0..outputs)
                .map(|k| {
                    let x = known[known.len() - 1 - random.below(known.len())];
                    let x = if k % 7 == 5 { Expr::zero() } else { x };
                    if k % 3 == 0 { -x } else { x }
                })
                .collect();
            Program::unoptimized(&wanted)
        })
    }

    /// Every instruction, spills to the frame, near and far places in memory: the code does what the program says. Products are
    /// fused, so the two differ by round-off, which the operations above do not amplify.
    fn code_computes_what_the_program_says(widths: &[Width]) {
        let mut random = Random::new(1);
        for round in 0..120 {
            let (operations, outputs) = [(5, 3), (60, 20), (600, 200)][round % 3];
            let program = random_program(&mut random, operations, outputs);
            let inputs: Vec<[f64; 5]> = (0..3)
                .map(|_| [0; 5].map(|_| random.uniform(-1.0, 1.0)))
                .collect();
            let wanted = program.evaluate(|name| {
                let array = ["q", "v", "tau"].iter().position(|a| name.starts_with(*a));
                let index = name[name.len() - 2..name.len() - 1].parse::<usize>();
                inputs[array.expect("known")][index.expect("a digit")]
            });
            for &width in widths {
                let shared = if width.lanes() > 1 { outputs / 2 } else { 0 };
                let code = assemble(&program, width, shared, None).expect("it can be assembled");
                let found = code.try_out(&inputs[0], &inputs[1], &inputs[2]);
                for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                    assert!(
                        (found - wanted).abs() <= 1e-10 * wanted.abs().max(1.0),
                        "round {round}, {width:?}, output {k}: {found} instead of {wanted}"
                    );
                }
            }
        }
    }

    fn widths_of(is_lanes: bool) -> Vec<Width> {
        let of_kind = |width: &Width| (width.lanes() > 1) == is_lanes;
        widths().into_iter().filter(of_kind).collect()
    }

    /// valgrind runs this test (`.ci/memcheck`); it does not support the instructions of the next one.
    #[test]
    fn code_for_one_state_computes_what_the_program_says() {
        code_computes_what_the_program_says(&widths_of(false));
    }

    #[test]
    fn code_for_lanes_computes_what_the_program_says() {
        code_computes_what_the_program_says(&widths_of(true));
    }

    #[test]
    fn angles_of_other_kinds_are_refused() {
        let program = scope(|| {
            let q = Expr::symbols("q", 2);
            Program::unoptimized(&[(q[0] * q[1]).sin_cos().0])
        });
        let error = assemble(&program, widths()[0], 0, None).expect_err("no such angle");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
