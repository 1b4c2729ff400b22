"""The conversation of an attempt by turns: what of it the model is sent again in each turn.

Replies and their outcomes stay. A page is sent in the turn that begins with it, and stays only as
long as the following turns begin with the same page, which then is not listed a second time.
"""

from typing import NamedTuple

from msgspec import Struct, field

from pytest_autoweb.agents.attempt.tools import SeenPicture
from pytest_autoweb.browser.page.frames import RefView
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.models.messages import Message, picture_uri
from pytest_autoweb.models.prompts import fence, render


class Shown(NamedTuple):
    """The page as shown to the model at the beginning of a turn."""

    number: int
    """Number of the turn, from 1."""
    url: str
    text: str
    view: RefView | None = None
    """The numbered list, in the dialect that uses one."""
    tab: str = ""
    """The name of the shown tab in code; empty if it is `page`."""

    def looks_like(self, other: "Shown") -> bool:
        """Return whether the listings of two turns say the same."""
        return (self.url, self.text, self.tab) == (other.url, other.text, other.tab)


class _Past(Struct):
    """A turn that was taken."""

    page: Message | None
    """Its page, unless the model has been shown another one since."""
    then: tuple[Message, ...]
    """The reply, and what became of it."""


class TurnTalk(Struct):
    """A conversation by turns.

    Args:
        opening: the rules and the task.
        limit: how many turns there may be.
    """

    opening: tuple[Message, ...]
    limit: int
    _past: list[_Past] = field(default_factory=list)
    _listed: Shown | None = None
    _page: Message | None = None

    def said_tokens(self) -> int:
        """Estimate the tokens of the conversation without rules and pages."""
        kept = (*self.opening[1:], *(one for past in self._past for one in past.then))
        return sum(estimate_tokens(message.content) for message in kept)

    def messages(self, shown: Shown, pictures: tuple[SeenPicture, ...]) -> tuple[Message, ...]:
        """Return what the model is sent in a turn that begins with this page."""
        listed = self._listed
        same = listed is not None and shown.looks_like(listed)
        if not same:
            self._listed = shown
            for past in self._past:
                past.page = None
        page = render(
            "turn_page",
            number=shown.number,
            turns=self.limit,
            url=shown.url,
            tab=shown.tab,
            page="" if same else fence(shown.text, "page"),
            as_before=listed.number if same and listed else 0,
            pictures=[one.told for one in pictures],
        )[1]
        # A picture is paid for each time that it is sent, so it is sent once.
        self._page = page
        seen = page.model_copy(
            update={"images": tuple(picture_uri(one.picture) for one in pictures)}
        )
        before = [
            message
            for past in self._past
            for message in (*((past.page,) if past.page else ()), *past.then)
        ]
        return _alternating((*self.opening, *before, seen))

    def add(self, *then: Message) -> None:
        """Keep the reply to the newest page, and what became of it."""
        self._past.append(_Past(self._page, then))


def _alternating(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Join consecutive messages of one role, because some servers reject these."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            text = f"{last.content}\n\n{message.content}"
            images = (*last.images, *message.images)
            message = last.model_copy(update={"content": text, "images": images})
        joined.append(message)
    return tuple(joined)
