"""`autoweb record`: what a person does in a browser becomes a proven case."""

import argparse
import getpass
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace
from playwright.sync_api import Error
from pydantic import ValidationError

from pytest_autoweb.base.errors import AutowebError, SettingsError
from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.cases.case import MailRules
from pytest_autoweb.cases.source import LINKED, MAILED
from pytest_autoweb.cases.webserver_spec import MAIL_PORT
from pytest_autoweb.cli.arguments import text_path
from pytest_autoweb.cli.entry_page import (
    add_entry_arguments,
    checked_url,
    path_below,
    served_entry,
    webserver_section,
)
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.tools.record.accounts import (
    Accounts,
    read_accounts,
    with_placeholders,
    without_codes,
)
from pytest_autoweb.tools.record.inbox import Inbox, own_address, with_mail_names
from pytest_autoweb.tools.record.keyboard import Questions, chosen_numbers
from pytest_autoweb.tools.record.oracle import (
    Oracle,
    in_template,
    make_oracle,
    read_acts,
    refuse_oracle,
    secret_variables,
)
from pytest_autoweb.tools.record.proposed_checks import Proposal, propose, see
from pytest_autoweb.tools.record.proven_checks import TIMES, prove_checks, why_not_played
from pytest_autoweb.tools.record.recorded_case import RecordedCase
from pytest_autoweb.tools.record.recorder import RecordedWork, RecordOrder, record
from pytest_autoweb.tools.verify.prove_cases import run_session
from pytest_autoweb.tools.verify.verify_run import browser_when_needed

_ABOUT = """\
Opens a page in a browser. What you do there becomes the oracle of a case. It is then played again,
beside doing nothing, and what differs at the end (address, texts, requests, downloads) is proposed
as checks, of which you choose. The case is written only if its controls hold three times.

  autoweb record https://shop.example/ -o cases/order.yaml
  autoweb record --from recorded.py --task "Order tea" --yes

Press Enter here, press Ctrl-C once, or close the page when the task is done. What is typed into
fields for passwords and one-time codes becomes secrets, and is written nowhere. Without a display:
--debug-port, or --from with a script of `playwright codegen --target python -o recorded.py URL`.

Exit status: 0 the case is written; 1 it was refused, and what was recorded is kept; 4 invalid
input, or a page or browser that cannot be opened.
"""
_RUNS = Path("autoweb-record")
_SETTLE_MS = 1500
_LONGEST_S = 3600.0
"""How long before it was written a script may have been recorded."""
_NO_MAIL = "what comes by mail needs --command with {mail_port}, where the program sends its mails"
_NEUTRAL = {"failure_model": "", "store": "", "capture": "ARIA"}
"""Settings of the project that are for runs of models."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    add_entry_arguments(parser)
    parser.add_argument(
        "-o", "--output", type=text_path, metavar="FILE",
        help="the case file to write, which must not exist; default: cases/recorded.yaml, or the "
        "next free number",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="script", type=Path, metavar="SCRIPT",
        help="open no browser; read a script of `playwright codegen`, or what a recording has kept",
    )  # fmt: skip
    parser.add_argument("--id", metavar="ID", help="id of the case; default: the file's name")
    parser.add_argument("--task", metavar="TEXT", help="the task in plain words; asked otherwise")
    parser.add_argument("--answer", metavar="TEXT", help="what the task asks for, if it does")
    parser.add_argument(
        "--checks", metavar="1,3|all", help="which of the proposed checks to take; asked otherwise"
    )
    parser.add_argument(
        "--yes", action="store_true", help="ask nothing; take the checks marked with *"
    )
    parser.add_argument(
        "--file", action="append", default=[], type=Path, metavar="PATH",
        help="a file that is uploaded; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--secret", action="append", default=[], metavar="VARIABLE",
        help="the value of this environment variable is a secret wherever it is typed; may be "
        "repeated",
    )  # fmt: skip
    parser.add_argument(
        "--totp", action="append", default=[], metavar="VARIABLE",
        help="this environment variable holds the key of an authenticator app, whose codes are "
        "typed; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--passkey", action="append", default=[], metavar="VARIABLE",
        help="the browser has the passkey in this environment variable, as JSON; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--mail-address", metavar="ADDRESS",
        help="who gets the mails whose codes are typed, where that is not the address that the "
        "recording names",
    )  # fmt: skip
    parser.add_argument(
        "--mail-code", default="", metavar="PATTERN",
        help="a regular expression of the codes in mails; default: a number of 4 to 8 digits",
    )  # fmt: skip
    parser.add_argument(
        "--dialogs", choices=("dismiss", "accept"), default="dismiss",
        help="how questions of the page (confirm, prompt) are answered; default: dismiss",
    )  # fmt: skip
    parser.add_argument(
        "--debug-port", type=int, metavar="PORT",
        help="open no window; the browser is steered through this port of this machine",
    )  # fmt: skip
    parser.set_defaults(run=run)


class _Refused(Exception):
    """What was recorded makes no case that can be relied on."""


class _Work(NamedTuple):
    """What is known once the person is done."""

    oracle: Oracle
    draft: Path
    """The file in which the recording is kept until the case is written."""
    origins: tuple[str, ...] = ()
    accounts: Accounts = Accounts({}, {}, {})
    recipient: str = ""
    """Whom the mails came to whose codes were typed."""
    own_draft: bool = True
    """Whether the draft is of this recording, and not a file of the person's."""


