"""Generated code: catena's compared with C that CasADi writes from Pinocchio's algorithms, in one run.

Pinocchio's inverse dynamics (rnea), forward dynamics (aba) and inertia matrix (crba) are traced in CasADi expressions by a small C++
program (generated/trace.cpp; Pinocchio is header-only, both packages come from PyPI) and written as C by CasADi. catena writes its
own. Both are compiled by gcc and clang with -O3 -march=native; the best of the compilers, and of Pinocchio's two conventions, counts for
each. Before anything is timed, results are compared.
"""

import argparse
import csv
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import report

report.need("numpy", "pinocchio", "casadi", "matplotlib", "mujoco")

import casadi
import numpy as np
import pinocchio as pin
import speed_models
from program import Program, Refused
from speed_models import Body, Entry

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build" / "generated"
QUESTIONS = {
    "inverse": ["inverse"],
    "forward": ["forward_local", "forward_world"],
    "inertia": ["inertia_local", "inertia_world"],
    "inertia_upper": ["inertia_local_upper", "inertia_world_upper"],
}
INPUTS = {"inverse": 3, "forward": 3, "inertia": 1, "inertia_upper": 1}
FLAGS = ["-O3", "-march=native"]
RUST_FLAGS = ["-Copt-level=3", "-Ctarget-cpu=native"]
RUST_FREEDOMS = 8  # beyond, rustc takes minutes for eight lanes
ONE, EIGHT = 0.8, 0.2  # the goals
HUMANOID = "talos"
BOOST = [
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]  # fmt: skip


def stanford():
    """models/stanford.toml as a tree: body frames are the joint frames after their motion."""
    data = tomllib.loads((HERE.parent / "models" / "stanford.toml").read_text(encoding="utf-8"))
    links = {link["name"]: link for link in data["link"]}
    bodies, place = [], pin.SE3.Identity()
    for joint in data["joint"]:
        dh = {"a": 0.0, "b": 0.0, "alpha": 0.0, "theta": 0.0} | joint["dh"]
        theta, alpha = np.radians([dh["theta"], dh["alpha"]])
        end = pin.SE3(pin.utils.rotate("z", theta), np.array([0, 0, dh["b"]])) * pin.SE3(pin.utils.rotate("x", alpha), np.array([dh["a"], 0, 0]))
        link = links[joint["child"]]
        centre = -np.array(link["r"], dtype=float) if "r" in link else np.array(link.get("centre", [0, 0, 0]), dtype=float)
        own = pin.Inertia(float(link["mass"]), centre, np.diag(np.array(link["inertia"], dtype=float)))
        # the link frame is at the end of the joint's transform
        bodies.append(Body(joint["name"], joint["type"], len(bodies), place, np.array([0, 0, 1.0]), end.act(own)))
        place = end
    return bodies


def entries():
    known = {entry.name: entry for entry in speed_models.entries()}
    arm = Entry("stanford", "Stanford arm", "arm", stanford())
    return [known["chain-7"], arm, known["ur5"], known["panda"], known[HUMANOID]]


def swept(entry):
    """Rounding dust of right angles taken for what it is, for both sides: 1e-14 as `catena generate` does."""
    bodies = []
    for body in entry.bodies:
        rotation, shift = body.place.rotation.copy(), body.place.translation.copy()
        for exact in (-1.0, 0.0, 1.0):
            rotation[np.abs(rotation - exact) < 1e-14] = exact
        shift[np.abs(shift) < 1e-14] = 0.0
        lever, tensor = body.inertia.lever.copy(), body.inertia.inertia.copy()
        lever[np.abs(lever) < 1e-14] = 0.0
        tensor[np.abs(tensor) < 1e-14 * np.abs(tensor).max()] = 0.0
        bodies.append(Body(body.name, body.kind, body.parent, pin.SE3(rotation, shift), body.axis, pin.Inertia(body.inertia.mass, lever, tensor)))
    return Entry(entry.name, entry.title, entry.group, bodies)


