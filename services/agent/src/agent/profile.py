"""What a person says of themselves, found by the form of the sentence; kept so that it can be shown and erased (L7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chassis.language import all_terms
from chassis.sentences import sentence_spans

LONGEST: Final = 300
"""Characters of a sentence; a longer one is no plain statement."""

# Each form names its subject: a newer sentence about the same takes the older one's place.
_FORMS: Final = (
    (re.compile(r"(?i)\b(?:my name is|call me|i am called|ich heiße|mein name ist|nenn mich)\s+\S"), "name"),
    (re.compile(r"(?i)\bi(?:'m| am| was) \d{1,3}(?: years old)?\b|\bich bin \d{1,3}\b"), "age"),
    (
        re.compile(r"(?i)\b(?:i (?:live|am based) (?:in|at|on|near)|i(?:'m| am) from|ich (?:wohne|lebe) in)\s+\S"),
        "home",
    ),
    (re.compile(r"(?i)\b(?:i work (?:as|at|for|in|on)|ich arbeite (?:als|bei|in))\s+\S"), "work"),
    (re.compile(r"(?i)\bmy (?P<what>(?:\w+ ){0,2}\w+) (?:is|are)\s+\S"), "my"),
    (
        re.compile(r"(?i)\bi (?:really |always |usually |never )?(?P<what>like|love|hate|prefer|speak|own|keep)\s+\S"),
        "likes",
    ),
    (re.compile(r"(?i)\bi(?:'m| am) (?:not )?(?P<what>an?|the|allergic|deaf|blind|vegetarian|vegan)\s*\S"), "is"),
    (re.compile(r"(?i)\bich (?:bin (?:ein|eine|der|die)|mag|liebe)\s+\S"), "is"),
)
_WONDERING: Final = re.compile(r"(?i)^(?:if|when|wenn|suppose|could|can|do|does|am|is|are|what|who|where|why|how)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a person about themselves, and what it is about."""

    subject: str
    text: str


def statements(said: str) -> Iterator[Statement]:
    """What a person said of themselves in a turn; a question says nothing of who asks it."""
    for start, end in sentence_spans(said):
        text = " ".join(said[start:end].split())
        if not text or len(text) > LONGEST or text.endswith("?") or _WONDERING.match(text):
            continue
        for form, kind in _FORMS:
            found = form.search(text)
            if found:
                yield Statement(_subject(kind, found, text), text)
                break


def _subject(kind: str, found: re.Match[str], text: str) -> str:
    what = found.groupdict().get("what")
    if kind == "my" and what:
        return f"my {' '.join(all_terms(what, 'en'))}"
    if kind in ("likes", "is"):
        return f"{kind} {' '.join(sorted(set(all_terms(text[found.start() :], 'en'))))}"[:200]
    return kind
