"""A synthetic target runs, and has the shape of the model that it stands for."""

from pathlib import Path

from winnow_engine.core import Sampling
from winnow_engine.models.gguf_header import read_header
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.first_token.synthetic import HybridShape, write_synthetic

from ...targets.conftest import write_llama

SMALL = HybridShape(
    layers=4, width=256, ffn_width=512, heads=2, kv_heads=1, vocabulary=512, key_groups=1, value_groups=2
)


def test_a_synthetic_target_runs_with_the_tokenizer_of_another(tmp_path: Path) -> None:
    tokenizer, file = write_llama(tmp_path / "tiny.gguf"), tmp_path / "made" / "synthetic.gguf"
    write_synthetic(SMALL, tokenizer, file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    target = LlamaTarget.open(file)
    prompt = target.chat_prompt([Message("user", "How are you?")])
    generation = target.generate(Request(prompt, Sampling(max_tokens=1)))
    assert generation.prompt_tokens == len(prompt) > len("How are you?")
    assert generation.decode_tokens == 1
    target.close()


def test_the_shape_is_that_of_the_model_it_stands_for(tmp_path: Path) -> None:
    write_synthetic(SMALL, write_llama(tmp_path / "tiny.gguf"), tmp_path / "synthetic.gguf")
    header = read_header(tmp_path / "synthetic.gguf")
    assert (header.architecture, header.block_count, header.context_length) == ("qwen35", 4, 262144)
    attending = [name for name in header.tensors if name.endswith("attn_q.weight")]
    assert attending == ["blk.3.attn_q.weight"]
    assert header.tensors["token_embd.weight"].shape == (512, 256)
