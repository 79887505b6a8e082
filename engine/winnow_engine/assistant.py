"""The one facade: a question goes in, an answer with its evidence comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from winnow_engine.asked import asked_of
from winnow_engine.citations import cite
from winnow_engine.clock import Clock
from winnow_engine.conversation import LEAST_BUDGET, Conversation, follow_up_budget, is_too_long
from winnow_engine.core import Budget, Cancellation, Citation, Progress, ProgressSink, Question, Span, ignore_progress
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.errors import BudgetError
from winnow_engine.index.store import Store
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.keys import KeyCache, WorkspaceKeys
from winnow_engine.loading import Loading
from winnow_engine.prompt import build_messages, continued_messages, with_latest_turns
from winnow_engine.selection.auto import enough
from winnow_engine.selection.budget import Focus, choose
from winnow_engine.selection.fusion import Fused, fuse
from winnow_engine.selection.gate import read_gate
from winnow_engine.selection.parts import parts
from winnow_engine.selection.source import WorkspaceSource
from winnow_engine.target.base import Message, Prompt, Sampling, Target, TextSink


@dataclass(frozen=True, slots=True)
class Stats:
    """What a question cost. `stages` are seconds of wall clock by name, in order; they add up to `ttft_s`.

    `workspace_tokens`, `kept_tokens` and `budget_tokens`, those that could be kept, count the drafter's tokens of code;
    `prompt_tokens` are the target's, all in. Of `drafted_tokens`, guessed by `draft` or by nothing for the reason it
    gives, `accepted_tokens` were right. `answer_probability` is how likely anything in the workspace answers.
    `places` says where drafter and target live, `target_host` where the prompt was sent to if it left this machine.
    """

    workspace_tokens: int
    kept_tokens: int
    stages: dict[str, float] = field(default_factory=dict)
    ttft_s: float | None = None
    prompt_tokens: int = 0
    reused_tokens: int = 0
    decode_tokens: int = 0
    decode_tokens_per_s: float = 0.0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    draft: str = "off"
    budget_tokens: int = 0
    answer_probability: float = 1.0
    places: dict[str, str] = field(default_factory=dict)
    target_host: str | None = None


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
        self._conversation: Conversation | None = None

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
        progress: ProgressSink = ignore_progress,
        cancellation: Cancellation | None = None,
    ) -> Answer:
        """Answer `question`, streaming to `on_text`. The whole way of a question, on one screen."""
        assert self.target is not None, "an assistant without a target selects, but does not answer"
        cancellation, clock = cancellation or Cancellation(), Clock()
        ranked = self._rank(sources, question, clock, progress, cancellation, self.target)
        with clock.stage("load_target"):
            target = self.target.wait_for(cancellation)
        with clock.stage("select"):
            follow_up = _continued(self._conversation, ranked, budget, target, sampling)
            selection, messages, prompt = follow_up or _fitted(ranked, budget, target, sampling)
        progress(Progress("prefill", 0, len(prompt)))
        before = clock.elapsed
        generation = target.generate(prompt, sampling, cancellation, on_text, progress)
        cancellation.check()
        clock.stages["prefill"] = generation.first_token_s or 0.0
        self._conversation = Conversation.of(ranked.question, generation.text, messages, selection)
        stats = replace(
            selection.stats,
            stages=clock.stages,
            ttft_s=before + clock.stages["prefill"],
            prompt_tokens=generation.prompt_tokens,
            reused_tokens=generation.reused_tokens,
            decode_tokens=generation.decode_tokens,
            decode_tokens_per_s=generation.decode_tokens_per_s,
            drafted_tokens=generation.drafted_tokens,
            accepted_tokens=generation.accepted_tokens,
            draft=generation.draft,
            places={"drafter": ranked.drafter.place, "target": target.place},
            target_host=target.host,
        )
        citations = cite(generation.text, selection.workspace, selection.spans)
        return Answer(generation.text, citations, selection.spans, stats, generation.finish, selection.notices)

    def select(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        progress: ProgressSink = ignore_progress,
        cancellation: Cancellation | None = None,
    ) -> Selection:
        """The spans `ask` would show the target, without asking it."""
        cancellation, clock = cancellation or Cancellation(), Clock()
        ranked = self._rank(sources, question, clock, progress, cancellation)
        with clock.stage("select"):
            selection = ranked.select(ranked.tokens(budget))
        return replace(selection, stats=replace(selection.stats, stages=clock.stages))

    def index(
        self, sources: Sources, progress: ProgressSink = ignore_progress, cancellation: Cancellation | None = None
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
        clock: Clock,
        progress: ProgressSink,
        cancellation: Cancellation,
        needed_later: Loading[Target] | None = None,
    ) -> _Ranked:
        """Score every unit of the workspace as it is now against the question.

        Gives up before the long part if what is needed afterwards is known not to load.
        """
        with clock.stage("read"):
            workspace = read_workspace(sources, self._store, cancellation)
            if question.cursor is not None:
                cursor = workspace.settled(question.cursor)
                workspace.selected_text(cursor)  # PositionError now, not after the long part
                question = replace(question, cursor=cursor)
        with clock.stage("load_drafter"):
            cache = self.keys.wait_for(cancellation)
            if needed_later is not None:
                needed_later.raise_if_failed()
        with clock.stage("index"):
            keys = cache.of(workspace, progress, cancellation)
        with clock.stage("score"):
            asked = asked_of(workspace, keys, cache.drafter, question, cancellation)
            scores = fuse(asked, read_gate(cache.drafter.fusion))
        cancellation.check()
        return _Ranked(question, workspace, keys, scores, cache.drafter)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A question about a workspace, with a score for each unit."""

    question: Question
    workspace: Workspace
    keys: WorkspaceKeys
    scores: Fused
    drafter: Drafter

    @property
    def workspace_tokens(self) -> int:
        return int(self.keys.unit_tokens.sum())

    def tokens(self, budget: Budget) -> int:
        """A budget in tokens: what the user set, or what the scores say the answer needs beside the cursor's code."""
        wanted = budget.tokens(self.workspace_tokens)
        if wanted is not None:
            return wanted
        focus, tokens = self._focus, self.keys.unit_tokens.copy()
        given = [*focus.units, *focus.companions] if focus else []
        at_cursor, tokens[given] = int(tokens[given].sum()), 0
        return at_cursor + enough(self.scores.total, tokens, len(parts(self.question.text)))

    def select(self, budget_tokens: int) -> Selection:
        """The spans that fit a budget."""
        pieces = choose(self._source, self.scores.total, budget_tokens, self._focus)
        spans = self._source.spans(pieces, self.scores)
        probability = float(1 / (1 + np.exp(-self.scores.log_odds)))
        kept = sum(span.tokens for span in spans)
        stats = Stats(
            self.workspace_tokens, kept, budget_tokens=budget_tokens, answer_probability=round(probability, 3)
        )
        notices = [self.drafter.notice] if self.drafter.notice else []
        if not spans:
            notices.append(
                f"nothing in the workspace seems to answer this ({probability:.0%} likely): no code was kept"
            )
        return Selection(self.workspace, spans, stats, tuple(notices))

    @property
    def _source(self) -> WorkspaceSource:
        return WorkspaceSource(self.workspace, self.keys.unit_tokens, self.drafter.count)

    @property
    def _focus(self) -> Focus | None:
        return self._source.focus(self.question.cursor) if self.question.cursor else None


