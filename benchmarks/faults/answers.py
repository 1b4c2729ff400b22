"""A scripted model for `benchmarks/calibration.py`: errs once, then does as it is told.

It shows what the mechanism can do with a model that follows evidence, and nothing about models.
Without evidence in the prompt it says the same again.
"""

import json
import re

from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Usage
from pytest_autoweb.testing import scripted_plan

_FIRST = {
    "missing": 'page.get_by_role("button", name="Export", exact=True).click(timeout=1500)',
    "renamed": 'page.get_by_role("button", name="Save", exact=True).click(timeout=1500)',
    "slow": 'page.get_by_role("button", name="Open the list").click(timeout=2000)',
    "401": 'page.get_by_role("button", name="Show orders").click()',
    "409": 'page.get_by_role("button", name="Reserve").click()',
    "500": 'page.get_by_role("button", name="Submit").click()',
    "validation": 'page.get_by_label("Delivery day", exact=True).fill("24.12.2026")\n'
    'page.get_by_role("button", name="Order", exact=True).click()',
    "stock": 'page.get_by_role("button", name="Buy red", exact=True).click()',
    "frame": 'pane = page.frame(name="pane")\npage.get_by_role("button", name="Renew").click()\n'
    'pane.get_by_role("button", name="Confirm").click(timeout=1500)',
}
_SIMILAR = re.compile(r'similar: button "([^"]+)"')
_BUTTONS = re.compile(r'page\.get_by_role\("button", name="([^"]+)", exact=True\)')


class Obedient:
    """Answers by rules that read the evidence in the prompt."""

    def complete(self, request: Request) -> Reply:
        """Return one reply; see `llm.client.Client`."""
        prompt = request.messages[-1].content
        match request.stage:
            case "plan":
                text = scripted_plan("Do it")
            case "reflect":
                text = _reflection(prompt)
            case "repair":
                text = f"```python\n# Step 1\n{_repaired(request.case_id, prompt)}\n```"
            case _:
                text = f"```python\n# Step 1\n{_FIRST[request.case_id]}\n```"
        usage = Usage(calls=1, input_tokens=len(prompt) // 4, output_tokens=len(text) // 4)
        return Reply(text=text, usage=usage)


def _reflection(prompt: str) -> str:
    told = [line[2:] for line in prompt.splitlines() if line.startswith("- ")]
    return json.dumps(
        {
            "errorAnalysis": "; ".join(told[:3])[:300],
            "correctionStrategy": "RE_QUERY",
            "reflection": "use what the evidence names",
            "confidence": 0.6,
        }
    )


def _repaired(case: str, prompt: str) -> str:
    if similar := _SIMILAR.search(prompt):
        return f'page.get_by_role("button", name="{similar[1]}", exact=True).click(timeout=1500)'
    if case == "validation" and "YYYY-MM-DD" in prompt:
        return _FIRST[case].replace("24.12.2026", "2026-12-24")
    if case == "stock" and "out of stock" in prompt:
        return _FIRST[case].replace("red", "blue")
    if case == "frame" and ("detached" in prompt or "changed meanwhile" in prompt):
        pane = 'page.frame_locator("iframe[name=\\"pane\\"]").get_by_role("button", name="Confirm"'
        listed = re.search(r"page\.frame_locator\(.*\)$", prompt, re.MULTILINE)
        confirm = listed[0] if listed else f"{pane}, exact=True)"
        return f'page.get_by_role("button", name="Renew", exact=True).click()\n{confirm}.click()'
    offered = _BUTTONS.findall(prompt)
    if "Elements:" in prompt and case in ("slow", "401", "409", "500") and offered:
        return f'page.get_by_role("button", name="{offered[0]}", exact=True).click()'
    return _FIRST[case] + "\n# again"
