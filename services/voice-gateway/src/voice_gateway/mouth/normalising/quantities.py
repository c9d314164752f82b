"""Amounts: money, percentages, ranges, and numbers with a unit."""

from __future__ import annotations

import re
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.numbers import NUMBER, is_one, number, pairs, year
from voice_gateway.mouth.normalising.rules import Rule

_CURRENCIES: Final = {
    "$": ("dollar", "dollars", "cents"), "€": ("euro", "euros", "cents"), "£": ("pound", "pounds", "pence"),
    "¥": ("yen", "yen", "sen"), "₹": ("rupee", "rupees", "paise"), "USD": ("U S dollar", "U S dollars", "cents"),
    "EUR": ("euro", "euros", "cents"), "GBP": ("pound", "pounds", "pence"),
    "CHF": ("Swiss franc", "Swiss francs", "rappen"),
}  # fmt: skip
_SCALES: Final = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "bn": "billion", "B": "billion",
    "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
}  # fmt: skip
_MONEY: Final = "|".join(re.escape(name) for name in _CURRENCIES)

# A unit is its name in the singular; the plural adds an s, unless it is given after a stroke.
_UNITS: Final = {
    "nm": "nanometer", "µm": "micrometer", "μm": "micrometer", "mm": "millimeter", "cm": "centimeter", "m": "meter",
    "km": "kilometer", "ft": "foot/feet", "yd": "yard", "mi": "mile", "mm²": "square millimeter",
    "cm²": "square centimeter", "m²": "square meter", "km²": "square kilometer", "m³": "cubic meter",
    "cm³": "cubic centimeter", "ha": "hectare", "µg": "microgram", "mg": "milligram", "g": "gram", "kg": "kilogram",
    "t": "ton", "lb": "pound", "lbs": "pound", "oz": "ounce", "ml": "milliliter", "mL": "milliliter",
    "cl": "centiliter", "dl": "deciliter", "l": "liter", "L": "liter", "hl": "hectoliter", "gal": "gallon",
    "°C": "degree Celsius/degrees Celsius", "°F": "degree Fahrenheit/degrees Fahrenheit", "°": "degree",
    "ns": "nanosecond", "µs": "microsecond", "μs": "microsecond", "ms": "millisecond", "s": "second", "sec": "second",
    "min": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "bit": "bit", "kbit": "kilobit", "Mbit": "megabit",
    "Gbit": "gigabit", "kB": "kilobyte", "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte",
    "PB": "petabyte", "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "TiB": "tebibyte",
    "kbps": "kilobit per second/kilobits per second", "Mbps": "megabit per second/megabits per second",
    "Gbps": "gigabit per second/gigabits per second", "km/h": "kilometer per hour/kilometers per hour",
    "kph": "kilometer per hour/kilometers per hour", "mph": "mile per hour/miles per hour",
    "m/s": "meter per second/meters per second", "MB/s": "megabyte per second/megabytes per second",
    "GB/s": "gigabyte per second/gigabytes per second", "kB/s": "kilobyte per second/kilobytes per second",
    "l/min": "liter per minute/liters per minute", "l/h": "liter per hour/liters per hour", "Hz": "hertz/hertz",
    "kHz": "kilohertz/kilohertz", "MHz": "megahertz/megahertz", "GHz": "gigahertz/gigahertz", "mW": "milliwatt",
    "W": "watt", "kW": "kilowatt", "MW": "megawatt", "Wh": "watt hour", "kWh": "kilowatt hour", "MWh": "megawatt hour",
    "mV": "millivolt", "V": "volt", "kV": "kilovolt", "mA": "milliamp", "mAh": "milliamp hour", "Ah": "amp hour",
    "Ω": "ohm", "kΩ": "kiloohm", "J": "joule", "kJ": "kilojoule", "kcal": "kilocalorie", "N": "newton", "Pa": "pascal",
    "hPa": "hectopascal", "kPa": "kilopascal", "bar": "bar", "mbar": "millibar", "psi": "P S I/P S I",
    "dB": "decibel", "dBA": "decibel", "px": "pixel", "rpm": "R P M/R P M", "fps": "frame per second/frames per second",
    "ppm": "part per million/parts per million", "lx": "lux/lux", "lm": "lumen", "‰": "per mille/per mille",
    "%": "percent/percent",
}  # fmt: skip
_UNIT: Final = "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))
_NUMBER: Final = rf"(?P<sign>(?<![\w)])[-−–+±](?=\d))?(?P<number>{NUMBER})"
_SIGNS: Final = {"-": "minus ", "−": "minus ", "–": "minus ", "+": "plus ", "±": "plus or minus ", None: ""}


