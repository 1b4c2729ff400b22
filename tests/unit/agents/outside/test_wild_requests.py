"""Whatever an agent sends, in any protocol, is answered or refused, and never an error of ours."""

import json
from typing import Any

import pytest
from endpoint_model import PICTURE_DATA, ToldClient, served
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.agents.outside.protocols.gemini_api import GENERATE
from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.models.messages import Reply

WORDS = """
messages input contents content parts role user assistant model system systemInstruction
system_instruction text type tools tool_choice toolConfig functionDeclarations name function
parameters input_schema tool_use tool_result tool_use_id id call_id function_call output
function_call_output functionCall functionResponse response args arguments source base64
media_type data image inlineData mimeType image_url url stop stop_sequences generationConfig
stopSequences responseSchema max_tokens stream stream_options n namespace thinking thought
previous_response_id output_config format schema properties nullable is_error input_image
"""
NAMES = WORDS.split()
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([*NAMES, "", "image/png", PICTURE_DATA, "{}"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=25,
)
BODIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
SAID = {
    "messages": [{"role": "user", "content": "x"}],
    "input": "x",
    "contents": {"parts": [{"text": "x"}]},
}
"""Something to pass on in each protocol, of which a body may keep what it does not replace."""
PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    f"/v1beta/models/m:{GENERATE}",
    "/v1beta/models/m:streamGenerateContent",
)


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_it_is_answered_or_refused(path: str) -> None:
    model = ToldClient()
    with served(model, most=10_000) as endpoint:

        @settings(max_examples=80, deadline=None)
        @given(BODIES)
        def check(body: dict[str, Any]) -> None:
            model.answers = [Reply(text="so be it")]
            body = {**SAID, **body}
            protocol = endpoint.protocol_of(path, "", ())
            try:
                body_of_answer = endpoint.answer(protocol, path, json.dumps(body).encode()).body
            except RequestRefused as refused:
                why = protocol.error(refused.status, "", refused.reason)
                body_of_answer = json.dumps(why).encode()
            assert body_of_answer

        check()
