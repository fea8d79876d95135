"""Wrong calls, each with the whole message that the caller gets: wrong_calls.txt.

CATENA_UPDATE=1 writes the messages of today. Of exceptions that Python itself raises only the kind is compared: its words change.
"""

import os
import pathlib

import numpy as np
import pytest

import catena

TABLE = pathlib.Path(__file__).with_name("wrong_calls.txt")


def entries():
    """Pairs of a call and what is told, which stands indented below it."""
    found = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("    "):
            found[-1][1].append(line[4:])
        elif line.strip():
            found.append((line, []))
    return [(call, "\n".join(told)) for call, told in found]


def gripper():
    """Two fingers, one of which follows the other."""
    made = catena.Model("gripper")
    for k in ("left", "right"):
        made.add_link(k, mass=0.1, inertia=[1e-4] * 3)
        made.add_joint(f"{k}_slide", "prismatic", parent="world", child=k, axis=[1, 0, 0])
    return made.close_loop("both", "coupling", coordinates=["left_slide", "right_slide"], coefficients=[1.0, -1.0])


def answer(call, root):
    readonly = np.zeros(6)
    readonly.flags.writeable = False
    space = {
        "np": np,
        "catena": catena,
        "arm": catena.model("stanford"),
        "robot": catena.model("space-robot"),
        "bar": catena.model("four-bar-1"),
        "grip": gripper(),
        "hand": "link6",
        "q": np.zeros(6),
        "readonly": readonly,
    }
    before = os.getcwd()
    os.chdir(root)
    try:
        value = eval(call, space)
    except Exception as error:
        if not isinstance(error, catena.Error):
            return type(error).__name__
        return f"{type(error).__name__}: {error}"
    finally:
        os.chdir(before)
    return f"no error, but {value!r}"


def test_there_are_many():
    assert len(entries()) >= 100


@pytest.mark.parametrize(("call", "told"), entries(), ids=[call for call, _ in entries()])
def test_wrong_call(call, told, root):
    assert answer(call, root) == told


def test_messages_name_nothing_of_other_interfaces():
    """A path of Rust, an option of the program: a caller from Python has neither."""
    for call, told in entries():
        words = told.replace("catena::", "::")
        assert "::" not in words and "--" not in words.replace("-->", ""), call


if __name__ == "__main__" and os.environ.get("CATENA_UPDATE"):
    here = pathlib.Path(__file__).resolve().parents[2]
    text = ""
    for call, _ in entries():
        text += call + "\n" + "".join(f"    {line}\n" for line in answer(call, here).splitlines())
    TABLE.write_text(text)
