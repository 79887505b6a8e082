"""Does `find_code` help an agent? The target answers questions with tools: grep and reading, `find_code`, or all three.

The agent is a loop around the target. It must call a tool until one succeeds, may call eight times in all, and then has
to answer; where its answer has no place or letter, it is asked for that once more.
*real* questions are right if the first place that the answer names, as `path:lines` or as JSON, overlaps a gold;
*choices* if it names the right letter. `read` are the tokens of all results, `seconds` wall clock with models loaded
and indexed.

Several processes may each take a part of the repositories (`--part 0/4`); `--join` puts their files together.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.chat.complete import CompletionRequest, complete
from winnow_engine.chat.sent import SentConversations
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Cancellation, Folder, Sampling
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.errors import WinnowError
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_engine.question import Question
from winnow_engine.store import Store
from winnow_engine.targets.local.target import LlamaTarget
from winnow_lsp.mcp.fitting import text_of
from winnow_lsp.mcp.repository import code_budget, found_code, known_paths
from winnow_lsp.mcp.results import FindCode
from winnow_lsp.mcp.server import TOOLS
from winnow_research.evaluation.answers import facts
from winnow_research.evaluation.answers.items import Item
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import load
from winnow_research.machine import report
from winnow_research.studies import study_parser

CALLS = 8
_MOST_LINES = 60  # of grep's result, and of a file at once three times as many
_LINE = 200  # characters
_SYSTEM = (
    "You answer a question about a repository. Find the code with the tools, in at most 8 calls; a path in a result "
    "can be given to a tool as it stands. "
)
_ENDS = {
    "real": "When you know the place, answer with nothing but the file and lines that answer the question best, as "
    "`path:first-last`.",
    "choices": "When you know, answer with the letter of the right option only.",
}
_PLACE = re.compile(r"(?P<path>[\w@./+-]+\.\w+):(?P<first>\d+)(?:-(?P<last>\d+))?")
_FORMS = {"real": _PLACE, "choices": re.compile(r"\b[A-D]\b")}
_AGAIN = {
    "real": "Answer with nothing but the file and lines that answer the question best, as `path:first-last`.",
    "choices": "Answer with the letter of the right option only.",
}
_ERROR, _NOTHING = "error: ", "no line matches"
_FAILED = (_ERROR, _NOTHING)
_JSON_PLACE = re.compile(  # as find_code's results have it
    r'"path": ?"(?P<path>[^"]+)", ?"start_line": ?(?P<first>\d+)(?:, ?"end_line": ?(?P<last>\d+))?'
)
_CONDITIONS = {"grep": ("grep", "read_file"), "find_code": ("find_code",), "both": ("find_code", "grep", "read_file")}


def _function(name: str, description: str, **parameters: str) -> dict[str, Any]:
    """A tool whose parameters are all needed: numbers where their names say so."""
    kinds = {
        key: {"type": "integer" if "line" in key else "string", "description": text} for key, text in parameters.items()
    }
    schema = {"type": "object", "properties": kinds, "required": list(kinds)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_FIND = TOOLS["find_code"].described()
_DEFINITIONS = {
    "grep": _function(
        "grep",
        "Lists the lines of all files that match a regular expression, as path:line: text.",
        pattern="A regular expression; letters match in either case.",
    ),
    "read_file": _function(
        "read_file",
        f"Shows lines of a file, {3 * _MOST_LINES} at most.",
        path="The file.",
        first_line="The first line to show, from 1.",
    ),
    "find_code": {
        "type": "function",
        "function": {"name": "find_code", "description": _FIND.description, "parameters": _FIND.input_schema},
    },
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of kind `real` or `choices`, and what judges its answer."""

    kind: str
    text: str
    right: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Run:
    """What one question cost with some tools, and whether the answer was right."""

    kind: str
    tools: str
    question: str
    right: bool
    calls: int
    read: int
    seconds: float
    answer: str


class Tooling:
    """The tools of one repository."""

    def __init__(self, assistant: Assistant, sources: Sources) -> None:
        self._assistant, self._sources = assistant, sources
        self._workspace: Workspace = assistant.index(sources)

    def call(self, call: ToolCall) -> str:
        """The result of a call, or what is wrong with it."""
        try:
            parameters = _DEFINITIONS[call.name]["function"]["parameters"]["properties"]
            arguments = {name: value for name, value in json.loads(call.arguments).items() if name in parameters}
            tools: Mapping[str, Callable[..., str]] = {
                "grep": self._grep,
                "read_file": self._read,
                "find_code": self._find,
            }
            return tools[call.name](**arguments)
        except (ValueError, TypeError, KeyError, AttributeError, re.error, WinnowError) as error:
            return f"{_ERROR}{error}"

    def _grep(self, pattern: str) -> str:
        wanted = re.compile(pattern, re.IGNORECASE)
        lines = (
            f"{file.path}:{number}: {line.strip()[:_LINE]}"
            for file in self._workspace.files
            for number, line in enumerate(file.data.decode("utf-8", "replace").split("\n"), 1)
            if wanted.search(line)
        )
        found = list(islice(lines, _MOST_LINES + 1))
        more = ["(more lines match: use a narrower pattern)"] if len(found) > _MOST_LINES else []
        return "\n".join(found[:_MOST_LINES] + more) or _NOTHING

    def _read(self, path: str, first_line: int = 1) -> str:
        file = self._workspace.files[self._workspace.file_number(path)]
        file.check_line(first_line)
        last = min(first_line + 3 * _MOST_LINES - 1, file.line_count)
        lines = file.text_of_lines(first_line, last).split("\n")
        return "\n".join(f"{number} {line}" for number, line in enumerate(lines, first_line))

    def _find(self, **arguments: Any) -> str:
        asked = FindCode.model_validate(arguments)
        question = Question(asked.question, paths=known_paths(self._workspace, asked.paths)[0])
        selection = self._assistant.select(self._sources, question, code_budget(Budget(), asked.budget))
        return text_of(found_code(selection, asked.budget, self._assistant.keys.wait_for(Cancellation()).drafter.count))


