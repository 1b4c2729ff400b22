"""What a recorded test becomes: an oracle, checks and a task, or the reason why it cannot."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.base.redaction import SECRET_PLACE
from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.tools.importing.suite.recorded_tests import RecordedStep, RecordedTest
from pytest_autoweb.tools.importing.written_cases import usable_id
from pytest_autoweb.tools.record.oracle import TYPING, make_oracle, read_acts, refuse_oracle

_WHOLE_SECRET = 4
"""The length from which a secret is also replaced outside the field it is typed into."""
_QUOTED = re.compile(r"(['\"])((?:\\.|(?!\1).)*)\1")
_OF_A_TAB = re.compile(r"^expect\(tab_\d+")
_BARE_HOST = re.compile(r"((?<=')https?://[^/'?#]+)(')")
_TEXT_CHARS = 120
_MOST_VALUES = 12


class NotTaken(NamedTuple):
    """A test that did not become a case, or a check that did not become one of its case."""

    where: str
    name: str
    why: str


class NotImportable(Exception):
    """Raised for a test that cannot become a case; the message says why."""


class SuiteCase(Struct, frozen=True):
    """A test that may become a case."""

    test: RecordedTest
    id: str
    entry_url: str
    oracle: str
    """As code, with placeholders of secrets and with the addresses of the recording."""
    checks: tuple[RecordedStep, ...]
    task: str
    secrets: tuple[str, ...]
    """The names of the secrets that it uses."""
    left_out: tuple[NotTaken, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def site(self) -> str:
        """Return the address of its site, with a slash at the end."""
        parts = urlsplit(self.entry_url)
        return f"{parts.scheme}://{parts.netloc}/"

    def with_task(self, task: str) -> "SuiteCase":
        return replace(self, task=task)

    def tagged(self, tag: str) -> "SuiteCase":
        """Return the case with one more tag."""
        return replace(self, tags=(*self.tags, tag))

    def keeping(self, numbers: Sequence[int], why: str) -> "SuiteCase":
        """Return the case with these of its checks; the others are left out for a reason."""
        kept = tuple(self.checks[number] for number in numbers)
        dropped = (step for number, step in enumerate(self.checks) if number not in numbers)
        lost = tuple(NotTaken(step.where, step.code, why) for step in dropped)
        return replace(self, checks=kept, left_out=(*self.left_out, *lost))


class SuiteSecrets(Struct):
    """The secrets of all tests: each value has one name and one variable.

    Args:
        prefix: what the variables begin with.
    """

    prefix: str
    names: dict[str, str] = field(default_factory=dict)
    """The name of each value."""
    variables: dict[str, str] = field(default_factory=dict)
    """The environment variable of each name."""

    def add(self, value: str, kind: str, env: str = "") -> None:
        """Give a value a name, unless it has one."""
        if value in self.names:
            return
        kind = re.sub(r"\W", "_", kind) or "secret"
        name, number = kind, 1
        while name in self.variables:
            number += 1
            name = f"{kind}_{number}"
        self.names[value] = name
        self.variables[name] = env or f"{self.prefix}_{name.upper()}"

    def hide(self, code: str) -> str:
        """Return a line of code with placeholders for the secrets in it."""
        typing = any(f".{method}(" in code for method in TYPING)
        for value, name in self.names.items():
            placeholder = f"<secret:{name}>"
            if typing or len(value) >= _WHOLE_SECRET:
                code = code.replace(repr(value), repr(placeholder))
            if len(value) >= 2 * _WHOLE_SECRET:
                code = code.replace(repr(value)[1:-1], placeholder)
        return code

    def values(self) -> dict[str, str]:
        """Return the value of each variable."""
        return {self.variables[name]: value for value, name in self.names.items()}


def take_secrets(tests: Sequence[RecordedTest], secrets: SuiteSecrets) -> None:
    """Note the secrets of all tests: what was typed into such fields, or is from a variable."""
    for test in tests:
        for value, typed in test.secrets.items():
            secrets.add(value, typed.kind, typed.env)
        for act in read_acts("\n".join(_readable(step.code) for step in test.steps)):
            if act.method in TYPING and act.text and SECRET_PLACE.search(act.receiver):
                secrets.add(act.text, "password")


def _readable(code: str) -> str:
    return code if read_python(code) is not None else "pass"


def candidate(test: RecordedTest, secrets: SuiteSecrets, taken: Sequence[str]) -> SuiteCase:
    """Return a test as a case that is yet to be proven.

    Args:
        test: what was recorded.
        secrets: those of the suite.
        taken: the ids of other cases.

    Raises:
        NotImportable: it did not pass, opens no page, or does what the step language lacks.
    """
    if test.outcome != "passed":
        raise NotImportable(
            "it is skipped"
            if test.outcome == "skipped"
            else f"it does not pass itself: {one_line(secrets.hide(test.why), 160)}"
        )
    steps = [_hidden(step, secrets) for step in _from_first_page(test)]
    oracle = make_oracle(read_acts("\n".join(step.code for step in steps)), {})
    try:
        refuse_oracle(oracle.code)
    except SettingsError as error:
        raise NotImportable(str(error)) from None
    checks, lost = _checks(steps, test)
    noted = [
        NotTaken(one.where, secrets.hide(one.what), "no case can repeat it") for one in test.unsaid
    ]
    if not checks:
        such = _for_instance(lost, noted)
        raise NotImportable(f"it expects nothing that a check could tell{such}")
    name = f"{test.name}-{test.variant}" if test.variant else test.name
    return SuiteCase(
        test=test,
        id=_free(usable_id(name.removeprefix("test_").replace("_", "-")), taken),
        entry_url=_whole(oracle.entry_url),
        oracle=oracle.code,
        checks=tuple(checks),
        task=secrets.hide(task_words(test, steps)),
        secrets=tuple(oracle.secrets),
        left_out=(*lost, *noted),
    )


def _for_instance(lost: Sequence[NotTaken], noted: Sequence[NotTaken]) -> str:
    """Return the first thing that a test expects and no check can tell, with its place."""
    asserts = (one for one in noted if one.name.startswith(("assert ", "expect(")))
    first = next(iter([*lost, *asserts]), None)
    return f", such as `{one_line(first.name, 160)}` ({first.where})" if first else ""


def _hidden(step: RecordedStep, secrets: SuiteSecrets) -> RecordedStep:
    """Return a step without secrets, and with a slash after an address that is only a host."""
    code = _BARE_HOST.sub(r"\1/\2", secrets.hide(step.code))
    return step._replace(code=code)


def _whole(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.path or parts.query or parts.fragment else f"{url}/"


def _from_first_page(test: RecordedTest) -> list[RecordedStep]:
    """Return the steps from the first page on; what comes before can only prepare the browser."""
    for number, step in enumerate(test.steps):
        if step.code.startswith("page.goto("):
            before = [one for one in test.steps[:number] if "set_viewport_size" in one.code]
            return [step, *before, *test.steps[number + 1 :]]
        if step.kind == "act" and "set_viewport_size" not in step.code:
            raise NotImportable("it continues on a page that something else has opened")
    made = any("set_content" in one.what for one in test.unsaid)
    raise NotImportable(
        "its page is made by set_content and has no address" if made else "it opens no page"
    )


def _checks(
    steps: Sequence[RecordedStep], test: RecordedTest
) -> tuple[list[RecordedStep], list[NotTaken]]:
    kept: dict[str, RecordedStep] = {}
    lost: list[NotTaken] = []
    for step in steps:
        if step.kind != "expect":
            continue
        if _OF_A_TAB.match(step.code):
            lost.append(NotTaken(step.where, step.code, "only the first tab is judged"))
            continue
        try:
            AssertionCheck(assertion=step.code)
        except ValidationError as error:
            why = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            lost.append(NotTaken(step.where, step.code, one_line(why, 160)))
            continue
        # The last one, because what was expected earlier may be expected anew.
        kept.pop(step.code, None)
        kept[step.code] = step
    return list(kept.values()), lost


def task_words(test: RecordedTest, steps: Sequence[RecordedStep]) -> str:
    """Return the task of a test: its title, its docstring, and the values that it enters."""
    words = re.sub(r"[_\s]+", " ", test.name.removeprefix("test_")).strip()
    title = f"{words[:1].upper()}{words[1:]}"
    if test.variant:
        title = f"{title} ({test.variant})"
    doc = " ".join(test.doc.split("\n\n")[0].split())
    values = list(dict.fromkeys(_values(steps)))[:_MOST_VALUES]
    entered = f"Values to use: {'; '.join(values)}." if values else ""
    parts = [title if title.endswith((".", "!", "?")) else f"{title}.", doc, entered]
    return " ".join(filter(None, parts))


def _values(steps: Sequence[RecordedStep]) -> Iterator[str]:
    """Yield what is typed and chosen, with the words by which the field was found."""
    for act in read_acts("\n".join(step.code for step in steps if step.kind == "act")):
        if act.method not in (*TYPING, "select_option", "set_input_files"):
            continue
        given = [found[1] for found in _QUOTED.findall(act.call[len(act.receiver) :])]
        named = [found[1] for found in _QUOTED.findall(act.receiver)]
        if given:
            value = one_line(given[-1], _TEXT_CHARS)
            yield f"{named[-1]} = {value}" if named else value


def _free(name: str, taken: Sequence[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def setup_of(test: RecordedTest, *, held: bool) -> Mapping[str, Any]:
    """Return the `setup` of a case: how the suite wants its browser.

    Raises:
        NotImportable: the suite gives the browser a state that nobody can give it here.
    """
    setup = dict(test.context)
    if setup.get("viewport") == {"width": 1280, "height": 720}:
        del setup["viewport"]
    if test.given_state:
        if not held:
            raise NotImportable(
                "a fixture gives the browser cookies or storage, which only a fixture's own "
                "server can do for a case"
            )
        setup["storage_state"] = "{{ webserver.data }}/storage_state.json"
    return setup


def file_stem(test: RecordedTest) -> str:
    """Return the name of the case file for the tests of a file."""
    return usable_id(
        Path(test.nodeid.partition("::")[0]).with_suffix("").as_posix().replace("/", "-")
    )
