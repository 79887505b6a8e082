"""What benchmarks share: options, the corpus and models they run on, and how scores are printed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from winnow_engine.assistant import Assistant
from winnow_engine.config import ModelConfig, TargetOptions
from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import WinnowError
from winnow_engine.models.cache import locate
from winnow_engine.reranker.background import BackgroundReranker, open_reranker
from winnow_engine.storage.store import Store
from winnow_engine.targets.base import Target
from winnow_engine.targets.opening import open_target
from winnow_lsp.cli.setting_options import shared
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.evaluation.cache import MOST_BYTES, cache_path
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.scores import Score

_BATCH = 2048  # tokens evaluated at once: a benchmark need not stop within 200 ms

_seed_option = click.option("--seed", default=0, show_default=True)
split_option = click.option(
    "--split", type=click.Choice([one.value for one in Split]), default=Split.TEST.value, show_default=True
)
json_option = click.option("--json", "as_document", is_flag=True, help="Print exactly one JSON object.")
corpus_options = shared(split_option, _seed_option, json_option)


def parse_size(value: str) -> int:
    """A number of tokens from text such as `32k` or `10m`. ValueError if it is none."""
    part = re.fullmatch(r"([1-9]\d*)([km]?)", value, re.IGNORECASE)
    if part is None:
        raise ValueError(f"{value!r} is not a number of tokens such as 32k")
    return int(part[1]) * {"": 1, "k": 1000, "m": 1_000_000}[part[2].lower()]


def parse_sizes(_context: click.Context, _option: click.Parameter, value: str) -> list[int]:
    """Numbers of tokens from text such as `32k,128k`."""
    try:
        return [parse_size(part) for part in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of sizes such as 32k,128k") from error


def say(text: str) -> None:
    """Print a line on stderr, which the next one replaces if stderr is a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}", err=True, nl=False)
    else:
        click.echo(text, err=True)


@dataclass(frozen=True)
class BenchSetup:
    """What a benchmark runs on."""

    corpus: Corpus
    assistant: Assistant
    cancellation: Cancellation


@contextmanager
def opened(drafter: str, target: str, split: str, questions: int, seed: int) -> Iterator[BenchSetup]:
    """The corpus of a split, and an assistant."""
    file = locate(drafter)
    models = ModelConfig(drafter, target)

    def answering() -> Target:
        return open_target(models, TargetOptions(n_ubatch=_BATCH))

    def reranking(drafter: Drafter) -> BackgroundReranker | None:
        reranker = open_reranker(drafter)
        if reranker is not None:
            reranker.begin().wait_for(cancellation)  # a question does for two seconds, or goes without
        return reranker

    corpus = corpus_of(Split(split), file, questions, seed)
    with (
        cancel_on_interrupt() as cancellation,
        closing(Store(cache_path())) as store,
        closing(Assistant(store, lambda: Drafter(file), answering, open_reranker=reranking)) as assistant,
    ):
        yield BenchSetup(corpus, assistant, cancellation)
        store.trim(MOST_BYTES)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError while `path` is written into a WinnowError that names it."""
    try:
        yield
    except OSError as error:
        raise WinnowError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def json_lines(path: Path | None) -> Iterator[Callable[[object], None]]:
    """Writes what it is called with as a line of JSON at once; nowhere without a path. WinnowError if that fails."""
    if path is None:
        yield lambda _: None
        return
    with writing(path):
        file = path.open("w", encoding="utf-8")

    def write(document: object) -> None:
        with writing(path):
            print(json.dumps(document), file=file, flush=True)

    with file:
        yield write


def show(found: Iterable[Score], absent: dict[str, str], as_document: bool, **about: Any) -> None:
    """Print scores as a table, or as one JSON object that begins with the fields `about`."""
    say("")
    if as_document:
        document = about | {"absent": absent, "scores": [score.as_json() for score in found]}
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo("\n".join([*score_table(found), *(f"{method}: {why}" for method, why in absent.items())]))


def score_table(found: Iterable[Score]) -> list[str]:
    """Percentages with 95% intervals: a line for each test and method, a column for each size."""
    cells = {(one.test, one.method, one.tokens): one for one in found}
    columns = sorted({tokens for _, _, tokens in cells})
    lines = [f"{'':44}" + "".join(f"{f'{tokens:,} tokens' if tokens else '':>22}" for tokens in columns)]
    for test, method in dict.fromkeys((test, method) for test, method, _ in cells):
        lines.append(
            f"{f'{test}, {method}':44}" + "".join(_cell(cells.get((test, method, tokens))) for tokens in columns)
        )
    return lines


def _cell(score: Score | None) -> str:
    if score is None:
        return f"{'–':>22}"
    one = score.estimate
    return f"{f'{100 * one.value:.0f} [{100 * one.low:.0f}–{100 * one.high:.0f}] of {score.cases}':>22}"
