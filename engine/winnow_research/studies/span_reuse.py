"""Can the KV memory of code that was read on its own be put together, instead of reading the whole prompt?

Prompts ask which of some functions of click does what a docstring says. Each function is read apart. Its keys are moved
to where it stands in the prompt (`llama_memory_seq_add`), its first k tokens are read again behind everything that
stands before it (as in EPIC, arXiv 2410.15332), and then the question is read. To read apart means alone, or behind the
system's message (as in Block-Attention, arXiv 2409.15355). CacheBlend (arXiv 2405.16444) reads single tokens all over
the prompt again; llama.cpp cannot evaluate such gaps in one batch, and one by one they cost more than the whole prompt.

Each variant is compared with the prompt read whole, over the 64 tokens of its greedy answer: KL divergence of the next
token (nats, mean), share of equal likeliest tokens, share of equal answers, and answers that name the right function.
"""

from __future__ import annotations

import ast
import ctypes
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from winnow_engine.llama.log import silence
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.prompting.layout import SYSTEM
from winnow_engine.system import physical_cores
from winnow_research.click_sources import fetch
from winnow_research.machine import report
from winnow_research.studies import study_parser

Ids = NDArray[np.int32]
Apart = Literal["alone", "behind the system's message"]

_ANSWER, _BATCH, _WHOLE, _SPARE = 64, 512, 0, 1
_VARIANTS: tuple[tuple[Apart, float], ...] = (
    ("alone", 0),
    ("alone", 16),
    ("behind the system's message", 0),
    ("behind the system's message", 16),
    ("behind the system's message", 0.25),
)
_INT, _BYTE = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_uint8)


@dataclass(frozen=True, slots=True)
class SpanPrompt:
    """A prompt in pieces, and the name of the function that its answer should give."""

    head: Ids
    spans: tuple[Ids, ...]
    tail: Ids
    name: str

    @property
    def prompt(self) -> Ids:
        """The whole prompt."""
        return np.concatenate([self.head, *self.spans, self.tail])


class SpanMemory:
    """A context with two sequences: that of the whole prompt, and a spare one to move spans through."""

    def __init__(self, model: LlamaModel, n_ctx: int, threads: int) -> None:
        silence()
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = n_ctx, _BATCH, _BATCH
        params.n_seq_max, params.kv_unified = 2, True
        params.n_threads = params.n_threads_batch = threads
        self.handle = llama_cpp.llama_init_from_model(model.handle, params)
        self.memory = llama_cpp.llama_get_memory(self.handle)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(model.vocabulary))

    def read(self, tokens: Ids, start: int, batch: int = _BATCH) -> NDArray[np.float32]:
        """Evaluate tokens at positions from `start` on; the logits behind the last one, shape (vocabulary,)."""
        return [self._read(tokens[i : i + batch], start + i, 1) for i in range(0, len(tokens), batch)][-1][0]

    def read_each(self, tokens: Ids, start: int) -> NDArray[np.float32]:
        """Like `read`, for at most one batch; the logits behind each token, shape (tokens, vocabulary)."""
        return self._read(tokens, start, len(tokens))

    def _read(self, tokens: Ids, start: int, rows: int) -> NDArray[np.float32]:
        count = len(tokens)
        tokens, positions = np.ascontiguousarray(tokens), np.arange(start, start + count, dtype=np.int32)
        counts, own, outputs = np.ones(count, np.int32), np.zeros(1, np.int32), np.zeros(count, np.int8)
        outputs[-rows:] = 1
        owners = (_INT * count)(*[own.ctypes.data_as(_INT)] * count)
        pointers = (tokens.ctypes.data_as(_INT), None, positions.ctypes.data_as(_INT), counts.ctypes.data_as(_INT))
        flags = outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))
        batch = llama_cpp.llama_batch(count, *pointers, ctypes.cast(owners, ctypes.POINTER(_INT)), flags)
        status = llama_cpp.llama_decode(self.handle, batch)
        assert status == 0, status
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(self.handle), (rows, self.n_vocab)).copy()

    def state(self) -> NDArray[np.uint8]:
        """The state of the whole sequence."""
        state = np.empty(llama_cpp.llama_state_seq_get_size(self.handle, _WHOLE), np.uint8)
        llama_cpp.llama_state_seq_get_data(self.handle, state.ctypes.data_as(_BYTE), len(state), _WHOLE)
        return state

    def put(self, state: NDArray[np.uint8], first: int, by: int) -> None:
        """Append the tokens of a state from position `first` on to the whole sequence, moved by `by` positions."""
        done = llama_cpp.llama_state_seq_set_data(self.handle, state.ctypes.data_as(_BYTE), len(state), _SPARE)
        assert done == len(state)
        llama_cpp.llama_memory_seq_rm(self.memory, _SPARE, 0, first)
        llama_cpp.llama_memory_seq_add(self.memory, _SPARE, first, -1, by)
        llama_cpp.llama_memory_seq_cp(self.memory, _SPARE, _WHOLE, -1, -1)
        llama_cpp.llama_memory_seq_rm(self.memory, _SPARE, -1, -1)

    def forget(self, start: int = 0) -> None:
        """Forget the whole sequence from a position on."""
        llama_cpp.llama_memory_seq_rm(self.memory, _WHOLE, start, -1)


