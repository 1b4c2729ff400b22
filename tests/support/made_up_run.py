"""Builds run folders out of MADE-UP data: no model, browser or server produced any of it."""

import difflib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from made_up_picture import PICTURE

from pytest_autoweb.results.records import (
    Attempt,
    CaptureModeName,
    CellResult,
    CheckResult,
    Exchange,
    Failure,
    LintFinding,
    ModelDescription,
    ModelSetting,
    Outcome,
    PlannedCell,
    PlanStep,
    RunInfo,
    Scene,
    Snapshot,
    StepResult,
    StepStatus,
    ToolCall,
    Usage,
    total_usage,
)
from pytest_autoweb.results.runs.saving import cell_folder, save_cell, save_manifest, save_run_info

BEGAN = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

TASKS = {
    "login": "Log in as ana with the password <secret:password> and open the account page.",
    "order-total": "Put two blue mugs into the cart and return the total as a number.",
    "filter-invoices": "Show only unpaid invoices of March and download them as CSV.",
    "book-flight": "Book the cheapest flight from Oslo to Bergen on the 3rd of next month.",
    "choose-date": "Select 12/24/2026 as the date and press submit.",
    "edit-profile": "Change the display name to “Ana Ćosić” and save.",
    "search-engine": "Search for Ophelia and open the 5th result.",
    "rtl-settings": "غيّر لغة الواجهة إلى العربية ثم احفظ الإعدادات.",
    "cjk-checkout": "把购物车里的商品结账，并选择“货到付款”。",
    "enter-time": "Enter 8:35 AM as the time and press submit.",
    "click-tab": "Switch between the tabs to find and click on the link “Amet”.",
    "user-admin": "Add a user named bob with staff rights; the list must show two users.",
}

CODE = """# Step 1
page.get_by_role("textbox", name="User name").fill("ana")
page.get_by_label("Password").fill("<secret:password>")

# Step 2
page.get_by_role("button", name="Sign in").click()
expect(page).to_have_url(re.compile(r".*/account$"), timeout=5000)

# Step 3
total = float(page.get_by_test_id("total").inner_text().strip("€ "))
rows = [row.inner_text() for row in page.get_by_role("row").all() if "mug" in row.inner_text()]
log(f"found {len(rows)} rows, total {total:.2f}")  # shown in the log
answer({"total": total, "rows": rows})
"""
FIXED = CODE.replace('name="Sign in"', 'name="Log in", exact=True')

STRENGTH = {"openai/gpt-5-mini": 0.8, "ollama_chat/qwen3:8b": 0.55, "local/qwen2.5-coder-1.5b": 0.3}
"""Made-up models' chance to pass; the names only make the page look like a real one."""


WITH_POINTS = ("order-total", "book-flight", "edit-profile", "enter-time", "user-admin")
"""The cases whose checks carry points."""


@dataclass(frozen=True)
class CellKey:
    """One cell of the made-up run."""

    case_id: str
    model: str
    mode: CaptureModeName = "ARIA_SNAPSHOT"
    repeat: int = 1

    @property
    def folder(self) -> str:
        return cell_folder(self.case_id, self.model, self.mode, self.repeat)


def cell(key: CellKey, outcome: Outcome = "passed", **changes: Any) -> CellResult:
    """A small cell; `changes` replace any field."""
    reason = "" if outcome == "passed" else f"made-up reason for {outcome}"
    fields: dict[str, Any] = {
        "case_id": key.case_id,
        "case_path": "cases/shop.yaml",
        "entry_url": "http://127.0.0.1:8000/login",
        "user_task": TASKS.get(key.case_id, "Press the only button."),
        "with_points": key.case_id in WITH_POINTS,
        "model": key.model,
        "capture_mode": key.mode,
        "repeat": key.repeat,
        "outcome": outcome,
        "reason": reason,
        "started": BEGAN,
        "duration_ms": 1500.0,
        "folder": key.folder,
    }
    return CellResult(**{**fields, **changes})


