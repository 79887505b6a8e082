"""Models from a hub, asked through the real `huggingface_hub`, and from a URL."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from huggingface_hub import constants, get_session
from model_hub import REPOSITORY, ModelHub, serving
from random_models import write_model

from winnow_engine.core import Progress
from winnow_engine.errors import DownloadError, ModelNotFoundError, UnsupportedModelError, WinnowError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models import cache
from winnow_engine.models.gguf_header import model_bytes, read_header
from winnow_engine.models.hub import stay_encrypted
from winnow_engine.models.names import parts_of
from winnow_engine.targets.fetching import fetch, offer

NAME = f"hf:{REPOSITORY}"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A repository with a model in two quantisations, one of them in parts, and files of other kinds."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "big").mkdir()
    write_model(folder / "tiny-Q4_K_M.gguf")
    write_model(folder / "big" / "tiny-Q8_0.gguf", tensors_a_file=20)
    (folder / "mmproj-F16.gguf").write_bytes(b"GGUF")
    (folder / "README.md").write_text("read me")
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.fixture
def hub(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving(dict(files), monkeypatch) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path / "models"))
    return tmp_path / "models"


def pulled(source: str, folder: Path, reports: list[Progress] | None = None) -> Path:
    return fetch(offer(source), folder, (reports if reports is not None else []).append)


def interrupt(step: Progress) -> None:
    """Ctrl-C, once a part has come."""
    if step.done > 200_000:
        raise KeyboardInterrupt


def test_the_usual_quantisation_is_described_pulled_found_and_removed(
    hub: ModelHub, files: dict[str, bytes], folder: Path
) -> None:
    offered = offer(NAME)
    assert str(offered) == f"{NAME}: 0.0 GB, Q4_K_M, llama, context 4,096 tokens, licence apache-2.0"
    assert hub.ranges == []
    reports: list[Progress] = []
    file = fetch(offered, folder, reports.append)
    assert file == folder / REPOSITORY / "tiny-Q4_K_M.gguf"
    assert file.read_bytes() == files["tiny-Q4_K_M.gguf"]
    assert reports[-1].done == reports[-1].total == offered.bytes
    assert cache.locate(NAME) == cache.locate(f"{NAME}:q4_k_m") == file
    assert cache.all_pulled(folder) == {f"{NAME}:Q4_K_M": (file,)}
    assert cache.remove(NAME, folder) == offered.bytes
    with pytest.raises(ModelNotFoundError, match=f"winnow models pull {NAME}"):
        cache.locate(NAME)


def test_a_model_in_parts_is_loaded_from_the_first(hub: ModelHub, files: dict[str, bytes], folder: Path) -> None:
    first = pulled(f"{NAME}:Q8_0", folder)
    assert first.name == "tiny-Q8_0-00001-of-00002.gguf"
    (whole,) = (len(data) for name, data in files.items() if "Q4" in name)
    assert model_bytes(first) == pytest.approx(whole, rel=0.1)
    assert len(read_header(first).tensors) == 4 * 9 + 2
    LlamaModel(first).close()
    second = first.with_name("tiny-Q8_0-00002-of-00002.gguf")
    second.unlink()
    with pytest.raises(ModelNotFoundError):
        cache.locate(f"{NAME}:Q8_0")
    assert cache.remove(f"{NAME}:Q8_0", folder) == len(files[f"big/{first.name}"])


def test_of_a_model_that_is_whole_and_in_parts_the_whole_file_is_pulled(hub: ModelHub, folder: Path) -> None:
    hub.files["big/tiny-Q8_0.gguf"] = hub.files["tiny-Q4_K_M.gguf"]
    assert pulled(f"{NAME}:Q8_0", folder).name == "tiny-Q8_0.gguf"


def test_models_of_one_quantisation_are_listed_and_removed_by_names_of_their_own(hub: ModelHub, folder: Path) -> None:
    hub.files["tiny-more-Q4_K_M.gguf"] = hub.files["tiny-Q4_K_M.gguf"]
    hub.files["big/tiny-Q8_0.gguf"] = hub.files["tiny-Q4_K_M.gguf"]
    more = pulled(f"{NAME}:tiny-more-Q4_K_M", folder)
    assert cache.all_pulled(folder) == {f"{NAME}:Q4_K_M": (more,)}
    more.with_name("tiny-Q4_K_M.gguf.part").write_bytes(b"GGUF")  # of a pull that was ended
    assert cache.remove(f"{NAME}:Q4_K_M", folder) > len("GGUF")
    for name in ("tiny-more-Q4_K_M", "Q4_K_M", "Q8_0"):
        pulled(f"{NAME}:{name}", folder)
    parts = folder / REPOSITORY / "big" / "tiny-Q8_0-00001-of-00002.gguf"
    for part in parts_of(parts):
        part.write_bytes(hub.files[f"big/{part.name}"])
    listed = cache.all_pulled(folder)
    assert listed.keys() == {*(f"{NAME}:{name}" for name in ("tiny-more-Q4_K_M", "Q4_K_M", "Q8_0")), str(parts)}
    for name, files in listed.items():
        assert cache.locate(name) == files[0]
        before = {*folder.rglob("*.gguf")}
        cache.remove(name, folder)
        assert before - {*folder.rglob("*.gguf")} == {*files}


def test_an_interrupted_pull_goes_on_where_it_stopped(hub: ModelHub, files: dict[str, bytes], folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fetch(offer(NAME), folder, interrupt)
    (part,) = (folder / REPOSITORY).glob("*.part")
    received = part.stat().st_size
    assert cache.all_pulled(folder) == {}
    assert pulled(NAME, folder).read_bytes() == files["tiny-Q4_K_M.gguf"]
    assert hub.ranges == ["", f"bytes={received}-"]
    assert received > 0


@pytest.mark.parametrize("link", ["resolve/main/{}", "blob/main/{}", "resolve/main/{}?download=true"])
def test_the_address_of_a_file_on_the_hub_is_taken_as_its_name(hub: ModelHub, folder: Path, link: str) -> None:
    offered = offer(f"https://huggingface.co/{REPOSITORY}/{link.format('tiny-Q4_K_M.gguf')}")
    assert (offered.name, offered.licence) == (f"{NAME}:Q4_K_M", "apache-2.0")


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("another-Q4_K_M.gguf", REPOSITORY),  # not tiny-Q4_K_M.gguf, which is the usual one of that quantisation
        ("a+b.gguf", "127.0.0.1-*"),
        ("b/tiny-Q4_K_M.gguf", "127.0.0.1-*"),
    ],
)
def test_the_address_of_a_file_never_brings_another(hub: ModelHub, folder: Path, file: str, place: str) -> None:
    content = hub.files[file] = hub.files["tiny-Q4_K_M.gguf"][:-1] + b"!"
    if place == REPOSITORY:
        hub.files["tiny-tiny-tiny-tiny-Q4_K_M.gguf"] = hub.files.pop("tiny-Q4_K_M.gguf")
    brought = pulled(hub.url(file), folder)
    assert brought.read_bytes() == content
    assert [brought] == [*folder.glob(f"{place}/{Path(file).name}")]


def test_a_url_is_pulled_and_goes_on_while_its_version_is_the_same(
    hub: ModelHub, files: dict[str, bytes], folder: Path
) -> None:
    url = f"{hub.base}/cdn/tiny-Q4_K_M.gguf?download=true"
    with pytest.raises(KeyboardInterrupt):
        fetch(offer(url), folder, interrupt)
    newer = hub.files["tiny-Q4_K_M.gguf"] = files["tiny-Q4_K_M.gguf"][:-1] + b"!"
    file = pulled(url, folder)
    assert hub.ranges == ["", ""]
    assert [file] == [*folder.glob("127.0.0.1-*/tiny-Q4_K_M.gguf")]
    assert file.read_bytes() == newer
    assert cache.all_pulled(folder) == {str(file): (file,)}
    outside = folder.parent / "mine.gguf"
    outside.write_bytes(newer)
    for name in (url, f"{folder}/../mine.gguf"):
        with pytest.raises(ModelNotFoundError, match="name one that `winnow models list` shows"):
            cache.remove(name, folder)
    assert cache.remove(str(file), folder) > len(newer)  # with the part of the other version


def test_files_of_one_name_in_two_folders_of_a_server_are_two_models(hub: ModelHub, folder: Path) -> None:
    one = hub.files["one/tiny.gguf"] = hub.files["tiny-Q4_K_M.gguf"]
    two = hub.files["two/tiny.gguf"] = one[:60_000] + b"two" + one[60_003:]
    assert pulled(f"{hub.base}/cdn/one/tiny.gguf", folder).read_bytes() == one
    assert pulled(f"{hub.base}/cdn/two/tiny.gguf", folder).read_bytes() == two
    assert len(cache.all_pulled(folder)) == 2


def test_the_token_is_for_the_hub_alone(hub: ModelHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    pulled(NAME, folder)
    assert hub.tokens == {"Bearer hf_secret"}
    hub.tokens.clear()
    monkeypatch.setattr(constants, "ENDPOINT", "https://huggingface.co")
    pulled(f"{hub.base}/cdn/tiny-Q4_K_M.gguf", folder)
    assert hub.tokens == {None}


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest", "http://example.org/a", "/a", "https://b.org/a"])
def test_a_redirect_stays_encrypted(location: str) -> None:
    asked = httpx2.Request("GET", "https://example.org/a.gguf")
    response = httpx2.Response(302, headers={"Location": location}, request=asked)
    assert stay_encrypted in get_session().event_hooks["response"]
    with pytest.raises(DownloadError, match="not https") if location.startswith("http:") else nullcontext():
        stay_encrypted(response)


def test_what_is_here_is_found_offline(hub: ModelHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = pulled(NAME, folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert cache.locate(NAME) == file
    with pytest.raises(DownloadError, match="HF_HUB_OFFLINE"):
        offer(NAME)


def test_a_model_that_llama_cpp_cannot_run_is_refused_by_its_first_bytes(
    hub: ModelHub, tmp_path: Path, folder: Path
) -> None:
    hub.files["tiny-Q4_K_M.gguf"] = write_model(tmp_path / "new.gguf", "never_heard_of").read_bytes()
    with pytest.raises(UnsupportedModelError, match=f"{NAME}.*unknown model architecture"):
        offer(NAME)
    assert hub.ranges == []


def told(hash: str, size: int = 0) -> Any:
    """Has the hub's API say something else of the file than what it sends."""

    def tell(hub: ModelHub) -> None:
        lfs = {"sha256": hash, "size": size or len(hub.files["tiny-Q4_K_M.gguf"]), "pointerSize": 1}
        hub.told["tiny-Q4_K_M.gguf"] = {"lfs": lfs}

    return tell


