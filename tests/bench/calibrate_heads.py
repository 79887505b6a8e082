"""Find the scoring heads of a drafter that has no adapter: which heads lead from a description to its function?

    python tests/bench/calibrate_heads.py --drafter GGUF [--layers 12] [--out PROFILE.json]

Questions are first sentences of docstrings from Python's standard library, whose own docstring is taken out of the
haystack; the library's packages are the calibration split, and odd-numbered haystacks judge what even ones chose.
Heads join one at a time, each the one that raises the mean reciprocal rank most, while it rises.
"""

from __future__ import annotations

from winnow_lsp.process import prepare

prepare()

import argparse  # noqa: E402
import ast  # noqa: E402
import json  # noqa: E402
import random  # noqa: E402
import re  # noqa: E402
import sysconfig  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from winnow_engine.core import Cancellation  # noqa: E402
from winnow_engine.drafter.drafter import Drafter, FileText  # noqa: E402
from winnow_engine.drafter.heads import HeadsProfile, ScoringHead  # noqa: E402
from winnow_engine.drafter.profile import concatenate  # noqa: E402
from winnow_engine.drafter.weights import shape_of  # noqa: E402
from winnow_engine.models.gguf_header import read_header  # noqa: E402

PACKAGES = ("email", "http", "json", "logging", "unittest", "urllib", "xml", "asyncio", "concurrent", "importlib")
HAYSTACKS, TOKENS, QUESTIONS, MOST_HEADS = 10, 6_000, 10, 6
FEATURES = ("all", "body", "peak")


@dataclass(frozen=True)
class Haystack:
    """Functions without their docstrings, by file, and the sentences that describe some of them."""

    files: list[FileText]
    questions: list[tuple[str, int]]  # sentence, number of the unit


def functions(path: Path) -> Iterator[tuple[str, str | None]]:
    """Each function's source without its docstring, and the docstring's first sentence if it makes a question."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not 4 <= node.end_lineno - node.lineno <= 60:
            continue
        lines, first, docstring = source.splitlines(), node.body[0], ast.get_docstring(node)
        sentence = re.split(r"(?<=[.!?])\s|\n\n", (docstring or "").strip())[0].replace("\n", " ")
        dropped = range(first.lineno, first.end_lineno + 1) if docstring else ()
        code = "".join(f"{lines[n - 1]}\n" for n in range(node.lineno, node.end_lineno + 1) if n not in dropped)
        fits = 6 <= len(sentence.split()) <= 40 and node.name.strip("_").lower() not in sentence.lower()
        yield code, sentence if fits else None


def haystacks(drafter: Drafter) -> Iterator[Haystack]:
    """Haystacks of about TOKENS tokens."""
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = [path for package in PACKAGES for path in sorted((library / package).glob("**/*.py"))]
    random.Random(5).shuffle(paths)
    supply = iter(paths)
    for _ in range(HAYSTACKS):
        files, questions, used = [], [], 0
        while used < TOKENS:
            path = next(supply)
            found = list(functions(path))[:20]
            base = sum(len(file.units) for file in files)
            questions += [(sentence, base + i) for i, (_, sentence) in enumerate(found) if sentence]
            if not found:
                continue
            files.append(FileText(path.relative_to(library).as_posix(), tuple(code for code, _ in found)))
            used += sum(map(drafter.count, files[-1].units))
        if questions:
            yield Haystack(files, questions[:QUESTIONS])


def reciprocal_rank(scores: np.ndarray, gold: int) -> float:
    """1 / (1 + units ahead of the right one)."""
    return 1.0 / (1 + int((scores > scores[gold]).sum()))


def measure(drafter: Drafter, profile: HeadsProfile) -> list[list[tuple[np.ndarray, int]]]:
    """For each haystack and question: features [heads, U] and the right unit."""
    measured = []
    for haystack in haystacks(drafter):
        keys = list(drafter.encode(haystack.files, Cancellation()))
        offsets = np.cumsum([0, *np.concatenate([k.unit_tokens for k in keys])])
        arrays = concatenate([k.arrays for k in keys])
        states = [drafter.question_states(sentence) for sentence, _ in haystack.questions]
        null = np.mean([profile.features(arrays, offsets, state) for state in states[0][1]], axis=0)
        features = [profile.features(arrays, offsets, asked) - null for asked, _ in states]
        measured.append(list(zip(features, (unit for _, unit in haystack.questions), strict=True)))
        print(f"{len(haystack.questions)} questions over {offsets[-1]:,} tokens", flush=True)
    return measured


def mean_rank(cases: list[tuple[np.ndarray, int]], heads: list[int]) -> float:
    """Mean reciprocal rank of the sum of some heads' features."""
    return float(np.mean([reciprocal_rank(features[heads].sum(0), unit) for features, unit in cases]))


def choose(cases: list[tuple[np.ndarray, int]]) -> list[int]:
    """Heads in the order in which each raised the mean reciprocal rank most."""
    chosen: list[int] = []
    best = 0.0
    while len(chosen) < MOST_HEADS:
        tried = [(mean_rank(cases, [*chosen, h]), h) for h in range(len(cases[0][0])) if h not in chosen]
        rank, head = max(tried)
        if rank <= best + 0.003:
            break
        best = rank
        chosen.append(head)
    return chosen


def main() -> None:
    """Measure, choose, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drafter", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    shape = shape_of(read_header(options.drafter), options.layers)
    candidates = [
        ScoringHead(layer, head, feature, 1.0)
        for layer in range(shape.layers)
        for head in range(shape.heads)
        for feature in FEATURES
    ]
    profile = HeadsProfile(candidates, shape.group)
    measured = measure(Drafter(options.drafter, profile), profile)
    chosen_on, judged_on = ([case for cases in measured[start::2] for case in cases] for start in (0, 1))
    chosen = choose(chosen_on)
    for count in range(1, len(chosen) + 1):
        ranks = [mean_rank(cases, chosen[:count]) for cases in (chosen_on, judged_on)]
        print(f"{count} heads: reciprocal rank {ranks[0]:.3f} chosen on, {ranks[1]:.3f} judged on")
    everything = list(range(len(candidates)))
    print(f"all {len(candidates)} features: {mean_rank(judged_on, everything):.3f} judged on")
    heads = [vars_of(candidates[index]) for index in chosen]
    document = json.dumps({"heads": heads}, indent=2) + "\n"
    print(document)
    if options.out:
        options.out.write_text(document)


def vars_of(head: ScoringHead) -> dict[str, object]:
    """A scoring head as a profile's JSON has it."""
    return {"layer": head.layer, "head": head.head, "feature": head.feature, "weight": head.weight}


if __name__ == "__main__":
    main()
