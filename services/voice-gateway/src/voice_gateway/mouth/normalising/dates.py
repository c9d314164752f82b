"""Dates and times of day in words."""

from __future__ import annotations

import re
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.numbers import cardinal, ordinal, year
from voice_gateway.mouth.normalising.rules import Rule

_NAMES: Final = "January February March April May June July August September October November December"
MONTHS: Final = tuple(_NAMES.split())
_SHORT: Final = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
_MONTH: Final = rf"(?P<month>{'|'.join(MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
_CLOCK: Final = r"(?P<hour>[01]?\d|2[0-4])[:.](?P<minute>[0-5]\d)"


def _day(month: int, day: int) -> str | None:
    return f"{MONTHS[month - 1]} {ordinal(day)}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _iso(match: Match[str]) -> str | None:
    day = _day(int(match["month"]), int(match["day"]))
    if day is None:
        return None
    time = f" at {clock(int(match['hour']), int(match['minute']))}" if match["hour"] else ""
    return f"{day}, {year(int(match['year']))}{time}{' U T C' if match['zone'] == 'Z' else ''}"


def _slashed(match: Match[str]) -> str | None:
    first, second = int(match["first"]), int(match["second"])
    month, day = (second, first) if first > 12 else (first, second)
    said = _day(month, day)
    return f"{said}, {year(int(match['year']))}" if said else None


def _month(match: Match[str]) -> int:
    return _SHORT[match["month"].rstrip(".")[:3].lower()]


def _day_first(match: Match[str]) -> str | None:
    if not 1 <= int(match["day"]) <= 31:
        return None
    after = f", {year(int(match['year']))}" if match["year"] else ""
    article = "" if match["the"] else "the "
    return f"{match['the'] or ''}{article}{ordinal(int(match['day']))} of {MONTHS[_month(match) - 1]}{after}"


def _month_first(match: Match[str]) -> str | None:
    day = _day(_month(match), int(match["day"]))
    return (f"{day}, {year(int(match['year']))}" if match["year"] else day) if day else None


def _month_year(match: Match[str]) -> str:
    return f"{MONTHS[_month(match) - 1]} {year(int(match['year']))}"


def clock(hour: int, minute: int) -> str:
    """A time of day: 6:10 is "six ten", 10:05 "ten oh five", 7:00 "seven o'clock", 14:00 "fourteen hundred"."""
    if minute:
        return f"{cardinal(hour)} {f'oh {cardinal(minute)}' if minute < 10 else cardinal(minute)}"
    if hour == 0:
        return "midnight"
    return f"{cardinal(hour)} o'clock" if hour <= 12 else f"{cardinal(hour)} hundred"


def _clock(match: Match[str]) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    half = match["half"]
    if half:
        said = cardinal(hour) if not minute else clock(hour, minute)
        return f"{said} {half[0].upper()} M"
    return clock(hour, minute)


def _hour(match: Match[str]) -> str:
    return f"{cardinal(int(match['hour']))} {match['half'][0].upper()} M"


def _seconds(match: Match[str]) -> str:
    hour, minute, second = (int(match[name]) for name in ("hour", "minute", "second"))
    return f"{clock(hour, minute)} and {cardinal(second)} second{'' if second == 1 else 's'}"


_HALF: Final = r"(?P<half>[aApP]\.?[mM]\b\.?)"
RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
            r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::\d\d(?:\.\d+)?)?(?P<zone>Z)?)?(?![\w-])"
        ),
        _iso,
    ),
    (re.compile(r"(?<![\w/])(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})(?![\w/])"), _slashed),
    (
        re.compile(
            rf"(?<!\w)(?P<the>the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}"
            r"(?:,? (?P<year>\d{4})\b)?(?!\w)"
        ),
        _day_first,
    ),
    (
        re.compile(rf"(?<!\w){_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|\.\d)(?:, (?P<year>\d{{4}})\b)?"),
        _month_first,
    ),
    (re.compile(rf"(?<!\w){_MONTH} (?P<year>1[1-9]\d\d|20\d\d)(?!\w|[.,]\d)"), _month_year),
    (re.compile(r"(?<![\w:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d)(?![\w:])"), _seconds),
    (re.compile(rf"(?<![\w:.])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?![\w:])(?:\s?{_HALF})?"), _clock),
    (re.compile(rf"(?<![\w:.])(?P<hour>1[0-2]|[1-9])\s?{_HALF}"), _hour),
)
"""ISO dates, dates by name, and times of day."""
