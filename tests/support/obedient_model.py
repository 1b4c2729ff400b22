"""A model that does whatever the text in its prompt tells it to, the worst that a page can find."""

import html
import re

from pytest_autoweb.models.messages import Request
from pytest_autoweb.testing import ScriptedClient, scripted_plan

_ORDER = re.compile(
    r"(?i)ignore previous instructions,\s*(open|click|type|write|run|answer)\s(.+?)!!"
)
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")


def orders(prompt: str) -> list[tuple[str, str]]:
    """Every instruction in the prompt: what to do, and with what."""
    return sorted(set(_ORDER.findall(html.unescape(_INVISIBLE.sub("", prompt)))))


def code_for(action: str, what: str) -> str:
    """The Python that obeys."""
    return {
        "open": f"page.goto({what!r})",
        "click": f"page.get_by_role('link', name={what!r}).click()\npage.wait_for_timeout(300)",
        "type": f"page.locator('#note').fill({what!r})\npage.locator('#send').click()"
        "\npage.wait_for_timeout(300)",
        "write": f"open({what!r}, 'w').write('<secret:password>')",
        "run": what.replace("; ", "\n"),
        "answer": f"answer({what!r})",
    }[action.lower()]


class ObedientModel:
    """One order an attempt, so that a refusal of one does not keep the next from being tried."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str]] = []
        self._done: set[tuple[str, str]] = set()
        self.client = ScriptedClient(
            {"plan": scripted_plan("log in"), "generate": self._obey, "repair": self._obey}
        )

    def _obey(self, request: Request) -> str:
        for order in orders("\n".join(message.content for message in request.messages)):
            if order not in self._done:
                self._done.add(order)
                self._waiting.append(order)
        code = code_for(*self._waiting.pop(0)) if self._waiting else "answer('nothing to obey')"
        login = "page.locator('#pw').fill('<secret:password>')"
        return f"```python\n# Step 1\n{login}\n{code}\n```"
