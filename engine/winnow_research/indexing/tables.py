"""What `winnow bench index` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures of one folder."""
    memory, question, again = found["memory"], found["question"], found["new_process"]
    yield f"{found['tokens']:,} tokens, {found['files']:,} files, {found['units']:,} units"
    yield f"  text to searchable   {found['seconds']:9.2f} s, {found['tokens_per_s']:,} tokens/s"
    yield f"  on disk              {found['stored_bytes_a_token']:9.1f} bytes a token"
    grown = memory["peak_bytes"] - memory["before_bytes"]
    more = f"{memory['peak_bytes'] / 1e9:.2f} in all, {memory['children_bytes'] / 1e9:.2f} in other processes"
    yield f"  memory               {grown / 1e9:9.2f} GB beside what was there, {more}"
    changed = f"{found['nothing_changed_s']:9.3f} s, in a new process {again['nothing_changed_s']:.3f}"
    yield f"  nothing changed      {changed}"
    edited = sorted(found["edited_s"])
    yield f"  one file saved       {edited[len(edited) // 2]:9.3f} s until fresh, at most {edited[-1]:.3f}"
    asked = f"{question['median_s']:9.3f} s, the first {question['first_s']:.3f}"
    yield f"  a question           {asked}, {_stages(question)}"
    yield f"  first in a new process {again['first_question_s']:7.3f} s"


def _stages(question: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {seconds:.3f}" for name, seconds in question["stages_s"].items() if seconds >= 0.0005)
