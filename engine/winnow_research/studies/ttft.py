"""Time to the first token: Winnow against plain llama.cpp, with the same workspace, target and machine.

All times are wall clock and include everything.
- whole_repository: tokens/s of a cold `ask` on the whole repository, and the time until a second question's prefill;
- winnow: first token on a workspace of `--tokens` tokens, with a cold and a warm index, models loaded;
- vanilla: first token with the same files, whole, in one prompt of the same target, models loaded.

The budget is fixed so that runs compare: `--budget auto` keeps as much as the target reads in a bearable time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from winnow_engine.assistant import Answer, Assistant
from winnow_engine.core import Budget, Question, Sampling
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Folder, Sources
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.prompting.layout import SYSTEM
from winnow_engine.prompting.messages import Message
from winnow_engine.store import Store
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.click_sources import fetch, questions
from winnow_research.machine import median, report
from winnow_research.studies import study_parser

_ONE_TOKEN = Sampling(max_tokens=1)
_AUTO = "auto"


class FirstTokenBench:
    """Loaded models, a scratch directory, and the tokens to keep; None keeps as many as the product would."""

    def __init__(self, scratch: Path, keep_tokens: int | None) -> None:
        self.scratch, self.budget = scratch, Budget(keep_tokens)
        self.drafter = Drafter(locate(DEFAULT_DRAFTER))
        self.target = LlamaTarget.open(locate(DEFAULT_TARGET))
        self.questions = [Question(written.text) for written in questions()]

    def ask(self, root: Path, question: Question, cache: Path) -> Answer:
        """The answer of a new assistant, of which only the cache file remains."""
        store = Store(cache)
        assistant = Assistant(store, lambda: self.drafter, lambda: self.target)
        answer = assistant.ask(Sources((Folder(root),)), question, self.budget, _ONE_TOKEN, lambda _: None)
        store.close()
        return answer

    def whole_repository(self, root: Path, repeat: int) -> dict[str, Any]:
        """Speed of a cold index, and the time before the prefill of questions with a warm index."""
        cache = self.scratch / "whole.sqlite"
        first = self.ask(root, self.questions[0], cache)
        later = [self.ask(root, question, cache) for question in self.questions[1 : repeat + 1]]
        before_prefill = [sum(answer.stats.stages.values()) - answer.stats.stages["prefill"] for answer in later]
        tokens = first.stats.selection.workspace_tokens
        return {
            "tokens": tokens,
            "cold_index_tokens_per_s": round(tokens / first.stats.stages["index"]),
            "second_question_before_prefill_s": median(before_prefill),
            "second_question_stages": later[-1].stats.stages,
            "new_process_before_prefill_s": self.new_process(root, cache),
        }

    def new_process(self, root: Path, cache: Path) -> float:
        """Seconds before the prefill of a fresh `winnow ask`, including its start and the loading of both models."""
        folder = self.scratch / "cache"
        folder.mkdir()
        shutil.copy(cache, folder / "index.sqlite")
        command = [sys.executable, "-m", "winnow_lsp", "ask", self.questions[-1].text, "-w", str(root)]
        command += ["--budget", str(self.budget.keep_tokens or _AUTO), "--max-tokens", "1", "--json"]
        environment = {**os.environ, "WINNOW_CACHE_DIR": str(folder)}
        started = time.time()
        output = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        stages = json.loads(output)["stats"]["stages"]
        return round(time.time() - started - stages["prefill"], 3)

    def winnow(self, root: Path, repeat: int) -> dict[str, Any]:
        """Seconds to the first token, with a cold and with a warm index."""
        cold, warm = [], []
        for index, question in enumerate(self.questions[:repeat]):
            cache = self.scratch / f"cold-{index}.sqlite"
            cold.append(self.ask(root, question, cache))
            warm.append(self.ask(root, self.questions[-1 - index], cache))
        return {
            "tokens": warm[0].stats.selection.workspace_tokens,
            "kept_tokens": warm[0].stats.selection.kept_tokens,
            "prompt_tokens": warm[0].stats.generation.prompt_tokens,
            "cold_s": median([answer.stats.ttft_s or 0 for answer in cold]),
            "warm_s": median([answer.stats.ttft_s or 0 for answer in warm]),
            "warm_stages": warm[-1].stats.stages,
        }

    def vanilla(self, root: Path) -> dict[str, Any]:
        """Seconds to the first token if the whole workspace is the prompt. Measured once, because it takes minutes."""
        files = sorted(path for path in root.rglob("*") if path.is_file())
        text = "\n".join(f"{path.relative_to(root)}\n{path.read_text()}" for path in files)
        content = f"{text}\n\nQuestion: {self.questions[0].text}"
        prompt = self.target.chat_prompt([Message("system", SYSTEM), Message("user", content)])
        generation = self.target.generate(Request(prompt, _ONE_TOKEN))
        assert generation.reused_tokens < len(prompt) // 100
        return {"prompt_tokens": len(prompt), "ttft_s": round(generation.first_token_s or 0, 3)}

    def workspace_of(self, root: Path, tokens: int) -> Path:
        """A copy of as many of the repository's Python files, in path order, as fit `tokens` tokens."""
        copy, used = self.scratch / "workspace", 0
        for path in sorted((root / "src").rglob("*.py")):
            count = self.drafter.count(path.read_text())
            if used + count <= tokens:
                used += count
                place = copy / path.relative_to(root)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)
        return copy


def tokens_or_auto(text: str) -> int | None:
    """The value of `--budget`: a number of tokens, or None for `auto`."""
    return None if text == _AUTO else int(text)


def main() -> None:
    """Measure, print, write JSON."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--tokens", type=int, default=32000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--budget", type=tokens_or_auto, default=2600, help="tokens to keep, or auto")
    parser.add_argument("--skip-vanilla", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = fetch()
        bench = FirstTokenBench(Path(scratch), options.budget)
        figures: dict[str, Any] = {"budget": options.budget or _AUTO}
        figures["whole_repository"] = bench.whole_repository(root, options.repeat)
        workspace = bench.workspace_of(root, options.tokens)
        figures["winnow"] = bench.winnow(workspace, options.repeat)
        report("ttft", figures)  # written now, in case the minutes of vanilla are cut short
        if not options.skip_vanilla:
            vanilla = figures["vanilla"] = bench.vanilla(workspace)
            for state in ("cold", "warm"):
                figures[f"times_faster_{state}"] = round(vanilla["ttft_s"] / figures["winnow"][f"{state}_s"], 1)
        bench.target.close()
    report("ttft", figures)


if __name__ == "__main__":
    main()