def apart(memory: SpanMemory, case: SpanPrompt, how: Apart) -> list[NDArray[np.uint8]]:
    """The state of each span, read apart."""
    states = []
    for span in case.spans:
        memory.forget()
        memory.read(span if how == "alone" else np.concatenate([case.head, span]), 0)
        states.append(memory.state())
    memory.forget()
    return states


def assemble(
    memory: SpanMemory, case: SpanPrompt, how: Apart, again: float, states: Sequence[NDArray[np.uint8]]
) -> tuple[NDArray[np.float32], int]:
    """Put the prompt together behind its head: the logits behind its last token, and the number of tokens evaluated."""
    position, evaluated = len(case.head), len(case.tail)
    for span, state in zip(case.spans, states, strict=True):
        first = min(len(span) - 1, int(again * len(span)) if again < 1 else int(again))
        start = 0 if how == "alone" else len(case.head)
        if first:
            memory.read(span[:first], position)
        memory.put(state, start + first, position - start)
        position, evaluated = position + len(span), evaluated + first
    return memory.read(case.tail, position), evaluated


def answer(memory: SpanMemory, logits: NDArray[np.float32], position: int, stop: Vocabulary) -> Ids:
    """The greedy answer that follows these logits, which is forgotten again."""
    ids: list[int] = [int(logits.argmax())]
    while len(ids) < _ANSWER and not stop.is_end(ids[-1]):
        row = memory.read(np.array(ids[-1:], np.int32), position + len(ids) - 1)
        ids.append(int(row.argmax()))
    memory.forget(position)
    return np.array(ids, np.int32)


def judged(memory: SpanMemory, logits: NDArray[np.float32], position: int, answered: Ids) -> NDArray[np.float64]:
    """Log-probabilities of all tokens at each place of a given answer, shape (tokens, vocabulary)."""
    rows = memory.read_each(answered[:-1], position) if len(answered) > 1 else np.empty((0, len(logits)), np.float32)
    memory.forget(position)
    scores = np.concatenate([logits[None], rows]).astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def cases(vocabulary: Vocabulary, count: int, spans: int) -> list[SpanPrompt]:
    """Prompts with functions of click that have docstrings. Each asks for one of its functions."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((fetch() / "src" / "click").glob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            told = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and told and 9 <= (node.end_lineno or 0) - node.lineno <= 30:
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                found[node.name] = ("\n".join(lines), told.split(".")[0].replace("\n", " "))
    chance, made = random.Random(5), []
    for _ in range(count):
        names = chance.sample(sorted(found), spans)
        wanted = chance.choice(names)
        question = f'Question: Which function is described as "{found[wanted][1]}"? Name it, then explain how it works.'
        head = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"
        tail = f"\n{question}<|im_end|>\n<|im_start|>assistant\n"
        texts = [f"click/core.py\n{found[name][0]}\n\n" for name in names]
        pieces = tuple(vocabulary.tokenize(text) for text in texts)
        ends = (vocabulary.tokenize(text, special=True) for text in (head, tail))
        made.append(SpanPrompt(next(ends), pieces, next(ends), wanted))
    return made


class Tally:
    """Sums of one variant's figures over all cases."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.cases = 0

    def add(self, **figures: float) -> None:
        """Add the figures of one case."""
        self.cases += 1
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def means(self) -> dict[str, float]:
        """The mean of each figure, to four places."""
        return {name: round(total / self.cases, 4) for name, total in self.sums.items()}


