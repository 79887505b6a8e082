"""Would the lookup guess more if it also searched the earlier answers about a workspace, as SuffixDecoding does?

The default target answers the questions of `earlier_answers.toml` in order, greedily, from prompts as the product makes
them on two cores. Its tokens are then decoded again by each of three lookups: over prompt and answer, as in the
product; over the earlier answers about the workspace too; over the earlier prompts too. Costs are counted, not timed:
plain steps, of which passes over 2, 4, 8 and 16 tokens take 1.1, 1.3, 1.8 and 3.2 (AVX-512, two cores).
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from winnow_engine.assistant import Assistant
from winnow_engine.config import FIRST_LOOK_TOKENS, FileRules
from winnow_engine.core import Budget, Folder, Prompt, Sampling
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.question import Question, Turn
from winnow_engine.store import Store
from winnow_engine.targets.drafts.base import MOST_NODES
from winnow_engine.targets.drafts.control import adaptive
from winnow_engine.targets.drafts.lookup import LookupDraft
from winnow_engine.targets.local import session
from winnow_engine.targets.local.decoding import DecodedAnswer, decode
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.studies.drafting import PassClock, rounds

SEARCHED = ("this one", "earlier answers", "earlier answers and prompts")
_WORKSPACES = Path(__file__).with_suffix(".toml")
_MOST_KEPT, _ANSWER = 1600, 192  # tokens; 1,600 are what two cores read in time
_COSTS = {1: 1.1, 3: 1.3, 7: 1.8, 15: 3.2}  # plain steps by drafted tokens
_SECONDS = [*np.interp(range(MOST_NODES), (0, *_COSTS), (1.0, *_COSTS.values())).tolist(), 3.4]
_END = 151_645  # the token that ends Qwen2.5's messages


@dataclass(frozen=True, slots=True)
class Recorded:
    """A question about a workspace with the tokens of its prompt and answer, and the questions and answers so far."""

    repository: str
    kind: str
    follows: bool
    prompt: list[int]
    answer: list[int]
    said: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What an answer took with a lookup: plain decoding's passes, its own, and their cost in plain steps."""

    plain: int
    passes: int
    cost: float