def write_model(entry, path):
    """The same tree for catena."""
    links, joints = [], []
    for body in entry.bodies:
        tensor = body.inertia.inertia
        links.append({
            "name": body.name, "mass": body.inertia.mass, "centre": body.inertia.lever.tolist(), "inertia": tensor.tolist(),
        })  # fmt: skip
        joint = {
            "name": f"{body.name}-joint", "type": body.kind, "parent": entry.bodies[body.parent - 1].name if body.parent else "world",
            "child": body.name, "origin": body.place.translation.tolist(), "rotation": {"matrix": body.place.rotation.tolist()},
        }  # fmt: skip
        if body.kind in ("revolute", "prismatic"):
            joint["axis"] = body.axis.tolist()
        joints.append(joint)
    model = {"format": "catena/1", "name": entry.name, "allow_unphysical": True, "link": links, "joint": joints}
    path.write_text(json.dumps(model), encoding="utf-8")


def trace_program():
    """Compiles generated/trace.cpp, once."""
    source, binary = HERE / "generated" / "trace.cpp", HERE / "build" / "bin" / "casadi-trace"
    if binary.exists() and binary.stat().st_mtime > source.stat().st_mtime:
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    library = Path(casadi.__file__).parent
    headers = Path(pin.__file__).parents[4] / "include"
    print("compiling generated/trace.cpp: about 5 minutes", file=sys.stderr)
    subprocess.run(
        ["g++", "-std=c++17", "-w", "-O1", "-DNDEBUG", *BOOST, "-isystem", headers, "-isystem", headers / "eigen3", "-isystem", library / "include",
         source, "-o", binary, f"-L{library}", "-lcasadi", f"-Wl,-rpath,{library}"], check=True)  # fmt: skip
    return binary


def compilers():
    found = {"gcc": shutil.which("gcc")}
    for number in (22, 21, 20, 19, 18, 17):
        if shutil.which(f"clang-{number}"):
            found["clang"] = f"clang-{number}"
            break
    else:
        found["clang"] = shutil.which("clang")
    return {name: path for name, path in found.items() if path}


def shared(compiler, source, target, *flags):
    subprocess.run([compiler, *FLAGS, "-w", "-fPIC", "-shared", *flags, source, "-o", target, "-lm"], check=True)
    return target


def rust_library(program, own, folder, name):
    """catena's Rust for one state and for eight, as a library with the names of the C functions; None for large robots, over which
    rustc takes minutes, and without rustc."""
    if not shutil.which("rustc"):
        return None
    subprocess.run(
        [program.path, "generate", own, "--function", ",".join(QUESTIONS), "--language", "rust", "--prefix", name, "-o", folder],
        capture_output=True, check=True)  # fmt: skip
    text = f'#![crate_type = "cdylib"]\n#[path = "{name}.rs"]\nmod code;\n'
    functions = re.findall(r"pub fn (\w+)<T: Number>\((.*)\) {", (folder / f"{name}.rs").read_text(encoding="utf-8"))
    for function, arguments in functions:
        values = ", ".join(argument.split(":")[0] for argument in arguments.split(", "))
        for suffix, number in (("", "f64"), ("_lanes", "code::Lanes<8>")):
            typed = arguments.replace("[T;", f"[{number};")
            text += f'#[no_mangle]\npub extern "C" fn {name}_{function}{suffix}({typed}) {{\n    code::{function}({values})\n}}\n'
    (folder / "library.rs").write_text(text, encoding="utf-8")
    target = folder / f"{name}-rust.so"
    subprocess.run(["rustc", "--edition", "2021", "-Awarnings", *RUST_FLAGS, "library.rs", "-o", target], cwd=folder, check=True)
    return target


def rustc_version():
    found = shutil.which("rustc")
    return subprocess.run([found, "--version"], capture_output=True, text=True).stdout.strip() if found else "rustc, which is not here,"


def casadi_counts(path):
    """Operations in the source CasADi wrote: one to a line, signs are free."""
    multiplications = additions = 0
    number = r"(a\d+|[-+\d.eE]+)"
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(r"\s*a\d+=(.*);$", line)
        right = match.group(1) if match else ""
        if right.startswith("casadi_sq(") or re.match(rf"\({number}\*{number}\)$", right):
            multiplications += 1
        elif re.match(rf"\({number}[+-]{number}\)$", right):
            additions += 1
    return {"multiplications": multiplications, "additions": additions}


