"""Fakes that follow a recipe by what they are shown, and know nothing else of the page.

A `Player` answers for a model: it reads the listing in the prompt, finds what the next line of the
recipe names, and replies in the form that its way of working asks for. What a listing loses, or a
way cannot do, it cannot do either; `lost` says why it gave up.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from listing_text import Item, Listing, Lost, read_listing

from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Usage

_PAGE = re.compile(r"<<page (\w+)>>\n(.*?)\n<<end page \1>>", re.DOTALL)
_TAB = re.compile(r"in code it is (page\.context\.pages\[\d+\])")
_ACTION = re.compile(
    r"""(?P<verb>click|type|choose|tick|switch|unfold|point\ at|scroll\ down|upload|read\ the\ file
    |write|say\ yes|wait|repeat|see|answer)\b""",
    re.VERBOSE,
)
_TRIES = 12
"""How often a player scrolls or waits for what shall show."""


class Shown(NamedTuple):
    """What a player is shown in one turn."""

    listing: Listing
    message: str
    """The whole of the newest message."""
    tab: str
    """How code calls the tab that is listed."""


class Hands(Protocol):
    """How one way of working says what is to be done."""

    def click(self, shown: Shown, item: Item) -> str: ...
    def fill(self, shown: Shown, item: Item, text: str) -> str: ...
    def choose(self, shown: Shown, item: Item, option: str) -> str: ...
    def tick(self, shown: Shown, item: Item) -> str: ...
    def hover(self, shown: Shown, item: Item) -> str: ...
    def scroll(self, shown: Shown, item: Item) -> str: ...
    def upload(self, shown: Shown, item: Item, file: str) -> str: ...
    def read_file(self, shown: Shown, item: Item) -> str: ...
    def rewrite(self, shown: Shown, item: Item, text: str) -> str: ...
    def say_yes(self, shown: Shown, text: str) -> str: ...
    def wait(self, shown: Shown, text: str) -> str: ...
    def answer(self, value: str | int) -> str: ...
    def reply(self, lines: list[str], *, done: bool) -> str: ...
    def give_up(self, why: str) -> str: ...


class Player:
    """A fake model that follows recipes, each from its first line when a case begins.

    Args:
        recipes: the lines for each case.
        hands: how the actions are written.
    """

    def __init__(self, recipes: Mapping[str, str], hands: Hands) -> None:
        self._recipes, self._hands = recipes, hands
        self._followed: dict[str, _Follower] = {}

    def complete(self, request: Request) -> Reply:
        """Return the reply for the next line of the recipe."""
        case, shown = request.case_id, _shown(request)
        if request.turn <= 1 or case not in self._followed:
            self._followed[case] = _Follower(self._recipes[case], self._hands)
        follower = self._followed[case]
        try:
            text = follower.next_reply(shown)
        except Lost as lost:
            text = self._hands.give_up(f"{lost}, at: {follower.at}")
            follower.give_up()
        usage = Usage(calls=1, input_tokens=0, output_tokens=0, cost_usd=0.0)
        return Reply(text=text, usage=usage, model_served="scripted")


class _Follower:
    """A recipe on its way."""

    def __init__(self, recipe: str, hands: Hands) -> None:
        self._hands = hands
        lines = re.sub(r",\s+then ", ", then ", recipe.strip()).split("\n")
        self._left = [line.strip() for line in lines]
        self._tries = 0
        self.at = ""
        """The last line that was begun."""

    def next_reply(self, shown: Shown) -> str:
        """Return what is to be done now.

        Raises:
            Lost: what the next line names is not shown.
        """
        while self._left:
            line = self._left[0]
            if waits := re.fullmatch(r'(?:wait|scroll down) until "(.*)" shows', line):
                lines = [] if shown.listing.shows(waits[1]) else [self._one(line, shown)]
            elif again := re.fullmatch(r'repeat that while "(.*)" shows', line):
                lines = self._all(self.at, shown) if shown.listing.shows(again[1]) else []
            elif seen := re.fullmatch(r'see "(.*)"', line):
                if not shown.listing.shows(seen[1]):
                    raise Lost(f"{seen[1]!r} does not show")
                lines = []
            else:
                self.at = line
                del self._left[0]
                if lines := self._all(line, shown):
                    return self._hands.reply(lines, done=not self._left)
                continue
            if lines:
                self._try(line)
                return self._hands.reply(lines, done=False)
            del self._left[0]
            self._tries = 0
        return self._hands.reply([], done=True)

    def give_up(self) -> None:
        """Leave the rest."""
        self._left = []

    def _try(self, line: str) -> None:
        self._tries += 1
        if self._tries > _TRIES:
            raise Lost(f"in vain: {line}")

    def _all(self, line: str, shown: Shown) -> list[str]:
        return [text for part in line.split(", then ") if (text := self._one(part, shown))]

    def _one(self, part: str, shown: Shown) -> str:
        """Return what is written for one instruction; nothing if it holds already."""
        verb = _ACTION.match(part)
        if not verb:
            raise ValueError(f"no instruction: {part}")
        said = re.findall(r'"([^"]*)"', part)
        return self._VERBS[verb["verb"]](self, shown, part, said)

    def _click(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.click(shown, shown.listing.find(said[0], beside="".join(said[1:])))

    def _type(self, shown: Shown, part: str, said: list[str]) -> str:
        text, field = said
        if part.startswith("type the word after"):
            found = re.findall(rf"{text} (\S+)", shown.message)
            if not found:
                raise Lost(f"no word after {text!r}")
            # The task may say the same before.
            text = found[-1]
        return self._hands.fill(shown, shown.listing.find(field), text)

    def _choose(self, shown: Shown, part: str, said: list[str]) -> str:
        field = shown.listing.find(said[1])
        # Whoever lists options elsewhere, as `[2] options: …`, lists them all the same.
        if said[0] not in field.value and said[0] not in shown.listing.text:
            raise Lost(f"{said[1]!r} does not offer {said[0]!r}")
        return self._hands.choose(shown, field, said[0])

    def _tick(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.tick(shown, shown.listing.find(said[0]))

    def _switch(self, shown: Shown, part: str, said: list[str]) -> str:
        item = shown.listing.find(said[0])
        on, off = {"on", "selected", "pressed", "checked"}, {"off"}
        if not item.states & (on | off):
            raise Lost(f"whether {said[0]!r} is on is not shown")
        wanted = part.endswith(" on")
        return "" if bool(item.states & on) == wanted else self._hands.click(shown, item)

    def _unfold(self, shown: Shown, part: str, said: list[str]) -> str:
        item = shown.listing.find(said[0])
        if not item.states & {"collapsed", "closed"}:
            raise Lost(f"that {said[0]!r} can be unfolded is not shown")
        return self._hands.click(shown, item)

    def _point(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.hover(shown, shown.listing.row(said[0]))

    def _scroll(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.scroll(shown, shown.listing.scrollable())

    def _upload(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.upload(shown, shown.listing.find(said[1]), said[0])

    def _read_file(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.read_file(shown, shown.listing.find(said[0]))

    def _write(self, shown: Shown, part: str, said: list[str]) -> str:
        new, old = said
        field = shown.listing.field_holding(old)
        text = (field.value or field.name).replace(old, new).replace("⏎", "\n")
        return self._hands.rewrite(shown, field, text)

    def _say_yes(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.say_yes(shown, said[0])

    def _wait(self, shown: Shown, part: str, said: list[str]) -> str:
        return self._hands.wait(shown, said[0])

    def _answer(self, shown: Shown, part: str, said: list[str]) -> str:
        if not part.startswith("answer the number before"):
            return self._hands.answer(said[0])
        found = re.search(rf"([\d,]+) {said[0]}", shown.listing.text)
        if not found:
            raise Lost(f"no number before {said[0]!r}")
        return self._hands.answer(int(found[1].replace(",", "")))

    _VERBS: Mapping[str, Callable[["_Follower", Shown, str, list[str]], str]] = {
        "click": _click,
        "type": _type,
        "choose": _choose,
        "tick": _tick,
        "switch": _switch,
        "unfold": _unfold,
        "point at": _point,
        "scroll down": _scroll,
        "upload": _upload,
        "read the file": _read_file,
        "write": _write,
        "say yes": _say_yes,
        "wait": _wait,
        "answer": _answer,
    }


def _shown(request: Request) -> Shown:
    """Return the newest page of a conversation, and what came with it."""
    newest = request.messages[-1].content
    # A page that is as before is not listed again, so the newest listing may be an older one.
    told = [message.content for message in request.messages if _PAGE.search(message.content)]
    if not told:
        return Shown(Listing((), ""), newest, "page")
    *_, page = _PAGE.finditer(told[-1])
    tab = _TAB.search(told[-1][: page.start()].rpartition("TURN ")[2])
    return Shown(read_listing(page[2]), newest, tab[1] if tab else "page")


class CodeHands:
    """Playwright code, as the rules of the prompt for turns show it."""

    def click(self, shown: Shown, item: Item) -> str:
        return f"{_expression(shown, item)}.click()"

    def fill(self, shown: Shown, item: Item, text: str) -> str:
        return f"{_expression(shown, item)}.fill({text!r})"

    def choose(self, shown: Shown, item: Item, option: str) -> str:
        return f"{_expression(shown, item)}.select_option(label={option!r})"

    def tick(self, shown: Shown, item: Item) -> str:
        return f"{_expression(shown, item)}.check()"

    def hover(self, shown: Shown, item: Item) -> str:
        return f"{_expression(shown, item)}.hover()"

    def scroll(self, shown: Shown, item: Item) -> str:
        wheel, pause = ".mouse.wheel(0, 380)", ".wait_for_timeout(400)"
        return f"{self.hover(shown, item)}\n{shown.tab}{wheel}\n{shown.tab}{pause}"

    def upload(self, shown: Shown, item: Item, file: str) -> str:
        return f"{_expression(shown, item)}.set_input_files({file!r})"

    def read_file(self, shown: Shown, item: Item) -> str:
        code = (
            f"with {shown.tab}.expect_download() as kept:\n    {_expression(shown, item)}.click()\n"
        )
        return f"{code}log(open(kept.value.path()).read())"

    def rewrite(self, shown: Shown, item: Item, text: str) -> str:
        # An editor of code has no value of its own that `fill` could replace.
        every = f'{_expression(shown, item)}.press("Control+a")'
        return f"{every}\n{shown.tab}.keyboard.insert_text({text!r})"

    def say_yes(self, shown: Shown, text: str) -> str:
        listens = f'{shown.tab}.once("dialog", lambda asked: asked.accept({text!r}))'
        # The first to be asked takes the listener; what comes next needs one of its own.
        return (
            f"def answer_both(asked):\n    {listens}\n    asked.accept()\n"
            f'{shown.tab}.once("dialog", answer_both)'
        )

    def wait(self, shown: Shown, text: str) -> str:
        return f"{shown.tab}.wait_for_timeout(2500)"

    def answer(self, value: str | int) -> str:
        return f"answer({value!r})"

    def reply(self, lines: list[str], *, done: bool) -> str:
        block = "\n".join(["```python", *lines, "```"]) if lines else ""
        return "\n".join(filter(None, ["Next.", block, "DONE" if done else ""]))

    def give_up(self, why: str) -> str:
        return f"QUESTION: where is it? {why}"


def _expression(shown: Shown, item: Item) -> str:
    """Return a locator made of what the listing says: role and name, or text."""
    scope = shown.tab
    if item.frame:
        scope += f".frame_locator('iframe[title={json.dumps(item.frame)}]')"
    place = shown.listing.place(item)
    nth = f".nth({place})" if place >= 0 else ""
    selector = re.search(r"#[\w-]+", item.rest)
    if item.name and (item.role == "scrollable" or "(file)" in item.rest):
        return f"{scope}.get_by_label({item.name!r})"
    if item.role and item.role != "clickable" and item.name:
        return f"{scope}.get_by_role({item.role!r}, name={item.name!r}, exact=True){nth}"
    if selector:
        return f"{scope}.locator({selector[0]!r})"
    if item.name:
        return f"{scope}.get_by_text({item.name!r}, exact=True){nth}"
    if item.hint:
        how = "get_by_title" if "title" in item.rest else "get_by_label"
        return f"{scope}.{how}({item.hint!r}, exact=True)"
    for text in shown.listing.texts_beside(item):
        if sum(one.name == text for one in shown.listing.items) == 1:
            return f"{scope}.get_by_text({text!r}, exact=True)"
    raise Lost(f"nothing tells this {item.role} from others")


class NumberHands:
    """The lines of the `refs` dialect."""

    def click(self, shown: Shown, item: Item) -> str:
        return f"{_number(item)}.click()"

    def fill(self, shown: Shown, item: Item, text: str) -> str:
        return f"{_number(item)}.fill({json.dumps(text)})"

    def choose(self, shown: Shown, item: Item, option: str) -> str:
        return f"{_number(item)}.select_option({json.dumps(option)})"

    def tick(self, shown: Shown, item: Item) -> str:
        return f"{_number(item)}.check()"

    def hover(self, shown: Shown, item: Item) -> str:
        return f"{_number(item)}.hover()"

    def scroll(self, shown: Shown, item: Item) -> str:
        inside = item if item.number else shown.listing.first_inside(item)
        return f'{_number(inside)}.scroll("down")'

    def upload(self, shown: Shown, item: Item, file: str) -> str:
        return f"{_number(item)}.upload({json.dumps(file)})"

    def read_file(self, shown: Shown, item: Item) -> str:
        return f"{_number(item)}.click()\nread_download()"

    def rewrite(self, shown: Shown, item: Item, text: str) -> str:
        return self.fill(shown, item, text)

    def say_yes(self, shown: Shown, text: str) -> str:
        return f"accept_dialog()\naccept_dialog({json.dumps(text)})"

    def wait(self, shown: Shown, text: str) -> str:
        return f"wait_for({json.dumps(text)})"

    def answer(self, value: str | int) -> str:
        return f"answer({json.dumps(value)})"

    def reply(self, lines: list[str], *, done: bool) -> str:
        block = "\n".join(["```", *lines, "```"]) if lines else ""
        return "\n".join(filter(None, ["Next.", block, "DONE" if done else ""]))

    def give_up(self, why: str) -> str:
        return f"QUESTION: where is it? {why}"


def _number(item: Item) -> str:
    if not item.number:
        raise Lost(f"no number at {item.role} {item.name!r}")
    return item.number


class MarkHands:
    """The decisions of `act`, by the marks of its list."""

    def click(self, shown: Shown, item: Item) -> str:
        return _decision("click", item)

    def fill(self, shown: Shown, item: Item, text: str) -> str:
        return _decision("type", item, text=text)

    def choose(self, shown: Shown, item: Item, option: str) -> str:
        return _decision("select", item, option=option)

    def tick(self, shown: Shown, item: Item) -> str:
        return self.click(shown, item)

    def hover(self, shown: Shown, item: Item) -> str:
        return _decision("hover", item)

    def scroll(self, shown: Shown, item: Item) -> str:
        inside = item if item.number else shown.listing.first_inside(item)
        return _decision("scroll_in", inside, direction="down")

    def upload(self, shown: Shown, item: Item, file: str) -> str:
        return _decision("upload", item, file=file)

    def read_file(self, shown: Shown, item: Item) -> str:
        return f'[{self.click(shown, item)}, {{"action": "read_download"}}]'

    def rewrite(self, shown: Shown, item: Item, text: str) -> str:
        return self.fill(shown, item, text)

    def say_yes(self, shown: Shown, text: str) -> str:
        return json.dumps({"action": "answer_dialog", "text": text})

    def wait(self, shown: Shown, text: str) -> str:
        return json.dumps({"action": "wait_for", "text": text})

    def answer(self, value: str | int) -> str:
        return json.dumps({"action": "done", "answer": value})

    def reply(self, lines: list[str], *, done: bool) -> str:
        made = [json.loads(line) for line in lines]
        decisions = [one for line in made for one in (line if isinstance(line, list) else [line])]
        decisions = decisions or [{"action": "done"}]
        return _reply(
            decisions[0] if len(decisions) == 1 else {"action": "steps", "steps": decisions}
        )

    def give_up(self, why: str) -> str:
        return _reply({"action": "done"}, why)


def _reply(decision: Mapping[str, object], thinking: str = "") -> str:
    return json.dumps({"thinking": thinking, "decision": decision, "confidence": 0.9})


def _decision(action: str, item: Item, **more: str) -> str:
    near = re.search(r'near ("(?:[^"\\]|\\.)*")', item.rest)
    decision = {
        "action": action,
        "expected_text": item.name or item.value,
        "near": json.loads(near[1]) if near else "",
        "mark_id": int(_number(item)),
    }
    return json.dumps({**decision, **more})
