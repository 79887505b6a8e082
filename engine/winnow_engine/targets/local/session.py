"""A loaded model with its context, which only the owner thread may touch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt, Sampling, Thinking
from winnow_engine.errors import BudgetError, ModelError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext, attention_s
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.drafts import draft_name, open_draft
from winnow_engine.targets.drafts.base import MOST_NODES, NoDraft
from winnow_engine.targets.local.call_forms import answer_grammar
from winnow_engine.targets.local.chat_template import CHATML, ChatTemplate, LocalPrompt, uses_tools
from winnow_engine.targets.local.decoding import DecodedAnswer, decode
from winnow_engine.targets.local.grammar import AnswerGrammar, GrammarVocabulary
from winnow_engine.targets.snapshots.policy import SnapshotWriter, open_policy
from winnow_engine.targets.text_stream import ThoughtStream, cut_notice, opened_at_end
from winnow_engine.targets.throughput import PrefillThroughput

# Coarse, so that a growing conversation seldom needs a new, larger context.
_CONTEXT_STEP = 4096
# Tokens behind a thought that is ended from outside, and of a prompt that may hold its opening.
_ENDING = 64
# Room beyond the need, so that a slightly longer next prompt fits too.
_HEADROOM = 1024


class Session:
    """A loaded model and its current context."""

    def __init__(self, path: Path, options: TargetOptions) -> None:
        """Load `path`. Raises ModelNotFoundError, ModelDamagedError, UnsupportedModelError or DraftError."""
        self._options, self._name = options, path.stem
        self._writer, self.throughput = SnapshotWriter(), PrefillThroughput()
        self._model = LlamaModel(path, n_gpu_layers=options.gpu_layers, experts_in_memory=options.experts_in_memory)
        self.throughput.assume(self._model.parameters, options.threads, attention_s(self._model, options))
        self._cache: KvCache | None = None
        try:
            self._draft = open_draft(options, self._model)
        except ModelError:
            self._model.close()
            raise
        self._vocabulary = Vocabulary(self._model)
        self._snapshots = open_policy(path, options, self._model, self._writer, self.throughput)
        self.context_limit, self.parameters = self._model.context_limit, self._model.parameters

    @cached_property
    def _template(self) -> ChatTemplate:
        template = ChatTemplate(self._model.chat_template or CHATML, self._vocabulary.special_texts(), self._name)
        self._vocabulary.turn_ends = template.turn_ends(self._vocabulary)
        return template

    @cached_property
    def _tool_template(self) -> ChatTemplate:
        source, template = self._model.tool_template, self._template
        if source:
            template = ChatTemplate(source, self._vocabulary.special_texts(), self._name)
        if template.call_form:
            self._vocabulary.shown = template.call_form.control_tokens(self._vocabulary)
        return template

    @cached_property
    def _grammar_vocabulary(self) -> GrammarVocabulary:
        return GrammarVocabulary(self._vocabulary)

    def count(self, text: str) -> int:
        """The number of tokens that `text` takes as the content of a message."""
        return len(self._vocabulary.tokenize(text, special=False))

    def chat_prompt(self, messages: Sequence[Message], tools: Tools, thinking: Thinking = "auto") -> LocalPrompt:
        """The conversation as token ids, up to where the answer starts or goes on."""
        template = self._tool_template if tools or uses_tools(messages) else self._template
        return template.tokenize(messages, self._vocabulary, tools, thinking)

    def thinking_tokens(self, sampling: Sampling) -> int:
        """How many tokens a thought may take beside the answer, its ending included; 0 if the model does not think."""
        return self._thought_limit(sampling) + _ENDING if self._template.markers else 0

    def _thought_limit(self, sampling: Sampling) -> int:
        quiet = self._template.keeps_from_thinking(sampling.thinking)
        return 0 if quiet else min(sampling.thinking_tokens, self.context_limit // 4)

    def generate(self, request: Request[LocalPrompt], abort: AbortFlag, started: float) -> Generation:
        """Answer a request, until `abort` is set. `started` is the `time.perf_counter` reading when it was made."""
        prompt, sampling = request.prompt.tokens, request.sampling
        most, limit = sampling.max_tokens + self.thinking_tokens(sampling), self._thought_limit(sampling)
        forced = self._tool_template.forced_prefix(request.tools)
        answer, thoughts = DecodedAnswer(request.on_text), self._thoughts(request, forced)
        grammar = self._grammar(request, thoughts)
        cache = self._cache_for(prompt, most)
        cache.context.abort_with(abort)
        restored = self._snapshots.exchange(cache, prompt) if self._snapshots else 0
        reused = cache.reuse(prompt)
        prefill_started = time.perf_counter()
        prefilled = cache.prefill(prompt, request.progress, self._stops(request.prompt, cache))
        prefill_s = time.perf_counter() - prefill_started
        if prefilled:
            self.throughput.learn(reused, len(prompt), prefill_s)
            self._draft.begin(prompt, abort)
        if self._snapshots:
            self._snapshots.write_head()
        if prefilled:
            answer.show(forced)
            decode(answer, cache, self._vocabulary, sampling, self._draft, thoughts, limit, grammar)
        first_at = answer.first_token_at
        decode_s = 0.0 if first_at is None else time.perf_counter() - first_at
        return Generation(
            text=answer.text,
            finish=answer.finish,
            prompt_tokens=len(prompt),
            reused_tokens=reused,
            restored_tokens=restored,
            prefill_s=prefill_s,
            first_token_s=None if first_at is None else first_at - started,
            decode_tokens=len(answer.tokens),
            decode_s=decode_s,
            drafted_tokens=answer.drafted,
            accepted_tokens=answer.accepted,
            draft=draft_name(self._options, self._model),
            thought=thoughts.thought(answer.thought_tokens),
            notices=(cut_notice(limit),) if answer.cut_off else (),
        )

    def _stops(self, prompt: LocalPrompt, cache: KvCache) -> Mapping[int, Callable[[], None]]:
        """Calls that keep a copy of memory, by the number of the prompt's tokens that it then holds."""
        stops = dict[int, Callable[[], None]]()
        if prompt.head >= cache.context.n_batch:  # also where nothing is copied: batches decide the last digits
            stops[prompt.head] = partial(self._snapshots.copy_head, cache) if self._snapshots else lambda: None
        if self._model.keeps_states:
            stops[prompt.lasting] = cache.context.mark
        return stops

    def _thoughts(self, request: Request[LocalPrompt], forced: str) -> ThoughtStream:
        """What tells the thoughts of an answer apart, which may have begun in the prompt."""
        markers = () if forced else self._template.markers
        end = self._vocabulary.text(request.prompt.tokens[-_ENDING:].tolist(), special=True) if markers else ""
        return ThoughtStream(markers, request.on_thought, opened_at_end(end, markers))

    def _grammar(self, request: Request[LocalPrompt], thoughts: ThoughtStream) -> AnswerGrammar | None:
        """What the answer must follow, if anything. Raises SchemaError."""
        grammar = answer_grammar(request.format, request.tools, self._tool_template.call_form)
        if grammar is None:
            return None
        return self._grammar_vocabulary.follow(grammar, thoughts, request.format.field if request.format else "tools")

    def unread(self, prompt: Prompt) -> int:
        """How many tokens of `prompt` are neither in memory nor on disk; at least one."""
        return len(prompt) - self._available(prompt)[0]

    def seconds_to_read(self, prompt: Prompt, token_s: float) -> float:
        """How long `prompt` takes to restore and to read, if a token of a typical one takes `token_s`."""
        held, restore_s, _ = self._available(prompt)
        return restore_s + self.throughput.seconds(held, len(prompt), token_s)

    def _available(self, prompt: Prompt) -> tuple[int, float, int]:
        held = self._cache.reusable(prompt) if self._cache else 0
        return self._snapshots.available(prompt, held, self.context_limit - 1) if self._snapshots else (held, 0.0, 0)

    def _cache_for(self, prompt: Prompt, max_tokens: int) -> KvCache:
        """The current cache, in a larger context if it had no room for prompt and answer, or for a snapshot."""
        need = len(prompt) + max_tokens
        if need > self.context_limit:
            raise BudgetError(
                f"the prompt's {len(prompt)} tokens and up to {max_tokens} of the answer exceed the "
                f"target's context of {self.context_limit}: lower the budget or the answer's length, or "
                "choose a target with a longer context"
            )
        need = max(need, self._available(prompt)[2] + 1)
        if self._cache is None or self._cache.context.n_ctx < need:
            if self._cache and self._model.keeps_states and self._cache.reusable(prompt):
                self._cache.reuse(prompt)  # while the mark is there, which is not moved
            steps = -(-(need + _HEADROOM) // _CONTEXT_STEP)
            self._cache = self._moved(min(steps * _CONTEXT_STEP, self.context_limit))
        return self._cache

    def _moved(self, n_ctx: int) -> KvCache:
        """A cache with room for `n_ctx` tokens and the contents of the current one, which is freed first."""
        held = (self._cache.tokens, self._cache.context.state()) if self._cache else None
        self._drop_context()
        branches = 1 if isinstance(self._draft, NoDraft) else MOST_NODES
        cache = KvCache(LlamaContext(self._model, n_ctx, self._options, branches))
        if held:
            cache.restore(*held)
        return cache

    def _drop_context(self) -> None:
        if self._cache is not None:
            self._cache.context.close()
            self._cache = None

    def close(self) -> None:
        """Save a snapshot if that is wanted, free the context and the model, and wait until all is on disk."""
        if self._snapshots and self._cache:
            self._snapshots.save(self._cache, len(self._cache.tokens))
        self._drop_context()
        self._draft.close()
        self._model.close()
        self._writer.finish()
