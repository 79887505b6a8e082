from collections.abc import Mapping, Sequence
from threading import Event
from time import sleep
from urllib.parse import quote

import numpy as np
import pytest
from attributed import cite, sentences_of

from winnow_engine.core import Cancellation, Citation, Scores, Sentence, Span, UnitKind
from winnow_engine.errors import CancelledError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.attribution import Attribution, StreamedAttribution, no_scores
from winnow_engine.prompting.sentences import SentenceSplitter

CODE = "def resolve(name):\n    found = lookup(name)\n    return found or None\n" + "# filler\n" * 20


def file(path: str, folder: str = "") -> IndexedFile:
    return IndexedFile.of(folder + path, path, CODE.encode())


WORKSPACE = Workspace((file("src/core.py"), file("src/utils.py"), file("tests/utils.py"), file("Makefile")))
SPANS = (Span("src/core.py", 1, 3, 20, 1.0, UnitKind.FUNCTION, "Group.resolve"),)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("See src/core.py:2.", [Citation("src/core.py", 2, 2)]),
        ("See `core.py:2-3` there", [Citation("src/core.py", 2, 3)]),
        ("src/core.py:5–7, core.py línea 2 a 4", [Citation("src/core.py", n, n + 2) for n in (5, 2)]),
        ("utils.py:3 could be two files, gone.py:1 is none", []),
        ("src/core.py:99999 is past the end, src/core.py:0 before it", []),
        ("at src.utils.Sum$1.<init>(utils.py:3)", [Citation("src/utils.py", 3, 3)]),
        ("(Makefile:2), see src.core.resolve:2.", [Citation(path, 2, 2) for path in ("Makefile", "src/core.py")]),
        ("**Fix:** ```\n2     found = lookup(name)\n   10 return found or None\n```", [Citation("src/core.py", 2, 3)]),
        ("see:```ts\n  found = lookup(name)\n```", [Citation("src/core.py", 2, 2)]),
        ("```ls``` first:\n```python\n  found = lookup(name)\n```", [Citation("src/core.py", 2, 2)]),
        ("In core.py line 10 a 3-tuple is built", [Citation("src/core.py", 10, 10)]),
        ("core.py:10 ~2 ms each, core.py:11 ~ 20 ms", [Citation("src/core.py", n, n) for n in (10, 11)]),
        ("core.py line 10 a 20 ms delay, core.py L11 a 2", [Citation("src/core.py", n, n) for n in (10, 11)]),
        ("À la ligne 10 de core.py, core.py ligne 11 a 20 ms", [Citation("src/core.py", n, n) for n in (10, 11)]),
        ("`Group.resolve` does it", [Citation("src/core.py", 1, 3)]),
        ("it calls resolve(name)", [Citation("src/core.py", 1, 3)]),
        ("to resolve it", []),
        ("src/core.py:1-3, see `resolve`, src/core.py:2", [Citation("src/core.py", 1, 3)]),
    ],
)
def test_citations(answer: str, expected: list[Citation]) -> None:
    assert list(cite(answer, WORKSPACE, SPANS)) == expected


def test_the_line_that_opens_a_block_is_no_quotation() -> None:
    workspace = Workspace((IndexedFile.of("a.md", "a.md", b"```typescript\n"),))
    span = Span("a.md", 1, 1, 4, 1.0, UnitKind.SECTION)
    assert not list(cite("```typescript\nx\n```", workspace, [span]))


