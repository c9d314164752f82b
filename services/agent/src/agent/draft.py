"""An answer as far as it is written, and its sentences as each of them becomes complete (T9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from agent.answering import Judge, Judgement, Quoted
from chassis.sentences import sentence_spans
from contracts.frames import Sentence
from contracts.search import Passage

_CITATION: Final = re.compile(r"\s*\[\d{1,3}\]")
_CITATIONS: Final = re.compile(r"\[\d{1,3}\](?:\s*\[\d{1,3}\])*")
_MAY_BE_CITED: Final = re.compile(r"\s*(?:\[|$)")
_MAY_END: Final = re.compile(r"[.!?…؟۔।॥։።。！？｡．\n]")
_FENCE: Final = re.compile(r"```|~~~")
# Whether a full stop ends a sentence depends on the word that follows, so that word must be there, whole.
_NEXT_WORD: Final = re.compile(r"\s*\S+\s")
_ENDS_BY_ITSELF: Final = frozenset("。！？｡")


def without_citations(text: str) -> str:
    """Take the marks ``[n]`` out of a sentence; they are the writer's claim, never evidence."""
    return _CITATION.sub("", text)


class Draft:
    """The text so far, and the sentences of it that are complete and judged."""

    def __init__(self, passages: Sequence[Passage], judge: Judge) -> None:
        self.text = ""
        self.sentences: list[Sentence] = []
        self._passages = passages
        self._judge = judge
        self._end = 0
        self._of_quotes = False

    def add(self, text: str, quoted: Sequence[Quoted] | None = None) -> list[Sentence]:
        """Append text, and give the sentences that are complete by it: those that it quotes, if it is one of quotes.

        A quote rests on the lines that it was taken from, so it is neither cut nor judged again.
        """
        self.text += text
        if quoted is not None:
            self._of_quotes = True
            return [self._complete(quote.span, Judgement("supported", (quote.support,))) for quote in quoted]
        if _MAY_END.search(self.text, self._end) is None:
            return []
        return [self._judged(start, end) for start, end in takewhile(self._is_complete, self._spans())]

    def finish(self) -> list[Sentence]:
        """Give the sentences that only the end of the answer completes."""
        return [] if self._of_quotes else [self._judged(start, end) for start, end in self._spans()]

    def _spans(self) -> Iterator[tuple[int, int]]:
        """The sentences after the last complete one, each with the citations that follow it."""
        # What stands before the last complete sentence matters to what follows it only inside a code block.
        base = 0 if _FENCE.search(self.text) else self._end
        spans = [(base + start, base + end) for start, end in sentence_spans(self.text[base:])]
        held: tuple[int, int] | None = None
        for begin, end in spans:
            start = max(begin, self._end)
            if end <= start:
                continue
            cited = _CITATIONS.match(self.text, start, end) if held else None
            if held and cited:
                held = (held[0], cited.end())
                start = end - len(self.text[held[1] : end].lstrip())
                if start >= end:
                    continue
            if held:
                yield held
            held = (start, end)
        if held:
            yield held

    def _is_complete(self, span: tuple[int, int]) -> bool:
        start, end = span
        if end >= len(self.text):
            return False
        if without_citations(self.text[start:end])[-1:] in _ENDS_BY_ITSELF:
            return not _MAY_BE_CITED.match(self.text, end)
        return _NEXT_WORD.match(self.text, end) is not None

    def _judged(self, start: int, end: int) -> Sentence:
        return self._complete((start, end), self._judge(without_citations(self.text[start:end]), self._passages))

    def _complete(self, span: tuple[int, int], judgement: Judgement) -> Sentence:
        sentence = Sentence(index=len(self.sentences), span=span, support=judgement.support, verdict=judgement.verdict)
        self.sentences.append(sentence)
        self._end = span[1]
        return sentence
