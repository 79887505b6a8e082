"""The one facade: a question goes in; an answer comes out, with the code it rests on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from winnow_engine.changes.question import asked_changes, with_change
from winnow_engine.config import ModelConfig
from winnow_engine.core import (
    Budget,
    Cancellation,
    Kept,
    KeptSink,
    ProgressSink,
    Sampling,
    SentenceSink,
    TextSink,
    ignore,
)
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import WorkspaceError
from winnow_engine.history.question import asked_past, with_past
from winnow_engine.index.indexing import ReadContext, record_names, restore_records
from winnow_engine.index.parse_pool import ParsePool, open_parse_pool
from winnow_engine.index.scope import in_scope
from winnow_engine.index.workspace import Sources, Workspace, begun_again, read_workspace, workspace_cache
from winnow_engine.keys.encoders import Encoders, OpenFleet, StreamingEncoder
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.models.cache import locate
from winnow_engine.prompting.attribution import Attribution, StreamedAttribution, attribution_of
from winnow_engine.prompting.conversation import Conversations
from winnow_engine.prompting.fitting import Fitted, Limits, fit
from winnow_engine.prompting.places import with_places
from winnow_engine.question import Question
from winnow_engine.reranker.background import AFFORDED_S, BackgroundReranker, OpenReranker, open_reranker
from winnow_engine.reranker.reranking import rerank
from winnow_engine.runtime import Clock, FairLock, Loading
from winnow_engine.selection.auto_budget import LEAST_TOKENS, prefill_limit
from winnow_engine.selection.first_look import first_places, keys_for
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.order import with_rules
from winnow_engine.selection.overview import without_idle_cursor
from winnow_engine.selection.ranking import Ranked, Selection, without_unlikely_cursor
from winnow_engine.selection.two_levels import search
from winnow_engine.sharing.publishing import publish
from winnow_engine.sharing.shards import Shard
from winnow_engine.storage.store import Store
from winnow_engine.targets.answer import Answer, Stats, without_code
from winnow_engine.targets.base import Request, Target, fits_anew
from winnow_engine.targets.opening import open_target, room_for_reranker
from winnow_engine.targets.repetition import RepetitionGuard


class Assistant:
    """Answers questions about workspaces. Models load in the background: from the start, or the target once asked.

    Any number of threads may select, index, and ask a target on a server at once. A target in this process takes one
    request at a time, which is up to the caller. The first question that needs a model raises what its opening raised.
    Without `open_target` only `select` and `index` work. With `remember` the store keeps conversations.
    """

    def __init__(
        self,
        store: Store,
        open_drafter: Callable[[], Drafter],
        open_target: Callable[[], Target] | None = None,
        *,
        load_target: bool = True,
        remember: bool = False,
        parse_pool: ParsePool | None = None,
        open_fleet: OpenFleet | None = None,
        open_reranker: OpenReranker = lambda drafter: None,
    ) -> None:
        self._store, self._parse_pool = store, parse_pool or ParsePool(0)
        self.reranker: BackgroundReranker | None = None
        """The reranker, once `keys` are loaded."""

        def open_models() -> Drafter:
            drafter = open_drafter()
            self.reranker = open_reranker(drafter)
            return drafter

        self._encoders = Encoders(store, open_models, open_fleet)
        self._open_target = open_target
        self._conversations = Conversations(store if remember else None)
        self._workspace: Workspace | None = None
        self._reading = FairLock(1)
        self.target = Loading(open_target, at_once=load_target) if open_target else None

    @property
    def keys(self) -> Loading[KeyCache]:
        """The drafter with the keys that it made."""
        return self._encoders.keys

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user about processes that were lost."""
        return (*self._parse_pool.notices, *self._encoders.notices)

    def retry(self) -> None:
        """Open again what could not be loaded: its file may be there by now."""
        self._encoders.retry()
        if self._open_target and self.target and self.target.error:
            self.target = Loading(self._open_target)

    @fits_anew
    def ask(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        sampling: Sampling,
        on_text: TextSink,
        progress: ProgressSink = ignore,
        cancellation: Cancellation | None = None,
        on_kept: KeptSink = ignore,
        on_thought: TextSink = ignore,
        on_sentence: SentenceSink = ignore,
    ) -> Answer:
        """Answer a question: rank the workspace, fit a prompt, generate from it.

        `on_kept` gets the kept code before the target reads it, and once before that if the target still loads. Where
        much is to be encoded first, it gets provisional places before that; both again if a prompt is fitted anew.
        `on_thought` gets the thoughts of a reasoning model. `on_sentence` gets each sentence of the answer, on another
        thread, once the code behind it is found.
        """
        assert self.target is not None, "an assistant without a target selects, but does not answer"
        cancellation, clock = cancellation or Cancellation(), Clock()
        self.target.begin()
        loading = self.target

        def fitting() -> tuple[Ranked, Target, Fitted, Attribution]:
            ranked = self._rank(sources, question, budget, clock, progress, cancellation, on_kept, loading)
            with clock.stage("load_target"):
                if not loading.over:
                    on_kept(Kept.of(self._selected(ranked, budget).spans, None, ranked.question.at_cursor))
                target = loading.wait_for(cancellation)
            with clock.stage("select"):
                answer = sampling.max_tokens + target.thinking_tokens(sampling)
                limits = Limits(budget, target, answer, sampling.thinking)
                fitted = fit(ranked, self._conversations.with_turns(question.earlier), limits)
                return ranked, target, fitted, attribution_of(ranked, fitted.selection.spans, cancellation)

        ranked, target, fitted, attribution = begun_again(fitting, cancellation)
        throughput = target.prefill_tokens_per_s
        seconds = target.seconds_to_read(fitted.prompt)
        on_kept(Kept.of(fitted.selection.spans, seconds, ranked.question.at_cursor))
        before = clock.elapsed
        with StreamedAttribution(attribution, on_text, on_sentence, cancellation) as streamed:
            if fitted.has_code:
                until_repeated = cancellation.part()
                guard = RepetitionGuard(streamed.feed, until_repeated.cancel)
                request = Request(fitted.prompt, sampling, guard.feed, until_repeated, progress, on_thought=on_thought)
                generation = guard.ended(target.generate(request))
            else:
                generation = without_code(ranked.reranked.select(LEAST_TOKENS).spans)
                streamed.feed(generation.text)
            cancellation.check()
            sentences = streamed.end()
        clock.stages["prefill"] = generation.first_token_s or 0.0
        citations = attribution.citations(generation.text, sentences)
        notices = (*fitted.selection.notices, *attribution.notices(citations))
        self._conversations.add(fitted.answered(ranked.question, generation.text))
        stats = Stats(
            selection=fitted.selection.stats,
            generation=generation,
            stages=clock.stages,
            ttft_s=before + clock.stages["prefill"],
            places={"drafter": ranked.drafter.place, "target": target.place},
            target_host=target.host,
            prefill_tokens_per_s=throughput,
        )
        return Answer(replace(fitted.selection, notices=notices), stats, sentences, citations)

    def select(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        progress: ProgressSink = ignore,
        cancellation: Cancellation | None = None,
    ) -> Selection:
        """The spans `ask` would show the target. Before it is loaded, it is taken for one that reads fast."""
        cancellation, clock = cancellation or Cancellation(), Clock()

        def selecting() -> Selection:
            ranked = self._rank(sources, question, budget, clock, progress, cancellation)
            with clock.stage("select"):
                return self._selected(ranked, budget)

        selection = begun_again(selecting, cancellation)
        return replace(selection, stats=replace(selection.stats, stages=clock.stages))

    def ranked(self, sources: Sources, question: Question, budget: Budget) -> Ranked:
        """The question with a score for each unit, to select for more budgets than one."""
        cancellation = Cancellation()
        ranking = partial(self._rank, sources, question, budget, Clock(), ignore, cancellation)
        return begun_again(lambda: ranking().reranked, cancellation)

    def _selected(self, ranked: Ranked, budget: Budget) -> Selection:
        """The spans for a prompt of its own, by what is known of the target now."""
        target = self.target.loaded if self.target else None
        most = prefill_limit(target.prefill_tokens_per_s if target else None, budget.patience_s)
        return ranked.reranked.select(ranked.tokens(budget, most))

    def index(
        self, sources: Sources, progress: ProgressSink = ignore, cancellation: Cancellation | None = None
    ) -> Workspace:
        """Bring the cached keys of the workspace up to date, first those of files that are open in editors."""
        cancellation = cancellation or Cancellation()

        def indexing() -> Workspace:
            self._store.save_rest()
            with StreamingEncoder(self.keys, progress, cancellation) as early:
                workspace = self.read(sources, cancellation, ReadContext(self._parse_pool, early.begin))
                sources.refuse_bare(workspace.files)
            self.keys.wait_for(cancellation).of(workspace, progress, cancellation, tuple(sources.open_documents))
            self._store.save_rest()
            return workspace

        return begun_again(indexing, cancellation)

    def publish(self, workspace: Workspace, out: Path, repository: str) -> Shard:
        """Add the index of a workspace that was just indexed to the shared index in `out`. SharedIndexError."""
        restore_records(workspace.files, self._store)
        names = record_names(workspace.files) | self.keys.wait_for(Cancellation()).record_names(workspace)
        return publish(self._store, names, len(workspace.files), out, repository)

    def close(self) -> None:
        """Free target, fleet and parse pool, once models have loaded. The store's owner closes that."""
        self._encoders.close()
        target = self.target.settle() if self.target else None
        if target is not None:
            target.close()
        self._parse_pool.close()

    def read(self, sources: Sources, cancellation: Cancellation, context: ReadContext | None = None) -> Workspace:
        """The workspace as it is now; files that have not changed are taken from memory. One thread reads at a time."""
        context = context or ReadContext(self._parse_pool)
        with self._reading.held(cancellation):
            self._workspace = read_workspace(sources, self._store, cancellation, self._workspace, context)
            return self._workspace

    def latest(self, sources: Sources) -> Workspace | None:
        """The workspace as it was read last; None if it was not, or another one has been read since."""
        latest = self._workspace
        return latest if latest and latest.identity == workspace_cache(sources, self._store).identity else None

    def _rank(
        self,
        sources: Sources,
        question: Question,
        budget: Budget,
        clock: Clock,
        progress: ProgressSink,
        cancellation: Cancellation,
        on_kept: KeptSink | None = None,
        needed_later: Loading[Target] | None = None,
    ) -> Ranked:
        """Score the units of the workspace as it is now, all or those of a first look, against the question.

        Gives up before the long part if `needed_later` has failed to load.
        """
        early = StreamingEncoder(self.keys, progress, cancellation)
        with clock.stage("read"), early:
            begin = partial(early.begin_for_question, budget)
            workspace = self.read(sources, cancellation, ReadContext(self._parse_pool, begin=begin))
            # What is wrong with the question is raised now, not after the long part.
            question = with_places(without_idle_cursor(workspace.located(question)), workspace)
            question = in_scope(question, workspace, cancellation)
            past = asked_past(question, sources, workspace, cancellation)
            changes = None if past else asked_changes(question, sources, workspace, cancellation)
            if question.changes is None:
                sources.refuse_bare(workspace.files)
        if on_kept and not past and changes is None and self._encoders.lack(workspace):
            on_kept(first_places(question, workspace))
        with clock.stage("load_drafter"):
            cache = self.keys.wait_for(cancellation)
            if needed_later is not None:
                needed_later.raise_if_failed()
            reranker = self.reranker if cache.drafter.place == "resident" else None
            if reranker is not None:
                reranker.begin()
        with clock.stage("index"):
            question = with_change(question, changes, workspace, cache.drafter.count)
            question = with_past(question, past, workspace, cache.drafter.count)
            keys = keys_for(question, workspace, cache, budget, progress, cancellation)
        with clock.stage("score"):
            asked = search(workspace, keys, cache.drafter, question, cancellation, budget.tokens(keys.tokens))
            candidates = keys.units_in(question.scope)
            scores = fuse(asked, read_fusion_weights(cache.drafter.fusion)).among(candidates)
            own = keys.tokens_of(candidates)
        again = None
        if reranker is not None and cache.drafter.place == "resident":  # its GPU may have failed since
            again = clock.stage("rerank")(partial(rerank, asked, scores, own, cache.drafter, reranker, cancellation))
        cancellation.check()
        with suppress(WorkspaceError):  # a disk that is still full is in the notices
            self._store.save_rest()
        notices = (*self._store.problems, *(question.change.notices if question.change else ()))
        scores = with_rules(question, workspace, scores)
        question = without_unlikely_cursor(question, workspace, scores)
        return Ranked(question, workspace, keys, own, scores, cache.drafter, notices, again)