@pytest.mark.parametrize(
    ("sentence", "kind", "cited"),
    [
        ("It is made to *get started quickly and easily*.", UnitKind.SECTION, True),
        ("It is made to *get started quickly and easily*.", UnitKind.BLOCK, True),  # of reStructuredText
        ("It is made to get started quickly.", UnitKind.SECTION, False),
        ("Quickly and easily started.", UnitKind.SECTION, True),
        ("Quickly and easily started.", UnitKind.FUNCTION, False),
        ("Quickly and easily finished.", UnitKind.SECTION, False),
        ("This stands in the file `README.md` alone.", UnitKind.FUNCTION, True),
        ("It is made to get started quickly and easily.", UnitKind.FUNCTION, False),
        ("Like all tools, it helps to get started quickly and easily.", UnitKind.FUNCTION, False),
        ("Like all, this tool helps to get started quickly and easily.", UnitKind.FUNCTION, True),  # eight in a row
        ("To run it you can type `get started` here.", UnitKind.FUNCTION, True),
        ("To run it you can type `get stopped` here.", UnitKind.FUNCTION, False),
        ("To run it you can type `get` or `started` here.", UnitKind.FUNCTION, False),
    ],
)
def test_repeated_words_of_prose_are_cited(sentence: str, kind: UnitKind, cited: bool) -> None:
    readme = IndexedFile.of("README.md", "README.md", b"# Tool\n\nHelps to get started quickly\nand easily.\n")
    spans = (Span("README.md", 1, 4, 20, 1.0, kind, "Tool"),)
    assert cite(sentence, Workspace((readme,)), spans) == ((Citation("README.md", 1, 4),) if cited else ())


PATHS = (
    "app/(auth)/login/page.tsx",
    "app/[slug]/page.tsx",
    "docs/My Notes.md",
    "src/a.py",
    "src/a.pyi",
    "docs/übersicht.md",
)
FORMS = (
    "`{}:2`", "{}:2", "`{}`:2", "{}:L2", "{}#L2", "{}, line 2", "[the place]({}#L2)", "{}:2:5", "{} line 2",
    "{}(2)", "**{}**:2", "({}:2).", "`{}` (line 2)", "at line 2 of `{}`", "{}:2, and", "./{}:2", "<{}#L2>", "@{}:2",
    "{} near line 2", "{} in Zeile 2", "Zeile 2 der Datei `{}`", "{}:Zeile 2", "línea 2 de `{}`", "{} à la ligne 2",
    "строке 2 файла `{}`", "{}の2行目は", "看{}的第2行", "{}:2は", "看C:/app/{}:2", "at file:///srv/app/{}:2:5", "(file:///C:/app/{}:2:5)",
    "File \"{}\", line 2, in f", "File \\\"{}\\\", line 2,", "{}:[2,5]", "{}: (2, 5)", "{}:2:5-9", "{} (2:9)",
    "\"{}\", \"line\": 2,", "{} 2:5-9", "file={},line=2",
    "[{{file,\"{}\"}},{{line,2}}]", "https://github.com/o/r/blob/feature/x/{}#L2", "https://github.com/o/r/blob/1a2b/{}?plain=1#L2",
)  # fmt: skip
RANGES = ("`{}:2-4`", "{}:2–4", "{}:L2-L4", "{}#L2-L4", "{} lines 2 to 4", "{}:2..4", "`{}`, lines 2–4", "{}#L2C1-L4C9",
          "Zeilen 2 bis 4 von `{}`", "{}, lignes 2 à 4", "{}第2-4行", "파일{}:2-4에서")  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_places_in_all_forms_of_all_paths(path: str) -> None:
    workspace = Workspace(tuple(map(file, PATHS)))
    for forms, end in ((FORMS, 2), (RANGES, 4)):
        for form in forms:
            for name in (path, path.replace("/", "\\"), quote(path)):
                answer = f"See {form.format(name)} there"
                assert (answer, cite(answer, workspace, ())) == (answer, (Citation(path, 2, end),))


