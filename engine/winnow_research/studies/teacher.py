"""What does a larger model know about the units that lead? Distilling it can teach the drafter no more than that.

The hand-written questions of calibration and development are asked as the product asks them. A larger model, a Qwen2,
then judges the units that lead, in several ways (`WAYS`). Its judgement is added to the product's scores, with the
weight that is best for the questions about all other repositories. This takes minutes on a GPU.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from winnow_cuda.shapes import Int32
from winnow_engine.core import Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.selection.budget import density
from winnow_engine.store import Store
from winnow_research.evaluation.cases import Case, units_at
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.figures import BUDGETS
from winnow_research.evaluation.methods.base import Subject, by_units
from winnow_research.evaluation.methods.winnow import Winnow
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.run import laid_out, outcome
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.training.text_writer import TextWriter
from winnow_research.training.writers import batches

Scores = NDArray[np.float32]

_BATCH_TOKENS = 60_000
_MOST_TOKENS = 1_000  # of a unit
_WEIGHTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # of what the teacher says, in standard deviations
_HEADS = 16
_NOTHING = "N/A"


@dataclass
class TeacherQuestion:
    """A question with the product's scores, float32 [U], and the numbers of the units that lead.

    `said` has the teacher's scores of the units that lead, float32 [units], by way of asking; `heads` how much each of
    its heads attends to them, float32 [heads, units].
    """

    case: Case
    subject: Subject
    scores: Scores
    leading: list[int]
    said: dict[str, Scores] = field(default_factory=dict)
    heads: Scores = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @cached_property
    def texts(self) -> list[str]:
        """Path and code of the units that lead."""
        units = (self.subject.workspace.units[unit] for unit in self.leading)
        return [f"{file.path}\n{file.text_of(unit).strip()}\n" for file, unit in units]

    @cached_property
    def golds(self) -> list[int]:
        """The units that hold a line of a gold."""
        return [unit for gold in self.case.golds for unit in units_at(self.subject.workspace, gold)]

    def with_said(self, said: Scores, weight: float) -> Scores:
        """The scores plus `weight` times the teacher's, standardised. Units it did not see get its lowest score."""
        standard = weight * (said - said.mean()) / (said.std() + 1e-6)
        added = np.full_like(self.scores, standard.min())
        added[self.leading] = standard
        return self.scores + added

    def reciprocal_rank(self, scores: Scores) -> float:
        """1 / the rank of the best gold by some scores of all units."""
        return 1.0 / (1 + int((scores > scores[self.golds].max()).sum()))

    def kept(self, scores: Scores) -> list[float]:
        """Whether all golds are kept within each of BUDGETS."""
        worth = density(scores, self.subject.unit_tokens)
        ranking = by_units(self.subject, self.case.question, scores, worth)
        return list(map(float, outcome("", 0, self.case, self.subject.workspace, ranking).kept))


