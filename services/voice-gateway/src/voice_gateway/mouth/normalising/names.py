"""What has a spelling of its own: addresses, paths, files, versions, identifiers, languages, codes."""

from __future__ import annotations

import re
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.numbers import cardinal, digits, pairs
from voice_gateway.mouth.normalising.rules import Rule

_LANGUAGES: Final = {
    "C#": "C sharp", "F#": "F sharp", "C++": "C plus plus", "c++": "C plus plus", "g++": "G plus plus",
    ".NET": "dot net", "I/O": "I O", "TCP/IP": "T C P I P", "N/A": "not applicable", "n/a": "not applicable",
    "CI/CD": "C I, C D", "24/7": "twenty-four seven", "A/B": "A B", "Q&A": "Q and A", "R&D": "R and D",
    "and/or": "and or", "w/o": "without", "w/": "with",
}  # fmt: skip
_EXTENSIONS: Final = {
    "json": "jason", "yaml": "yaml", "yml": "yaml", "toml": "toml", "lock": "lock", "zip": "zip", "exe": "exe",
    "env": "env", "markdown": "markdown", "log": "log", "bin": "bin", "tar": "tar", "wav": "wave",
    "jpeg": "jay peg", "com": "com", "org": "org", "net": "net", "conf": "conf", "config": "config", "ini": "ini",
    "cfg": "config", "html": "H T M L", "txt": "text", "bat": "bat", "vue": "view", "dev": "dev", "app": "app",
    "info": "info", "example": "example", "local": "local", "test": "test", "doc": "doc", "docx": "doc X",
    "page": "page", "edu": "E D U", "gov": "gov",
}  # fmt: skip
_FILE_ENDS: Final = (
    "md|markdown|txt|json|ya?ml|toml|lock|py|js|mjs|cjs|ts|tsx|jsx|css|html?|sh|bash|rs|go|c|h|cc|cpp|hpp|java|kt|rb|"
    "php|sql|csv|tsv|xml|svg|png|jpe?g|gif|webp|pdf|docx?|xlsx?|pptx?|zip|gz|tar|bz2|xz|exe|dll|so|ini|cfg|conf|env|"
    "log|bin|wav|mp3|mp4|ogg|onnx|whl|ipynb|db|service|bat|ps1|vue|lua|swift|tex|rst|bak|tmp|example|config"
)
_CAMEL: Final = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
_NOT_CAMEL: Final = re.compile(r"(?:Mc|Mac|O['’])[A-Z][a-z]+")
_HEX: Final = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}")
_SEGMENTS: Final = 4
"""Of a path; the others are left to the page."""


def identifier(text: str) -> str:
    """The words of a name: `snake_case`, `camelCase` and `kebab-case` part where a reader would part them."""
    if _HEX.fullmatch(text):
        return " ".join(digits(character) if character.isdigit() else character.upper() for character in text)
    return " ".join(_word(word) for part in re.split(r"[_\-]+", text) for word in _CAMEL.split(part) if word)


def _word(word: str) -> str:
    if word.isdecimal() and word.isascii():
        return pairs(word)
    return word


def dotted(text: str) -> str:
    """A name with dots in it: `valves.md` is "valves dot M D"."""
    stem, *ends = text.split(".")
    said = [identifier(stem)] if stem else []
    for end in ends:
        said += ["dot", _ending(end)]
    return " ".join(part for part in said if part)


def _ending(end: str) -> str:
    if end.lower() in _EXTENSIONS:
        return _EXTENSIONS[end.lower()]
    if len(end) <= 3 and end.isascii() and end.isalnum():
        return " ".join(digits(letter) if letter.isdigit() else letter.upper() for letter in end)
    return identifier(end)


def _segments(segments: list[str]) -> str:
    said = " slash ".join(dotted(segment) for segment in segments[:_SEGMENTS])
    return f"{said}, and so on" if len(segments) > _SEGMENTS else said


def _path(match: Match[str]) -> str:
    path = match[0]
    said = _segments([segment for segment in re.split(r"[/\\]+", path) if segment not in ("", ".", "..", "~")])
    return f"slash {said}" if path.startswith("/") else said


def _slashed(match: Match[str]) -> str:
    return " slash ".join(identifier(part) for part in match[0].split("/"))


def _url(match: Match[str]) -> str:
    path = [segment for segment in re.split(r"/+", match["path"] or "") if segment]
    port = f" port {digits(match['port'])}" if match["port"] else ""
    said = dotted(match["host"].removeprefix("www.")) + port
    return f"{said} slash {_segments(path)}" if path else said


