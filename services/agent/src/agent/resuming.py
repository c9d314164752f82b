"""What a person says about the answer itself, as a whole utterance: "go on", "say that again" (V11).

::

    newest answer of the chat ── go on ───> its sentences from the one that was not heard to its end
                              └─ again ───> the last sentence that was heard

Both quote what is stored, with its sources and citations as they were; nothing is searched and no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agent.answering import Piece, Quoted
from agent.phrasing import nothing_left
from agent.pieces import word_groups
from chassis.language import detect
from contracts.frames import Sentence
from contracts.search import Source
from contracts.turns import Turn

Wish = Literal["continue", "repeat"]

_CONTINUE: Final = (
    "continue|continue reading|go on|go ahead|carry on|keep going|keep reading|keep talking|read on|proceed|resume|"
    "you can continue|you may continue|please do go on|go on with that|and then|"
    "weiter|mach weiter|machen sie weiter|fahr fort|fahren sie fort|fahre fort|erzähl weiter|lies weiter|sprich weiter|"
    "rede weiter|und weiter|"
    "continuez|continue la lecture|vas y continue|poursuis|poursuivez|"
    "continúa|continua|sigue|siga|sigue leyendo|vai avanti|avanti|continui|prossegue|prossiga|"
    "ga door|ga verder|verder|ga maar door"
)
_REPEAT: Final = (
    "repeat|repeat that|repeat it|repeat this|repeat the last sentence|repeat the last part|repeat the last bit|"
    "repeat what you said|repeat yourself|"
    "say that again|say it again|say again|say the last sentence again|once more|one more time|again|come again|"
    "read that again|read it again|what did you say|what did you just say|what was that|pardon|pardon me|"
    "i beg your pardon|i did not catch that|i didn't catch that|"
    "wiederhole|wiederhole das|wiederhole das bitte|wiederholen|wiederholen sie das|wiederhol das|noch einmal|noch mal|"
    "nochmal|sag das noch mal|sag das nochmal|sag das noch einmal|sagen sie das noch einmal|wie bitte|"
    "was hast du gesagt|"
    "répète|répétez|répète ça|répétez cela|encore une fois|"
    "repite|repítelo|repita|repite eso|otra vez|ripeti|ripetilo|ripeta|ancora una volta|repete|repita isso|"
    "herhaal|herhaal dat|nog een keer|zeg dat nog eens"
)
_POLITE: Final = re.compile(
    r"^(?:(?:ok|okay|yes|yeah|yep|sure|right|well|so|no|sorry|and|please|just|now|ja|gut|also|bitte|und|oui|sí|si|"
    r"can you|could you|would you|will you|can you please|could you please|would you please|"
    r"kannst du|könntest du|können sie|kannst du bitte|puedes|peux tu|pouvez vous) )+"
)
_POLITE_END: Final = re.compile(
    r"(?: (?:please|now|then|for me|from there|from here|thanks|thank you|bitte|jetzt|s'il te plaît|"
    r"s'il vous plaît|por favor|per favore|alsjeblieft))+$"
)
_WISHES: Final[dict[str, Wish]] = {
    **dict.fromkeys(_CONTINUE.split("|"), "continue"),
    **dict.fromkeys(_REPEAT.split("|"), "repeat"),
}
_CITED: Final = re.compile(r"(?:\s*\[\d{1,3}\])+\s*$")
_MARKS: Final = re.compile(r"[^\w\s']+")


def same_text(question: str) -> str:
    """A question without what does not make it another one: case, white space, and the marks at its end."""
    return " ".join(question.casefold().split()).rstrip(" .,;:!?…")


def asked_again(question: str) -> Wish | None:
    """Whether the whole utterance asks for the rest of an answer, or for its last sentence again."""
    text = " ".join(_MARKS.sub(" ", question.casefold().replace("’", "'")).split())
    for said in (text, _POLITE.sub("", text), _POLITE_END.sub("", text), _POLITE_END.sub("", _POLITE.sub("", text))):
        if wish := _WISHES.get(said):
            return wish
    return None


@dataclass(frozen=True)
class Resumed:
    """What is said again of an earlier answer: its text with its citations, the sources that these point at."""

    text: str
    sentences: tuple[Sentence, ...]
    sources: tuple[Source, ...]
    abstained: bool = False
    """Whether the earlier answer said that the notes do not hold it; said again it still does."""

    async def pieces(self) -> AsyncGenerator[Piece]:
        """As an answerer would write it; a sentence that was supported is so by the same lines."""
        end = 0
        for sentence in self.sentences:
            start, end = end, sentence.span[1]
            *groups, last = word_groups(self.text[start:end])
            supported = sentence.verdict == "supported" and len(sentence.support) == 1
            for group in groups:
                yield Piece(group, quoted=() if supported else None)
            quoted = (Quoted(sentence.span, sentence.support[0]),) if supported else None
            yield Piece(last, quoted=quoted)
        if rest := self.text[end:]:
            yield Piece(rest, quoted=())
        yield Piece(abstained=self.abstained)


def resume(wish: Wish, newest_first: Sequence[Turn]) -> Resumed | None:
    """What a wish brings back of a chat's answers; nothing when there is none that it could mean."""
    turns = [turn for turn in newest_first if turn.answer]
    if wish == "continue":
        turns = [turn for turn in turns if asked_again(turn.question) != "repeat"]
    else:
        # "That was all of it" is nothing that somebody wants to hear again.
        turns = [turn for turn in turns if turn.sentences]
    if not turns:
        return None
    turn = turns[0]
    answer = turn.answer or ""
    heard = len(answer) if turn.status == "completed" and turn.heard is None else turn.heard or 0
    if wish == "repeat":
        begun = [sentence for sentence in turn.sentences if sentence.span[0] < heard]
        return _said(turn, begun[-1:] or turn.sentences[:1])
    left = [sentence for sentence in turn.sentences if sentence.span[1] > heard + _citation_after(answer, sentence)]
    if left:
        return _said(turn, left)
    return Resumed(nothing_left(detect(turn.question)), (), ())


def _citation_after(answer: str, sentence: Sentence) -> int:
    """How much of a sentence's end is its citation, which nobody hears."""
    said = answer[sentence.span[0] : sentence.span[1]]
    return len(said) - len(_CITED.sub("", said))


def _said(turn: Turn, sentences: Sequence[Sentence]) -> Resumed | None:
    """Sentences of an answer as an answer of their own; nothing when there are none."""
    text, moved = "", list[Sentence]()
    for index, sentence in enumerate(sentences):
        text += " " if text else ""
        start = len(text)
        text += (turn.answer or "")[sentence.span[0] : sentence.span[1]].strip()
        moved.append(sentence.model_copy(update={"index": index, "span": (start, len(text))}))
    return Resumed(text, tuple(moved), turn.sources, turn.abstained) if moved else None
