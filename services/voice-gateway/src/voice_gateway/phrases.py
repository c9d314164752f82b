"""An answer cut into phrases to be spoken, while it is still being written (V4).

A phrase ends at ``.!?`` followed by white space or the end of the text, or at ``;:`` followed by white space, within
:data:`LONGEST` characters; else at the last space from :data:`SHORTEST` on; else there. A paragraph, a list item, a
heading and a table row end one too. A full stop after an abbreviation, an initial, or the number of a list item ends
nothing. The page cuts by the same rule, so that the next phrase can be prepared here before the page asks for it:
``contracts/examples/phrases.json`` tests both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from voice_gateway.plain_speech import BREAK, PlainSpeech, Said

LONGEST: Final = 220
"""Of a phrase, in code points."""
SHORTEST: Final = 80
"""Of a phrase that is cut at a space for want of anything better."""
_ABBREVIATIONS: Final = "mr mrs ms dr prof st sr jr vs etc approx cf al fig figs eq nos vol inc ltd corp dept est"
ABBREVIATIONS: Final = frozenset(_ABBREVIATIONS.split())
"""Lower case, without their full stop."""

WIDE_STOPS: Final = "。！？"
"""Full stops of scripts that put no space after them."""

_CLOSERS: Final = "\"'”’»)]"
_OPENERS: Final = "\"'“‘«([`"
_INITIALS: Final = re.compile(r"(?:[^\W\d_]\.)+")
_LIST_NUMBER: Final = re.compile(r"\d{1,9}[.)]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase as it is spoken, and the code points ``[start, end)`` of the answer that it stands for."""

    text: str
    span: tuple[int, int]


class Phrases:
    """The phrases of one answer; feed it the answer's deltas."""

    def __init__(self) -> None:
        self._plain = PlainSpeech()
        self._said: list[Said] = []
        self._space: Said | None = None

    def feed(self, delta: str) -> list[Phrase]:
        """The phrases that ``delta`` completes."""
        return list(self._cut(self._plain.feed(delta)))

    def finish(self) -> list[Phrase]:
        """The phrases that are left; the answer is complete."""
        return [*self._cut(self._plain.finish()), *self._end()]

    def _cut(self, more: Iterable[Said]) -> Iterator[Phrase]:
        for said in more:
            if said.text == BREAK:
                yield from self._end()
            elif said.text.isspace():
                if self._said and self._space is None:
                    self._space = said
                if self._said and ends_phrase(self._text):
                    yield from self._end()
            else:
                yield from self._add(said)

    def _add(self, said: Said) -> Iterator[Phrase]:
        if self._said and said.text not in WIDE_STOPS + _CLOSERS + "」』）" and _ends_wide(self._text):
            yield from self._end()
        if self._space is not None:
            # "recovered [1]." reads "recovered."
            if not (said.after_citation and said.text in ".,;:!?"):
                self._said.append(self._space)
            self._space = None
        self._said.append(said)
        while len(self._said) > LONGEST:
            yield from self._end(self._last_space())

    def _last_space(self) -> int:
        for place in range(LONGEST, SHORTEST - 1, -1):
            if self._said[place].text.isspace():
                return place
        return LONGEST

    @property
    def _text(self) -> str:
        return "".join(said.text for said in self._said)

    def _end(self, length: int | None = None) -> Iterator[Phrase]:
        """Give what was said up to ``length``, if there is a letter or a number in it."""
        self._space = None if length is None else self._space
        whole = self._said[:length]
        self._said = [] if length is None else self._said[length:]
        while self._said and self._said[0].text.isspace():
            self._said.pop(0)
        text = "".join(" " if said.text.isspace() else said.text for said in whole)
        if any(character.isalnum() for character in text):
            yield Phrase(text, (whole[0].start, whole[-1].end))


def ends_phrase(text: str) -> bool:
    """Whether a phrase ends where white space follows ``text``."""
    bare = text.rstrip(_CLOSERS)
    if not bare or bare[-1] not in ".!?;:":
        return False
    if bare[-1] in ";:":
        return bare == text
    if bare[-1] != "." or bare.endswith(".."):
        return True
    word = bare.rpartition(" ")[2].lstrip(_OPENERS)
    listed = word == bare and _LIST_NUMBER.fullmatch(word)
    return not (listed or word[:-1].lower() in ABBREVIATIONS or _INITIALS.fullmatch(word))


def _ends_wide(text: str) -> bool:
    """Whether ``text`` ends with a full stop of a script that puts no space after it."""
    return text.rstrip(_CLOSERS + "」』）")[-1:] in tuple(WIDE_STOPS)
