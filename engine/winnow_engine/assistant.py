"""The one facade: a question goes in, an answer with its evidence comes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from winnow_engine.citations import cite
from winnow_engine.core import Budget, Cancellation, Citation, Progress, ProgressSink, Question, Span
from winnow_engine.drafter.drafter import CodeAtCursor, Drafter
from winnow_engine.errors import BudgetError
from winnow_engine.index.languages import for_path
from winnow_engine.index.naming import identifiers
from winnow_engine.index.store import Store
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.keys import KeyCache, WorkspaceKeys
from winnow_engine.loading import Loading
from winnow_engine.prompt import build_messages, with_latest_turns
from winnow_engine.selection.budget import choose
from winnow_engine.selection.fusion import WEAK, Evidence, Scores, fuse
from winnow_engine.selection.source import WorkspaceSource
from winnow_engine.target.base import Prompt, Sampling, Target, TextSink


def _ignore(_: Progress) -> None:
    """The default progress sink."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a question cost. `stages` are seconds of wall clock by name, in order; they add up to `ttft_s`.

    `workspace_tokens` and `kept_tokens` count the drafter's tokens of code; `prompt_tokens` are the target's, all in.
    """

    workspace_tokens: int
    kept_tokens: int
    stages: dict[str, float] = field(default_factory=dict)
    ttft_s: float | None = None
    prompt_tokens: int = 0
    reused_tokens: int = 0
    decode_tokens: int = 0
    decode_tokens_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Selection:
    """What the target would see for a question, and the workspace it was taken from. Show `notices` to the user."""

    workspace: Workspace
    spans: tuple[Span, ...]
    stats: Stats
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The target's answer with its evidence."""

    text: str
    citations: tuple[Citation, ...]
    spans: tuple[Span, ...]
    stats: Stats
    finish: str
    notices: tuple[str, ...]


