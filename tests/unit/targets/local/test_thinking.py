"""A local model's thought: whether it thinks, how it is told apart, and that an answer follows whatever happens."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling, Thinking
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.local.chat_template import CHATML, ChatTemplate
from winnow_engine.targets.local.decoding import DecodedAnswer, Sampler, decode
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.text_stream import MARKERS, Markers, ThoughtStream

from ..conftest import write_llama
from ..loaded import PROMPT, Loaded, Oracle

THINK = MARKERS[0]
ASKED = [Message("system", "Be brief."), Message("user", "Why? <think>")]
EARLIER = [*ASKED, Message("assistant", "So."), Message("user", "And?")]
# Each switches thinking as the named family does.
FILES = Path(__file__).with_name("templates").glob("thinking/*.jinja")
TEMPLATES = {"chatml": CHATML, **{file.stem: file.read_text("utf-8").removesuffix("\n") for file in FILES}}


@pytest.fixture
def thinker(tmp_path: Path) -> Iterator[LlamaTarget]:
    """A tiny model whose prompts end within a thought."""
    path = write_llama(tmp_path / "thinker.gguf", [{"name": "default", "template": TEMPLATES["deepseek-r1"]}])
    with closing(LlamaTarget.open(path, TargetOptions(n_threads=1))) as target:
        yield target


NOTHING = "<think>\n\n</think>\n\n"
ENDS: dict[str, dict[Thinking, str]] = {
    "qwen3": {"auto": NOTHING, "off": NOTHING, "on": "assistant\n"},
    "qwen3.5": {"auto": NOTHING, "on": "<think>\n"},
    "deepseek-r1": {"auto": "<think>\n", "on": "<think>\n", "off": NOTHING},
    "deepseek-v3": {"auto": "assistant\n</think>", "on": "assistant\n<think>"},
    "nemotron": {"auto": "<think></think>", "on": "<think>\n"},
    "gemma-4": {"auto": "<|channel>thought\n<channel|>", "on": "assistant\n"},
    "seed-oss": {"auto": "<seed:think></seed:think>", "on": "assistant\n"},
    "gpt-oss": {"auto": "Reasoning: low", "off": "Reasoning: low", "on": "Reasoning: medium"},
    "poolside": {"auto": "assistant\n"},
    "chatml": {"on": "assistant\n", "off": "assistant\n"},
}


@pytest.mark.parametrize(("name", "thinking"), [(name, one) for name, ends in ENDS.items() for one in ends])
def test_a_template_is_told_whether_to_think(loaded: Loaded, name: str, thinking: Thinking) -> None:
    prompt = ChatTemplate(TEMPLATES[name], {}).tokenize(EARLIER, loaded.vocabulary, thinking=thinking).tokens
    text = loaded.vocabulary.text(prompt, special=True)
    assert text.endswith(ENDS[name][thinking]), text
    assert "And?" in text
    assert "/no_think" not in text


@pytest.mark.parametrize(
    ("source", "ends"),
    [
        (CHATML, ["<|im_end|>"]),
        (TEMPLATES["glm"], ["<|im_start|>"]),
        (CHATML.replace("<|im_end|>", "\n  <|im_end|>"), ["<|im_end|>"]),
        (CHATML.replace("<|im_end|>", "</s>"), []),  # no token of this vocabulary: text
        (TEMPLATES["gpt-oss"], []),  # its thoughts end as its answers do
        ("{{ raise_exception('no answers') }}", []),
    ],
)
def test_the_token_that_a_template_puts_behind_an_answer_ends_one(loaded: Loaded, source: str, ends: list[str]) -> None:
    found = ChatTemplate(source, {}).turn_ends(loaded.vocabulary)
    assert [loaded.vocabulary.text([token], special=True) for token in found] == ends


def test_nothing_behind_a_turns_end_is_shown_though_the_file_names_another(
    tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, loaded.vocabulary.tokenize("So.<|im_start|>user\nAnd?", special=True).tolist())
    path = write_llama(tmp_path / "glm.gguf", [{"name": "default", "template": TEMPLATES["glm"]}])
    with closing(LlamaTarget.open(path, TargetOptions(n_threads=1, speculate="off"))) as target:
        said = target.generate(Request(target.chat_prompt(ASKED), Sampling(max_tokens=20)))
    assert (said.text, said.finish) == ("So.", "eos")


def thought_of(
    loaded: Loaded, sampling: Sampling, limit: int, draft: NoDraft | None = None
) -> tuple[DecodedAnswer, str]:
    """A random model's answer behind a prompt that ends within a thought, and the thought."""
    thought: list[str] = []
    answer, draft = DecodedAnswer(lambda _: None), draft or NoDraft()
    loaded.prefill(PROMPT)
    stream = ThoughtStream(MARKERS, thought.append, THINK)
    decode(answer, loaded.cache, loaded.vocabulary, sampling, draft, stream, limit)
    return answer, "".join(thought)


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (5, 3), (30, 20), (40, 1)])
def test_an_answer_follows_a_thought_that_was_cut_off(loaded: Loaded, limit: int, most: int) -> None:
    answer, thought = thought_of(loaded, Sampling(max_tokens=most), limit)
    ending = loaded.vocabulary.tokenize(THINK.ending, special=True).tolist()
    assert answer.thought_tokens >= limit + len(ending)
    assert len(answer.tokens) - answer.thought_tokens == most
    assert (answer.finish, answer.cut_off) == ("length", True)
    assert answer.tokens[limit : limit + len(ending)] == ending
    assert loaded.cache.tokens.tolist() == [*PROMPT, *answer.tokens[:-1]]
    assert thought == loaded.vocabulary.text(answer.tokens[:limit]).strip()
    assert "think>" not in thought + answer.text


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_drafted_thought_and_answer_are_those_of_plain_decoding(loaded: Loaded, seed: int) -> None:
    sampling = Sampling(max_tokens=25)
    plain, thought = thought_of(loaded, sampling, 30)
    drafted, same = thought_of(loaded, sampling, 30, Oracle(plain.tokens, seed))
    assert (drafted.tokens, drafted.text, same) == (plain.tokens, plain.text, thought)
    assert drafted.thought_tokens == plain.thought_tokens
    assert 0 < drafted.accepted < drafted.drafted


