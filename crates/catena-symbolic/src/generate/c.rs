//! C99. With `CATENA_LANES` defined the same code computes that many states at once (GCC and Clang vectors).

use super::emit::{Dialect, body};
use super::{File, Function, Module};
use crate::graph::Node;
use std::fmt::Write;

struct C;

impl Dialect for C {
    fn declare(&self, name: &str, value: &str) -> String {
        format!("const real {name} = {value};")
    }
    fn store(&self, entry: &str, value: &str) -> String {
        format!("{entry} = {value};")
    }
    fn clear(&self, array: &str, first: usize, last: usize) -> Option<String> {
        Some(format!(
            "for (int k = {first}; k < {last}; k++) {array}[k] = WHOLE(0.0);"
        ))
    }
    fn fused(&self, a: &str, b: &str, c: &str) -> String {
        format!("FUSED({a}, {b}, {c})")
    }
    fn sqrt(&self, x: &str) -> String {
        format!("square_root({x})")
    }
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String {
        format!("select_less({left}, {right}, {yes}, {no})")
    }
    fn constant(&self, x: f64) -> String {
        format!("WHOLE({x:?})")
    }
    fn listed_sine(&self, k: usize) -> (String, String) {
        (format!("sine.number[{k}]"), format!("cosine.number[{k}]"))
    }
    fn sin_cos(&self, angle: &str, sin: &str, cos: &str) -> Vec<String> {
        vec![
            format!("real {sin}, {cos};"),
            format!("{{ const real x = {angle}; sine_cosine(&x, &{sin}, &{cos}); }}"),
        ]
    }
}

pub(super) fn files(module: &Module) -> Vec<File> {
    let name = &module.name;
    let mut source = comment(&module.head());
    let _ = write!(source, "\n#include \"{name}.h\"\n\n");
    source.push_str(PRELUDE);
    let uses = |wanted: fn(&Node) -> bool| {
        let mut operations = module.functions.iter().flat_map(|f| &f.program.operations);
        operations.any(wanted)
    };
    let sines = |name: &str, number: &str, bits: &str| {
        let text = SINE_COSINE.replace("NAME", name);
        text.replace("NUMBER", number).replace("BITS", bits)
    };
    if uses(|node| matches!(node, Node::Sin(_) | Node::Cos(_))) {
        source.push('\n');
        source.push_str(&sines("sines_cosines", "block", "block_bits"));
        if source_needs_single_sines(module) {
            source.push('\n');
            source.push_str(&sines("sine_cosine", "real", "bits"));
        }
    }
    if uses(|node| matches!(node, Node::Sqrt(_))) {
        source.push('\n');
        source.push_str(SQUARE_ROOT);
    }
    if uses(|node| matches!(node, Node::Select { .. })) {
        source.push('\n');
        source.push_str(SELECT);
    }
    for function in &module.functions {
        source.push('\n');
        source.push_str(&definition(module, function));
    }
    vec![
        File {
            name: format!("{name}.h"),
            text: header(module),
        },
        File {
            name: format!("{name}.c"),
            text: source,
        },
        File {
            name: format!("{name}_test.c"),
            text: test(module),
        },
    ]
}

/// Whether there is an angle that is more than a coordinate plus a constant.
fn source_needs_single_sines(module: &Module) -> bool {
    let simple = |function: &Function, x: usize| match function.program.operations[x] {
        Node::Symbol(_) => true,
        Node::Add(a, b) => [(a, b), (b, a)].into_iter().any(|(a, b)| {
            let (a, b) = (a.node(), b.node());
            let operations = &function.program.operations;
            matches!(
                (operations[a], operations[b]),
                (Node::Symbol(_), Node::Constant(_))
            )
        }),
        _ => false,
    };
    module.functions.iter().any(|function| {
        function.program.operations.iter().any(|node| match node {
            Node::Sin(angle) | Node::Cos(angle) => !simple(function, angle.node()),
            _ => false,
        })
    })
}