def answered(assistant: Assistant, tooling: Tooling, asked: Asked, condition: str) -> Run:
    """Let the agent answer one question with the tools of a condition."""
    assert assistant.target is not None
    count = assistant.target.wait_for(Cancellation()).count
    offered = Tools(tuple(_DEFINITIONS[name] for name in _CONDITIONS[condition]), parallel=False)
    messages = [Message("system", _SYSTEM + _ENDS[asked.kind]), Message("user", asked.text)]
    calls = read = 0
    knows = asked_again = False
    started = time.perf_counter()
    while True:
        may_call = calls < CALLS and not asked_again
        tools = replace(offered, required=not knows) if may_call else NO_TOOLS
        request = CompletionRequest(messages, Sampling(max_tokens=300), limited=True, tools=tools)
        turn = complete(assistant, request, 30_000, SentConversations(), lambda _: None, Cancellation())
        text = turn.generation.text
        if not turn.calls and not asked_again and not _FORMS[asked.kind].search(text):
            asked_again = True
            messages += [Message("assistant", text or "I have the code."), Message("user", _AGAIN[asked.kind])]
            continue
        if not turn.calls:
            seconds = time.perf_counter() - started
            return Run(asked.kind, condition, asked.text, asked.right(text), calls, read, round(seconds, 2), text)
        call = turn.calls[0]
        result = tooling.call(call)
        calls, read, knows = calls + 1, read + count(result), knows or not result.startswith(_FAILED)
        messages.append(Message("assistant", text, (call,)))
        messages.append(Message("tool", result, call_id=call.id))


def names(golds: Sequence[Gold]) -> Callable[[str], bool]:
    """Judges whether the first place that an answer names overlaps a gold."""

    def right(answer: str) -> bool:
        found = _PLACE.search(answer) or _JSON_PLACE.search(answer)
        if found is None:
            return False
        first, last = int(found["first"]), int(found["last"] or found["first"])
        return any(gold.path == found["path"] and gold.start_line <= last and first <= gold.end_line for gold in golds)

    return right


def _choice(item: Item) -> Asked:
    return Asked("choices", item.question.text, item.right)


def questions(options: Any, drafter: Drafter) -> Iterator[tuple[Scene, list[Asked]]]:
    """This process's repositories that have questions, with the first `real` of them and `choices` about facts."""
    corpus = Corpus(repositories(Split(options.split)), drafter.count)
    part, parts = map(int, options.part.split("/"))
    for repository in [one for one in corpus.subjects if load(one)][part::parts]:
        written = load(repository)[: options.real]
        files = corpus.files(repository)
        golds = [[Gold(f"{repository.name}/{g.path}", g.start_line, g.end_line) for g in one.golds] for one in written]
        asked = [Asked("real", one.text, names(some)) for one, some in zip(written, golds, strict=True)]
        haystack = corpus.haystack(repository, files, sum(len(file.data) for file in files))
        known = facts.items(haystack, corpus.rng(repository, "agent"), options.choices)
        yield Scene(repository.name, files, ()), [*asked, *map(_choice, known)]


def run(options: Any) -> Iterator[Run]:
    """Every question with each set of tools in turn."""
    drafter = Drafter(locate(options.drafter))
    target = locate(options.target)
    with (
        closing(Store(cache_path())) as store,
        closing(Assistant(store, lambda: drafter, lambda: LlamaTarget.open(target, TargetOptions()))) as assistant,
    ):
        for scene, all_asked in questions(options, drafter):
            with tempfile.TemporaryDirectory() as folder:
                scene.write(Path(folder))
                tooling = Tooling(assistant, Sources((Folder(Path(folder)),)))
                for asked in all_asked:
                    for condition in _CONDITIONS:
                        yield answered(assistant, tooling, asked, condition)


def table(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means and medians by kind and tools."""
    rows = []
    for kind in _ENDS:
        for tools in _CONDITIONS:
            some = [one for one in runs if (one["kind"], one["tools"]) == (kind, tools)]
            if some:
                right = 100 * statistics.mean(one["right"] for one in some)
                means = {name: round(statistics.mean(one[name] for one in some), 1) for name in ("calls", "read")}
                seconds = round(statistics.median(one["seconds"] for one in some), 1)
                rows.append({"kind": kind, "tools": tools, "questions": len(some), "right": round(right, 1)})
                rows[-1] |= means | {"seconds": seconds}
    return rows


def main() -> None:
    """Ask and write a line of JSON for each run, or join such files to results/agent.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--split", choices=[one.value for one in Split], default=Split.CALIBRATION.value)
    parser.add_argument("--real", type=int, default=1000, help="questions of each repository, at most")
    parser.add_argument("--choices", type=int, default=12, help="facts of each repository, at most")
    parser.add_argument("--part", default="0/1", help="which part of the questions, of how many")
    parser.add_argument("--join", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    parser.add_argument("--target", default=DEFAULT_TARGET)
    options = parser.parse_args()
    if options.join:
        runs = [json.loads(line) for path in options.join for line in path.read_text().splitlines()]
        report("agent", {"rows": table(runs)})
        return
    for one in run(options):
        print(json.dumps(asdict(one)), flush=True)


if __name__ == "__main__":
    main()
