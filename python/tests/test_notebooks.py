"""The notebooks are run from their first cell to their last; what they claim is in assertions."""

import ast
import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"
NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def test_there_are_four():
    assert len(NAMES) == 4


@pytest.mark.parametrize("name", NAMES)
def test_notebook(name, monkeypatch):
    monkeypatch.chdir(FOLDER)
    space = {"__name__": "notebook"}
    for cell in json.loads((FOLDER / name).read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), space)
        if shown is not None:
            value = eval(compile(shown, name, "eval"), space)
            # what a notebook would show of it
            display = getattr(value, "_repr_html_", None) or getattr(value, "_repr_markdown_", None) or (lambda: repr(value))
            assert display() is None or len(str(display())) > 0
