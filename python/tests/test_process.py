"""Memory, the wheel in a clean environment, the program that it carries."""

import os
import subprocess
import sys

import numpy as np
import pytest

import catena


def resident():
    """Memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")


@linux
def test_memory_is_flat_over_a_million_calls(arm):
    q, v = arm.random(1)
    rows_q, rows_v = np.tile(q, (20, 1)), np.tile(v, (20, 1))
    run = arm.inverse, arm.forward
    frame = arm.frames[-1]

    def calls(count):
        for _ in range(count // 10):
            for call in run:
                call(q, v, v)
                call(q, v, v)
                call(rows_q, rows_v, v)
            arm.inertia(q)
            arm.jacobian(q, frame)
            arm.pose(q, frame)
            try:
                arm.inverse(v[:3])
            except catena.ShapeError:
                pass

    calls(100_000)
    before = resident()
    calls(1_000_000)
    assert resident() - before < 2_000_000


@linux
def test_memory_is_flat_over_models_and_runs():
    def round():
        model = catena.model("planar3")
        model.simulate([0.1, 0.2, 0.3], duration=0.1, control=lambda t, q, v: -v)
        model.inverse(np.zeros((100, 3)))
        model.factor(np.zeros((100, 3))).solve(np.zeros((100, 3)))

    for _ in range(60):
        round()
    before = resident()
    for _ in range(300):
        round()
    assert resident() - before < 4_000_000


@linux
def test_arguments_are_not_copied():
    program = """
import resource, numpy as np, catena
arm = catena.model("stanford")
x = np.full((2_000_000, 6), 0.1)                # 96 MB
out = np.zeros_like(x); out[:] = 1
arm.inverse(x[:1000], x[:1000], x[:1000], out=out[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arm.inverse(x, x, x, out=out)
arm.forward(x, x, x, out=out)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 20_000  # kB; a copy of one argument has 96,000


@linux
def test_results_without_memory_are_an_error():
    """Results that do not fit into memory are NumPy's `MemoryError`, and the model still answers."""
    program = """
import resource, numpy as np, catena
arm, q = catena.model("stanford"), np.zeros((10_000_000, 6))
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 10**9, held + 10**9))
try:
    arm.inertia(q)                               # 2.9 GB
except MemoryError as error:
    print("Unable to allocate" in str(error), arm.inertia(q[0]).shape)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "True (6, 6)", found.stderr


def test_the_program():
    here = [sys.executable, "-m", "catena"]
    found = subprocess.run([*here, "info", "stanford"], capture_output=True, text=True)
    assert found.returncode == 0 and "stanford" in found.stdout
    found = subprocess.run([*here, "info", "stanfrod"], capture_output=True, text=True)
    assert found.returncode == 2 and "error" in found.stderr
    found = subprocess.run([*here, "--version"], capture_output=True, text=True)
    assert found.stdout.strip() == f"catena {catena.__version__}"


def test_a_run_of_the_program_is_that_of_the_package(tmp_path):
    path = tmp_path / "run.csv"
    command = [sys.executable, "-m", "catena", "simulate", "planar3", "--q", "0.1,0.2,0.3", "--duration", "1", "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    run = catena.model("planar3").simulate([0.1, 0.2, 0.3], duration=1)
    rows = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    names = [name.split("[")[0].strip() for name in rows[0].split(",")]
    numbers = np.array([[float(x) for x in row.split(",")[: len(names)]] for row in rows[1:]])
    column = next(k for k, name in enumerate(names) if name.startswith("q."))
    assert np.array_equal(numbers[:, column], run.q[:, 0])


def test_the_program_draws_a_run_of_the_package(tmp_path):
    run = catena.model("planar3").simulate([0.1, 0.2, 0.3], duration=1)
    run.save(tmp_path / "run.parquet")
    command = [sys.executable, "-m", "catena", "plot", str(tmp_path / "run.parquet")]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert list(tmp_path.rglob("*.svg"))


def test_wheel_in_a_clean_environment(tmp_path):
    wheel = os.environ.get("CATENA_WHEEL")
    if not wheel:
        pytest.skip("CATENA_WHEEL names no wheel: run python/test")
    assert "abi3" in os.path.basename(wheel)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "clean")], check=True)
    python = tmp_path / "clean" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    program = "import catena; arm = catena.model('stanford'); print(arm.gravity(arm.neutral()).shape)"
    found = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout.strip() == "(6,)", found.stderr
    found = subprocess.run([tmp_path / "clean" / "bin" / "catena", "models"], capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0 and "stanford" in found.stdout