def instructions(library, pattern):
    """Machine instructions of the functions with such names: straight-line code, so those executed, but for what it calls."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    total, inside = 0, False
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            inside = re.fullmatch(pattern, head.group(1)) is not None
        elif inside and re.match(r"\s+[0-9a-f]+:\t", line):
            total += 1
    return total


class Casadi:
    def __init__(self, library, name, length):
        self.call, self.length = getattr(ctypes.CDLL(str(library)), name), length
        sizes = [ctypes.c_longlong() for _ in range(4)]
        getattr(ctypes.CDLL(str(library)), f"{name}_work")(*map(ctypes.byref, sizes))
        self.iw = (ctypes.c_longlong * (sizes[2].value + 1))()
        self.w = (ctypes.c_double * (sizes[3].value + 1))()

    def __call__(self, *inputs):
        inputs = [np.ascontiguousarray(x) for x in inputs]
        out = np.zeros(self.length)
        arg = (ctypes.c_void_p * 4)(*[x.ctypes.data for x in inputs])
        res = (ctypes.c_void_p * 2)(out.ctypes.data)
        self.call(arg, res, self.iw, self.w, 0)
        return out


def pinocchio_numbers(model, data, question, q, v, x):
    if question == "inverse":
        return pin.rnea(model, data, q, v, x)
    if question == "forward":
        return pin.aba(model, data, q, v, x)
    upper = np.triu(pin.crba(model, data, q))
    return (upper + np.triu(upper, 1).T).ravel()


def filled(library, name, numbers, n):
    """The symmetric matrix of an upper triangle that CasADi stores by columns: rows, columns, n + 1 first places, then the row of each."""
    pattern = getattr(ctypes.CDLL(str(library)), f"{name}_sparsity_out")
    pattern.restype = ctypes.POINTER(ctypes.c_longlong)
    sizes, matrix = pattern(ctypes.c_longlong(0)), np.zeros((n, n))
    first, row = sizes[2 : n + 3], sizes[n + 3 : n + 3 + sizes[n + 2]]
    for column in range(n):
        for k in range(first[column], first[column + 1]):
            matrix[row[k], column] = matrix[column, row[k]] = numbers[k]
    return matrix.ravel()


def filled_by_tables(header, numbers, n):
    """The symmetric matrix of catena's upper triangle, by the tables in its header."""
    text, matrix = header.read_text(encoding="utf-8"), np.zeros((n, n))
    rows, columns = ([int(x) for x in re.search(rf"_{what} {{(.*)}}", text).group(1).split(",")] for what in ("ROWS", "COLUMNS"))
    matrix[rows, columns] = matrix[columns, rows] = numbers[: len(rows)]
    return matrix.ravel()


def check(entry, libraries, question):
    """CasADi's code against Pinocchio; catena's against it too where the coordinates are the same (no free base)."""
    model = speed_models.pinocchio_model(entry)
    for k, body in enumerate(entry.bodies):
        model.appendBodyToJoint(k + 1, body.inertia, pin.SE3.Identity())
    model.gravity.linear = speed_models.GRAVITY
    data, rng, worst = model.createData(), np.random.default_rng(3), 0.0
    length = entry.nv**2 if question.startswith("inertia") else entry.nv
    for _ in range(5):
        q = pin.normalize(model, rng.uniform(-1, 1, model.nq)) if model.nq != model.nv else rng.uniform(-3, 3, model.nq)
        v, x = rng.uniform(-1, 1, (2, model.nv))
        inputs = [q, v, x][: INPUTS[question]]
        expected = pinocchio_numbers(model, data, question, q, v, x)
        size = np.abs(expected).max()
        for kind, library, name in libraries:
            if kind == "casadi":
                found = Casadi(library, name, length)(*inputs)
                if name.endswith("upper"):
                    found = filled(library, name, found, model.nv)
            elif kind == "single" and model.nq == model.nv:
                found = np.zeros(length)
                pointers = [np.ascontiguousarray(x).ctypes.data_as(ctypes.c_void_p) for x in inputs]
                getattr(ctypes.CDLL(str(library)), name)(*pointers, found.ctypes.data_as(ctypes.c_void_p))
                if name.endswith("upper"):
                    header = name.removesuffix("_inertia_upper") + ".h"
                    found = filled_by_tables(library.with_name(header), found, model.nv)
            else:
                continue
            worst = max(worst, np.abs(found - expected).max() / size)
    return worst


