//! Machine code generated for one model, and how [`Dynamics`](crate::Dynamics) and [`Batch`](crate::Batch) call it.
//!
//! The code is generated elsewhere (`catena_symbolic::native`). Its interface is defined here: a function that reads positions,
//! velocities and one more vector, and writes results; each a single number, or a register of numbers, one per state. The sines and
//! cosines of the joint angles are computed before the call.

use crate::Cpu;
use crate::arch::{Entry, Sines, prefetch};
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Family, Model};
use crate::scalar::{Fused, Scalar, Vector, Wide};
use crate::thresholds::{FIRST_CACHE, REGISTERS_PER_SINE};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// Quantities that compiled code computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// τ from q, v, v̇.
    Inverse,
    /// v̇ from q, v, τ, and the pivots D of the inertia matrix.
    Forward,
    /// I from q.
    Inertia,
    /// ∂τ/∂q, ∂τ/∂v and, for one state, I.
    InverseDerivatives,
    /// ∂v̇/∂q, ∂v̇/∂v, I⁻¹, v̇ and the pivots D.
    ForwardDerivatives,
    /// v̇ and λ of a closed chain from q, v, τ, and numbers that are positive where these are valid
    /// ([`RowsAt::signs`](crate::algorithm::constrained::chosen_rows::RowsAt::signs)).
    Closed,
}

impl Kernel {
    /// All kernels of trees.
    pub const ALL: [Kernel; 5] = [
        Kernel::Inverse,
        Kernel::Forward,
        Kernel::Inertia,
        Kernel::InverseDerivatives,
        Kernel::ForwardDerivatives,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Inverse => "inverse dynamics",
            Kernel::Forward => "forward dynamics",
            Kernel::Inertia => "the inertia matrix",
            Kernel::InverseDerivatives => "derivatives of inverse dynamics",
            Kernel::ForwardDerivatives => "derivatives of forward dynamics",
            Kernel::Closed => "forward dynamics of the closed chain",
        }
    }

    /// Number of matrix entries at the start of its results, for a model of nv freedoms in lanes. Several equal entries may share
    /// a register; entries that are always zero have none.
    pub fn matrices(self, nv: usize) -> usize {
        match self {
            Kernel::Inverse | Kernel::Forward | Kernel::Closed => 0,
            Kernel::Inertia => nv * nv,
            Kernel::InverseDerivatives => 2 * nv * nv,
            Kernel::ForwardDerivatives => 3 * nv * nv,
        }
    }

    /// How many numbers it computes for a model, and at least how many inverse pivots and other numbers that must be positive follow them.
    fn results(self, model: &Model, width: Width) -> (usize, usize) {
        let (nv, rows) = (model.nv(), model.constraint_rows());
        match self {
            Kernel::Closed => (nv + rows, nv + 3 * rows),
            Kernel::Inverse => (nv, 0),
            Kernel::Forward => (nv, nv),
            Kernel::Inertia => (nv * nv, 0),
            Kernel::InverseDerivatives if width.lanes > 1 => (2 * nv * nv, 0),
            Kernel::InverseDerivatives => (3 * nv * nv, 0),
            Kernel::ForwardDerivatives => (3 * nv * nv + nv, nv),
        }
    }
}

/// Instruction set of code, and its numbers per register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    cpu: Cpu,
    lanes: usize,
}

impl Width {
    /// One state at a time.
    pub fn single(cpu: Cpu) -> Self {
        Width { cpu, lanes: 1 }
    }

    /// As many states as a register of this processor has lanes.
    pub fn lanes_of(cpu: Cpu) -> Self {
        let lanes = match cpu {
            Cpu::Baseline => 1,
            Cpu::Avx2 => 4,
            Cpu::Avx512 => 8,
        };
        Width { cpu, lanes }
    }

    /// Numbers in a register.
    pub fn lanes(self) -> usize {
        self.lanes
    }

    /// Whether the 32 registers of AVX-512 exist.
    pub fn extended(self) -> bool {
        self.cpu == Cpu::Avx512
    }
}