@pytest.mark.parametrize(
    "answer",
    [
        "At 12:30 it runs 3:2 against http://localhost:80/core.py:2 with python:3.11",
        "other/core.py:2, xcore.py:2, x_core.py:2, core.pyx:2, other.core:2, other/core:2 and core:2",
        "src/core.py:2.5 and src/core.py: 2 errors, Makefile (2)",
        "https://github.com/o/r/blob/main/other/core.py#L2",
        "core.py 有 2 行, core.py 第2章, and core.py has 2 lines",
        "core.py at 12:30-13:00, core.py (at 12:30), core.py 12:30, core.py 12:30:11 and core.py lines: 2",
        "core.py の 10行を削除, core.py中10行代码被改",
        "core.py:" * 20_000 + " " * 20_000 + ":2",
    ],
)
def test_what_is_no_place_is_not_cited(answer: str) -> None:
    assert cite(answer, WORKSPACE, ()) == ()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("C:\\build\\proj\\lib\\app.py", "lib/app.py"),
        ("C:\\build\\proj\\src\\util\\app.py", "src/util/app.py"),
        ("proj\\src\\util\\app.py", "src/util/app.py"),
        ("proj/lib/app.py", ""),  # of any project
        ("./node_modules/@x/src/util/app.py", ""),
        ("https://example.org/src/util/app.py", ""),
        ("~/lib/app.py", "lib/app.py"),
        ("C:\\\\build\\\\src\\\\util\\\\app.py", "src/util/app.py"),
        ("http://localhost:5173/src/util/app.py", "src/util/app.py"),
        ("webpack-internal:///./src/util/app.py", "src/util/app.py"),
        ("http://localhost:5173/base/src/util/app.py?t=17", "src/util/app.py"),
        ("http://127.0.0.1:80/base/lib/app.py", "lib/app.py"),
        ("package:shop/app.py", "lib/app.py"),
        ("package:shop/util/app.py", ""),
    ],
)
def test_a_place_may_have_the_folders_of_another_machine_before_it(name: str, path: str) -> None:
    for folder in ("", "api/"):  # the only one, or one of several
        workspace = Workspace((file("src/util/app.py", folder), file("lib/app.py", folder)))
        assert cite(f"at run ({name}:2)", workspace, ()) == ((Citation(folder + path, 2, 2),) if path else ())


@pytest.mark.parametrize("name", ["lib/src/app.dart", "package:shop/src/app.dart"])
def test_a_frame_of_dart_has_a_place(name: str) -> None:
    workspace = Workspace((file("lib/src/app.dart"), file("other/lib/src/app.dart")))
    for form in ("{} 2:5  run", "#0  run ({}:2:5)"):
        assert cite(form.format(name), workspace, ()) == (Citation("lib/src/app.dart", 2, 2),)


def test_a_quoted_line_that_stands_in_two_places_is_the_one_whose_next_lines_are_quoted() -> None:
    code = "def format(self):\n    return first(self)\n\ndef format(self):\n    return second(self)\n"
    other = IndexedFile.of("f.py", "f.py", code.encode())
    spans = [Span("f.py", 1, 5, 9, 0.0, UnitKind.TOP_LEVEL)]
    second = "```\ndef format(self):\n    return second(self)\n```"
    assert cite(second, Workspace((other,)), spans) == (Citation("f.py", 4, 5),)
    assert cite("```\ndef format(self):\n```", Workspace((other,)), spans) == (Citation("f.py", 1, 1),)