def own_test(compiler, folder, name):
    """catena's own test of its code, with numbers of the library."""
    subprocess.run([compiler, "-O1", "-w", f"{name}.c", f"{name}_test.c", "-o", "test"], cwd=folder, check=True)
    subprocess.run(["./test"], cwd=folder, check=True, capture_output=True)


def measured(entry, program, trace, bench, core, rounds):
    folder = BUILD / entry.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entry = swept(entry)
    speed_models.write_tree(entry, folder / "model.tree")
    write_model(entry, folder / "model.json")
    started = time.monotonic()
    subprocess.run([trace, folder / "model.tree"], cwd=folder, check=True)
    peer_seconds = time.monotonic() - started
    name = re.sub(r"[^a-z0-9]", "_", entry.name)
    own = "stanford" if entry.name == "stanford" else folder / "model.json"
    started = time.monotonic()
    counts = json.loads(subprocess.run(
        [program.path, "generate", own, "--function", ",".join(QUESTIONS), "--prefix", name, "-o", folder, "--json"], capture_output=True, text=True, check=True).stdout)  # fmt: skip
    seconds = time.monotonic() - started
    counts = {function["function"]: function for function in counts["functions"]}
    found = compilers()
    own_test(next(iter(found.values())), folder, name)
    rust = rust_library(program, own, folder, name) if entry.nv <= RUST_FREEDOMS else None
    rows = []
    for question, traces in QUESTIONS.items():
        libraries, tags = [], []
        if rust:
            libraries += [("single", rust, f"{name}_{question}"), ("lanes", rust, f"{name}_{question}_lanes")]
            tags += [("rust_one", "rustc", question), ("rust_eight", "rustc", question)]
        for compiler, path in found.items():
            for one in traces:
                library = shared(path, folder / f"{one}.c", folder / f"{one}-{compiler}.so")
                libraries.append(("casadi", library, one))
                tags.append(("casadi", compiler, one))
            for lanes in ("single", "lanes"):
                flags = ["-DCATENA_LANES=8", "-Wno-psabi"] if lanes == "lanes" else []
                library = folder / f"{name}-{lanes}-{compiler}.so"
                if not library.exists():
                    shared(path, folder / f"{name}.c", library, *flags)
                libraries.append((lanes, library, f"{name}_{question}" + ("_lanes" if lanes == "lanes" else "")))
                tags.append((lanes, compiler, question))
        difference = check(entry, libraries, question)
        if not difference < 1e-9:
            raise SystemExit(f"error: {entry.name}, {question}: results differ by {difference:.1e}")
        length = entry.nv**2 if question.startswith("inertia") else entry.nv
        words = [str(word) for triple in libraries for word in triple]
        sizes = [str(n) for n in (entry.nq, entry.nv, INPUTS[question], length, rounds)]
        lines = subprocess.run(["taskset", "-c", str(core), bench, *sizes, *words], capture_output=True, text=True, check=True).stdout.splitlines()
        times = {}
        for tag, line, library in zip(tags, lines, libraries):
            times.setdefault(tag[0], []).append((float(line.split()[0]), tag, library))
        peer, single, lanes = (min(times[kind]) for kind in ("casadi", "single", "lanes"))
        peer_counts = casadi_counts(folder / f"{peer[1][2]}.c")
        count = counts[question]
        rows.append({
            "model": entry.name, "title": entry.title, "freedoms": entry.nv, "question": question,
            "casadi_ns": peer[0], "casadi_with": f"{peer[1][1]}, {peer[1][2]}",
            "one_ns": single[0], "one_with": single[1][1], "eight_ns": lanes[0], "eight_with": lanes[1][1],
            "rust_one_ns": min(times["rust_one"])[0] if rust else "", "rust_eight_ns": min(times["rust_eight"])[0] if rust else "",
            "one_ratio": single[0] / peer[0], "eight_ratio": lanes[0] / peer[0],
            "casadi_multiplications": peer_counts["multiplications"], "casadi_additions": peer_counts["additions"],
            "multiplications": count["multiplications"], "additions": count["additions"], "divisions": count["divisions"],
            "casadi_instructions": instructions(peer[2][1], rf"(\w*f0|{peer[2][2]})(\.\w+)*"),
            "instructions": instructions(single[2][1], single[2][2]),
            "seconds": seconds, "casadi_seconds": peer_seconds,
            "source_bytes": (folder / f"{name}.c").stat().st_size, "difference": difference,
        })  # fmt: skip
        print(f"{entry.name} {question}: {peer[0]:.1f} ns, {single[0]:.1f} ({single[0] / peer[0]:.2f}), {lanes[0]:.2f} ({lanes[0] / peer[0]:.3f})", file=sys.stderr)
    return rows


