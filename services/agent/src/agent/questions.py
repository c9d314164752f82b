"""What kind of thing a question asks for, and whether a sentence holds one that the question does not.

"When was the valve fitted?" wants a date: a sentence without any does not answer it, however many words they share.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal

from chassis.language import Word, words

Kind = Literal["number", "date", "person", "place", "reason", "code", "thing"]

_ASKED: Final[dict[str, list[tuple[Kind, str]]]] = {
    "en": [
        (
            "number",
            r"\bhow (?:many|much|long|old|far|tall|large|big|high|fast|often|deep|wide|hot|cold|heavy)\b"
            r"|\bwhat (?:percentage|percent|proportion|fraction|number|amount)\b"
            r"|\bwhat (?:is|was|are|were) the (?:population|distance|length|height|width|weight|size|number|percentage"
            r"|amount|price|cost|limit|temperature|age)\b",
        ),
        ("date", r"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:years?|date|day|month|century|decade|time)\b"),
        (
            "code",
            r"\b(?:code|password|passphrase|pin|key|token|port|version|address|url|number|command|e-?mail|phone)\b[^?]*\?",
        ),
        (
            "person",
            r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|man|woman|king|queen|president|author|actor|player)\b",
        ),
        (
            "place",
            r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|location|region|town|area|county|room|street)\b",
        ),
        ("reason", r"\bwhy\b|\bwhat (?:caused|causes|reason)\b"),
    ],
    "de": [
        ("number", r"\bwie ?viele?\b|\bwie (?:lange?|alt|weit|groß|hoch|oft|tief|breit|schnell|teuer|schwer)\b"),
        ("date", r"\bwann\b|\b(?:welche[mnrs]?) (?:jahr|tag|datum|monat|jahrhundert)\b"),
        ("code", r"\b(?:code|passwort|kennwort|pin|schlüssel|port|version|adresse|nummer|befehl|telefon)\w*\b[^?]*\?"),
        ("person", r"\bwer\b|\bwem\b|\bwen\b|\bwessen\b"),
        ("place", r"\bwo\b|\bwoher\b|\bwohin\b|\bwelche[mnrs]? (?:stadt|land|ort|staat|region|raum|straße)\b"),
        ("reason", r"\bwarum\b|\bweshalb\b|\bwieso\b"),
    ],
    "zh": [
        ("number", "多少|几[个位次名年天]|多[长高大远久深]"),
        ("date", "什么时候|何时|哪[一]?[年天月]|几[月点号]"),
        ("code", "密码|代码|口令|版本|端口|电话|号码"),
        ("person", "谁"),
        ("place", "哪里|哪儿|何处|什么地方|哪个(?:国家|城市|州|省)"),
        ("reason", "为什么|为何|原因"),
    ],
}
_ASKING: Final = {
    "en": re.compile(r"\bhow (?:many|much|long|often|far)\b", re.IGNORECASE),
    "de": re.compile(
        r"\bwie ?(?:viele?[nmrs]?|lange?|oft|weit)\b"
        r"|\bwas (?:(?:soll|muss|kann|darf)(?:en|st|t)? (?:ich|man|wir|du|ihr) (?:tun|machen)|tun|ist zu tun)\b",
        re.IGNORECASE,
    ),
}
_NOUN: Final = {
    "en": re.compile(r"\b(?:which|what) ([^\W\d_]+)", re.IGNORECASE),
    "de": re.compile(r"\bwelche[mnrs]? ([^\W\d_]+)", re.IGNORECASE),
}
_HOW: Final = {
    "en": re.compile(
        r"\bhow (?:do|can|should|must|may|would) (?:i|we|you|one|someone)\b|\bhow to\b"
        r"|\bwhat (?:do|should|must|can) (?:i|we|you|one|someone) do\b|\bwhat to do\b|\bwhat is to be done\b",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"\bwie (?:kann|soll|muss|mache?|nehme|bekomme|öffne|starte|\w+e) (?:ich|man|wir)\b"
        r"|\bwas (?:tun|soll|muss|mache?|tue) ?(?:ich|man|wir)?\b|\bwas ist zu tun\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("怎么办|怎么|如何|怎样|该做什么"),
}
_ASKED_RE: Final[dict[str, list[tuple[Kind, re.Pattern[str]]]]] = {
    language: [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in rows]
    for language, rows in _ASKED.items()
}


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_DIGIT: Final = re.compile(r"\d")
_YEAR: Final = re.compile(r"\d{3,4}s?|\d{1,2}(?:st|nd|rd|th)?")
_NUMBERS: Final = _set(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty thirty"
    " forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion trillion"
    " half third quarter dozen once twice none zero first second"
    " zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend million millionen"
)
_MONTHS: Final = _set(
    "january february march april may june july august september october november december monday tuesday wednesday"
    " thursday friday saturday sunday januar februar märz mai juni juli oktober dezember montag dienstag mittwoch"
    " donnerstag freitag samstag sonntag"
)
_CHINESE_NUMBER: Final = re.compile("[一二三四五六七八九十百千万亿两零]")
_REASONS: Final = re.compile(
    r"\b(?:because|due|since|so that|in order|as a result|caused?|reasons?|to \w+|leads?|led|therefore|thus|for)\b"
    r"|\b(?:weil|da|denn|um|damit|wegen|deshalb|daher|aufgrund)\b|因为|由于|因此|为了|所以",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"\S*(?:\d\S*[A-Za-z\-_./:@]|[A-Za-z\-_./:@]\S*\d|[a-z][A-Z]|[@_/]|\w\.\w)\S*|\d{3,}")


def kind_of(question: str, language: str) -> Kind:
    """Tell what a question asks for; `thing` when nothing says more."""
    for kind, pattern in _ASKED_RE.get(language, ()):
        if pattern.search(question):
            return kind
    return "thing"


def asking(question: str, language: str) -> tuple[int, int]:
    """Give the span of the words that ask and carry no subject, as in "how many"; an empty one when there are none."""
    found = _ASKING.get(language)
    match = found.search(question) if found else None
    return match.span() if match else (0, 0)


def asked_noun(question: str, language: str) -> tuple[int, int]:
    """Give the span of the word after "which" or "what" that says what the answer is; an empty one when none does."""
    found = _NOUN.get(language)
    match = found.search(question) if found else None
    return match.span(1) if match else (0, 0)


def asks_how(question: str, language: str) -> bool:
    """Say whether a question asks what to do, so that what is to be done first belongs first."""
    found = _HOW.get(language)
    return bool(found and found.search(question))


def holds(kind: Kind, sentence: str, language: str, asked: Collection[str]) -> bool:
    """Say whether a sentence holds something of the kind beside the terms that were `asked`."""
    new = [(place, word) for place, word in enumerate(words(sentence, language)) if word.term not in asked]
    match kind:
        case "number":
            return any(_is_number(_raw(sentence, word)) for _, word in new)
        case "date":
            return any(_is_date(_raw(sentence, word)) for _, word in new)
        case "person" | "place":
            return language in ("zh", "ja", "ko") or any(
                _raw(sentence, word)[0].isupper() and not word.common and place > 0 for place, word in new
            )
        case "reason":
            return bool(_REASONS.search(sentence))
        case "code":
            return bool(_CODE.search(sentence)) or any(_is_number(_raw(sentence, word)) for _, word in new)
        case "thing":
            return any(not word.common for _, word in new)


def _raw(text: str, word: Word) -> str:
    return text[word.start : word.end]


def _is_number(word: str) -> bool:
    return bool(_DIGIT.search(word)) or word.lower() in _NUMBERS or bool(_CHINESE_NUMBER.search(word))


def _is_date(word: str) -> bool:
    return bool(_YEAR.fullmatch(word)) or word.lower() in _MONTHS or bool(_DIGIT.search(word))
