"""The record of the speed comparison: lines for the terminal, the page, the table of numbers and the plot."""

import csv
import datetime
import importlib.metadata
import io
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import report

BIN = report.ROOT / "peers" / "build" / "bin"

TITLES = {
    "inverse": "Inverse dynamics",
    "forward": "Forward dynamics",
    "inertia-upper": "Upper triangle of the inertia matrix",
    "inertia": "Whole inertia matrix, compared with one triangle",
    "factorization": "Factorization of the inertia matrix",
    "inverse-derivatives": "Derivatives of inverse dynamics",
    "forward-derivatives": "Derivatives of forward dynamics",
}
COLOURS = {
    "inverse": "#1b6ca8",
    "forward": "#c8442f",
    "inertia-upper": "#3b8a3e",
    "inertia": "#9ac29c",
    "factorization": "#8a8a8a",
    "inverse-derivatives": "#7d4fa3",
    "forward-derivatives": "#c98a1b",
}
# Pinocchio fills one triangle of the inertia matrix: the targets are judged triangle against triangle.
JUDGED = [quantity for quantity in TITLES if quantity not in ("factorization", "inertia")]


def target(row, way):
    """The most that catena's time may be of Pinocchio's, `way` being single or batch; None if nothing was promised."""
    return limit_of(row, way) if row.quantity in JUDGED else None


def limit_of(row, way):
    """The same, whether judged or not."""
    if row.quantity == "factorization" or not row.entry.group:
        return None
    if way == "single":
        return {"arm": 0.50, "legs": 0.60}[row.entry.group]
    if row.entry.group == "legs":
        return 0.15
    return 0.10 if row.quantity == "inverse" else 0.12


def ratio(row, way):
    ours = getattr(row, way)
    return ours.best / row.pinocchio.best if ours and row.pinocchio else None


def verdict(row, way):
    """Met, missed, not offered yet, or nothing if nothing was promised."""
    limit, is_ratio = target(row, way), ratio(row, way)
    if limit is None:
        return ""
    if is_ratio is None:
        return "not offered"
    return "met" if is_ratio <= limit else "missed"


def met_with_whole_matrices(rows):
    """How many targets would be met if catena's whole inertia matrix stood against Pinocchio's triangle."""
    count = 0
    for row in rows:
        for way in ("single", "batch"):
            limit, is_ratio = limit_of(row, way), ratio(row, way)
            if row.quantity != "inertia-upper" and limit is not None and is_ratio is not None:
                count += is_ratio <= limit
    return count


def missed(rows):
    """What was promised and is not kept, one line each; calls that catena does not offer yet in one line for all models."""
    lines, absent = [], {}
    for row in rows:
        for way in ("single", "batch"):
            found, quantity = verdict(row, way), TITLES[row.quantity]
            if found == "missed":
                told = f"{ratio(row, way):.3f} of Pinocchio's time, not {target(row, way):.2f}"
                lines.append(f"{quantity}, {way}, {row.entry.title}: {told}")
            elif found == "not offered":
                absent[f"{quantity}, {way}"] = absent.get(f"{quantity}, {way}", 0) + 1
    lines.sort(key=lambda told: list(TITLES.values()).index(told.split(", ")[0]))
    return lines + [f"{what}: not offered yet ({count} models)" for what, count in absent.items()]


def time(timing, which="best"):
    """Nanoseconds, three digits at least."""
    if timing is None:
        return "–"
    value = getattr(timing, which)
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def share(value):
    return "–" if value is None else f"{value:.3f}"


WIDTHS = (20, 20, 12, 12, 12, 12, 9, 12, 9, 12, 9)


def aligned(cells):
    return " ".join(str(c).ljust(w) if k < 2 else str(c).rjust(w) for k, (c, w) in enumerate(zip(cells, WIDTHS)))


def head():
    names = ["model", "quantity (best ns)", "catena", "batch", "Pinocchio", "MuJoCo", "single", "", "batch", "", "apart"]
    return aligned(names)


def line(row):
    """One row for the terminal."""
    cells = [row.entry.name, row.quantity, *(time(t) for t in (row.single, row.batch, row.pinocchio, row.mujoco))]
    for way in ("single", "batch"):
        cells += [share(ratio(row, way)), verdict(row, way)]
    return aligned([*cells, report.rough(max(row.apart.values(), default=None))])


def line_of_peak(limits):
    parts = [f"{name} {limits[name]:.1f} GFLOP/s" for name in ("scalar", "avx2", "avx512") if name in limits]
    return f"peak of one core: {', '.join(parts)}; clock {limits['clock']:.2f} GHz"


@dataclass(frozen=True)
class Record:
    """Everything a page tells."""

    rows: list
    left_out: list
    limits: dict
    command: str
    version: str
    rounds: int
    seconds: float
    core: int


