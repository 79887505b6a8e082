"""What a pass over few tokens costs on a GPU, and whether its logits are those of plain steps: on llama.cpp alone.

    python passes.py make MODEL                       a model of the 1.5B's shape, with random weights
    python passes.py time MODEL [--out JSON]          by size, and sizes in turns
    python passes.py trace MODEL [--size N]           by kernel, from PyTorch's profiler
    python passes.py compare MODEL                    logits of passes against those of plain steps

`LLAMA_CPP_LIB_PATH` chooses the build. Speed does not depend on the weights. With a real model in place of the random
one all but `make` do the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

LAYERS, WIDTH, FFN, KV, VOCABULARY = 28, 1536, 8960, 256, 151936
_PROMPT, _N_CTX = 600, 4096


def make(path: Path) -> None:
    """Write the model: the types of Q4_K_M, rows that repeat."""
    import gguf

    random = np.random.default_rng(0)
    q4, q6 = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K
    block4 = random.integers(0, 256, (4096, 144), dtype=np.uint8)
    block4[:, :4] = np.array([1.7e-4, 1.7e-4 * 7.5], np.float16).view(np.uint8)
    block6 = random.integers(0, 256, (4096, 210), dtype=np.uint8)
    block6[:, 192:208] = random.integers(20, 60, (4096, 16))
    block6[:, 208:] = np.array([3.5e-5], np.float16).view(np.uint8)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(LAYERS)
    writer.add_context_length(32768)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(12)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("none")

    def matrix(name: str, rows: int, columns: int, better: bool = False) -> None:
        blocks = block6 if better else block4
        data = np.resize(blocks, (rows, columns // 256 * blocks.shape[1]))
        writer.add_tensor(name, data, raw_dtype=q6 if better else q4)

    def vector(name: str, length: int, deviation: float = 0.0) -> None:
        mean = 0.0 if deviation else 1.0
        writer.add_tensor(name, random.normal(mean, deviation, length).astype(np.float32))

    matrix("token_embd.weight", VOCABULARY, WIDTH)
    matrix("output.weight", VOCABULARY, WIDTH, better=True)
    vector("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        at, better = f"blk.{layer}.", layer % 2 == 0
        vector(f"{at}attn_norm.weight", WIDTH)
        vector(f"{at}ffn_norm.weight", WIDTH)
        for name, rows in (("q", WIDTH), ("k", KV), ("v", KV)):
            matrix(f"{at}attn_{name}.weight", rows, WIDTH, better and name == "v")
            vector(f"{at}attn_{name}.bias", rows, 0.01)
        matrix(f"{at}attn_output.weight", WIDTH, WIDTH)
        matrix(f"{at}ffn_gate.weight", FFN, WIDTH)
        matrix(f"{at}ffn_up.weight", FFN, WIDTH)
        matrix(f"{at}ffn_down.weight", WIDTH, FFN, better)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Context:
    """A model with 600 tokens in its memory."""

    def __init__(self, path: Path) -> None:
        import llama_cpp as llama

        self.llama = llama
        llama.llama_backend_init()
        parameters = llama.llama_model_default_params()
        parameters.n_gpu_layers = 999
        model = llama.llama_model_load_from_file(str(path).encode(), parameters)
        self.vocabulary = int(llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model)))
        options = llama.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch, options.n_outputs_max = _N_CTX, 512, 512, 32
        self.handle = llama.llama_init_from_model(model, options)
        self.memory = llama.llama_get_memory(self.handle)
        self.batch = llama.llama_batch_init(512, 0, 1)
        self.tokens = np.random.default_rng(1).integers(1000, 100000, _N_CTX)
        self._begin()

    def _begin(self) -> None:
        self.llama.llama_memory_clear(self.memory, False)
        self.at = 0
        for _ in range(0, _PROMPT, 300):
            self.evaluate(300, logits=1)

    def evaluate(self, count: int, logits: int | None = None) -> None:
        """Evaluate `count` tokens, with the logits of the last `logits` or all."""
        batch = self.batch
        batch.n_tokens = count
        for row in range(count):
            batch.token[row] = int(self.tokens[self.at + row])
            batch.pos[row], batch.n_seq_id[row], batch.seq_id[row][0] = self.at + row, 1, 0
            batch.logits[row] = logits is None or row >= count - logits
        if self.llama.llama_decode(self.handle, batch):
            raise SystemExit("llama.cpp failed")
        self.llama.llama_get_logits_ith(self.handle, -1)  # waits
        self.at += count

    def back(self) -> None:
        """Forget all but the prompt; recurrent memory, which cannot, begins anew before it is full."""
        if self.llama.llama_memory_seq_rm(self.memory, 0, _PROMPT, -1):
            self.at = _PROMPT
        elif self.at > _N_CTX - 64:
            self._begin()

    def logits(self, row: int) -> np.ndarray:
        """Those of a row of the last evaluation."""
        return np.ctypeslib.as_array(self.llama.llama_get_logits_ith(self.handle, row), (self.vocabulary,)).copy()


def timed(context: Context, sizes: list[int], rounds: int = 40) -> dict[int, float]:
    """Median milliseconds of passes of these sizes, one after the other, again and again."""
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    for turn in range(rounds + 5):
        for size in sizes:
            started = time.perf_counter()
            context.evaluate(size)
            if turn >= 5:
                taken[size].append(1000 * (time.perf_counter() - started))
            context.back()
    return {size: round(statistics.median(values), 3) for size, values in taken.items()}


def compare(context: Context) -> None:
    """Print the differences of logits, in standard deviations of the logits."""
    plain = []
    for _ in range(16):
        context.evaluate(1)
        plain.append(context.logits(0))
    context.back()
    deviation = float(np.std(plain[0]))
    for size in (2, 3, 4, 7, 8, 9, 12, 16):
        context.evaluate(size)
        differences = [np.abs(context.logits(row) - plain[row]) for row in range(size)]
        same = sum(int(np.argmax(context.logits(row)) == np.argmax(plain[row])) for row in range(size))
        context.back()
        print(
            f"{size:3} tokens: at most {max(d.max() for d in differences) / deviation:.4f}, "
            f"on average {np.mean(differences) / deviation:.5f}, the likeliest the same in {same}"
        )


def trace(context: Context, size: int) -> None:
    """Print the kernels of 20 passes of a size by their share."""
    import torch

    for _ in range(5):
        context.evaluate(size)
        context.back()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(20):
            context.evaluate(size)
            context.back()
        torch.cuda.synchronize()
    rows = sorted(profile.key_averages(), key=lambda row: -row.device_time_total)
    print(f"{size} tokens: {sum(row.device_time_total for row in rows) / 20:.0f} us of kernels a pass")
    for row in rows[:18]:
        mean = row.device_time_total / row.count
        print(f"{row.device_time_total / 20:8.1f} us {row.count / 20:6.1f} x {mean:6.2f}  {row.key[:100]}")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "time", "trace", "compare"])
    parser.add_argument("model", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", type=int, nargs="*", default=[1, 8, 16])
    chosen = parser.parse_args()
    if chosen.command == "make":
        return make(chosen.model)
    context = Context(chosen.model)
    if chosen.command == "compare":
        return compare(context)
    if chosen.command == "trace":
        for size in chosen.size:
            trace(context, size)
        return None
    found = {
        " and ".join(map(str, sizes)): timed(context, sizes)
        for sizes in ([1], [2], [4], [8], [16], [1, 16], [1, 8], [8, 16, 1, 16])
    }
    json.dump(found, sys.stdout, indent=1)
    if chosen.out:
        chosen.out.write_text(json.dumps(found))
    return None


if __name__ == "__main__":
    main()
