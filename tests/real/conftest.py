"""The real models, which `winnow models pull` puts in the cache; without them these tests fail."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.errors import ModelError
from winnow_engine.models import cache

from .user import User


@pytest.fixture(scope="session")
def smollm2() -> Path:
    return _pulled("smollm2-135m")


@pytest.fixture(scope="session")
def qwen_small() -> Path:
    return _pulled("qwen2.5-coder-0.5b")


@pytest.fixture(scope="session")
def qwen_target() -> Path:
    return _pulled("qwen2.5-coder-1.5b")


@pytest.fixture(scope="session")
def users_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests that are not about an empty one: compiled code and merged weights are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def user(users_cache: Path, smollm2: Path) -> Iterator[User]:
    """A user whose shared server ends with the tests of a file. Its sockets need a shorter path than `tmp_path` has."""
    with tempfile.TemporaryDirectory(prefix="winnow-test-") as runtime:
        one = User(users_cache, Path(runtime))
        yield one
        one.end()


def _pulled(name: str) -> Path:
    try:
        return cache.path(name)
    except ModelError as error:
        pytest.fail(f"this test runs real weights: {error}", pytrace=False)
