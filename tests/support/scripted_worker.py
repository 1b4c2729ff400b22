"""A sandbox worker that only plays what it is told: the worst peer that a host can have.

Runs in the place of the worker's own modules. The code of a step is a script in JSON: `["say",
"<hex>"]` writes bytes to the host, `["flood", n]` writes n of them without a line's end, `["die",
code]` ends the process, `["hang"]` does nothing more.
"""

import json
import os
import time
from typing import Any


def main(_limits: dict[str, Any]) -> None:
    """Say ready, then play each script that is sent as the code of a step."""
    host_in, host_out = os.dup(0), os.dup(1)
    os.write(host_out, b'{"op":"ready","landlock":0,"seccomp":false,"audit":false}\n')
    rest = b""
    while True:
        chunk = os.read(host_in, 1 << 16)
        if not chunk:
            os._exit(0)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            frame = json.loads(line)
            if frame["op"] == "run":
                os.write(host_out, b'{"op":"begun"}\n')
                _play(json.loads(frame["code"]), host_out)


def _play(script: list[list[Any]], out: int) -> None:
    for what, *values in script:
        match what:
            case "say":
                data = bytes.fromhex(values[0])
                while data:
                    data = data[os.write(out, data) :]
            case "flood":
                _play([["say", (b"x" * 60_000).hex()]] * (values[0] // 60_000), out)
            case "die":
                os._exit(values[0])
            case "hang":
                time.sleep(60)
