"""A question, its cursor, the turns before it, and the change it may be about. Lines and paths are as in `core.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Citation, Folder, Scores, Span


@dataclass(frozen=True, slots=True)
class Cursor:
    """A line, or a selection of lines, of one workspace file."""

    path: str
    start_line: int
    end_line: int

    def __post_init__(self) -> None:
        if not 1 <= self.start_line <= self.end_line:
            raise ValueError(f"lines {self.start_line}-{self.end_line} are not a range of 1-based lines")

    def overlaps(self, span: Span | Citation) -> bool:
        """True if they have lines in common."""
        return self.path == span.path and span.start_line <= self.end_line and self.start_line <= span.end_line


@dataclass(frozen=True, slots=True)
class CodeAtCursor:
    """The text at a cursor, with its language; empty if Winnow does not know that."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A question asked earlier in the conversation, with its answer."""

    question: str
    answer: str


_PROJECT = r"(?:app|application|code ?base|library|package|program|project|repo|repository|workspace)s?\b"
_WHOLE = rf"{_PROJECT}|pro[jy]e[ck]t|dépôt|repositor|проект|репозитор|プロジェクト|リポジトリ|项目|仓库|專案"
# "Explain this", "what it does", but not "how does this project test?".
_POINTING = re.compile(
    r"(?i)(?:\b(?:here|this|these|selected|selection|what it|hier|dies(?:e[mnrs]?)?|markiert\w*|aquí|est[aeo]s?"
    r"|seleccionad\w+|ici|ceci|ce(?:t|tte)? (?:code|fonction|méthode|classe|fichier|bloc|ligne)|sélectionn\w+"
    r"|здесь|эт[аоиу]|этот|этой|этого|выделен\w+)\b|この|これ|这个|这段|这里|這個|這段|這裡|选中|選択|\A\W*explain\W*\Z)"
    rf"(?!\s*(?:{_WHOLE}))"
)
# "this function" and "what does this do" mean the cursor whatever else is named; "this field" and "here" may not.
_SURELY_POINTING = re.compile(
    r"(?i)\b(?:selected|selection|what it|(?:this|these) (?:block|call|class|code|file|function|line|loop|method|module"
    r"|problem|test|type|variable)(?:e?s)?"
    r"|this(?=[.?!,]|$| (?:do|does|is|was|has|can|could|will|would|should|work|mean|called|used)\b))"
)
_NAMED = re.compile(
    r"(?i)`[^`]+`|\w\(\)|\w(?:::|#)\w|[a-z\d]_[a-z]|(?-i:[a-z][A-Z])|\w/\w|\w\.[a-z]{1,4}\b"
    rf"|\b(?:any|every|else)where\b|\b(?:across|throughout|in|of) (?:the|this|our|my) (?:whole |entire )?{_PROJECT}"
)
_LONG_SPACE = re.compile(r"\s{40,}")  # the patterns below take long with it
_GREETING = re.compile(
    r"(?i)\A\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|hola"
    r"|buen[oa]s (?:días|tardes|noches)|bonjour|bonsoir|salut|привет|здравствуйте|добрый (?:день|вечер)"
    r"|こんにちは|你好|您好|大家好)"
    r"(?: (?:all|again|everybody|everyone|folks|guys|team|there|zusammen|a todos|à tous|всем))*"
    r"\s*(?:[,.!:、，。！]|\n)\s*"
)
_THANKS = re.compile(
    r"(?im)(?:(?<=[.?!,;。？！\n])|^)\s*¡?(?:(?:many|so many|huge|vielen|besten|muchas|заранее|большое) )?"
    r"(?:thanks|thank you|thx|cheers|danke|dank|gracias|merci|спасибо|(?:best |kind |warm )?regards|viele grüße|saludos"
    r"|cordialement|(?:any|your) help (?:is|would be) (?:much |greatly |highly )?appreciated|please help(?: me)?"
    r"|ありがとうございます|よろしくお願いします|お願いします|谢谢|謝謝|感谢)"
    r"(?:[ ,]*(?:in advance|a lot|a bunch|very|so|much|again|all|everyone|guys|for (?:all )?(?:any|your|the)(?:"
    r" (?:help|time|support|answers?|pointers?|hints?|advice|assistance))+|im voraus|für die hilfe|sehr|de antemano"
    r"|schön|por (?:la|su|tu) ayuda|beaucoup|d'avance|pour votre aide|за помощь))*\s*(?:,?\s+\w+\W*\Z|[.!。！]+|$|\n)"
)


