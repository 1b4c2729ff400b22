"""Common slips of models in scripts, mended."""

import re
import textwrap

from pytest_autoweb.agents.attempt.unwrapped_script import unwrapped_script
from pytest_autoweb.base.python_source import is_python
from pytest_autoweb.models.replies import heading_number

_SLASH_COMMENT = re.compile(r"^(\s*)//+\s?(.*)$")
_STRAY = re.compile(r"^\s*(?:PLAN|THINK|QUESTION|MODE|NOTE)(?:_\w+)?\s*[:：]?", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"""^\s*(?:
        from\s+playwright\.sync_api\s+import\s+.*\bsync_playwright\b.*
      | import\s+playwright\b.*
      | (?:browser|context|page)\s*=\s*\w+(?:\.\w+)*\.(?:launch|new_context|new_page)\(.*
      | (?:browser|context|playwright|p)\.(?:close|stop)\(\)
    )\s*$""",
    re.VERBOSE,
)
_WRAPPER = re.compile(r"^(\s*)with\s+sync_playwright\(\)\s+as\s+\w+\s*:\s*$")
_AWAIT = re.compile(r"\bawait\s+(?=page\b|expect\b|frame\b|locator\b|\w+\.)")


def normal_form(code: str) -> str:
    """Return the script with common slips of models mended, for use only if it lints clean.

    Slash comments and bare headings become comments; `await` and the code that launches a browser
    around the given `page` are removed.
    """
    lines: list[str] = []
    text = unwrapped_script(code.replace("\r\n", "\n").expandtabs(4))
    for line in _unwrap(text.split("\n")):
        if slash := _SLASH_COMMENT.match(line):
            line = f"{slash[1]}# {slash[2]}"
        elif _is_bare_heading(line) or (_STRAY.match(line) and not is_python(line.strip())):
            line = "# " + line.strip().lstrip("*").strip()
        elif _BOILERPLATE.match(line):
            continue
        lines.append(_AWAIT.sub("", line))
    return "\n".join(lines).strip("\n") + "\n"


def _is_bare_heading(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#") and heading_number(stripped) is not None


def _unwrap(lines: list[str]) -> list[str]:
    """Dedent the body of `with sync_playwright() as p:`."""
    for number, line in enumerate(lines):
        if wrapper := _WRAPPER.match(line):
            depth = len(wrapper[1])
            end = number + 1
            while end < len(lines) and (
                not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth
            ):
                end += 1
            body = textwrap.dedent("\n".join(lines[number + 1 : end])).split("\n")
            return [*lines[:number], *body, *lines[end:]]
    return lines
