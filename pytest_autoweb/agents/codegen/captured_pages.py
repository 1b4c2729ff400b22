"""The pages of a plan as the model is shown them: one snapshot per URL and entry action."""

from pytest_autoweb.agents.attempt.tools import Tools, ask, change
from pytest_autoweb.browser.page.capture import cache_key, capture_snapshot
from pytest_autoweb.browser.page.opening import open_page
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.judging.evidence.scene import shot
from pytest_autoweb.models.messages import Message, picture_uri
from pytest_autoweb.models.prompts import render
from pytest_autoweb.results.records import Attempt, PlanStep, Snapshot
from pytest_autoweb.sandbox.engine import StepCallError

CURRENT_PAGE = "CURRENT_PAGE"
PROMPT_OVERHEAD_TOKENS = 1_800
"""Estimate of the tokens of rules, examples, task and plan around the snapshots."""


def capture_pages(attempt: Attempt, tools: Tools) -> Attempt:
    """Take the snapshots without acting; other pages are opened in separate tabs.

    The entry page is always among them. The model gets the reason why a page cannot be shown: a
    plan may name addresses that do not exist.
    """
    wanted: dict[tuple[str, str], list[int]] = {}
    where = (CURRENT_PAGE, "")
    for step in attempt.plan_steps:
        # A step on the current page continues where the previous step was.
        where = _page_of(step, tools) or where
        wanted.setdefault(where, []).append(step.index)
    if (CURRENT_PAGE, "") not in wanted:
        wanted = {(CURRENT_PAGE, ""): [], **wanted}
    budget = page_budget(tools, len(wanted))
    snapshots: list[Snapshot] = []
    for (url, action), indexes in wanted.items():
        try:
            snapshots.append(_capture(url, action, tuple(indexes), budget, tools))
        except LookupError as error:
            tools.log.write(f"capture: {error}")
            snapshots.append(_not_shown(url, action, tuple(indexes), str(error), tools))
    attempt = change(attempt, snapshots=tuple(snapshots))
    return describe_picture(attempt, tools)


def show_more(tools: Tools, number: int, row: int = 1) -> None:
    """Make the next listing show in full a list that this one shortens; `page.show_more(…)`.

    Args:
        tools: the tools of the attempt.
        number: the list's number in the listing.
        row: where to begin, from 1.

    Raises:
        StepCallError: the listing has no such list.
    """
    if type(number) is not int or type(row) is not int:
        raise StepCallError("page.show_more takes the number of a list, and a row to begin at")
    try:
        tools.folds.ask(number, row)
    except LookupError as error:
        raise StepCallError(f"page.show_more: {error.args[0]}") from None


def _not_shown(
    url: str, action: str, indexes: tuple[int, ...], reason: str, tools: Tools
) -> Snapshot:
    text = tools.redact(f"NOT SHOWN: {reason}")
    return Snapshot(
        step_indexes=indexes,
        url=url,
        entry_action=action,
        mode=tools.mode,
        cache_key=cache_key(url, action, tools.mode),
        text=text,
        tokens=estimate_tokens(text),
        notes=(text,),
    )


def page_budget(tools: Tools, pages: int) -> int:
    room = tools.spec.context_tokens - tools.spec.max_tokens - PROMPT_OVERHEAD_TOKENS
    # Less than this shows nothing useful, so exceeding a small context is the lesser evil.
    return max(400, min(room, tools.spec.page_tokens) // max(1, pages))


def _page_of(step: PlanStep, tools: Tools) -> tuple[str, str] | None:
    """Return the URL and entry action of the page that a step names, or None if it names none.

    The entry page needs no URL.
    """
    url = step.target_url
    if not url.startswith(("http://", "https://")):
        return None
    return (CURRENT_PAGE, "") if url == tools.case.entry_url else (url, step.entry_action)


def _capture(
    url: str, action: str, indexes: tuple[int, ...], budget: int, tools: Tools
) -> Snapshot:
    page = tools.page
    if url != CURRENT_PAGE:
        # A plan may name any address, but must not lead the browser off the case's origins.
        if not tools.policy.allows(url):
            raise LookupError(f"{url} is outside the case's origins; not captured")
        page = tools.page.context.new_page()
    try:
        if url != CURRENT_PAGE and (failure := open_page(page, url, timeout_ms=15_000)):
            raise LookupError(f"{url} could not be captured: {failure.message}")
        snapshot = capture_snapshot(
            page,
            tools.mode,
            url=page.url,
            entry_action=action,
            step_indexes=indexes,
            budget_tokens=budget,
        )
        return snapshot.model_copy(update={"text": tools.redact(snapshot.text)})
    finally:
        if page is not tools.page:
            page.close()


def describe_picture(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask the model to describe a screenshot, for `--autoweb-visual-supplement`."""
    if not (tools.settings.visual_supplement and tools.spec.vision):
        return attempt
    path = tools.folder / "visual.jpg"
    tools.newest.settle()
    if not shot(tools.page, path, tools.hidden):
        return attempt
    picture = picture_uri(path.read_bytes(), "jpeg")
    messages: tuple[Message, ...] = render(
        "visual", images=(picture,), task=tools.case.user_task, url=tools.page.url
    )
    described, text = ask(attempt, tools, "visual", messages, max_tokens=600, usable=str)
    if described.failure:
        # The picture is only a supplement, so the attempt continues without it.
        return change(described, failure=None)
    return change(described, visual_description=tools.redact(text))
