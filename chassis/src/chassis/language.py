"""Which language a text is in, and which of its words carry its subject.

Both are small, offline and the same everywhere: scripts and common words tell the language, Snowball finds the stem
of a word, and scripts without spaces are read in pairs of characters.
"""

import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final, Protocol

import snowballstemmer

__all__ = ["Word", "all_terms", "detect", "majority", "stop_words", "terms", "words"]

_STEMMERS: Final = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "it": "italian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

# Scripts that one language mostly owns; Latin and Cyrillic are told apart by their words, Han and kana together.
_SCRIPTS: Final = {
    "han": r"\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
    "kana": r"\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "ko": r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "cyrillic": r"\u0400-\u052f",
    "el": r"\u0370-\u03ff\u1f00-\u1fff",
    "ar": r"\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "he": r"\u0590-\u05ff",
    "hi": r"\u0900-\u097f",
    "ta": r"\u0b80-\u0bff",
    "th": r"\u0e00-\u0e7f",
    "hy": r"\u0530-\u058f",
    "latin": r"A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a",
}
_SCRIPT_RUNS: Final = {name: re.compile(f"[{characters}]+") for name, characters in _SCRIPTS.items()}
_WITHOUT_SPACES: Final = (
    _SCRIPTS["han"] + _SCRIPTS["kana"] + _SCRIPTS["th"] + r"\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
)

# Letters that few languages use; each that is found counts like a common word of them.
_LETTERS: Final = {
    "cs": "ěřůšč", "da": "åæø", "de": "ßäöü", "es": "ñ¿¡ü", "fi": "äö", "fr": "çêèùœ", "hu": "öüőű", "it": "èùò",
    "no": "åæø", "pl": "łąężść", "pt": "ãõçê", "ro": "ãșță", "sv": "äöå", "tr": "öüçğşı",
}  # fmt: skip

_LETTER_OWNERS: Final = Counter(letter for letters in _LETTERS.values() for letter in letters)

_WORD: Final = re.compile(
    rf"\d++(?:[.,]\d++)*+(?![^\W\d_{_WITHOUT_SPACES}])|[{_WITHOUT_SPACES}]+|[^\W_{_WITHOUT_SPACES}]+(?:['’][^\W\d_{_WITHOUT_SPACES}]+)*(?:\+\+|\#(?!\w))?"
)
_SPACELESS: Final = re.compile(f"[{_WITHOUT_SPACES}]")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 (the package's name)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: code points `[start, end)`, the folded stem it is compared by, and whether it is common."""

    start: int
    end: int
    term: str
    common: bool


@lru_cache(maxsize=1)
def _common_words() -> dict[str, frozenset[str]]:
    lines = resources.files("chassis").joinpath("stopwords.txt").read_text("utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return {language: frozenset(rest) for language, *rest in rows}


@lru_cache(maxsize=1)
def _weights() -> dict[str, tuple[tuple[str, float], ...]]:
    """What finding a word adds to each language that counts it among its own: less, the more languages do."""
    owners: dict[str, list[str]] = {}
    for language, members in _common_words().items():
        for word in members:
            owners.setdefault(word, []).append(language)
    return {word: tuple((language, 1 / len(found)) for language in found) for word, found in owners.items()}


def stop_words(language: str) -> frozenset[str]:
    """Give the common words of a language in lower case; none are known for scripts without spaces."""
    return _common_words().get(language, frozenset())


def detect(text: str, fallback: str = "en", limit: int = 4000) -> str:
    """Name the language of a text as an ISO 639-1 code, or `fallback` when the text gives no sign of one.

    Only the first `limit` characters are read. A question of a few names gives no sign: pass its corpus's language.
    """
    sample = text[:limit]
    letters = {name: sum(map(len, runs.findall(sample))) for name, runs in _SCRIPT_RUNS.items()}
    # A character of Han or kana says as much as two or three letters.
    letters["han"] *= 3
    letters["kana"] *= 3
    letters["ko"] *= 2
    script = max(letters, key=lambda name: letters[name])
    if not letters[script]:
        return fallback
    if script in ("han", "kana"):
        return "ja" if letters["kana"] > 0.1 * letters["han"] else "zh"
    if script == "ar":
        return "fa" if re.search("[پچژگک]", sample) else "ar"
    if script not in ("latin", "cyrillic"):
        return script
    if script == "cyrillic" and re.search("[іїєґ]", sample, re.IGNORECASE):
        return "uk"
    votes: defaultdict[str, float] = defaultdict(float)
    lowered = sample.lower()
    for word in re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", lowered):
        for language, weight in _weights().get(word.replace("’", "'"), ()):
            votes[language] += weight
    for language, letters_of_it in _LETTERS.items():
        for letter in letters_of_it:
            if found := lowered.count(letter):
                votes[language] += min(found, 5) / _LETTER_OWNERS[letter]
    if not votes:
        return "ru" if script == "cyrillic" else fallback
    best, score = max(votes.items(), key=lambda vote: (vote[1], vote[0] == fallback, vote[0]))
    return best if score > votes[fallback] * 1.25 else fallback


def majority(languages: Iterable[str], fallback: str = "en") -> str:
    """Name the language that most of a corpus's documents are in; ties go to the first in the alphabet."""
    counts = Counter(languages)
    return min(counts, key=lambda language: (-counts[language], language)) if counts else fallback


_local = threading.local()


@lru_cache(maxsize=200_000)
def _term(word: str, language: str) -> str:
    """Fold and stem one word; numbers lose the commas of their thousands."""
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    if _THOUSANDS.fullmatch(folded):
        return folded.replace(",", "")
    if folded.endswith("'s"):
        folded = folded[:-2]
    if language in _STEMMERS and not any(character.isdigit() for character in folded):
        stemmers: dict[str, _Stemmer] = _local.__dict__.setdefault("stemmers", {})
        if language not in stemmers:
            stemmers[language] = snowballstemmer.stemmer(_STEMMERS[language])
        folded = stemmers[language].stemWord(folded)
    return "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c)) or folded


def words(text: str, language: str) -> list[Word]:
    """Give the words of a text in order, with the term that each is compared by.

    A run of a script without spaces gives its overlapping pairs of characters, and a lone character itself.
    """
    common = stop_words(language)
    found: list[Word] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        if _SPACELESS.match(match[0]):
            step = 2 if end - start > 1 else 1
            found += [Word(at, at + step, text[at : at + step], False) for at in range(start, end - step + 1)]
            continue
        found.append(Word(start, end, _term(match[0], language), match[0].lower().replace("’", "'") in common))
    return found


def all_terms(text: str, language: str) -> list[str]:
    """Give the term of every word of a text in order: those of `words`, at a fraction of its cost."""
    if _SPACELESS.search(text):
        return [word.term for word in words(text, language)]
    return [_term(word, language) for word in _WORD.findall(text)]


def terms(text: str, language: str, keep: Callable[[Word], bool] | None = None) -> list[str]:
    """Give the terms of a text in order, common words left out unless nothing else is there."""
    found = words(text, language)
    kept = [word.term for word in found if not word.common and (keep is None or keep(word))]
    return kept or [word.term for word in found]