fn comment(lines: &[String]) -> String {
    let mut text = String::from("/*\n");
    for line in lines {
        let line = format!(" * {}", line.replace("*/", "* /").replace("/*", "/ *"));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(" */\n");
    text
}

fn prototype(module: &Module, function: &Function, real: &str) -> String {
    let mut parameters: Vec<String> = Vec::new();
    for array in &function.inputs {
        parameters.push(format!(
            "const {real} {}[CATENA_AT_LEAST {}]",
            array.name, array.length
        ));
    }
    for array in &function.outputs {
        parameters.push(format!(
            "{real} {}[CATENA_AT_LEAST {}]",
            array.name, array.length
        ));
    }
    format!(
        "void CATENA_NAME({}_{})({})",
        module.name,
        function.question.name(),
        parameters.join(", ")
    )
}

fn header(module: &Module) -> String {
    let guard = format!("{}_H", module.name.to_uppercase());
    let mut text = comment(&module.head());
    let _ = write!(
        text,
        "\n#ifndef {guard}\n#define {guard}\n\n{HEADER_PRELUDE}"
    );
    for function in &module.functions {
        let mut lines = module.describe(function);
        lines.push(String::new());
        for (way, arrays) in [("in ", &function.inputs), ("out", &function.outputs)] {
            for array in arrays {
                lines.push(format!(
                    "{way} {}[{}]: {}",
                    array.name, array.length, array.meaning
                ));
            }
        }
        lines.push("The arrays must not overlap.".into());
        text.push('\n');
        text.push_str(&comment(&lines));
        let _ = writeln!(text, "{};", prototype(module, function, "catena_real"));
        if let Some((rows, columns)) = module.places(function) {
            let name = format!("{}_{}", module.name, function.question.name());
            text.push_str("\n/* Row and column of each entry. */\n");
            for (what, list) in [("rows", rows), ("columns", columns)] {
                let list = list.iter().map(usize::to_string).collect::<Vec<_>>();
                let _ = writeln!(
                    text,
                    "#define {}_{} {{{}}}",
                    name.to_uppercase(),
                    what.to_uppercase(),
                    list.join(", ")
                );
            }
        }
    }
    let _ = write!(text, "\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n");
    text
}

fn definition(module: &Module, function: &Function) -> String {
    let body = body(function, &C);
    let mut text = format!("WIDE {} {{\n", prototype(module, function, "real"));
    for array in &function.inputs {
        let _ = writeln!(text, "    (void){};", array.name);
    }
    if !body.angles.is_empty() {
        let n = body.angles.len();
        let mut fours = Vec::new();
        for four in body.angles.chunks(4) {
            let mut four = four.to_vec();
            four.resize(4, "WHOLE(0.0)".into());
            fours.push(format!("FOUR({})", four.join(", ")));
        }
        let _ = writeln!(text, "    const block angles[] = {{{}}};", fours.join(", "));
        let _ = writeln!(
            text,
            "    union {{ block blocks[BLOCKS({n})]; real number[PADDED({n})]; }} sine, cosine;"
        );
        let _ = writeln!(
            text,
            "    for (int k = 0; k < BLOCKS({n}); k++) sines_cosines(&angles[k], &sine.blocks[k], &cosine.blocks[k]);"
        );
    }
    for line in &body.lines {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("}\n");
    text
}

fn numbers(list: &[f64]) -> String {
    let texts: Vec<String> = list.iter().map(|x| format!("{x:?}")).collect();
    texts.join(", ")
}

fn test(module: &Module) -> String {
    let name = &module.name;
    let mut text = format!(
        "/* Calls every function of {name}.c and compares with numbers computed by catena.\n *   cc -O2 -o {name}_test {name}.c {name}_test.c && ./{name}_test */\n\n#include \"{name}.h\"\n#include <stdio.h>\n\n"
    );
    text.push_str(TEST_PRELUDE);
    for function in &module.functions {
        let question = function.question.name();
        let length = |arrays: &[super::Array]| arrays.iter().map(|a| a.length).sum::<usize>();
        let (reads, writes) = (length(&function.inputs), length(&function.outputs));
        let count = function.samples.len();
        let _ = writeln!(text, "\nstatic void test_{question}(void) {{");
        let _ = writeln!(text, "    static const double in[{count}][{reads}] = {{");
        for sample in &function.samples {
            let _ = writeln!(text, "        {{{}}},", numbers(&sample.inputs));
        }
        let _ = writeln!(
            text,
            "    }};\n    static const double expected[{count}][{writes}] = {{"
        );
        for sample in &function.samples {
            let _ = writeln!(text, "        {{{}}},", numbers(&sample.outputs));
        }
        let mut arguments = Vec::new();
        for (array, arrays) in [("in[k]", &function.inputs), ("out", &function.outputs)] {
            let mut at = 0;
            for part in arrays {
                arguments.push(format!("{array} + {at}"));
                at += part.length;
            }
        }
        let _ = write!(
            text,
            "    }};\n    for (int k = 0; k < {count}; k++) {{\n        double out[{writes}];\n        {name}_{question}({});\n        compare(\"{question}\", {writes}, out, expected[k], {:e});\n    }}\n}}\n",
            arguments.join(", "),
            function.limit()
        );
    }
    text.push_str("\nint main(void) {\n");
    for function in &module.functions {
        let _ = writeln!(text, "    test_{}();", function.question.name());
    }
    text.push_str("    printf(\"largest difference %.1e of the largest number: %s\\n\", worst, failures ? \"FAILED\" : \"ok\");\n    return failures != 0;\n}\n");
    text
}

const HEADER_PRELUDE: &str = r#"#ifdef __cplusplus
#define CATENA_AT_LEAST
extern "C" {
#else
#define CATENA_AT_LEAST static restrict
#endif

/* One number, or with CATENA_LANES (2, 4, 8) that many states at once; then the functions end in _lanes. */
#ifdef CATENA_LANES
typedef double catena_real __attribute__((vector_size(8 * CATENA_LANES)));
#define CATENA_NAME(name) name##_lanes
#else
typedef double catena_real;
#define CATENA_NAME(name) name
#endif
"#;

const PRELUDE: &str = r#"#include <stdint.h>

#ifdef __FAST_MATH__
#error "sine and cosine need the order of operations as written: compile without -ffast-math"
#endif

/* GCC would pack unrelated operations into vectors at a loss (measured: inertia matrices 1.5 times slower). */
#if defined(__GNUC__) && !defined(__clang__) && defined(__FMA__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

typedef catena_real real;

#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif

/* a * b + c: fused where the processor does it at once, two operations elsewhere. */
#if defined(__FP_FAST_FMA) && !defined(CATENA_LANES)
#define FUSED(a, b, c) __builtin_fma(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

/* Clang would halve vectors of 512 bits unless told that they are meant (measured: up to twice as fast). */
#if defined(CATENA_LANES) && defined(__clang__) && defined(__has_attribute)
#if __has_attribute(min_vector_width)
#define WIDE __attribute__((min_vector_width(64 * CATENA_LANES)))
#endif
#endif
#ifndef WIDE
#define WIDE
#endif

#ifdef CATENA_LANES
typedef uint64_t bits __attribute__((vector_size(8 * CATENA_LANES)));
#define WHOLE(x) ((real){0} + (x))
#else
typedef uint64_t bits;
#define WHOLE(x) (x)
#endif

/* Sines and cosines are computed in blocks of four angles where the compiler has vectors. */
#if defined(__GNUC__) && !defined(CATENA_LANES)
typedef double block __attribute__((vector_size(32)));
typedef uint64_t block_bits __attribute__((vector_size(32)));
#define BLOCKS(n) (((n) + 3) / 4)
#define FOUR(a, b, c, d) {a, b, c, d}
#else
typedef real block;
typedef bits block_bits;
#define BLOCKS(n) ((n) + 3 - ((n) + 3) % 4)
#define FOUR(a, b, c, d) a, b, c, d
#endif
#define PADDED(n) ((n) + 3 - ((n) + 3) % 4)
"#;

const SINE_COSINE: &str = r#"/*
 * Sine and cosine within 1.5 units in the last place for |x| <= 1e5, without branches and without libm: the nearest multiple
 * of pi/2 is taken off in three parts, polynomials give both, the multiple modulo four says which is which.
 */
INLINE void NAME(const NUMBER *angle, NUMBER *sine, NUMBER *cosine) {
    typedef union { NUMBER number; BITS bits; } pattern;
    const NUMBER x = *angle;
    const double rounder = 6755399441055744.0;
    const NUMBER quarters = x * 0.6366197723675814 + rounder;
    const NUMBER multiple = quarters - rounder;
    NUMBER r = x - multiple * 1.5707963267923333;
    r = r - multiple * 2.5633441515839558e-12;
    r = r - multiple * 1.0562999066987428e-23;
    const NUMBER z = r * r;
    const NUMBER w = z * z;
    const NUMBER p = (-0.1666666666666663 + z * 0.008333333333322118)
        + w * ((-0.00019841269829589002 + z * 2.7557313621224917e-06)
        + w * (-2.505074774057411e-08 + z * 1.5896228990898995e-10));
    const NUMBER c = (0.041666666666666595 + z * -0.0013888888888873056)
        + w * ((2.480158728885166e-05 + z * -2.7557314179277947e-07)
        + w * (2.087570083882413e-09 + z * -1.1358536335640421e-11));
    pattern n, s, t;
    n.number = quarters;
    s.number = r + r * z * p;
    t.number = 1.0 + z * (-0.5 + z * c);
    const BITS swap = (s.bits ^ t.bits) & (0 - (n.bits & 1));
    s.bits ^= swap ^ ((n.bits & 2) << 62);
    t.bits ^= swap ^ (((n.bits + 1) & 2) << 62);
    *sine = s.number;
    *cosine = t.number;
}
"#;

const SQUARE_ROOT: &str = r#"#include <math.h>

INLINE real square_root(real x) {
#ifdef CATENA_LANES
    for (int k = 0; k < CATENA_LANES; k++) x[k] = sqrt(x[k]);
    return x;
#else
    return sqrt(x);
#endif
}
"#;

const SELECT: &str = r#"INLINE real select_less(real left, real right, real yes, real no) {
#ifdef CATENA_LANES
    union { real number; bits bits; } y, n;
    y.number = yes;
    n.number = no;
    const bits mask = (bits)(left < right);
    y.bits = (mask & y.bits) | (~mask & n.bits);
    return y.number;
#else
    return left < right ? yes : no;
#endif
}
"#;

const TEST_PRELUDE: &str = r#"static int failures = 0;
static double worst = 0.0;

static double size(double x) { return x < 0.0 ? -x : x; }

/* Differences are relative to the largest number of the result. */
static void compare(const char *what, int count, const double *got, const double *expected, double limit) {
    double largest = 1e-3;
    for (int k = 0; k < count; k++) if (size(expected[k]) > largest) largest = size(expected[k]);
    for (int k = 0; k < count; k++) {
        const double difference = size(got[k] - expected[k]) / largest;
        if (difference > worst) worst = difference;
        if (!(difference <= limit)) {
            printf("%s[%d] is %.17g, expected %.17g\n", what, k, got[k], expected[k]);
            failures++;
        }
    }
}
"#;
