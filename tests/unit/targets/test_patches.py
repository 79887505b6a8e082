"""Skipped tests must not hide that a build by winnow_llama has lost what it adds to llama.cpp."""

import pytest
from llama_cpp import llama_cpp

from winnow_engine.llama.layer_inputs import given_by
from winnow_engine.llama.patched_functions import build_note, has_patches


@pytest.mark.skipif(not build_note(), reason="not built by winnow_llama")
def test_a_build_of_our_own_has_all_that_is_added() -> None:
    lacking = [
        name
        for name in ("winnow_layer_inputs", "winnow_set_trunk", "winnow_choose", "winnow_choices")
        if not hasattr(llama_cpp._lib, name)
    ]
    assert not lacking
    assert has_patches()
    assert "qwen2" in given_by()
