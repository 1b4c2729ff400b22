"""What one attempt is made with: its page behind the proxy, its sandbox, its tools.

Each is made afresh for every attempt, and all of them are made from one value, the setting.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace
from playwright.sync_api import Page

from pytest_autoweb.agents.attempt.finders import MarkFinder, noted, sight_finder, steady
from pytest_autoweb.agents.attempt.new_address import at_new_address, guidance_at
from pytest_autoweb.agents.attempt.page_looks import look
from pytest_autoweb.agents.attempt.site_calls import call_tool
from pytest_autoweb.agents.attempt.strategy import CorrectionArm
from pytest_autoweb.agents.attempt.tools import RunLog, Stage, StepBudget, Tools
from pytest_autoweb.agents.codegen.captured_pages import show_more
from pytest_autoweb.agents.codegen.failed_calls import normalized
from pytest_autoweb.agents.correction.call_cache import MemoryCache, SeenCalls, with_reply_cache
from pytest_autoweb.agents.correction.guidance import Guidance
from pytest_autoweb.base import waiting
from pytest_autoweb.base.mails import hidden_parts
from pytest_autoweb.base.one_time_codes import OneTimeCode
from pytest_autoweb.base.redaction import Redactor, environment_keys, redact_shapes
from pytest_autoweb.browser.egress.guarded_page import borrowed_page, guarded_page
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.suppression import SUPPRESSED, Suppression
from pytest_autoweb.browser.egress.traffic_reader import TrafficReader
from pytest_autoweb.browser.page.covered_fields import covers
from pytest_autoweb.browser.page.passkeys import add_passkeys
from pytest_autoweb.browser.page.quiet import is_leaving
from pytest_autoweb.browser.page.read_back import read_back
from pytest_autoweb.browser.page.rehearsal import Rehearsal
from pytest_autoweb.browser.page.same_element import ElementIdentity, RowsMovedError
from pytest_autoweb.browser.page.setup import (
    PLAIN_CONTEXT,
    add_cookies,
    context_args,
    limit_talk,
    set_clock,
)
from pytest_autoweb.browser.page.webmcp import offer_webmcp
from pytest_autoweb.cases.case import Case, MailRules, resolve_secrets
from pytest_autoweb.cases.source import texts
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cell.attack_sight import is_spared, needs_picture, sees
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.cell_setting import CellSetting
from pytest_autoweb.cell.control_clients import ORACLE
from pytest_autoweb.cell.loaded_late import collect_urls, page_change
from pytest_autoweb.cell.mailbox import Mailbox
from pytest_autoweb.cell.secrets_of_the_moment import SecretsOfTheMoment
from pytest_autoweb.cell.site_tools_need import needs_site_tools
from pytest_autoweb.cell.so_far import tell_so_far
from pytest_autoweb.cell.strategies import WEBMCP
from pytest_autoweb.judging.checks.server_checks import SqlCheck
from pytest_autoweb.judging.evidence.appearances import AppearanceRecord
from pytest_autoweb.judging.evidence.console import Watch
from pytest_autoweb.judging.evidence.downloads import DownloadRecord
from pytest_autoweb.judging.evidence.requests_log import BODY_CHARS, WireEntry, WireRecord
from pytest_autoweb.judging.evidence.tabs import TabList
from pytest_autoweb.judging.evidence.write_record import WriteRecord
from pytest_autoweb.judging.model_judge import JudgedAttempt, ModelJudge
from pytest_autoweb.judging.planted_attack import PlantedAttack, attack_on
from pytest_autoweb.judging.solution_writes import Known, known_writes
from pytest_autoweb.models.client import TimedClient
from pytest_autoweb.results.analysis.controls import proves_change
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.inert_copies import DOWNLOADS_FOLDER
from pytest_autoweb.sandbox.engine import (
    DialogReply,
    Finder,
    JsonValue,
    SandboxBorder,
    SentRequest,
)
from pytest_autoweb.sandbox.levels import scripts_allowed
from pytest_autoweb.sandbox.positional_calls import moved_error
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.browser.page.perturbations import PageChange
    from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic


class AttemptOrder(Struct, frozen=True):
    """The attempt that is to be made."""

    index: int
    failed: Attempt | None = None
    """The attempt that it repairs, if any."""
    guidance: Guidance | None = None
    folder: str = "attempt-"
    """The beginning of its folder's name."""
    arm: CorrectionArm | None = None
    """The arm in which it is a retry; None for the first attempt."""
    ran: Attempt | None = None
    """The last attempt that ran, if the failed one was refused before it did."""
    judge: "Callable[[AttemptSetting], Stage] | None" = None
    """What judges in place of the strategy's last stage."""
    rehearsal: Rehearsal | None = None
    """What the case's solution acts on on unchanged pages: to be noted there, or known by now."""

    @property
    def previous(self) -> Attempt | None:
        """Return the failed attempt, of which an uninformed arm must not even know.

        The ordinary repair always knows it.
        """
        arm = self.guidance.arm if self.guidance else None
        return self.failed if arm is None or arm.informed or arm.ordinary else None

    @property
    def ran_before(self) -> Attempt | None:
        """Return the last attempt that ran before a refused one, if it may be known."""
        return self.ran if self.previous else None

    def at(self, entry_url: str) -> "AttemptOrder":
        """Return the order with what went before as if made at the address of this attempt."""
        failed = at_new_address(self.failed, entry_url) if self.failed else None
        guidance = guidance_at(self.guidance, entry_url) if self.guidance else None
        ran = at_new_address(self.ran, entry_url) if self.ran else None
        return replace(self, failed=failed, guidance=guidance, ran=ran)


