"""How much of a long conversation's prompts has the target read already, with choices kept and with choices made anew?

A conversation about click: each turn asks a question, and code that it is about is read with a tool (or pasted, for a
target without tools). It passes through `winnow_engine.chat` to llama-cpp-python's own server, which keeps the start
that a prompt shares with the last one and its answer, and logs what it evaluates: `kept`, as in the product. The same
conversation, with the same answers, is then counted rather than evaluated: what a prompt does not share with the last
one and its answer. `kept, counted` checks that against the log. For `anew`, each choice is forgotten at once.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from winnow_engine.assistant import Assistant
from winnow_engine.chat.complete import DEFAULT_BUDGET, Completion, CompletionRequest, complete
from winnow_engine.chat.sent import SentConversations
from winnow_engine.core import Cancellation, Prompt, Sampling, Thinking
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.lines import text_lines
from winnow_engine.llama.kv_cache import common_prefix
from winnow_engine.models.cache import locate
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_engine.store import Store
from winnow_engine.targets.base import Generation, Request, Target
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget
from winnow_research.click_sources import fetch, questions
from winnow_research.machine import report
from winnow_research.studies import study_parser

SYSTEM = "You answer questions about the Python package click. Answer in one short paragraph, from the code you see."
FOLLOW_UPS = ("And who calls that?", "What could go wrong there?", "Is there a shorter way to do the same?")
_EVALUATED = re.compile(r"remaining (\d+) prompt tokens to eval")

Evaluated = Callable[[Completion], int]
"""The prompt tokens that the target evaluated for a completion."""


def turns(count: int, lines: int, tools: bool) -> Iterator[list[Message]]:
    """What the client says, turn by turn: a question, and `lines` lines of code. Follow-ups read on in the file."""
    root, written = fetch(), questions()
    for number in range(count):
        time_round, index = divmod(number, len(written))
        gold = written[index].golds[0]
        text = text_lines((root / gold.path).read_text("utf-8"))
        first = max(0, min(gold.start_line - 1 + lines * time_round, len(text) - lines))
        code = "".join(text[first : first + lines])
        question = FOLLOW_UPS[number % 3] if number % 4 == 3 else written[index].text
        if tools:
            call = ToolCall(f"call_{number}", "read_file", f'{{"path": "{gold.path}", "first": {first + 1}}}')
            result = Message("tool", code, call_id=call.id)
            yield [Message("user", question), Message("assistant", "", (call,)), result]
        else:
            yield [Message("user", f"{question}\n\n```python {gold.path}\n{code}\n```\n")]


def converse(assistant: Assistant, said: Iterator[list[Message]], budget: int, keep: bool, evaluated: Evaluated) -> Any:
    """Hold the conversation, and report each turn."""
    messages, sent, found = [Message("system", SYSTEM)], SentConversations(), list[dict[str, Any]]()
    for new in said:
        messages += new
        asked = CompletionRequest(tuple(messages), Sampling(max_tokens=32), limited=True)
        started = time.perf_counter()
        memory = sent if keep else SentConversations()
        completion = complete(assistant, asked, budget, memory, lambda _: None, Cancellation())
        messages.append(Message("assistant", completion.generation.text))
        row = {
            "original": completion.original_tokens,
            "prompt": completion.generation.prompt_tokens,
            "evaluated": evaluated(completion),
            "compression": completion.compression,
            "seconds": round(time.perf_counter() - started, 2),
            "answer": completion.generation.text,
        }
        print(len(found) + 1, *row.values(), file=sys.stderr)
        found.append(row)
    return found


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Totals of a conversation, and of its turns since the first choice."""
    first = next((number for number, row in enumerate(rows) if row["compression"] != "none"), len(rows))
    return {
        "whole": _totals(rows),
        "since_first_choice": _totals(rows[first:]),
        "choices": sum(row["compression"] == "new" for row in rows),
        "turns": [{name: value for name, value in row.items() if name != "answer"} for row in rows],
    }


def _totals(rows: list[dict[str, Any]]) -> dict[str, Any]:
    prompt, evaluated = (sum(row[name] for row in rows) for name in ("prompt", "evaluated"))
    cached = round(1 - evaluated / prompt, 4) if prompt else None
    seconds = round(sum(row["seconds"] for row in rows), 1)
    return {"turns": len(rows), "prompt": prompt, "evaluated": evaluated, "cached": cached, "seconds": seconds}


