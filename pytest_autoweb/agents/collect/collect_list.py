"""The strategy `collect` and `collect_urls(…)`, which collect the addresses behind a list.

A collection is one run of either, from its beginning or from the point where it was stopped.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from playwright.sync_api import Error
from pydantic import ValidationError

from pytest_autoweb.agents.act.decide import BRIEF_TOKENS, CHARS_PER_TOKEN, TEXT_SHARE, is_brief
from pytest_autoweb.agents.attempt.execute import LOG_TAIL_LINES
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail, relative
from pytest_autoweb.agents.choice.feedback import Feedback, section
from pytest_autoweb.agents.collect.explore import explore
from pytest_autoweb.agents.collect.guided_moves import find_next, pick_entries, set_list
from pytest_autoweb.agents.collect.list_page import ListEntry
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.page_questions import Guide, GuideQuestion
from pytest_autoweb.agents.collect.phases import forms_text, grammar, schema
from pytest_autoweb.agents.collect.robots import Robots, robots_of
from pytest_autoweb.agents.collect.saved_state import (
    Collection,
    CollectProgress,
    collection_of,
    load_collection,
    moved,
    save_collection,
    save_progress,
    unfinished,
)
from pytest_autoweb.agents.collect.walk import (
    Pacer,
    Ports,
    Walk,
    WalkLimits,
    go_back_to,
    replay_steps,
)
from pytest_autoweb.base.errors import CaseError, first_line
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.language import BROWSER_FAILED, NOT_ENOUGH, StepProblem
from pytest_autoweb.browser.marks.marking import listing, plain_options
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.cases.collect_spec import CollectSpec, Rate
from pytest_autoweb.models.messages import Message, picture_uri
from pytest_autoweb.models.model_spec import is_loopback
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import whole_lines, whole_object
from pytest_autoweb.results.records import Attempt, Decision, Failure, StepResult
from pytest_autoweb.results.runs.saving import cell_folder
from pytest_autoweb.sandbox.engine import StepCallError

_TEXT_MS = 3_000.0
_LINE_CHARS = 200
_NEAR_CHARS = 80


class Job(Struct):
    """Everything that a collection needs."""

    site: Site
    """The site whose page shows the list."""
    collection: Collection
    """The known facts about the list."""
    spec: CollectSpec
    pacer: Pacer
    guide: Guide | None = None
    """The model that supplies missing facts; None when there is no model."""
    folders: tuple[Path, ...] = ()
    """The folders to which the results are written after every page."""
    kept: Path | None = None
    """A folder that may hold an earlier run's progress; results are written there as well."""
    reveal: Callable[[str], str] = lambda text: text
    """Replaces the placeholders of secrets in recorded steps."""
    clean: Callable[[str], str] = lambda text: text
    """Removes secrets from written text."""
    over: Callable[[], bool] = lambda: False
    """Returns whether the time is up."""


def collect(job: Job) -> CollectProgress:
    """Set the filters, learn the pattern of entries, and collect page after page.

    The model supplies only what the collection lacks. With a pattern, from the case or from an
    earlier run's `collection.json`, it is not called at all.

    Returns:
        The progress at the end; `pause_reason` explains why it ended there.
    """
    created = job.collection.created_at or datetime.now(UTC).isoformat()
    known = job.collection.model_copy(update={"created_at": created})
    first = CollectProgress(
        list_url=known.list_url, task_description=known.task_description, collection=known
    )
    if problem := job.site.forbidden(known.list_url):
        return _stopped(job, first, problem)
    if job.site.robots:
        job.pacer.least = job.site.robots.rules(known.list_url).delay
    kept = job.kept and unfinished(job.kept, known.list_url, known.task_description)
    if kept:
        return _go_on(job, kept)
    progress = first
    if problem := replay_steps(job.site, known.nav_steps, job.reveal):
        return _stopped(job, progress, problem)
    if not known.has_pattern:
        if job.guide is None:
            return _stopped(job, progress, "there is no pattern, and no model to find one")
        known = _learn(job, job.guide, known)
        progress = progress.model_copy(update={"collection": known})
        if job.guide.lost:
            return _stopped(job, progress, "the model does not answer")
    return _walk(job, progress)


def _learn(job: Job, guide: Guide, known: Collection) -> Collection:
    if job.spec.navigate and not known.nav_steps:
        steps = set_list(guide, job.site, limit=job.spec.navigate, reveal=job.reveal)
        known = known.model_copy(update={"nav_steps": steps})
    found = explore(guide, job.site, job.pacer, known, visits=job.spec.explore, over=job.over)
    said = found.reason or f"pattern {found.collection.detail_xpath or 'of addresses'} learned"
    job.site.note(f"collect: {said}")
    return found.collection


