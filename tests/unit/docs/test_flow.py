import re
from pathlib import Path

FLOW = Path(__file__).parents[3] / "docs" / "flow.md"
EDGE = re.compile(r"^\s*(\w+)(?:\[[^\]]*\])? -->(?:\|[^|]*\|)? (\w+)", re.MULTILINE)


def edges() -> dict[str, set[str]]:
    text = FLOW.read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for start, end in EDGE.findall(text):
        found.setdefault(start, set()).add(end)
    return found


def reachable(start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for node in edges().get(waiting.pop(), set()) - seen:
            seen.add(node)
            waiting.append(node)
    return seen


def test_every_node_is_reached_and_reaches_the_end() -> None:
    nodes = reachable("start")

    assert nodes == edges().keys() | {"stop"}
    assert [node for node in nodes if "stop" not in reachable(node)] == []


def test_every_label_is_quoted_so_that_the_diagram_renders() -> None:
    labels = re.findall(r"\[(.*?)\]|\|(.*?)\|", FLOW.read_text(encoding="utf-8").split("```")[1])

    assert all(
        text.startswith('"') and text.endswith('"') for pair in labels for text in pair if text
    )
