"""The `catena` program: `python -m catena`, or `catena` where the package is installed."""

import os
import signal
import sys

from . import _catena


def main() -> int:
    """Runs the program with the arguments of this process and returns the exit code."""
    # as a separate program: Control-C ends it, and so does a closed pipe
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # `--engine ray` reaches a cluster through this interpreter
    os.environ.setdefault("CATENA_PYTHON", sys.executable)
    return _catena.main(["catena", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
