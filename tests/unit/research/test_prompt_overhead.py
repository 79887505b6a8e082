from winnow_engine.core import Span, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.layout import SYSTEM, build_messages
from winnow_engine.question import Question
from winnow_research.studies.prompt_overhead import parts

DATA = "".join(f"line {n}\n" for n in range(1, 41)).encode()
WORKSPACE = Workspace((IndexedFile.of("a.txt", "a.txt", DATA),))
QUESTION = Question("why?")


class Words:
    """Takes each word for a token, and adds three tokens around messages."""

    context_limit = 1000
    prefill_tokens_per_s = None

    def count(self, text):
        return len(text.split())

    def chat_prompt(self, messages, tools=()):
        return [word for message in messages for word in message.content.split()] + ["<>"] * 3


def span(start, end):
    return Span("a.txt", start, end, 2 * (end - start + 1), 0.0, UnitKind.BLOCK)


def test_parts_add_up_to_the_prompt():
    spans = [span(3, 12), span(30, 31)]
    messages = build_messages(WORKSPACE, spans, QUESTION)
    found = parts(messages, spans, Words())
    assert found.total() == len(Words().chat_prompt(messages))
    assert found == {
        "kept": 24, "system": len(SYSTEM.split()), "question": 2, "paths": 1, "template": 3, "numbers": 2
    }  # fmt: skip
