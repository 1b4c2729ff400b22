"""Code as models really write it, each with what it must have done: it answers what it saw.

The pages are those of `sandbox_shop`. In `benign_corpus.txt` the code stands as it is; the line
that begins with `=>` holds the answer as JSON.
"""

import json
import re
from pathlib import Path

_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
_PART = re.compile(r"^### (.+)\n((?s:.+?))\n=> (.+)$", re.MULTILINE)

BENIGN: dict[str, tuple[str, object]] = {
    name: (code, json.loads(answer)) for name, code, answer in _PART.findall(_TEXT)
}
"""Name to code and answer."""