def measure(memory: SpanMemory, vocabulary: Vocabulary, made: list[SpanPrompt]) -> dict[str, Any]:
    """The figures of all variants, over all cases."""
    tallies: dict[str, Tally] = {}
    for number, case in enumerate(made):
        prompt, length = case.prompt, len(case.prompt)
        memory.forget()
        memory.read(case.head, 0)
        started = time.perf_counter()
        logits = memory.read(prompt[len(case.head) :], len(case.head))
        whole_s = time.perf_counter() - started
        wanted = answer(memory, logits, length, vocabulary)
        reference = judged(memory, logits, length, wanted)
        right = case.name in said(vocabulary, wanted)
        tallies.setdefault("whole", Tally()).add(
            tokens=length, evaluated=length - len(case.head), seconds=whole_s, named=right
        )

        def note(label: str, logits: NDArray[np.float32], evaluated: int, seconds: float) -> None:
            given = answer(memory, logits, length, vocabulary)  # noqa: B023
            scores = judged(memory, logits, length, wanted)  # noqa: B023
            divergence = (np.exp(reference) * (reference - scores)).sum(axis=1)  # noqa: B023
            tallies.setdefault(label, Tally()).add(
                evaluated=evaluated,
                seconds=seconds,
                kl=divergence.mean(),
                kl_first=divergence[0],
                same_choice=(reference.argmax(1) == scores.argmax(1)).mean(),  # noqa: B023
                same_answer=np.array_equal(given, wanted),  # noqa: B023
                same_until=_same_until(given, wanted),  # noqa: B023
                named=case.name in said(vocabulary, given),  # noqa: B023
            )

        memory.forget()
        note("whole, in batches of 64", memory.read(prompt, 0, 64), length - len(case.head), 0)
        memory.forget()
        blind = np.concatenate([case.head, case.tail])
        position = len(blind)
        given = answer(memory, memory.read(blind, 0), position, vocabulary)
        tallies.setdefault("without the code", Tally()).add(named=case.name in said(vocabulary, given))
        for how in ("alone", "behind the system's message"):
            states = apart(memory, case, how)
            for again in (again for variant, again in _VARIANTS if variant == how):
                memory.forget()
                memory.read(case.head, 0)
                started = time.perf_counter()
                logits, evaluated = assemble(memory, case, how, again, states)
                seconds = time.perf_counter() - started
                note(f"{how}, {again:g} again", logits, evaluated, seconds)
        print(number + 1, "of", len(made), {name: tally.means() for name, tally in tallies.items()}, flush=True)
    return {name: tally.means() for name, tally in tallies.items()}


def _same_until(left: Ids, right: Ids) -> int:
    """How many tokens two answers begin with in common."""
    pairs = zip(left.tolist(), right.tolist(), strict=False)
    return next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def said(vocabulary: Vocabulary, ids: Ids) -> str:
    """An answer as text."""
    return vocabulary.text(map(int, ids))


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--model", default=DEFAULT_DRAFTER)
    parser.add_argument("--cases", type=int, default=8)
    parser.add_argument("--spans", type=int, default=6)
    parser.add_argument("--threads", type=int, default=physical_cores())
    options = parser.parse_args()
    model = LlamaModel(locate(options.model))
    vocabulary = Vocabulary(model)
    made = cases(vocabulary, options.cases, options.spans)
    memory = SpanMemory(model, 2 * max(len(case.prompt) for case in made) + 512, options.threads)
    figures = measure(memory, vocabulary, made)
    report(f"span_reuse-{options.model}", {"model": options.model, "cases": len(made), **figures})


if __name__ == "__main__":
    main()
