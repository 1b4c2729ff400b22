"""Runs verifiers and solutions of WebArena-Infinity: a job in, a verdict out, both as JSON.

It is started alone, without the packages of the project. A verifier asks a server for the state of
the application, with `requests`; here that module is one that answers with the state at hand.
"""

import copy
import functools
import importlib.util
import io
import json
import sys
import types
from contextlib import redirect_stderr, redirect_stdout


class Answer:
    """An answer of the server that is not there."""

    def __init__(self, state):
        self.status_code = 200
        self.ok = True
        self._state = state

    def json(self):
        return copy.deepcopy(self._state)

    @property
    def text(self):
        return json.dumps(self._state)

    def raise_for_status(self):
        """Raise nothing: the state is always there."""


class Requests(types.ModuleType):
    """Stands in for the package `requests`."""

    class RequestException(Exception):
        """What its users catch; never raised."""

    def __init__(self):
        super().__init__("requests")
        self.state = {}
        self.exceptions = types.SimpleNamespace(
            RequestException=self.RequestException,
            ConnectionError=self.RequestException,
            Timeout=self.RequestException,
        )

    def get(self, url, **_):
        if not url.endswith("/api/state"):
            raise self.RequestException(f"nothing is served at {url}")
        return Answer(self.state)


@functools.cache
def load(path):
    spec = importlib.util.spec_from_file_location("of_the_board", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ruling(job, state, requests):
    """Return whether the verifier accepts a state, and its words. One that raises has refused."""
    requests.state = state
    try:
        passed, words = load(job["verifier"]).verify("http://127.0.0.1")
    except BaseException as error:
        return False, f"{type(error).__name__}: {error}"
    return passed is True, str(words)


def solution(job, state):
    """Return the state after the board's own solution; None if it has none for it."""
    if not job.get("solutions"):
        return None
    try:
        module = load(job["solutions"])
        known = getattr(module, "SOLVERS", None) or getattr(module, "SOLVE_MAP", None) or {}
        solve = known.get(job["name"]) or getattr(module, f"solve_{job['name']}", None)
        if solve is None:
            return None
        changed = copy.deepcopy(state)
        given = solve(changed)
    except BaseException:
        return None
    return given if isinstance(given, dict) else changed


def main():
    out = sys.stdout
    asked = json.load(sys.stdin)
    requests = sys.modules["requests"] = Requests()
    answers = []
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for job in asked["jobs"]:
            found = {"ruling": ruling(job, asked["state"], requests)}
            found["solution"] = solution(job, asked["state"])
            if found["solution"] is not None:
                found["solved"] = ruling(job, found["solution"], requests)
            answers.append(found)
    json.dump(answers, out)


if __name__ == "__main__":
    main()
