"""Writes many short texts at a time with a Qwen2 from a GGUF, in PyTorch through transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM

from winnow_cuda.shapes import Int32
from winnow_engine.drafter.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import GgufHeader, read_header, require_supported

_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


class TextWriter:
    """Continues prompts that have a common beginning. `is_end(token)` says whether a token ends a text."""

    def __init__(self, path: Path, is_end: Callable[[int], bool], device: torch.device) -> None:
        """Raises ModelNotFoundError, ModelDamagedError or UnsupportedModelError."""
        header = read_header(path)
        require_supported(header, frozenset({"qwen2"}))
        tensors = GgufTensors(path, header)
        with device:
            model = Qwen2ForCausalLM(_config(header, tied="output.weight" not in tensors))
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        stored = {_theirs(name): torch.from_numpy(tensors.read(name)).to(device, dtype) for name in header.tensors}
        model.load_state_dict(stored, strict=False, assign=True)
        model.tie_weights()
        self._model, self._device, self._is_end = model.eval(), device, is_end

    @torch.inference_mode()
    def write(
        self, opening: Int32, prompts: Sequence[Int32], most_tokens: int, temperature: float, seed: int
    ) -> list[list[int]]:
        """What follows `opening` and each prompt up to an end token: at most `most_tokens` token ids each.

        On one machine equal arguments give equal texts. At temperature 0 each token is the likeliest.
        """
        chance = torch.Generator(self._device).manual_seed(seed)
        inputs = self._inputs(opening, prompts)
        texts: list[list[int]] = [[] for _ in prompts]
        writing = set(range(len(prompts)))
        for _ in range(most_tokens):
            logits = self._model(**inputs, logits_to_keep=1).logits
            drawn = _drawn(logits[:, -1].float(), temperature, chance)
            for row, token in enumerate(drawn.tolist()):
                if row in writing and self._is_end(token):
                    writing.discard(row)
                elif row in writing:
                    texts[row].append(token)
            if not writing:
                break
            mask = inputs["attention_mask"]
            inputs["input_ids"], inputs["position_ids"] = drawn[:, None], inputs["position_ids"][:, -1:] + 1
            inputs["attention_mask"] = torch.cat([mask, mask.new_ones(len(prompts), 1)], 1)
        return texts

    @torch.inference_mode()
    def likelihoods(self, opening: Int32, prompts: Sequence[Int32], answers: Sequence[Int32]) -> list[float]:
        """The mean log-likelihood in nats of each answer's tokens, at least one, after `opening` and its prompt."""
        inputs = self._inputs(opening, [np.concatenate(pair) for pair in zip(prompts, answers, strict=True)])
        hidden = self._model.model(**inputs).last_hidden_state
        found = []
        for states, answer in zip(hidden, answers, strict=True):
            wanted = torch.from_numpy(answer.astype(np.int64)).to(self._device)
            chances = self._model.lm_head(states[-len(answer) - 1 : -1]).float().log_softmax(1)
            found.append(chances.gather(1, wanted[:, None]).mean())
        return torch.stack(found).tolist()

    def _inputs(self, opening: Int32, prompts: Sequence[Int32]) -> dict[str, Any]:
        """The model's inputs to read prompts, padded in front, after the opening."""
        longest = max(map(len, prompts))
        pads = np.array([longest - len(prompt) for prompt in prompts])
        padded = np.stack([np.concatenate([np.zeros(pad, np.int32), p]) for pad, p in zip(pads, prompts, strict=True)])
        mask = (torch.arange(longest) >= torch.from_numpy(pads)[:, None]).long().to(self._device)
        mask = torch.cat([mask.new_ones(len(prompts), len(opening)), mask], 1)
        return {
            "input_ids": torch.from_numpy(padded.astype(np.int64)).to(self._device),
            "attention_mask": mask,
            "position_ids": (mask.cumsum(1) - 1)[:, len(opening) :],
            "past_key_values": self._opened(opening, len(prompts)),
        }

    def _opened(self, opening: Int32, count: int) -> DynamicCache:
        """Keys and values of the opening, repeated for `count` prompts."""
        ids = torch.from_numpy(opening.astype(np.int64)).to(self._device)[None]
        cache: DynamicCache = self._model(input_ids=ids, logits_to_keep=1).past_key_values
        cache.batch_repeat_interleave(count)
        return cache


def _drawn(logits: Tensor, temperature: float, chance: torch.Generator) -> Tensor:
    """A token sampled from each row, [rows]."""
    if temperature == 0:
        return logits.argmax(1)
    return torch.multinomial((logits / temperature).softmax(1), 1, generator=chance)[:, 0]


def _theirs(name: str) -> str:
    """The name in transformers of a GGUF's tensor."""
    if not name.startswith("blk."):
        return _WHOLE.get(name, "lm_head.weight")
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_NAMES[part]}.{kind}"


def _config(header: GgufHeader, tied: bool) -> Qwen2Config:
    shape = shape_of(header, header.block_count)
    return Qwen2Config(
        vocab_size=header.tensors["token_embd.weight"].shape[0],
        hidden_size=shape.width,
        intermediate_size=shape.ffn_width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        rms_norm_eps=shape.rms_eps,
        max_position_embeddings=header.context_length,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_base},
        tie_word_embeddings=tied,
    )
