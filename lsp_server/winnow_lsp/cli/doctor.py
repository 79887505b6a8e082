"""`winnow doctor`: what works on this machine, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import click
import llama_cpp
from threadpoolctl import threadpool_info

from winnow_cuda.device import availability
from winnow_engine.config import AUTO, SPECULATE, ModelConfig, TargetOptions
from winnow_engine.core import Sampling, counted
from winnow_engine.encoder import merged_weights as merged
from winnow_engine.errors import ModelError, WinnowError
from winnow_engine.llama.patched_functions import build_note, has_patches, rebuild_command
from winnow_engine.models.cache import FileState, default_directory, given_file, locate, quick_state
from winnow_engine.models.names import PREFIX
from winnow_engine.models.registry import DEFAULT_DRAFTER, MODELS, Kind, weight_folders, weights_command
from winnow_engine.models.target_table import source_of
from winnow_engine.platform import is_file, is_folder, pip_command
from winnow_engine.prompting.messages import Message
from winnow_engine.storage.store import default_path
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.selfcheck import check_build
from winnow_engine.targets.opening import local_options
from winnow_engine.targets.remote.address import KEY_VARIABLE, is_url, parse
from winnow_engine.targets.remote.discovery import discover
from winnow_engine.targets.remote.target import HttpTarget
from winnow_engine.targets.residency import decide, leaves_room_for_reranker, measure
from winnow_engine.targets.snapshots.files import default_folder, used_bytes
from winnow_engine.targets.suggesting import resolved
from winnow_lsp.cli.gpu_check import check_gpu
from winnow_lsp.cli.local_servers import command, described
from winnow_lsp.cli.setting_options import user_settings
from winnow_lsp.cli.terminal import show, show_json
from winnow_lsp.host.settings import Settings
from winnow_lsp.host.user_files import user_file

_LEAST_FREE_BYTES = 2 << 30
_GREETING = [Message("user", "Hello")]
_WEIGHTS: dict[Kind, str] = {
    "adapter": "the default drafter's scores",
    "reranker": "the order of the leading code, on NVIDIA GPUs",
    "draft": "faster answers of Qwen2.5-Coder-1.5B",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it works, what was seen, and what to do where it does not."""

    works: bool
    subject: str
    seen: str
    remedy: str = ""


