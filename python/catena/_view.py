"""Pages in a browser: the program's viewer, served on the loopback interface while Python continues."""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
import tempfile
from typing import Any, List, Optional

from ._catena import answer
from ._convert import whole
from .errors import Error, InputError


# names of the program's options here
OPTIONS = {"--free-base with a file": 'catena.load(file, base="free")', "--open-loops leaves": "open_tree() leaves"}


def program(*arguments: str) -> str:
    """The output of a command of the program, which runs in this process."""
    text, message, hint = answer(list(arguments))
    if text is not None:
        return text
    for option, words in OPTIONS.items():
        message, hint = message.replace(option, words), hint and hint.replace(option, words)
    raise InputError(message.splitlines()[0].removeprefix("error: "), hint=hint)


def port_number(port: Any) -> int:
    """A port to serve a page at; 0 for a free one."""
    if whole("port", port) > 65535:
        raise InputError(f"port must be a whole number up to 65535, not {port}", hint="0 chooses a free port")
    return int(port)


def refused(messages: str) -> Error:
    """The error message of the program as an exception."""
    lines = [line for line in messages.strip().splitlines() if line]
    message = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), "the program ended")
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), None)
    return InputError(message, hint=hint)


class Viewer:
    """A page that is being served at the address `url`. `close()` ends the server, and so does the end of Python or of a `with` block."""

    url: str

    def __init__(self, arguments: List[str], folder: Optional[str], browser: bool) -> None:
        self._folder = folder
        command = [sys.executable, "-m", "catena", "view", "--json", *arguments]
        if not browser:
            command.append("--no-open")
        self._messages: Any = tempfile.TemporaryFile(mode="w+", encoding="utf-8")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._messages, text=True
        )
        atexit.register(self.close)
        assert self._process.stdout is not None
        text = ""
        for line in self._process.stdout:
            text += line
            try:
                self.url = json.loads(text)["url"]
                return
            except ValueError:
                continue
        # it has ended without an address
        self._process.wait()
        self._messages.seek(0)
        messages = self._messages.read()
        self.close()
        raise refused(messages)

    @property
    def is_open(self) -> bool:
        """True while the page is served."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the server."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._messages.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        atexit.unregister(self.close)

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<catena.Viewer: {self.url}{'' if self.is_open else ', closed'}>"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}">{self.url}</a>'
