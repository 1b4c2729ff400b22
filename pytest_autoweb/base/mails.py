"""Mails that a sink keeps in a folder, one file for each, and the code or link in a mail.

What a mail holds was written by a site, so nothing of it is quoted in a message.
"""

import html
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path
from secrets import token_hex
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from pytest_autoweb.base.files import whole_file
from pytest_autoweb.base.redaction import unlike_words
from pytest_autoweb.base.values.patterns import SlowPattern, search

_SUFFIX = ".mail"
_MOST_CHARS = 200_000
HIDDEN = re.compile(r"(?is)<(style|script|head)\b.*?</\1\s*>")
TAG = re.compile(r"<[^<>]*>")
CODE = re.compile(r"(?<![\w#&@=/.,:+-])(\d{4,8}|\d{3}[ -]\d{3})(?![\w=/@-]|[.,:]\d)")
YEAR = re.compile(r"(?:19|20)\d\d")
"""What in HTML nobody reads, what a tag is, a number that stands alone, and a year."""
LINK = re.compile(r"https?://[^\s<>\"'\\^`{|}]+")
HREF = re.compile(r"(?i)\bhref\s*=\s*[\"']?\s*(https?://[^\s<>\"']+)")
"""A link in plain text, and one in HTML."""
_ADDRESS = ("/", "http://", "https://")
_USUAL_DIGITS = 6


class KeptMail(Struct, frozen=True):
    """A mail that came."""

    arrived: float
    """In seconds since 1970."""
    recipients: tuple[str, ...]
    """In lower case, without brackets."""
    content: bytes


def keep_mail(folder: Path, recipients: Iterable[str], content: bytes) -> None:
    """Keep a mail that came just now.

    Raises:
        OSError: the folder cannot be written.
    """
    head = json.dumps([_plain(one) for one in recipients]).encode()
    with whole_file(folder / f"{time.time_ns()}-{token_hex(4)}{_SUFFIX}") as file:
        file.write(head + b"\n" + content)


def mails_to(folders: Iterable[Path], address: str, since: float) -> list[KeptMail]:
    """Return the mails to an address, the newest first.

    Args:
        folders: in which sinks keep them.
        address: of the recipient.
        since: mails that came before are left out, in seconds since 1970.
    """
    mails = reversed(all_mails(folders, since))
    return [mail for mail in mails if _plain(address) in mail.recipients]


def all_mails(folders: Iterable[Path], since: float = 0) -> list[KeptMail]:
    """Return the mails to anyone since a time, the oldest first."""
    found = []
    for path in (path for folder in folders for path in folder.glob(f"*{_SUFFIX}")):
        arrived = int(path.name.partition("-")[0]) / 1e9
        if arrived >= since:
            head, _, content = path.read_bytes().partition(b"\n")
            found.append(KeptMail(arrived, tuple(json.loads(head)), content))
    return sorted(found, key=lambda mail: mail.arrived)


def _plain(address: str) -> str:
    return address.strip().strip("<>").casefold()


def code_in(content: bytes, pattern: str = "") -> str | None:
    """Return the code that a mail brings, or None if it brings none.

    Args:
        content: the whole mail.
        pattern: a regular expression of the code. Without one, the code is a number of 4 to 8
            digits that stands alone, preferably of 6 and like no year; never a year of today.
    """
    texts = list(_texts(message_from_bytes(content)))
    if pattern:
        for text in texts:
            with suppress(SlowPattern):
                if (code := search(pattern, text)) is not None:
                    return code
        return None
    numbers = [re.sub(r"\D", "", one) for text in texts for one in CODE.findall(text)]
    this = time.gmtime().tm_year
    years = {str(this - 1), str(this), str(this + 1)}
    return min((one for one in numbers if one not in years), key=_oddness, default=None)


def _oddness(number: str) -> tuple[bool, bool]:
    return bool(YEAR.fullmatch(number)), len(number) != _USUAL_DIGITS


def link_in(content: bytes, allows: Callable[[str], bool], pattern: str = "") -> str | None:
    """Return the link that a mail brings, or None if it brings none.

    Args:
        content: the whole mail.
        allows: tells whether a link leads to the site.
        pattern: a regular expression of the link. Without one, the link is the longest to the site
            that does not unsubscribe from anything.
    """
    links = [one for one in _links(message_from_bytes(content)) if allows(one)]
    if pattern:
        with suppress(SlowPattern):
            return next((one for one in links if search(pattern, one) is not None), None)
        return None
    wanted = (one for one in links if "unsubscribe" not in one.lower())
    return max(wanted, key=len, default=None)


def _links(message: Message) -> Iterator[str]:
    for part in message.walk():
        if part.get_filename() is None and part.get_content_maintype() == "text":
            text = _decoded(part)
            if part.get_content_subtype() == "html":
                yield from map(html.unescape, HREF.findall(text))
            else:
                # A sentence may end with a link.
                yield from (one.rstrip(".,;:!?)]*_") for one in LINK.findall(text))


def hidden_parts(link: str) -> tuple[str, ...]:
    """Return what of a link nobody may see: all below its origin, and its parts that are no words.

    The origin stays readable, since addresses of pages are resolved and compared.
    """
    parts = urlsplit(link)
    below = link.partition(parts.netloc)[2].lstrip("/")
    values = [value for _, value in parse_qsl(f"{parts.query}&{parts.fragment}")]
    values += map(unquote, parts.path.split("/"))
    values += [] if "=" in parts.fragment else [unquote(parts.fragment)]
    tokens = [one for one in values if unlike_words(one) or (one.isdigit() and len(one) >= 6)]
    whole = [below] if tokens or re.search(r"[/?#]", below) else []
    # An address, of mail or of a page to go on to, is no secret and stands elsewhere as well.
    return (*whole, *(one for one in tokens if "@" not in one and not one.startswith(_ADDRESS)))


def subject_of(content: bytes) -> str:
    """Return the subject of a mail; its sender chose it."""
    return _subject(message_from_bytes(content))


def _texts(message: Message) -> Iterator[str]:
    """Yield what a person reads: the plain text, the subject, and HTML without its tags."""
    parts = [part for part in message.walk() if part.get_filename() is None]
    for kind in ("text/plain", "subject", "text/html"):
        if kind == "subject":
            yield _subject(message)
        for part in parts:
            if part.get_content_type() == kind:
                text = _decoded(part)
                yield (
                    html.unescape(TAG.sub(" ", HIDDEN.sub(" ", text))) if "html" in kind else text
                )


def _subject(message: Message) -> str:
    said = str(message.get("subject", ""))
    with suppress(HeaderParseError, LookupError, ValueError):
        return str(make_header(decode_header(said)))
    return said


def _decoded(part: Message) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    for charset in (part.get_content_charset(), "utf-8"):
        with suppress(LookupError, ValueError):
            return data.decode(charset or "utf-8", "replace")[:_MOST_CHARS]
    return ""
