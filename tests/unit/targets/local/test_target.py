"""The whole target on tiny models: a transformer, and a recurrent one, which cannot forget only a part."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Cancellation, Prompt, Sampling, TextSink, ignore
from winnow_engine.errors import BudgetError, ModelDamagedError, ModelNotFoundError, TargetError, UnsupportedModelError
from winnow_engine.targets.base import Generation, Request, Target
from winnow_engine.targets.local import session
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget

# One thread: so little work is slower on two whose cores are shared.
OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)
SHORT = Sampling(max_tokens=24)
ENDLESS = Sampling(max_tokens=3000)


@pytest.fixture(params=["tiny_llama", "tiny_mamba"])
def model(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture
def target(model: Path) -> Iterator[LlamaTarget]:
    with closing(LlamaTarget.open(model, OPTIONS)) as target:
        yield target


def ask(
    target: Target, prompt: Prompt, sampling: Sampling = SHORT, on_text: TextSink = ignore, lasting: int = 0
) -> Generation:
    return target.generate(Request(LocalPrompt(prompt, lasting=lasting), sampling, on_text))


def fresh(model: Path, prompt: Prompt) -> str:
    with closing(LlamaTarget.open(model, OPTIONS)) as target:
        return ask(target, prompt).text


def prompt_of(*numbers: int) -> Prompt:
    return np.array(numbers, np.int32)


def test_the_streamed_pieces_are_the_text(target: LlamaTarget) -> None:
    pieces: list[str] = []
    answer = ask(target, prompt_of(*range(65, 90)), on_text=pieces.append)
    assert "".join(pieces) == answer.text != ""


def test_a_longer_prompt_evaluates_only_what_is_new(model: Path, target: LlamaTarget) -> None:
    head, tail = range(40, 140), range(65, 80)
    ask(target, prompt_of(*head), Sampling(max_tokens=1))
    answer = ask(target, prompt_of(*head, *tail))
    assert (answer.reused_tokens, answer.prompt_tokens) == (100, 115)
    assert answer.text == fresh(model, prompt_of(*head, *tail))


def test_a_prompt_that_differs_midway_gets_the_answer_of_a_fresh_context(model: Path, target: LlamaTarget) -> None:
    head = range(40, 140)
    ask(target, prompt_of(*head, *range(65, 90)))
    other = prompt_of(*head, *range(97, 122))
    answer = ask(target, other)
    assert answer.reused_tokens == (0 if "mamba" in model.name else 100)
    assert answer.text == fresh(model, other)


def test_a_conversation_goes_on_from_what_lasts_of_its_prompt(
    model: Path, target: LlamaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first prompt's context has no room for the second."""
    monkeypatch.setattr(session, "_CONTEXT_STEP", 256)
    monkeypatch.setattr(session, "_HEADROOM", 0)
    lasting, answers = range(40, 140), [range(97, 122), [*range(65, 90)] * 8, range(97, 122)]
    ask(target, prompt_of(*lasting, 60, 61), lasting=100)
    for answer in answers:
        longer = prompt_of(*lasting, *answer)
        again = ask(target, longer, lasting=100)
        assert (again.reused_tokens, again.text) == (100, fresh(model, longer))


def test_cancelling_while_decoding_leaves_a_right_cache(model: Path, target: LlamaTarget) -> None:
    prompt, cancellation = prompt_of(*range(40, 140)), Cancellation()
    answer = target.generate(Request(LocalPrompt(prompt), ENDLESS, lambda _: cancellation.cancel(), cancellation))
    assert answer.finish == "cancelled"
    assert 1 <= answer.decode_tokens < ENDLESS.max_tokens
    assert ask(target, prompt).text == fresh(model, prompt)


def test_prompt_and_answer_beyond_the_models_context_are_refused_with_the_numbers(target: LlamaTarget) -> None:
    assert target.context_limit == 4096
    with pytest.raises(BudgetError, match=r"4000 tokens .* 97 of the answer .* 4096: lower the budget"):
        ask(target, np.full(4000, 65, np.int32), Sampling(max_tokens=97))


def test_an_answer_may_fill_the_context_to_the_last_token(target: LlamaTarget) -> None:
    answer = ask(target, np.full(4072, 65, np.int32))
    assert (answer.finish, answer.decode_tokens) == ("length", 24)


