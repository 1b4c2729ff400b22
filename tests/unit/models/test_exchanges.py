"""What is kept of a model call, whoever asked."""

from pytest_autoweb.base.errors import CassetteMiss, ModelError
from pytest_autoweb.models.client import ask_once
from pytest_autoweb.models.messages import Message, Reply, Request, redacted_messages
from pytest_autoweb.results.records import Usage

SECRET = "hunter2"
REQUEST = Request(
    model="m",
    messages=(
        Message(role="system", content="Rules."),
        Message(role="user", content=f"It is {SECRET}."),
    ),
    stage="judge",
    turn=3,
)


def redact(text: str) -> str:
    return text.replace(SECRET, "***")


class ScriptedOutcomes:
    """Gives its outcomes in order, the last one again and again."""

    def __init__(self, *outcomes: Reply | ModelError) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome


def test_a_reply_is_kept_without_secrets_and_handed_on_as_it_came() -> None:
    reply = Reply(text=f"{SECRET}!", usage=Usage(calls=1, input_tokens=7), model_served="m-1")

    outcome, exchange = ask_once(ScriptedOutcomes(reply), REQUEST, redact)

    assert outcome is reply
    assert (exchange.stage, exchange.turn) == ("judge", 3)
    assert exchange.prompt == "[system]\nRules.\n\n[user]\nIt is ***."
    assert exchange.reply == "***!"
    assert exchange.usage == reply.usage
    assert exchange.model_served == "m-1"
    assert exchange.error is None


def test_a_failed_call_is_a_call_with_the_time_that_was_waited_for_it() -> None:
    clock = iter((10.0, 12.5))
    error = ModelError("timeout", "m", f"no answer for {SECRET}")

    outcome, exchange = ask_once(ScriptedOutcomes(error), REQUEST, redact, now=lambda: next(clock))

    assert outcome is error
    assert exchange.reply == ""
    assert exchange.error == "no answer for ***"
    assert exchange.usage == Usage(calls=1, unpriced_calls=1, latency_s=2.5)


def test_what_a_client_knows_of_its_failed_calls_counts() -> None:
    used = Usage(calls=3, input_tokens=9, cost_usd=0.1)
    error = ModelError("timeout", "m", "no answer", usage=used)

    assert ask_once(ScriptedOutcomes(error), REQUEST, redact).exchange.usage == used


def test_secrets_are_taken_out_of_what_is_sent_but_not_out_of_the_rules() -> None:
    rules = Message(role="system", content=f"Say {SECRET}.")
    task = Message(role="user", content=f"Type {SECRET}.", images=("data:,",))

    sent = redacted_messages((rules, task), redact)

    assert sent == (rules, Message(role="user", content="Type ***.", images=("data:,",)))


CUT = Reply(
    text=f"{SECRET} and then",
    usage=Usage(calls=1, output_tokens=64),
    finish_reason="length",
    model_served="m-1",
)


def test_a_reply_that_was_cut_off_is_a_failed_call_whose_text_is_kept() -> None:
    outcome, exchange = ask_once(ScriptedOutcomes(CUT), REQUEST, redact)

    assert isinstance(outcome, ModelError)
    assert outcome.cause == "truncated"
    assert "cut off at its limit, after 64 tokens; max_tokens in the model's" in outcome.detail
    assert exchange.error == outcome.detail
    assert (exchange.reply, exchange.usage) == ("*** and then", CUT.usage)


def test_the_limit_that_a_call_sets_itself_is_named() -> None:
    request = REQUEST.model_copy(update={"max_tokens": 60})

    outcome, _ = ask_once(ScriptedOutcomes(CUT), request, redact)

    assert isinstance(outcome, ModelError)
    assert "a call of this kind may use 60 tokens" in outcome.detail


def test_what_is_complete_of_a_reply_that_was_cut_off_can_be_used() -> None:
    outcome, exchange = ask_once(
        ScriptedOutcomes(CUT), REQUEST, redact, usable=lambda text: text[:7]
    )

    assert isinstance(outcome, Reply)
    assert (outcome.text, exchange.error, exchange.reply) == (SECRET, None, "*** and then")


ROOMY = CUT.model_copy(update={"more_room": True})
WHOLE = Reply(text="all of it", usage=Usage(calls=1, output_tokens=200), model_served="m-1")


def test_a_reply_that_was_cut_off_is_asked_for_again_with_more_room_and_both_are_counted() -> None:
    client = ScriptedOutcomes(ROOMY, WHOLE)

    outcome, exchange = ask_once(client, REQUEST, redact)

    assert isinstance(outcome, Reply)
    assert (outcome.text, exchange.reply, exchange.error) == ("all of it", "all of it", None)
    assert [request.more_room for request in client.requests] == [False, True]
    assert (exchange.usage.calls, exchange.usage.output_tokens) == (2, 264)
    assert outcome.usage == exchange.usage


def test_a_reply_that_was_cut_off_without_more_room_is_not_asked_for_again() -> None:
    client = ScriptedOutcomes(CUT)

    ask_once(client, REQUEST, redact)

    assert len(client.requests) == 1


def test_a_reply_of_which_enough_is_left_is_not_asked_for_again() -> None:
    client = ScriptedOutcomes(ROOMY)

    outcome, _ = ask_once(client, REQUEST, redact, usable=lambda text: text[:7])

    assert isinstance(outcome, Reply)
    assert len(client.requests) == 1


def test_a_reply_that_is_cut_off_twice_is_truncated_and_says_so() -> None:
    again = ROOMY.model_copy(update={"usage": Usage(output_tokens=256, reasoning_tokens=250)})

    outcome, exchange = ask_once(ScriptedOutcomes(ROOMY, again), REQUEST, redact)

    assert isinstance(outcome, ModelError)
    assert (outcome.cause, exchange.usage.output_tokens) == ("truncated", 320)
    assert "asked again with more room: truncated" in outcome.detail
    assert "after 256 tokens, 250 of them thoughts; it cannot be longer" in outcome.detail


def test_a_second_call_that_fails_leaves_the_first_one_truncated() -> None:
    poor = ModelError("budget", "m", "not called")

    outcome, exchange = ask_once(ScriptedOutcomes(ROOMY, poor), REQUEST, redact)

    assert isinstance(outcome, ModelError)
    assert outcome.cause == "truncated"
    assert "asked again with more room: budget: not called" in outcome.detail
    assert exchange.reply == "*** and then"


def test_a_cassette_of_a_version_that_did_not_ask_again_is_replayed_as_it_was() -> None:
    miss = CassetteMiss("m", "no recording")

    outcome, exchange = ask_once(ScriptedOutcomes(ROOMY, miss), REQUEST, redact)

    assert isinstance(outcome, ModelError)
    assert (outcome.cause, exchange.usage) == ("truncated", CUT.usage)
    assert "asked again" not in outcome.detail
