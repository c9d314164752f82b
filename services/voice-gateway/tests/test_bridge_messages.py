"""What a message of the bridge may hold, and the sentence for each that is wrong."""

from __future__ import annotations

import json

import pytest

from voice_gateway.errors import AnswerFailed
from voice_gateway.live.errors import InvalidConfig
from voice_gateway.transports.bridge import messages
from voice_gateway.transports.bridge.messages import BadMessage

pytestmark = pytest.mark.behaviour("L8")


def told(**message: object) -> tuple[str, str]:
    with pytest.raises(BadMessage) as caught:
        messages.read(json.dumps(message))
    return caught.value.code, caught.value.message


def test_a_message_that_lacks_a_field_is_told_which() -> None:
    assert told(type="text") == ("invalid_message", "`text` cannot be this: Field required.")
    assert told(type="text", text=7)[1].startswith("`text` cannot be this")
    assert told(type="interrupt", played_ms=-1)[1].startswith("`played_ms` cannot be this")
    assert told(type="close", text="now")[1].startswith("`text` cannot be this")
    assert told(type="activity_start", ms=1)[1].startswith("`ms` cannot be this")


def test_a_question_with_a_nul_in_it_is_refused_at_the_door() -> None:
    assert told(type="text", text="a\0b") == (
        "invalid_message",
        "`text` holds the character NUL; leave it out.",
    )


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"reconnect": {"base_delay_s": 1e308}}, "`reconnect.base_delay_s` cannot be this"),
        ({"model": "m" * 200_000}, "`model` cannot be this"),
        ({"phrases": ["a\0b"]}, "`phrases.0` cannot be this: a text must not hold a NUL character"),
        ({"instructions": ["a\0b"]}, "`instructions.0` cannot be this: a text must not hold a NUL character"),
    ],
)
def test_a_setting_without_bound_is_told_by_its_name(setting: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        messages.wanted(json.dumps(setting))
    assert caught.value.message.startswith(says)
    assert len(caught.value.message) < 300


def test_an_answer_that_failed_unforeseen_is_told_in_one_plain_sentence() -> None:
    assert AnswerFailed().message == "The answer could not be finished; ask again."