def processor():
    for text in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if text.startswith("model name"):
            return text.split(":", 1)[1].strip()
    return platform.machine()


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=report.ROOT, check=True)
        return done.stdout.splitlines()[0].strip() if done.stdout else ""
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def commit():
    name = first_line("git", "rev-parse", "--short", "HEAD")
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no", "--", "crates", "peers", "Cargo.toml")
    return f"{name} with changes" if changed else name


def origin(record):
    """Machine, compilers, versions, date, commit and command."""
    number, cpu = record.version.split()
    date = os.environ.get("REPORT_DATE") or datetime.date.today().isoformat()
    flags = sorted(path for path in BIN.glob("*.flags") if not path.name.startswith("closed-"))
    versions = [f"{package} {importlib.metadata.version(package)}" for package in ("pin", "cmeel-eigen", "mujoco", "example-robot-data")]
    facts = [
        f"Command: `{record.command}`, {date}, commit {commit()}",
        f"Machine: {processor()}, {platform.system()} {platform.release()}, core {record.core} of {os.cpu_count()}, "
        f"load of the machine at the end {os.getloadavg()[0]:.1f}",
        f"catena {number}: {first_line('rustc', '--version')}, plain release build; paths chosen at run time: {cpu}",
        f"Peers: {', '.join(versions)}",
        *(one.read_text(encoding="utf-8").strip() for one in flags),
        f"Turns: {record.rounds} of {record.seconds} s for every engine and quantity, one engine after another",
    ]
    return "\n".join(f"- {fact}" for fact in facts) + "\n"


def summary(rows):
    """How many targets are met, by quantity."""
    lines = []
    for quantity in JUDGED:
        cells = [TITLES[quantity]]
        for way in ("single", "batch"):
            found = [verdict(row, way) for row in rows if row.quantity == quantity and target(row, way) is not None]
            ratios = [ratio(row, way) for row in rows if row.quantity == quantity and target(row, way) and ratio(row, way)]
            span = f"{min(ratios):.2f} – {max(ratios):.2f}" if ratios else "–"
            cells += [span, f"{found.count('met')} of {len(found)}" if found else "–"]
        lines.append(cells)
    return ["quantity", "one state: ratio", "targets met", "batch: ratio", "targets met"], lines


def table(rows, quantity):
    """All models for one quantity."""
    header = ["model", "freedoms", "catena", "median", "general", "batch", "median", "general", "Pinocchio", "median", "its route",
              "MuJoCo", "median", "ratio", "target", "", "batch ratio", "target", "", "difference"]  # fmt: skip
    lines = []
    for row in rows:
        if row.quantity != quantity:
            continue
        cells = [row.entry.title, row.entry.nv]
        for timing, general in ((row.single, row.single_general), (row.batch, row.batch_general)):
            cells += [time(timing), time(timing, "median"), time(general)]
        cells += [time(row.pinocchio), time(row.pinocchio, "median")]
        cells.append(f"{row.pinocchio.route}, {row.pinocchio.engine.split('-')[1]}" if row.pinocchio else "–")
        cells += [time(row.mujoco), time(row.mujoco, "median")]
        for way in ("single", "batch"):
            limit = target(row, way)
            cells += [share(ratio(row, way)), "–" if limit is None else f"{limit:.2f}", verdict(row, way)]
        lines.append([*cells, report.rough(max(row.apart.values(), default=None))])
    return header, lines


def against_peak(rows, limits):
    """What part of the core's peak the counted operations reach: one state against plain instructions, batches against the widest
    registers."""
    widest = max(limits.get("avx512", 0), limits.get("avx2", 0), limits["scalar"])
    lines = []
    for row in rows:
        if row.operations is None:
            continue
        plain, sines = row.operations
        cells = [f"{row.entry.title}, {TITLES[row.quantity].lower()}", plain, sines]
        for timing, most in ((row.single_general, limits["scalar"]), (row.batch_general, widest)):
            rate = plain / timing.best if timing else None
            cells += ["–", "–"] if rate is None else [f"{rate:.2f}", f"{rate / most:.0%}"]
        lines.append(cells)
    header = ["model, quantity", "operations", "sine and cosine", "one state, GFLOP/s", "of plain peak", "batch, GFLOP/s", "of widest peak"]
    return header, lines