def run(args: argparse.Namespace) -> int:
    """Record, propose, let the person choose, and prove; return 1 if the case is refused.

    Raises:
        AutowebError: an argument cannot be used, or the page cannot be opened.
    """
    target = _target(args.output)
    _mail_rules(args)
    questions = Questions(silent=args.yes)
    if not args.task and not questions.asking:
        raise SettingsError("name the task with --task, as nobody can be asked for it here")
    draft = args.script or _free(target.with_name(f"{target.stem}.recorded.py"))
    try:
        work = _read(args) if args.script else _recorded(args, questions, target, draft)
        case = _case(args, target, work)
        # Before any question, since the keyboard's reader would take what is typed here.
        with _values(work.oracle.secrets, case.variables):
            case = _with_task(args, questions, case)
            proven = _proven(_chosen(args, questions, _played(case, target), case), target)
        _accept(proven, target, work)
    except _Refused as why:
        print(f"\nrefused: {why}")
        _tell_kept(draft)
        return 1
    except (AutowebError, KeyboardInterrupt):
        _tell_kept(draft)
        raise
    return 0


def _target(output: Path | None) -> Path:
    """Return the case file to write.

    Raises:
        SettingsError: it exists, or is none that pytest reads.
    """
    if output is None:
        return _free(Path("cases", "recorded.yaml"))
    if output.suffix not in (".yaml", ".yml"):
        raise SettingsError(f"-o: {output} must end in .yaml, as case files do")
    if output.exists():
        raise SettingsError(
            f"-o: {output} exists and is not changed; name another file, and move the case into "
            "this one if they belong together"
        )
    return output


def _free(path: Path) -> Path:
    """Return the path, with a number if there is such a file."""
    stem, _, rest = path.name.partition(".")
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{stem}-{number}.{rest}")
    return free


def _tell_kept(draft: Path) -> None:
    if draft.is_file():
        print(f"kept    {draft}; to continue it: autoweb record --from {draft}")


def _recorded(args: argparse.Namespace, questions: Questions, target: Path, draft: Path) -> _Work:
    """Let the person work, and keep it in the draft as it grows."""
    recording, began = RecordedWork(), time.time()
    accept, accounts = args.dialogs == "accept", _accounts(args)
    with served_entry(args, _webserver(args, target), target) as (site, url, mails):
        inbox = Inbox(mails, site, args.mail_code)

        def oracle(code: Sequence[str]) -> Oracle:
            codes = accounts.codes(began, time.time()) | inbox.codes()
            secrets = {**without_codes(recording.secrets(), codes), **_named_secrets(args.secret)}
            acts = with_placeholders(read_acts("\n".join(code)), codes)
            return make_oracle(acts, secrets, accept_dialogs=accept)

        def ended() -> bool:
            inbox.tell_new()
            return questions.entered()

        order = RecordOrder(url, args.debug_port, accept, accounts.passkeys, inbox.links)
        questions.start()
        try:
            record(
                order,
                recording,
                # The last action may be half a password, which nobody could recognise.
                changed=lambda: _keep(draft, oracle(recording.code[:-1]), url),
                ended=ended,
                opened=lambda: _say_how_to_go_on(args, questions, _own_address(args, target)),
            )
        finally:
            done = replace(oracle(recording.code), entry_url=url)
            if done.code:
                _keep(draft, done, url)
        recipient = inbox.recipient_of(read_acts("\n".join(recording.code)))
    if not done.code:
        raise _Refused("nothing was done on the page")
    return _Work(done, draft, tuple(recording.origins), accounts, recipient)