class Assistant:
    """Answers questions about workspaces. One call at a time; models load in the background from the start.

    `open_drafter` and `open_target` are called once each, on threads of their own; what they raise is raised by the
    first question that needs the model. Without `open_target` only `select` and `index` work.
    """

    def __init__(
        self, store: Store, open_drafter: Callable[[], Drafter], open_target: Callable[[], Target] | None = None
    ) -> None:
        self._store = store
        self._open_keys = lambda: KeyCache(store, open_drafter())
        self._open_target = open_target
        self.keys = Loading(self._open_keys)
        self.target = Loading(open_target) if open_target else None

    def retry(self) -> None:
        """Open again what could not be loaded: its file may be there by now."""
        if self.keys.error:
            self.keys = Loading(self._open_keys)
        if self._open_target and self.target and self.target.error:
            self.target = Loading(self._open_target)

    def ask(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        sampling: Sampling,
        on_text: TextSink,
        progress: ProgressSink = _ignore,
        cancellation: Cancellation | None = None,
    ) -> Answer:
        """Answer `question`, streaming to `on_text`. The whole way of a question, on one screen."""
        assert self.target is not None, "an assistant without a target selects, but does not answer"
        cancellation, clock = cancellation or Cancellation(), _Clock()
        ranked = self._rank(sources, question, clock, progress, cancellation, self.target)
        with clock.stage("load_target"):
            target = self.target.wait_for(cancellation)
        with clock.stage("select"):
            selection, prompt = _fitted(ranked, question, budget, target, sampling)
        progress(Progress("prefill", 0, len(prompt)))
        before = clock.elapsed
        generation = target.generate(prompt, sampling, cancellation, on_text, progress)
        cancellation.check()
        clock.stages["prefill"] = generation.first_token_s or 0.0
        stats = replace(
            selection.stats,
            stages=clock.stages,
            ttft_s=before + clock.stages["prefill"],
            prompt_tokens=generation.prompt_tokens,
            reused_tokens=generation.reused_tokens,
            decode_tokens=generation.decode_tokens,
            decode_tokens_per_s=generation.decode_tokens_per_s,
        )
        citations = cite(generation.text, selection.workspace, selection.spans)
        return Answer(generation.text, citations, selection.spans, stats, generation.finish, selection.notices)

    def select(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        progress: ProgressSink = _ignore,
        cancellation: Cancellation | None = None,
    ) -> Selection:
        """The spans `ask` would show the target, without asking it."""
        cancellation, clock = cancellation or Cancellation(), _Clock()
        ranked = self._rank(sources, question, clock, progress, cancellation)
        with clock.stage("select"):
            selection = ranked.select(question, budget.tokens(ranked.workspace_tokens))
        return replace(selection, stats=replace(selection.stats, stages=clock.stages))

    def index(
        self, sources: Sources, progress: ProgressSink = _ignore, cancellation: Cancellation | None = None
    ) -> Workspace:
        """Bring the cached keys of the workspace up to date."""
        cancellation = cancellation or Cancellation()
        workspace = read_workspace(sources, self._store, cancellation)
        self.keys.wait_for(cancellation).of(workspace, progress, cancellation)
        return workspace

    def close(self) -> None:
        """Free the target; the store stays its owner's to close. Waits for models that are still loading."""
        self.keys.settle()
        target = self.target.settle() if self.target else None
        if target is not None:
            target.close()

    def _rank(
        self,
        sources: Sources,
        question: Question,
        clock: _Clock,
        progress: ProgressSink,
        cancellation: Cancellation,
        needed_later: Loading[Target] | None = None,
    ) -> _Ranked:
        """Score every unit of the workspace as it is now against the question.

        Gives up before the long part if what is needed afterwards is known not to load.
        """
        with clock.stage("read"):
            workspace = read_workspace(sources, self._store, cancellation)
            code = _code_at_cursor(workspace, question)
        with clock.stage("load_drafter"):
            cache = self.keys.wait_for(cancellation)
            if needed_later is not None:
                needed_later.raise_if_failed()
        with clock.stage("index"):
            keys = cache.of(workspace, progress, cancellation)
        with clock.stage("score"):
            evidence = _evidence(workspace, keys, cache.drafter, question, code, cancellation)
        cancellation.check()
        return _Ranked(workspace, keys, fuse(evidence), cache.drafter)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A workspace with a score for each unit."""

    workspace: Workspace
    keys: WorkspaceKeys
    scores: Scores
    drafter: Drafter

    @property
    def workspace_tokens(self) -> int:
        return int(self.keys.unit_tokens.sum())

    def select(self, question: Question, budget_tokens: int) -> Selection:
        """The spans that fit a budget."""
        source = WorkspaceSource(self.workspace, self.keys.unit_tokens, self.drafter.count)
        focus = source.focus(question.cursor) if question.cursor else None
        spans = source.spans(choose(source, self.scores.total, budget_tokens, focus), self.scores)
        stats = Stats(self.workspace_tokens, sum(span.tokens for span in spans))
        notices = (self.drafter.notice,) if self.drafter.notice else ()
        return Selection(self.workspace, spans, stats, notices)


def _evidence(
    workspace: Workspace,
    keys: WorkspaceKeys,
    drafter: Drafter,
    question: Question,
    code: CodeAtCursor | None,
    cancellation: Cancellation,
) -> dict[str, Evidence]:
    """What the drafter, the words and the names say of each unit."""
    asked, at_cursor = question.search_text, code.text if code else ""
    drafted = drafter.score(keys.arrays, keys.offsets, asked, code, cancellation)
    named, mentioned = workspace.symbols.score(asked, identifiers(at_cursor))
    return {
        **{kind: Evidence(scores) for kind, scores in drafted.items()},
        "words": Evidence(workspace.lexical.score(f"{asked}\n{at_cursor}")),
        "names": Evidence(named),
        "mentions": Evidence(mentioned, WEAK),
    }


_LEAST_BUDGET = 64  # tokens; a budget lowered further would not hold one function


def _fitted(
    ranked: _Ranked, question: Question, budget: Budget, target: Target, sampling: Sampling
) -> tuple[Selection, Prompt]:
    """The selection and its prompt, with the budget lowered, and that said, until the target's context holds both."""
    wanted = tokens = budget.tokens(ranked.workspace_tokens)
    asked = with_latest_turns(question, budget.earlier_tokens, target.count)
    forgotten = len(question.earlier) - len(asked.earlier)
    room = target.context_limit - sampling.max_tokens
    while tokens >= min(wanted, _LEAST_BUDGET):
        selection = ranked.select(question, tokens)
        prompt = target.chat_prompt(build_messages(selection.workspace, selection.spans, asked))
        if len(prompt) <= room:
            notices = [*selection.notices]
            if tokens < wanted:
                limit = f"the target's context of {target.context_limit:,}"
                notices.append(f"budget lowered from {wanted:,} to {tokens:,} tokens to fit {limit}")
            if forgotten:
                turns = "turn was" if forgotten == 1 else "turns were"
                notices.append(f"{forgotten} earlier {turns} left out to fit {budget.earlier_tokens:,} tokens of them")
            return replace(selection, notices=tuple(notices)), prompt
        tokens = int(min(tokens, selection.stats.kept_tokens) * 0.95 * room / len(prompt)) if room > 0 else 0
    raise BudgetError(
        f"the question does not fit the target's context of {target.context_limit:,} tokens with an answer of "
        f"{sampling.max_tokens:,}: shorten the question or selection, or ask for a shorter answer"
    )


def _code_at_cursor(workspace: Workspace, question: Question) -> CodeAtCursor | None:
    if question.cursor is None:
        return None
    language = for_path(question.cursor.path)
    return CodeAtCursor(workspace.selected_text(question.cursor), language.name if language else "")


class _Clock:
    """Wall time by stage since the question came."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.stages[name] = time.perf_counter() - started
