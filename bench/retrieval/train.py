"""Fit the coefficients of the extractive answer: `python -m bench.retrieval.train --corpus DIR`.

::

    tuning half (by document) ──┬── asked of the whole corpus ──────────────────> answerable
                                └── asked without the paragraph of its answer ──> not

The sentence model is a conditional logit (which of a search's sentences holds the answer), the answer model a logistic
regression on answerable against not; both with a small ridge, by Newton's method. The threshold declines
85.5% of the tuning questions whose answer was taken out, or as many as it can with 4.5% of the answerable ones
declined too. The other half of the questions is never looked at here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent import answerability
from agent.answerability import ANSWER_FEATURES, SENTENCE_FEATURES, Basis, Linear, answer_features, rank
from agent.candidates import Candidate, Question, candidates_of, read_question
from bench.retrieval.inprocess import Indexed, Searcher, index_folder
from bench.retrieval.questions import Asked, halves, read_questions
from contracts.search import SearchResult
from retriever.embedding import LocalEmbedder

MISSED = 0.045
"""The share of answerable tuning questions that the threshold lets go unanswered at most."""
DECLINED = 0.855
"""The share of the tuning questions without an answer that are declined; more are not, for the sake of the others."""
RIDGE = 0.1
DATA = Path(str(answerability.__file__)).with_suffix(".json")

Matrix = NDArray[np.float64]
Searched = tuple[Asked, SearchResult]


async def searches(questions: Sequence[Asked], chunks: Sequence[Indexed], embedder: LocalEmbedder) -> list[Searched]:
    """Ask questions of a corpus."""
    searcher = Searcher(chunks, embedder)
    return [(asked, await searcher.search(asked.question)) for asked in questions]


def without(chunks: Sequence[Indexed], path: str, line: int) -> list[Indexed]:
    """Give the chunks of a corpus from which a paragraph was taken out."""
    return [each for each in chunks if each.path != path or not each.chunk.lines[0] <= line <= each.chunk.lines[1]]


async def searches_without(
    questions: Sequence[Asked], chunks: Sequence[Indexed], embedder: LocalEmbedder
) -> list[Searched]:
    """Ask each question of the corpus without the paragraph that answers it."""
    found: list[Searched] = []
    for path, line in sorted({(asked.path, asked.line) for asked in questions}):
        together = [asked for asked in questions if (asked.path, asked.line) == (path, line)]
        found += await searches(together, without(chunks, path, line), embedder)
    return found


def fit_sentence(searched: Sequence[Searched], basis: Basis) -> Linear:
    """Fit which sentence of a search holds the answer."""
    names = SENTENCE_FEATURES[basis]
    groups: list[tuple[Matrix, NDArray[np.bool_]]] = []
    rows: list[Matrix] = []
    for asked, result in searched:
        candidates = _candidates(asked, result)[1]
        right = np.array([asked.answered_by(each.text) and _is_gold(asked, result, each) for each in candidates])
        if len(candidates) > 1 and right.any() and not right.all():
            values = _matrix([each.features for each in candidates], names)
            rows.append(values)
            groups.append((values, right))
    mean, scale = _centre(np.concatenate(rows))
    standard = [(np.nan_to_num((values - mean) / scale), right) for values, right in groups]
    weights = np.zeros(len(names))
    loss = _loss(standard, weights)
    for _ in range(50):
        gradient, hessian = RIDGE * weights, RIDGE * np.eye(len(names))
        for values, right in standard:
            chances = _softmax(values @ weights)
            of_right = np.where(right, chances, 0) / max(chances[right].sum(), 1e-12)
            gradient = gradient + values.T @ (chances - of_right)
            middle = chances @ values
            hessian = hessian + (values * chances[:, None]).T @ values - np.outer(middle, middle)
        step = np.linalg.solve(hessian, gradient)
        # The loss is not convex where several sentences are right, so a step is only taken as far as it helps.
        while _loss(standard, weights - step) > loss and np.abs(step).max() > 1e-8:
            step = step / 2
        if np.abs(step).max() < 1e-6:
            break
        weights = weights - step
        loss = _loss(standard, weights)
    return _model(names, mean, scale, weights)


def fit_answer(there: Sequence[Searched], gone: Sequence[Searched], basis: Basis, sentence: Linear) -> Linear:
    """Fit whether the best sentence answers."""
    names = ANSWER_FEATURES[basis]
    values = _matrix([features_of(*each, sentence) for each in (*there, *gone)], names)
    mean, scale = _centre(values)
    design = np.column_stack([np.nan_to_num((values - mean) / scale), np.ones(len(values))])
    target = np.array([1.0] * len(there) + [0.0] * len(gone))
    ridge = np.diag([1 / RIDGE] * len(names) + [0.0])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (chances - target) + ridge @ weights
        hessian = (design * (chances * (1 - chances))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    scores = design @ weights
    threshold = float(min(np.quantile(scores[: len(there)], MISSED), np.quantile(scores[len(there) :], DECLINED)))
    return _model(names, mean, scale, weights[:-1], float(weights[-1]), threshold)


def features_of(asked: Asked, result: SearchResult, sentence: Linear) -> Any:
    """Give the answer model's features for a question and what was found for it."""
    question, candidates = _candidates(asked, result)
    return answer_features(question, rank(candidates, sentence), result.passages) if candidates else {}