def page(record):
    rows, limits = record.rows, record.limits
    promised = [verdict(row, way) for row in rows for way in ("single", "batch") if target(row, way) is not None]
    peaks = [[name, f"{limits[key]:.1f}"] for key, name in (("scalar", "one number"), ("avx2", "AVX2"), ("avx512", "AVX-512")) if key in limits]
    parts = [
        "# Speed of single calls\n",
        f"catena compared with Pinocchio and MuJoCo, the same models at the same states: **{promised.count('met')} of {len(promised)} targets "
        f"are met** ({met_with_whole_matrices(rows)} with whole inertia matrices, of which Pinocchio fills one triangle). A ratio is catena's best time over Pinocchio's best time; below 1 catena is faster. A target is the largest ratio that counts as success. Misses are listed "
        "below.\n",
        report.markdown(*summary(rows)),
        "![Ratio of times per model and quantity, with the targets](speed.svg)\n",
        "## How it was measured\n",
        origin(record),
        "Every engine is a program that loads the tree and the states and then times calls on request, pinned to one core, taking "
        "turns with the others; states change from call to call. Times are wall-clock ns per state: the best of all repetitions "
        "(about 0.2 ms each) and the median over the turns of each turn's median. *catena* is one state through `Dynamics` with "
        "code that catena has compiled for the model when it was loaded (in milliseconds, without a compiler; where the general "
        "recursion is faster it is used instead), with all checks of input and result; *batch* is many states through `Batch` with "
        "such code on the same core, time per state; *general* is either of them without code. Pinocchio is "
        "compiled header-only for this processor by two compilers, and each quantity is computed by every route that could be its "
        "fastest; the fastest is shown and named. MuJoCo runs the shortest part of its pipeline that gives the quantity (its library "
        "as published); it has no analytical derivatives.\n",
        "Pinocchio fills one triangle of the inertia matrix (and so does MuJoCo), so the targets compare triangle with triangle, "
        "catena's being `inertia_upper`; catena's whole matrices, compared with the same triangle, have their own section, and with them "
        f"{met_with_whole_matrices(rows)} of {len(promised)} targets would be met.\n",
        "Before timing, results of all engines and routes are compared in catena's coordinates; *difference* is the largest difference of "
        f"an entry over the largest entry, weighted as in [agreement.md](agreement.md) (allowed: {report.rough(1e-9)}). Factors and derivatives of forward "
        "dynamics are judged by the residuals of the linear equations they solve: I x = τ and I ∂v̇/∂q = −∂τ/∂q. Chains of spherical joints stop at 20: "
        "the forward dynamics of Pinocchio loses accuracy beyond ([spherical-chains.md](spherical-chains.md)), and times of wrong "
        "answers are not compared.\n",
        "## Peak of the core\n",
        f"Fused multiply-adds on independent registers, in GFLOP/s; clock {limits['clock']:.2f} GHz.\n",
        report.markdown(["registers", "GFLOP/s"], peaks),
    ]
    if record.left_out:
        parts += [
            "## Left out\n",
            "Methods of other engines whose results differ too much from the rest; their times do not count:\n",
            "\n".join(f"- {one}" for one in record.left_out) + "\n",
        ]
    lines = missed(rows)
    parts.append("## Missed\n")
    parts.append(("\n".join(f"- {one}" for one in lines) if lines else "Nothing.") + "\n")
    for quantity, title in TITLES.items():
        parts += [f"## {title}\n", "Best and median ns per state.\n", report.markdown(*table(rows, quantity))]
    parts += [
        "## Against the peak\n",
        "Additions, multiplications and divisions of catena's general recursions, counted exactly by running them in the scalar `Count`, over "
        "the best time. Pairs of sine and cosine (about 30 operations each) are listed but not added. Peaks are those of fused "
        "multiply-adds; additions and multiplications that cannot be fused do not reach them.\n",
        report.markdown(*against_peak(rows, limits)),
    ]
    return "\n".join(parts)


def numbers(rows):
    """The raw table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "freedoms", "quantity", "engine", "route", "best_ns", "median_ns", "over_pinocchio", "target"])
    for row in rows:
        for way in ("single", "batch", "single_general", "batch_general", "pinocchio", "mujoco"):
            timing = getattr(row, way)
            if timing is None:
                continue
            limit = target(row, way) if way in ("single", "batch") else None
            writer.writerow([row.entry.name, row.entry.nv, row.quantity, timing.engine, timing.route, f"{timing.best:.1f}",
                             f"{timing.median:.1f}", f"{timing.best / row.pinocchio.best:.4f}" if row.pinocchio else "", limit or ""])  # fmt: skip
    return out.getvalue()


def write(record, folder):
    folder.mkdir(parents=True, exist_ok=True)
    from speed_plot import plot

    for name, text in (("speed.md", page(record)), ("speed.csv", numbers(record.rows)), ("speed.svg", plot(record.rows))):
        (folder / name).write_text(text, encoding="utf-8")
        print(f"wrote {(folder / name).relative_to(report.ROOT)}")