def without_pleasantries(text: str) -> str:
    """The text without greetings and thanks, unless nothing else is in it."""
    text = _LONG_SPACE.sub(lambda space: "\n\n" if "\n" in space[0] else " ", text)
    return _THANKS.sub(" ", _GREETING.sub("", text)).strip() or text


WHY, WHEN = "why", "when"
"""The `changes` of questions about the history of the code at the cursor, and about when something changed."""
WORKING, STAGED, BRANCH, COMMIT = "working", "staged", "branch", "commit"
"""Words for uncommitted and staged changes, the current branch, and the last commit."""
_MENTION = re.compile(r"\s*@(?P<word>when|(?:changes|staged|branch|commit)(?::(?P<revision>[^\s:][^\s]*))?)(?=\s|$)")
_MEANING = {"changes": WORKING, "staged": STAGED, "branch": BRANCH, "commit": COMMIT, "when": WHEN}
ABOUT_CHANGE = "What does this change do, and what could it break? Name the code and the tests that rely on it."
ABOUT_WHY = "Why is this code so? Name each commit that made it so by its id, and say which reason its message gives."
ABOUT_WHEN = "What changed lately? Name the commits by their ids, newest first, with what each did."
"""Questions that are asked without words."""


def about_changes(changes: str) -> str:
    """The question without words about what its `changes` name."""
    return {WHY: ABOUT_WHY, WHEN: ABOUT_WHEN}.get(changes, ABOUT_CHANGE)


def without_mention(text: str) -> tuple[str, str | None]:
    """The words of a question after `@changes`, `@changes:A..B` or the like, and its meaning; None without a mention.

    Within a sentence `@commit` is a decorator.
    """
    if (match := _MENTION.match(text)) is None:
        return text, None
    return text[match.end() :].strip(), match["revision"] or _MEANING[match["word"]]


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change at one length, and lines of the workspace in it. One not `complete` leaves changed lines out."""

    text: str
    places: tuple[Cursor, ...]
    tokens: int
    complete: bool


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """A commit that an answer may cite, by its id or in the words of its message, and the lines it is cited for."""

    id: str
    message: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Change:
    """The change that a question is about, read from git.

    `shown` has it at several lengths, longest first. `removed` are lines with their places. `code` stands for it where
    the drafter reads; `related` are log-odds that its users and what it uses gain, float32 [U]. `commits` are those
    whose messages are shown. Show `notices` to the user.
    """

    shown: tuple[ShownChange, ...]
    removed: tuple[tuple[str, Citation], ...]
    code: CodeAtCursor
    related: Scores
    commits: tuple[ShownCommit, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Units that may be kept, int64 [N] in order, perhaps a line of each that must be, and if these are `complete`."""

    units: NDArray[np.int64]
    lines: NDArray[np.int64] | None = None
    complete: bool = True

    def line_of(self, unit: int) -> int | None:
        """The line that has to be kept of one of the units, if there is one."""
        return None if self.lines is None else int(self.lines[np.searchsorted(self.units, unit)])


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its cursor, and the turns before it, oldest first.

    `code` is the code at the cursor, once a workspace has located it (`Workspace.located`). With `paths`, nothing is
    kept but code of these files and folders, and with `pattern`, but code with a line that this regular expression
    matches; `scope` is what that comes to (`index/scope.py`). `places` are the lines that the text names, by unit.
    `changes` is WHY, WHEN, or words that `changes/reading.py` reads as `change`, in the folders `changed_in` or all.
    """

    text: str
    cursor: Cursor | None = None
    earlier: tuple[Turn, ...] = ()
    code: CodeAtCursor | None = None
    paths: tuple[str, ...] = ()
    pattern: str = ""
    scope: Scope | None = field(default=None, compare=False, repr=False)
    places: Mapping[int, Sequence[int]] = field(default_factory=dict, compare=False, repr=False)
    changes: str | None = None
    changed_in: tuple[Folder, ...] = ()
    change: Change | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("the question is empty")

    @property
    def search_text(self) -> str:
        """The text to search for. "And who calls it?" needs the question before it to mean something."""
        return "\n".join([*(turn.question for turn in self.earlier[-1:]), without_pleasantries(self.text)])

    def at_cursor(self, span: Span) -> bool:
        """True if the span has lines at the cursor."""
        return self.cursor is not None and self.cursor.overlaps(span)

    @property
    def is_about_cursor(self) -> bool:
        """True if the words point at the code at the cursor. An editor has a cursor whatever is asked.

        "This" and "here" may mean other code where that is named.
        """
        points = self.cursor is not None and _POINTING.search(self.text)
        return bool(points and (_SURELY_POINTING.search(self.text) or not _NAMED.search(self.text)))
