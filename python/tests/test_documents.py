"""Examples are run: those of docstrings and those of the pages. Names and types are told of everything public."""

import ast
import doctest
import importlib.machinery
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import catena

FINDER = doctest.DocTestParser()


def documented():
    """Every public thing of the package, with its docstring."""
    yield "catena", catena.__doc__
    for name, thing in vars(catena).items():
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        yield name, inspect.getdoc(thing)
        if inspect.isclass(thing):
            for base in thing.__mro__:
                if not base.__module__.startswith("catena"):
                    continue
                for member, value in vars(base).items():
                    if not member.startswith("_") and (callable(value) or isinstance(value, (property, type(vars(catena.Model.__mro__[1])["nq"])))):
                        yield f"{name}.{member}", inspect.getdoc(value)


def test_everything_public_has_a_docstring():
    # fields of named tuples say "Alias for field number": their class explains them
    missing = [name for name, text in documented() if not text]
    assert not missing


def test_examples_of_docstrings():
    runner, count = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), 0
    for name, text in documented():
        if not text or ">>>" not in text:
            continue
        example = FINDER.get_doctest(text, {"catena": catena, "np": np}, name, None, None)
        result = runner.run(example)
        assert result.failed == 0, name
        count += result.attempted
    assert count >= 40


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def files(page):
    """Names and texts of the files of a page: blocks with a name, and what stands in `<!-- file NAME … -->`."""
    text = page.read_text()
    yield from re.findall(r"^```\w+ (\w[^\s]*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"^<!-- file (\w[^\s]*)\n(.*?)^-->", text, flags=re.DOTALL | re.MULTILINE)


OPTIONAL = ["pinocchio", "mujoco", "jax", "torch", "casadi", "ray", "gymnasium"]


def missing(block):
    """The first package of others that a block needs and that is not installed."""
    for name in OPTIONAL:
        if re.search(rf"\bimport .*\b{name}\b|engine=\"{name}\"", block) and importlib.util.find_spec(name) is None:
            return name
    return None


PAGES = [
    "docs/start.md",
    "docs/python.md",
    "docs/generated-code.md",
    "docs/coming-from.md",
    "docs/tutorials/own-controller.md",
    "docs/how-to/change-a-parameter.md",
    "docs/how-to/compare-runs.md",
    "docs/how-to/floating-base.md",
    "docs/how-to/gradients.md",
    "docs/how-to/identify-inertias.md",
    "docs/how-to/inverse-kinematics.md",
    "docs/how-to/jacobians.md",
    "docs/how-to/linearize.md",
    "docs/how-to/lock-joints.md",
    "docs/how-to/many-states.md",
    "docs/how-to/own-loop.md",
    "docs/how-to/payload.md",
    "docs/how-to/study-on-a-cluster.md",
    "docs/how-to/tables.md",
    "docs/how-to/torques-along-a-trajectory.md",
    "README.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_pages(root, page, tmp_path, monkeypatch):
    """The blocks of a page are one program; a comment `# → text` after a line is what printing it would show."""
    pages = blocks(root / page)
    assert pages, page
    monkeypatch.chdir(tmp_path)
    shutil.copytree(root / "models", tmp_path / "models")
    shutil.copytree(root / "models", tmp_path, dirs_exist_ok=True)
    space = {"__name__": "page"}
    compared = 0
    for name, text in files(root / page):
        (tmp_path / name).write_text(text)
    for block in pages:
        if name := missing(block):
            print(f"skipped: a block of {page}: {name} is not installed")
            continue
        lines = block.splitlines()
        for node in ast.parse(block).body:
            source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            told = re.search(r"#\s*→\s*(.*)$", lines[node.end_lineno - 1])
            if told and isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), page, "eval"), space)
                assert str(value) == told.group(1).strip(), f"{page}: {source}"
                compared += 1
            else:
                exec(compile(ast.Module([node], []), page, "exec"), space)
    assert compared or page == "README.md" or "/how-to/" in page


def test_reference_is_what_the_docstrings_say(root):
    loader = importlib.machinery.SourceFileLoader("reference", str(root / "python" / "reference"))
    reference = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
    loader.exec_module(reference)
    page = (root / "docs" / "python-reference.md").read_text(encoding="utf-8")
    assert page == reference.page(), "python/reference writes the page anew"


def test_types(root, tmp_path):
    """mypy accepts the package's own annotations and a program that uses it, and refuses a wrong one."""
    pytest.importorskip("mypy")
    good = tmp_path / "good.py"
    good.write_text(
        "import catena\nimport numpy as np\n"
        "arm: catena.Model = catena.model('stanford')\n"
        "tau: np.ndarray = arm.inverse(arm.neutral(), [0.0] * 6)\n"
        "run: catena.Run = arm.simulate(arm.neutral(), duration=1.0, control=catena.pd([0.0] * 6))\n"
        "kept: bool = run.audit.kept\n"
    )
    bad = tmp_path / "bad.py"
    bad.write_text("import catena\ncatena.model('stanford').inverse()\ncatena.load(3)\n")
    run = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    found = subprocess.run([*run, str(good)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    found = subprocess.run([*run, str(bad)], capture_output=True, text=True)
    assert found.returncode == 1 and found.stdout.count("error:") == 2, found.stdout


def test_stubs_name_everything():
    """What the module written in Rust has, its stubs have, and nothing else."""
    stubs = os.path.join(os.path.dirname(catena.__file__), "_catena.pyi")
    tree = ast.parse(open(stubs).read())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            told = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__"}
            there = {name for name in vars(getattr(catena._catena, node.name)) if not name.startswith("__")}
            assert told == there, node.name
    told = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in vars(catena._catena) if not name.startswith("_")}
    assert told == there


CONVENTIONS = {
    "q": "inertia inverse_inertia gravity pose neutral operational_inertia factor linearize reach doctor",
    "q and v": "inverse forward coriolis jacobian jacobian_rate regressor start random step inverse_derivatives forward_derivatives energies"
    " momenta centroidal kinematics denoc linearize_motion simulate ensemble follow assemble loads solve compare rerooted space barycentres",
}


def test_conventions_are_where_they_are_needed():
    """Units, the order of quaternions and the axes of velocities, in every docstring of what takes or gives coordinates."""
    functions = [(getattr(catena.Model, name), kind) for kind, names in CONVENTIONS.items() for name in names.split()]
    of_jax = pytest.importorskip("catena.jax")
    functions += [(function, "q and v") for function in (of_jax.inverse, of_jax.forward, of_jax.step)]
    for function, kind in functions:
        text = " ".join(function.__doc__.split())
        words = ["(w, x, y, z)", "radians"] + (["joint axes"] if kind == "q and v" else [])
        assert all(word in text for word in words), function.__name__