SHOP = {
    "shop/basket.py": "class Basket:\n    def total(self, rate):\n        return self.lines_of(rate)\n\n"
    "    def get(self, key):\n        return 'paid in full'\n",
    "shop/order.py": "class Order:\n    def get(self, key):\n        return load(key)\n",
    "settings.toml": "retry_limit = 3\n",
}
SHOWN = (
    ("shop/basket.py", 2, 4, "Basket.total"),
    ("shop/basket.py", 5, 6, "Basket.get"),
    ("shop/order.py", 2, 3, "Order.get"),
)


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("The `total` method adds the lines up.", ["Basket.total"]),
        ("The `get` method of `Order` loads it.", ["Order.get"]),
        ("Then `Basket.get` gives it back.", ["Basket.get"]),
        ("The `get` method gives it back.", None),  # of which class?
        ("The `rate` of the customer decides.", None),  # an argument
        ("Another one is in `order.py`.", ["Order.get"]),
        ("Another one is in `basket.py`.", None),  # which of two?
        ("The `Basket.total` method is unlike `order.py`.", ["Basket.total", "Order.get"]),
        ("It uses `len` and `self` on all of them.", None),  # builtins
        ("The order is total nonsense to get.", None),  # prose
        ("Nothing in the shown code does this.", []),
        ("Where is the total computed?", []),
        ("It is done as follows:", []),
    ],
)
def test_a_sentence_has_the_places_that_it_names_for_certain(sentence: str, names: list[str] | None) -> None:
    found = shop().of(sentence, 7)
    assert (found.start, found.end) == (7, 7 + len(sentence))
    assert [name for path, start, end, name in SHOWN if Citation(path, start, end) in found.places] == (names or [])
    assert found.found == (names is not None)


@pytest.mark.parametrize(
    ("sentence", "unknown"),
    [
        ("`Basket.total` and retry_limit and `order.py` exist.", []),
        (
            "`Basket.sum_up`, frobnicate() and NavigationController do not.",
            ["Basket.sum_up", "frobnicate", "NavigationController"],
        ),
        ("`useState` was asked about; `None`, `console` and JavaScript are of languages.", []),
        ("The file(s), e.g. HTTP, URLs, IPv6 in snake_case, and `x` are none.", []),
        ("函数retry_limit和Basket.sum_up()在order.py里。", ["Basket.sum_up"]),
    ],
)
def test_names_that_exist_nowhere_are_marked(sentence: str, unknown: list[str]) -> None:
    found = shop("What does useState do?").of(sentence, 0)
    assert [sentence[start:end] for start, end in found.unknown] == unknown


def test_a_file_that_is_named_does_not_hold_all_that_is_said_of_it() -> None:
    attribution = shop()
    attribution.scores = lambda _: {"maxsim": 20.0, "pooled": 8.0}
    assert not attribution.of("The code in `order.py` deletes the database.", 0).found
    for sentence in (
        "The file that has this command is `order.py`.",
        "It is `go` from the section of the `order.py` file.",
    ):
        assert attribution.of(sentence, 0).found


def test_the_drafter_decides_where_nothing_is_named_and_the_next_sentence_goes_on_about_it() -> None:
    scores = {
        "Sums are made here.": [40.0, 20.0, 20.0],
        "It goes on.": [1.0, 1.0, 1.0],
        "It goes on with it.": [27.0, 26.0, 20.0],
    }
    attribution = shop()
    attribution.scores = lambda sentence: {
        "maxsim": np.array(scores[sentence], np.float32), "pooled": np.array(scores[sentence], np.float32) / 2
    }  # fmt: skip
    told = [attribution.of(one, 0) for one in scores]
    assert [[place.path for place in one.places] for one in told] == [["shop/basket.py"], [], ["shop/basket.py"]]
    assert [(one.support or 0) > 0.5 for one in told] == [True, False, False]


@pytest.mark.parametrize(
    ("before", "cited"),
    [
        ("`Basket.total` adds them up. `Order.get` (shop/order.py:3) loads one.", ["shop/order.py"]),
        ("`Basket.total` adds them up. The settings are in settings.toml:1.", []),
    ],
)
def test_it_is_what_the_sentence_before_wrote(before: str, cited: list[str]) -> None:
    attribution = shop()
    told = [attribution.of(one, 0) for one in [*before.split(". "), "It goes on with what is left."]]
    assert [place.path for place in told[-1].places] == cited


def shop(question: str = "") -> Attribution:
    files = tuple(IndexedFile.of(path, path, text.encode()) for path, text in sorted(SHOP.items()))
    spans = [Span(path, start, end, 9, 0.0, UnitKind.METHOD, name) for path, start, end, name in SHOWN]
    return Attribution(Workspace(files), spans, question)


