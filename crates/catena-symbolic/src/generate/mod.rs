//! Source code of a model's dynamics: straight-line, without allocation, without a library.
//!
//! ```
//! use catena::model::embedded;
//! use catena_symbolic::generate::{Language, Module, CodeOptions, Question};
//!
//! let model = embedded::model("stanford")?;
//! let module = Module::new(&model, &[Question::Inverse, Question::Inertia], &CodeOptions::default())?;
//! for file in module.source(Language::C)? {
//!     println!("{} has {} bytes", file.name, file.text.len());
//! }
//! # Ok::<(), catena::Error>(())
//! ```

mod articulated;
mod c;
mod casadi;
mod closed;
mod composite;
mod emit;
mod equations;
mod matlab;
mod python;
mod question;
mod reference;
mod rust;
mod sample;
mod steps;

pub use closed::Loops;
pub(crate) use equations::direction;
pub use question::Question;

use crate::Program;
use crate::derive::Keep;
use catena::Model;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Family, FrameInfo};
use catena::native::Kernel;
use catena::scalar::Operations;
use catena::text::shown;
use sample::Sample;

/// Languages of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, for `no_std` as well.
    Rust,
    /// C99, for microcontrollers as well; with `CATENA_LANES` for several states at once.
    C,
    /// Python, with the standard library only.
    Python,
    /// MATLAB and GNU Octave.
    Matlab,
}

impl Language {
    /// All languages, with their names.
    pub const ALL: [(&'static str, Language); 4] = [
        ("rust", Language::Rust),
        ("c", Language::C),
        ("python", Language::Python),
        ("matlab", Language::Matlab),
    ];
}

/// How code is generated.
#[derive(Clone, Debug)]
pub struct CodeOptions {
    /// Name of the files and prefix of the functions; the model's name if empty.
    pub name: String,
    /// Tolerance of [`Model::swept`]: numbers this close to 0 or ±1 are made exactly that. Above [`CodeOptions::DUST`] the tests of the
    /// code compare with the model changed in this way, and [`Function::snapping_error`] is the resulting change.
    pub dust: f64,
    /// Frame of the Jacobian and the pose. If empty, it is the only frame that the model defines besides those of its links,
    /// otherwise the last frame on the last body; a model with more than one of either is rejected.
    pub frame: String,
    /// Numbers of the model that are passed to the functions in an array `p` instead of being written into the code; those that are zero stay
    /// zero. The model then keeps its own frames, and the code regroups inertias where that makes it shorter.
    pub parameters: Keep,
}

impl CodeOptions {
    /// The default tolerance: round-off of sines of right angles.
    pub const DUST: f64 = 1e-14;
}

impl Default for CodeOptions {
    fn default() -> Self {
        CodeOptions {
            name: String::new(),
            dust: CodeOptions::DUST,
            frame: String::new(),
            parameters: Keep::default(),
        }
    }
}

/// An array that a function reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name.
    pub name: &'static str,
    /// Its length.
    pub length: usize,
    /// What it is.
    pub meaning: String,
}

/// One function of the generated code.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its quantity.
    pub question: Question,
    /// What it reads.
    pub inputs: Vec<Array>,
    /// What it writes.
    pub outputs: Vec<Array>,
    /// Which algorithm was traced.
    pub method: &'static str,
    /// The operations.
    pub program: Program,
    samples: Vec<Sample>,
    /// Largest change of a result by snapping the model's numbers, relative to the largest number of the result.
    pub snapping_error: f64,
}

impl Function {
    /// Allowed difference of the results of code from those of its samples, relative to the largest number of each.
    pub fn limit(&self) -> f64 {
        catena::residual::largest_of(self.samples.iter().map(|sample| sample.limit))
    }

    /// Number of operations it takes.
    pub fn operations(&self) -> Operations {
        self.program.operation_count()
    }