def _go_on(job: Job, progress: CollectProgress) -> CollectProgress:
    """Continue an earlier run after its last completed page."""
    with job.site.watched():
        reached = go_back_to(job.site, progress, job.reveal)
    job.site.note(
        f"collect: resumed after page {progress.current_page_num} with {len(progress.urls)} "
        f"addresses ({reached.how})"
    )
    if reached.at == "start":
        progress = progress.model_copy(update={"current_page_num": 0, "page_url": ""})
    progress = progress.model_copy(update={"status": "running", "pause_reason": ""})
    return _walk(job, progress, page_is_done=reached.at == "done")


def _walk(job: Job, progress: CollectProgress, *, page_is_done: bool = False) -> CollectProgress:
    guide, spec = job.guide, job.spec
    ports = Ports(pacer=job.pacer, save=partial(_save, job))
    if guide is not None and not job.collection.has_pattern:
        by_model = None if progress.collection.has_pattern else partial(_pick, job, guide)
        ports = Ports(job.pacer, partial(_save, job), partial(find_next, guide, job.site), by_model)
    limits = WalkLimits(spec.target, spec.pages, job.over)
    return Walk(job.site, ports, limits).run(progress, page_is_done=page_is_done)


def _pick(job: Job, guide: Guide, progress: CollectProgress) -> tuple[ListEntry, ...]:
    return pick_entries(guide, job.site, progress, job.spec.target)


def _save(job: Job, progress: CollectProgress) -> CollectProgress:
    for folder in (*job.folders, *([job.kept] if job.kept else [])):
        progress = save_progress(progress, folder, job.clean)
        save_collection(progress.collection, folder, job.clean)
    return progress


def _stopped(job: Job, progress: CollectProgress, reason: str) -> CollectProgress:
    job.site.note(f"collect: {reason}")
    return _save(job, progress.model_copy(update={"status": "paused", "pause_reason": reason}))


def collect_list(attempt: Attempt, tools: Tools) -> Attempt:
    """Collect from the entry page onwards, and return the addresses as the attempt's answer."""
    spec = tools.case.collect or CollectSpec()
    asker = QuestionAsker(tools, attempt)
    began = tools.clock.now()
    job = job_of(tools, spec, known_collection(tools, spec), asker, folder=tools.folder)
    if spec.folder:
        place = cell_folder(tools.case.id, tools.spec.name, tools.mode, tools.repeat)
        # Without the leading `cells/`, which is only useful in a run folder.
        job.kept = _beside_case(tools, spec.folder) / place.partition("/")[2]
    tools.code_begins()
    try:
        progress = collect(job)
    except Error as error:
        message = tools.redact(first_line(error))
        problem = StepProblem.of("1", BROWSER_FAILED, message)
        failure = Failure(kind="browser", message=f"collect: {message}")
        return fail(asker.attempt, failure, problem)
    return _finished(asker.attempt, tools, progress, (tools.clock.now() - began) * 1000)


def _finished(attempt: Attempt, tools: Tools, progress: CollectProgress, took_ms: float) -> Attempt:
    """Return the attempt with its answer; it fails if it was stopped or found nothing."""
    urls = [tools.redact(url) for url in progress.urls]
    ok = progress.status == "done" and bool(urls)
    reason = tools.redact(progress.pause_reason)
    message = f"{len(urls)} addresses on {progress.current_page_num} pages: {reason}"
    failure = attempt.failure or Failure(kind="step", message=message, step_index=1)
    result = StepResult(
        step_index=1,
        ok=ok,
        status="ok" if ok else "failed",
        duration_ms=took_ms,
        error=None if ok else message,
        log_tail="\n".join(tools.log.lines[-LOG_TAIL_LINES:]),
        failure=None if ok else failure,
    )
    attempt = change(
        attempt, answer=urls, answered=True, step_results=(result,), executed=ok, failure=None
    )
    return attempt if ok else fail(attempt, failure, StepProblem.of("1", NOT_ENOUGH, message))


