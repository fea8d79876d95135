"""Versions, numbers, tables and files of the reports."""

import datetime
import importlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "peers"


def need(*modules):
    """Ends the program with advice when a module is not installed."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"error: {error}", file=sys.stderr)
            print("hint: run peers/setup.sh first, then use peers/run.sh", file=sys.stderr)
            sys.exit(2)


def fail(problem):
    """Tells a problem that ends the program."""
    text = str(problem)
    print(text if text.startswith("error") else f"error: {text}", file=sys.stderr)
    return 2


def origin(command, program, *packages):
    """The line that says when, with what and how a report was made."""
    date = os.environ.get("REPORT_DATE") or datetime.date.today().isoformat()
    versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    versions += [f"Python {platform.python_version()}", platform.machine()]
    return f"Made by `{command}` on {date} with {program.version()}, {', '.join(versions)}."


def rough(number):
    """Two digits: 3.1e-14."""
    if number is None:
        return "–"
    if number == 0:
        return "0"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def markdown(head, rows):
    """A table in Markdown: the first column of text, the others of numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def plain(head, rows):
    """The same table for the terminal."""
    lines = [[str(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(zip(line, widths)))
        for line in lines
    )


def write(name, text):
    """Writes a page of docs/peers."""
    DOCS.mkdir(parents=True, exist_ok=True)
    path = DOCS / name
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}", file=sys.stderr)