class SessionLookup(LookupDraft):
    """Looks up in earlier texts, too, as if they stood before the prompt, each ended by a message's end."""

    def __init__(self) -> None:
        super().__init__()
        self.earlier: list[list[int]] = []

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Look up in the earlier texts, in `prompt`, and later in the answer too."""
        before = [token for text in self.earlier for token in (*text, _END)]
        super().begin(np.array([*before, *prompt.tolist()], np.int32), abort)


def earlier_texts(before: Sequence[Recorded], prompt: list[int], searched: str) -> list[list[int]]:
    """What is searched beside the prompt; nothing that a later text or the prompt begins with."""
    if searched == SEARCHED[0]:
        return []
    if searched == SEARCHED[1]:
        return [one.answer for one in before]
    texts = [one.prompt + one.answer for one in before]
    later = [[*(one.prompt for one in before[number + 1 :]), prompt] for number in range(len(before))]
    pairs = zip(texts, before, later, strict=True)
    return [text for text, one, others in pairs if not any(_begins_with(other, one.prompt) for other in others)]


def _begins_with(text: list[int], start: list[int]) -> bool:
    return text[: len(start)] == start


def replayed(workspace: Sequence[Recorded], searched: str, *, adapts: bool) -> Iterator[Replayed]:
    """The answers about a workspace, in order; one draft decodes them all."""
    lookup = SessionLookup()
    draft = adaptive.AdaptiveDraft(lookup) if adapts else lookup
    if isinstance(draft, adaptive.AdaptiveDraft):
        draft.know(_COSTS)
    clock = PassClock(_SECONDS)
    for number, one in enumerate(workspace):
        lookup.earlier = earlier_texts(workspace[:number], one.prompt, searched)
        before = clock.perf_counter()
        with patch.object(adaptive, "time", clock):
            counts = rounds(draft, clock, np.array(one.prompt, np.int32), one.answer)
        yield Replayed(len(one.answer) - 1, int(counts["passes"]), clock.perf_counter() - before)


def recorded(name: str, questions: Sequence[Mapping[str, Any]], include: Sequence[str]) -> Iterator[Recorded]:
    """Have the default target answer questions about a repository."""
    [repository] = (one for split in Split for one in repositories(split) if one.name == name)
    sources = Sources((Folder(unpacked(repository.archive)),), FileRules(include=tuple(include)))
    drafter, target = locate(DEFAULT_DRAFTER), locate(DEFAULT_TARGET)
    budget = Budget(first_look_tokens=FIRST_LOOK_TOKENS, most_tokens=_MOST_KEPT, patience_s=600)
    tokens: list[tuple[list[int], list[int]]] = []
    said: list[tuple[str, str]] = []

    def decoded(answer: DecodedAnswer, cache: KvCache, *rest: Any) -> None:
        prompt = cache.tokens.tolist()
        decode(answer, cache, *rest)
        tokens.append((prompt, answer.tokens))

    with (
        tempfile.TemporaryDirectory() as scratch,
        patch.dict(os.environ, WINNOW_CACHE_DIR=scratch),
        patch.object(session, "decode", decoded),
        closing(Store(Path(scratch) / "index.sqlite")) as store,
        closing(Assistant(store, lambda: Drafter(drafter), lambda: LlamaTarget.open(target), remember=True)) as asked,
    ):
        for one in questions:
            follows, texts = one.get("follows", False), list[str]()
            said = said if follows else []
            question = Question(one["text"], earlier=tuple(Turn(*turn) for turn in said))
            asked.ask(sources, question, budget, Sampling(max_tokens=_ANSWER), texts.append)
            said = [*said, (one["text"], "".join(texts))]
            print(f"{name}: {said[-1]}", file=sys.stderr)
            yield Recorded(name, one["kind"], follows, *tokens[-1], said)


def summary(first: Sequence[Replayed], other: Sequence[Replayed]) -> dict[str, Any]:
    """How much faster than the first lookup another is, over all answers; the worst answer, the median and the best."""
    ratios = [one.cost / more.cost for one, more in zip(first, other, strict=True)]
    plain, cost = sum(one.plain for one in other), sum(one.cost for one in other)
    return {
        "tokens_a_pass": round(plain / sum(one.passes for one in other), 2),
        "to_plain": round(plain / cost, 2),
        "to_first": round(sum(one.cost for one in first) / cost, 3),
        "worst_median_best": [round(of(ratios), 2) for of in (min, statistics.median, max)],
    }


def figures(workspaces: Sequence[Sequence[Recorded]], *, adapts: bool) -> dict[str, Any]:
    """By group of questions, the figures of each lookup. `all` leaves out what was asked again."""
    asked = [one for workspace in workspaces for one in workspace]
    rows = {name: [row for one in workspaces for row in replayed(one, name, adapts=adapts)] for name in SEARCHED}
    groups: dict[str, list[int]] = {"all": [], "new": [], "follow-up": []}
    for number, one in enumerate(asked):
        groups.setdefault(one.kind, []).append(number)
        if one.kind != "again":
            also = ("all", one.repository, "follow-up" if one.follows else "new")
            for group in also:
                groups.setdefault(group, []).append(number)
    return {
        group: {"answers": len(own)}
        | {name: summary([rows[SEARCHED[0]][n] for n in own], [rows[name][n] for n in own]) for name in SEARCHED}
        for group, own in groups.items()
        if own
    }


def main() -> None:
    """Record the answers, or read those recorded before; replay, print and write results/earlier_answers.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--recorded", type=Path, metavar="FILE", help="written the first time, read the next")
    file: Path | None = parser.parse_args().recorded
    if file is not None and file.is_file():
        workspaces = [[Recorded(**one) for one in workspace] for workspace in json.loads(file.read_text())]
    else:
        wanted = tomllib.loads(_WORKSPACES.read_text())["workspace"]
        workspaces = [list(recorded(one["repository"], one["question"], one["include"])) for one in wanted]
        if file is not None:
            file.write_text(json.dumps([[asdict(one) for one in workspace] for workspace in workspaces]))
    methods = {"auto": True, "lookup": False}
    report("earlier_answers", {name: figures(workspaces, adapts=adapts) for name, adapts in methods.items()})


if __name__ == "__main__":
    main()
