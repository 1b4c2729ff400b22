"""What counts as the same call, and what is answered without making it."""

import json
import unicodedata
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.correction.call_cache import (
    TTL_S,
    CachingClient,
    MemoryCache,
    SeenCalls,
    call_hash,
    canonical,
)
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Usage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)  # fmt: skip


def shuffled(value: Any) -> Any:
    """The same value, put together the other way round and in another Unicode form."""
    if isinstance(value, dict):
        return {shuffled(k): shuffled(v) for k, v in reversed(value.items())}
    if isinstance(value, list):
        return [shuffled(inner) for inner in value]
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@given(VALUES)
def test_a_value_has_one_hash_however_it_was_put_together(value: Any) -> None:
    if _same_size(value, shuffled(value)):
        assert call_hash("t", value) == call_hash("t", shuffled(value))


def _same_size(one: Any, other: Any) -> bool:
    """Whether no two keys became one in the other Unicode form."""
    if isinstance(one, dict):
        pairs = zip(one.values(), reversed(list(other.values())), strict=False)
        return len(one) == len(other) and all(_same_size(a, b) for a, b in pairs)
    if isinstance(one, list):
        return all(_same_size(a, b) for a, b in zip(one, other, strict=True))
    return True


@given(VALUES)
def test_the_canonical_form_reads_back_as_the_value(value: Any) -> None:
    if _same_size(value, shuffled(value)):
        assert json.loads(canonical(value)) == shuffled(value)


def test_one_as_number_fraction_truth_and_text_are_four_values() -> None:
    values: list[Any] = [1, 1.0, True, "1", None, [], {}]
    assert len({call_hash("t", value) for value in values}) == 7
    assert call_hash("a", {}) != call_hash("b", {})


class Shop:
    """A page whose content changes by itself, and what was read from it."""

    def __init__(self) -> None:
        self.content, self.now = "old", 0.0
        self.page = SimpleNamespace(url="http://shop/")
        self.cache = MemoryCache(lambda: self.now)
        self.looks = 0
        self.recall = SeenCalls(self.look, self.cache)

    def look(self, page: Any) -> tuple[str, str]:
        self.looks += 1
        return page.url, self.content

    def read(self, method: str = "count") -> bool:
        """Whether the reading was answered from the cache."""
        known = self.recall.ask(self.page, method, "x", acting=False)
        if not known.answered:
            known.done(self.content)
        else:
            assert known.value == self.content
        return known.answered


def test_a_reading_is_answered_again_only_while_the_page_is_the_same() -> None:
    shop = Shop()
    assert shop.read() is False
    assert [shop.read(), shop.read()] == [False, True]
    shop.content = "new"
    assert [shop.read(), shop.read()] == [False, True]
    shop.recall.ask(shop.page, "click", "button", acting=True)
    assert [shop.read(), shop.read()] == [False, True]
    shop.now = TTL_S + 1
    assert shop.read() is False


def test_the_page_is_not_compared_for_what_is_read_only_once() -> None:
    shop = Shop()
    assert [shop.read("count"), shop.read("title")] == [False, False]
    assert shop.looks == 0


def test_a_reading_during_which_the_page_changed_is_not_kept() -> None:
    shop = Shop()
    shop.read()
    known = shop.recall.ask(shop.page, "count", "x", acting=False)
    shop.content = "new"
    known.done("old")
    shop.content = "old"
    assert shop.read() is False


def act(shop: Shop, method: str, makes: str = "") -> bool:
    """Whether an acting call that leaves the page with this content counts as a repeat."""
    known = shop.recall.ask(shop.page, method, f"{method} b", acting=True)
    assert known.answered is False
    shop.content = makes or shop.content
    known.done(None)
    return known.duplicate


def test_a_wait_is_counted_when_repeated_and_never_answered() -> None:
    shop = Shop()
    first = shop.recall.ask(shop.page, "wait_for_timeout", "x", acting=False)
    again = shop.recall.ask(shop.page, "wait_for_timeout", "x", acting=False)
    assert (first.duplicate, again.duplicate, again.answered) == (False, True, False)


def test_an_acting_call_repeats_one_that_was_made_on_the_same_page_in_the_same_state() -> None:
    shop = Shop()
    assert [act(shop, "click"), act(shop, "click"), act(shop, "dblclick")] == [False, True, False]
    assert act(shop, "click", makes="dialog") is True
    assert act(shop, "click", makes="old") is False
    assert act(shop, "click") is True
    shop.page = SimpleNamespace(url="http://shop/other")
    assert act(shop, "click") is False


def test_plus_pressed_twice_is_no_repeat_but_a_text_filled_in_twice_is_one() -> None:
    shop = Shop()
    assert [act(shop, "click", makes="1"), act(shop, "click", makes="2")] == [False, False]
    assert [act(shop, "fill", makes="ana"), act(shop, "fill")] == [False, True]
    assert [act(shop, "click", makes="3"), act(shop, "fill", makes="4")] == [False, False]


def test_a_failed_click_on_an_unchanged_page_is_repeated_too() -> None:
    shop = Shop()
    both = [shop.recall.ask(shop.page, "click", "b", acting=True) for _ in range(2)]
    assert [each.duplicate for each in both] == [False, True]


def test_no_acting_call_is_a_repeat_where_the_page_cannot_be_compared() -> None:
    shop = Shop()
    shop.recall = SeenCalls(lambda page: None, shop.cache)
    assert [act(shop, "fill"), act(shop, "fill")] == [False, False]


def test_an_identical_model_call_is_answered_again_within_its_repeat_only() -> None:
    asked: list[Request] = []

    class Model:
        def complete(self, request: Request) -> Reply:
            asked.append(request)
            return Reply(text=f"reply {len(asked)}", usage=Usage(calls=1, input_tokens=5))

    request = Request(model="m", messages=(Message(role="user", content="hi"),), stage="plan")
    steady = CachingClient(Model(), ModelSpec(name="m"), MemoryCache())
    again = request.model_copy(update={"attempt": 2})
    replies = [steady.complete(each) for each in (request, again)]
    assert [reply.text for reply in replies] == ["reply 1", "reply 1"]
    assert [reply.usage.calls for reply in replies] == [1, 0]
    assert steady.complete(request.model_copy(update={"repeat": 2})).text == "reply 2"
    warm = CachingClient(Model(), ModelSpec(name="m", temperature=0.8), MemoryCache())
    assert [warm.complete(request).text for _ in range(2)] == ["reply 3", "reply 4"]
