"""A fake vision model that reads the drawn lines and numbers from the picture."""

import base64
import hashlib
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from PIL import Image

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.results import Usage
from pytest_autoweb.testing.drawn import BoxLabel, RecognisedDrawing, frames, outlined, read_drawing

GUESS = 0.25
"""The intersection over union above which a box counts as containing the target."""

Form = Literal["json", "chinese", "sections", "prose"]
"""The form of its replies: JSON, JSON with Chinese words, sections with Chinese headers, or prose
without an answer."""

_CHINESE = {
    "left": "左边",
    "right": "右边",
    "above": "上面",
    "below": "下面",
    "crossed": "穿过",
}


class Target(NamedTuple):
    """The box of an element in CSS pixels of the viewport, and its text."""

    x: float
    y: float
    width: float
    height: float
    text: str = ""


Where = Target | None | Callable[[], Target | None]
"""A target, None for one that is not in the picture, or a function that is called for each
picture, for pages that scroll."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How it errs; the same picture and description always give the same mistakes."""

    slack: float = 0.0
    """The distance in CSS pixels within which a line is said to cross the target."""
    wrong_line: float = 0.0
    """The share of answers about one line that are wrong."""
    wrong_mark: float = 0.0
    """The share of answers with the number of a wrong box."""
    unseen: float = 0.0
    """The share of pictures in which it overlooks the target."""
    unreadable: float = 0.0
    """The share of replies without an answer."""


class PixelReadingClient:
    """A fake client that answers the locator's questions from pixels; no model is asked.

    It knows where each target is, but reads the drawn lines and numbers from the picture. So the
    drawing, the scaling and the parsing of replies are all tested.

    Args:
        targets: the position of the target for each description.
        viewport: width and height of the page in CSS pixels.
        noise: how it errs.
        form: the form of its replies.
        seed: the seed of its mistakes.
    """

    def __init__(
        self,
        targets: Mapping[str, Where],
        *,
        viewport: tuple[float, float] = (1280, 720),
        noise: Noise | None = None,
        form: Form = "json",
        seed: int = 0,
    ) -> None:
        self._targets, self._viewport, self._seed = targets, viewport, seed
        self._noise, self._form = noise or Noise(), form
        self.requests: list[Request] = []
        """All requests, in order."""
        self.drawings: list[RecognisedDrawing] = []
        """What was recognised in the picture of each request."""

    def complete(self, request: Request) -> Reply:
        """Look at the last picture of the request and answer.

        Raises:
            ModelError: there is no picture, or the text describes no known target.
        """
        self.requests.append(request)
        asked = next((m for m in reversed(request.messages) if m.images), None)
        known = [text for text in self._targets if asked and text in asked.content]
        if asked is None or not known:
            raise ModelError("empty", request.model, "no picture of a known target")
        description = max(known, key=len)
        png = base64.b64decode(asked.images[-1].partition(",")[2])
        picture = Image.open(io.BytesIO(png)).convert("RGB")
        drawing = read_drawing(picture)
        self.drawings.append(drawing)
        luck = self._luck(description, png, len(request.messages))
        where = self._targets[description]
        target = where() if callable(where) else where
        fields = self._answer(picture, drawing, target, luck)
        text = self._written(fields, luck)
        words = sum(len(message.content.split()) for message in request.messages)
        usage = Usage(calls=1, input_tokens=words, output_tokens=len(text.split()))
        return Reply(text=text, usage=usage, model_served="a fake that reads pixels")

    def _luck(self, description: str, png: bytes, turn: int) -> random.Random:
        picture = hashlib.sha256(png).hexdigest()
        return random.Random(f"{self._seed} {turn} {description} {picture}")

    def _answer(
        self,
        picture: Image.Image,
        drawing: RecognisedDrawing,
        target: Target | None,
        luck: random.Random,
    ) -> dict[str, Any]:
        noise = self._noise
        if target is None or luck.random() < noise.unseen:
            return {"found": False}
        scale = picture.width / self._viewport[0]
        fields: dict[str, Any] = {"found": True}
        if drawing.x is not None:
            low, high = target.x, target.x + target.width
            sides = self._side(drawing.x / scale, low, high, ("left", "right"), luck)
            fields["v"] = sides
        if drawing.y is not None:
            low, high = target.y, target.y + target.height
            fields["h"] = self._side(drawing.y / scale, low, high, ("above", "below"), luck)
        if drawing.labels:
            mark = number_of(picture, drawing, target, scale)
            others = [label.number for label in drawing.labels if label.number != mark]
            wrong = others and luck.random() < noise.wrong_mark
            fields["mark"] = luck.choice(others) if wrong else mark
        return {**fields, "text": target.text}

    def _side(
        self, line: float, low: float, high: float, sides: tuple[str, str], luck: random.Random
    ) -> str:
        slack = self._noise.slack
        true = "crossed"
        if line >= high + slack:
            true = sides[0]
        elif line <= low - slack:
            true = sides[1]
        wrong = [word for word in (*sides, "crossed") if word != true]
        return luck.choice(wrong) if luck.random() < self._noise.wrong_line else true

    def _written(self, fields: dict[str, Any], luck: random.Random) -> str:
        if self._form == "prose" or luck.random() < self._noise.unreadable:
            return "I see a web page with many things on it."
        if self._form == "json":
            return json.dumps(fields)
        seen = fields.pop("found")
        words = {key: _CHINESE.get(str(value), str(value)) for key, value in fields.items()}
        if self._form == "chinese":
            return json.dumps({"发现": "是" if seen else "未发现", **words}, ensure_ascii=False)
        headers = {"v": "竖线位置", "h": "横线位置", "mark": "选择", "text": "文字"}
        sections = [f"[{headers[key]}]\n{value}" for key, value in words.items() if value]
        return "\n".join(["[发现]", "是" if seen else "未发现", *sections])


def number_of(
    picture: Image.Image, drawing: RecognisedDrawing, target: Target, scale: float
) -> int:
    """Return the number of the box that is drawn around the target; 0 when there is none."""
    box = (
        target.x * scale,
        target.y * scale,
        (target.x + target.width) * scale,
        (target.y + target.height) * scale,
    )
    colours = {label.colour for label in drawing.labels}
    outlines = {colour: outlined(picture, box, colour) for colour in colours}
    best = max(outlines, key=lambda colour: outlines[colour], default=None)
    if best is None or outlines[best] < 0.4:
        # A single box may be the locator's estimate, which need not fit the target exactly.
        label = drawing.labels[0]
        guesses = frames(picture, label.colour) if len(drawing.labels) == 1 else []
        return label.number if any(_alike(guess, box) for guess in guesses) else 0
    near = [label for label in drawing.labels if label.colour == best]
    return min(near, key=lambda label: _distance(label, box)).number


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    shared = max(0.0, width) * max(0.0, height)
    return shared > GUESS * (sum(areas) - shared)


def _distance(label: BoxLabel, box: tuple[float, float, float, float]) -> float:
    left, top, right, bottom = label.rect
    across = max(0.0, box[0] - right, left - box[2])
    down = max(0.0, box[1] - bottom, top - box[3])
    return across + down