/// An angle of the model: factor · q + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angle {
    /// Index of the position coordinate.
    pub position: usize,
    /// 1 or −1.
    pub factor: f64,
    /// Added to factor · q.
    pub offset: f64,
}

/// One function in machine code.
#[derive(Clone)]
pub struct Code {
    entry: Entry,
    /// The memory of the code: kept alive, never read.
    _memory: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    width: Width,
    constants: Arc<[f64]>,
    angles: Arc<[Angle]>,
    inputs: [usize; 3],
    frame: usize,
    outputs: usize,
    /// Index of each result in the outputs; none if it is always zero.
    places: Arc<[Option<u32>]>,
    made_for: Option<MadeFor>,
}

/// What the code was generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeFor {
    /// What it computes.
    pub kernel: Kernel,
    /// The model, by its [`Model::fingerprint`].
    pub model: u64,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code")
            .field("bytes", &self.bytes)
            .field("width", &self.width)
            .field("frame", &self.frame)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

impl Code {
    /// A function that begins at `entry`, in memory that `memory` keeps.
    ///
    /// # Safety
    ///
    /// The memory must hold a function of the calling convention `sysv64` with the six arguments frame, constants, q, v, input and
    /// output, for instructions this processor has. It may read the constants, `frame` registers of the frame (sines of the angles
    /// first, then their cosines) and the first `inputs` registers of q, v and input, and write the frame and `outputs` registers of
    /// the output. It must not write anything else, nor call or keep anything.
    ///
    /// `places` gives for every result its register of the output; none if it is always zero. `made_for` binds the code to a model
    /// and a quantity: [`Compiled::new`] rejects it for any other. Formulas that belong to no model have none.
    #[allow(unsafe_code)]
    pub unsafe fn new(
        entry: *const u8,
        memory: Arc<dyn Any + Send + Sync>,
        bytes: usize,
        width: Width,
        constants: Vec<f64>,
        angles: Vec<Angle>,
        inputs: [usize; 3],
        frame: usize,
        outputs: usize,
        places: Vec<Option<u32>>,
        made_for: Option<MadeFor>,
    ) -> Self {
        let known = places.iter().flatten().all(|&k| (k as usize) < outputs);
        assert!(known, "results are among the outputs");
        Code {
            // SAFETY: the caller promises that a function of this kind begins there.
            entry: unsafe { std::mem::transmute::<*const u8, Entry>(entry) },
            _memory: memory,
            bytes,
            width,
            constants: constants.into(),
            angles: angles.into(),
            inputs,
            frame,
            outputs,
            places: places.into(),
            made_for,
        }
    }

    /// Length of the code in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls the code.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn enter(&self, frame: &mut [Line], q: &[f64], v: &[f64], input: &[f64], output: &mut [f64]) {
        let lanes = self.width.lanes;
        assert!(
            frame.len() * 8 >= self.frame * lanes && output.len() >= self.outputs * lanes,
            "the frame fits the code"
        );
        let read = [q.len(), v.len(), input.len()];
        assert!(
            (0..3).all(|k| read[k] >= self.inputs[k] * lanes),
            "the state is one of the model of the code"
        );
        // SAFETY: the code reads and writes within these lengths, as promised at its construction.
        unsafe {
            (self.entry)(
                frame.as_mut_ptr().cast(),
                self.constants.as_ptr(),
                q.as_ptr(),
                v.as_ptr(),
                input.as_ptr(),
                output.as_mut_ptr(),
            );
        }
    }

    /// The results at one state, in every lane the same. For tests: it allocates.
    pub fn try_out(&self, q: &[f64], v: &[f64], input: &[f64]) -> Vec<f64> {
        let lanes = self.width.lanes;
        let spread = |x: &[f64]| -> Vec<f64> {
            x.iter()
                .flat_map(|x| std::iter::repeat_n(*x, lanes))
                .collect()
        };
        let mut frame = vec![Line::default(); (self.frame * lanes).div_ceil(8)];
        let numbers = flat(&mut frame);
        for (k, angle) in self.angles.iter().enumerate() {
            let (sin, cos) = elementary::sin_cos(angle.factor * q[angle.position] + angle.offset);
            for lane in 0..lanes {
                numbers[k * lanes + lane] = sin;
                numbers[(self.angles.len() + k) * lanes + lane] = cos;
            }
        }
        let mut output = vec![Line::default(); (self.outputs * lanes).div_ceil(8)];
        let (q, v, input) = (spread(q), spread(v), spread(input));
        self.enter(&mut frame, &q, &v, &input, flat(&mut output));
        let output = flat(&mut output);
        let number = |k: u32| output[k as usize * lanes + lanes - 1];
        self.places
            .iter()
            .map(|place| place.map_or(0.0, number))
            .collect()
    }
}

