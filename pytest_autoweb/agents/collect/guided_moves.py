"""Lets a model set filters, choose entries and find the next page where no rule helps."""

from collections.abc import Callable

from playwright.sync_api import Error

from pytest_autoweb.agents.collect.list_page import ListEntry, read_links
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.page_questions import Guide, GuidedDecision
from pytest_autoweb.agents.collect.saved_state import CollectProgress, NavStep, NextPage
from pytest_autoweb.agents.collect.walk import do_step
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.browser.page.quiet import wait_until_quiet

RETRIES = 2
"""Number of extra decisions to make up for those without effect."""
MAX_SCROLLS = 5
VAIN_ROUNDS = 2
"""Number of consecutive rounds without a new entry that end the choice of entries."""
_NAME_CHARS = 30


def set_list(
    guide: Guide, site: Site, *, limit: int, reveal: Callable[[str], str]
) -> tuple[NavStep, ...]:
    """Let the model set filters until the list shows the wanted entries; return the steps.

    Used controls are not offered again, because small models keep setting the same one. The prompt
    shows for each step whether the list changed, so the model knows whether it still has to press a
    button.
    """
    steps: list[NavStep] = []
    told: list[str] = []

    def is_done(one: Mark | NavStep) -> bool:
        return any(one.xpaths == step.xpaths for step in steps)

    for _ in range(limit + RETRIES):
        if len(steps) >= limit or guide.lost:
            break
        decided = guide.decide("navigate", site.page, known=told, over=is_done)
        if decided.action == "done":
            break
        if (step := _step_of(decided)) is None:
            continue
        if step.xpaths and is_done(step):
            said = "was done already: choose what applies it, or answer done"
            guide.wrong("navigate", f"{_told(step, decided)} {said}", decided.picked[0].mark)
            continue
        before = _links(site)
        if problem := do_step(site, step, reveal):
            guide.wrong("navigate", problem)
            continue
        wait_until_quiet(site.page)
        steps.append(step)
        became = "changed" if _links(site) != before else "did not change yet"
        told.append(f"{_told(step, decided)}: the list {became}")
    return tuple(steps)


def _step_of(decided: GuidedDecision) -> NavStep | None:
    fields = decided.fields
    if decided.action == "press":
        return NavStep(action="press", key=str(fields.get("key") or "Enter"))
    if not decided.picked or decided.action not in ("click", "type", "select"):
        return None
    mark = decided.picked[0].mark
    return NavStep.model_validate(
        {
            "action": decided.action,
            "xpaths": mark.xpaths,
            "expected_text": mark.text,
            "text": str(fields.get("option" if decided.action == "select" else "text") or ""),
        }
    )


def _told(step: NavStep, decided: GuidedDecision) -> str:
    mark = decided.picked[0].mark if decided.picked else None
    name = (mark.name or mark.text)[:_NAME_CHARS] if mark else ""
    if step.action in ("select", "type"):
        return f"{step.action} {step.text} in {name}"
    return f"{step.action} {step.key or name}"


def _links(site: Site) -> list[str]:
    try:
        return [entry.url for entry in read_links(site.page)]
    except Error:
        # The page is navigating.
        return []


def find_next(guide: Guide, site: Site) -> NextPage | None:
    """Ask the model for the control that leads to the next page, again if its reply is unusable."""
    site.scroll()
    for _ in range(1 + RETRIES):
        decided = guide.decide("paginate", site.page)
        if decided.action == "none" or guide.lost:
            return None
        if decided.picked:
            mark = decided.picked[0].mark
            return NextPage(text=mark.text, xpaths=mark.xpaths)
    return None


def pick_entries(
    guide: Guide, site: Site, progress: CollectProgress, target: int
) -> tuple[ListEntry, ...]:
    """Let the model choose the entries of the current page, in several rounds while scrolling."""
    chosen: dict[str, ListEntry] = {}
    scrolls = vain = 0
    while scrolls <= MAX_SCROLLS and vain < VAIN_ROUNDS and not guide.lost:
        known = (*progress.urls, *chosen)
        if len(known) >= target:
            break
        decided = guide.decide(
            "collect", site.page, known=known, over=lambda mark: mark.url in chosen
        )
        if decided.action == "done":
            break
        found = [picked.entry for picked in decided.picked if picked.entry.key not in chosen]
        chosen.update((entry.key, entry) for entry in found)
        vain = 0 if found else vain + 1
        if decided.action == "scroll_down" or vain:
            scrolls += 1
            if site.step_down():
                break
    return tuple(chosen.values())
