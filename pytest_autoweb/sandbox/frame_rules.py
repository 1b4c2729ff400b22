"""The frames that a worker may send, validated one by one, because a worker is not trusted.

An unknown, malformed or oversized frame ends the worker. Strings are made encodable here, in one
place, so that no code behind this module meets a lone surrogate.
"""

from collections.abc import Mapping
from typing import Any

from pytest_autoweb.sandbox.frame_codec import MAX_NAME_CHARS, WireError, check_values, from_line

# The host walks a chain step by step, so a hostile worker must not send an endless one.
MAX_CHAIN = 64
MAX_NAME = 60
MAX_CAUSES = 100

_ANY = object
_OPT_INT = (int, type(None))
_OPT_STR = (str, type(None))

_SHAPES: dict[str, dict[str, Any]] = {
    "ready": {"landlock": int, "seccomp": bool, "audit": bool},
    "begun": {},
    "denied": {"event": str, "line": int},
    "log": {"text": str, "line": _OPT_INT},
    "answer": {"value": _ANY, "line": _OPT_INT},
    "call": {
        "id": int,
        "root": str,
        "chain": list,
        "expect": bool,
        "message": _OPT_STR,
        "method": str,
        "args": list,
        "kwargs": dict,
        "line": _OPT_INT,
    },
    "cbdone": {"id": int, "value": (bool, type(None)), "error": _OPT_STR},
    "done": {
        "ok": bool,
        "error": (dict, type(None)),
        "names": list,
        "vars": (dict, type(None)),
    },
}
_ERROR_SHAPE: dict[str, Any] = {"type": str, "message": str, "causes": list, "line": _OPT_INT}


def read_frame(line: bytes) -> dict[str, Any]:
    """Decode and validate a frame that a worker sent.

    Raises:
        WireError: it does not have the exact shape of a known frame.
    """
    check_values(line)
    frame: dict[str, Any] = _clean(from_line(line), 0)
    op = frame.pop("op", None)
    if not isinstance(op, str) or op not in _SHAPES:
        raise WireError("unknown operation")
    _check_shape(op, frame, _SHAPES[op])
    if op == "call":
        check_chain(frame["chain"])
    if op == "done":
        _check_done(frame)
    return {"op": op, **frame}


def check_chain(chain: Any) -> None:
    """Raise `WireError` unless this is a list of `[name]` and `[name, args, kwargs]`."""
    if not isinstance(chain, list) or len(chain) > MAX_CHAIN:
        raise WireError("a chain is a list of at most 64 steps")
    for segment in chain:
        fits = isinstance(segment, list) and (
            (len(segment) == 1 and isinstance(segment[0], str))
            or (
                len(segment) == 3
                and isinstance(segment[0], str)
                and isinstance(segment[1], list)
                and isinstance(segment[2], dict)
            )
        )
        if not fits:
            raise WireError("malformed step of a chain")


def _check_done(frame: dict[str, Any]) -> None:
    if frame["error"] is not None:
        _check_shape("error", frame["error"], _ERROR_SHAPE)
        _check_causes(frame["error"]["causes"])
    if frame["ok"] is not (frame["error"] is None):
        raise WireError("done is neither ok nor an error")
    if not all(isinstance(name, str) and len(name) <= MAX_NAME_CHARS for name in frame["names"]):
        raise WireError("malformed names")
    frame["names"] = [name for name in frame["names"] if name.isidentifier()][:500]


def _check_causes(causes: list[Any]) -> None:
    if len(causes) > MAX_CAUSES:
        raise WireError("an error has too many causes")
    for cause in causes:
        pair = isinstance(cause, list) and len(cause) == 2
        if not pair or not all(isinstance(text, str) for text in cause):
            raise WireError("malformed error: causes")


def _check_shape(what: str, frame: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    if frame.keys() != shape.keys():
        raise WireError(f"malformed {what}")
    for key, kind in shape.items():
        value = frame[key]
        # `isinstance` counts a bool as an int, but only a real int is valid here.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, _OPT_INT)):
            raise WireError(f"malformed {what}: {key}")


def _clean(data: Any, depth: int) -> Any:
    if depth > 200:
        raise WireError("data is nested too deeply")
    if isinstance(data, str):
        # JSON can spell half a surrogate pair, which could later be written to no file and no
        # report.
        return data.encode("utf-8", "replace").decode("utf-8")
    if isinstance(data, list):
        return [_clean(item, depth + 1) for item in data]
    if isinstance(data, dict):
        return {_clean(key, 0): _clean(value, depth + 1) for key, value in data.items()}
    return data