def words_alone(searched: Sequence[Searched]) -> list[Searched]:
    """Give the same searches as an embedding tells them that knows no similarity of sentences."""
    return [
        (
            asked,
            result.model_copy(
                update={
                    "passages": tuple(
                        passage.model_copy(
                            update={
                                "sentences": tuple(
                                    sentence.model_copy(update={"similarity": None, "nearest": ()})
                                    for sentence in passage.sentences
                                )
                            }
                        )
                        for passage in result.passages
                    )
                }
            ),
        )
        for asked, result in searched
    ]


def _candidates(asked: Asked, result: SearchResult) -> tuple[Question, list[Candidate]]:
    question = read_question(asked.question, result)
    return question, candidates_of(question, result)


def _is_gold(asked: Asked, result: SearchResult, candidate: Candidate) -> bool:
    passage = result.passages[candidate.passage]
    return passage.path == asked.path and passage.lines[0] <= asked.line <= passage.lines[1]


def _matrix(rows: Sequence[Any], names: Sequence[str]) -> Matrix:
    return np.array([[np.nan if row.get(name) is None else float(row[name]) for name in names] for row in rows])


def _centre(values: Matrix) -> tuple[Matrix, Matrix]:
    return np.nanmean(values, axis=0), np.nanstd(values, axis=0) + 1e-9


def _loss(groups: Sequence[tuple[Matrix, NDArray[np.bool_]]], weights: Matrix) -> float:
    chances = [(_softmax(values @ weights), right) for values, right in groups]
    return RIDGE / 2 * float(weights @ weights) - sum(
        float(np.log(each[right].sum() + 1e-12)) for each, right in chances
    )


def _softmax(scores: Matrix) -> Matrix:
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def _model(
    names: Sequence[str], mean: Matrix, scale: Matrix, weights: Matrix, intercept: float = 0.0, threshold: float = 0.0
) -> Linear:
    together = zip(names, mean.tolist(), scale.tolist(), weights.tolist(), strict=True)
    features = {name: (round(m, 5), round(s, 5), round(w, 5)) for name, m, s, w in together}
    return Linear(features, round(intercept, 5), round(threshold, 5))


def _as_json(model: Linear) -> dict[str, Any]:
    return {"features": model.features, "intercept": model.intercept, "threshold": model.threshold}


async def train(folder: Path) -> dict[str, Any]:
    """Fit both pairs of models on the tuning half: similarities on English, words alone on every language."""
    embedder = await LocalEmbedder.load()
    there: list[Searched] = []
    gone: list[Searched] = []
    fitted: dict[str, Any] = {}
    for language in ("en", "de", "zh"):
        tuning, _ = halves(read_questions(folder, language))
        chunks = await index_folder(folder / language, embedder)
        there_now = await searches(tuning, chunks, embedder)
        gone_now = await searches_without(tuning, chunks, embedder)
        if language == "en":
            sentence = fit_sentence(there_now, "near")
            answer = fit_answer(there_now, gone_now, "near", sentence)
            fitted["near"] = {"sentence": _as_json(sentence), "answer": _as_json(answer)}
        there += words_alone(there_now)
        gone += words_alone(gone_now)
    sentence = fit_sentence(there, "words")
    fitted["words"] = {
        "sentence": _as_json(sentence),
        "answer": _as_json(fit_answer(there, gone, "words", sentence)),
    }
    return fitted


def main() -> None:
    """Fit, and write the coefficients where the agent reads them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    fitted = asyncio.run(train(parser.parse_args().corpus))
    DATA.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