def _accounts(args: argparse.Namespace) -> Accounts:
    return read_accounts(args.totp, args.passkey, os.environ)


def _own_address(args: argparse.Namespace, target: Path) -> str:
    """Return the recording's own address for mails; "" if its program sends none."""
    return own_address(_case_id(args, target)) if _takes_mail(args) else ""


def _takes_mail(args: argparse.Namespace) -> bool:
    return MAIL_PORT in (args.command or "")


def _case_id(args: argparse.Namespace, target: Path) -> str:
    return args.id or re.sub(r"[^A-Za-z0-9._-]+", "-", target.stem)


def _mail_rules(args: argparse.Namespace, recipient: str = "") -> dict[str, str]:
    """Return how the case finds a code by mail, where that is not as usual.

    Raises:
        SettingsError: no mail comes, or the pattern of codes is none.
    """
    said = {"address": args.mail_address or recipient, "code": args.mail_code}
    rules = {name: value for name, value in said.items() if value}
    if rules and not _takes_mail(args):
        raise SettingsError(_NO_MAIL)
    try:
        MailRules.model_validate(rules)
    except ValidationError:
        raise SettingsError(f"--mail-code: {args.mail_code!r} is no regular expression") from None
    return rules


def _say_how_to_go_on(args: argparse.Namespace, questions: Questions, address: str) -> None:
    if (port := args.debug_port) is not None:
        print(f"The browser listens at 127.0.0.1:{port}; steer it from chrome://inspect.")
    if address:
        print(f"Mails are shown here. An address to sign in with: {address}")
    ways = (
        ["press Enter here", "press Ctrl-C once"] if questions.possible else ["press Ctrl-C once"]
    )
    print(f"Recording. When the task is done, {', '.join(ways)} or close the page.", flush=True)


def _keep(draft: Path, oracle: Oracle, url: str) -> None:
    """Write the draft whole, so that nothing is lost however this ends."""
    head = "# What was recorded, without secrets; for `autoweb record --from`.\n"
    draft.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(draft, f"{head}page.goto({url!r})\n\n{oracle.code}")


def _read(args: argparse.Namespace) -> _Work:
    """Read a script that was recorded elsewhere.

    Raises:
        SettingsError: there is no such file, or it does nothing.
    """
    try:
        text = args.script.read_text(encoding="utf-8")
        written = args.script.stat().st_mtime
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--from: {args.script} cannot be read: {error}") from None
    accept = args.dialogs == "accept"
    accounts = _accounts(args)
    acts = with_placeholders(read_acts(text), accounts.codes(written - _LONGEST_S, written))
    oracle = make_oracle(acts, _named_secrets(args.secret), accept_dialogs=accept)
    if not oracle.code:
        raise SettingsError(f"--from: {args.script} does nothing on a page")
    return _Work(oracle, args.script, accounts=accounts, own_draft=False)


def _named_secrets(variables: Sequence[str]) -> dict[str, str]:
    """Return the values of `--secret`, with the kind of each.

    Raises:
        SettingsError: a variable is not set.
    """
    if missing := [name for name in variables if not os.environ.get(name)]:
        raise SettingsError(f"--secret: the environment variable {missing[0]} is not set")
    return {os.environ[name]: re.sub(r"\W", "_", name.lower()) for name in variables}


def _webserver(args: argparse.Namespace, target: Path) -> dict[str, str]:
    section = webserver_section(args, target)
    # What was done while recording, and in each proof, must not be there when it is done again.
    return {**section, "reset": "restart"} if "command" in section else section


