"""Questions when something changed, in real repositories: what the target sees, what is cited, what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from attributed import cite
from git_repositories import commit, git, new, sources_of, write

from winnow_engine.core import Cancellation, Citation
from winnow_engine.errors import CancelledError, GitMissingError, NotARepositoryError, RevisionError
from winnow_engine.history import finding
from winnow_engine.history.effects import effect_on, terms_of
from winnow_engine.history.question import answering_commits, asked_past, with_past
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import ABOUT_WHEN, WHEN, Change, Question

WAIT = """def wait(bus):
    patience = 3
    while patience and not bus.comes_around_the_corner():
        patience -= 1
    return bus.comes_around_the_corner()


def ride(bus):
    return bus.start()
"""
Read = Callable[..., Workspace]


def asked(text: str, sources: Sources, workspace: Workspace) -> Change:
    question = workspace.located(Question(text, changes=WHEN))
    past = asked_past(question, sources, workspace, Cancellation())
    change = with_past(question, past, workspace, len).change
    assert change is not None
    return change


def subjects(sources: Sources, text: str, most: int = 6) -> list[str]:
    return [one.commit.subject for one, _ in answering_commits(sources, text, Cancellation(), most).commits]


def test_the_target_reads_the_commits_that_fit_and_what_they_did_to_the_units_concerned(top: Path, read: Read) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    commit(top, "Greet", {"greeting.py": "def greet(name):\n    return name\n"})
    changed = WAIT.replace("= 3", "= 5").replace("bus.start()", "bus.go()")
    longer = commit(top, "Be more patient\n\nPeople missed it.", {"bus.py": changed, "notes.md": "# Notes\n"})
    change = asked("When did `wait` change?", sources_of(top), read(top))
    texts = [shown.text for shown in change.shown]
    assert [len(text) for text in texts] == sorted(map(len, texts), reverse=True)
    assert texts[0].index("Be more patient") < texts[0].index("Wait for the bus")
    assert f"commit {longer[:10]} " in texts[0]
    assert "in bus.py, wait:\n-    patience = 3\n+    patience = 5\nalso in notes.md" in texts[0]
    assert "bus.go()" not in texts[0]
    assert "Greet" not in texts[0]
    assert "patience = 5" not in texts[-1]


def test_a_removed_function_is_shown_and_cited_where_the_commit_took_it(top: Path, read: Read) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    gone = commit(top, "Tidy up", {"bus.py": WAIT[: WAIT.index("def ride")].rstrip() + "\n"})
    sources = sources_of(top)
    change = asked("When was `ride` removed?", sources, read(top))
    assert "-def ride(bus):" in change.shown[0].text
    cited = cite(f"In commit {gone[:10]}.", read(top), (), change)
    assert [(one.path, one.commit) for one in cited] == [("bus.py", gone)]


def test_without_a_word_that_fits_and_without_words_the_newest_are_shown(top: Path, read: Read) -> None:
    for number in range(8):
        commit(top, f"Number {number}", {"bus.py": WAIT + f"# {number}\n"})
    sources = sources_of(top)
    newest = [f"Number {number}" for number in range(7, 1, -1)]
    nothing = answering_commits(sources, "When did the zeppelin land?", Cancellation())
    assert (sorted(one.commit.subject for one, _ in nothing.commits), nothing.fits) == (sorted(newest), False)
    assert "No commit's message" in asked("When did the zeppelin land?", sources, read(top)).shown[0].text
    lately = answering_commits(sources, ABOUT_WHEN, Cancellation())
    assert (sorted(one.commit.subject for one, _ in lately.commits), lately.fits) == (sorted(newest), True)


def test_a_rename_in_a_partial_clone_is_told_without_its_contents(top: Path, tmp_path: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    git(top, "mv", "bus.py", "coach.py")
    commit(top, "Wait for coaches", {"coach.py": WAIT.replace("bus", "coach")})
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{top}", "clone")
    matches = answering_commits(sources_of(tmp_path / "clone"), "When did we wait for coaches?", Cancellation(), 1)
    ((one, history),) = matches.commits
    effect = effect_on(history, one.commit, terms_of("When did we wait for coaches?"))
    assert (effect.file, {effect.path, *effect.others}) == (None, {"bus.py", "coach.py"})


def test_an_effect_has_the_hunks_of_its_units_on_either_side(top: Path) -> None:
    names = ("walk", "board", "ride", "leave")
    old = {name: f"def {name}(bus):\n    pace = '{name}'\n    return bus.{name}(pace)\n\n\n" for name in names}
    new = {name: text.replace("pace)", "pace, 1)") for name, text in old.items() if name != "board"}
    commit(top, "Wait for the bus", {"bus.py": "".join(old.values())})
    commit(top, "Move on", {"bus.py": "".join(new.values())})
    ((one, history),) = answering_commits(sources_of(top), ABOUT_WHEN, Cancellation(), 1).commits
    effects = [effect_on(history, one.commit, terms_of(f"When did `{name}` change?")) for name in names]
    assert [effect.units for effect in effects] == [(name,) for name in names]
    hunks = [[(hunk.before, hunk.after) for hunk in effect.hunks] for effect in effects]
    first = (range(3, 9), range(3, 4))  # the changed line of `walk`, and what is gone
    assert hunks == [[first], [first], [(range(13, 14), range(8, 9))], [(range(18, 19), range(13, 14))]]


def test_several_folders_are_searched_and_those_without_a_history_are_left_out(top: Path, tmp_path: Path) -> None:
    commit(top, "Wait for the bus", {"sub/bus.py": WAIT})
    other = new(tmp_path / "other")
    commit(other, "Wait for the tram", {"tram.py": WAIT})
    write(tmp_path / "plain", {"bus.py": WAIT})
    new(tmp_path / "unborn")
    sources = sources_of(top, other, tmp_path / "plain", tmp_path / "unborn", top / "sub")
    assert sorted(subjects(sources, "When did we wait?")) == ["Wait for the bus", "Wait for the tram"]
    found = answering_commits(sources, "When did we wait for the bus?", Cancellation(), 1)
    assert [history.folder.name for _, history in found.commits] == ["project"]


def test_what_cannot_be_asked_is_an_error_in_words(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RevisionError, match="there is no commit yet"):
        subjects(sources_of(top), "When?")
    write(tmp_path / "plain", {"bus.py": WAIT})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(NotARepositoryError):
        subjects(sources_of(tmp_path / "plain"), "When?")
    cancelled = Cancellation()
    cancelled.cancel()
    with pytest.raises(CancelledError):
        answering_commits(sources_of(top), "When?", cancelled)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissingError, match="install git"):
        subjects(sources_of(top), "When?")


def test_a_merge_an_empty_commit_and_the_end_of_a_shallow_clone_show(top: Path, read: Read, tmp_path: Path) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    git(top, "checkout", "--quiet", "-b", "side")
    commit(top, "Wait longer for the bus", {"bus.py": WAIT.replace("= 3", "= 5")})
    git(top, "checkout", "--quiet", "main")
    empty = commit(top, "Waiting for the bus, which is late")
    git(top, "merge", "--quiet", "-m", "Merge waiting for the bus", "side")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{top}", "clone")
    for place in (top, tmp_path / "clone"):
        sources = sources_of(place)
        change = asked("When did waiting for the bus change?", sources, read(place))
        for subject in ("Wait longer", "which is late", "Merge waiting"):
            assert subject in change.shown[0].text
        assert empty not in {one.id for one in change.commits if place == top}


def test_a_search_that_does_not_reach_all_commits_says_so(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Read
) -> None:
    for number in range(3):
        commit(top, f"Number {number}", {"bus.py": WAIT + f"# {number}\n"})
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{top}", "clone")
    change = asked("When did `wait` change?", sources_of(tmp_path / "clone"), read(top))
    assert change.notices == ("not every commit was searched for what it changed: older ones may be missing",)
    monkeypatch.setattr(finding, "MOST_COMMITS", 2)
    found = answering_commits(sources_of(top), "When was number 0 there?", Cancellation())
    assert found.notices == ("only the newest 2 commits were searched",)
    assert "Number 0" not in {one.commit.subject for one, _ in found.commits}


def test_an_answer_cites_a_commit_by_the_lines_that_it_changed(top: Path, read: Read) -> None:
    commit(top, "Wait for the bus", {"bus.py": WAIT})
    longer = commit(top, "Wait longer", {"bus.py": WAIT.replace("= 3", "= 5")})
    sources = sources_of(top)
    change = asked("When did `wait` change?", sources, read(top))
    assert cite(f"Commit {longer[:10]}", read(top), (), change) == (Citation("bus.py", 2, 2, longer),)
