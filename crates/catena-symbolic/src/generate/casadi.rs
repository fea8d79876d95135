//! Functions that CasADi loads as external ones, with their Jacobians: an additional C file, which calls the code.
//!
//! CasADi looks up in a library `F` (the function), `F_n_in`, `F_name_in`, `F_sparsity_in` … and `jac_F`, which takes the inputs and
//! outputs of F and returns one block for each pair of an output and an input. Matrices are stored column after column.
//!
//! Four numbers of a quaternion p are scaled to length one before use; the change δ of an orientation, about the child's axes, is
//! 2 p* ∘ dp, so that a change of the length has no effect.

use super::{File, Function, Module, Question};
use catena::error::{Error, ErrorKind, Result};
use std::fmt::Write;

/// Functions for CasADi: their quantities, and their derivatives with respect to q, v and the third input.
const FUNCTIONS: [(Question, [Question; 3]); 2] = [
    (
        Question::Inverse,
        [
            Question::InverseByPosition,
            Question::InverseByVelocity,
            Question::Inertia,
        ],
    ),
    (
        Question::Forward,
        [
            Question::ForwardByPosition,
            Question::ForwardByVelocity,
            Question::ForwardByEffort,
        ],
    ),
];

/// These quantities and their derivatives.
pub(super) fn with_derivatives(questions: &[Question]) -> Vec<Question> {
    let mut all = questions.to_vec();
    for (question, derivatives) in FUNCTIONS {
        if questions.contains(&question) {
            all.extend(derivatives.iter().filter(|one| !questions.contains(one)));
        }
    }
    all
}

/// The file of the external functions.
pub(super) fn file(module: &Module) -> Result<File> {
    if module.loops.is_some() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "functions for CasADi are those of trees: the states of a closed chain are not free",
        )
        .hint("open the loops, or call the C functions from a function of your own"));
    }
    if module
        .functions
        .iter()
        .any(|f| f.inputs.iter().any(|array| array.name == "p"))
    {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "functions for CasADi have no parameters: their Jacobian would be incomplete",
        )
        .hint("leave the parameters out, or call the C functions from a function of your own"));
    }
    let find = |question| module.functions.iter().find(|f| f.question == question);
    let mut functions = String::new();
    for (question, derivatives) in FUNCTIONS {
        let Some(function) = find(question) else {
            continue;
        };
        let [Some(by_q), Some(by_v), Some(by_x)] = derivatives.map(find) else {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the derivatives of `{}` are missing", question.name()),
            ));
        };
        functions += &external(module, function, [by_q, by_v, by_x]);
    }
    if functions.is_empty() {
        return Err(Error::new(
            ErrorKind::Input,
            "there is no function for CasADi: it gets `inverse` and `forward`",
        )
        .hint("name one of them among the functions"));
    }
    let name = &module.name;
    let text = format!(
        "/*\n * Functions of {name}.c for CasADi, with their Jacobians. Compile both as one library, and load it:\n *\n \
         *   cc -O2 -fPIC -shared -o {name}.so {name}.c {name}_casadi.c -lm\n *   casadi.external(\"{name}_casadi_{}\", \"./{name}.so\")\n */\n\n\
         #include \"{name}.h\"\n#include <math.h>\n\n{}{}{functions}",
        match find(Question::Inverse) {
            Some(_) => "inverse",
            None => "forward",
        },
        PRELUDE,
        positions(module),
    );
    Ok(File {
        name: format!("{name}_casadi.c"),
        text,
    })
}