def _case(args: argparse.Namespace, target: Path, work: _Work) -> RecordedCase:
    """Return the case without its task and its checks.

    Raises:
        SettingsError: the step language does not allow the code, or a file is missing.
    """
    oracle = work.oracle
    refuse_oracle(oracle.code)
    webserver = _webserver(args, target)
    parts = urlsplit(oracle.entry_url)
    site = f"{parts.scheme}://{parts.netloc}/"
    if webserver and parts.netloc:
        entry = "{{ webserver.url }}" + in_template(oracle.entry_url.removeprefix(site))
    elif webserver:
        entry = "{{ webserver.url }}" + in_template(path_below(args.url))
    else:
        entry = in_template(checked_url(args.url or oracle.entry_url))
    site_origin = f"{parts.scheme}://{parts.netloc}"
    case_id = _case_id(args, target)
    own = _own_address(args, target)
    if {MAILED, LINKED} & {*oracle.secrets} and not own:
        raise SettingsError(_NO_MAIL)
    rules = _mail_rules(args, "" if work.recipient == own else work.recipient)
    address = rules.get("address", own)
    named = [name for name in oracle.secrets if name not in (MAILED, LINKED)]
    return RecordedCase(
        id=case_id,
        entry_url=entry,
        task="",
        oracle=in_template(oracle.code, site if webserver else ""),
        variables={**secret_variables(named, case_id), **_used(work)},
        totp=tuple(name for name in oracle.secrets if name in work.accounts.totp),
        setup=_passkeys(work.accounts),
        webserver=webserver,
        origins=tuple(origin for origin in work.origins if origin != site_origin),
        files=_files(oracle.files, args, target),
        mail=rules,
        # Any other text may be a part of words.
        address=address if "@" in address else "",
    )


def _used(work: _Work) -> dict[str, str]:
    """Return the variables of the accounts that the case needs, by the names of the secrets."""
    needed = {*work.oracle.secrets, *work.accounts.passkeys}
    return {name: one for name, one in work.accounts.variables.items() if name in needed}


def _passkeys(accounts: Accounts) -> dict[str, list[str]]:
    places = [f"{{{{ secrets.{name} }}}}" for name in accounts.passkeys]
    return {"passkeys": places} if places else {}


def _with_task(args: argparse.Namespace, questions: Questions, case: RecordedCase) -> RecordedCase:
    """Return the case with its task, which is asked for unless a flag names it.

    Raises:
        SettingsError: there is none.
    """
    task = args.task or questions.ask("The task, as you would tell it to a person:")
    if not task:
        raise SettingsError("the case needs a task: name it with --task")
    task = Redactor(_secret_values(case))(with_mail_names(task, case.address))
    if case.address in case.oracle and case.address not in task:
        print(f"The task does not say {case.address}, which no model will know to sign in with.")
    return replace(case, task=task)


def _files(names: Sequence[str], args: argparse.Namespace, target: Path) -> tuple[str, ...]:
    """Return the files that are uploaded, relative to the case file.

    Raises:
        SettingsError: one cannot be found.
    """
    found: list[str] = []
    for name in names:
        bare = Path(name.replace("\\", "/")).name
        places = [file for file in args.file if file.name == bare]
        places += [Path(name), Path(bare), target.parent / bare]
        place = next((path for path in places if path.is_file()), None)
        if place is None:
            raise SettingsError(f"where is {bare}, which was uploaded? Name it with --file PATH")
        found.append(Path(os.path.relpath(place, target.parent)).as_posix())
    return tuple(found)


