"""A fake model for the tasks behind a login: `fake/looks`.

It answers from a script, as no model does, but knows nothing of the pages: each name that it writes
is looked up in the listing that its prompt shows. What it has not been shown it cannot write. It
proves that scripts by turns can do what scripts at once cannot; how well a model does is another
question.
"""

import re
from typing import NamedTuple

from pytest_autoweb import ModelSpec, Request
from pytest_autoweb.testing import ScriptedClient, scripted_plan


class Intent(NamedTuple):
    """One thing to do: what to look for in the listing, and the code that uses what is found."""

    look: str
    code: str
    leaves: bool = False
    """The next intent is about another page."""


def _press(role: str, word: str, *, leaves: bool = True, place: str = "page") -> Intent:
    code = f'{place}.get_by_role("{role}", name="{{0}}", exact=True).first.click()'
    return Intent(rf'{role} "({word})"', code, leaves)


def _type(word: str, text: str) -> Intent:
    code = f'page.get_by_role("textbox", name="{{0}}", exact=True).fill("{text}")'
    return Intent(rf'textbox "({word})"', code)


IN_ADMIN = (_type('User[^"]*', "admin"), _type('Pass[^"]*', "adminpw"), _press("button", "Log in"))
# The fields have no names; they are found by the region in which the word Login stands.
IN_TRACKER = (
    Intent(
        r'navigation "(\w+)":\s*(?:(?:- )?paragraph:(?:\s*- text:)? )?Login(?: \||\s*-) textbox',
        'page.get_by_role("navigation", name="{0}").get_by_role("textbox").first.fill("admin")\n'
        'page.get_by_role("navigation", name="{0}").get_by_role("textbox").nth(1).fill("adminpw")',
    ),
    _press("button", "Log ?in"),
)
TASKS: dict[str, tuple[Intent, ...]] = {
    "group named Auditors": (
        *IN_ADMIN,
        _press("link", "Groups"),
        _press("link", "Add [Gg]roup"),
        _type("Name:?", "Auditors"),
        _press("button", "Save"),
    ),
    "Rename the group": (
        *IN_ADMIN,
        _press("link", "Groups"),
        _press("link", "Sales"),
        _type("Name:?", "Selling"),
        _press("button", "Save"),
    ),
    "Deactivate the user": (
        *IN_ADMIN,
        _press("link", "Users"),
        _press("link", "ann.abel"),
        Intent(r'checkbox "(Active[^"]*)"', 'page.get_by_role("checkbox", name="{0}").uncheck()'),
        _press("button", "Save"),
    ),
    "staff status": (
        *IN_ADMIN,
        _press("link", "Users"),
        Intent(
            r'(?i)by staff status.*?link "(Yes)"',
            'page.get_by_role("link", name="{0}").first.click()',
            leaves=True,
        ),
        Intent(r"(\d+) users", "answer({0})"),
    ),
    "Add the keyword": (
        *IN_TRACKER,
        Intent(
            r'Keywords(?: \||\s*-) link "([^"]+)"',
            'page.get_by_role("paragraph").filter(has_text="Keywords")'
            '.get_by_role("link", name="{0}").click()',
            leaves=True,
        ),
        Intent(
            r'rowheader "(Keyword[^"]*)"|(textbox)',
            'page.get_by_role("main").get_by_role("textbox").first.fill("plumbing")',
        ),
        _press("button", 'Submit[^"]*'),
    ),
    "letter box": (
        *IN_TRACKER,
        _press("link", 'Letter box[^"]*'),
        Intent(
            r"(combobox).*?[|;] unread \[selected\]",
            'page.get_by_role("combobox").filter(has_text="unread").select_option(label="resolved")',
        ),
        _press("button", "Submit Changes"),
    ),
    "being tested": (
        *IN_TRACKER,
        Intent(r'link "([^"]+)" \| testing \| admin', 'answer("{0}")'),
    ),
    "login name zoe": (
        *IN_TRACKER,
        _press("link", "Add User"),
        _type("Login Name", "zoe"),
        Intent(
            r'textbox "(Login Password[^"]*)"',
            'rows = page.get_by_role("row")\n'
            'rows.filter(has_text="Login Password").get_by_role("textbox").fill("zoepw123")\n'
            'rows.filter(has_text="Confirm Password").get_by_role("textbox").fill("zoepw123")',
        ),
        _type("E-mail address", "zoe@example.com"),
        _press("button", "Submit New Entry"),
    ),
}


def _spelled(listing: str) -> str:
    """Return a listing with the role before each element, which it says once for those in a row."""
    lines = []
    for line in listing.splitlines():
        parts, role = [], ""
        for part in line.split(" | "):
            found = re.match(r'\s*(\w+) "', part)
            role = found[1] if found else role if part.startswith('"') else ""
            parts.append(f"{role} {part}" if role and not found else part)
        lines.append(" | ".join(parts))
    return "\n".join(lines)


class LooksUp(ScriptedClient):
    """A fake model that writes what it finds in the listing, and stops where it finds no more."""

    def __init__(self, *, by_turns: bool) -> None:
        self._by_turns = by_turns
        super().__init__({"plan": scripted_plan("log in and do the task"), "generate": self.write})

    def write(self, request: Request) -> str:
        """Return the code for all that is shown, up to where another page begins."""
        text = "\n".join(message.content for message in request.messages)
        task = next(intents for words, intents in TASKS.items() if words in text)
        replies = [m.content for m in request.messages if m.role == "assistant"]
        done = sum(reply.count("# intent") for reply in replies)
        page = _spelled(text[text.rindex("<<page") :])
        lines = []
        for intent in task[done:]:
            if (found := re.search(intent.look, page, re.DOTALL)) is None:
                break
            names = [group for group in found.groups() if group]
            lines += ["# intent", intent.code.format(*names)]
            if intent.leaves and self._by_turns:
                break
        code = "\n".join(lines)
        ends = done + code.count("# intent") == len(task)
        return f"```python\n# Step 1\n{code}\n```\n{'DONE' if ends else ''}"


def pytest_autoweb_client(spec: ModelSpec) -> ScriptedClient | None:
    """Answer for `fake/looks`."""
    if spec.litellm_model != "fake/looks":
        return None
    return LooksUp(by_turns=spec.takes_turns)