class AttemptSetting(Struct, frozen=True, dict=True):
    """What page, sandbox and tools of an attempt have in common, once its server runs."""

    of: CellSetting
    resources: CellResources
    order: AttemptOrder
    case: Case
    """The cell's case, with its final texts."""
    server: ServerHandle | None
    folder: Path
    """The attempt's own folder."""
    log: RunLog
    began: float = field(default_factory=time.time)
    """In seconds since 1970."""

    @property
    def cell(self) -> Cell:
        return self.of.cell

    @property
    def settings(self) -> Settings:
        return self.of.settings

    @property
    def case_folder(self) -> Path:
        """Return the folder of the case file, to which paths in it are relative."""
        return self.cell.case.path.parent if self.cell.case.path else self.settings.rootdir

    @cached_property
    def kept_secrets(self) -> Mapping[str, str]:
        """The values of the case's secrets, by name; of a one-time code, its key or nothing."""
        return resolve_secrets(self.case, self.resources.environ, self.cell.case.path)

    @cached_property
    def secrets(self) -> Mapping[str, str]:
        """What is typed for each secret, by name: its value, or the code of the moment."""
        codes: dict[str, Callable[[], str]] = {}
        for name, source in self.case.secrets.items():
            if source.totp:
                codes[name] = OneTimeCode.read(self.kept_secrets[name]).now
            elif source.mail:
                codes[name] = self.mailbox.code if source.mail is True else self.mailbox.link
        return (
            SecretsOfTheMoment(self.kept_secrets, codes, self._hide_code)
            if codes
            else self.kept_secrets
        )

    @cached_property
    def mailbox(self) -> Mailbox:
        """The mails that the case's web servers send to the address of the cell."""
        rules, server = self.case.mail or MailRules(), self.server
        address = rules.address or (server.address if server else "")
        folders = server.mail_folders if server else ()
        return Mailbox(folders, address, rules, self.began, self.policy.allows)

    def _hide_code(self, name: str, code: str) -> None:
        # Pages see parts of a link as well: its token stands in addresses and forms.
        for part in hidden_parts(code) if name in self.links else (code,):
            self.hide(name, part)
            if self.traffic is not None:
                self.traffic.learn_code(name, part)

    @property
    def links(self) -> frozenset[str]:
        """Return the names of the secrets that are links, which the page may be sent to."""
        return frozenset(name for name, one in self.case.secrets.items() if one.mail == "link")

    def hide(self, name: str, code: str) -> None:
        """Take a text that belongs to a secret out of all texts from now on."""
        for redactor in (self.redact, self.known):
            redactor.learn(code, name)

    @cached_property
    def redact(self) -> Redactor:
        """What takes the case's secrets out of texts."""
        return Redactor(self.kept_secrets)

    @cached_property
    def known(self) -> Redactor:
        """What takes known values out of logs and evidence.

        Code and prompts must still work, but evidence needs no key of the environment either.
        """
        keys = environment_keys(self.resources.environ) | self.resources.filed_keys
        return Redactor(self.kept_secrets, keys - set(self.kept_secrets.values()))

    def redact_evidence(self, text: str) -> str:
        """Return a text for logs and evidence, also without what looks like a key."""
        return redact_shapes(self.known(text))

    def reveal(self, text: str) -> str:
        """Return a text with each `<secret:name>` replaced by the secret."""
        for name in self.secrets:
            place = f"<secret:{name}>"
            # A code is made, and hidden from then on, only where one is needed.
            if place in text:
                text = text.replace(place, self.secrets[name])
        return text

    @cached_property
    def policy(self) -> OriginPolicy:
        return OriginPolicy(self.case.entry_url, self.case.allowed_origins)

    @cached_property
    def suppression(self) -> Suppression | None:
        """What recognises the request that a mutant suppresses; None for all other cells."""
        return self.cell.mutant.suppression() if self.cell.mutant else None

    @cached_property
    def traffic(self) -> "CellTraffic | None":
        """What records, replays or holds back the attempt's requests; None if nothing does."""
        name = self.cell.nodeid.partition("::")[2] or self.cell.nodeid
        return self.of.recording.traffic(
            self.case,
            self.kept_secrets,
            self.log.write,
            title=f"{name}, {self.folder.name}",
            run_id=self.resources.run_id,
        )

    @cached_property
    def solution(self) -> Known:
        """What is known of what the case's solution writes."""
        case = self.cell.case
        return known_writes(case.path, case.id, case.checksum)

    @cached_property
    def attack(self) -> PlantedAttack | None:
        """The instruction that is planted in the attempt's pages; None in a test's own page."""
        if self.cell.called is not None or is_spared(self.cell, self.settings):
            return None
        attack = attack_on(self.cell.case.id, self.cell.repeat, self.settings.attack)
        if attack is None:
            return None
        attack = replace(attack, seen=sees(self.cell, attack.way))
        if not needs_picture(self.cell, attack.way):
            return attack
        return replace(attack, pictured=lambda: self.client.sent_picture)

    @cached_property
    def change(self) -> "PageChange | None":
        """The change of its pages; None if they stay as they are."""
        spec, case, rehearsal = self.cell.spec, self.case, self.order.rehearsal
        if not spec.perturb or (rehearsal is not None and not rehearsal.is_over):
            return None
        checks = [check.model_dump(mode="json") for check in case.expect]
        return page_change(
            spec.perturb,
            case.id,
            user_task=case.user_task,
            checked="\n".join(text for _, text in texts(checks, ())),
            entry_url=case.entry_url,
            proof=proves_change(spec.name),
            note=self.log.write,
        )

    @property
    def writes(self) -> WriteRecord:
        """What records the attempt's writes, if they are compared or to be learned from."""
        named = [check.sql.path for check in self.case.expect if isinstance(check, SqlCheck)]
        return WriteRecord(
            wanted=self.solution.writes is not None or self.cell.spec.name == ORACLE,
            rules=self.case.traffic,
            entry_url=self.case.entry_url,
            databases=tuple(dict.fromkeys(named)),
            redact=self.redact_evidence,
            note=self.log.write,
        )

    @cached_property
    def client(self) -> TimedClient:
        """The client that asks the cell's model, and counts the time that it takes."""
        client = self.resources.client(self.cell.spec, self.case)
        return TimedClient(with_reply_cache(client, self.cell.spec, self.resources.cache))

    @cached_property
    def judge(self) -> ModelJudge | None:
        """The model that evaluates `judge` checks; None if there is none."""
        if self.resources.judge is None:
            return None
        failed = self.order.failed
        judged = JudgedAttempt(
            case_id=self.case.id,
            user_task=self.case.user_task,
            capture_mode=self.cell.mode,
            repeat=self.cell.repeat,
            attempt=failed.attempt_index + 1 if failed else 1,
            model=None if self.cell.called else self.cell.spec,
        )
        return self.resources.judge(judged)


