"""The notebooks are executed by a Jupyter kernel from their first cell to their last; what they claim is in assertions."""

import pathlib

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"
NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def test_there_are_four():
    assert NAMES == ["arm.ipynb", "identification.ipynb", "mechanism.ipynb", "space_robot.ipynb"]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel of this very interpreter."""
    folder = tmp_path_factory.mktemp("kernels")
    write_kernel_spec(str(folder / "kernels" / "tested"))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_notebook(name, kernel, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(kernel))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    client = NotebookClient(notebook, kernel_name="tested", timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count for cell in code)
    assert any(cell.outputs for cell in code)
