"""One collection, from its beginning or from where it was stopped."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pytest_autoweb.cases.case import CollectSpec
from pytest_autoweb.collect.explore import explore, find_next, pick_entries, set_list
from pytest_autoweb.collect.guide import Guide
from pytest_autoweb.collect.list_entries import ListEntry
from pytest_autoweb.collect.list_site import Site
from pytest_autoweb.collect.resume import go_back_to, replay_steps
from pytest_autoweb.collect.saved_state import (
    Collection,
    CollectProgress,
    save_collection,
    save_progress,
    unfinished,
)
from pytest_autoweb.collect.walk import Pacer, Ports, Walk, WalkLimits


@dataclass(slots=True)
class Job:
    """Everything that a collection needs."""

    site: Site
    """The site, whose page shows the list."""
    collection: Collection
    """What is already known about the list."""
    spec: CollectSpec
    pacer: Pacer
    guide: Guide | None = None
    """The model that is asked for what is unknown; None when there is no model."""
    folders: tuple[Path, ...] = ()
    """The folders to which the results are written after every page."""
    kept: Path | None = None
    """A folder that may hold the progress of an earlier run; results are written there as well."""
    reveal: Callable[[str], str] = lambda text: text
    """Replaces the placeholders of secrets in recorded steps."""
    clean: Callable[[str], str] = lambda text: text
    """Removes secrets from what is written."""
    over: Callable[[], bool] = lambda: False
    """Tells whether the time is up."""


def collect(job: Job) -> CollectProgress:
    """Set the filters, learn the pattern of entries, and collect page after page.

    The model is asked only for what the collection does not say. With a pattern, from the case or
    from an earlier run's `collection.json`, it is not asked at all.

    Returns:
        The progress at the end; `pause_reason` says why it ended there.
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
    """Continue an earlier run after the last page it has done."""
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
