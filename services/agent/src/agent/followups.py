"""Questions that lean on the one before: "And its code?" finds nothing by itself.

A model rewrites such a question in its first round. Without one, the rule is: a short question that points back (a
pronoun, or a beginning such as "and" or "what about") is searched together with the last question that stood by
itself. A long question carries its own words, and pointing words in it point inside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.history import PastTurn
from agent.resuming import asked_again

MAX_WORDS: Final = 9


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BACK: Final = _words(
    "it its it's they them their theirs he him his she her hers that this those these there one ones then "
    "er ihn ihm sein seine seiner seinem seinen sie ihr ihre ihrer ihrem ihren es davon dafür damit dazu dort dieser "
    "diese dieses il elle ils elles lui leur leurs celui celle ceux cela ça en y "
    "ella ellos ellas su sus eso esa ese esto esta este allí"
)
_BEGINNINGS: Final = re.compile(
    r"(?:and|or|but|what about|how about|und|oder|aber|was ist mit|wie ist es mit|et|mais|y|pero)\b"
    r"|那|还有|它|他|她|이|그",
    re.IGNORECASE,
)
# "There is", "Is there", "What is the one ..." point at nothing said before.
_NOT_BACK: Final = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't) there\b|\bthere (?:is|are|was|were)\b|\bgibt es\b|\bes gibt\b"
    r"|\bil y a\b|\best-ce\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def points_back(question: str) -> bool:
    """Say whether a question is short and leans on something said before."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(_NOT_BACK.sub(" ", question))]
    if not words or len(words) > MAX_WORDS:
        return False
    return bool(_BEGINNINGS.match(question.strip())) or any(word in _BACK for word in words)


def search_text(question: str, past: Sequence[PastTurn], *, longest: int = 2000) -> str:
    """Give the text to search for: the question, after the last one that stands by itself when it points back.

    ``past`` is in the order of time; the result is at most ``longest`` code points, and the question itself is kept.
    """
    past = [turn for turn in past if asked_again(turn.question) is None]
    if not past or not points_back(question):
        return question
    before = next((turn.question for turn in reversed(past) if not points_back(turn.question)), past[-1].question)
    room = longest - len(question) - 1
    return f"{before[:room]} {question}" if room > 0 else question