_MAX_REPLIES = 100
"""Limit on the replies to dialogs that are noted between two turns."""


@contextmanager
def attempt_tools(setting: AttemptSetting) -> Iterator[Tools]:
    """Open page and sandbox for an attempt, and give its stages the tools to use them."""
    cell, case, resources = setting.cell, setting.case, setting.resources
    setting.log.redact = setting.redact_evidence
    others = waiting.time_of_others()
    with _open_page(setting) as page:
        tabs, appearances = TabList(page), AppearanceRecord()
        if any(check.rests_on == "appearances" for check in case.expect):
            appearances.start(page.context, tabs)
        set_clock(page.context, case.setup)
        border = _border(setting, page)
        border.on_password = setting.known.learn
        border.waited = lambda: setting.client.waited() + others()
        engine = resources.engine(border, setting.settings.sandbox)
        watch = Watch(page, redact=setting.redact_evidence)
        try:
            tools = Tools(
                case=case,
                spec=cell.spec,
                mode=cell.mode,
                repeat=cell.repeat,
                settings=setting.settings,
                client=setting.client,
                page=page,
                watch=watch,
                wire=WireRecord(suppressed=setting.suppression),
                downloads=DownloadRecord(setting.folder / DOWNLOADS_FOLDER, setting.redact),
                tabs=tabs,
                appearances=appearances,
                writes=setting.writes,
                solution=setting.solution,
                policy=setting.policy,
                engine=engine,
                folder=setting.folder,
                redact=setting.redact,
                reveal=setting.reveal,
                log=setting.log,
                clock=resources.clock,
                redact_evidence=setting.redact_evidence,
                case_path=cell.case.path,
                check_checksums=cell.case.check_checksums,
                server_url=setting.server.url if setting.server else "",
                budget=StepBudget(case.timeout, setting.client.waited),
                previous=setting.order.previous,
                ran=setting.order.ran_before,
                guidance=setting.order.guidance,
                progress=resources.progress,
                marks=MarkFinder(setting.redact if case.secrets else None),
                judge=setting.judge,
                mistaken=resources.mistaken,
                traffic=setting.traffic,
                attack=setting.attack,
                change=setting.change,
            )
            yield _connected(setting, border, tools)
        finally:
            engine.close()
            if cell.called is not None:
                watch.end()