/// A cache line of numbers: registers of eight lanes do not straddle two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Line([f64; 8]);

#[allow(unsafe_code)]
fn flat(lines: &mut [Line]) -> &mut [f64] {
    // SAFETY: a line is eight numbers without anything between them.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 8) }
}

/// The code of one model.
#[derive(Clone, Debug)]
pub struct Compiled {
    model: Model,
    fingerprint: u64,
    codes: Vec<(Kernel, Code)>,
    time: Duration,
}

impl Compiled {
    /// The code of these kernels, generated for `model` in the given time. Code of another model, or of another quantity, is rejected.
    pub fn new(model: &Model, codes: Vec<(Kernel, Code)>, time: Duration) -> Result<Self> {
        let fingerprint = model.fingerprint();
        for (kernel, code) in &codes {
            let wanted = MadeFor {
                kernel: *kernel,
                model: fingerprint,
            };
            let (results, pivots) = kernel.results(model, code.width);
            let count = code.places.len();
            let fits = match kernel {
                Kernel::Closed => count >= results + pivots,
                _ => count == results + pivots,
            } && code.angles.iter().all(|a| a.position < model.nq());
            if code.made_for != Some(wanted) || !fits {
                return Err(foreign(model, kernel.name()));
            }
        }
        Ok(Compiled {
            model: model.clone(),
            fingerprint,
            codes,
            time,
        })
    }

    /// Checks that this is the code of that model.
    pub(crate) fn expect_model(&self, model: &Model) -> Result<()> {
        match self.fingerprint == model.fingerprint() {
            true => Ok(()),
            false => Err(foreign(model, "the equations of motion")),
        }
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Time of its generation.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The code of one kernel, if generated.
    pub fn code(&self, kernel: Kernel, width: Width) -> Option<&Code> {
        let mut found = self.codes.iter();
        let found = found.find(|(k, code)| *k == kernel && code.width == width);
        found.map(|(_, code)| code)
    }

    /// The code for one state at a time.
    pub(crate) fn single(&self) -> Singles {
        let find = |kernel| {
            let mut codes = self.codes.iter();
            let found = codes.find(|(k, code)| *k == kernel && code.width.lanes == 1);
            found.map(|(_, code)| {
                let (results, pivots) = kernel.results(&self.model, code.width);
                let signs = code.outputs.saturating_sub(results);
                let pivots = if pivots > 0 { signs } else { 0 };
                Box::new(Single::new(code, pivots))
            })
        };
        Singles {
            inverse: find(Kernel::Inverse),
            forward: find(Kernel::Forward),
            inertia: find(Kernel::Inertia),
            inverse_derivatives: find(Kernel::InverseDerivatives),
            forward_derivatives: find(Kernel::ForwardDerivatives),
            closed: find(Kernel::Closed),
        }
    }

    /// The code for registers of `V`.
    pub(crate) fn lanes<V: Vector>(&self) -> Lanes {
        let find = |kernel| {
            let mut codes = self.codes.iter();
            codes
                .find(|(k, code)| *k == kernel && code.width.lanes == V::LANES && V::LANES > 1)
                .map(|(_, code)| Wides::new::<V>(code))
        };
        Lanes {
            inverse: find(Kernel::Inverse),
            forward: find(Kernel::Forward),
            inertia: find(Kernel::Inertia),
            inverse_derivatives: find(Kernel::InverseDerivatives),
            forward_derivatives: find(Kernel::ForwardDerivatives),
            closed: find(Kernel::Closed),
        }
    }
}

/// Forward dynamics in lanes for models that differ in some numbers, which are inputs of the code: each lane has its own.
#[derive(Clone, Debug)]
pub struct FamilyCode {
    family: Arc<Family>,
    code: Code,
    time: Duration,
}

impl FamilyCode {
    /// This code, generated in the given time. It reads q, v, and τ followed by the [parameters](Family::parameters) of a member; it writes v̇ and
    /// the inverse pivots. Code of another family, or of another quantity, is rejected.
    pub fn new(family: Family, code: Code, time: Duration) -> Result<Self> {
        let model = family.nominal();
        let wanted = MadeFor {
            kernel: Kernel::Forward,
            model: family.fingerprint(),
        };
        let (results, pivots) = Kernel::Forward.results(model, code.width);
        let fits = code.places.len() == results + pivots
            && code.inputs[2] <= model.nv() + family.parameter_count()
            && code.angles.iter().all(|a| a.position < model.nq());
        match code.made_for == Some(wanted) && fits {
            true => Ok(FamilyCode {
                family: Arc::new(family),
                code,
                time,
            }),
            false => Err(foreign(model, "its family")),
        }
    }

