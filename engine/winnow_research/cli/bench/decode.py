"""`winnow bench decode`: how fast the target decodes with each draft, and whether answers stay the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click

from winnow_engine.config import TargetOptions
from winnow_engine.core import Cancellation, Sampling
from winnow_engine.errors import WinnowError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.cache import locate
from winnow_engine.targets.drafts import open_draft
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.opening import draft_model
from winnow_lsp.cli.setting_options import target_option
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.cli.bench.shared import say, writing
from winnow_research.decode.bench import PLAIN, DecodeBench, DraftFigure, TimedDecoding, figures
from winnow_research.decode.loads import LOADS
from winnow_research.evaluation.repositories import PinnedRepository, Split, repositories
from winnow_research.machine import describe

_REPOSITORIES = {one.name: one for one in repositories(Split.TEST)}
_BYTES = 4  # of code a token, about


@click.command()
@target_option
@click.option("--draft", "drafts", multiple=True, metavar="auto|lookup|FILE", help="Only this one [auto, lookup].")
@click.option("--load", "loads", multiple=True, type=click.Choice(list(LOADS)), help="Only this one [all].")
@click.option("--repository", type=click.Choice(list(_REPOSITORIES)), default="click", show_default=True)
@click.option("--prompts", type=click.IntRange(1), default=8, show_default=True, help="Of each load.")
@click.option("--code", type=click.IntRange(1), default=1000, show_default=True, help="Tokens of code in a prompt.")
@click.option("--max-tokens", type=click.IntRange(2), default=160, show_default=True, help="Longest answer.")
@click.option("--threads", type=click.IntRange(1), help="Of the target [one a physical core].")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write JSON here after each prompt.")
@click.option("--json", "as_document", is_flag=True, help="Print exactly one JSON object.")
def decode(
    target: str,
    drafts: tuple[str, ...],
    loads: tuple[str, ...],
    repository: str,
    prompts: int,
    code: int,
    max_tokens: int,
    threads: int | None,
    seed: int,
    out: Path | None,
    as_document: bool,
) -> None:
    """How fast the target decodes with each draft and without one, and whether the answers stay the same.

    Decoding is greedy; drafts take turns. Quotes and explanations are about a pinned repository, which is fetched on
    first use, as HumanEval is. Without --json, figures are printed when each load is done.
    """
    about = {"target": target, "repository": repository, "code": code, "seed": seed, "threads": threads}
    with ExitStack() as stack:
        run = _DecodeRun(about, out)
        cancellation = stack.enter_context(cancel_on_interrupt())
        bench = _opened(locate(target), drafts or ("auto", "lookup"), threads, stack)
        if not as_document:
            _say_all([_machine_line()])
        for load in loads or LOADS:
            for found in _answers(
                bench, load, _REPOSITORIES[repository], code, prompts, seed, max_tokens, cancellation
            ):
                run.add(found)
            if not as_document:
                _say_all([_line(one) for one in figures(run.timed) if one.load == load])
    if as_document:
        _say_all([run.document()])


class _DecodeRun:
    """What has been measured so far; written to a file, if one is given, after each prompt."""

    def __init__(self, about: dict[str, Any], out: Path | None) -> None:
        self.timed: list[TimedDecoding] = []
        self._about, self._out = about, out
        self._write()

    def add(self, found: Sequence[TimedDecoding]) -> None:
        """Add the answers to one more prompt."""
        self.timed += found
        self._write()

    def document(self) -> str:
        """All of it as one JSON object."""
        document = {"machine": describe(), **self._about}
        document["figures"] = [asdict(one) for one in figures(self.timed)]
        document["answers"] = [asdict(one) for one in self.timed]
        return json.dumps(document, indent=2)

    def _write(self) -> None:
        if self._out is None:
            return
        unfinished = self._out.with_name(f"{self._out.name}.part")
        with writing(self._out):
            unfinished.write_text(f"{self.document()}\n", encoding="utf-8")
            unfinished.replace(self._out)


def _opened(file: Path, drafts: Sequence[str], threads: int | None, stack: ExitStack) -> DecodeBench:
    model = LlamaModel(file)
    if not model.rolls_back:
        model.close()
        raise WinnowError(f"there is nothing to measure: the recurrent memory of {file.name} cannot roll back")
    made: dict[str, Draft] = {}
    for name in drafts:
        made[name] = stack.enter_context(
            closing(open_draft(TargetOptions(n_threads=threads, speculate=draft_model(name)), model))
        )
    return stack.enter_context(closing(DecodeBench(model, made, TargetOptions(n_threads=threads))))


def _answers(
    bench: DecodeBench,
    load: str,
    repository: PinnedRepository,
    code: int,
    prompts: int,
    seed: int,
    max_tokens: int,
    cancellation: Cancellation,
) -> Iterator[list[TimedDecoding]]:
    """For each prompt, its answers with all drafts."""
    messages = LOADS[load](repository, code * _BYTES, random.Random(f"{seed}/{load}"), None)
    for number, prompt in enumerate(islice(messages, prompts), 1):
        found: list[TimedDecoding] = []
        for one in bench.answers(load, prompt, Sampling(max_tokens=max_tokens), cancellation):
            say(f"{load} {number}/{prompts}, {one.draft}: {one.tokens} tokens in {one.seconds:.1f} s")
            found.append(one)
        yield found


def _say_all(lines: Iterable[str]) -> None:
    say("")
    click.echo("\n".join(lines))


def _machine_line() -> str:
    return ", ".join(f"{name} {value}" for name, value in describe().items())


def _line(one: DraftFigure) -> str:
    speed = f"{one.tokens_per_s:6.1f} tokens/s"
    if one.draft == PLAIN:
        return f"{one.load:10} {one.draft:24} {speed}, {one.tokens} tokens of {one.answers} answers"
    same = f"{one.different} differ" + ("" if one.widest_gap is None else f" at gaps up to {one.widest_gap:.3f}")
    ratio = f"{one.ratio:5.2f} times plain (least {one.lowest_ratio:.2f}, by work {one.work_ratio:.2f})"
    length = f"{one.tokens_per_round:.2f} tokens a pass, {one.accepted} of {one.drafted} drafted were right"
    return f"{one.load:10} {one.draft:24} {speed}, {ratio}, {length}, {same}"