def open_assistant(
    models: ModelConfig,
    store: Store,
    *,
    answers: bool = True,
    load_target: bool = True,
    remember: bool = False,
    open_fleet: OpenFleet | None = None,
    before_target: Callable[[], None] = lambda: None,
) -> Assistant:
    """The assistant that a configuration describes; without a target unless it `answers`.

    Without `load_target` it loads that when it is asked for the first time.

    Models load in the background: `targets.opening.check_target` and `models.cache.locate` tell sooner what is wrong
    with them. `before_target` may wait for memory, or raise CancelledError.
    """
    room = False  # for the reranker, beside drafter and target

    def open_drafter() -> Drafter:
        nonlocal room
        room = room_for_reranker(models, answers=answers)  # before the drafter takes its own
        return Drafter(locate(models.drafter))

    def begin_reranker(drafter: Drafter) -> BackgroundReranker | None:
        reranker = open_reranker(drafter, AFFORDED_S) if room else None
        if answers and reranker is not None:
            reranker.begin()  # it takes longer than the first question waits for it
        return reranker

    def open_when_free() -> Target:
        before_target()
        return open_target(models)

    return Assistant(
        store,
        open_drafter,
        open_when_free if answers else None,
        load_target=load_target,
        remember=remember,
        parse_pool=open_parse_pool(),
        open_fleet=open_fleet,
        open_reranker=begin_reranker,
    )
