"""Writes many answers at a time: where one has ended, the next prompt takes its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from winnow_cuda.shapes import Int32
from winnow_research.training.qwen2 import PREFILL_TOKENS, Opening, Qwen2, padded

_TOGETHER = 512  # answers written at a time: keys and values of the 1.5B take up to 23 GB
_STEPS = 16  # from one look at what has ended to the next


@torch.inference_mode()
def continued(
    model: Qwen2,
    prompts: Sequence[Int32],
    most: int,
    temperatures: Sequence[float],
    ends: Sequence[int],
    opening: Opening | None = None,
) -> list[Int32]:
    """What follows the opening and each prompt, int32: at most `most` tokens, the end token included.

    A temperature of 0 means the likeliest token. All take as much memory as the longest prompt needs.
    """
    rows = min(_TOGETHER, len(prompts))
    decoder = _Decoder(model, rows, max(map(len, prompts), default=0), most, opening)
    answers: dict[int, Int32] = {}
    writing: dict[int, tuple[int, int]] = {}  # by row: the prompt's number, and the steps taken
    coming = iter(range(len(prompts)))
    while True:
        new = dict(zip((row for row in range(rows) if row not in writing), coming, strict=False))
        decoder.begin(list(new), [prompts[n] for n in new.values()], [temperatures[n] for n in new.values()])
        writing |= {row: (number, 0) for row, number in new.items()}
        if not writing:
            return [answers[number] for number in range(len(prompts))]
        tokens = decoder.run(_STEPS)
        for row, (number, steps) in list(writing.items()):
            taken = min(steps + _STEPS, most)
            writing[row] = number, taken
            answer = _until(tokens[row, :taken], ends)
            if taken == most or answer[-1] in ends:
                answers[number] = answer.copy()
                del writing[row]


class _Decoder:
    """Keys and values of many answers, and one step of all, which a CUDA graph replays."""

    def __init__(self, model: Qwen2, rows: int, longest: int, most: int, opening: Opening | None) -> None:
        """Make room for `rows` prompts of up to `longest` tokens, and for answers of up to `most`."""
        self._model, self._opening, shape, device = model, opening, model.shape, model.device
        self._before = opening.tokens if opening else 0
        room = most + _STEPS  # an answer that has ended goes on until the next look at it
        size = (shape.layers, rows, shape.kv_heads, -(-(self._before + longest + room) // 16) * 16, shape.head_dim)
        self._k = torch.zeros(size, dtype=model.dtype, device=device)
        self._v = torch.zeros_like(self._k)
        self._token = torch.zeros(rows, dtype=torch.long, device=device)
        self._position = torch.full_like(self._token, self._before)
        self._step = torch.zeros_like(self._token)
        self._tokens = torch.zeros(rows, room, dtype=torch.long, device=device)
        self._temperature = torch.zeros(rows, 1, device=device)
        self._replay = self._captured() if device.type == "cuda" else self._advance
        if opening:
            self._k[:, :, :, : self._before] = opening.k[:, None]
            self._v[:, :, :, : self._before] = opening.v[:, None]

    def begin(self, rows: Sequence[int], prompts: Sequence[Int32], temperatures: Sequence[float]) -> None:
        """Read all of each prompt but its last token, which the next step takes, into these rows."""
        together = max(1, PREFILL_TOKENS // max(map(len, prompts), default=1))
        for start in range(0, len(prompts), together):
            some = slice(start, start + together)
            into = torch.tensor(rows[some], device=self._model.device)
            self._read(into, prompts[some])
            self._temperature[into, 0] = torch.tensor(temperatures[some], dtype=torch.float32, device=into.device)

    def _read(self, into: Tensor, prompts: Sequence[Int32]) -> None:
        ids = torch.from_numpy(padded(prompts)).to(into.device)
        places = slice(self._before, self._before + ids.shape[1])

        def keep(layer: int, _hidden: Tensor, k: Tensor, v: Tensor) -> None:
            self._k[layer][into, :, places] = k
            self._v[layer][into, :, places] = v

        self._model.hidden(ids, self._opening, keep)
        last = [self._before + len(prompt) - 1 for prompt in prompts]
        self._token[into] = torch.tensor([int(prompt[-1]) for prompt in prompts], device=into.device)
        self._position[into] = torch.tensor(last, device=into.device)
        self._step[into] = 0

    def run(self, steps: int) -> Int32:
        """Take so many steps. What each row has written since it began, int32 [rows, room]."""
        for _ in range(steps):
            self._replay()
        return self._tokens.cpu().numpy().astype(np.int32)

    def _captured(self) -> Callable[[], None]:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._advance()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance()
        for each in (self._token, self._step):
            each.zero_()
        self._position.fill_(self._before)
        return graph.replay

    def _advance(self) -> None:
        model, shape = self._model, self._model.shape
        rows = torch.arange(len(self._token), device=model.device)
        seen = torch.arange(self._k.shape[3], device=model.device)[None] <= self._position[:, None]
        mask = seen[:, None, None].expand(-1, shape.kv_heads, shape.heads // shape.kv_heads, -1)
        hidden = model.embedding[self._token][:, None]
        for layer in range(shape.layers):
            q, k, v = model.qkv(layer, hidden, self._position[:, None])
            self._k[layer][rows, :, self._position] = k[:, :, 0]
            self._v[layer][rows, :, self._position] = v[:, :, 0]
            grouped = q[:, :, 0].view(len(rows), shape.kv_heads, -1, shape.head_dim)
            mixed = functional.scaled_dot_product_attention(grouped, self._k[layer], self._v[layer], attn_mask=mask)
            hidden = model.after(layer, hidden, mixed.reshape(len(rows), -1, 1, shape.head_dim))
        logits = model.logits(hidden[:, 0]).float()
        noise = -torch.log(-torch.log(torch.rand_like(logits).clamp_(1e-9, 1 - 1e-7)))
        self._token.copy_((logits + self._temperature * noise).argmax(1))
        self._tokens.scatter_(1, self._step[:, None], self._token[:, None])
        self._position.add_(1).clamp_(max=self._k.shape[3] - 1)  # of rows for which no prompt is left
        self._step.add_(1).clamp_(max=self._tokens.shape[1] - 1)


def _until(row: Int32, ends: Sequence[int]) -> Int32:
    at = np.flatnonzero(np.isin(row, ends))
    return row[: at[0] + 1] if len(at) else row
