import pytest

from winnow_engine.errors import TargetAddressError
from winnow_engine.targets.remote.address import PLAIN_VARIABLE, is_url, parse, sent_to


@pytest.mark.parametrize(
    ("url", "base", "host", "loopback", "model"),
    [
        ("http://127.0.0.1:8000/v1#m", "http://127.0.0.1:8000/v1", "127.0.0.1:8000", True, "m"),
        ("http://localhost:11434", "http://localhost:11434/v1", "localhost:11434", True, None),
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000/v1", "127.0.0.1:8000", True, None),
        ("http://[::]:8000", "http://[::1]:8000/v1", "[::1]:8000", True, None),
        ("HTTP://[::1]:80/", "http://[::1]:80/v1", "[::1]:80", True, None),
        ("https://gpu.example.org/api/v1/#org/model:7b", "https://gpu.example.org/api/v1", "gpu.example.org", False,
         "org/model:7b"),
        ("https://10.0.0.5:8443/v1#a%20b", "https://10.0.0.5:8443/v1", "10.0.0.5:8443", False, "a b"),
    ],
)  # fmt: skip
def test_urls(url: str, base: str, host: str, loopback: bool, model: str | None) -> None:
    address = parse(url)
    assert (address.base, address.host, address.loopback, address.model) == (base, host, loopback, model)
    assert sent_to(url) == (None if loopback else host)


@pytest.mark.parametrize(
    "url",
    ["http://", "http:///v1", "https://h:99999/", "https://h:x/", "https://[::1", "https://h/ v1", "https://h/\x1b[2J",
     "https://user:secret@h/v1", "https://secret@h/v1", "https://h/v1?key=secret"],
)  # fmt: skip
def test_a_url_that_is_malformed_or_carries_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(TargetAddressError) as raised:
        parse(url)
    assert "secret" not in str(raised.value)
    assert sent_to(url) is None


@pytest.mark.parametrize("host", ["gpu.lan", "10.0.0.5", "localhost.example.org", "127.0.0.1.nip.io", "[fe80::1]"])
def test_plain_http_to_another_machine_needs_to_be_allowed(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TargetAddressError, match="plain http"):
        parse(f"http://{host}:8000/v1")
    monkeypatch.setenv(PLAIN_VARIABLE, f"other, {host.strip('[]')}")
    address = parse(f"http://{host}:8000/v1")
    assert (address.loopback, address.host) == (False, f"{host}:8000")


@pytest.mark.parametrize("name", ["smollm2-135m", "/models/http.gguf", "http.gguf", "ftp://h/v1"])
def test_other_names_are_no_urls(name: str) -> None:
    assert not is_url(name)
    assert sent_to(name) is None
