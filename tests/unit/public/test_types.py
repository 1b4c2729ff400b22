"""The public names as a type checker sees them; mypy reads this file in strict mode."""

from collections.abc import Iterator
from typing import assert_type

import pytest

from pytest_autoweb import (
    Autoweb,
    CaptureMode,
    CellResult,
    Client,
    CorrectionArm,
    Gate,
    GateContext,
    GateResult,
    Message,
    ModelError,
    ModelSpec,
    Panel,
    PanelContent,
    Registry,
    Reply,
    Report,
    Request,
    Strategy,
    Usage,
    stages,
)
from pytest_autoweb.checks import Check, CheckContext, CheckProbe, CheckVerdict, Evidence, Verdict
from pytest_autoweb.stages import Attempt, NamedStage, Tools, ask, change, take_code


class Echo:
    """A client that gives back what it was sent."""

    def complete(self, request: Request) -> Reply:
        if not request.messages:
            raise ModelError("empty", request.model, "nothing was asked")
        return Reply(text=request.messages[-1].content, usage=Usage(calls=1))


def pytest_autoweb_client(spec: ModelSpec) -> Client | None:
    return Echo() if spec.name == "mine/echo" else None


class TitleIs(Check):
    """The title of the page at the end."""

    name = "title_is"
    title_is: str

    def probe(self, evidence: Evidence) -> CheckProbe:
        return CheckProbe(
            self.title_is,
            lambda seconds: Verdict(evidence.page.title() == self.title_is, evidence.page.title()),
        )


def write_at_once(attempt: Attempt, tools: Tools) -> Attempt:
    message = Message(role="user", content=tools.case.user_task)
    attempt, reply = ask(attempt, tools, "generate", (message,))
    assert_type(reply, str)
    return attempt if attempt.failure else take_code(attempt, tools, reply)


def few_calls(context: GateContext) -> Iterator[GateResult]:
    calls = sum(row.calls for row in context.contestants)
    yield GateResult(name="few calls", passed=calls <= 200, message=f"{calls} calls")


def cells(report: Report) -> PanelContent:
    return PanelContent(facts={"cells": sum(len(case.cells) for case in report.cases)})


def pytest_autoweb_register(registry: Registry) -> None:
    write = NamedStage("generate", write_at_once)
    first = (stages.OPEN, stages.PLAN_AS_TASK, write, stages.LINT, stages.EXECUTE, stages.JUDGE)
    registry.add_check(TitleIs)
    registry.add_strategy(Strategy(name="typed", summary="at once", first=first))
    registry.add_capture_mode(
        CaptureMode(name="TYPED", summary="the title", show=lambda root, tokens: root.title())
    )
    registry.add_correction_arm(CorrectionArm(name="typed", summary="at once", writer=write))
    registry.add_gate(Gate(name="typed", summary="few calls", evaluate=few_calls))
    registry.add_report_panel(Panel("typed", "Cells", "how many", cells))


def order_is_paid(context: CheckContext, order: int) -> bool | CheckVerdict:
    return CheckVerdict(order in context.answer, actual=str(context.answer))


def passed(autoweb: Autoweb) -> bool:
    result = autoweb.run("cases/shop.yaml::login", model="mine/echo")
    assert_type(result, CellResult)
    return result.passed


def test_a_typed_conftest_registers_one_of_each() -> None:
    registry = Registry()
    try:
        pytest_autoweb_register(registry)
    finally:
        registry.undo()


def test_a_typed_client_answers() -> None:
    client = pytest_autoweb_client(ModelSpec(name="mine/echo"))
    assert client is not None
    asked = Request(model="mine/echo", messages=(Message(role="user", content="Hi"),), stage="plan")

    assert client.complete(asked).text == "Hi"


def test_a_misspelt_field_or_name_is_a_type_error_and_fails() -> None:
    # Without these errors mypy would call the comments unused, and fail.
    with pytest.raises(TypeError, match="no field cod"):
        change(Attempt(), cod="")  # type: ignore[call-arg]
    with pytest.raises(ImportError):
        from pytest_autoweb import Gaet  # type: ignore[attr-defined]  # noqa: F401
