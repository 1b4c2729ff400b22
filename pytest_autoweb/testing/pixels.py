"""A fake vision model that finds the drawn lines and numbers in the picture itself."""

import base64
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.installation import missing_extras
from pytest_autoweb.browser.marks.crosshair import MARGIN
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Usage

if problem := missing_extras(["testing"]):
    raise ImportError(problem)
from PIL import Image, ImageChops  # imported here, so that its absence is explained

Colour = tuple[int, int, int]
Rect = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are the first ones outside."""

VERTICAL: Colour = (255, 0, 255)
HORIZONTAL: Colour = (0, 200, 0)
BOX_COLOURS: tuple[Colour, ...] = (
    (208, 0, 0), (0, 80, 224), (0, 128, 48), (144, 0, 176), (192, 80, 0), (0, 112, 144),
)  # fmt: skip
NUMBERED: Colour = (255, 233, 0)
"""The colour behind a number; its rim has the colour of its box."""
_LEAST_SHARE = 100
"""How much of a row or column, out of 255, must have a line's colour; labels may cover the rest."""
_LEAST_HEIGHT = 20
_LEAST_FILL = 0.35
_INK = 128
_GRID = (8, 12)
_DIGITS: tuple[tuple[str, ...], ...] = (
    (  # DejaVu Sans, bold
        "02bfe9001effffa07fe48ff2bf900ff7df800dfaef700dfcef700dfbdf800dfabf900ff77fe26ff11effffa002bfe900",
        "8ceff400dffff400753ff400001ff400001ff400001ff400001ff400001ff400001ff400124ff622cffffffecffffffe",
        "5befeb50dffffff6d953affe10000fff00003ffd0000dff40007ff80003ffa0006ff70008ffb4444efffffffefffffff",
        "5dfffb209fffffe145338ff600005ff506ffffc006fffe400004dff100001ff700000efbc4128ff8ffffffe18dffd910",
        "0009ff60003fff6000afff6002f9df600ce1df605f80df60af20df60ed22df82fffffffcfffffffc0000df600000df60",
        "7ffffff17ffffff17f9444407fb863007fffff907c99dff610001ffc00000dfd00000dfdc7128ff8efffffd06dffd800",
        "019dfec30bfffff64ff71142cf847500ffefffc1fffb9ffaffe00bffffa008ffefa008ff8fe10cfc0efffff302cefc20",
        "fffffffcfffffffc44446ff600008fe00000ff700007ff10000dfc00002ff80000aff30001ffd00006ff60000bfe0000",
        "08effd607ffffff6dfb01efbcfa00df85ffeefa10affffa06fe34ff7ef600bfdff4009ffffa00dfd8ffffff607dffc40",
        "02cfeb200effffc08fe12ff4cfa00cfcbfc00efe6ffacfff0fffffff04dfbbfe00000cfa05018ff30fffff900cffc600",
    ),
    (  # Liberation Sans, bold
        "03cfeb201ffdefd06fd00ff4af800bf7cf6008fadf5007fbdf5007fbcf6008fabf700af87fb00df51efddfd002cffa10",
        "03cff7008ffff700ef7ff700b24ff700004ff700004ff700004ff700004ff700004ff700004ff700aacffcaaffffffff",
        "06cfeb404ffdeff3afc00ff78a500bf900000ef60000afd0001cfd2002efc1000cfd00006ff30000effcccc9fffffffc",
        "05cfec406ffdeff3cfa01ff778200cf800003ff4005ffd40004cefc100000bfa671007fdff600afc8ffdeff506efec50",
        "0001ef50000aff50002fdf5000af7f5003f84f500ad04f502f304f50be88afa6cffffffd8aaabfc800004f5000004f50",
        "5ffffff56feaaaa37fa000007fa000009fa8b940affffff47a922cfc000006fe000006fedf700afc7ffdeff406cffd50",
        "01aefd400dffeff25ff10df79f900220cf559720efdfffe2efc22dfacf6007fdbf7007fc7fc00bfa0dfddff301aefd50",
        "dffffffbaccccefb00000bf600003fe00000df500007fc00000ef400006fd00000bf900000ef600001ff300003ff2000",
        "06cfec606ff9aff5bfa00cf9bf800afa7fd11ef507ffff604fe99ff4df6008fcff4006feef7008fd8ff99ff707dffc60",
        "06cfea205ffdefe0bfb01ff5ef500af8ef5009fbbfb13efc3ffffdfc028957fb00000af96c701ef55ffcefc006efd800",
    ),
)
"""The look of the digits in each font, as brightness 0 to f in a grid of 8 by 12."""


class BoxLabel(NamedTuple):
    """The numbered label of a box."""

    number: int
    colour: Colour
    rect: Rect


class RecognisedDrawing(NamedTuple):
    """The lines and labels that were drawn over a picture."""

    x: float | None
    """The middle of the vertical line in pixels; None when there is no line."""
    y: float | None
    """The middle of the horizontal line in pixels; None when there is no line."""
    labels: tuple[BoxLabel, ...]


def page_in(picture: Image.Image) -> Image.Image:
    """Return the part of a picture that shows the page, without the margin around it."""
    return picture.crop((MARGIN, MARGIN, picture.width - MARGIN, picture.height - MARGIN))


def read_drawing(page: Image.Image) -> RecognisedDrawing:
    """Find the lines and labels in the result of `page_in`, in mode RGB."""
    lines = _line(page, VERTICAL, 0), _line(page, HORIZONTAL, 1)
    return RecognisedDrawing(*lines, tuple(_labels(page)))


