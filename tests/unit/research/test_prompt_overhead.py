from winnow_engine.core import Question, Span, UnitKind
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_engine.prompting.layout import build_messages
from winnow_research.studies.prompt_overhead import parts, without_margin

DATA = "".join(f"line {n}\n" for n in range(1, 41)).encode()
WORKSPACE = Workspace((IndexedFile("a.txt", "a.txt", DATA, "k", analyse("a.txt", DATA)),))
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


def test_files_are_named_once_and_numbers_stand_ten_lines_apart():
    spans = [span(3, 5), span(6, 12), span(13, 14), span(30, 30)]
    content = without_margin(WORKSPACE, spans, QUESTION)[-1].content
    numbered = [line for line in content.splitlines() if line[:1].isdigit()]
    assert numbered == ["3 line 3", "13 line 13", "30 line 30"]
    assert content.startswith("a.txt\n3 line 3\nline 4\n")
    assert content.endswith("\n\nQuestion: why?")


def test_parts_add_up_to_the_prompt():
    spans = [span(3, 12), span(30, 31)]
    for layout in (build_messages, without_margin):
        messages = layout(WORKSPACE, spans, QUESTION)
        found = parts(messages, spans, Words())
        assert found.total() == len(Words().chat_prompt(messages))
        assert (found["kept"], found["question"], found["template"]) == (24, 2, 3)
    assert (found["headers"], found["gaps"], found["lines"]) == (1, 0, 2)
    former = parts(build_messages(WORKSPACE, spans, QUESTION), spans, Words())
    assert (former["headers"], former["gaps"], former["lines"]) == (2, 9, 2)
