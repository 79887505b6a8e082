"""What `winnow bench ttft` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from winnow_engine.core import counted
from winnow_research.first_token.run import BUDGETS, ROWS, VANILLA, WINNOW
from winnow_research.first_token.winnow import STATES


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures of one size."""
    yield f"{found['tokens']:,} tokens in {counted(found['files'], 'file')}, {counted(found['questions'], 'question')}"
    vanilla = found.get(VANILLA, {})
    yield from _row("vanilla", vanilla, None, f", {vanilla.get('best', '')}")
    reference = vanilla.get("median_s")
    for budget in BUDGETS:
        yield from _budget(budget, found.get(WINNOW, {}), reference)
    if placement := found.get(WINNOW, {}).get("placement"):
        yield f"  {', '.join(f'{name} {value}' for name, value in placement.items())}"
    for row in ROWS:
        yield from _extra(row, found.get(row, {}))


def _budget(budget: str, found: Mapping[str, Any], reference: float | None) -> Iterator[str]:
    if budget not in found:
        return
    for state in STATES:
        yield from _row(f"{budget}, {state}", found[budget][state], reference, "")
    golds = found[budget]["golds"]
    kept = f"{golds['whole']} of {golds['questions']} questions, {golds['lines']:.0%} of golds' lines"
    yield f"  {budget}: everything needed is kept for {kept}"


def _row(name: str, found: Mapping[str, Any], reference: float | None, more: str) -> Iterator[str]:
    if "median_s" not in found:
        return
    low, high = found["range_s"]
    ratio = f", {reference / found['median_s']:.1f} times faster" if reference else ""
    yield f"  {name:18}{found['median_s']:9.3f} s [{low:.3f}–{high:.3f}] of {len(found['seconds'])}{ratio}{more}"
    yield f"  {'':18}{', '.join(_stages(found['stages_s']))}; {found['prompt_tokens']:,.0f} tokens of prompt"


def _stages(stages: Mapping[str, float]) -> Iterable[str]:
    return (f"{name} {seconds:.3f}" for name, seconds in stages.items() if seconds >= 0.0005)


def _extra(row: str, found: Mapping[str, Any]) -> Iterator[str]:
    """Why a row is missing, and its peak of memory."""
    if "absent" in found:
        yield f"  {row}: {found['absent']}"
    if "memory" in found:
        peak = found["memory"]
        device = f", {peak['device_bytes'] / 1e9:.1f} GB of the device" if peak["device_bytes"] else ""
        host = (
            f"{peak['host_anonymous_bytes'] / 1e9:.2f} GB beside mapped files, {peak['host_bytes'] / 1e9:.2f} GB in all"
        )
        yield f"  {row}: at most {host}{device}"
