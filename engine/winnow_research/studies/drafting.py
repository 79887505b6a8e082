"""What does drafting cost the processor, beside the target's passes? Microseconds of processor time a token and a pass.

There is no target: the answers are known beforehand. One kind quotes the prompt, which is source code, with other words
between the quotes; the other is prose. The drafts see the rounds of the decode loop, and passes that take as long as
they took on an H200 with a target of 1.5B. With a model, the greedy choice from a row of its logits is measured too,
our own and that of llama.cpp's sampler.
"""

from __future__ import annotations

import argparse
import inspect
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics
from unittest.mock import patch

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.batches import tree_batch
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import ROOT, DraftTree, chain, grow
from winnow_engine.models.cache import locate
from winnow_engine.targets.drafts.base import MOST_NODES, Draft
from winnow_engine.targets.drafts.control import adaptive
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.local.sampler import Sampler
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_DIGITS = 7  # of a second: a tenth of a microsecond
_QUOTE, _BETWEEN = 120, 30  # tokens
# Seconds of a pass over a token and so many drafted ones: plain decoding's, and from passes over 2, 8 and 16 tokens.
_SECONDS = np.interp(np.arange(MOST_NODES + 1), (0, 1, 7, 15), (0.0019, 0.0033, 0.0034, 0.0045)).tolist()


class PassClock:
    """A clock that only passes move, by the `seconds` they take: over a token and so many drafted ones."""

    def __init__(self, seconds: Sequence[float] = _SECONDS) -> None:
        self._seconds, self._now = seconds, 0.0

    def perf_counter(self) -> float:
        """Seconds that passes have taken so far."""
        return self._now

    def verify(self, tree: DraftTree) -> None:
        """A pass over a token and `tree`."""
        self._now += self._seconds[len(tree)]


def texts(prompt: int, answer: int) -> tuple[NDArray[np.int32], dict[str, list[int]]]:
    """Token ids of a prompt, and of an answer of each kind. Words, spaces and signs are tokens."""
    numbers: dict[str, int] = {}
    code, prose = ([numbers.setdefault(word, len(numbers)) for word in _words(text)] for text in _sources())
    assert min(len(code), len(prose)) >= max(prompt, answer), "ask for shorter texts"
    return np.array(code[:prompt], np.int32), {
        "quotes": _quoting(code[:prompt], prose, answer),
        "prose": prose[:answer],
    }


def _sources() -> Iterator[str]:
    yield inspect.getsource(argparse)
    yield topics["specialnames"] + topics["import"]


def _words(text: str) -> list[str]:
    return re.findall(r" ?\w+|\n *|[^\w\n]", text)


def _quoting(code: list[int], prose: list[int], answer: int) -> list[int]:
    random, tokens = np.random.default_rng(0), list[int]()
    while len(tokens) < answer:
        start = int(random.integers(0, len(code) - _QUOTE))
        tokens += prose[len(tokens) :][:_BETWEEN] + code[start : start + _QUOTE]
    return tokens[:answer]


def rounds(draft: Draft, device: PassClock, prompt: NDArray[np.int32], answer: list[int]) -> dict[str, float]:
    """The decode loop with a target that says `answer`: its counts, and the seconds of everything but the passes."""
    counts = {"passes": 0, "drafted": 0, "accepted": 0}
    draft.begin(prompt, AbortFlag())
    said, started = 1, time.process_time()
    draft.accept(answer[:1])
    while said < len(answer):
        tree = draft.propose(min(MOST_NODES, len(answer) - said - 1))
        device.verify(tree)
        accepted = agreed(tree, answer[said:])
        draft.accept(answer[said : said + accepted + 1])
        said += accepted + 1
        for name, count in zip(counts, (1, len(tree), accepted), strict=True):
            counts[name] += count
    return {**counts, "seconds": time.process_time() - started}


