"""What `winnow bench index` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures of one folder."""
    memory, question, again = found["memory"], found["question"], found["new_process"]
    yield f"{found['tokens']:,} tokens, {found['files']:,} files, {found['units']:,} units"
    yield f"  text to searchable   {found['seconds']:9.2f} s, {found['tokens_per_s']:,} tokens/s"
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in found["one_core_tokens_per_s"].items())
    yield f"  one core, tokens/s   {rates}"
    yield f"  on disk              {found['stored_bytes_a_token']:9.1f} bytes a token"
    grown = memory["peak_bytes"] - memory["before_bytes"]
    more = f"{memory['peak_bytes'] / 1e9:.2f} in all, {memory['children_bytes'] / 1e9:.2f} in other processes"
    yield f"  memory               {grown / 1e9:9.2f} GB beside what was there, {more}"
    changed = f"{found['nothing_changed_s']:9.3f} s, in a new process {again['nothing_changed_s']:.3f}"
    yield f"  nothing changed      {changed}"
    edited = sorted(found["edited_s"])
    yield f"  one file saved       {edited[len(edited) // 2]:9.3f} s until fresh, at most {edited[-1]:.3f}"
    long = found["long_file"]
    yield f"  {long['lines']:5,} lines saved    {_spread(long['searchable_s'])} until searchable"
    yield f"    a question at once {_spread(long['asked_s'])}"
    yield f"    complete           {_spread(long['saved_s'])}"
    asked = f"{question['median_s']:9.3f} s, the first {question['first_s']:.3f}"
    yield f"  a question           {asked}, {_stages(question)}"
    yield f"  first in a new process {again['first_question_s']:7.3f} s"


def _spread(seconds: Sequence[float]) -> str:
    half, most, longest = np.percentile(seconds, [50, 95, 100])
    return f"{half:9.3f} s, p95 {most:.3f}, at most {longest:.3f}"


def _stages(question: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {seconds:.3f}" for name, seconds in question["stages_s"].items() if seconds >= 0.0005)