class Teacher(TextWriter):
    """A Qwen2 whose logits and attention are looked at, not what it writes."""

    def __init__(self, file: Path, device: torch.device) -> None:
        self.words = Vocabulary(LlamaModel(file, vocabulary_only=True))
        super().__init__(file, self.words.is_end, device)

    def tokens(self, text: str) -> Int32:
        """Token ids of a text that may have control tokens."""
        return self.words.tokenize(text, special=True)

    @torch.inference_mode()
    def ends(self, opening: Int32, prompts: Sequence[Int32], ending: Int32) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Batches of prompts, by number, each read between `opening` and `ending`.

        With the logits behind the prompt and behind each token of the ending: float32 [prompts, ending + 1,
        vocabulary].
        """
        whole = [np.concatenate([prompt, ending]) for prompt in prompts]
        sizes = [len(opening) + len(one) for one in whole]
        for batch in batches(sorted(range(len(whole)), key=sizes.__getitem__), sizes, _BATCH_TOKENS):
            inputs = self._inputs(opening, [whole[number] for number in batch])
            out = self._model(**inputs, logits_to_keep=len(ending) + 1)
            yield batch, out.logits.float()

    @torch.inference_mode()
    def attention(self, context: Sequence[Int32], questions: Sequence[Int32]) -> list[Scores]:
        """How much the tokens of each question, read behind the whole context, attend to each piece of the context.

        For each question float32 [heads of all layers, pieces].
        """
        ids = torch.from_numpy(np.concatenate(context).astype(np.int64)).to(self._device)[None]
        self._model.set_attn_implementation("sdpa")
        cache: DynamicCache = self._model(input_ids=ids, logits_to_keep=1).past_key_values
        self._model.set_attn_implementation("eager")
        borders = np.cumsum([0, *map(len, context)])
        found = []
        for question in questions:
            behind = torch.from_numpy(question.astype(np.int64)).to(self._device)[None]
            out = self._model(input_ids=behind, past_key_values=cache, logits_to_keep=1, output_attentions=True)
            looked = torch.cat([layer[0].float().mean(1) for layer in out.attentions])[:, : borders[-1]]
            sums = torch.nn.functional.pad(looked.cumsum(1), (1, 0))[:, torch.from_numpy(borders).to(self._device)]
            found.append(sums.diff(dim=1).cpu().numpy())
            cache.crop(-len(question))
        return found


def likelihood(teacher: Teacher, asked: TeacherQuestion, _context: int) -> Scores:
    """ln p of the question, given a unit (Sachan et al. 2022, arXiv 2204.07496, section 2.2)."""
    opening = teacher.tokens(
        "<|im_start|>system\nYou are shown code of a project. Write one question that a developer could ask who uses "
        "or changes the project, and finds the answer in this code.<|im_end|>\n<|im_start|>user\n"
    )
    question = teacher.words.tokenize(asked.case.question.text)
    turn = teacher.tokens("<|im_end|>\n<|im_start|>assistant\n")
    prompts = [np.concatenate([teacher.words.tokenize(text)[:_MOST_TOKENS], turn]) for text in asked.texts]
    said = np.zeros(len(prompts), np.float32)
    wanted = torch.from_numpy(question.astype(np.int64))
    for batch, logits in teacher.ends(opening, prompts, question):
        chances = logits[:, :-1].log_softmax(2).gather(2, wanted.to(logits.device).expand(len(batch), -1)[..., None])
        said[batch] = chances[..., 0].sum(1).cpu().numpy()
    return said


def yes(teacher: Teacher, asked: TeacherQuestion, _context: int) -> Scores:
    """Log-odds of Yes when asked whether a unit is needed for the answer."""
    opening = teacher.tokens(
        "<|im_start|>system\nYou are asked a question about a project, and shown some of its code. Is this code needed "
        "to answer the question? Answer Yes or No.<|im_end|>\n<|im_start|>user\nQuestion: "
    )
    opening = np.concatenate([opening, teacher.words.tokenize(f"{asked.case.question.text}\nCode:\n")])
    prompts = [teacher.words.tokenize(text)[:_MOST_TOKENS] for text in asked.texts]
    turn = teacher.tokens("<|im_end|>\n<|im_start|>assistant\n")
    right, wrong = (int(teacher.words.tokenize(word)[0]) for word in ("Yes", "No"))
    said = np.zeros(len(prompts), np.float32)
    for batch, logits in teacher.ends(opening, prompts, turn):
        said[batch] = (logits[:, -1, right] - logits[:, -1, wrong]).cpu().numpy()
    return said


def attention(teacher: Teacher, asked: TeacherQuestion, context: int) -> Scores:
    """How much a question attends to the units that lead, less what an empty question does, summed over all heads.

    As in Chen et al. 2024 (arXiv 2410.02642, section 3). Units stand in the workspace's order. Keeps each head's
    figures in `asked.heads`.
    """
    pieces = [teacher.words.tokenize(text)[:_MOST_TOKENS] for text in asked.texts]
    room = context - np.cumsum([len(piece) for piece in pieces])
    held = sorted(range(int((room >= 0).sum())), key=lambda number: asked.leading[number])
    opening = teacher.tokens("<|im_start|>user\nSome code of a project:\n")
    texts = (asked.case.question.text, _NOTHING)
    questions = [
        np.concatenate([teacher.tokens("\nQuestion: "), teacher.words.tokenize(text), teacher.tokens("<|im_end|>\n")])
        for text in texts
    ]
    looked, otherwise = teacher.attention([opening, *(pieces[number] for number in held)], questions)
    more = (looked - otherwise)[:, 1:]
    lowest = more.min(axis=1, keepdims=True)  # for units that do not fit
    asked.heads = np.repeat(lowest, len(pieces), axis=1)
    asked.heads[:, held] = more
    return np.asarray(asked.heads.sum(axis=0))


WAYS = (likelihood, yes, attention)


def asked_of(split: Split, only: Sequence[str], units: int, drafter: Path, folder: Path) -> Iterator[TeacherQuestion]:
    """Each hand-written question of a split, scored by the product."""
    row, corpus, store = Winnow(lambda: Drafter(drafter)), corpus_of(split, drafter, 1), Store(folder / "index.sqlite")
    for scene in all_tasks()["real"].scenes(corpus, 0):
        if only and scene.name not in only:
            continue
        subject = laid_out(scene, folder / scene.name, store, corpus.count, Cancellation())
        rank = row.ranker(subject)
        for case in scene.cases:
            scores = rank(case.question).scores
            order = np.argsort(-density(scores, subject.unit_tokens), kind="stable")
            yield TeacherQuestion(case, subject, scores, order[:units].tolist())
    store.close()


def best_weight(questions: Sequence[TeacherQuestion], way: str) -> float:
    """The weight with the highest mean reciprocal rank."""

    def rank(weight: float) -> float:
        return float(np.mean([one.reciprocal_rank(one.with_said(one.said[way], weight)) for one in questions]))

    return max(_WEIGHTS, key=rank)


def best_heads(questions: Sequence[TeacherQuestion]) -> NDArray[np.int64]:
    """The heads that, each alone, rank golds highest: by mean reciprocal rank among the units that lead."""
    ranks = np.mean([_ranks(one) for one in questions], axis=0)
    return np.argsort(-ranks)[:_HEADS]


def _ranks(one: TeacherQuestion) -> NDArray[np.float64]:
    """Reciprocal rank of the best gold by each head; 0 if no gold is among the units that lead."""
    golds = [number for number, unit in enumerate(one.leading) if unit in set(one.golds)]
    if not golds:
        return np.zeros(len(one.heads))
    best = one.heads[:, golds].max(axis=1, keepdims=True)
    return np.asarray(1.0 / (1 + (one.heads > best).sum(axis=1)))


def judged(questions: Sequence[TeacherQuestion], way: str) -> dict[str, Any]:
    """What is kept with a way of asking the teacher. Each repository gets the weight that is best for the others."""
    ranks, kept, weights = list[float](), list[list[float]](), list[float]()
    for name in sorted({one.case.repository for one in questions}):
        others = [one for one in questions if one.case.repository != name]
        if way == "heads":
            chosen = best_heads(others)
            for one in questions:
                one.said[way] = one.heads[chosen].sum(axis=0)
        weights.append(best_weight(others, way) if way else 0.0)
        for one in questions:
            if one.case.repository == name:
                scores = one.with_said(one.said[way], weights[-1]) if way else one.scores
                ranks.append(one.reciprocal_rank(scores))
                kept.append(one.kept(scores))
    shares = zip(map(str, BUDGETS), np.mean(kept, axis=0).round(4).tolist(), strict=True)
    return {"mrr": round(float(np.mean(ranks)), 4), "kept": dict(shares), "weights": weights}


def main() -> None:
    """Ask, print a line for each way, and write results/teacher.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("model", nargs="?", default=DEFAULT_TARGET)
    parser.add_argument("--units", type=int, default=300, help="units that lead [300]")
    parser.add_argument("--context", type=int, default=24_000, help="tokens of units read at once [24000]")
    parser.add_argument("--repository", action="append", default=[], help="only this one")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    arguments = parser.parse_args()
    drafter, device = locate(arguments.drafter), torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        questions = [
            one
            for split in (Split.CALIBRATION, Split.DEVELOPMENT)
            for one in asked_of(split, arguments.repository, arguments.units, drafter, Path(folder))
        ]
        teacher = Teacher(locate(arguments.model), device)
        found: dict[str, Any] = {"without": judged(questions, "")}
        print("without", found["without"], flush=True)
        for way in WAYS:
            for one in questions:
                one.said[way.__name__] = way(teacher, one, arguments.context)
            for name in (way.__name__, *(["heads"] if way is attention else [])):
                found[name] = judged(questions, name)
                print(name, found[name], flush=True)
    report("teacher", {"model": arguments.model, "questions": len(questions), "units": arguments.units, "ways": found})


if __name__ == "__main__":
    main()
