"""Files made from other GGUF files: a synthetic target runs, and layers come back as they were."""

from pathlib import Path

from gguf import GGUFReader

from winnow_engine.core import Sampling
from winnow_engine.models.gguf_header import read_header
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.first_token.gguf_copy import joined, layers_of
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


def test_layers_that_were_taken_apart_are_joined_again(tmp_path: Path) -> None:
    whole = write_llama(tmp_path / "whole.gguf")
    parts = tmp_path / "lower.gguf", tmp_path / "upper.gguf"
    layers_of(whole, range(1), parts[0])
    layers_of(whole, range(1, 2), parts[1])
    assert not [name for name in read_header(parts[0]).tensors if name.startswith("blk.1.")]
    assert all(name.startswith("blk.1.") for name in read_header(parts[1]).tensors)
    joined(parts, tmp_path / "joined.gguf")
    before, after = GGUFReader(whole), GGUFReader(tmp_path / "joined.gguf")
    assert {one.name: one.data.tobytes() for one in after.tensors} == {
        one.name: one.data.tobytes() for one in before.tensors
    }
    for name, field in before.fields.items():
        assert after.fields[name].contents() == field.contents(), name
