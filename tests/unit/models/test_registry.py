import pytest

from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models import registry
from winnow_engine.models.registry import PyPiSource, RegisteredModel


@pytest.mark.parametrize("model", registry.MODELS, ids=lambda model: model.name)
def test_the_wheels_members_add_up_to_the_file(model: RegisteredModel) -> None:
    (pypi,) = (source for source in model.sources if isinstance(source, PyPiSource))
    assert sum(part.bytes for part in pypi.parts) == model.bytes
    assert all(len(bytes.fromhex(part.sha256)) == 32 for part in pypi.parts)
    assert len({part.sha256 for part in pypi.parts}) == len(pypi.parts)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ModelNotFoundError, match=r"'gpt-7'.*smollm2-135m"):
        registry.find("gpt-7")
