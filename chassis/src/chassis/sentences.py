"""Where sentences begin and end in a text, in many languages, without a model.

A sentence is what a person would quote: it ends at a full stop that is not part of an abbreviation, a number, a
version or an address; and also at a blank line, a list item, a heading, a table row or a line of code, which need no
full stop.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["sentence_spans"]

_CLOSERS: Final = "\"'”’»›)]}*_`」』）】》〉＂＇｣"
_OPENERS: Final = "\"'“‘„‚«‹([{*_`「『（【《〈¿¡–—-"

# Full stops of scripts without spaces end a sentence wherever they stand; those of the others need a space or the end.
_AFTER_STOP: Final = rf"[{re.escape(_CLOSERS)}]*(?:[ \t]?\[\d{{1,3}}\])*"
_ENDS: Final = re.compile(rf"[。！？｡．]+{_AFTER_STOP}|[.!?…؟۔।॥։።]+{_AFTER_STOP}(?=\s|$)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_OWN_LINE: Final = re.compile(
    r"""\s*(?:
        [-*+•‣◦]\s            # a bullet
      | \d{1,4}[.)]\s         # a number of a list
      | [a-zA-Z][)]\s         # a letter of a list
      | \#{1,6}\s             # a heading
      | \|                    # a table row
      | >\s*[-*+]\s           # a list in a quotation
      | \[[ xX]\]\s           # a task
    )""",
    re.VERBOSE,
)
_WHOLE_LINE: Final = re.compile(r"\s*(?:\#{1,6}\s|\|)|.*\S\s*\|\s*\S.*\|\s*$|.*(?:[ ]{2,}|\\)$")
_MARKER: Final = re.compile(r"\s*(?:>\s*)*(?:[-*+•‣◦]|\d{1,4}[.)]|[a-zA-Z][)]|\#{1,6}|\[[ xX]\])\s+")

# Lower case, without the last full stop. A name or a number follows those of the first group, so they end nothing.
_TITLES: Final = _words(
    "mr mrs ms dr prof st sr jr rev gen col lt sgt capt cmdr maj adm hon gov sen rep pres messrs mmes mme mlle m "
    "fr hr hrn frl dipl ing mag bzw vgl ca z.b u.a d.h s.o s.u z.t i.d.r u.u o.ä hl nr art abs abb bd kap str tel "
    "geb gest ff fig figs eq eqs no nos vol vols ch chap sec sect p pp pg vs cf e.g i.e eg ie viz al ed eds trans "
    "approx est sra sres dña ud uds núm pág págs av avda ej p.ej sig sigg dott pag cap tav n dhr mevr drs nl bijv"
)
# Those of the second may end one: they do when a capital follows.
_MAYBE: Final = _words(
    "etc inc ltd co corp plc bros jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun "
    "a.m p.m am pm u.s u.k u.n e.u d.c b.c a.d b.c.e c.e usw usf u.s.a ph.d m.d b.a m.a u.s.s.r min max std hrs "
    "dept univ ave blvd"
)
_COMMON_STARTS: Final = _words(
    "the a an this that these those it its he she they we i you in on at by for from to as if when while after "
    "before but and or so there here his her their our my your what who where why how however although because "
    "during since with under over each all some der die das ein eine es er sie wir ich im in am um auf bei nach "
    "vor als wenn aber und oder so dort hier dies diese dieser dieses le la les un une il elle ils el los las una "
    "en al por para pero y o como cuando lo gli nel nella"
)
# These end nothing when a number follows them.
_BEFORE_NUMBERS: Final = _words("ext extn tel fax apt rm durchw zi whg hsnr inkl incl excl exkl zzgl min max")
_LONGEST_BRACKET: Final = 80
"""In code points: a round bracket that closes within it, on its line, is part of the sentence around it."""
_MONTHS_AND_ORDINALS: Final = _words(
    "januar jänner februar feber märz april mai juni juli august september oktober november dezember jahrhundert "
    "jahrhunderts jahrtausend auflage platz mal klasse kapitel tag woche monat jahr stock rang lebensjahr jh jhd "
    "januari februari maart mei augustus december"
)
_WORD_BEFORE: Final = re.compile(r"[^\s\"'“”‘’«»()\[\]{}/,;:—–]+$")
_CODE: Final = re.compile(r"[a-z][\w-]*(?:\.[a-z]|_\w|\(\))")
_WORD_AFTER: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Give the sentences of a text as spans `[start, end)` in code points, in order, never overlapping.

    Spans begin and end at a character that is not white space, so only white space lies between them, and every other
    character of the text lies in exactly one. A line break inside a wrapped paragraph does not end a sentence.
    """
    return [span for first, last in _blocks(text) for span in _split(text, first, last)]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Cut the text where its lines say so: blank lines, list items, headings, table rows, lines of code."""
    start: int | None = None
    fence = ""
    position = 0
    for line in text.splitlines(keepends=True):
        first, position = position, position + len(line)
        body = line.rstrip()
        mark = _FENCE.match(body)
        if fence or mark:
            if start is not None:
                yield start, first
                start = None
            if body:
                yield first, position
            if mark:
                fence = "" if fence and body.strip().startswith(fence) else fence or mark[1]
            continue
        if start is not None and (not body or _OWN_LINE.match(body)):
            yield start, first
            start = None
        if body and start is None:
            start = first
        if start is not None and _WHOLE_LINE.match(line.rstrip("\r\n")):
            yield start, position
            start = None
    if start is not None:
        yield start, position


def _split(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut one block at its full stops."""
    marker = _MARKER.match(text, first, last)
    start = first
    for end in _ENDS.finditer(text, marker.end() if marker else first, last):
        if _is_end(text, first, last, end) and not _in_bracket(text, first, last, end.end()):
            yield from _trim(text, start, end.end())
            start = end.end()
    yield from _trim(text, start, last)


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _is_end(text: str, first: int, last: int, stop: re.Match[str]) -> bool:
    """Say whether the full stop ends a sentence, from the word before it and the word after it."""
    if stop[0][0] in "。！？｡．":
        return stop[0][0] != "．" or not text[stop.end() : stop.end() + 1].isdigit()
    after = stop.end()
    while after < last and (text[after].isspace() or text[after] in _OPENERS):
        after += 1
    if after >= last:
        return True
    following = text[after]
    # "Yahoo! is", "e.g. this", "the U.S. and": a sentence does not begin small, unless with a name such as iPhone, or
    # with code, which is written as it is: "Commit it. poetry.lock belongs to the project."
    small_on_purpose = stop[0][0] != "…" and (text[after + 1 : after + 2].isupper() or _CODE.match(text, after, last))
    if following.islower() and not small_on_purpose:
        return False
    if stop[0].rstrip(_CLOSERS)[-1:] != "." or stop[0].startswith(".."):
        return True
    before = _WORD_BEFORE.search(text, max(first, stop.start() - 40), stop.start())
    word = before[0].lower() if before else ""
    word_after = _WORD_AFTER.match(text, after, last)
    next_word = word_after[0].lower() if word_after else ""
    if word in _BEFORE_NUMBERS and (following.isdigit() or following in "+#"):
        return False
    if word in _TITLES:
        # "No." and "p." end a sentence when it is the answer and not the number that follows.
        return (
            word in {"no", "n", "p", "m", "al", "art", "ed", "fig", "am"}
            and not following.isdigit()
            and next_word in _COMMON_STARTS
        )
    if word in _MAYBE or re.fullmatch(r"(?:[^\W\d_]\.)+[^\W\d_]", word):
        return next_word in _COMMON_STARTS or (word in {"etc", "usw", "usf"} and following.isupper())
    if len(word) == 1 and word.isalpha() and before is not None and before[0].isupper():
        # An initial, "J. Smith", unless a sentence plainly begins: "vitamin C. The".
        return next_word in _COMMON_STARTS and next_word not in {"a", "i", "y", "o"}
    if len(word) == 1 and word.islower() and len(next_word) == 1 and text[after + 1 : after + 2] == ".":
        # "z. B.", "d. h.": the first half of an abbreviation written with a space.
        return False
    if word.isdigit() and len(word) <= 2:
        return next_word not in _MONTHS_AND_ORDINALS
    return True


def _in_bracket(text: str, first: int, last: int, place: int) -> bool:
    """Say whether a place lies in a round bracket that opens and closes on its line, not far from each other."""
    opened = _unmatched(text, range(place - 1, max(first, place - _LONGEST_BRACKET) - 1, -1), "()")
    if opened is None:
        return False
    return _unmatched(text, range(place, min(last, opened + _LONGEST_BRACKET)), ")(") is not None


def _unmatched(text: str, places: range, pair: str) -> int | None:
    """Find the first bracket, on the same line, that nothing passed on the way there belongs to."""
    sought, other = pair
    depth = 0
    for place in places:
        mark = text[place]
        if mark == "\n" or (mark == sought and depth == 0):
            return place if mark == sought else None
        depth += (mark == other) - (mark == sought)
    return None
