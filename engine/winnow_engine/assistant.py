"""The one facade: a question goes in, an answer with its evidence comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from winnow_engine.core import (
    Budget,
    Cancellation,
    Citation,
    Progress,
    ProgressSink,
    Question,
    Sampling,
    Span,
    TextSink,
    ignore_progress,
)
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.prompting.citations import cite
from winnow_engine.prompting.conversation import Conversation
from winnow_engine.prompting.fitting import continued, fitted
from winnow_engine.prompting.history import Remembered
from winnow_engine.runtime import Clock, Loading
from winnow_engine.selection.asked_question import ask_drafter
from winnow_engine.selection.auto_budget import prefill_limit
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.selection.ranking import Ranked, Selection, Stats
from winnow_engine.store import Store
from winnow_engine.targets.base import Request, Target


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
    first question that needs the model. Without `open_target` only `select` and `index` work. With `remember` the store
    keeps conversations, so that any of them can be taken up again, also by another process.
    """

    def __init__(
        self,
        store: Store,
        open_drafter: Callable[[], Drafter],
        open_target: Callable[[], Target] | None = None,
        *,
        remember: bool = False,
    ) -> None:
        self._store = store
        self._open_keys = lambda: KeyCache(store, open_drafter())
        self._open_target = open_target
        self.keys = Loading(self._open_keys)
        self.target = Loading(open_target) if open_target else None
        self._remembered = Remembered(store if remember else None)
        self._workspace: Workspace | None = None

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
            conversation = self._remembered.with_turns(question.earlier)
            follow_up = continued(conversation, ranked, budget, target, sampling)
            selection, messages, prompt = follow_up or fitted(ranked, budget, target, sampling)
            throughput = target.prefill_tokens_per_s
        progress(Progress("prefill", 0, len(prompt)))
        before = clock.elapsed
        generation = target.generate(Request(prompt, sampling, on_text, cancellation, progress))
        cancellation.check()
        clock.stages["prefill"] = generation.first_token_s or 0.0
        self._remembered.add(Conversation.of(ranked.question, generation.text, messages, selection))
        stats = replace(
            selection.stats,
            stages=clock.stages,
            ttft_s=before + clock.stages["prefill"],
            prompt_tokens=generation.prompt_tokens,
            reused_tokens=generation.reused_tokens,
            restored_tokens=generation.restored_tokens,
            decode_tokens=generation.decode_tokens,
            decode_tokens_per_s=generation.decode_tokens_per_s,
            drafted_tokens=generation.drafted_tokens,
            accepted_tokens=generation.accepted_tokens,
            draft=generation.draft,
            places={"drafter": ranked.drafter.place, "target": target.place},
            target_host=target.host,
            prefill_tokens_per_s=throughput,
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
        """The spans `ask` would show the target, without asking it.

        Before the target is loaded, it is taken for one that reads fast.
        """
        cancellation, clock = cancellation or Cancellation(), Clock()
        ranked = self._rank(sources, question, clock, progress, cancellation)
        with clock.stage("select"):
            target = self.target.loaded if self.target else None
            most = prefill_limit(target.prefill_tokens_per_s if target else None)
            selection = ranked.select(ranked.tokens(budget, most))
        return replace(selection, stats=replace(selection.stats, stages=clock.stages))

    def index(
        self, sources: Sources, progress: ProgressSink = ignore_progress, cancellation: Cancellation | None = None
    ) -> Workspace:
        """Bring the cached keys of the workspace up to date."""
        cancellation = cancellation or Cancellation()
        workspace = self._read(sources, cancellation)
        self.keys.wait_for(cancellation).of(workspace, progress, cancellation)
        return workspace

    def close(self) -> None:
        """Free the target; the store stays its owner's to close. Waits for models that are still loading."""
        self.keys.settle()
        target = self.target.settle() if self.target else None
        if target is not None:
            target.close()

    def _read(self, sources: Sources, cancellation: Cancellation) -> Workspace:
        """The workspace as it is now; what the last reading found out of unchanged files is kept in memory."""
        self._workspace = read_workspace(sources, self._store, cancellation, self._workspace)
        return self._workspace

    def _rank(
        self,
        sources: Sources,
        question: Question,
        clock: Clock,
        progress: ProgressSink,
        cancellation: Cancellation,
        needed_later: Loading[Target] | None = None,
    ) -> Ranked:
        """Score every unit of the workspace as it is now against the question.

        Gives up before the long part if what is needed afterwards is known not to load.
        """
        with clock.stage("read"):
            workspace = self._read(sources, cancellation)
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
            asked = ask_drafter(workspace, keys, cache.drafter, question, cancellation)
            scores = fuse(asked, read_fusion_weights(cache.drafter.fusion))
        cancellation.check()
        return Ranked(question, workspace, keys, scores, cache.drafter)
