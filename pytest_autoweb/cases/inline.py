"""Cases given on the command line: `url|||task;;url|||task`."""

import re

from pytest_autoweb.errors import CaseError

BETWEEN_CASES = ";;"
BETWEEN_PARTS = "|||"

_WHOLE_URL = re.compile(r"https?://\S+", re.IGNORECASE)
# A URL inside a sentence ends before quotes, brackets and CJK punctuation.
_URL_IN_TEXT = re.compile(r"https?://[^\s<>\"'`，。；、！？（）【】「」《》]+", re.IGNORECASE)
_END_OF_SENTENCE = ".,;:!?)]}"


def read_inline(text: str) -> list[dict[str, str]]:
    """The fields id, entry_url and user_task of each case; ids count from 1.

    Raises:
        CaseError: there is no case, or one lacks its URL or its task.
    """
    segments = [part.strip() for part in text.split(BETWEEN_CASES) if part.strip()]
    if not segments:
        raise CaseError(f"no case given; write url{BETWEEN_PARTS}task{BETWEEN_CASES}url…")
    cases = []
    for number, segment in enumerate(segments, start=1):
        url, task = _url_and_task(segment, f"case {number}")
        cases.append({"id": str(number), "entry_url": url, "user_task": task})
    return cases


def _url_and_task(segment: str, name: str) -> tuple[str, str]:
    parts = [part.strip() for part in segment.split(BETWEEN_PARTS)]
    if len(parts) > 2:
        raise CaseError(f"has more than one {BETWEEN_PARTS!r}: {segment!r}", field=name)
    if len(parts) == 1:
        url, task = _first_url(segment, name), segment
        rest = segment.replace(url, "")
    else:
        first, second = parts
        if _WHOLE_URL.fullmatch(first):
            url, task = first, second
        elif _WHOLE_URL.fullmatch(second):
            url, task = second, first
        else:
            raise CaseError(f"neither side is an http(s) URL: {segment!r}", field=name)
        rest = task
    if not re.search(r"\w", rest):
        raise CaseError(f"has no task: {segment!r}", field=name)
    return url, task


def _first_url(text: str, name: str) -> str:
    match = _URL_IN_TEXT.search(text)
    if match is None:
        raise CaseError(f"holds no http(s) URL: {text!r}", field=name)
    url = match.group()
    while url.endswith(tuple(_END_OF_SENTENCE)) and not _closes_a_bracket(url):
        url = url[:-1]
    return url


def _closes_a_bracket(url: str) -> bool:
    """`…/Page_(disambiguation)` keeps its last bracket, `(see http://x.org/)` loses it."""
    return url.endswith(")") and url.count("(") >= url.count(")")
