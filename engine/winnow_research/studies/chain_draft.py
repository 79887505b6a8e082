"""Does a draft that guesses token by token, as EAGLE-3 does, guess enough more than a block to pay for its passes?

Both are trained on the same texts, for as long each (`winnow train draft` made the texts; PyTorch and a GPU are
needed), and judged by chains behind the target's own answers. The chain has one layer over the same fused features.
What its layer makes of a token stands in for the features of the next one, as in EAGLE-3's training-time test (arXiv
2503.01840, section 3.2): it is trained on what it will see.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_engine.targets.drafts.shared.block_file import BlockShape
from winnow_research.studies import study_parser
from winnow_research.training.draft.network import DraftNetwork, KeysValues
from winnow_research.training.draft.prompts import PromptData
from winnow_research.training.draft.run import kept_texts
from winnow_research.training.draft.trainer import DraftRecipe, DraftTrainer, Sitting, Text, frequent
from winnow_research.training.qwen2 import Qwen2, rotary


class ChainNetwork(DraftNetwork):
    """Goes on from its own output, with the token guessed last."""

    def __init__(self, shape: BlockShape, head: Tensor, norm: Tensor) -> None:
        super().__init__(shape, head, norm)
        del self.masks, self.before, self.after
        self.state_norm = nn.Parameter(torch.ones(shape.width))
        self.output = nn.Parameter(torch.eye(shape.width))

    def chains(self, rows: Tensor, anchors: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states of all rows [B, R, width], and behind `anchors` [B, A]: [B, A, block - 1, width].

        `tokens` [B, A, block - 1, width] are the embeddings of the tokens guessed so far, which are the text's.
        """
        batch, length, width = rows.shape
        count, eps, device = anchors.shape[1], self.shape.eps, rows.device
        own = torch.arange(length, device=device)
        text, earlier = self._pass(rows, own.expand(batch, -1), (own <= own[:, None])[None, None], [])
        seen = own[None, None] <= anchors[..., None]
        same = torch.eye(count, dtype=torch.bool, device=device).expand(batch, -1, -1)
        state = text.gather(1, anchors[..., None].expand(-1, -1, width))
        found = []
        for place in range(self.shape.block - 1):
            told = functional.rms_norm(state, (width,), self.state_norm.to(state.dtype), eps)
            token = functional.rms_norm(tokens[:, :, place], (width,), self.embedding_norm.to(rows.dtype), eps)
            row = functional.linear(told, self.output.to(told.dtype)) + token
            mask = torch.cat([seen, *[same] * (place + 1)], 2)[:, None]
            state, earlier = self._pass(row, anchors + place + 1, mask, earlier)
            found.append(state)
        return self._normed(text), self._normed(torch.stack(found, 2))

    def _pass(
        self, x: Tensor, positions: Tensor, mask: Tensor, earlier: list[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """What all layers make of rows behind those whose keys and values are `earlier`, none at first."""
        cos, sin = rotary(positions, self.shape.head_dim, self.shape.rope_base)
        kept = []
        for number, layer in enumerate(self.layers):
            x, both = layer(x, cos, sin, mask, earlier[number] if earlier else None)
            kept.append(both)
        return x, kept

    def logits(self, hidden: Tensor, before: Tensor) -> Tensor:
        """Logits [n, vocabulary] of hidden states [n, width], which know the token before."""
        return functional.linear(hidden, self.head)


class ChainTrainer(DraftTrainer):
    """Trains a chain as a block is trained."""

    network_type = ChainNetwork

    def _hidden(self, rows: Tensor, anchors: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        assert isinstance(self.network, ChainNetwork)
        return self.network.chains(rows, anchors, self._target.embedding[before[:, :, 1:]])


_KINDS: dict[str, tuple[type[DraftTrainer], int, int]] = {
    "chain": (ChainTrainer, 1, 8),
    "block 1": (DraftTrainer, 1, 16),
    "block 2": (DraftTrainer, 2, 16),
}
"""Trainer, layers and places of a block or chain."""


def _trained(kind: str, target: Qwen2, texts: list[Text], judged: list[Text], ends: Sequence[int], s: float) -> Any:
    torch.manual_seed(0)
    of, layers, block = _KINDS[kind]
    recipe = DraftRecipe(layers=layers, steps=10**6)
    shape = replace(BlockShape.of(target.shape, len(target.head), layers), block=block)
    trainer = of(target, shape, frequent(texts, shape.vocabulary, ends, len(target.head)), recipe)
    trainer.train(texts, judged, print, Sitting(s))
    return {"draft": kind, "steps": len(trainer.losses), "seconds": trainer.seconds, **trainer.judge(judged)}


def main() -> None:
    """Run the study."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("prompts", type=Path, help="what `winnow train prompts` wrote")
    parser.add_argument("answers", type=Path, help="a draft's .answers.npz, which is written where it is missing")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--seconds", type=float, default=150.0, help="that each draft is trained")
    parser.add_argument("--texts", type=int, default=5_000)
    parser.add_argument("--kind", action="append", choices=list(_KINDS))
    parser.add_argument("--out", type=Path, default=Path("results/chain_draft.json"))
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    target = Qwen2(locate(arguments.target), torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    prompts = PromptData.load(arguments.prompts)
    recipe = DraftRecipe(answers=arguments.texts)
    texts, judged = kept_texts(target, prompts, recipe, arguments.answers, print, math.inf)
    some = [texts[int(n)] for n in np.random.default_rng(0).permutation(len(texts))[: arguments.texts]]
    kinds = arguments.kind or _KINDS
    found = [_trained(kind, target, some, judged, prompts.ends, arguments.seconds) for kind in kinds]
    text = json.dumps(found, indent=1)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