def job_of(
    tools: Tools, spec: CollectSpec, collection: Collection, asker: "QuestionAsker", *, folder: Path
) -> Job:
    """Return the job of collecting from the attempt's page within the attempt's time."""
    began, waited = tools.clock.now(), tools.budget.waited()

    def over() -> bool:
        spent = tools.clock.now() - began - (tools.budget.waited() - waited)
        return spent > tools.budget.left

    # With a known pattern no model is called.
    guide = None
    if not collection.has_pattern:
        guide = Guide(
            asker.ask,
            asker.keep,
            tools.hidden,
            Feedback(tools.settings.feedback, english=not tools.spec.small),
            tools.log.write,
        )
    return Job(
        site=Site(tools.page, tools.policy.allows, tools.log.write, _robots(tools, spec)),
        collection=collection,
        spec=spec,
        pacer=Pacer(spec.rate, tools.clock.sleep),
        guide=guide,
        folders=(folder,),
        reveal=tools.reveal,
        clean=tools.redact,
        over=over,
    )


def _robots(tools: Tools, spec: CollectSpec) -> Robots:
    """Return the rules of sites other than the user's own."""
    own = spec.own_site
    return robots_of(
        tools.page, tools.policy.allows, lambda url: not (is_loopback(url) if own is None else own)
    )


def known_collection(tools: Tools, spec: CollectSpec) -> Collection:
    """Return the collection from the case's description of the list, or from its `collection.json`.

    Raises:
        CaseError: there is no such file, or it is not a collection.
    """
    if spec.config is None:
        return collection_of(spec, tools.case.entry_url, tools.case.user_task)
    # A server started for the tests has a different port in each run.
    saved = moved(load_collection(_beside_case(tools, spec.config)), tools.case.entry_url)
    return saved.model_copy(update={"task_description": tools.case.user_task})


def _beside_case(tools: Tools, name: str) -> Path:
    folder = tools.case_path.parent if tools.case_path else tools.settings.rootdir
    return folder / name


class QuestionAsker:
    """The part of the collector that asks the model and records calls and decisions on the attempt.

    Args:
        tools: the tools of the attempt.
        attempt: the attempt so far; the attribute `attempt` holds the extended attempt.
        task: what to collect; the case's task if empty.
    """

    def __init__(self, tools: Tools, attempt: Attempt, task: str = "") -> None:
        self._tools, self.attempt, self._task = tools, attempt, task or tools.case.user_task
        # `collect_urls` may run several times in an attempt, and must not overwrite its pictures.
        self._pictures = len(list(tools.folder.glob("decision-*.png")))

    def ask(self, question: GuideQuestion) -> str | None:
        """Return the reply; None if the call failed, which fails the attempt."""
        tools, phase = self._tools, question.phase
        tools.progress(f"{phase} {question.number}")
        marks = [m for m in question.marked.marks if m.number not in question.banned]
        numbers = [mark.number for mark in marks]
        constrained, brief = tools.spec.constrained, is_brief(tools)
        near = bool(self._near(question))
        self.attempt, reply = ask(
            self.attempt,
            tools,
            phase,
            self._messages(question),
            turn=question.number,
            grammar=grammar(phase, marks, near=near, only=question.action)
            if constrained == "gbnf" and brief
            else None,
            json_schema=schema(phase, numbers, near=near)
            if constrained != "none" and not brief
            else None,
            max_tokens=BRIEF_TOKENS if brief else None,
            usable=whole_lines if brief else whole_object,
        )
        return None if self.attempt.failure else reply

    def _messages(self, question: GuideQuestion) -> tuple[Message, ...]:
        tools, marked = self._tools, question.marked
        brief, vision = is_brief(tools), tools.spec.vision
        near = bool(self._near(question))
        variables: dict[str, Any] = {
            "phase": question.phase,
            "forms": forms_text(question.phase, brief=brief, near=near, only=question.action),
            "near": near,
            "second_look": " ".join(question.second_look.split())[:_NEAR_CHARS],
            "unsure": question.unsure,
            "alone": len(marked.marks) == 1,
            "task": self._task,
            "secrets": sorted(tools.case.secrets),
            "known": [" ".join(line.split())[:_LINE_CHARS] for line in question.known],
            "listing": fence(shown, "page") if (shown := self._listing(question)) else "",
            "feedback": section(question.problems),
        }
        if brief:
            return render("collect_brief", **variables)
        images = (picture_uri(marked.picture),) if vision else ()
        url = tools.redact(question.page.url)
        return render("collect", images=images, url=url, vision=vision, **variables)

    def _near(self, question: GuideQuestion) -> dict[int, str]:
        """Return the texts that distinguish marks, as far as the model gets them.

        A small model gets them only when it has to choose among elements that read alike.
        """
        return {} if is_brief(self._tools) and not question.second_look else question.near

    def _listing(self, question: GuideQuestion) -> str:
        """Return the marks and the page's text; for vision models only what no picture shows."""
        tools = self._tools
        if tools.spec.vision:
            # In a second look the elements may look alike, so a picture is not enough.
            again = question.marked.marks if question.second_look else ()
            shown_again = [listing(again, "", max_chars=0, near=question.near)] if again else []
            return tools.redact("\n".join([*shown_again, *_options(question)]))
        try:
            text = str(run_script(question.page, "visible_text", timeout_ms=_TEXT_MS))
        except Error:
            text = ""
        # A small model picks from the marks alone; more text only confuses it.
        brief = is_brief(tools) or bool(question.second_look)
        room = 0 if brief else tools.spec.shown_tokens // TEXT_SHARE * CHARS_PER_TOKEN
        shown = [mark for mark in question.marked.marks if mark.number not in question.banned]
        text = tools.redact(text) if room else ""
        marks = listing(shown, text, max_chars=room, near=self._near(question))
        return tools.redact("\n".join([marks, *_options(question)]))

    def keep(self, question: GuideQuestion, decision: Decision) -> None:
        """Add a decision without secrets to the attempt, and save its picture."""
        tools = self._tools
        number = len(self.attempt.decisions) + 1
        picture = tools.folder / f"decision-{self._pictures + number}.png"
        picture.write_bytes(question.marked.picture)
        clean = map_texts(decision.model_dump(), tools.redact, keys=True)
        kept = Decision.model_validate(
            {**clean, "index": number, "picture": relative(picture, tools)}
        )
        self.attempt = change(self.attempt, decisions=(*self.attempt.decisions, kept))