def planned(result: CellResult) -> PlannedCell:
    names = PlannedCell.model_fields.keys() - {"nodeid"}
    return PlannedCell(
        **{name: getattr(result, name) for name in names},
        nodeid=f"cases/shop.yaml::{result.case_id}[{result.model}]",
    )


def save_run(folder: Path, cells: list[CellResult], **info: Any) -> Path:
    """Save cells, manifest and run facts the way a real run does."""
    save_manifest(folder, map(planned, cells))
    for result in cells:
        save_cell(folder, result)
    save_run_info(folder, run_info(cells, **info))
    return folder


def run_info(cells: list[CellResult], **changes: Any) -> RunInfo:
    fields: dict[str, Any] = {
        "ts": "20261121_093000_000",
        "started": BEGAN,
        "duration_s": 241.0,
        "exit_status": 1,
        "models": tuple(dict.fromkeys(c.model for c in cells)),
        "capture_modes": tuple(dict.fromkeys(c.capture_mode for c in cells)) or ("ARIA_SNAPSHOT",),
        "settings": {
            "models": {"value": "a,b,c", "source": "command line"},
            "max_repairs": {"value": 1, "source": "default"},
            "capture": {"value": ["ARIA_SNAPSHOT"], "source": "pyproject.toml"},
        },
        "environment": {"python": "3.11.7", "playwright": "1.65.2", "browser": "chromium 141"},
        "model_settings": (
            ModelDescription(
                model="openai/gpt-5-mini",
                settings=(
                    ModelSetting(name="context", value="272,000 tokens", source="registry"),
                    ModelSetting(name="vision", value="no", source="settings"),
                ),
            ),
        ),
        "workers": 2,
    }
    return RunInfo(**{**fields, **changes})


def realistic_cells(seed: int = 7) -> list[CellResult]:
    """Twelve cases on three models and the two controls, with everything a cell can hold."""
    chance = random.Random(seed)
    cells = []
    for case_id in TASKS:
        cells.append(_control(case_id, "builtin/oracle", "passed"))
        cells.append(_control(case_id, "builtin/noop", "failed"))
        for model, strength in STRENGTH.items():
            cells.append(_contestant(CellKey(case_id, model), _draw(chance, strength), chance))
    return cells


def _draw(chance: random.Random, strength: float) -> Outcome:
    if chance.random() < strength:
        return "passed"
    return chance.choice(["healed", "failed", "failed", "failed", "broken", "ungraded"])


def _control(case_id: str, model: str, outcome: Outcome) -> CellResult:
    passed = outcome == "passed"
    attempt = _attempt(CODE if passed else "", ok=passed, checks_ok=passed, usage={})
    return cell(CellKey(case_id, model), outcome, attempts=(attempt,), duration_ms=800.0)


def _contestant(key: CellKey, outcome: Outcome, chance: random.Random) -> CellResult:
    usage = _usage(key.model, chance)
    if outcome == "broken":
        failure = Failure(kind="model", cause="timeout", message="no reply within 180 s")
        return cell(key, outcome, failure=failure, reason=failure.message, duration_ms=180_400.0)
    attempts = [_attempt(CODE, ok=outcome in ("passed", "ungraded"), usage=usage)]
    if outcome == "ungraded":
        attempts = [
            attempts[0].model_copy(update={"checks": (), "checks_passed": None, "score": None})
        ]
    if outcome in ("healed", "failed"):
        attempts.append(_repair(ok=outcome == "healed", usage=usage))
    reasons = {"failed": "check 1 (url) does not hold", "healed": "healed by repair 1"}
    return cell(
        key,
        outcome,
        attempts=tuple(attempts),
        usage=total_usage(tuple(attempts)),
        reason=reasons.get(outcome, "" if outcome == "passed" else "the case has no checks"),
        slow=outcome == "passed" and chance.random() < 0.2,
        duration_ms=sum(a.duration_ms for a in attempts),
        tags=("smoke",) if key.case_id in ("login", "click-tab") else ("slow-ui",),
        must_pass=key.case_id == "login",
        worker=chance.choice(["gw0", "gw1"]),
        nodeid=f"cases/shop.yaml::{key.case_id}[{key.model}]",
    )