def page(rows, program, rounds):
    head = ["robot", "function", "CasADi ns", "catena ns", "ratio", "×8 ns", "ratio", "met?"]
    body = []
    for row in rows:
        met = [row["one_ratio"] <= ONE, row["eight_ratio"] <= EIGHT]
        body.append([
            f"{row['title']} ({row['freedoms']})", row["question"], f"{row['casadi_ns']:.1f}", f"{row['one_ns']:.1f}", f"{row['one_ratio']:.2f}",
            f"{row['eight_ns']:.2f}", f"{row['eight_ratio']:.3f}", "both" if all(met) else "one state" if met[0] else "×8" if met[1] else "neither",
        ])  # fmt: skip
    counts = [[
        f"{row['title']}", row["question"], f"{row['casadi_multiplications']} M {row['casadi_additions']} A", row["casadi_instructions"],
        f"{row['multiplications']} M {row['additions']} A {row['divisions']} D", row["instructions"],
    ] for row in rows]  # fmt: skip
    rust = [[
        row["title"], row["question"], f"{row['one_ns']:.1f}", f"{row['rust_one_ns']:.1f}", f"{row['eight_ns']:.2f}", f"{row['rust_eight_ns']:.2f}",
    ] for row in rows if row["rust_one_ns"]]  # fmt: skip
    made = {row["model"]: row for row in rows}.values()
    sources = [[row["title"], row["freedoms"], f"{row['seconds']:.2f}", f"{row['casadi_seconds']:.2f}", f"{row['source_bytes'] / 1000:.0f}"] for row in made]
    flags = ", ".join(subprocess.run([path, "--version"], capture_output=True, text=True).stdout.splitlines()[0] for path in compilers().values())
    missed = [f"{row['title']}, {row['question']}" for row in rows if row["one_ratio"] > ONE or row["eight_ratio"] > EIGHT]
    verdict = "Every goal is met." if not missed else f"Missed: {'; '.join(missed)}."
    found = {(row["model"], row["question"]): row for row in rows}
    if (HUMANOID, "inertia") in found:
        ratio = found[HUMANOID, "inertia"]["eight_ns"] / found[HUMANOID, "inertia_upper"]["casadi_ns"]
        judged = "within" if ratio <= EIGHT else "beyond"
        verdict += f" The whole matrix of the humanoid in eight lanes takes {ratio:.3f} of CasADi's time for the triangle alone: {judged} the goal, if that were the criterion."
    return f"""# Generated code compared with CasADi's

{report.origin("peers/run.sh generated", program, "pin", "casadi")}

C that catena generates (`catena generate`) compared with C that CasADi writes from Pinocchio's `rnea`, `aba` and `crba` traced in CasADi expressions
(`SX`), for the same trees; right angles are exact in both. Compiled by {flags} with `{" ".join(FLAGS)}`; the faster compiler counts for each side, and the
fastest of Pinocchio's conventions (local, world). `inertia` is the whole matrix for both, `inertia_upper` its upper triangle without the zeros of
a branching tree, also for both. Both are called through a pointer on 64 random states in turn, {rounds} rounds, all variants
in one process taking turns on one core, results written to the same place by every call; best ns per state. `×8` is catena's same file with `-DCATENA_LANES=8`; a whole inertia matrix of the humanoid is then 92 kB, more than the first-level cache holds,
and writing that much takes most of its time. Load of the machine at the
start: {os.getloadavg()[0]:.1f}. CasADi's code calls `sin` and `cos` of the C library, catena's has its own (1.5 units in the last place up to 1e5 rad).

Goals: at most {ONE} of CasADi's time for one state at a time, {EIGHT} per state in eight lanes. {verdict}

{report.markdown(head, body)}
![ratios](generated.svg)

The free base of the humanoid has its linear velocity in world axes in catena and in its own in Pinocchio. Results were compared before anything
was timed: CasADi's code with Pinocchio to {max(row["difference"] for row in rows):.0e} of the largest number, catena's with Pinocchio (fixed bases) and with the
library (all, to 1e-12).

## Rust

The same functions as `catena generate --language rust` writes them, for `f64` and for `Lanes<8>`, compiled by {rustc_version()} with
`{" ".join(RUST_FLAGS)}`, in the same run; ns per state. Robots with more than {RUST_FREEDOMS} freedoms are left out: rustc takes minutes for their eight lanes.

{report.markdown(["robot", "function", "C ns", "Rust ns", "C ×8 ns", "Rust ×8 ns"], rust)}
## Operations

Multiplications (M), additions and subtractions (A), divisions (D) in the source, without sines and cosines; and machine instructions of the function as
compiled, which are all executed; those of `sin` and `cos`, one call each per angle in CasADi's code, are not included in its count; catena's are.

{report.markdown(["robot", "function", "CasADi", "instructions", "catena", "instructions"], counts)}
For the Stanford arm the literature on symbolic Newton–Euler with regrouped parameters counts about 142 M 99 A for inverse dynamics, with other inertias.

## Generation

Seconds for all four functions with their tests (catena), for seven traces (CasADi); kB of catena's C for the four functions. Goals: 2 s for seven
joints, 30 s and 1000 kB for a humanoid.

{report.markdown(["robot", "freedoms", "catena s", "CasADi s", "catena kB"], sources)}"""