_Fitted = tuple[Selection, list[Message], Prompt]


def _continued(
    conversation: Conversation | None, ranked: _Ranked, budget: Budget, target: Target, sampling: Sampling
) -> _Fitted | None:
    """The last prompt with what this question adds; None if it does not follow that prompt, or outgrows a limit."""
    question = ranked.question
    if conversation is None or not conversation.goes_on(question, ranked.workspace):
        return None
    if with_latest_turns(question, budget.earlier_tokens, target.count) != question:
        return None
    wanted = ranked.tokens(budget)
    selection = ranked.select(follow_up_budget(wanted, at_cursor=question.cursor is not None))
    new = conversation.unseen(selection.spans)
    spans = conversation.with_spans(new)
    messages = continued_messages(conversation.messages, ranked.workspace, new, question)
    prompt = target.chat_prompt(messages)
    if is_too_long(spans, wanted) or len(prompt) + sampling.max_tokens > target.context_limit:
        return None
    stats = replace(selection.stats, kept_tokens=sum(span.tokens for span in spans))
    notices = selection.notices if selection.spans else ()  # there is code, if not for this question
    return replace(selection, spans=spans, stats=stats, notices=notices), messages, prompt


def _fitted(ranked: _Ranked, budget: Budget, target: Target, sampling: Sampling) -> _Fitted:
    """The selection and its prompt, with the budget lowered, and that said, until the target's context holds both."""
    wanted = tokens = ranked.tokens(budget)
    asked = with_latest_turns(ranked.question, budget.earlier_tokens, target.count)
    forgotten = len(ranked.question.earlier) - len(asked.earlier)
    room = target.context_limit - sampling.max_tokens
    while tokens >= min(wanted, LEAST_BUDGET):
        selection = ranked.select(tokens)
        messages = build_messages(selection.workspace, selection.spans, asked)
        prompt = target.chat_prompt(messages)
        if len(prompt) <= room:
            notices = [*selection.notices]
            if tokens < wanted:
                limit = f"the target's context of {target.context_limit:,}"
                notices.append(f"budget lowered from {wanted:,} to {tokens:,} tokens to fit {limit}")
            if forgotten:
                turns = "turn was" if forgotten == 1 else "turns were"
                notices.append(f"{forgotten} earlier {turns} left out to fit {budget.earlier_tokens:,} tokens of them")
            return replace(selection, notices=tuple(notices)), messages, prompt
        if not tokens:
            break
        tokens = int(min(tokens, selection.stats.kept_tokens) * 0.95 * room / len(prompt)) if room > 0 else 0
    raise BudgetError(
        f"the question does not fit the target's context of {target.context_limit:,} tokens with an answer of "
        f"{sampling.max_tokens:,}: shorten the question or selection, or ask for a shorter answer"
    )