def _unit(name: str, *, one: bool) -> str:
    singular, stroke, plural = _UNITS[name].partition("/")
    return singular if one else plural if stroke else f"{singular}s"


def _quantity(match: Match[str]) -> str:
    return f"{_SIGNS[match['sign']]}{number(match['number'])} {_unit(match['unit'], one=is_one(match['number']))}"


def _range(match: Match[str]) -> str | None:
    first, last = match["first"], match["last"]
    unit, scale = match["unit"], match["percent"]
    if match["dash"] == "-" and not (unit or scale) and float(first.replace(",", "")) >= float(last.replace(",", "")):
        return None
    years = not unit and all(text.isdigit() and 1900 <= int(text) <= 2099 for text in (first, last))
    said = f"{year(int(first))} to {year(int(last))}" if years else f"{number(first)} to {number(last)}"
    return f"{said} {_unit(unit or scale, one=False)}" if unit or scale else said


def _size(match: Match[str]) -> str:
    sides = [pairs(side) if side.isdigit() else number(side) for side in re.findall(NUMBER, match["sides"])]
    return " by ".join(sides) + (f" {_unit(match['unit'], one=False)}" if match["unit"] else "")


def _money(match: Match[str]) -> str:
    amount, scale = match["number"], match["scale"]
    one, many, cents = _CURRENCIES[match["currency"]]
    sign = "minus " if match["sign"] else ""
    if scale:
        return f"{sign}{number(amount)} {_SCALES[scale.strip()]} {many}"
    whole, _, fraction = amount.partition(".")
    if len(fraction) == 2:
        said = f"{number(whole)} {one if is_one(whole) else many}"
        if int(fraction):
            small = cents if int(fraction) != 1 else cents.removesuffix("s")
            said = (
                f"{said} and {number(str(int(fraction)))} {small}"
                if int(whole.replace(",", ""))
                else f"{number(str(int(fraction)))} {small}"
            )
        return sign + said
    return f"{sign}{number(amount)} {one if is_one(amount) else many}"


def _scaled(match: Match[str]) -> str:
    return f"{number(match['number'])} {_SCALES[match['scale']]}"


_SCALE: Final = r"(?P<scale>\s?(?:thousand|million|billion|trillion)\b|(?:bn|[kKmMB])\b)"
RULES: Final[tuple[Rule, ...]] = (
    (re.compile(rf"(?<!\w)(?P<sign>[-−])?(?P<currency>{_MONEY})\s?(?P<number>{NUMBER})(?!\d){_SCALE}?"), _money),
    (
        re.compile(rf"(?P<sign>(?<!\w)[-−])?(?<![\w.])(?P<number>{NUMBER}){_SCALE}?\s?(?P<currency>{_MONEY})(?!\w)"),
        _money,
    ),
    (
        re.compile(
            rf"(?<![\w.-])(?P<first>{NUMBER})\s?(?P<dash>[-–—])\s?(?P<last>{NUMBER})(?:\s?(?P<percent>%)|\s?(?P<unit>{_UNIT}))?(?![\w-]|[.,:/]\d)"
        ),
        _range,
    ),
    (
        re.compile(rf"(?<![\w.])(?P<sides>(?:{NUMBER})(?:\s?[x×]\s?(?:{NUMBER}))+)(?:\s?(?P<unit>{_UNIT}))?(?![\w-])"),
        _size,
    ),
    (re.compile(rf"{_NUMBER}(?:\s|-(?=[a-z]))?(?P<unit>{_UNIT})(?![\w²³°]|/\w|['’]\w)"), _quantity),
    (re.compile(rf"(?<![\w.])(?P<number>{NUMBER})(?P<scale>bn|[kKM])(?!\w)"), _scaled),
)
"""Money, ranges, sizes, and numbers with a unit, `2 kB` as well as `5-mm`."""