    /// The array and index a symbol of the program stands for.
    fn place<'a>(&self, symbol: &'a str) -> (&'a str, usize) {
        let (array, index) = symbol
            .trim_end_matches(']')
            .split_once('[')
            .expect("symbols of a function are entries of its inputs");
        (array, index.parse().expect("the index is a number"))
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// The functions of one model.
#[derive(Clone, Debug)]
pub struct Module {
    /// An identifier in every language.
    pub name: String,
    /// The functions.
    pub functions: Vec<Function>,
    /// Names and values of the parameters, in the order of the array `p`.
    pub parameters: Vec<(String, f64)>,
    /// The frame of the Jacobian and the pose, if there is a function for one of them.
    pub frame: Option<FrameInfo>,
    /// The constraints of a closed chain.
    pub loops: Option<Loops>,
    model: Model,
}

impl Module {
    /// Traces and optimises the functions for these quantities.
    pub fn new(model: &Model, questions: &[Question], options: &CodeOptions) -> Result<Self> {
        expect_usable(model, options)?;
        expect_small(model)?;
        let name = identifier(match options.name.as_str() {
            "" => model.name(),
            name => name,
        });
        let of_a_frame = |q: &Question| matches!(q, Question::Jacobian | Question::Pose);
        let frame = match questions.iter().any(of_a_frame) {
            true => Some(equations::chosen_frame(model, options)?.clone()),
            false => None,
        };
        let loops = Loops::new(model)?;
        let mut functions = Vec::new();
        for &question in questions {
            functions.push(equations::function(
                model,
                question,
                options,
                loops.as_ref(),
            )?);
        }
        Ok(Module {
            name,
            functions,
            parameters: equations::parameters(model, options),
            frame,
            loops,
            model: model.clone(),
        })
    }

    /// The files of the module in a language: the code, and a test of it with numbers computed by the library.
    pub fn source(&self, language: Language) -> Result<Vec<File>> {
        Ok(match language {
            Language::C => c::files(self),
            Language::Rust => rust::files(self),
            Language::Python => python::files(self),
            Language::Matlab => matlab::files(self),
        })
    }

    /// A C file with which the functions `inverse` and `forward` of the C code become external functions of CasADi, with their Jacobians. The module
    /// needs their derivatives: see [`Question::with_derivatives`].
    pub fn casadi(&self) -> Result<File> {
        casadi::file(self)
    }

    /// The header of a file, line by line: model, conventions, coordinates, counts. Names cannot break out of their line.
    fn head(&self) -> Vec<String> {
        self.head_lines().iter().map(|line| shown(line)).collect()
    }

    fn head_lines(&self) -> Vec<String> {
        let tree = self.model.tree();
        let mut lines = vec![
            format!("Dynamics of `{}`, generated by catena {}.", self.model.name(), env!("CARGO_PKG_VERSION")),
            String::new(),
            "SI units and radians. The base is at rest in a uniform gravity field; springs, damping, friction, rotor".into(),
            "inertias and force elements of the model are included. Twists are (angular; linear), in world axes at the frame's origin.".into(),
            "Matrices are stored by rows. Quaternions are (w, x, y, z), child to parent, and must have length one.".into(),
            "Angles must not exceed 1e5 rad in size: wrap them.".into(),
            String::new(),
            format!("Gravity {:?} m/s².", self.model.gravity().to_array()),
            String::new(),
            "Velocities v, accelerations vdot, efforts tau:".into(),
        ];
        for (k, dof) in self.model.freedoms().iter().enumerate() {
            lines.push(format!(
                "  {k:3}  {} ({}, {})",
                dof.name, dof.velocity_unit, dof.force_unit
            ));
        }
        lines.push("Positions q:".into());
        for body in &tree.bodies[1..] {
            let mut range = body.q..body.q + body.kind.nq();
            if let Some(couplings) = self.model.couplings() {
                let place = |at: usize| couplings.positions().partition_point(|&k| k < at);
                range = place(range.start)..place(range.end);
            }
            if range.is_empty() {
                continue; // it follows others
            }
            let places = match range.len() {
                1 => format!("{:3}", range.start),
                _ => format!("{}…{}", range.start, range.end - 1),
            };
            lines.push(format!("  {places}  {} ({})", body.joint, body.kind.name()));
        }
        if let Some(couplings) = self.model.couplings() {
            lines.push(
                "Joint coordinates that follow others by couplings, and are no inputs:".into(),
            );
            for follower in couplings.followers() {
                lines.push(format!("  {}", self.model.following(follower)));
            }
        }
        if let Some(loops) = &self.loops {
            lines.extend(loops.head());
        }
        if !self.parameters.is_empty() {
            lines.push("Parameters p, with the values of the model: m mass, c mass centre and J inertia tensor about it, both in the axes".into());
            lines.push("of the body whose z is the joint axis, a origin of the joint in the frame of the body before, g gravity; angle of Rz Rx Rz,".into());
            lines.push("the rotation from the joint to the body before; of freedoms: rotor inertia, damping, friction, stiffness, rest of springs:".into());
            for (k, (name, value)) in self.parameters.iter().enumerate() {
                lines.push(format!("  {k:3}  {name} = {value:?}"));
            }
        }
        lines
    }

    /// Rows and columns of the entries that a function writes, where it writes only some of a matrix.
    fn places(&self, function: &Function) -> Option<(Vec<usize>, Vec<usize>)> {
        let written = function.question == Question::InertiaUpper;
        written.then(|| equations::upper_places(&self.model).into_iter().unzip())
    }

    /// The description of a function, line by line.
    fn describe(&self, function: &Function) -> Vec<String> {
        let count = function.operations();
        vec![
            format!("{}.", function.question.meaning()),
            String::new(),
            format!("Traced from: {}.", function.method),
            format!(
                "{} multiplications, {} additions, {} divisions, {} square roots, {} sine-cosine pairs.",
                count.multiplications,
                count.additions,
                count.divisions,
                count.square_roots,
                count.sines
            ),
        ]
    }
}

/// The variants of a function, each with the algorithm it was traced from; [`Module::new`] takes the one with the fewest operations and the
/// shortest dependency chain. For forward dynamics these are articulated bodies and, up to 40 freedoms, composite bodies with
/// elimination; otherwise there is one.
pub fn programs(
    model: &Model,
    question: Question,
    options: &CodeOptions,
) -> Result<Vec<(Program, &'static str)>> {
    expect_usable(model, options)?;
    expect_small(model)?;
    match Loops::new(model)? {
        Some(loops) if question.is_of_loops() => loops.programs(question, options),
        _ => equations::programs(model, question, options),
    }
}

/// The program of forward dynamics of a family, for [`crate::native`].
pub(crate) fn family_kernel(family: &Family) -> Program {
    equations::family_kernel(family)
}

/// The program of a kernel for [`crate::native`], for one state or for lanes.
pub(crate) fn kernel(
    model: &Model,
    kernel: Kernel,
    lanes: bool,
    options: &CodeOptions,
) -> Result<Program> {
    model.expect_tree()?;
    expect_usable(model, options)?;
    Ok(equations::kernel(model, kernel, lanes, options))
}

/// Maximum number of freedoms of a model whose code is written: compilers take minutes for the forward dynamics of 100.
const MOST_FREEDOMS: usize = 300;

fn expect_small(model: &Model) -> Result<()> {
    if model.nv() <= MOST_FREEDOMS {
        return Ok(());
    }
    let message = format!(
        "straight-line code is written for up to {MOST_FREEDOMS} freedoms; `{}` has {}",
        model.name(),
        model.nv()
    );
    Err(Error::new(ErrorKind::Unsupported, message)
        .hint("the library's recursions take models of any size"))
}

fn expect_usable(model: &Model, options: &CodeOptions) -> Result<()> {
    if options.dust > CodeOptions::DUST
        && let Some(element) = model.forces().first()
    {
        let message = format!(
            "numbers are not snapped for the code of a model with force elements, and `{}` has `{}`: they are attached to frames that snapping moves",
            model.name(),
            element.name
        );
        return Err(Error::new(ErrorKind::Unsupported, message)
            .at(element.place.clone())
            .hint("leave the tolerance (`--snap`) or the elements (`--no-forces`) out"));
    }
    if !(0.0..1e-2).contains(&options.dust) {
        return Err(Error::new(
            ErrorKind::Input,
            format!("a snapping tolerance of {:e} is not small", options.dust),
        )
        .hint("numbers of the model below it are set to zero; 1e-14 is usual"));
    }
    if model.nv() == 0 {
        return Err(Error::new(
            ErrorKind::Model,
            format!(
                "`{}` has no freedoms: there is nothing to generate",
                model.name()
            ),
        ));
    }
    Ok(())
}

/// Names that are not allowed for a module in one of the languages, or that would shadow a name it needs.
const TAKEN: [&str; 69] = [
    "abstract", "alloc", "and", "as", "assert", "async", "await", "become", "box", "break",
    "class", "const", "continue", "core", "crate", "def", "del", "do", "dyn", "elif", "else",
    "enum", "except", "extern", "false", "final", "finally", "fn", "for", "from", "gen", "global",
    "if", "impl", "import", "in", "is", "lambda", "let", "loop", "macro", "match", "math", "mod",
    "move", "mut", "nonlocal", "not", "or", "override", "pass", "priv", "pub", "raise", "ref",
    "return", "self", "static", "std", "struct", "super", "test", "trait", "true", "try", "type",
    "unsafe", "use", "while",
];

/// Letters, digits and underscores, beginning with a letter.
fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '_',
        })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) || TAKEN.contains(&text.as_str()) {
        text.insert_str(0, "robot_");
    }
    text
}