/// Sizes, and the functions that know which positions are quaternions.
fn positions(module: &Module) -> String {
    let tree = module.model.tree();
    // where coordinates follow others by couplings, the functions have the independent ones alone
    let place = |tree_index: usize, independent: Option<&[usize]>| match independent {
        None => Some(tree_index),
        Some(independent) => independent.iter().position(|&k| k == tree_index),
    };
    let couplings = module.model.couplings();
    let positions = couplings.map(|couplings| couplings.positions());
    let freedoms = couplings.map(|couplings| couplings.freedoms());
    let (mut plain, mut quaternions) = (Vec::new(), Vec::new());
    for body in &tree.bodies[1..] {
        let count = body.kind.quaternion().unwrap_or(body.kind.nv());
        let pair = |k| Some((place(body.q + k, positions)?, place(body.v + k, freedoms)?));
        plain.extend((0..count).filter_map(pair));
        if body.kind.quaternion().is_some() {
            quaternions.extend(pair(count));
        }
    }
    let table = |name: &str, pairs: &[(usize, usize)]| {
        // C has no empty arrays
        let mut rows: Vec<String> = pairs.iter().map(|(q, v)| format!("{{{q}, {v}}}")).collect();
        if rows.is_empty() {
            rows.push("{0, 0}".into());
        }
        format!(
            "enum {{ {} = {} }};\nstatic const int {name}[][2] = {{{}}};\n",
            name.to_uppercase(),
            pairs.len(),
            rows.join(", ")
        )
    };
    format!(
        "enum {{ NQ = {}, NV = {} }};\n\n/* Position and velocity coordinate of each plain freedom, and the first ones of each quaternion. */\n{}{}{POSITIONS}",
        module.model.nq(),
        module.model.nv(),
        table("plain", &plain),
        table("quaternions", &quaternions),
    )
}

/// One function and its Jacobian.
fn external(module: &Module, function: &Function, derivatives: [&Function; 3]) -> String {
    let name = format!("{}_casadi_{}", module.name, function.question.name());
    let inputs: Vec<&str> = function.inputs.iter().map(|array| array.name).collect();
    let output = function.outputs[0].name;
    let call = |function: &Function, result: &str| {
        let mut arguments: Vec<&str> = function
            .inputs
            .iter()
            .map(|array| match array.name {
                "q" => "q",
                "v" => "v",
                _ => "x",
            })
            .collect();
        arguments.push(result);
        format!(
            "{}_{}({});",
            module.name,
            function.question.name(),
            arguments.join(", ")
        )
    };
    let [by_q, by_v, by_x] = derivatives.map(|one| call(one, "d"));
    let mut text = format!(
        "\nEXPORT int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{\n    \
         double q[NQ], v[NV], x[NV], length[QUATERNIONS + 1];\n    (void)iw; (void)w; (void)mem;\n    \
         read_inputs(arg, q, v, x, length);\n    if (res[0]) {}\n    return 0;\n}}\n",
        call(function, "res[0]")
    );
    let _ = write!(
        text,
        "\nEXPORT int jac_{name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{\n    \
         double q[NQ], v[NV], x[NV], d[NV * NV], length[QUATERNIONS + 1];\n    (void)iw; (void)w; (void)mem;\n    \
         read_inputs(arg, q, v, x, length);\n    \
         if (res[0]) {{\n        {by_q}\n        by_positions(q, length, d, res[0]);\n    }}\n    \
         if (res[1]) {{\n        {by_v}\n        in_columns(d, res[1]);\n    }}\n    \
         if (res[2]) {{\n        {by_x}\n        in_columns(d, res[2]);\n    }}\n    return 0;\n}}\n"
    );
    let blocks: Vec<String> = inputs.iter().map(|x| format!("jac_{output}_{x}")).collect();
    let value = format!("out_{output}");
    text += &description(
        &name,
        &[
            (inputs[0], "of_q"),
            (inputs[1], "of_v"),
            (inputs[2], "of_v"),
        ],
        &[(output, "of_v")],
    );
    text += &description(
        &format!("jac_{name}"),
        &[
            (inputs[0], "of_q"),
            (inputs[1], "of_v"),
            (inputs[2], "of_v"),
            (&value, "of_nothing"),
        ],
        &[
            (&blocks[0], "of_v_by_q"),
            (&blocks[1], "of_v_by_v"),
            (&blocks[2], "of_v_by_v"),
        ],
    );
    text
}

