"""Rules on a file's name: tools' directories, secrets, lock files, binaries and generated files do not count."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import lru_cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_DIRECTORIES = _words(
    """.git .hg .svn .bzr node_modules bower_components .venv venv __pycache__ .tox .nox .mypy_cache
    .ruff_cache .pytest_cache .hypothesis .gradle .idea .terraform .next .nuxt .svelte-kit .parcel-cache
    .cache .eggs .aws .ssh .gnupg"""
)
_SECRETS = _words(
    """.env .env.* *.env *.pem *.key *.p8 *.p12 *.pfx *.jks *.keystore *.kdbx *.gpg id_rsa* id_dsa*
    id_ecdsa* id_ed25519* .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .git-credentials .dockercfg
    credentials credentials.json credentials.*.json client_secret*.json service-account*.json secrets.json
    secrets.y*ml *.tfvars *.tfstate *.tfstate.* *.ovpn"""
)
_NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
_LOCK_FILES = _words(
    """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock poetry.lock uv.lock pdm.lock
    pipfile.lock cargo.lock gemfile.lock composer.lock go.sum go.work.sum flake.lock mix.lock pubspec.lock
    podfile.lock package.resolved packages.lock.json gradle.lockfile"""
)
_BINARY_SUFFIXES = _words(
    """png jpg jpeg gif bmp ico icns webp avif tif tiff psd mp3 mp4 m4a ogg wav flac avi mov mkv webm pdf doc
    docx xls xlsx ppt pptx odt zip gz tgz bz2 xz zst 7z rar tar jar war ear class whl egg so dylib dll exe o a
    obj lib pyc pyo pyd wasm bin dat db sqlite sqlite3 parquet arrow feather npy npz pkl pt pth onnx
    safetensors gguf woff woff2 ttf otf eot"""
)
_GENERATED = _words("*.map *_pb2.py *_pb2.pyi *_pb2_grpc.py *.pb.go *.pb.cc *.pb.h *.g.dart")
_MINIFIED = ("*.min.js", "*.min.mjs", "*.min.css")

_TEST = re.compile(r"(^|[/._-])(tests?|specs?|testing|bench(marks?)?|examples?)([/._-]|$)")

_RULES = (
    ("version control", (".git",)),  # in a worktree it is a file
    ("lock file", _LOCK_FILES),
    ("binary", tuple(f"*.{suffix}" for suffix in _BINARY_SUFFIXES)),
    ("minified", _MINIFIED),
    ("generated", _GENERATED),
)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """An expression for what one of some patterns matches; only patterns `*.suffix` have dots that count."""
    suffixes = "|".join(re.escape(one.removeprefix("*.")) for one in patterns if _SUFFIX.fullmatch(one))
    others = "|".join(translate(one) for one in patterns if not _SUFFIX.fullmatch(one))
    return re.compile(rf"(?:[^.]*\.)+(?:{suffixes})\Z|{others}")


_SUFFIX = re.compile(r"\*\.[^.*?\[]+")
_SUSPECT = _any_of([*_SECRETS, *(pattern for _, patterns in _RULES for pattern in patterns)])


@lru_cache(100_000)  # every question asks for all names of a workspace
def reason_against(name: str, is_dir: bool) -> str | None:
    """Reason why an entry of this name is left out by default, or None. Case does not matter."""
    lower = name.lower()
    if is_dir:
        known = lower in _DIRECTORIES or lower.endswith(".egg-info")
        return f"a tool's own directory: {name}/" if known else None
    if _SUSPECT.match(lower) is None:  # 60 times as fast as each pattern for itself
        return None
    if _match(lower, _NO_SECRETS) is None and (pattern := _match(lower, _SECRETS)):
        return f"secret: matches {pattern!r}"
    reasons = (f"{kind}: matches {p!r}" for kind, patterns in _RULES if (p := _match(lower, patterns)))
    return next(reasons, None)


@lru_cache(100_000)
def is_test(path: str) -> bool:
    """True for a path where tests and examples lie, or that is named so."""
    return _TEST.search(path.lower()) is not None


def _match(name: str, patterns: tuple[str, ...]) -> str | None:
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
