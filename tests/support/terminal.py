"""Commands on a terminal of their own, as a person has them."""

import os
import pty
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def on_a_terminal(
    *command: str, cwd: Path | None = None, keys: Mapping[str, str] | None = None
) -> str:
    """Run a command on a terminal, and return all that it writes there.

    Args:
        command: the command.
        cwd: the folder to run it in.
        keys: what to type once a text was written; each at most once.
    """
    ours, theirs = pty.openpty()
    waiting = dict(keys or {})
    with subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        # Linux raises when the last process has left the terminal.
        with suppress(OSError):
            while more := os.read(ours, 65_536):
                said += more
                for text in [text for text in waiting if text.encode() in said]:
                    os.write(ours, waiting.pop(text).encode())
    os.close(ours)
    return said.decode(errors="replace")
