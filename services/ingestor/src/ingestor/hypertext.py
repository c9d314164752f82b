"""The text inside raw HTML: tags and comments dropped, entities resolved, blocks kept apart."""

from __future__ import annotations

import html
import re

from ingestor.plain import PlainText

__all__ = ["HtmlText", "is_line_break"]

_OPENING = re.compile(r"<!--|<\?|<!\[CDATA\[|<(/?)([A-Za-z][A-Za-z0-9-]*)|<![A-Za-z]")
_PIECE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|[^&\r\n]+|[\r\n]+|&")
_TAG_END = re.compile(r"""[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_UNREAD = frozenset({"script", "style", "template", "noscript"})
_INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp small span strike strong"
        " sub sup time tt u var wbr",
    )
)


def is_line_break(tag: str) -> bool:
    """Say whether a tag is ``<br>`` in one of its spellings."""
    return tag[:3].lower() == "<br" and tag[3:4] in (">", "/", " ", "\t", "\n")


class HtmlText:
    """Reads one block of HTML, line by line, remembering what is still open at a line's end."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = ""

    def read(self, line: str, start: int, plain: PlainText) -> None:
        """Add the text of one line that begins at byte ``start`` of the file."""
        at = 0
        while at < len(line):
            if self._until:
                at = self._skip(line, at)
                continue
            opening = _OPENING.search(line, at)
            stop = opening.start() if opening else len(line)
            if stop > at:
                _say(line[at:stop], start + len(line[:at].encode()), plain)
            if opening is None:
                return
            at = self._open(line, opening, plain)

    def _open(self, line: str, opening: re.Match[str], plain: PlainText) -> int:
        name = (opening[2] or "").lower()
        if not name:
            self._until = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}.get(opening[0], ">")
            return opening.end()
        if name == "br":
            plain.gap("\n")
        elif name not in _INLINE:
            plain.gap("\n\n")
        if name in _UNREAD and not opening[1]:
            self._until = f"</{name}"
            return opening.end()
        end = _TAG_END.match(line, opening.end())
        if end:
            return end.end()
        self._until = ">"
        return opening.end()

    def _skip(self, line: str, at: int) -> int:
        found = line.lower().find(self._until, at)
        if found < 0:
            return len(line)
        after = found + len(self._until)
        self._until = ">" if self._until.startswith("</") else ""
        return after


def _say(text: str, start: int, plain: PlainText) -> None:
    if text[:1].isspace():
        plain.gap(" ")
    body = text.strip()
    at = start + len(text[: len(text) - len(text.lstrip())].encode()) if body else start
    for piece in _PIECE.finditer(body):
        size = len(piece[0].encode())
        if piece[0][0] in "\r\n":
            plain.gap(" ")
        else:
            plain.add(html.unescape(piece[0]) if piece[0][0] == "&" else piece[0], at, at + size)
        at += size
    if body and text[-1:].isspace():
        plain.gap(" ")
