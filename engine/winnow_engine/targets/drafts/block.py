"""Guesses of a draft trained here (`winnow train draft`): a block in one pass, for a target of any architecture.

The row of a token fuses what some of the target's layers read there with the embedding of the token behind it. Rows of
learned vectors follow, which guess the tokens after that. A table of low rank adds what one guess says of the next.
The GGUF holds the draft's layers, those of an ordinary model, and an output matrix for its own vocabulary, the most
frequent tokens; a `.safetensors` beside it holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from winnow_engine.config import TargetOptions
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.layer_inputs import check_layers
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import NOTHING, DraftTree, grow
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import DraftFile, FileMethod
from winnow_engine.targets.drafts.shared.draft_context import DraftContext
from winnow_engine.targets.drafts.shared.guesses import likeliest
from winnow_engine.targets.drafts.shared.hidden_state_draft import HiddenStateDraft
from winnow_engine.targets.drafts.shared.hidden_state_memory import HiddenStateMemory

if TYPE_CHECKING:
    from winnow_engine.drafter.weights import QuantisedEmbedding

NAME = "winnow-block"
LAYERS = "winnow.draft.layers"
"""Metadata: the target's layers whose inputs are read, numbers with commas between."""

_CHOICES = 6  # tokens at each place
_EPS = np.float32(1e-6)

Place: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The likeliest of the draft's tokens at a place of a block and their probabilities."""


