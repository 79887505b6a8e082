"""The documentation holds together: links lead somewhere, lines wrap, and the two main pages stay short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
_OF_THE_ENGINE = ("card.md", "winnow_llama/README.md")
_FOLDERS = (ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), *map((ROOT / "engine").rglob, _OF_THE_ENGINE))
PAGES = sorted(page for pages in _FOLDERS for page in pages)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

_LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"")
_LONGEST_LINE = 120
_MOST_WORDS = 1200


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page that stand in no block of code."""
    in_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def links(page: Path) -> Iterator[str]:
    """Where the relative links and images of a page lead."""
    for _, line in prose(page):
        for match in _LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = match[1] or match[2]
            if not re.match(r"[a-z]+:", target):
                yield unquote(target)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for _, line in prose(page) if line.startswith("#")]
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in shown}


def leads_nowhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in links(page) if leads_nowhere(page, link)] == []


@pytest.mark.parametrize("name", ["README.md", "TROUBLESHOOTING.md"])
def test_pages_of_the_vscode_extension_link_to_what_its_package_has(name: str) -> None:
    folder = ROOT / "vscode-extension"
    kept = {line.removeprefix("!") for line in (folder / ".vscodeignore").read_text("utf-8").splitlines()}
    assert set(links(folder / name)) <= kept


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_prose_wrap(name: str) -> None:
    page = ROOT / name
    too_long = [n for n, line in prose(page) if len(line) > _LONGEST_LINE and not line.lstrip().startswith("|")]
    assert too_long == []


@pytest.mark.parametrize("folder", ["results", "lab"])
def test_the_index_lists_every_page(folder: str) -> None:
    directory = ROOT / "docs" / folder
    pages = {page.name for page in directory.glob("*.md")} - {"README.md"}
    assert set(links(directory / "README.md")) >= pages


@pytest.mark.parametrize("name", ["relevance", "performance"])
def test_main_pages_stay_short(name: str) -> None:
    words = (ROOT / "docs" / f"{name}.md").read_text("utf-8").split()
    assert len(words) <= _MOST_WORDS