@contextmanager
def served(model: Path, context: int) -> Iterator[tuple[Target, Evaluated]]:
    """The target on a server of its own, and what that logs of each prompt."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--port", port, "--n_ctx", str(context)]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/v1/models", process)
            seen = 0

            def evaluated(completion: Completion) -> int:
                nonlocal seen
                log.flush()
                log.seek(seen)
                text = log.read()
                seen = log.tell()
                hits = _EVALUATED.findall(text)
                return int(hits[-1]) if hits else completion.generation.prompt_tokens

            yield HttpTarget.open(parse(f"http://127.0.0.1:{port}/v1"), context), evaluated
        finally:
            process.terminate()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server has ended"
        try:
            httpx.get(url)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


class Replay:
    """A target that repeats the answers of a conversation, and counts what a server would have to evaluate."""

    host, place = None, "server"

    def __init__(self, reader: LlamaTarget, context: int, answers: Sequence[str]) -> None:
        self._reader, self._answers, self.context_limit = reader, iter(answers), context
        self._held: Prompt = np.empty(0, np.int32)
        self.prefill_tokens_per_s = None

    def count(self, text: str) -> int:
        """As the model counts."""
        return self._reader.count(text)

    def chat_prompt(self, messages: Sequence[Message], tools: Tools = NO_TOOLS, thinking: Thinking = "auto") -> Prompt:
        """As the model's template has it; what it shares with what is held is what a server reuses."""
        return self._reader.chat_prompt(messages, tools, thinking)

    def forced_prefix(self, tools: Tools) -> str:
        """None: no tools are on offer."""
        return ""

    def thinking_tokens(self, sampling: Sampling) -> int:
        """None: answers are repeated without thoughts."""
        return 0

    def seconds_to_read(self, prompt: Prompt) -> float | None:
        """Unknown."""
        return None

    def unread(self, prompt: Prompt) -> int | None:
        """Unknown, as on a server."""
        return None

    def read_ahead(self, messages: Sequence[Message], cancellation: Cancellation) -> int:
        """Nothing."""
        return 0

    def generate(self, request: Request[Prompt]) -> Generation:
        """The next answer of the conversation."""
        text, prompt = next(self._answers), request.prompt
        reused = min(common_prefix(self._held, prompt), len(prompt) - 1)
        # The answer as the next prompt has it, without the template around it.
        answered = self._reader.chat_prompt([Message("user", text)])
        plain = self._reader.chat_prompt([Message("user", "")])
        start = common_prefix(plain, answered)
        self._held = np.concatenate((prompt, answered[start : start + self.count(text)]))
        request.on_text(text)
        return Generation(text, "eos", len(prompt), reused, 0.0, None, self.count(text), 0.0)

    def close(self) -> None:
        """Nothing: the reader is its opener's."""


def replayed(assistant_of: Callable[[Target], Assistant], options: Any, answers: Sequence[str], keep: bool) -> Any:
    """The conversation with these answers, counted."""
    with closing(LlamaTarget.open(locate(options.target))) as reader:
        target = Replay(reader, options.context, answers)
        with closing(assistant_of(target)) as assistant:
            said = turns(options.turns, options.lines, options.tools)
            rows = converse(assistant, said, options.budget, keep, _not_reused)
    return summary(rows)


def _not_reused(completion: Completion) -> int:
    return completion.generation.prompt_tokens - completion.generation.reused_tokens


def _same(target: Target) -> Target:
    return target


def main() -> None:
    """Measure, print, write results/warm_compression.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--lines", type=int, default=28, help="of code a turn")
    parser.add_argument("--budget", type=int, default=DEFAULT_BUDGET)
    parser.add_argument("--context", type=int, default=8192, help="of the server")
    parser.add_argument("--target", default="smollm2-135m")
    parser.add_argument("--drafter", default="smollm2-135m")
    parser.add_argument("--tools", action="store_true", help="code comes as results of calls")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Path(folder) / "index.sqlite")) as store,
    ):

        def assistant_of(target: Target) -> Assistant:
            return Assistant(store, lambda: Drafter(locate(options.drafter)), partial(_same, target))

        with (
            served(locate(options.target), options.context) as (target, evaluated),
            closing(assistant_of(target)) as assistant,
        ):
            said = turns(options.turns, options.lines, options.tools)
            rows = converse(assistant, said, options.budget, True, evaluated)
        answers = [row.pop("answer") for row in rows]
        figures: dict[str, Any] = {"options": vars(options), "kept": summary(rows)}
        for name, keep in (("kept, counted", True), ("anew, counted", False)):
            figures[name] = replayed(assistant_of, options, answers, keep)
    report("warm_compression", figures)


if __name__ == "__main__":
    main()