def _usage(model: str, chance: random.Random) -> dict[str, Usage]:
    priced = model.startswith("openai/")
    tokens = chance.randrange(1200, 6000)
    return {
        stage: Usage(
            calls=1,
            input_tokens=tokens,
            output_tokens=chance.randrange(80, 600),
            cached_tokens=tokens // 2 if priced else 0,
            reasoning_tokens=70 if priced else 0,
            cost_usd=tokens * 4e-7 if priced else None,
            unpriced_calls=0 if priced else 1,
            latency_s=chance.uniform(0.5, 6),
        )
        for stage in ("plan", "generate")
    }


def _repair(*, ok: bool, usage: dict[str, Usage]) -> Attempt:
    diff = difflib.unified_diff(
        CODE.splitlines(), FIXED.splitlines(), "attempt 1", "attempt 2", lineterm=""
    )
    repaired = _attempt(FIXED, ok=True, checks_ok=ok, usage=usage)
    changes = {"attempt_index": 2, "repair_attempt": True, "code_diff": "\n".join(diff)}
    return repaired.model_copy(update=changes)


def _attempt(
    code: str, *, ok: bool, usage: dict[str, Usage], checks_ok: bool | None = None
) -> Attempt:
    holds = ok if checks_ok is None else checks_ok
    steps = _steps(ok)
    return Attempt(
        prompt="Log in and read the total",
        plan_text="/*\nPLAN_START\nStep 1: …\nPLAN_END\n*/",
        plan_confirmed=ok,
        plan_steps=_PLAN,
        snapshots=(
            Snapshot(
                step_indexes=(1, 2),
                url="http://127.0.0.1:8000/login",
                entry_action="Direct URL",
                mode="ARIA_SNAPSHOT",
                cache_key="0" * 64,
                text='- heading "Sign in"\n- textbox "User name"\n- textbox "Password"',
                tokens=1840,
            ),
        ),
        code=code,
        lint_errors=() if ok else _LINT,
        entry_url_used="http://127.0.0.1:8000/login",
        step_results=steps,
        tool_calls=_CALLS,
        actions=sum(call.acting and call.ok for call in _CALLS),
        formatted_errors=() if ok else ("步骤: 2, 出错信息: Timeout 5000 ms exceeded",),
        run_log_head="found 2 rows, total 25.90",
        answer={"total": 25.9, "rows": ["blue mug", "blue mug"]},
        answered=True,
        checks=_checks(holds),
        executed=ok,
        checks_passed=holds,
        score=0.75 if holds else 0.5,
        false_success=ok and not holds,
        failure=None if ok else steps[1].failure,
        scene=None if ok else _SCENE,
        exchanges=_EXCHANGES,
        usage=usage,
        stage_ms={"plan": 2100.0, "capture": 640.0, "generate": 5200.0, "execute": 4321.0},
        final_url="http://127.0.0.1:8000/account",
        final_screenshot="attempt-1/final.png",
        duration_ms=12_400.0,
    )


def _steps(ok: bool) -> tuple[StepResult, ...]:
    states: tuple[StepStatus, ...] = ("ok", "ok", "ok") if ok else ("ok", "failed", "blocked")
    error = "TimeoutError: waiting for get_by_role('button', name='Sign in') took over 5000 ms"
    failure = Failure(kind="timeout", message=error, step_index=2, line=6)
    return tuple(
        StepResult(
            step_index=index,
            ok=state == "ok",
            status=state,
            duration_ms={"ok": 420.0 * index, "failed": 5012.0}.get(state, 0.0),
            error=error if state == "failed" else None,
            failure=failure if state == "failed" else None,
            log_tail="found 2 rows, total 25.90" if index == 3 and ok else "",
            retried=index == 3 and ok,
            screenshot=f"attempt-1/step-{index}.png" if state != "blocked" else None,
        )
        for index, state in enumerate(states, start=1)
    )