def _email(match: Match[str]) -> str:
    return f"{dotted(match['name'].replace('+', '-'))} at {dotted(match['host'])}"


def _version(match: Match[str]) -> str:
    numbers = " point ".join(cardinal(int(part)) for part in match["numbers"].split("."))
    named = match.string[: match.start()].rstrip().lower().endswith("version")
    word = "version " if match["v"] and not named else ""
    after = f", {identifier(match['after'])}" if match["after"] else ""
    return f"{word}{numbers}{after}"


def _code(match: Match[str]) -> str:
    return f"{match['letters']} {_word(match['digits'])}"


def _option(match: Match[str]) -> str:
    dashes = "dash dash" if len(match["dashes"]) > 1 else "dash"
    return f"{dashes} {identifier(match['name'])}"


def _call(match: Match[str]) -> str:
    return dotted(match["name"])


def _identifier(match: Match[str]) -> str | None:
    text = match[0]
    if _NOT_CAMEL.fullmatch(text):
        return None
    said = identifier(text)
    return said if said and said != text else None


ADDRESSES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            r"(?:https?|ftp|wss?|file)://(?:[^\s/@]*@)?(?P<host>[\w.-]*\w)(?::(?P<port>\d+))?"
            r"(?P<path>/[^\s?#<>]*[^\s?#<>.,;:!?)\]'\"”’])?/?(?:[?#][^\s<>]*[^\s<>.,;:!?)\]'\"”’])?"
        ),
        _url,
    ),
    (re.compile(r"(?<![\w.])(?P<host>www\.[\w-]+(?:\.[\w-]+)+)(?P<port>(?!))?(?P<path>(?:/[\w.-]*\w)*)"), _url),
    (re.compile(r"(?<![\w.])(?P<name>[\w.+-]+)@(?P<host>[\w-]+(?:\.[\w-]+)+)"), _email),
    (
        re.compile(r"(?<!\w)(?:" + "|".join(re.escape(name) for name in _LANGUAGES) + r")(?![\w+#])"),
        lambda match: _LANGUAGES[match[0]],
    ),
)
"""Addresses, and languages and abbreviations that are written with signs."""

RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            r"(?<![\w.])(?:(?P<v>[vV])(?=\d))?(?P<numbers>\d+(?:\.\d+){2,}|(?<=[vV])\d+(?:\.\d+)*)(?:-(?P<after>[A-Za-z][\w]*))?(?![\w-]|\.\d)"
        ),
        _version,
    ),
    (
        re.compile(
            rf"(?<![\w/])(?:[~.]{{0,2}}/|[A-Z]:\\)?[\w.-]+(?:[/\\][\w.-]+)*[/\\]?[\w-]*\.(?:{_FILE_ENDS})\b(?!\.\w)(?![/\\]\w)"
        ),
        _path,
    ),
    (re.compile(r"(?<![\w/.])(?:~|\.{1,2})?/[\w.-]*\w(?:/[\w.-]*\w)*/?"), _path),
    (re.compile(r"(?<![\w/])[\w.-]*\w(?:/[\w.-]*\w){2,}/?|(?<![\w/])[\w-]*[a-z_][\w-]*/(?!\w)"), _path),
    (re.compile(r"(?<![\w/])[^\W\d_]+/[^\W\d_]+(?![\w/])"), _slashed),
    (re.compile(r"(?<![\w-])(?P<dashes>--?)(?P<name>[A-Za-z][\w-]*)"), _option),
    (re.compile(r"(?<!\w)(?P<name>[A-Za-z_][\w.]*)\(\)"), _call),
    (re.compile(r"(?<![\w.])\.(?P<name>[A-Za-z][\w-]*)(?!\w)"), lambda match: f"dot {_ending(match['name'])}"),
    (re.compile(r"(?<![\w-])(?P<letters>[A-Z]{2,})-(?P<digits>\d+)(?![\w-])"), _code),
    (
        re.compile(r"(?<!\w)[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+(?!\w)"),
        lambda match: None if re.fullmatch(r"(?:\w\.)+\w", match[0]) else dotted(match[0]),
    ),
)
"""Versions, files, paths, options, calls and codes."""

IDENTIFIERS: Final[tuple[Rule, ...]] = (
    (re.compile(r"(?<!\w)[A-Za-zÀ-ÖØ-öø-ɏ0-9_]+(?:-[A-Za-zÀ-ÖØ-öø-ɏ0-9_]+)*(?!\w)"), _identifier),
)
"""Names that part into words."""