ANSWER = "Sure! See this:```py\ncode. No.\n```\nThe `a.b` does X (e.g. y). It `foo. bar` runs.\n\n"
ANSWER += "1. First do `x`.\n- No end\n```py\ncode. No.\n```\n## A. B\n| `a` | It is b |\n检查折扣。然后返回。\nDone"
SENTENCES = [
    "Sure!",
    "See this:",
    "The `a.b` does X (e.g. y).",
    "It `foo. bar` runs.",
    "First do `x`.",
    "No end",
    "| `a` | It is b",
    "检查折扣。",
    "然后返回。",
    "Done",
]


@pytest.mark.parametrize("step", [1, 2, 5, 1000])
def test_sentences_are_found_as_they_end_however_the_text_is_cut(step: int) -> None:
    splitter = SentenceSplitter()
    pieces = [ANSWER[at : at + step] for at in range(0, len(ANSWER), step)]
    found = [*(one for piece in pieces for one in splitter.feed(piece)), *splitter.end()]
    assert [ANSWER[start:end] for start, end in found] == SENTENCES


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("The `...` operator, f(...) and `git add .` copy it.", 1),  # marks within code end nothing
        ("````md\n```\nIt is code here.\n```\nStill code is here.\n````\nProse.", 1),
        ("- ```py\n  It is code here.\n  ```\n- Prose.", 1),
        ("```py\n```js\nIt is code here.\n```\nProse.", 1),
        ("```not a fence``` but prose.\nProse.", 2),
        ("It is so. See here:```ts\nIt is code here.\n```\nProse.", 3),
        ("It strips ```json\nor ends in ```\nProse.", 3),
        ("```\n" + "It is never closed.\n" * 500, 0),
        (" " * 200_000 + "Prose.", 1),
        ("هل هذا صحيح؟ نعم هو كذلك.", 2),
        ("他说：“检查折扣。”真的吗？！（是的。）然后返回。", 4),
        ("😀" * 4000 + " end. More.", 4),
        ("word. " * 30_000, 30_000),
        ("`" + "word. " * 30_000, 30_000 - 332),
        ("." * 200_000 + "。" * 200_000, 200),
    ],
)
def test_sentences_of_any_text_are_found_soon(answer: str, sentences: int) -> None:
    assert len(sentences_of(answer)) == sentences


def streamed(attribution: Attribution, pieces: Sequence[str], cancellation: Cancellation) -> tuple[str, list[Sentence]]:
    said, told = list[str](), list[Sentence]()
    with StreamedAttribution(attribution, said.append, told.append, cancellation) as stream:
        for piece in pieces:
            stream.feed(piece)
        assert stream.end() == tuple(told)
    return "".join(said), told


def test_an_error_costs_the_places_of_a_sentence_and_a_cancellation_ends_all() -> None:
    broken, cancellation = shop(), Cancellation()
    broken.scores = lambda sentence: {"maxsim": 1 / 0}
    assert streamed(broken, ["😀 states something here. And. More"], cancellation)[1] == [
        Sentence(0, 24), Sentence(25, 29), Sentence(30, 34)
    ]  # fmt: skip
    cancellation.cancel()
    with pytest.raises(CancelledError):
        streamed(shop(), ["It states something here. "], cancellation)


def test_an_error_of_the_target_waits_for_no_more_than_one_sentence() -> None:
    slow, begun, told = shop(), Event(), list[Sentence]()

    def scores(sentence: str) -> Mapping[str, Scores | float]:
        begun.set()
        sleep(0.05)
        return no_scores(sentence)

    def failing() -> None:
        with StreamedAttribution(slow, lambda text: None, told.append, Cancellation()) as stream:
            stream.feed("It states something here. " * 1000)
            assert begun.wait(10)
            raise ConnectionError

    slow.scores = scores
    with pytest.raises(ConnectionError):
        failing()
    assert len(told) < 1000
