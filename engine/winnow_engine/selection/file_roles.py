"""Files by what they are for, or by the words of their names: "ci workflow", "docker compose", "rubocop config"."""

from __future__ import annotations

import re

from winnow_engine.core import UnitKind
from winnow_engine.index.bm25 import stems
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.literals import means_tests
from winnow_engine.selection.overview_words import says_nothing_else

_MOST_OF_ROLE, _MOST_OF_NAME = 16, 3
_SECTION = list(UnitKind).index(UnitKind.SECTION)
_ROLES = {
    r"ci|continuous integration|(?:github|gitlab) (?:actions?|workflows?|ci|pipelines?)|(?<=\w )workflows?": r"""
        (?:[^/]+/)?(?:\.github/workflows/[^/]+|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|\.circleci/config\.ya?ml
        |\.?appveyor\.ya?ml|azure-pipelines\.ya?ml|jenkinsfile)""",
    r"docker(?:files?)?|containerfiles?": r"""
        (?:.*/)?(?:(?:docker|container)file(?:\.(?!scm$)[\w-]+)?|[\w-]+\.dockerfile|(?:docker-)?compose\.ya?ml)""",
    r"change ?logs?|release notes": r"(?:.*/)?(?:change(?:s|logs?)|news|history|release[-_]?notes)(?:\.\w+)?",
}
_BY_ROLE = [(re.compile(rf"\b(?:{said})\b"), re.compile(f"(?ix){path}")) for said, path in _ROLES.items()]
_FILE = re.compile(r"\b(?:(config(?:uration)?|settings|rules|targets)|script|file)\b")  # before the group: no code
_WORDS = re.compile(r"\W*[^\W\d_]\w*(?:[ -]\w+){0,4}\W*")


def files_meant(text: str, workspace: Workspace) -> list[int]:
    """Numbers of the files that a text of at most five words means by their role or their names.

    Of too many files, only that at the top counts. Files of tests count if there are no others; those of a name only
    where tests are meant.
    """
    if not _WORDS.fullmatch(text):
        return []
    said, table = text.lower(), workspace.file_table
    tests = {n for n in table.are_tests.nonzero()[0].tolist() if "/." not in f"/{table.paths[n]}"}
    named = [n for n in _of_name(said, workspace) if n not in tests or means_tests(text, workspace)]
    for files, most in ((_of_role(said, workspace), _MOST_OF_ROLE), (named, _MOST_OF_NAME)):
        if files := [n for n in files if n not in tests] or files:
            return files if len(files) <= most else [n for n in files if "/" not in table.paths[n]]
    return []


def _of_role(said: str, workspace: Workspace) -> list[int]:
    """Files of a role whose paths have all words, else those that say more than the role. A "workflow" may be code."""
    paths, defines = workspace.file_table.paths, workspace.file_table.define
    for role, path in _BY_ROLE:
        if named := role.search(said):
            files = {n: {*stems(one)} for n, one in enumerate(paths) if path.fullmatch(one) and not defines[n]}
            more = {word for word in stems(_FILE.sub("", role.sub("", said, 1))) if not says_nothing_else(word)}
            for words in ({*stems(said)}, more)[: 1 if named[0].startswith("workflow") and not more else 2]:
                if found := [n for n in files if words <= files[n]]:
                    return found
    return []


def _of_name(said: str, workspace: Workspace) -> list[int]:
    """Files that are named so, perhaps with their folder, but no documents; no code for one word or for settings."""
    table, about = workspace.file_table, _FILE.sub("", said)
    for words in dict.fromkeys((said, about)[: 1 if says_nothing_else(about) else 2]):
        files = [n for n in table.by_words.get(re.sub(r"\W", "", words), ()) if not _is_document(n, workspace)]
        if len(words.split()) == 1 or (words != said and any(_FILE.findall(said))):  # one word may mean anything
            files = [n for n in files if words != said and not (table.define[n] and "." in table.paths[n])]
        if files:
            return files
    return []


def _is_document(number: int, workspace: Workspace) -> bool:
    """True for a file with headings: code of the same words may be meant as well."""
    return _SECTION in workspace.unit_kinds[workspace.units_of([number])]