def test_seeds_choose_the_answer(target: LlamaTarget) -> None:
    prompt = prompt_of(*range(40, 60))
    texts = [
        ask(target, prompt, Sampling(temperature=1.5, top_p=1.0, seed=seed, max_tokens=24)).text for seed in (1, 2, 1)
    ]
    assert texts[0] == texts[2] != texts[1]


def test_a_stop_string_ends_the_answer_before_it(target: LlamaTarget) -> None:
    prompt = prompt_of(*range(40, 60))
    whole = ask(target, prompt, Sampling(max_tokens=200)).text
    stop = whole[5:8]
    answer = ask(target, prompt, Sampling(max_tokens=200, stop=(stop,)))
    assert (answer.finish, answer.text) == ("stop", whole[: whole.index(stop)])


def test_an_error_in_on_text_travels_back_and_the_target_goes_on(target: LlamaTarget) -> None:
    prompt = prompt_of(*range(40, 60))
    expected = ask(target, prompt).text

    def fail(_: str) -> None:
        raise KeyError("the client went away")

    with pytest.raises(KeyError, match="the client went away"):
        ask(target, prompt, on_text=fail)
    assert ask(target, prompt).text == expected


def test_a_token_outside_the_vocabulary_is_an_error_and_the_target_goes_on(target: LlamaTarget) -> None:
    prompt = prompt_of(*range(40, 60))
    expected = ask(target, prompt).text
    with pytest.raises(TargetError, match="failed to evaluate"):
        ask(target, prompt_of(41, 42, 9999))
    assert ask(target, prompt).text == expected


def test_requests_from_many_threads_run_one_after_the_other(target: LlamaTarget) -> None:
    prompts = [prompt_of(*range(start, start + 30)) for start in range(40, 100, 10)]
    expected = [ask(target, prompt).text for prompt in prompts]
    answers: dict[int, str] = {}

    def run(index: int) -> None:
        answers[index] = ask(target, prompts[index]).text

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[index] for index in range(len(prompts))] == expected


def test_a_closed_target_says_so(target: LlamaTarget) -> None:
    target.close()
    target.close()
    with pytest.raises(TargetError, match="closed"):
        target.count("x")


def test_a_forgotten_target_ends_its_thread(tiny_llama: Path) -> None:
    before = set(threading.enumerate())
    target = LlamaTarget.open(tiny_llama, OPTIONS)
    ask(target, prompt_of(65))
    owners = [one for one in set(threading.enumerate()) - before if one.name.startswith("winnow-target")]
    assert owners
    del target
    gc.collect()
    for owner in owners:
        owner.join(120)
        assert not owner.is_alive()


@pytest.mark.parametrize("ending", ["", "raise SystemExit", "target.close()"])
def test_a_process_exits_cleanly_and_silently_with_a_target_in_use(tiny_llama: Path, ending: str) -> None:
    script = f"""
import pathlib
from winnow_engine.prompting.messages import Message
from winnow_engine.core import Sampling
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
target = LlamaTarget.open(pathlib.Path({str(tiny_llama)!r}))
prompt = target.chat_prompt([Message("user", "hello")])
target.generate(Request(prompt, Sampling(max_tokens=4)))
{ending}
"""
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no model file at .*none\.gguf: .*winnow models pull"):
        LlamaTarget.open(tmp_path / "none.gguf")


@pytest.mark.parametrize("keep", [0, 3, 100, 5000, 100_000])
def test_a_truncated_file_is_damaged(tiny_llama: Path, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(tiny_llama.read_bytes()[:keep])
    with pytest.raises(ModelDamagedError, match=r"half\.gguf is not a sound GGUF file: .*Get it again"):
        LlamaTarget.open(path)


def test_garbage_is_damaged_and_llama_cpp_stays_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "garbage.gguf"
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises(ModelDamagedError, match="invalid magic"):
        LlamaTarget.open(path)
    assert capfd.readouterr() == ("", "")


def test_an_architecture_unknown_to_llama_cpp_is_unsupported(tiny_llama: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(tiny_llama.read_bytes().replace(b"llama", b"lluma"))
    with pytest.raises(UnsupportedModelError, match="lluma"):
        LlamaTarget.open(path)