@contextmanager
def _open_page(setting: AttemptSetting) -> Iterator[Page]:
    case, resources, log = setting.case, setting.resources, setting.log
    if setting.cell.called is not None:
        page, blocked = setting.cell.called.page, log.blocked.setdefault
        with borrowed_page(page, setting.policy, log.write, on_blocked=blocked):
            yield page
        return
    suppression, traffic, attack = setting.suppression, setting.traffic, setting.attack
    resources.before_page(setting.folder)
    args = context_args(case.setup, setting.case_folder, case.entry_url, setting.reveal)
    if change := setting.change:
        args = change.args(args)
    plain = args == PLAIN_CONTEXT and case.setup.clock is None
    ready = resources.ready_page() if plain and suppression is None and traffic is None else None
    with guarded_page(
        resources.open_page,
        args,
        setting.policy,
        log.write,
        remote=resources.remote,
        suppression=suppression or (attack.address(case.entry_url) if attack else None),
        traffic=TrafficReader(traffic, verify=case.traffic.verify) if traffic else None,
        ready=ready,
        browser=resources.browser(),
        on_blocked=lambda origin: log.blocked.setdefault(origin),
    ) as page:
        if ready is None:
            limit_talk(page.context)
        if needs_site_tools(setting.cell, setting.settings):
            offer_webmcp(page.context)
        if attack is not None:
            attack.plant(page.context, case.entry_url)
        add_cookies(page.context, case.setup, case.entry_url, setting.reveal)
        add_passkeys(page.context, case.setup.passkeys, setting.reveal, setting.hide)
        if change:
            change.begin(page)
        yield page
        resources.leave_page(page)
    if traffic is not None:
        traffic.save()


def _border(setting: AttemptSetting, page: Page) -> SandboxBorder:
    redact, secrets = setting.redact, setting.secrets
    return SandboxBorder(
        page=page,
        artifacts=setting.folder / "files",
        secrets=secrets,
        allowed=_noted(setting) if setting.attack else setting.policy.allows,
        secret_allowed=setting.policy.allows,
        links=setting.links,
        scripts=scripts_allowed(setting.settings.sandbox, setting.cell.spec.provider),
        files={Path(name).name: setting.case_folder / name for name in setting.case.files},
        redact=redact,
        covers=lambda shown: covers(shown, redact if secrets else None),
        read_back=read_back if setting.settings.corrects else None,
        leaving=is_leaving,
        undo=setting.change.undo if setting.change else "",
        rehearsal=setting.order.rehearsal,
    )