def _options(question: GuideQuestion) -> list[str]:
    """Return the options of select boxes, which no picture shows; only for setting filters."""
    if question.phase != "navigate":
        return []
    marks, banned = question.marked.marks, question.banned
    return plain_options([mark for mark in marks if mark.number not in banned])


STEP_SHARE = 0.8
"""Share of a step's time after which it returns the addresses found so far, before the time limit
stops it and loses them."""


def collect_urls(tools: Tools, description: str = "", **options: Any) -> list[str]:
    """Collect from the current page onwards, page by page.

    Args:
        tools: the tools of the attempt.
        description: what to collect, as worded for the model; not needed with a pattern.
        options: `pattern`, `xpath`, `next`, `target`, `pages`, `scroll` and `explore` as in the
            `collect` of a case, and `delay` as in its `rate`.

    Returns:
        The distinct addresses in the order of the list.

    Raises:
        StepCallError: an option is wrong, or neither pattern nor description is given.
    """
    spec = _spec(tools, dict(options))
    known = collection_of(spec, tools.page.url, description)
    if not known.has_pattern and not description:
        raise StepCallError("collect_urls needs a pattern, an xpath, or a description in words")
    asker = QuestionAsker(tools, Attempt(attempt_index=_index(tools)), description)
    job = job_of(tools, spec, known, asker, folder=tools.folder)
    began, limit = tools.clock.now(), tools.settings.step_timeout * STEP_SHARE
    waited = tools.budget.waited()
    job.over = lambda: tools.clock.now() - began - (tools.budget.waited() - waited) > limit
    try:
        progress = collect(job)
    except CaseError as error:
        raise StepCallError(error.reason) from None
    finally:
        # The attempt cannot be changed while its step runs.
        tools.after_step.append(lambda attempt: _with_calls(attempt, asker.attempt))
    if not progress.urls and progress.status != "done":
        raise StepCallError(progress.pause_reason)
    return list(progress.urls)


def _spec(tools: Tools, options: dict[str, Any]) -> CollectSpec:
    rate = tools.case.collect.rate if tools.case.collect else Rate()
    delay = options.pop("delay", None)
    try:
        if delay is not None:
            rate = Rate(delay=delay, jitter=min(rate.jitter, float(delay)))
        # The calling code has already navigated to its list, so no model sets filters.
        return CollectSpec.model_validate({"navigate": 0, "rate": rate, **options})
    except (ValidationError, ValueError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        said = f"{first['loc'][0]}: {first['msg']}" if first and first["loc"] else str(error)
        raise StepCallError(f"collect_urls: {said}") from None


def _index(tools: Tools) -> int:
    return tools.previous.attempt_index + 1 if tools.previous else 1


def _with_calls(attempt: Attempt, asked: Attempt) -> Attempt:
    """Return the attempt with the calls and decisions that were made while its step ran."""
    for exchange in asked.exchanges:
        attempt = attempt.charged(exchange)
    known = len(attempt.decisions)
    later = tuple(
        decision.model_copy(update={"index": known + number})
        for number, decision in enumerate(asked.decisions, 1)
    )
    return change(attempt, decisions=(*attempt.decisions, *later))
