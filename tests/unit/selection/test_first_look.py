"""Questions in a workspace whose index is not complete, with a drafter that counts words."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from git_repositories import commit, git, new, sources_of, write

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder
from winnow_engine.errors import FileChangedError, PositionError, WorkspaceError
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.first_look import _FIRST_PLACES_TOKENS, first_places
from winnow_engine.selection.fusion import fuse
from winnow_engine.storage.store import Store

from ..conftest import written
from .words import Words

LOOK = 200


def module(number: int) -> str:
    functions = (f"def step_{number}_{i}(value):\n    result = value + {i}\n    return result\n" for i in range(20))
    return f"import os\n\nLIMIT = {number}\n\n\n" + "\n\n".join(functions)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    modules = {f"m{number:02}.py": module(number) for number in range(30)}
    write(tmp_path / "root", modules | {"tax.py": "def add_tax(amount):\n    return amount * 2\n"})
    return tmp_path / "root"


@pytest.fixture
def drafter() -> Words:
    return Words()


@pytest.fixture
def assistant(tmp_path: Path, drafter: Words, monkeypatch: pytest.MonkeyPatch) -> Iterator[Assistant]:
    monkeypatch.setattr("winnow_engine.keys.key_cache._WORTH_WAITING_S", 0.0)
    with closing(Store(tmp_path / "index.sqlite")) as store, closing(Assistant(store, lambda: drafter)) as one:
        yield one


def ask(assistant: Assistant, root: Path, text: str, cursor: Cursor | None = None, look: int = LOOK) -> Any:
    return assistant.select(Sources((Folder(root),)), Question(text, cursor), Budget(60, first_look_tokens=look))


def names(selection: Any) -> set[str]:
    return {span.name for span in selection.spans}


def test_names_and_words_choose_what_is_encoded(assistant: Assistant, root: Path, drafter: Words) -> None:
    selection = ask(assistant, root, "what does `add_tax` do, and what step_7_3?")
    assert {"add_tax", "step_7_3"} <= names(selection)
    assert 0 < selection.stats.indexed_tokens <= LOOK < selection.stats.workspace_tokens
    assert not selection.stats.complete
    assert sum(map(drafter.count, drafter.encoded)) == selection.stats.indexed_tokens
    assert f"rests on {selection.stats.indexed_tokens:,} of about" in selection.notices[0]


def test_the_first_places_need_no_drafter(assistant: Assistant, root: Path, drafter: Words) -> None:
    sources, question = Sources((Folder(root),)), Question("what does `add_tax` do?", Cursor("m03.py", 12, 12))
    workspace = assistant.read(sources, Cancellation())
    assert assistant._encoders.lack(workspace)
    places = first_places(question, workspace)
    assert places.provisional
    assert {"add_tax", "step_3_1"} <= {span.name for span in places.spans}
    assert places.spans[0].name == "step_3_1", "the code at the cursor is never below the fold"
    assert sum(span.tokens for span in places.spans) <= _FIRST_PLACES_TOKENS
    assert drafter.encoded == []
    assistant.index(sources)
    assert not assistant._encoders.lack(workspace)


SEARCHED = {
    "net/again.py": "def again(add):\n    add('--backoff', help='how long to wait')\n\n\n"
    "def wait(retry):\n    return sleep(retry)\n",
    "tests/test_retry_backoff.py": "def test_retry_backoff():\n    assert retry('--backoff', backoff=2) == backoff\n",
    "README.md": "# Retry\n\n`--backoff` is the backoff of a retry.\n",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("retry backoff", "wait"),
        ("tests of retry backoff", "test_retry_backoff"),
        ("Which tests call wait?", "test_retry_backoff"),
        ("--backoff", "again"),
    ],
)
def test_the_first_place_is_that_of_a_rule_or_in_code_unless_tests_are_asked_for(
    tmp_path: Path, text: str, name: str
) -> None:
    assert first_places(Question(text), written(SEARCHED, tmp_path)).spans[0].name == name


def test_what_has_no_keys_is_never_kept(assistant: Assistant, root: Path, drafter: Words) -> None:
    selection = ask(assistant, root, "how is `result` computed?")
    read = {text.strip() for text in drafter.encoded}
    for span in selection.spans:
        lines = (root / span.path).read_text().splitlines()[span.start_line - 1 : span.end_line]
        assert "\n".join(lines).strip() in read
        assert np.isfinite(span.score)


def test_each_question_adds_what_it_needs_until_the_index_has_all(
    assistant: Assistant, root: Path, drafter: Words
) -> None:
    first = ask(assistant, root, "what does step_7_3 do?")
    encoded = list(drafter.encoded)
    again = ask(assistant, root, "what does step_7_3 do?")
    assert drafter.encoded == encoded, "the same question needs nothing more"
    assert (again.spans, again.stats.indexed_tokens) == (first.spans, first.stats.indexed_tokens)
    second = ask(assistant, root, "what does `add_tax` do?")
    assert second.stats.indexed_tokens > first.stats.indexed_tokens
    assert len(drafter.encoded) == len(set(drafter.encoded))
    assistant.index(Sources((Folder(root),)))
    third = ask(assistant, root, "what does step_7_3 do?")
    assert third.stats.complete
    assert third.notices == ()
    assert third.stats.indexed_tokens > second.stats.indexed_tokens


def test_an_indexed_file_is_not_encoded_again(assistant: Assistant, root: Path, tmp_path: Path, drafter: Words) -> None:
    alone = tmp_path / "alone"
    write(alone, {"m07.py": module(7)})
    assistant.index(Sources((Folder(alone),)))
    drafter.encoded.clear()
    assert "step_7_3" in names(ask(assistant, root, "what does step_7_3 do?"))
    assert not [text for text in drafter.encoded if "step_7_" in text]


def test_the_code_at_the_cursor_and_what_it_uses_come_first(assistant: Assistant, root: Path, drafter: Words) -> None:
    (root / "m20.py").write_text("import tax\n\n\ndef pay(amount):\n    return tax.add_tax(amount)\n")
    selection = ask(assistant, root, "explain this", Cursor("m20.py", 5, 5))
    assert "pay" in names(selection)
    encoded = "".join(drafter.encoded)
    assert "import tax" in encoded
    assert "def add_tax" in encoded


def test_code_at_a_cursor_that_neither_words_nor_scores_mean_takes_no_room(assistant: Assistant, root: Path) -> None:
    named, pointing = "what does `add_tax` do?", "explain this"
    for text, end, kept in ((named, 1, False), (named, 3, True), (pointing, 1, True)):
        spans = ask(assistant, root, text, Cursor("m03.py", 1, end)).spans
        assert any(span.path == "m03.py" and span.start_line == 1 for span in spans) is kept


@pytest.mark.parametrize("look", [0, LOOK])
def test_the_definition_that_is_asked_about_is_kept_before_longer_code_that_uses_it(
    assistant: Assistant, root: Path, look: int
) -> None:
    used = "def rate(value):\n    return Rate(Rate(value) + Rate(2))\n"
    write(root, {"rate.py": "class Rate:\n    size = 1\n", "use.py": used})
    question, budget = Question("How does `Rate` work?"), Budget(7, first_look_tokens=look)
    assert [span.path for span in assistant.select(Sources((Folder(root),)), question, budget).spans] == ["rate.py"]


def test_a_definition_that_takes_most_of_a_first_look_is_encoded(assistant: Assistant, root: Path) -> None:
    long = "def add_all(values):\n" + "\n".join(f"    values.append({n})" for n in range(24))
    write(root, {"all.py": f"{long}\n"})
    assert "add_all" in names(ask(assistant, root, "add_all"))


def test_definitions_beside_one_that_takes_most_stay_within_the_limit(tmp_path: Path) -> None:
    files = {f"all_{n}.py": "def add_all(values):\n" + "    values.append(100)\n" * 30 for n in range(8)}
    files["add.py"] = "def add_all(values):\n" + "    values.append(100)\n" * 500
    spans = first_places(Question("add_all"), written(files, tmp_path)).spans
    assert _FIRST_PLACES_TOKENS / 2 < sum(span.tokens for span in spans) <= _FIRST_PLACES_TOKENS


def test_only_code_of_the_paths_asked_about_is_encoded_and_kept(
    assistant: Assistant, root: Path, drafter: Words
) -> None:
    question, budget = Question("where is the result of a step?", paths=("m03.py",)), Budget(60, first_look_tokens=LOOK)
    first = assistant.select(Sources((Folder(root),)), question, budget)
    assert {span.path for span in first.spans} == {"m03.py"}
    assert all("step_3_" in text or "LIMIT = 3" in text or "import os" in text for text in drafter.encoded)
    whole = assistant.select(Sources((Folder(root),)), question, Budget(60))
    assert {span.path for span in whole.spans} == {"m03.py"}
    with pytest.raises(PositionError):
        assistant.select(Sources((Folder(root),)), replace(question, paths=("m99.py",)), budget)


def test_a_path_that_does_not_exist_is_told_before_anything_is_encoded(
    assistant: Assistant, root: Path, drafter: Words
) -> None:
    question = Question("where is the result?", paths=("m03.py", "m99.py"))
    for look in (0, LOOK):
        with pytest.raises(PositionError, match="m99"):
            assistant.select(Sources((Folder(root),)), question, Budget(60, first_look_tokens=look))
    assert drafter.encoded == []


def test_the_last_workspace_is_freed(assistant: Assistant, root: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(gc.enable)
    gc.disable()
    ask(assistant, root, "what is add_tax?")
    before = weakref.ref(assistant.latest(sources_of(root)))
    write(root, {"tax.py": "def add_tax(amount):\n    return amount * 3\n"})
    ask(assistant, root, "what is add_tax?")
    assert before() is None


def test_the_notice_of_a_full_disk_goes_once_there_is_room(assistant: Assistant, root: Path) -> None:
    ask(assistant, root, "what is add_tax?")
    connection = assistant._store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    write(root, {"new.py": module(30)})
    assert "the disk is full" in ask(assistant, root, "what is add_tax?").notices[0]
    connection.execute("PRAGMA max_page_count=100000")
    assert not any("the disk is full" in notice for notice in ask(assistant, root, "what is add_tax?").notices)


def test_a_bare_repository_answers_questions_about_its_commits_alone(
    assistant: Assistant, root: Path, tmp_path: Path
) -> None:
    commit(new(root), "Add tax")
    git(tmp_path, "clone", "--quiet", "--bare", "root", "bare.git")
    write(tmp_path / "bare.git", {"COMMIT_EDITMSG": "Add tax\n", "custom_hooks/update": "exit 1\n"})
    sources = sources_of(tmp_path / "bare.git")
    assert assistant.select(sources, Question("when was tax added?", changes="when"), Budget(60)).change
    with pytest.raises(WorkspaceError, match="git worktree add"):
        assistant.select(sources, Question("where is tax added?"), Budget(60))
    with pytest.raises(WorkspaceError, match="git worktree add"):
        assistant.index(sources)
    git(sources.folders[0].root, "worktree", "add", "--quiet", "trees/one")
    assert "add_tax" in names(assistant.select(sources, Question("what does `add_tax` do?"), Budget(60)))


def test_what_is_open_then_what_questions_led_to_is_indexed(assistant: Assistant, root: Path, drafter: Words) -> None:
    ask(assistant, root, "what is add_tax?", look=60)
    assert len(drafter.encoded) < 30
    opened, tax = "def opened(value):\n    return value\n", (root / "tax.py").read_text()
    drafter.encoded.clear()
    assistant.index(Sources((Folder(root),), open_documents={"m29.py": opened.encode()}))
    assert drafter.encoded[0] == opened
    assert drafter.encoded.index(tax) < len(drafter.encoded) / 3, "by its path, tax.py comes last"


@pytest.mark.parametrize("budget", [Budget(LOOK + 1, None, 10, LOOK), Budget(None, 1.0, 10, LOOK)])
def test_a_budget_that_a_first_look_cannot_fill_waits(assistant: Assistant, root: Path, budget: Budget) -> None:
    assert assistant.select(Sources((Folder(root),)), Question("what does step_7_3 do?"), budget).stats.complete


def test_a_larger_budget_is_filled_at_once_if_that_takes_no_longer_than_is_waited_for(
    assistant: Assistant, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow_engine.keys.key_cache._WORTH_WAITING_S", 2 * LOOK / 1000)
    budget = Budget(2 * LOOK, first_look_tokens=LOOK)
    stats = assistant.select(Sources((Folder(root),)), Question("what does step_7_3 do?"), budget).stats
    assert LOOK < stats.indexed_tokens <= 2 * LOOK < stats.workspace_tokens


@pytest.mark.parametrize("times", [1, 3])
def test_a_branch_is_switched_while_a_question_is_asked(
    times: int, assistant: Assistant, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = list(range(times))

    def switching(*arguments: Any) -> Any:
        if not left:
            return fuse(*arguments)
        (root / f"m{left.pop()}.py").unlink(missing_ok=True)
        (root / "tax.py").write_text("import os\n\n\n" + (root / "tax.py").read_text())
        raise FileChangedError("as one does that is read only now")

    monkeypatch.setattr("winnow_engine.assistant.fuse", switching)
    (found,) = (span for span in ask(assistant, root, "what does `add_tax` do?").spans if span.name == "add_tax")
    assert found.start_line == 1 + 3 * times


def test_what_can_be_had_soon_is_waited_for(assistant: Assistant, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_engine.keys.key_cache._WORTH_WAITING_S", 100.0)
    assert ask(assistant, root, "what does step_7_3 do?").stats.complete


def test_without_a_first_look_the_index_is_completed(assistant: Assistant, root: Path) -> None:
    assert ask(assistant, root, "what does step_7_3 do?", look=0).stats.complete