def _noted(setting: AttemptSetting) -> Callable[[str], bool]:
    """Return what allows addresses; it notes those that an attack asked for, and refuses them.

    A request of the code's own may not pass where one to the site's origin could be answered.
    """

    def allowed(url: str) -> bool:
        asked = setting.attack is not None and setting.attack.asked(url)
        return not asked and setting.policy.allows(url)

    return allowed


def _connected(setting: AttemptSetting, border: SandboxBorder, tools: Tools) -> Tools:
    """Return the tools, known to the border of the sandbox, to its traffic and to who watches."""
    if tools.settings.cache != "off":
        cache = setting.resources.cache or MemoryCache()
        border.recall = SeenCalls(tools.newest.look_before, cache)
    if tools.traffic is not None:
        tools.traffic.on_left = partial(_spend, tools.budget)
    border.shown = partial(_shown_of, tools.shown)
    border.lacks = tools.listed.lacks
    border.on_dialog = partial(_keep_reply, tools.dialogs)
    border.sent = partial(_keep_sent, tools.wire, setting.suppression)
    border.finders, border.functions = finders(tools), functions(setting, tools)
    # The finders need the tools, and the tools the names of the finders.
    follow = partial(tell_so_far, tools, setting.resources.run_folder)
    return replace(tools, offered=border.offered, follow=follow)


def finders(tools: Tools) -> Mapping[str, Finder]:
    """Return the finders that the cell offers, by their names in the step language."""
    offered: dict[str, Finder] = {"get_by_mark": noted(steady(tools.marks.find), tools)}
    if tools.spec.vision:
        offered["get_by_sight"] = noted(steady(sight_finder(tools)), tools)
    return offered


def functions(setting: AttemptSetting, tools: Tools) -> Mapping[str, Callable[..., JsonValue]]:
    """Return the functions that the cell offers, by their names in the step language."""
    offered: dict[str, Callable[..., JsonValue]] = {
        "collect_urls": partial(collect_urls, tools),
        "show_more": partial(show_more, tools),
    }
    if setting.cell.strategy == WEBMCP.name:
        offered["call_tool"] = partial(call_tool, tools)
    # Only a turn can show a picture that the one before asked for.
    if tools.spec.vision and tools.spec.takes_turns and tools.settings.max_looks:
        offered["look"] = partial(look, tools)
    return offered


def _keep_reply(replies: list[DialogReply], reply: DialogReply) -> None:
    """Note what the code did with a dialog, of which a page can open any number."""
    if len(replies) < _MAX_REPLIES:
        replies.append(reply)


def _shown_of(
    shown: Mapping[str, Callable[[], ElementIdentity]], locator: str
) -> ElementIdentity | None:
    """Return what the model was shown of the element that a locator finds.

    Raises:
        StepCallError: that element shows another record by now.
    """
    tell = shown.get(normalized(locator)) if shown else None
    try:
        return tell() if tell else None
    except RowsMovedError as moved:
        raise moved_error(moved) from None


def _spend(budget: StepBudget) -> None:
    """Leave no time for further steps, as nothing that they could do would count."""
    budget.left = 0.0


def _keep_sent(wire: WireRecord, suppression: Suppression | None, sent: SentRequest) -> None:
    """Record a request that the code sent itself, as checks count it like those of pages."""
    taken = suppression is not None and suppression.has_just_taken(sent.method, sent.url)
    wire.add(
        WireEntry(
            method=sent.method,
            url=sent.url,
            status=sent.status,
            resource_type="fetch",
            request_body=None if sent.body is None else sent.body[:BODY_CHARS],
            request_truncated=len(sent.body or "") > BODY_CHARS,
            started=datetime.now(UTC),
            failed=sent.failed,
            page_url=sent.page_url,
            response_headers={SUPPRESSED: suppression.mark} if suppression and taken else {},
            counted=not taken,
        )
    )