def _checks(holds: bool) -> tuple[CheckResult, ...]:
    where = "http://127.0.0.1:8000/account" if holds else "http://127.0.0.1:8000/login?error=1"
    return (
        CheckResult(index=0, type="url", passed=holds, expected="**/account", actual=where),
        CheckResult(
            index=1,
            type="text",
            passed=True,
            expected="Welcome, Ana",
            actual="Welcome, Ana",
            message="the greeting is shown",
            weight=2.0,
        ),
        CheckResult(
            index=2,
            type="sql",
            passed=None,
            expected="[[25.90]]",
            actual="",
            message="the database file is missing",
        ),
    )


_PLAN = (
    PlanStep(
        index=1,
        description="Fill in the user name and the password",
        target_url="http://127.0.0.1:8000/login",
        entry_action="Direct URL",
        status="CONFIRMED",
    ),
    PlanStep(index=2, description="Sign in and wait for the account page", status="CONFIRMED"),
    PlanStep(
        index=3, description="Read the total of the cart", entry_action="click by visible text"
    ),
)
_LINT = (
    LintFinding(
        line=11,
        col=8,
        code="AW102",
        message="`list comprehension over all()` may be long",
        hint="use locator.filter(has_text=…)",
    ),
)
_SCENE = Scene(
    step_index=2,
    url="http://127.0.0.1:8000/login",
    title="Sign in",
    snapshot='- textbox "User name": ana\n- button "Log in"',
    screenshot="attempt-1/scene.png",
    console=("[error] 401 /api/session",),
    failed_requests=("POST http://127.0.0.1:8000/api/session 401",),
)
_CALLS = (
    ToolCall(
        step_index=1,
        seq=0,
        target="page.get_by_label('Password')",
        method="fill",
        arguments="'<secret:password>'",
        acting=True,
        ok=True,
        duration_ms=31.0,
    ),
    ToolCall(
        step_index=2,
        seq=0,
        target="page.get_by_role('button', name='Sign in')",
        method="click",
        arguments="",
        acting=True,
        ok=False,
        error="Timeout 5000 ms exceeded",
        duration_ms=5003.0,
    ),
)
_EXCHANGES = (
    Exchange(
        stage="plan",
        prompt="MODE: PLAN_ONLY\nLog in and read the total",
        reply="PLAN_START\nStep 1: …\nPLAN_END",
        usage=Usage(calls=1, input_tokens=1320, output_tokens=188, unpriced_calls=1, latency_s=2),
        model_served="qwen2.5-coder",
    ),
    Exchange(
        stage="generate",
        prompt="MODE: CODEGEN\n…",
        reply="```python\n# Step 1\n…\n```",
        usage=Usage(calls=1, input_tokens=4120, output_tokens=411, cost_usd=0.0016, latency_s=5),
    ),
)


def save_screenshots(folder: Path, cells: list[CellResult]) -> None:
    """Draw a picture for every screenshot that a cell names."""
    for result in cells:
        for attempt in result.attempts:
            paths = [step.screenshot for step in attempt.step_results]
            paths += [attempt.final_screenshot, attempt.scene.screenshot if attempt.scene else None]
            for path in filter(None, paths):
                target = folder / result.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(PICTURE)


def assert_all_time_is_in_stages(cells: Iterable[dict[str, Any]]) -> None:
    """Each second of a cell, as its `cell.json` tells it, lies in one of its stages."""
    for result in cells:
        stages = [attempt["stage_ms"] for attempt in result["attempts"]] + [result["stage_ms"]]
        told = sum(sum(each.values()) for each in stages)
        assert abs(told - result["duration_ms"]) < 1, result["folder"]
        assert result["duration_ms"] > 0