@dataclass(frozen=True, slots=True)
class BlockTables:
    """What stands around the draft's layers, by its names in the file."""

    tokens: NDArray[np.int32]
    """[vocabulary]: the target's token of each of the draft's."""
    fuse: NDArray[np.float32]
    """[width, layers read * width]: multiplies the hidden states, each normed."""
    embedding: NDArray[np.float32]
    """[width]: multiplies the embedding, normed."""
    masks: NDArray[np.float32]
    """[block - 1, width]: the rows behind the last token."""
    before: NDArray[np.float32]
    """[vocabulary + 1, rank]: by the guess before, the last row for tokens that the draft lacks."""
    after: NDArray[np.float32]
    """[vocabulary, rank]: the product with `before` is added to the logits."""

    @classmethod
    def load(cls, path: Path) -> BlockTables:
        """Read the file at `path`. Raises DraftError if it is missing or damaged."""
        try:
            stored = load_file(path)
            tokens = stored["tokens"].astype(np.int32)
            rest = [stored[field.name].astype(np.float32) for field in fields(cls)[1:]]
        except (OSError, SafetensorError, KeyError) as error:
            raise DraftError(
                f"{path} is missing or damaged ({error}): it belongs beside its draft's GGUF, as `winnow train draft` "
                "wrote it"
            ) from error
        return cls(tokens, *rest)

    def fit(self, width: int, layers: int, vocabulary: int, target: int) -> bool:
        """Whether they belong to a draft of this width and vocabulary, and to a target of so many tokens."""
        rank = self.before.shape[-1]
        shapes = (vocabulary,), (width, layers * width), (width,), (len(self.masks), width)
        wanted = *shapes, (vocabulary + 1, rank), (vocabulary, rank)
        found = tuple(getattr(self, field.name).shape for field in fields(self))
        return found == wanted and self.tokens.min() >= 0 and self.tokens.max() < target

    @property
    def block(self) -> int:
        """The most guesses of one pass."""
        return len(self.masks) + 1

    def row(self, states: NDArray[np.float32], embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rows of tokens: hidden states (tokens, layers * width), embeddings of the tokens behind them."""
        parts = states.reshape(len(states), -1, embeddings.shape[1])
        fused = _normed(parts).reshape(states.shape) @ self.fuse.T
        return np.ascontiguousarray(fused + _normed(embeddings) * self.embedding, np.float32)

    def behind(self, place: Place, previous: int) -> NDArray[np.float32]:
        """The probabilities of a place's tokens behind the draft's token `previous`."""
        tokens, alone = place
        added = self.after[tokens] @ self.before[previous]
        chances = alone * np.exp(added - added.max())
        rest = max(0.0, 1 - float(alone.sum())) * np.exp(-added.max())  # the tokens that are not looked at
        behind: NDArray[np.float32] = chances / (chances.sum() + rest)
        return behind


class BlockMemory(HiddenStateMemory):
    """A draft's keys and values: a row for each token of the target whose next one is known."""

    def __init__(
        self,
        model: LlamaModel,
        target: int,
        n_ctx: int,
        tables: BlockTables,
        embedding: QuantisedEmbedding,
        options: TargetOptions,
    ) -> None:
        """Make a `DraftContext` for `n_ctx` rows and a block behind them."""
        super().__init__(DraftContext(model, target, n_ctx + tables.block, tables.block, options))
        self._tables, self._embedding = tables, embedding

    @property
    def most(self) -> int:
        """The most guesses of one pass: a block, with a row before it, is evaluated in one batch."""
        return min(self._tables.block, self._context.n_batch)

    def evaluate(self, token: int, places: int, abort: AbortFlag) -> NDArray[np.float32] | None:
        """The logits at `places` places behind `token`, which is behind all hidden states: (places, vocabulary).

        They are valid until the next evaluation. None if aborted, or if no hidden state was waiting.
        """
        masks = self._tables.masks[: places - 1]
        room = self._context.n_batch - len(masks)
        if self.length - self._evaluated > room and not self._evaluate(None, abort):
            return None
        if not self._waiting:
            return None
        self._context.forget(self._evaluated)
        end = self.length
        states, tokens = self._joined()
        self._waiting = []
        rows = np.concatenate([self._rows(states, np.append(tokens[1:], np.int32(token))), masks])
        done = False
        try:
            done = self._context.decode(self._evaluated, abort, states=rows, last=places)
        finally:
            if not done:
                self._restart(end)
        if not done:
            return None
        self._evaluated += len(states)
        return self._context.logits(places)

    def _rows(self, states: NDArray[np.float32], behind: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._tables.row(states, self._embedding.rows(behind))

    def _evaluate_batch(
        self, start: int, states: NDArray[np.float32], behind: NDArray[np.int32], abort: AbortFlag
    ) -> bool:
        return self._context.decode(start, abort, states=self._rows(states, behind))


class BlockDraft(HiddenStateDraft[BlockMemory]):
    """Drafts a whole block at once."""

    def __init__(self, file: DraftFile, layers: list[int], tables: BlockTables, embedding: QuantisedEmbedding) -> None:
        super().__init__(file.model, file.target, layers)
        self._tables, self._embedding, self._options = tables, embedding, file.options
        self._own = {int(token): own for own, token in enumerate(tables.tokens)}

    def _open(self, context: int, n_ctx: int) -> BlockMemory:
        return BlockMemory(self._model, context, n_ctx, self._tables, self._embedding, self._options)

    def _guess(self, memory: BlockMemory, limit: int, least: float) -> DraftTree:
        logits = memory.evaluate(self._last, min(limit, memory.most), self._abort)
        if logits is None:
            return NOTHING
        at = cache(lambda place: likeliest(logits[place], min(_CHOICES, logits.shape[1])))  # chains often end early

        def choices(state: tuple[int, int]) -> Iterator[tuple[int, float, tuple[int, int]]]:
            place, previous = state
            return self._choices(at(place), place, previous) if place < len(logits) else iter(())

        return grow((0, self._own.get(self._last, len(self._own))), choices, limit, least)

    def _choices(self, found: Place, place: int, previous: int) -> Iterator[tuple[int, float, tuple[int, int]]]:
        """What may stand at a place behind the draft's token `previous`: the target's tokens, best first."""
        chances = self._tables.behind(found, previous)
        for best in np.argsort(-chances, kind="stable"):
            if chances[best] > 0:
                own = int(found[0][best])
                yield int(self._tables.tokens[own]), float(chances[best]), (place + 1, own)


def _normed(x: NDArray[np.float32]) -> NDArray[np.float32]:
    normed: NDArray[np.float32] = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + _EPS)
    return normed


def open_block(file: DraftFile) -> BlockDraft:
    """Open a draft trained here. Raises DraftError if it is damaged, or was trained for another target."""
    from winnow_engine.drafter.weights import GgufTensors, QuantisedEmbedding  # here, since Numba comes with it

    layers = [int(layer) for layer in (file.model.metadata(LAYERS) or "").split(",") if layer.isdecimal()]
    check_layers(file.target, layers, file.name)
    target = read_header(file.target.path)
    embedding = QuantisedEmbedding(GgufTensors(file.target.path, target))
    tables = BlockTables.load(file.path.with_suffix(".safetensors"))
    own = read_header(file.path).tensors["token_embd.weight"].shape[0]
    if file.model.width != file.target.width or not tables.fit(file.model.width, len(layers), own, len(embedding)):
        raise DraftError(
            f"{file.name} cannot draft for this target: it was trained for one of another size, or the .safetensors "
            "beside it is another draft's"
        )
    return BlockDraft(file, layers, tables, embedding)


METHOD = FileMethod(NAME, open_block, own_vocabulary=True)