@pytest.mark.parametrize(
    ("misbehave", "says"),
    [
        (told("0" * 64, 9_999_999), r"bytes instead of 9999999"),
        (told("0" * 64, 10**30), "how large"),
        (told("0" * 64, -5), "how large"),
        (lambda hub: hub.told.update({"tiny-Q4_K_M.gguf": {"rfilename": None}}), "is not there"),
        (told("0" * 64), r"wrong content \(SHA-256 .*removed"),
        (lambda hub: setattr(hub, "redirects_for_ever", True), "redirects"),
        (lambda hub: setattr(hub, "endless", True), r"more than \d+ bytes"),
        (lambda hub: hub.files.update({"tiny-Q4_K_M.gguf": b"<html>"}), "is not a GGUF file"),
        (lambda hub: hub.files.update({"tiny-Q4_K_M.gguf": hub.files["tiny-Q4_K_M.gguf"][:5000]}), "whole GGUF"),
        *[
            (lambda hub, name=name: hub.told.update({"tiny-Q4_K_M.gguf": {"rfilename": name}}), "another folder")
            for name in ("../../x-Q4_K_M.gguf", "a/../../x-Q4_K_M.gguf", "/x-Q4_K_M.gguf", "c:\\x-Q4_K_M.gguf")
        ],
    ],
)
def test_a_hostile_server_is_answered_with_an_error_and_leaves_no_model(
    misbehave: Any, says: str, hub: ModelHub, folder: Path
) -> None:
    misbehave(hub)
    with pytest.raises(WinnowError, match=says):
        pulled(f"{NAME}:Q4_K_M", folder)
    assert cache.all_pulled(folder) == {}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("hf:acme", "write hf:OWNER/REPO"),
        ("hf:../x", "write hf:OWNER/REPO"),
        (f"{NAME}:Q2_K", "has: Q4_K_M, Q8_0"),
        ("https://127.0.0.1/a-00001-of-00002.gguf", "one whole"),
        ("https://127.0.0.1/%2e%2e", "another folder"),
        ("http://example.org/a.gguf", "write https"),
        ("https://[::1", "Invalid IPv6"),
    ],
)
def test_what_names_no_model_is_explained(source: str, says: str, hub: ModelHub) -> None:
    with pytest.raises(WinnowError, match=says):
        offer(source)


def test_the_disk_is_looked_at_first(hub: ModelHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=1_000_000))
    with pytest.raises(DownloadError, match=r"free bytes in .*, which has 1,000,000"):
        pulled(NAME, folder)
    assert hub.ranges == []