    /// Its models.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Time of its generation.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The code for registers of `V`.
    pub(crate) fn lanes<V: Vector>(&self) -> Option<Wides> {
        (self.code.width.lanes == V::LANES && V::LANES > 1).then(|| Wides::new::<V>(&self.code))
    }
}

fn foreign(model: &Model, what: &str) -> Error {
    Error::new(
        ErrorKind::Input,
        format!(
            "the code for {what} was not made for the model `{}`, or for another question",
            model.name()
        ),
    )
    .hint("a model that was changed must be compiled again")
}

/// A function that generates code for a model, such as `catena_symbolic::native::for_simulation`.
pub type Compiler = fn(&Model) -> Result<Compiled>;

/// Codes for one state, with their memory.
#[derive(Clone, Debug)]
pub(crate) struct Singles {
    pub inverse: Option<Box<Single>>,
    pub forward: Option<Box<Single>>,
    pub inertia: Option<Box<Single>>,
    pub inverse_derivatives: Option<Box<Single>>,
    pub forward_derivatives: Option<Box<Single>>,
    pub closed: Option<Box<Single>>,
}

/// Code for one state, with its memory.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    code: Code,
    frame: Vec<Line>,
    angles: Vec<Fused>,
    sines: Sines,
    /// Results, then pivots.
    pub output: Vec<f64>,
    pivots: usize,
}

impl Single {
    fn new(code: &Code, pivots: usize) -> Self {
        Single {
            frame: vec![Line::default(); code.frame.div_ceil(8)],
            angles: vec![Fused(0.0); code.angles.len()],
            sines: Sines::detect(),
            output: vec![0.0; code.outputs],
            code: code.clone(),
            pivots,
        }
    }

    /// Evaluates the code at a state of the model, into `output`.
    pub fn run(&mut self, q: &[f64], v: &[f64], input: &[f64]) {
        self.sines(q);
        self.code
            .enter(&mut self.frame, q, v, input, &mut self.output);
    }

    /// Evaluates the code at a state of the model into the caller's slice, for results without pivots.
    pub fn run_into(&mut self, q: &[f64], v: &[f64], input: &[f64], output: &mut [f64]) {
        self.sines(q);
        self.code.enter(&mut self.frame, q, v, input, output);
    }

    /// The results and the pivots.
    pub fn results(&self) -> (&[f64], &[f64]) {
        self.output.split_at(self.output.len() - self.pivots)
    }