@click.command()
@click.option("--target", metavar="URL", help="Also ask this OpenAI-compatible server for a token.")
@click.option("--gpu", is_flag=True, help="Also decode on the GPU, with drafter and target there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(target: str | None, gpu: bool, as_json: bool) -> None:
    """Say what works on this machine, what is missing, and how to get it. Exit code 1 if something is missing."""
    findings = list[Check]()
    for finding in chain(_findings(), _decoding() if gpu else (), _server(target) if target else ()):
        findings.append(finding)
        if not as_json:
            show(f"{'ok     ' if finding.works else 'missing'}  {finding.subject}: {finding.seen}")
            if not finding.works:
                show(f"         → {finding.remedy}")
    works = all(finding.works for finding in findings)
    if as_json:
        show_json({"works": works, "checks": [asdict(finding) for finding in findings]}, indent=2)
    if not works:
        raise click.exceptions.Exit(1)


def _findings() -> Iterator[Check]:
    models = Settings.of(user_settings()).models
    yield from chain(_processor(), _blas(), _gpu(), _settings(), _models(models), _weights(models))
    yield from chain(_servers(), _residency(models), _build(), _disk())


def _decoding() -> Iterator[Check]:
    result = check_gpu()
    yield Check(result.ok, "decoding on the GPU", result.detail, "see above what GPU and llama-cpp-python lack")


def _settings() -> Iterator[Check]:
    """The user's file, if there is one; what is wrong with it was said when it was read."""
    if (file := user_file("winnow.toml")) and is_file(file):
        yield Check(True, "settings", str(file))


def _processor() -> Iterator[Check]:
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text().split() if cpuinfo.is_file() else []
    sets = [name for name in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16") if name in flags]
    seen = f"{platform.machine()}, {counted(os.cpu_count() or 1, 'core')}, {' '.join(sets) or 'sets unknown'}"
    yield Check(True, "processor", f"{seen}; Python {platform.python_version()}")


def _blas() -> Iterator[Check]:
    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    seen = ", ".join(
        f"{pool['internal_api']} {pool.get('architecture', '')} ({counted(pool['num_threads'], 'thread')})"
        for pool in found
    )
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    note = f"; OPENBLAS_CORETYPE={chosen}" if chosen else ""
    yield Check(bool(found), "BLAS", (seen or "none found") + note, "install NumPy from a wheel")


def _gpu() -> Iterator[Check]:
    found = availability()
    where = "the drafter runs on it" if found.usable else "the drafter runs on the CPU"
    lacks = shutil.which("nvidia-smi") and find_spec("cuda") is None
    get = f"; use the GPU: {pip_command('install', 'winnow-lsp[cuda]')}" if lacks else ""
    yield Check(True, "GPU", f"{found.reason.rstrip('.')}; {where}{get}")


def _models(wanted: ModelConfig) -> Iterator[Check]:
    """Winnow's models, of which those that the settings want must be here, and files that they name."""
    if wanted.target == AUTO:
        try:
            wanted = resolved(wanted)
            yield Check(True, "target (auto)", wanted.target)
        except ModelError as error:
            yield Check(False, "target (auto)", str(error), "winnow models pull")
    names = [wanted.drafter, wanted.target, *({wanted.speculate} - {*SPECULATE})]
    for name in names:
        if not is_url(name) and (file := given_file(name)) is not None:
            yield Check(is_file(file), "model", name, "correct the settings")
        elif source_of(name).startswith(PREFIX):
            yield _pulled(name)
    directory = default_directory()
    for model in MODELS:
        state = quick_state(model, directory)
        get = f"winnow models pull {model.name}"
        if state is not FileState.MISSING:
            yield Check(state is FileState.OK, f"model {model.name}", state.value, get)
        else:
            yield _absent(f"model {model.name}", get, needed=model.name in names)


def _absent(subject: str, get: str, *, needed: bool) -> Check:
    seen = "not installed" if needed else f"optional, not installed; get it: {get}"
    return Check(not needed, subject, seen, get if needed else "")


def _weights(wanted: ModelConfig) -> Iterator[Check]:
    """Distributions of trained weights. The default drafter needs an adapter, and on a GPU a reranker."""
    default = wanted.drafter == DEFAULT_DRAFTER
    needed = {"adapter": default, "reranker": default and availability().usable}
    for kind, purpose in _WEIGHTS.items():
        subject = f"weights for {purpose}"
        if weight_folders(kind):
            yield Check(True, subject, FileState.OK.value)
        else:
            yield _absent(subject, weights_command(kind), needed=needed.get(kind, False))


def _pulled(name: str) -> Check:
    try:
        locate(name)
    except ModelError as error:
        return Check(False, f"model {name}", str(error), f"winnow models pull {name}")
    return Check(True, f"model {name}", FileState.OK.value)


def _servers() -> Iterator[Check]:
    """Models on servers of this machine, which may be targets. They are asked what they serve, and no more."""
    found = discover()
    for model in found:
        yield Check(True, "found", f"{described(model)}; use it: {command(model)}")
    if not found:
        yield Check(True, "found", "no other model server on this machine's usual ports")


def _build() -> Iterator[Check]:
    by = f" ({note[1]})" if (note := build_note()) else ""
    subject = f"llama-cpp-python {llama_cpp.__version__}{by}"
    directory = default_directory()
    present = [model for model in MODELS if quick_state(model, directory) is FileState.OK]
    if not present:
        yield Check(False, subject, "not tried, for lack of a model", "pull a model first")
        return
    smallest = min(present, key=lambda model: model.bytes)
    result = check_build(directory / smallest.file)
    slower = result.ok and not has_patches()
    lacks = f"; slower, for lack of Winnow's additions; get them: {rebuild_command()}" if slower else ""
    yield Check(result.ok, subject, result.detail + lacks, rebuild_command())


def _residency(models: ModelConfig) -> Iterator[Check]:
    if is_url(models.target):
        return
    try:
        target = resolved(models).target
        memory = measure(locate(models.drafter), locate(target), TargetOptions(kv_type=models.kv_type))
        options = local_options(models)
    except ModelError:
        return  # that they are missing is said already
    found = decide(memory)
    crowded = found.drafter == "resident" and not leaves_room_for_reranker(memory, found.target)
    part = "partly " if options.n_gpu_layers or options.experts_in_memory else ""
    placed = "" if options.place == found.target else f"; the target is {part}{options.place}"
    yield Check(True, "residency", f"{found}{placed}{'; no room for the reranker' if crowded else ''}")


def _server(url: str) -> Iterator[Check]:
    """A token from a target's server, and where that is."""
    address = parse(url)
    where = "this machine" if address.loopback else f"ANOTHER MACHINE, {address.host}: your code is sent there"
    try:
        target = HttpTarget.open(address)
        answer = target.generate(Request(target.chat_prompt(_GREETING), Sampling(max_tokens=1)))
    except WinnowError as error:
        yield Check(False, "target", str(error), f"start the server, or correct the URL or {KEY_VARIABLE}")
        return
    context = f"{target.context_limit:,} tokens" if target.context_known else "unknown, targetContext sets it"
    seen = f"{target.model} on {where}; context {context}; tokens {target.counts}"
    yield Check(True, "target", f"{seen}; first token after {answer.prefill_s:.2f} s")


def _disk() -> Iterator[Check]:
    """The cache folder, and the largest things in it: prompts that targets have read, and drafters' weights."""
    path = default_path()
    folder = next(p for p in (path.parent, *path.parents) if is_folder(p))
    free = shutil.disk_usage(folder).free
    seen = f"{path}, {path.stat().st_size / 1e6 if is_file(path) else 0:,.0f} MB, {free / 1e9:,.0f} GB free"
    works = free > _LEAST_FREE_BYTES and os.access(folder, os.W_OK)
    yield Check(works, "cache", seen, "set WINNOW_CACHE_DIR to a writable place with room")
    number, size = used_bytes(default_folder())
    seen = f"{counted(number, 'prompt')} that a target has read, {size / 1e6:,.0f} MB, kept in {default_folder()}"
    yield Check(True, "snapshots", seen)
    number, size = merged.used_bytes(merged.default_folder())
    seen = f"of {counted(number, 'drafter')}, {size / 1e6:,.0f} MB, kept in {merged.default_folder()}"
    yield Check(True, "merged weights", seen)
