"""Asks a question about a folder: python examples/ask_from_python.py FOLDER QUESTION [DRAFTER [TARGET]]."""

import sys
from contextlib import closing
from pathlib import Path

from winnow_engine.assistant import open_assistant
from winnow_engine.config import Config, ModelConfig
from winnow_engine.core import Budget, Folder
from winnow_engine.index.workspace import Sources
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.question import Question
from winnow_engine.storage.store import Store, default_path


def main(folder: str, question: str, drafter: str = DEFAULT_DRAFTER, target: str = DEFAULT_TARGET) -> None:
    """Stream the answer, then list the lines it cites."""
    config = Config(ModelConfig(drafter, target), Budget(keep_tokens=1000))
    sources = Sources((Folder(Path(folder)),), config.files)
    with closing(Store(default_path())) as store, closing(open_assistant(config.models, store)) as assistant:
        answer = assistant.ask(sources, Question(question), config.budget, config.sampling, on_text=write)
    print(f"\n\nfirst token after {answer.stats.ttft_s:.1f} s")
    for cited in answer.citations:
        print(f"{cited.path}:{cited.start_line}-{cited.end_line}")


def write(text: str) -> None:
    """Show a piece of the answer as soon as it is there."""
    print(text, end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