    fn sines(&mut self, q: &[f64]) {
        let angles = &self.code.angles;
        let numbers = &mut flat(&mut self.frame)[..2 * angles.len()];
        let (sin, cos) = numbers.split_at_mut(angles.len());
        for (to, angle) in self.angles.iter_mut().zip(angles.iter()) {
            *to = Fused(angle.factor * q[angle.position] + angle.offset);
        }
        (self.sines).run(&self.angles, Fused::slice_mut(sin), Fused::slice_mut(cos));
    }
}

/// Code of formulas that belong to no model, with its memory.
#[derive(Clone, Debug)]
pub struct Routine(Box<Single>);

impl Routine {
    /// This code, for one state at a time.
    pub fn new(code: &Code) -> Result<Self> {
        match code.width.lanes {
            1 => Ok(Routine(Box::new(Single::new(code, 0)))),
            lanes => Err(Error::new(
                ErrorKind::Input,
                format!("code for {lanes} states at a time is no routine for one"),
            )),
        }
    }

    /// Computes the results from q, v and further numbers. Panics if one of the slices is shorter than what the code reads or writes.
    pub fn run(&mut self, q: &[f64], v: &[f64], input: &[f64], output: &mut [f64]) {
        self.0.run_into(q, v, input, output);
    }
}

/// Codes for the lanes of a register, with their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    pub inverse: Option<Wides>,
    pub forward: Option<Wides>,
    pub inertia: Option<Wides>,
    pub inverse_derivatives: Option<Wides>,
    pub forward_derivatives: Option<Wides>,
    pub closed: Option<Wides>,
}

/// Code for a register of states, with its memory.
#[derive(Clone, Debug)]
pub(crate) struct Wides {
    code: Code,
    frame: Vec<Line>,
}

impl Wides {
    fn new<V: Vector>(code: &Code) -> Self {
        Wides {
            frame: vec![Line::default(); (code.frame * V::LANES).div_ceil(8)],
            code: code.clone(),
        }
    }

    /// Number of registers it writes.
    pub fn outputs(&self) -> usize {
        self.code.outputs
    }

    /// Indices of the first results among them.
    pub fn places(&self, results: usize) -> &[Option<u32>] {
        &self.code.places[..results]
    }

    /// Evaluates the code at states in lanes, into results in lanes.
    #[inline(always)]
    pub fn run<V: Vector>(
        &mut self,
        q: &[Wide<V>],
        v: &[Wide<V>],
        input: &[Wide<V>],
        output: &mut [Wide<V>],
    ) {
        let count = self.code.angles.len();
        // lines evicted from the L1 cache by the last results are prefetched while sines are computed
        let registers = self.code.outputs;
        let ask = registers <= FIRST_CACHE / (8 * V::LANES) && registers > count;
        for k in 0..count {
            if ask {
                for register in k * REGISTERS_PER_SINE..(k + 1) * REGISTERS_PER_SINE {
                    prefetch(plain(output), register * V::LANES);
                }
            }
            let angle = self.code.angles[k];
            let factor = Wide::<V>::constant(angle.factor);
            let (sin, cos) = q[angle.position]
                .mul_add(factor, Wide::constant(angle.offset))
                .sin_cos();
            let numbers = flat(&mut self.frame);
            sin.store(&mut numbers[k * V::LANES..(k + 1) * V::LANES]);
            let at = (count + k) * V::LANES;
            cos.store(&mut numbers[at..at + V::LANES]);
        }
        let [q, v, input] = [q, v, input].map(plain);
        self.code
            .enter(&mut self.frame, q, v, input, plain_mut(output));
    }
}

/// Registers as numbers.
#[allow(unsafe_code)]
fn plain<V: Vector>(wide: &[Wide<V>]) -> &[f64] {
    // SAFETY: a register is its lanes, without anything between them.
    unsafe { std::slice::from_raw_parts(wide.as_ptr().cast(), wide.len() * V::LANES) }
}

#[allow(unsafe_code)]
fn plain_mut<V: Vector>(wide: &mut [Wide<V>]) -> &mut [f64] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(wide.as_mut_ptr().cast(), wide.len() * V::LANES) }
}
