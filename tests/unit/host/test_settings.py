"""Every setting's default, the forms clients send them in, and what is said of bad ones."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_engine.config import FileRules, ModelConfig, TargetOptions
from winnow_engine.core import Budget, Sampling
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_lsp.host.settings import Settings

DEFAULTS, _ = Settings.read()

CHANGED = {
    "drafter": "smollm2-135m",
    "target": "/models/own.gguf",
    "targetContext": 8192,
    "targetPlace": "resident",
    "kvType": "q8_0",
    "speculate": "lookup",
    "budget": "25%",
    "patience": 2.5,
    "maxTokens": 7,
    "thinking": "on",
    "files.include": ["*.py"],
    "files.exclude": ["/docs"],
    "index.shared": ["https://ci.example.org/index"],
    "index.automatic": "off",
    "cacheMegabytes": 30,
    "codeLens.enabled": True,
}

BAD: dict[str, list[Any]] = {
    "drafter": ["", "  ", 5, None, ["a"]],
    "target": [True],
    "targetContext": [0, "8k"],
    "targetPlace": ["gpu", None],
    "kvType": ["f64", 16, None, []],
    "speculate": ["", 5, None],
    "budget": [0, -1, 1.5, True, "5", "0%", "101%", "%", "-5%", "AUTO", None, []],
    "patience": [0, -1, float("inf"), float("nan"), "10", None],
    "maxTokens": [0, None],
    "thinking": ["yes", True, None],
    "files.include": [1, [1], None],
    "files.exclude": [["secrets/", 1]],
    "index.shared": [True, [1], None],
    "index.automatic": ["yes", 1, None],
    "cacheMegabytes": [-1, 0.5, "4 GB", None],
    "codeLens.enabled": [0],
}


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """`a.b` as `{"a": {"b": …}}`."""
    document: dict[str, Any] = {}
    for name, value in values.items():
        *parents, last = name.split(".")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return document


def test_the_defaults_are_the_engines_own() -> None:
    assert Settings() == DEFAULTS
    assert DEFAULTS.models == ModelConfig(DEFAULT_DRAFTER, "auto", TargetOptions().kv_type, "auto")
    assert DEFAULTS.budget == Budget(first_look_tokens=6000)
    assert (DEFAULTS.sampling, DEFAULTS.files) == (Sampling(), FileRules())
    assert (DEFAULTS.index_automatic, DEFAULTS.code_lens) == ("idle", False)


def assert_changed(settings: Settings) -> None:
    assert settings.models == ModelConfig("smollm2-135m", "/models/own.gguf", "q8_0", "lookup", 8192, "resident", 30)
    assert settings.budget == Budget(keep_ratio=0.25, patience_s=2.5, first_look_tokens=6000)
    assert settings.sampling == Sampling(max_tokens=7, thinking="on")
    assert settings.files == FileRules(include=("*.py",), exclude=("/docs",))
    assert (settings.index_automatic, settings.code_lens) == ("off", True)


@pytest.mark.parametrize(
    "document",
    [
        CHANGED,
        nested(CHANGED),
        {"winnow": nested(CHANGED)},
        {"winnow": CHANGED},
        {f"winnow.{name}": value for name, value in CHANGED.items()},
    ],
    ids=["dotted", "nested", "nested in winnow", "dotted in winnow", "dotted with winnow"],
)
def test_all_forms_mean_the_same(document: dict[str, Any]) -> None:
    settings, problems = Settings.read(document)
    assert problems == ()
    assert_changed(settings)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_is_reported_and_the_default_holds(name: str, value: object) -> None:
    settings, problems = Settings.read({name: value})
    (problem,) = problems
    assert f"winnow.{name} must be " in problem
    assert f"not {value!r}; using " in problem
    assert settings == DEFAULTS


@pytest.mark.parametrize(
    ("value", "tokens", "share"), [("auto", None, None), (500, 500, None), ("5%", None, 0.05), ("0.5%", None, 0.005)]
)
def test_a_budget_is_a_number_a_share_or_auto(value: object, tokens: int | None, share: float | None) -> None:
    settings, problems = Settings.read({"budget": 7}, {"budget": value})
    assert (settings.budget.keep_tokens, settings.budget.keep_ratio, problems) == (tokens, share, ())


@pytest.mark.parametrize("document", [5, "fast", [], [{"drafter": "x"}], True])
def test_settings_that_are_no_object_are_reported(document: object) -> None:
    assert Settings.read(document) == (DEFAULTS, ("the settings are not an object",))


def test_the_last_document_wins_and_a_problem_is_said_once() -> None:
    first, last = {"budget": 5, "patience": 0}, {"budget": 6}
    settings, problems = Settings.read(first, None, last, {"patience": 0})
    assert settings.budget.keep_tokens == 6
    assert len(problems) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(list(CHANGED)) | st.text(), inner),
    max_leaves=10,
)


@settings(deadline=None)
@given(documents=st.lists(JSON, max_size=3))
def test_whatever_a_client_sends_there_are_settings(documents: list[object]) -> None:
    settings, problems = Settings.read(*documents)
    assert isinstance(settings, Settings)
    assert all(problems)


def test_what_a_client_sends_for_other_servers_is_not_ours() -> None:
    settings, problems = Settings.read({"winnow": {"budget": 7}, "pylsp": {"plugins": {"x": 1}}})
    assert (settings.budget.keep_tokens, problems) == (7, ())
