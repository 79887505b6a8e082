"""Makes the questions of the task *bug* about a repository, by rule: nothing is chosen by hand.

Prints the repository's section of evaluation/histories.toml: the newest pairs of consecutive releases that the task
accepts, and releases in which later commits mended something. Questions about these go to evaluation/bugs/NAME.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation
from winnow_engine.errors import EvaluationError, WorkspaceError
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.histories.asking_what import QUESTION, asked_commits, is_fix
from winnow_research.evaluation.histories.clones import Pin, at_commit, opened
from winnow_research.evaluation.histories.small_commits import SmallCommit, all_commits, by_chance, small_commits
from winnow_research.evaluation.releases import hashed, released
from winnow_research.evaluation.repositories import ReleaseHistory, Repository, Split, repositories
from winnow_research.evaluation.tasks import bug, commit, real
from winnow_research.studies import study_parser
from winnow_research.studies.commit_questions import lines_of

_TOKENS, _BYTES = 128_000, 4  # the workspace that must have room for what changed, and the bytes of a token
_COMMITS, _OF_A_RELEASE = 1200, 16  # fixes that are looked at, and asked about in one release
_SEED = 0


def pairs(repository: Repository, changelog: str, known: Sequence[Archive]) -> Iterator[tuple[Archive, Archive]]:
    """The pairs of consecutive releases that the rule accepts, newest first. `known` has all, oldest first."""
    log = _log(hashed(known[-1]), changelog)
    likely = [pair for pair in pairwise(known) if bug.entries(log, pair[1].version)]
    there = _there(dict.fromkeys(release for pair in likely for release in pair))
    for old, new in reversed(likely):
        before, after = there[old], there[new]
        if before and after and _log(after, changelog):
            one = replace(repository, history=ReleaseHistory(changelog, ((before, after),)))
            if any(bug.of_releases(Corpus((one,), lambda text: len(text) // _BYTES), _TOKENS)):
                yield before, after


def questions(
    repository: Repository, fixes: Sequence[SmallCommit], known: Iterable[Archive], most: int
) -> dict[Archive, list[dict[str, Any]]]:
    """Questions about releases that have what a fix mended as it was before. A fix is asked about once."""
    found: dict[Archive, list[dict[str, Any]]] = {}
    seen = {written.text for written in real.load(repository, commit.QUESTIONS)}
    for archive in known:
        try:
            files = indexed(repository.files(archive))
        except WorkspaceError:  # the release has no such folder
            continue
        for one in asked_commits(fixes, files, unchanged=True):
            text, asked = QUESTION.format(text=one.text), found.setdefault(archive, [])
            if text not in seen and len(asked) < _OF_A_RELEASE and sum(map(len, found.values())) < most:
                seen.add(text)
                asked.append({"question": text, "golds": [lines_of(place) for place in one.golds]})
    return {archive: asked for archive, asked in found.items() if asked}


def fixes_of(repository: Repository, clones: Path) -> list[SmallCommit]:
    """Small commits of the pinned history that say something was wrong, in an order by chance."""
    entry = tomllib.loads((bug.QUESTIONS / "clones.toml").read_text("utf-8"))[repository.name]
    pin = Pin(repository.name, entry["project"], entry["commit"], repository.language)
    with tempfile.TemporaryDirectory() as folder:
        history = at_commit(opened([pin], clones, Cancellation())[pin], pin.commit, Path(folder))
        fixes = [one for one in all_commits(history) if is_fix(one)]
        return list(small_commits(history, by_chance(fixes, _SEED)[:_COMMITS]))


def spread(known: Sequence[Archive], count: int) -> list[Archive]:
    """Releases at equal steps, the newest first."""
    wanted = [known[len(known) * step // count] for step in range(count)] if known else []
    return [archive for archive in _there(dict.fromkeys(reversed(wanted))).values() if archive]


def _there(wanted: Iterable[Archive]) -> dict[Archive, Archive | None]:
    """The archives with their hashes, now in the cache; None for those that the registry does not deliver."""
    listed = list(wanted)
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(listed, pool.map(_unpacked, listed), strict=True))


def _unpacked(archive: Archive) -> Archive | None:
    try:
        found = hashed(archive)
        unpacked(found)
    except (EvaluationError, ValueError) as error:
        print(f"{archive.version}: {error}", file=sys.stderr)
        return None
    return found


def _log(archive: Archive, changelog: str) -> str:
    """A release's change log, empty if it has none."""
    path = unpacked(archive) / changelog
    return path.read_text("utf-8") if path.is_file() else ""


def section(name: str, changelog: str, found: Sequence[tuple[Archive, Archive]], releases: Sequence[Archive]) -> str:
    """What histories.toml says of a repository."""
    used = {one.version: one.sha256 for one in [*(one for pair in found for one in pair), *releases]}
    lines = [f"[{name}]"]
    if found:
        lines += [f'changelog = "{changelog}"', "pairs = ["]
        lines += [f'    ["{before.version}", "{after.version}"],' for before, after in found]
        lines += ["]"]
    if releases:
        lines += [f"releases = {json.dumps([one.version for one in releases])}"]
    return "\n".join([*lines, f"[{name}.sha256]", *(f'"{version}" = "{sha}"' for version, sha in used.items())])


def make(repository: Repository, given: Namespace) -> str:
    """Write the repository's questions, and return its section."""
    known = released(repository.archive, given.newest)
    found = list(islice(pairs(repository, given.changelog, known), given.pairs))[::-1] if given.changelog else []
    asked: dict[Archive, list[dict[str, Any]]] = {}
    if given.clones:
        others = spread(known, given.releases)
        everything = dict.fromkeys([repository.archive, *(one for pair in found[::-1] for one in pair), *others])
        asked = questions(repository, fixes_of(repository, given.clones), everything, given.commits)
        document = {"repository": repository.name, "releases": {one.version: said for one, said in asked.items()}}
        (bug.QUESTIONS / f"{repository.name}.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return section(repository.name, given.changelog, found, [one for one in asked if one != repository.archive])


def main() -> None:
    """Make the questions about one repository."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("repository", help="its name in repositories.toml")
    parser.add_argument("--changelog", default="", help="the path of the change log in its archives")
    parser.add_argument("--newest", metavar="VERSION", help="the last release to take; all by default")
    parser.add_argument("--pairs", type=int, default=32, help="pairs to take")
    parser.add_argument("--clones", type=Path, help="where clones lie, OWNER/NAME; commits are asked about")
    parser.add_argument("--commits", type=int, default=32, help="commits to ask about")
    parser.add_argument("--releases", type=int, default=10, help="releases to ask about them in")
    given = parser.parse_args()
    known = {one.name: one for split in Split for one in repositories(split)}
    print(make(known[given.repository], given))


if __name__ == "__main__":
    main()
