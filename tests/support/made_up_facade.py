"""A facade over a made-up browser, which writes down what is called on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pytest_autoweb.sandbox.allowed_members import ApiMember, member_of
from pytest_autoweb.sandbox.call_frames import Bound, Receiver
from pytest_autoweb.sandbox.deadline import BrowserDeadline, Budget
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.facade import Facade
from pytest_autoweb.sandbox.handles import Handles

PASSWORDS = "the password fields"
URL = "http://shop.test/cart"


class FakeObject:
    """An object of a made-up browser: writes down what is called on it, answers from a table."""

    url: str
    frames: list[Any]
    pages: list[Any]
    expect_event: Callable[..., Any]

    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            return self.answers.get(name)

        return call


class Locator(FakeObject):
    """Looks like one of Playwright's."""


Locator.__module__ = "playwright.made_up"


class FakeDeadline:
    """In the place of the deadline: makes the call, and knows what it was allowed."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.waited: list[Callable[[], float]] = []
        self.pages: list[Any] = []
        self.page_lost = False
        self.spin: Callable[[Any, float], None] = lambda page, seconds: None

    def run(
        self, page: Any, seconds: float, call: Callable[[], Any], waited: Callable[[], float]
    ) -> Any:
        self.pages.append(page)
        self.seconds.append(seconds)
        self.waited.append(waited)
        return call()


class FakeSandbox:
    """A facade over a made-up page."""

    def __init__(self, folder: Path) -> None:
        self.page = FakeObject(locator=PASSWORDS)
        self.page.url = URL
        self.page.frames = []
        self.deadline = FakeDeadline()
        self.handles = Handles()
        self.border = SandboxBorder(
            page=cast(Any, self.page),
            artifacts=folder,
            secrets={"pw": "hunter2"},
            allowed=lambda url: url.startswith("http://shop.test/"),
            secret_allowed=lambda url: url.startswith("http://shop.test/"),
            files={"cv.pdf": folder / "cv.pdf"},
        )
        self.facade = Facade(self.border, self.handles, cast(BrowserDeadline, self.deadline))
        self.budget = Budget(20)

    def bound(
        self, method: str, /, *args: Any, on: Any = None, kind: str = "Page", **kwargs: Any
    ) -> Bound:
        member = member_of(kind, method) or ApiMember("call")
        if kind == "Page" and method == "collect_urls":
            member = ApiMember("function")
        receiver = Receiver(self.page if on is None else on, kind, "page")
        return Bound(receiver, method, member, list(args), kwargs, "'shown'", self.page)

    def call(self, method: str, /, *args: Any, **more: Any) -> Any:
        return self.facade.perform(self.bound(method, *args, **more), self.budget)

    def made(self, on: FakeObject | None = None) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """The one call that reached the browser, without the time it was given."""
        ((name, args, kwargs),) = (self.page if on is None else on).calls
        return name, args, {key: value for key, value in kwargs.items() if key != "timeout"}

    def timeout(self, on: FakeObject | None = None) -> float:
        return float((self.page if on is None else on).calls[-1][2]["timeout"])
