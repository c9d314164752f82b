"""Correct a transcript by the words that only the notes know: "orkid forty seven" was "ORCHID-47".

A stretch of one to five words becomes an entry of the vocabulary

- when it is spelt the same but for case, spaces and punctuation, numbers read as digits ("orchid 47"); or
- when it sounds like the entry: nearly, where the recogniser itself wrote something that is no English word; all but
  exactly, and never for a single word, where it wrote English, since about English it is mostly right.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from voice_gateway.ears.neighbours import Neighbours
from voice_gateway.ears.phonetics import CONSONANTS, likeness, skeleton, sounds_of_ipa, sounds_of_spelling
from voice_gateway.ears.sentences import may_stand_at_an_edge
from voice_gateway.ears.spoken_numbers import digits_of, together

MOST_ENTRIES: Final = 3_000
_LONGEST: Final = 5
_LONGEST_BY_EAR: Final = 3
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’\-–.][^\W_]+)*")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_SYMBOLS: Final = (("#", " sharp "), ("+", " plus "), ("&", " and "), ("@", " at "))
_SEPARATORS: Final = frozenset(("dash", "hyphen", "minus", "underscore", "slash", "dot", "point"))
_OWNED: Final = re.compile(r"['’]s$")
_ENDINGS: Final = (
    ("s", ""),
    ("es", ""),
    ("ies", "y"),
    ("ed", ""),
    ("ed", "e"),
    ("ied", "y"),
    ("ing", ""),
    ("ing", "e"),
    ("er", ""),
)
_SHORTEST: Final = 3
_SHORTEST_BY_EAR: Final = 4
_COMPARED: Final = 12
_LIKE_STRANGE, _LIKE_PARTLY, _LIKE_ENGLISH = 0.78, 0.84, 0.93
_SURE_LENGTH: Final = 6


class Lexicon:
    """The English words that a recogniser may be believed, and how they are pronounced."""

    def __init__(self, *pronunciations: Mapping[str, object]) -> None:
        self._known: dict[str, str] = {}
        self._common = frozenset(pronunciations[0]) if pronunciations else frozenset[str]()
        for words in pronunciations:
            for word, phonemes in words.items():
                # A mapping names the pronunciation of each part of speech.
                if isinstance(phonemes, dict):
                    phonemes = next(iter(cast("dict[str, str | None]", phonemes).values()))
                self._known.setdefault(word, str(phonemes or ""))

    @classmethod
    def read(cls, *files: str) -> Lexicon:
        """From files of JSON, the one with the common words first: a word, its phonemes or a mapping of them."""
        found: list[Mapping[str, object]] = []
        for file in files:
            with open(file, encoding="utf-8") as content:  # noqa: PTH123 - a path as text comes over the pipe
                found.append(json.load(content))
        return cls(*found)

    def is_english(self, word: str) -> bool:
        """Whether it is an ordinary word, in small letters, in whatever form."""
        return any(form in self._known for form in _forms(word))

    def is_common(self, word: str) -> bool:
        """Whether it is a word that a recogniser writes right by itself."""
        return any(form in self._common for form in _forms(word))

    def sounds(self, word: str) -> str:
        """Of a word in small letters, or of a name."""
        phonemes = self._known.get(word) or self._known.get(word.capitalize())
        return sounds_of_ipa(phonemes) if phonemes else sounds_of_spelling(word)


@dataclass(frozen=True)
class _Entry:
    written: str
    squashed: str
    sounds: frozenset[str]
    rank: int
    plain: bool
    """Whether it is a single word of everyday English."""

    @cached_property
    def counts(self) -> tuple[int, ...]:
        return _counts(skeleton(min(self.sounds)))


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int
    first: bool

    @cached_property
    def plain(self) -> str:
        return _OWNED.sub("", self.text).lower().replace("’", "'")


class Correction:
    """Of transcripts, by one vocabulary; calling it gives the corrected text."""

    def __init__(self, words: tuple[str, ...], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._spelt: dict[str, _Entry] = {}
        self._by_beginning: dict[tuple[str, int], list[_Entry]] = defaultdict(list)
        self._by_skeleton: dict[str, list[_Entry]] = defaultdict(list)
        self._neighbours = Neighbours(words[:MOST_ENTRIES], lexicon)
        for rank, written in enumerate(words[:MOST_ENTRIES]):
            self._learn(" ".join(written.split()), rank)

    def __call__(self, text: str) -> str:
        """The text, with the vocabulary's words where they were meant."""
        if not self._by_beginning and not self._spelt:
            return text
        tokens = list(_tokens(text))
        made: list[str] = []
        copied = 0
        for place, count, entry in self._found(tokens):
            last = tokens[place + count - 1]
            owned = _OWNED.search(last.text)
            made += (text[copied : tokens[place].start], entry.written, owned[0] if owned else "")
            copied = last.end
        return self._neighbours("".join((*made, text[copied:])))

    def _found(self, tokens: list[_Token]) -> list[tuple[int, int, _Entry]]:
        """Place, number of words and entry of every correction, in order; the most alike first choose their place."""
        found: list[tuple[float, int, int, _Entry]] = []
        for place in range(len(tokens)):
            for count in range(1, min(_LONGEST, len(tokens) - place) + 1):
                span = tokens[place : place + count]
                entry = self._spelt.get(_squash(span))
                if entry is not None and span[-1].plain not in _SEPARATORS:
                    found.append((1.0 + count, place, count, entry))
        spelt = {place + offset for _, place, count, _ in found for offset in range(count)}
        for place in range(len(tokens)):
            for count in range(1, min(_LONGEST_BY_EAR, len(tokens) - place) + 1):
                if place + count - 1 in spelt:
                    break
                like = self._like(tokens[place : place + count])
                if like is not None:
                    found.append((like[0], place, count, like[1]))
        chosen: list[tuple[int, int, _Entry]] = []
        taken: set[int] = set()
        for _, place, count, entry in sorted(found, key=lambda one: (-one[0], -one[2], one[1])):
            places = set(range(place, place + count))
            if not places & taken:
                taken |= places
                chosen.append((place, count, entry))
        return sorted(chosen, key=lambda one: one[0])

    def _learn(self, written: str, rank: int) -> None:
        parts = _parts(written)
        squashed = "".join(parts)
        if len(squashed) < _SHORTEST or squashed.isdigit() or len(parts) > _LONGEST + 2 or squashed in self._spelt:
            return
        strange = [part for part in parts if not part.isdigit() and not self._lexicon.is_common(part)]
        mixed = any(not char.isalpha() and char not in " '’" for char in written) or (
            # An everyday word in capitals is one that somebody stressed.
            _inner_capital(written) and bool(strange or not written.isupper())
        )
        plain = not strange and not mixed
        spoken = "".join(part if part.isdigit() else self._lexicon.sounds(part) for part in parts)
        entry = _Entry(
            written, squashed, frozenset((spoken, sounds_of_spelling(squashed))), rank, plain and len(parts) == 1
        )
        if not plain:
            self._spelt[squashed] = entry
        if min(map(len, entry.sounds)) < _SHORTEST_BY_EAR or not any(char.isalpha() for char in squashed):
            return
        for sounds in entry.sounds:
            self._by_beginning[skeleton(sounds)[:1], len(sounds)].append(entry)
            # English words in their own spelling: they are meant only where none was written.
            if not plain:
                self._by_skeleton[skeleton(sounds)].append(entry)

    def _like(self, span: list[_Token]) -> tuple[float, _Entry] | None:
        """The entry that a stretch sounds like, if it is alike enough for what the recogniser wrote."""
        words = [token.plain for token in span]
        if not all(may_stand_at_an_edge(word) for word in (words[0], words[-1])):
            return None
        strange = [digits_of(word) is None and not self._lexicon.is_english(word) for word in words]
        if any(token.text.isalpha() and token.text.isupper() and odd for token, odd in zip(span, strange, strict=True)):
            return None  # Letters that were spelt out; it wrote down what it heard.
        english = not any(strange)
        least = _LIKE_STRANGE if all(strange) else _LIKE_PARTLY if any(strange) else _LIKE_ENGLISH
        spoken = _sounds(words, self._lexicon.sounds)
        if len(spoken) < _SHORTEST_BY_EAR:
            return None
        best: tuple[float, _Entry] | None = None
        near = self._by_skeleton.get(skeleton(spoken), ()) if english else self._nearest(spoken)
        for entry in near:
            if english and (len(spoken) < _SURE_LENGTH or (len(span) == 1 and " " not in entry.written)):
                continue
            like = max(likeness(spoken, known) for known in entry.sounds)
            if like >= (_LIKE_ENGLISH if entry.plain else least) and (best is None or like > best[0]):
                best = (like, entry)
        return best

    def _nearest(self, spoken: str) -> list[_Entry]:
        """The entries whose consonants are most of these, few enough to be compared sound by sound."""
        bones = skeleton(spoken)
        counts = _counts(bones)
        most = 1 + len(spoken) // 5
        near: list[tuple[int, int, _Entry]] = []
        for length in range(len(spoken) * 3 // 4, len(spoken) * 4 // 3 + 2):
            for entry in self._by_beginning.get((bones[:1], length), ()):
                apart = sum(abs(one - other) for one, other in zip(counts, entry.counts, strict=True))
                if apart <= most:
                    near.append((apart, entry.rank, entry))
        return [entry for *_, entry in sorted(near, key=lambda one: one[:2])[:_COMPARED]]


def _counts(bones: str) -> tuple[int, ...]:
    return tuple(bones.count(consonant) for consonant in CONSONANTS)


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    for match in _TOKEN.finditer(text):
        first = end == 0 or bool(re.search(r"[.!?]", text[end : match.start()]))
        end = match.end()
        yield _Token(match[0], match.start(), end, first)


def _squash(span: list[_Token]) -> str:
    """The words without spaces and punctuation, numbers as digits; a separator that was spoken is left out."""
    made, number = "", ""
    for place, token in enumerate(span):
        if (digits := digits_of(token.plain)) is not None:
            number = together(number, digits) if number else digits
            continue
        made, number = made + number, ""
        if token.plain not in _SEPARATORS or place == 0:
            made += "".join(_parts(token.plain))
    return made + number


def _sounds(words: list[str], sounds_of: Callable[[str], str]) -> str:
    made, number = "", ""
    for word in words:
        if (digits := digits_of(word)) is not None:
            number = together(number, digits) if number else digits
            continue
        made, number = made + number, ""
        if word not in _SEPARATORS:
            made += "".join(part if part.isdigit() else sounds_of(part) for part in _parts(word))
    return made + number


def _parts(written: str) -> list[str]:
    """The pieces that are spoken one by one: "ORCHID-47" is "orchid" and "47", "snakeCase" is "snake" and "case"."""
    for symbol, spoken in _SYMBOLS:
        written = written.replace(symbol, spoken)
    return [part.lower() for part in _PARTS.findall(_OWNED.sub("", written).replace("'", "").replace("’", ""))]


def _inner_capital(written: str) -> bool:
    return any(word[1:] != word[1:].lower() for word in written.split())


def _forms(word: str) -> Iterator[str]:
    yield word
    for ending, stem in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            yield word[: -len(ending)] + stem
    yield word.replace("'s", "")
    yield word.replace("'", "")
    if "-" in word:
        yield word.replace("-", "")
