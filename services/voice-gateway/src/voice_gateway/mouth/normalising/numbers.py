"""Numbers in words: cardinals, ordinals, decimals, years, fractions, and digits one by one."""

from __future__ import annotations

import re
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.rules import Rule

_DIGITS_AND_TEENS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ONES: Final = tuple(_DIGITS_AND_TEENS.split())
_TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_THOUSANDS: Final = ("", "thousand", "million", "billion", "trillion", "quadrillion")
_ORDINALS: Final = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_FRACTIONS: Final = {2: ("half", "halves"), 3: ("third", "thirds"), 4: ("quarter", "quarters")}

NUMBER: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
"""A number as English writes it, to be put into a group of a pattern."""


def digits(text: str) -> str:
    """Each digit by itself."""
    return " ".join(_ONES[int(digit)] for digit in text if digit in "0123456789")


def cardinal(number: int) -> str:
    """A whole number: 1247 is "one thousand two hundred forty-seven"; past quadrillions, its digits."""
    if number < 0:
        return f"minus {cardinal(-number)}"
    if number < 20:
        return _ONES[number]
    if number < 100:
        ones = f"-{_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10] + ones
    if number < 1000:
        rest = f" {cardinal(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    if number >= 1000 ** len(_THOUSANDS):
        return digits(str(number))
    said: list[str] = []
    for name in _THOUSANDS:
        number, group = divmod(number, 1000)
        if group:
            said.insert(0, f"{cardinal(group)} {name}".strip())
    return " ".join(said)


def ordinal(number: int) -> str:
    """A whole number as a place in a row: 21 is "twenty-first"."""
    head, separator, last = _split_last(cardinal(number))
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    last = _ORDINALS.get(last, regular)
    return f"{head}{separator}{last}"


def _split_last(words: str) -> tuple[str, str, str]:
    place = max(words.rfind(" "), words.rfind("-"))
    return (words[:place], words[place], words[place + 1 :]) if place >= 0 else ("", "", words)


def number(text: str) -> str:
    """A number as it is written, with commas and a decimal point: "3.05" is "three point zero five"."""
    whole, point, fraction = text.replace(",", "").partition(".")
    if len(whole) > 1 and whole.startswith("0"):
        spoken = digits(whole)
    else:
        spoken = cardinal(int(whole)) if len(whole) <= 18 else digits(whole)
    return f"{spoken} point {digits(fraction)}" if point and fraction else spoken


def year(value: int) -> str:
    """A year: 1984 is "nineteen eighty-four", 2005 "two thousand five", 2026 "twenty twenty-six"."""
    century, rest = divmod(value, 100)
    if not 1100 <= value <= 2099 or 2000 <= value <= 2009:
        return cardinal(value)
    if not rest:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {f'oh {_ONES[rest]}' if rest < 10 else cardinal(rest)}"


def pairs(text: str) -> str:
    """Four digits as people read codes and sizes: 8601 is "eighty-six oh one", 1080 "ten eighty", 4000 a cardinal."""
    if len(text) != 4 or text[0] == "0" or text.endswith("000"):
        return number(text) if len(text) <= 4 else digits(text)
    first, rest = cardinal(int(text[:2])), int(text[2:])
    return f"{first} {cardinal(rest) if rest > 9 else f'oh {_ONES[rest]}' if rest else 'hundred'}"


def fraction(above: int, below: int) -> str:
    """A fraction: 3/4 is "three quarters"."""
    one, many = _FRACTIONS.get(below, (ordinal(below), f"{ordinal(below)}s"))
    return f"{cardinal(above)} {one if above == 1 else many}"


def is_one(text: str) -> bool:
    """Whether what follows the number stands in the singular."""
    return text in ("1", "-1", "1.0")


def _ordinal(match: Match[str]) -> str:
    return ordinal(int(match["number"]))


def _decade(match: Match[str]) -> str:
    decade = int(match["decade"])
    tens = cardinal(decade % 100 or 10) if decade % 100 else "hundred"
    century = f"{cardinal(decade // 100)} " if decade >= 100 else ""
    return century + (f"{tens[:-1]}ies" if tens.endswith("y") else f"{tens}s")


def _fraction(match: Match[str]) -> str | None:
    above, below = int(match["above"]), int(match["below"])
    if below not in (2, 3, 4, 5, 6, 8, 10, 16) or above >= below:
        return None
    return fraction(above, below)


def _phone(match: Match[str]) -> str:
    groups = [digits(group) for group in re.findall(r"\d+", match[0])]
    return f"{'plus ' if match[0].startswith('+') else ''}{', '.join(groups)}"


def _plain(match: Match[str]) -> str:
    text = match["number"]
    sign = "minus " if match["sign"] else ""
    if len(text) == 4 and text.isdigit() and 1900 <= int(text) <= 2099 and not sign:
        return year(int(text))
    return sign + number(text)


IN_ORDER: Final[tuple[Rule, ...]] = (
    (re.compile(r"(?<![\w.])(?P<number>\d{1,9})(?:st|nd|rd|th)\b"), _ordinal),
    (re.compile(r"(?<![\w.])(?P<decade>(?:1[1-9]|20)?\d0)['’]?s\b"), _decade),
)
"""Ordinals and decades."""

TELEPHONES: Final[tuple[Rule, ...]] = (
    (re.compile(r"\+\d{1,3}(?:[ -]?\(?\d{1,4}\)?){2,6}(?![\w.])"), _phone),
    (re.compile(r"(?<!\w)\(?\d{3}\)?[ -]\d{3}-\d{4}(?!\w)|(?<![\w-])\d{3}-\d{4}(?![\w-])"), _phone),
)

RULES: Final[tuple[Rule, ...]] = (
    (re.compile(r"(?<![\w./])(?P<above>\d{1,2})/(?P<below>\d{1,2})(?![\w/]|\.\d)"), _fraction),
    (re.compile(rf"(?P<sign>(?<![\w)])[-−–](?=\d))?(?P<number>{NUMBER})(?![^\W_])"), _plain),
)
"""Fractions, and any other number by itself."""