def agreed(tree: DraftTree, tokens: Sequence[int]) -> int:
    """How many tokens of a tree, from the root down, are those with which a text continues."""
    node, path = tree.child(ROOT, tokens[0]), 0
    while node is not None:
        path += 1
        node = tree.child(node, tokens[path])
    return path


def drafting(prompt: NDArray[np.int32], answer: list[int], repeat: int) -> dict[str, dict[str, float]]:
    """The figures of each draft."""
    rows = {}
    for name in ("lookup", "auto"):
        runs = []
        for _ in range(repeat):
            device = PassClock()
            draft = LookupDraft() if name == "lookup" else adaptive.AdaptiveDraft(LookupDraft())
            with patch.object(adaptive, "time", device):
                runs.append(rounds(draft, device, prompt, answer))
        seconds = median([run.pop("seconds") for run in runs], _DIGITS)
        each = {"token": len(answer), "pass": runs[0]["passes"]}
        rows[name] = {**runs[0], **{f"us_per_{unit}": round(1e6 * seconds / of, 1) for unit, of in each.items()}}
    return rows


def trees() -> dict[str, DraftTree]:
    """The largest trees there may be: a chain, and one in which two tokens may follow each token."""
    bushy = grow(0, lambda _: [(1, 0.6, 0), (2, 0.4, 0)], MOST_NODES, 0.0)
    return {"chain": chain(range(MOST_NODES), [1.0] * MOST_NODES), "tree": bushy}


def batched(tree: DraftTree) -> object:
    """The batch that llama.cpp gets to verify `tree`."""
    through = tree.branches()
    branched = 1 + max(branch for node in through for branch in node)
    tokens = np.array([0, *tree.tokens], np.int32)
    return tree_batch(tokens, np.array([0, *tree.depths()], np.int32), [list(range(branched)), *through])


def microseconds(work: Callable[[], object], repeat: int, times: int = 200) -> float:
    """Microseconds of processor time that one call takes."""
    took = []
    for _ in range(repeat):
        started = time.process_time()
        for _ in range(times):
            work()
        took.append((time.process_time() - started) / times)
    return round(1e6 * median(took, _DIGITS), 1)


def choices(model: Path, repeat: int) -> dict[str, float]:
    """Microseconds of a greedy choice from a row of logits: as the target makes it, and by llama.cpp's sampler."""
    with closing(LlamaModel(model)) as loaded, closing(LlamaContext(loaded, 64, TargetOptions(n_threads=1))) as context:
        context.decode(np.zeros(1, np.int32), want_logits=True)
        chain_of_one = llama_cpp.llama_sampler_init_greedy()
        by_llama = partial(llama_cpp.llama_sampler_sample, chain_of_one, context.handle, -1)
        with closing(Sampler(Sampling(temperature=0))) as sampler:
            by_us = partial(sampler.sample, context)
            figures = {"ours": microseconds(by_us, repeat), "llama.cpp": microseconds(by_llama, repeat)}
        llama_cpp.llama_sampler_free(chain_of_one)
        return {"vocabulary": len(context.logits()), **figures}


def main() -> None:
    """Measure, print and write results/drafting.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--prompt", type=int, default=2000)
    parser.add_argument("--answer", type=int, default=1500)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--model", metavar="NAME|FILE")
    arguments = parser.parse_args()
    prompt, answers = texts(arguments.prompt, arguments.answer)
    figures: dict[str, object] = {
        "sizes": {"prompt": arguments.prompt, "answer": arguments.answer, "repeat": arguments.repeat},
        "drafting": {load: drafting(prompt, answer, arguments.repeat) for load, answer in answers.items()},
        "batch_us": {name: microseconds(partial(batched, tree), arguments.repeat) for name, tree in trees().items()},
    }
    if arguments.model:
        figures["choice_us"] = choices(locate(arguments.model), arguments.repeat)
    report("drafting", figures)


if __name__ == "__main__":
    main()
