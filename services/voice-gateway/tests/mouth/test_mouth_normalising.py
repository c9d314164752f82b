"""Text as it is read aloud."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from voice_gateway.mouth.normalising import normalised

CASES = {
    "numbers": [
        ("100,000 people", "one hundred thousand people"),
        ("3.14", "three point one four"),
        ("007", "zero zero seven"),
        ("12345678901234567890", "one two three four five six seven eight nine zero one two three four five six seven"),
        ("1,247", "one thousand two hundred forty-seven"),
        ("0", "zero"),
        ("1/2 cup, 3/4", "one half cup , three quarters"),
        ("the 1st, 22nd, 30th", "the first , twenty-second , thirtieth"),
        ("#5 and No. 12", "number five and number twelve"),
        ("10k and 3.5M", "ten thousand and three point five million"),
    ],
    "dates and times": [
        ("2026-05-02", "May second, twenty twenty-six"),
        ("2026-05-02T09:30:00Z", "May second, twenty twenty-six at nine thirty U T C"),
        ("May 2, 2026", "May second, twenty twenty-six"),
        ("on 2 May", "on the second of May"),
        ("12/25/2026", "December twenty-fifth, twenty twenty-six"),
        ("in 1984, 2005 and 2026", "in nineteen eighty-four , two thousand five and twenty twenty-six"),
        ("the 1990s", "the nineteen nineties"),
        ("06:10", "six ten"),
        ("10:05", "ten oh five"),
        ("7:00", "seven o'clock"),
        ("19:30", "nineteen thirty"),
        ("7:30 pm", "seven thirty P M"),
        ("9am", "nine A M"),
    ],
    "quantities": [
        ("5 mm", "five millimeters"),
        ("1 km", "one kilometer"),
        ("21 °C", "twenty-one degrees Celsius"),
        ("-5°C", "minus five degrees Celsius"),
        ("80 km/h", "eighty kilometers per hour"),
        ("256 kB", "two hundred fifty-six kilobytes"),
        ("16GB", "sixteen gigabytes"),
        ("5%", "five percent"),
        ("10–20%", "ten to twenty percent"),
        ("3-5 minutes", "three to five minutes"),
        ("2019–2021", "twenty nineteen to twenty twenty-one"),
        ("1920x1080", "nineteen twenty by ten eighty"),
        ("$5", "five dollars"),
        ("$5.50", "five dollars and fifty cents"),
        ("€3 million", "three million euros"),
        ("£1", "one pound"),
        ("20 CHF", "twenty Swiss francs"),
        ("±0.5 V", "plus or minus zero point five volts"),
        ("5 in total", "five in total"),
    ],
    "names": [
        ("v3.2.1", "version three point two point one"),
        ("version 2.0.10", "version two point zero point ten"),
        ("valves.md", "valves dot M D"),
        ("package.json", "package dot jason"),
        (".env", "dot env"),
        ("poetry.lock", "poetry dot lock"),
        ("services/web/src", "services slash web slash src"),
        ("/etc/hosts", "slash etc slash hosts"),
        ("~/notes/today.md", "notes slash today dot M D"),
        ("https://example.com/docs", "example dot com slash docs"),
        ("https://www.example.org:8080/?q=1#x", "example dot org port eight zero eight zero"),
        ("write to a.b@example.org", "write to a dot B at example dot org"),
        ("snake_case", "snake case"),
        ("camelCase", "camel Case"),
        ("C#", "C sharp"),
        ("C++", "C plus plus"),
        (".NET", "dot net"),
        ("ORCHID-47", "ORCHID forty-seven"),
        ("ISO-8601", "ISO eighty-six oh one"),
        ("a3f9c2", "A three F nine C two"),
        ("--last 1", "dash dash last one"),
        ("main()", "main"),
        ("McDonald", "McDonald"),
        ("192.168.0.1", "one hundred ninety-two point one hundred sixty-eight point zero point one"),
        ("555-0123", "five five five, zero one two three"),
        ("+41 44 668 18 00", "plus four one, four four, six six eight, one eight, zero zero"),
    ],
    "words": [
        ("Dr. Lee", "Doctor Lee"),
        ("e.g. this", "for example this"),
        ("approx. 5", "approximately five"),
        ("and so on, etc.", "and so on , et cetera."),
        ("the U.S. and", "the U S and"),
        ("J. R. Smith", "J R Smith"),
        ("Chapter IV", "Chapter four"),
        ("Henry VIII", "Henry the eighth"),
        ("I see", "I see"),
        ("it's don't", "it's don't"),
    ],
    "signs": [
        ("A → B", "A to B"),
        ("x ≤ 5 & y = 3", "x at most five and y equals three"),
        ("2 * 3", "two times three"),
        ("and/or", "and or"),
        ("done 😀 now", "done now"),
        ("a\x00b\u200bc", "a b c"),
        ("(really)", ", really ,"),
        ("5 µm of α", "five micrometers of alpha"),
        ("你好，世界。", "text in Chinese, on the page."),
        ("the word 日本の is", "the word text in Japanese, on the page is"),
        ("", ""),
        ("😀 🎉", ""),
    ],
}


def spoken(text: str) -> str:
    return " ".join(part.spoken for part in normalised(text))


@pytest.mark.parametrize(("written", "said"), [case for kind in CASES.values() for case in kind])
def test_it_is_read_as_a_person_would(written: str, said: str) -> None:
    result = spoken(written)
    assert result == said or (len(said) > 80 and result.startswith(said)), result


@settings(deadline=None)
@given(text=st.text(max_size=200))
@example(text="1.2.3-" * 30)
@example(text="a/" * 60 + "." * 60)
@example(text="°²³½€$#@!^&*()_+-=[]{}|;':\",./<>?`~")
@example(text="٣ ४ ５ Ⅷ ① ² ꭧ ǅ")
def test_any_text_can_be_read_and_only_words_and_marks_are_said(text: str) -> None:
    parts = normalised(text)
    assert all(0 <= part.start < part.end <= len(text) for part in parts)
    assert [part.start for part in parts] == sorted(part.start for part in parts)
    assert not re.search(r"[0-9_/\\@#<>{}\[\]()*&%=|~^]", spoken(text)), spoken(text)


@settings(deadline=None)
@given(text=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 .,/:_%$-]{0,40}", fullmatch=True))
def test_words_and_numbers_are_never_lost(text: str) -> None:
    assert re.search(r"[A-Za-z]", spoken(text))


@pytest.mark.parametrize("text", [mark * 9_000 for mark in ("a", "1", "a-", "1.", "/a", "@")])
def test_a_long_text_without_spaces_is_read_in_bounded_work(text: str) -> None:
    assert normalised(text)