def outlined(picture: Image.Image, box: Sequence[float], colour: Colour) -> float:
    """Return how much of a box's outline has this colour, from 0 to 1, sampled at 12 points."""
    left, top, right, bottom = (round(edge) for edge in box)
    points: list[tuple[int, int]] = []
    for share in (0.2, 0.5, 0.8):
        x, y = round(left + share * (right - left)), round(top + share * (bottom - top))
        points += [(left - 1, y), (right, y), (x, top - 1), (x, bottom)]
    points = [(x, y) for x, y in points if 0 <= x < picture.width and 0 <= y < picture.height]
    return sum(picture.getpixel(point) == colour for point in points) / max(1, len(points))


def frames(picture: Image.Image, colour: Colour) -> list[Rect]:
    """Return the boxes of this colour with an unbroken outline; the outline is part of the box."""
    mask = _mask(picture, colour)
    found = []
    for rect in _areas(mask):
        area = (rect[2] - rect[0]) * (rect[3] - rect[1])
        if sum(mask.crop(rect).histogram()[128:]) < _LEAST_FILL * area:
            found.append(rect)
    return found


def _mask(picture: Image.Image, colour: Colour) -> Image.Image:
    """Return a mask that is 255 where the picture has exactly this colour."""
    red, green, blue = ImageChops.difference(
        picture, Image.new("RGB", picture.size, colour)
    ).split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return most.point([255] + [0] * 255)


def _line(picture: Image.Image, colour: Colour, axis: int) -> float | None:
    size = (picture.width, 1) if axis == 0 else (1, picture.height)
    shares = _mask(picture, colour).resize(size, Image.Resampling.BOX).tobytes()
    core = [place for place, share in enumerate(shares) if share >= _LEAST_SHARE]
    return (core[0] + core[-1]) / 2 if core else None


def _labels(picture: Image.Image) -> Iterator[BoxLabel]:
    mask = _mask(picture, NUMBERED)
    for rect in _areas(mask):
        left, top, right, bottom = rect
        height, width = bottom - top, right - left
        if height < _LEAST_HEIGHT or width > 4 * height:
            continue
        colour = _rim(picture, rect)
        filled = sum(mask.crop(rect).histogram()[128:]) / (height * width)
        number = _number(picture.crop(rect)) if filled >= _LEAST_FILL else None
        if number is not None and colour is not None:
            yield BoxLabel(number, colour, rect)


def _rim(picture: Image.Image, rect: Rect) -> Colour | None:
    """Return the colour around a label; at the edge of the page some of it is cut off."""
    left, top, right, bottom = rect
    x, y = (left + right) // 2, (top + bottom) // 2
    around = [(left - 1, y), (right, y), (x, top - 1), (x, bottom)]
    inside = [(x, y) for x, y in around if 0 <= x < picture.width and 0 <= y < picture.height]
    seen = {picture.getpixel(place) for place in inside}
    return next((colour for colour in BOX_COLOURS if colour in seen), None)


def _areas(mask: Image.Image) -> Iterator[Rect]:
    """Return the bounding boxes of connected areas, by joining the runs of neighbouring rows."""
    rects: list[Rect] = []
    owner: list[int] = []

    def root(index: int) -> int:
        while owner[index] != index:
            index = owner[index]
        return index

    above: list[tuple[int, int, int]] = []
    data = mask.tobytes()
    for y in range(mask.height):
        runs: list[tuple[int, int, int]] = []
        for run in re.finditer(b"\xff+", data[y * mask.width : (y + 1) * mask.width]):
            start, end, index = run.start(), run.end(), len(rects)
            rects.append((start, y, end, y + 1))
            owner.append(index)
            for other_start, other_end, other in above:
                if other_start < end and start < other_end:
                    old, new = root(other), root(index)
                    owner[new] = old
                    if old != new:
                        rects[old] = _around(rects[old], rects[new])
            runs.append((start, end, index))
        above = runs
    return (rect for index, rect in enumerate(rects) if owner[index] == index)


def _around(one: Rect, other: Rect) -> Rect:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _number(label: Image.Image) -> int | None:
    """Read the number that is written in black and in brackets on yellow."""
    ink = ImageChops.invert(label.split()[0])
    columns = ink.resize((ink.width, 1), Image.Resampling.BOX).tobytes()
    text = ""
    for run in list(re.finditer(b"[^\x00-\x08]+", columns))[1:-1]:
        glyph = ink.crop((run.start(), 0, run.end(), ink.height))
        box = glyph.point([0] * _INK + [255] * (256 - _INK)).getbbox()
        if box is None or box[3] - box[1] < label.height // 3:
            return None
        text += _digit(glyph.crop(box))
    return int(text) if text else None


def _digit(glyph: Image.Image) -> str:
    seen = glyph.resize(_GRID, Image.Resampling.BOX).tobytes()

    def distance(digit: tuple[int, str]) -> int:
        return sum(
            abs(17 * int(cell, 16) - value) for cell, value in zip(digit[1], seen, strict=True)
        )

    known = [digit for font in _DIGITS for digit in enumerate(font)]
    return str(min(known, key=distance)[0])


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


class PixelTarget(NamedTuple):
    """The box of an element in CSS pixels of the viewport, and its text."""

    x: float
    y: float
    width: float
    height: float
    text: str = ""


Where = PixelTarget | None | Callable[[], PixelTarget | None]
"""A target, None for one that is not in the picture, or a function that is called for each
picture, for pages that scroll."""


class Noise(Struct, frozen=True):
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
        picture = page_in(Image.open(io.BytesIO(png)).convert("RGB"))
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
        target: PixelTarget | None,
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
    picture: Image.Image, drawing: RecognisedDrawing, target: PixelTarget, scale: float
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
