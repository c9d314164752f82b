"""A corpus of questions: folders of Markdown, and for each language a file of questions with where their answer stands.

::

    DIR/en/*.md              a paragraph is one line
    DIR/en.questions.jsonl   {"question", "answers": [...], "path", "line"}
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """A question, the answers that count as right, and the paragraph (path and line) that holds them."""

    question: str
    answers: tuple[str, ...]
    path: str
    line: int

    def answered_by(self, text: str) -> bool:
        """Say whether a text contains one of the answers, letter case and white space apart."""
        told = " ".join(text.lower().split())
        return any(" ".join(answer.lower().split()) in told for answer in self.answers)


def read_questions(folder: Path, language: str) -> list[Asked]:
    """Read the questions of a language, in the file's order."""
    lines = (folder / f"{language}.questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Asked(row["question"], tuple(row["answers"]), row["path"], row["line"]) for row in rows]


def halves(questions: Sequence[Asked], seed: int = 7) -> tuple[list[Asked], list[Asked]]:
    """Part the questions by document into those for tuning and those for measuring; no document is in both."""
    paths = sorted({asked.path for asked in questions})
    random.Random(seed).shuffle(paths)
    tuning = set(paths[: len(paths) // 2])
    return (
        [asked for asked in questions if asked.path in tuning],
        [asked for asked in questions if asked.path not in tuning],
    )


UNRELATED = (
    "How do I descale my espresso machine?",
    "What is the best way to remove red wine from a carpet?",
    "Which gear should I use on a steep bicycle climb?",
    "How long should I boil an egg for a soft yolk?",
    "What does a yellow card mean in handball?",
    "How do I change the battery of a smoke detector?",
    "What is the wifi password of the guest network?",
    "When is the next rent payment due?",
    "Who repairs zippers on winter jackets?",
    "How many calories are in a bowl of porridge?",
    "Can I bring my cat on the ferry to Gotland?",
    "What is the keyboard shortcut for splitting a terminal pane?",
    "Does the dishwasher run on Kubernetes?",
    "How do I undo the last commit in git?",
    "What colour should a ripe mango be?",
    "Which vaccine does my puppy need first?",
    "How much tip is usual in a Lisbon taxi?",
    "What size of screw fits an M6 anchor?",
    "Why does my sourdough starter smell of acetone?",
    "When do the tomatoes have to be pruned?",
    "Where can I park a camper van overnight?",
    "What is the maximum weight of hand luggage on a budget airline?",
    "How do I tune a ukulele by ear?",
    "Who won last night's pub quiz?",
    "What is the opening gambit called when white gives up the f-pawn?",
    "How often should contact lenses be replaced?",
    "Is it safe to microwave aluminium foil?",
    "What is the combination of the bicycle lock?",
    "How do I export a spreadsheet to CSV?",
    "Which yoga pose helps against back pain?",
)
"""Thirty questions about other things than the corpus speaks of."""