@contextmanager
def _values(secrets: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[None]:
    """Give the plays the secrets in their environment, and ask for those that are not known.

    Raises:
        SettingsError: nobody can be asked.
    """
    before = dict(os.environ)
    try:
        for name, variable in variables.items():
            value = secrets.get(name, "") or before.get(variable, "")
            if not value and not sys.stdin.isatty():
                raise SettingsError(f"set the environment variable {variable} to the secret {name}")
            os.environ[variable] = value or getpass.getpass(f"{name} (it is not shown): ")
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _played(case: RecordedCase, target: Path) -> tuple[Proposal, ...]:
    """Play the oracle twice, and doing nothing, and return what the case could check.

    Raises:
        _Refused: the oracle does not come to its end.
        AutowebError: pytest could not run the case.
    """
    print("\nPlaying what was recorded again, beside doing nothing:", flush=True)
    settings = {"models": f"{ORACLE},{NOOP}", "repeat": "2", "controls": "false"}
    # Checks wait for what they look for. Here there are none yet, so the oracle has to wait.
    patient = replace(case, oracle=f"{case.oracle}page.wait_for_timeout({_SETTLE_MS})\n")
    cells = _run(patient, target, _RUNS / "plays", settings)
    for cell in cells:
        if cell.model == ORACLE and (why := why_not_played(cell)):
            raise _Refused(f"played again, it does not come to its end: {why}")
    folder = _RUNS / "plays"
    try:
        with browser_when_needed() as browser:
            seen = [
                (cell, see(browser(), folder / cell.folder, cell.attempts[-1])) for cell in cells
            ]
    except (Error, OSError, ValueError) as error:
        raise _Refused(f"what the page looked like at the end cannot be read: {error}") from None
    return propose(
        [found for cell, found in seen if cell.model == ORACLE],
        [found for cell, found in seen if cell.model == NOOP],
    )


def _run(
    case: RecordedCase, target: Path, folder: Path, settings: Mapping[str, str]
) -> list[CellResult]:
    """Run a case that has no file yet, and return its cells.

    Raises:
        AutowebError: pytest could not run it.
    """
    file = target.with_name(f".{target.stem}.recording.yaml")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        file.write_text(case.text(), encoding="utf-8")
        every = {**_NEUTRAL, **settings}
        start = watched(_RUNS, judged=bool(case.expect))
        run_session([str(file.resolve())], folder.resolve(), Path().resolve(), every, start)
    finally:
        file.unlink(missing_ok=True)
    return list(read_run(folder).cells)


def _chosen(
    args: argparse.Namespace,
    questions: Questions,
    proposals: Sequence[Proposal],
    case: RecordedCase,
) -> RecordedCase:
    """Return the case with the checks that the person wants.

    Raises:
        _Refused: there is nothing to check.
        SettingsError: `--checks` cannot be read.
    """
    likely = [number for number, one in enumerate(proposals, 1) if one.likely]
    if proposals:
        print("\nAt the end, and not at the start (* is taken unless you say otherwise):\n")
    for number, proposal in enumerate(proposals, 1):
        print(f" {'*' if proposal.likely else ' '}{number:>3}  {_shown(proposal)}")
    while proposals:
        said = args.checks
        if said is None:
            said = questions.ask("\nNumbers such as 1,3, or all, or only Enter:")
        try:
            numbers = chosen_numbers(said, likely, len(proposals))
        except SettingsError as error:
            if args.checks is not None or not questions.asking:
                raise
            print(error)
            continue
        case = case.with_checks([proposals[number - 1].check for number in numbers])
        break
    answer = args.answer
    if answer is None:
        answer = questions.ask("The answer that the task asks for, or only Enter:")
    if answer:
        case = case.with_answer(Redactor(_secret_values(case))(answer))
    if not case.expect:
        raise _Refused("nothing is different at the end, so there is nothing to check")
    return case


def _secret_values(case: RecordedCase) -> dict[str, str]:
    return {name: os.environ.get(variable, "") for name, variable in case.variables.items()}


def _shown(proposal: Proposal) -> str:
    ((kind, wanted),) = proposal.check.items()
    if not isinstance(wanted, dict):
        return one_line(f"{kind}: {wanted}", 100)
    words = ", ".join(f"{name} {value}" for name, value in wanted.items())
    return one_line(f"{kind}: {words}", 100)


def _proven(case: RecordedCase, target: Path) -> RecordedCase:
    """Return the case with the checks that hold, each time and only with the oracle.

    Raises:
        _Refused: the oracle does not play three times, or no check is left.
        AutowebError: pytest could not run the case.
    """
    print("\nThe controls, three times each:", flush=True)
    # Random actions would prove nothing about the checks.
    settings = {"models": f"{ORACLE},{NOOP}", "repeat": f"{TIMES}", "controls": "false"}
    cells = _run(case, target, _RUNS / "controls", settings)
    found = prove_checks(cells, len(case.expect))
    for number, why in found.dropped.items():
        print(f"dropped {next(iter(case.expect[number]))}: {why}")
    if found.kept:
        return case.with_checks([case.expect[number] for number in found.kept])
    kept = _free(target.with_name(f"{target.name}.refused"))
    kept.write_text(case.text(), encoding="utf-8")
    print(f"\nkept    {kept}, the case as it was tried; pytest does not read it")
    raise _Refused(found.problem or "no check holds each time, and only with the oracle")


def _accept(case: RecordedCase, target: Path, work: _Work) -> None:
    """Write the case file; only now there is nothing more to keep."""
    # The file may exist by now; `x` refuses to replace it.
    with target.open("x", encoding="utf-8") as file:
        file.write(case.text())
    print(f"\nwrote   {target}  (solving it passes three times, doing nothing fails three times)")
    for name, variable in case.variables.items():
        print(f"        it needs the secret {name} in the environment variable {variable}")
    if case.origins:
        print(f"        allowed besides its own origin: {', '.join(case.origins)}")
    print(
        f"\nNext:\n\n  autoweb prove {target}\n  pytest {target} --autoweb-models=openai/gpt-5-mini"
    )
    if work.own_draft:
        work.draft.unlink(missing_ok=True)