def plot(rows, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "catena"
    figure, axes = plt.subplots(figsize=(9, 4))
    names = [f"{row['model']}\n{row['question']}" for row in rows]
    at = np.arange(len(rows))
    axes.bar(at - 0.2, [row["one_ratio"] for row in rows], 0.4, label="one state", color="#3b6ea5")
    axes.bar(at + 0.2, [row["eight_ratio"] for row in rows], 0.4, label="eight lanes", color="#d08c3a")
    axes.axhline(ONE, color="#3b6ea5", linestyle="--", linewidth=1)
    axes.axhline(EIGHT, color="#d08c3a", linestyle="--", linewidth=1)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(at, names, fontsize=7)
    axes.set_ylabel("time per state, CasADi's C = 1")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="some of the models, with commas; the record in docs stays")
    parser.add_argument("--core", type=int, default=os.cpu_count() - 1)
    parser.add_argument("--rounds", type=int, default=400)
    arguments = parser.parse_args()
    try:
        program = Program()
    except Refused as problem:
        return report.fail(problem)
    chosen = entries()
    if arguments.models:
        chosen = [entry for entry in chosen if entry.name in arguments.models.split(",")]
    trace = trace_program()
    BUILD.mkdir(parents=True, exist_ok=True)
    bench = BUILD / "bench"
    subprocess.run(["gcc", "-O2", HERE / "generated" / "bench.c", "-o", bench, "-ldl", "-lm"], check=True)
    rows = [row for entry in chosen for row in measured(entry, program, trace, bench, arguments.core, arguments.rounds)]
    into = BUILD if arguments.models else report.DOCS
    (into / "generated.md").write_text(page(rows, program, arguments.rounds), encoding="utf-8")
    with open(into / "generated.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{x:.4g}" if isinstance(x, float) else x for k, x in row.items()} for row in rows)
    plot(rows, into / "generated.svg")
    print(f"wrote {into / 'generated.md'}, .csv, .svg", file=sys.stderr)
    return 1 if any(row["one_ratio"] > ONE or row["eight_ratio"] > EIGHT for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