def say(monkeypatch: pytest.MonkeyPatch, tokens: Iterable[int]) -> None:
    """Have the sampler choose these tokens, whatever the model would say."""
    script = iter(tokens)
    monkeypatch.setattr(Sampler, "sample", lambda *_: next(script))


def test_a_model_that_never_stops_thinking_is_stopped(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, loaded.vocabulary.tokenize("<think>" * 50).tolist())
    loaded.prefill(PROMPT)
    answer = DecodedAnswer(lambda _: None)
    decode(answer, loaded.cache, loaded.vocabulary, Sampling(max_tokens=9), NoDraft(), ThoughtStream(MARKERS), 7)
    assert (answer.text, answer.finish) == ("", "length")
    assert len(answer.tokens) < 100


def test_a_target_thinks_apart_and_says_so(thinker: LlamaTarget) -> None:
    said, thought = list[str](), list[str]()
    sampling = Sampling(max_tokens=20, thinking_tokens=25)
    prompt = thinker.chat_prompt(ASKED)
    answer = thinker.generate(Request(prompt, sampling, said.append, on_thought=thought.append))
    assert answer.thought is not None
    assert (answer.text, answer.thought.text) == ("".join(said), "".join(thought))
    assert answer.thought.tokens >= 25
    assert answer.decode_tokens - answer.thought.tokens == 20
    assert answer.thought.seconds > 0
    assert "25 tokens of thinking" in answer.notices[0]
    assert thinker.thinking_tokens(sampling) >= 25


def test_a_target_that_is_not_to_think_answers_at_once(thinker: LlamaTarget) -> None:
    sampling = Sampling(max_tokens=20, thinking="off")
    answer = thinker.generate(Request(thinker.chat_prompt(ASKED, thinking="off"), sampling))
    assert (answer.thought, answer.notices, answer.decode_tokens) == (None, (), 20)
    assert thinker.thinking_tokens(sampling) < 100


def test_control_tokens_of_markers_are_seen_and_hidden_in_answers(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In gpt-oss and Magistral, markers are control tokens, whose text is not shown elsewhere."""
    start = 256  # <|im_start|>
    loaded.prefill(PROMPT)
    answer, stream = DecodedAnswer(lambda _: None), ThoughtStream([Markers("<|im_start|>", "<|im_start|>!")])
    spelled = loaded.vocabulary.tokenize("hm!Yes it is").tolist()
    say(monkeypatch, [start, *spelled[:2], start, *spelled[2:6], start, *spelled[6:]])
    decode(answer, loaded.cache, loaded.vocabulary, Sampling(max_tokens=10), NoDraft(), stream, 50)
    thought = stream.thought(0)
    assert thought is not None
    assert (answer.text, thought.text) == ("Yes it is", "hm")


def test_a_model_that_would_end_its_answer_within_a_thought_goes_on(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = thought_of(loaded, Sampling(max_tokens=5), 30)
    end = plain.tokens[12]
    monkeypatch.setattr(loaded.vocabulary, "is_end", lambda token: token == end)
    answer, _ = thought_of(loaded, Sampling(max_tokens=5), 30)
    cut = plain.tokens.index(end)
    ending = loaded.vocabulary.tokenize(THINK.ending, special=True).tolist()
    assert answer.tokens[: cut + len(ending)] == [*plain.tokens[:cut], *ending]
    assert len(answer.tokens) > cut + len(ending)
    assert (answer.cut_off, loaded.cache.tokens.tolist()) == (False, [*PROMPT, *answer.tokens[:-1]])


def test_stop_strings_end_the_answer_and_not_the_thought(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, loaded.vocabulary.tokenize("<think>one STOP two</think>Yes STOP no").tolist())
    loaded.prefill(PROMPT)
    answer, stream = DecodedAnswer(lambda _: None), ThoughtStream(MARKERS)
    decode(answer, loaded.cache, loaded.vocabulary, Sampling(max_tokens=90, stop=("STOP",)), NoDraft(), stream, 90)
    thought = stream.thought(1)
    assert thought is not None
    assert (answer.text, thought.text, answer.finish) == ("Yes ", "one STOP two", "stop")
