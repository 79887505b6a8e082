"""A skill, a paragraph of instructions and a sub-agent that have agents look with `find_code` first.

Files of our own say so in a line, and only such files are overwritten or deleted. The paragraph stands between markers
that name the agents it is for, since several read the same file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.errors import AgentSetupError
from winnow_engine.platform import expanded
from winnow_lsp.mcp.setup import moved
from winnow_lsp.mcp.setup_files import UnknownFormError, real_file, remove_empty, text_of, write

_TEXTS = Path(__file__).with_name("skill")
_OURS = "Written by `winnow mcp install --skill`, deleted by `winnow mcp uninstall`."
_BLOCK = re.compile(
    r"(?:\r?\n)?<!-- winnow: (?P<agents>[a-z, -]+) -->\r?\n(?:(?!<!-- winnow: ).)*?<!-- /winnow -->\r?\n", re.DOTALL
)
_SKILL = """\
Finds code by a question in plain words with Winnow's find_code. Use it before grep when you do not know the exact \
names: where something is done, how, and by what."""
_EXPLORER = """\
Finds the code that answers a question about this repository and reports the places. Use it for questions that take \
several searches, or when only the result matters."""


@dataclass(frozen=True)
class SkillFiles:
    """The files of one agent: folders of the user and of a project, and paths below them."""

    skills: tuple[str, str]
    agents: tuple[str, str]
    paragraph: tuple[str, str]
    explorer: Callable[[str], str]
    suffix: str = ".md"


def _front(body: str, **fields: str) -> str:
    """Markdown behind front matter: a JSON string is one of YAML, too."""
    lines = [f"{name}: {value if value.isidentifier() else json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", f"<!-- {_OURS} -->", "", body])


def _claude(body: str) -> str:
    tools = "Read, Grep, Glob, mcp__winnow__find_code, mcp__winnow__explain_place, mcp__winnow__outline"
    return _front(body, name="winnow-explorer", description=_EXPLORER, tools=tools)


def _codex(body: str) -> str:
    fields = {"name": "winnow-explorer", "description": _EXPLORER}
    fields |= {"sandbox_mode": "read-only", "developer_instructions": body}
    return "\n".join([f"# {_OURS}", *(f"{name} = {json.dumps(value)}" for name, value in fields.items()), ""])


def _opencode(body: str) -> str:
    text = _front(body, description=_EXPLORER, mode="subagent")
    return text.replace("mode: subagent\n", "mode: subagent\npermission:\n  edit: deny\n  bash: deny\n", 1)


SKILLS: dict[str, SkillFiles] = {
    "claude-code": SkillFiles(
        ("~/.claude/skills", ".claude/skills"),
        ("~/.claude/agents", ".claude/agents"),
        ("~/.claude/CLAUDE.md", "CLAUDE.md"),
        _claude,
    ),
    "codex": SkillFiles(
        ("~/.agents/skills", ".agents/skills"),
        ("~/.codex/agents", ".codex/agents"),
        ("~/.codex/AGENTS.md", "AGENTS.md"),
        _codex,
        ".toml",
    ),
    "opencode": SkillFiles(
        ("~/.config/opencode/skills", ".opencode/skills"),
        ("~/.config/opencode/agents", ".opencode/agents"),
        ("~/.config/opencode/AGENTS.md", "AGENTS.md"),
        _opencode,
    ),
}


def install_skill(name: str, project: Path | None) -> list[Path]:
    """Write an agent's files. Returns those that changed. Raises AgentSetupError, before any is written."""
    files = SKILLS[name]
    texts = dict(_own(name, project))
    for file in texts:
        if (there := _read(file)) and _OURS not in there:
            raise AgentSetupError(f"{file} is not Winnow's: move it away first")
    shared = _placed(files.paragraph, project)
    before = _read(shared)
    texts[shared] = _with_paragraph(before, sorted({*_agents(before), name}))
    return _written(texts, project)


def uninstall_skill(name: str, project: Path | None) -> list[Path]:
    """Delete an agent's files, and its paragraph. Returns those that changed."""
    if name not in SKILLS:
        return []
    texts = {file: "" for file in dict(_own(name, project)) if _OURS in _seen(file)}
    shared = _placed(SKILLS[name].paragraph, project)
    if name in _agents(before := _seen(shared)):
        texts[shared] = _with_paragraph(before, sorted({*_agents(before)} - {name}))
    changed = _written(texts, project)
    for file in changed:
        remove_empty(file.parent, project or expanded("~"))
    return changed


def _written(texts: dict[Path, str], project: Path | None) -> list[Path]:
    changed = [file for file, text in texts.items() if text != _read(file)]
    for file in changed:
        real_file(file, project)
    for file in changed:
        write(file, texts[file], project)
    return changed


def _own(name: str, project: Path | None) -> Iterator[tuple[Path, str]]:
    files = SKILLS[name]
    skill = _front(_text_of("skill"), name="winnow", description=_SKILL)
    yield _placed(files.skills, project) / "winnow" / "SKILL.md", skill
    explorer = _placed(files.agents, project) / f"winnow-explorer{files.suffix}"
    yield explorer, files.explorer(_text_of("explorer"))


def _agents(text: str) -> list[str]:
    found = _BLOCK.search(text)
    return found["agents"].split(", ") if found else []


def _with_paragraph(text: str, agents: list[str]) -> str:
    """The text with the paragraph for these agents, where it stands or at the end; without it for none."""
    block = f"\n<!-- winnow: {', '.join(agents)} -->\n{_text_of('paragraph')}<!-- /winnow -->\n" if agents else ""
    if "\r\n" in text:
        block = block.replace("\n", "\r\n")
    found = _BLOCK.search(text)
    start, end = found.span() if found else (len(text), len(text))
    return text[:start] + (block if start else block.lstrip()) + text[end:]


def _placed(places: tuple[str, str], project: Path | None) -> Path:
    return project / places[1] if project is not None else expanded(moved(places[0]))


def _text_of(name: str) -> str:
    return (_TEXTS / f"{name}.md").read_text(encoding="utf-8")


def _seen(file: Path) -> str:
    try:
        return text_of(file)
    except UnknownFormError:
        return ""


def _read(file: Path) -> str:
    try:
        return text_of(file)
    except UnknownFormError as error:
        raise AgentSetupError(f"{file} cannot be read as text") from error