/// What CasADi queries about a function: its inputs and outputs with their names and shapes.
fn description(name: &str, inputs: &[(&str, &str)], outputs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (way, arrays) in [("in", inputs), ("out", outputs)] {
        let list = |entries: Vec<String>| entries.join(", ");
        let names = list(
            arrays
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect(),
        );
        let shapes = list(arrays.iter().map(|(_, shape)| shape.to_string()).collect());
        let count = arrays.len();
        let _ = write!(
            text,
            "\nEXPORT casadi_int {name}_n_{way}(void) {{ return {count}; }}\n\
             EXPORT const char *{name}_name_{way}(casadi_int i) {{\n    \
             static const char *const names[] = {{{names}}};\n    return i >= 0 && i < {count} ? names[i] : 0;\n}}\n\
             EXPORT const casadi_int *{name}_sparsity_{way}(casadi_int i) {{\n    \
             static const casadi_int *const shapes[] = {{{shapes}}};\n    return i >= 0 && i < {count} ? shapes[i] : 0;\n}}\n"
        );
    }
    let _ = write!(
        text,
        "EXPORT int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w) {{\n    \
         if (sz_arg) *sz_arg = {};\n    if (sz_res) *sz_res = {};\n    if (sz_iw) *sz_iw = 0;\n    if (sz_w) *sz_w = 0;\n    return 0;\n}}\n",
        inputs.len(),
        outputs.len()
    );
    text
}

const PRELUDE: &str = r#"#ifndef casadi_int
#define casadi_int long long int
#endif

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

"#;

const POSITIONS: &str = r#"
/* Shapes: rows, columns, 1 for a full matrix; the last one has no entries. */
static const casadi_int of_q[] = {NQ, 1, 1}, of_v[] = {NV, 1, 1}, of_v_by_q[] = {NV, NQ, 1}, of_v_by_v[] = {NV, NV, 1};
static const casadi_int of_nothing[] = {NV, 1, 0, 0};

/* Inputs that are left out are zero. Quaternions are scaled to length one; their lengths go out. */
static void read_inputs(const double **arg, double *q, double *v, double *x, double *length) {
    for (int k = 0; k < NQ; k++) q[k] = arg[0] ? arg[0][k] : 0.0;
    for (int k = 0; k < NV; k++) v[k] = arg[1] ? arg[1][k] : 0.0;
    for (int k = 0; k < NV; k++) x[k] = arg[2] ? arg[2][k] : 0.0;
    for (int i = 0; i < QUATERNIONS; i++) {
        double *p = q + quaternions[i][0];
        length[i] = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
        for (int k = 0; k < 4; k++) p[k] /= length[i];
    }
}

/* From rows to columns. */
static void in_columns(const double *d, double *out) {
    for (int i = 0; i < NV; i++)
        for (int k = 0; k < NV; k++) out[k * NV + i] = d[i * NV + k];
}

/* Derivatives along changes of position as derivatives by the numbers of q. */
static void by_positions(const double *q, const double *length, const double *d, double *out) {
    for (int i = 0; i < NV; i++) {
        for (int k = 0; k < PLAIN; k++) out[plain[k][0] * NV + i] = d[i * NV + plain[k][1]];
        for (int k = 0; k < QUATERNIONS; k++) {
            const double *p = q + quaternions[k][0], *e = d + i * NV + quaternions[k][1];
            double *to = out + quaternions[k][0] * NV + i;
            const double s = 2.0 / length[k];
            to[0] = s * (-p[1] * e[0] - p[2] * e[1] - p[3] * e[2]);
            to[NV] = s * (p[0] * e[0] - p[3] * e[1] + p[2] * e[2]);
            to[2 * NV] = s * (p[3] * e[0] + p[0] * e[1] - p[1] * e[2]);
            to[3 * NV] = s * (-p[2] * e[0] + p[1] * e[1] + p[0] * e[2]);
        }
    }
}
"#;
