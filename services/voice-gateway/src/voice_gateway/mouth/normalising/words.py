"""Abbreviations written out, and the few places where a Roman numeral is one."""

from __future__ import annotations

import re
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.numbers import cardinal, ordinal
from voice_gateway.mouth.normalising.rules import Rule

_ABBREVIATIONS: Final = {
    "Dr.": "Doctor", "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Prof.": "Professor", "St.": "Saint",
    "Jr.": "Junior", "Sr.": "Senior", "e.g.": "for example", "E.g.": "For example", "i.e.": "that is",
    "I.e.": "That is", "eg.": "for example", "ie.": "that is", "etc.": "et cetera", "vs.": "versus", "vs": "versus",
    "approx.": "approximately", "Approx.": "Approximately", "ca.": "about", "cf.": "compare", "et al.": "and others",
    "incl.": "including", "excl.": "excluding", "max.": "maximum", "min.": "minimum", "avg.": "average",
    "dept.": "department", "est.": "estimated", "tel.": "telephone", "Tel.": "Telephone", "ext.": "extension",
    "fig.": "figure", "Fig.": "Figure", "figs.": "figures", "eq.": "equation", "vol.": "volume", "Vol.": "Volume",
    "ch.": "chapter", "sec.": "section", "Inc.": "Incorporated", "Ltd.": "Limited", "Corp.": "Corporation",
    "Co.": "Company", "a.m.": "A M", "p.m.": "P M", "b.c.": "B C", "Ph.D.": "P H D", "aka": "also known as",
    "a.k.a.": "also known as", "asap": "as soon as possible", "ASAP": "as soon as possible", "TL;DR": "in short",
}  # fmt: skip
_ENDS_SENTENCES: Final = frozenset({"etc.", "Inc.", "Ltd.", "Corp.", "Co.", "a.m.", "p.m.", "Jr.", "Sr.", "et al."})
_BEFORE_NUMBERS: Final = {
    "No.": "number", "no.": "number", "Nr.": "number", "Nos.": "numbers", "p.": "page", "pp.": "pages", "§": "section",
    "#": "number", "v.": "version", "art.": "article", "Art.": "Article",
}  # fmt: skip
_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50}


def _roman(text: str) -> int:
    values = [_ROMAN[letter] for letter in text]
    return sum(
        -value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _abbreviation(match: Match[str]) -> str:
    written = match["written"]
    said = _ABBREVIATIONS[written]
    # Its full stop is the sentence's too when nothing, or a capital, follows.
    over = re.match(r"\s*$|\s+[A-Z]", match.string[match.end() :])
    return f"{said}." if written in _ENDS_SENTENCES and written.endswith(".") and over else said


def _initials(match: Match[str]) -> str:
    over = re.match(r"\s*$", match.string[match.end() :])
    return " ".join(letter.upper() for letter in match[0] if letter.isalpha()) + ("." if over else "")


def _before_number(match: Match[str]) -> str:
    return _BEFORE_NUMBERS[match["written"]]


def _counted(match: Match[str]) -> str:
    return f"{match['what']} {cardinal(_roman(match['roman']))}"


def _king(match: Match[str]) -> str:
    return f"{match['name']} the {ordinal(_roman(match['roman']))}"


_WORDS: Final = "|".join(re.escape(word) for word in sorted(_ABBREVIATIONS, key=len, reverse=True))
_NUMBERED: Final = "|".join(re.escape(word) for word in sorted(_BEFORE_NUMBERS, key=len, reverse=True))
_THINGS: Final = "Chapter|Part|Volume|Book|Act|Scene|Phase|Appendix|Section|Article|Type|Class|Stage|Level|Title|War"
_KINGS: Final = "Henry|Louis|Charles|George|Edward|Richard|William|James|Elizabeth|John Paul|Pius|Benedict|Napoleon"
RULES: Final[tuple[Rule, ...]] = (
    (re.compile(rf"(?<![\w.])(?P<written>{_WORDS})(?!\w)"), _abbreviation),
    (re.compile(rf"(?<![\w.])(?P<written>{_NUMBERED})\s?(?=\d)"), _before_number),
    (
        re.compile(
            rf"(?<!\w)(?P<what>{_THINGS}|{_THINGS.lower()}) (?P<roman>(?=[IVXL])X{{0,3}}(?:IX|IV|V?I{{0,3}}))(?!\w)"
        ),
        _counted,
    ),
    (
        re.compile(rf"(?<!\w)(?P<name>{_KINGS}) (?P<roman>(?=[IVX]{{2}}|V\b|X\b)X{{0,3}}(?:IX|IV|V?I{{0,3}}))(?!\w)"),
        _king,
    ),
    (re.compile(r"(?<![\w.])(?:[^\W\d_]\.){2,}"), _initials),
    (re.compile(r"(?<![\w.])[A-Z]\.(?=\s[A-Z])"), lambda match: match[0][0]),
)
"""Abbreviations, "No. 5", "Chapter IV", "Henry VIII", and initials such as U.S."""
