"""Rules on a file's name: tools' directories, secrets, lock files, binaries and generated files do not count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from itertools import pairwise
from pathlib import Path


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_DIRECTORIES = _words(
    """.git .hg .svn .bzr .jj _darcs node_modules bower_components jspm_packages .pnpm-store .venv venv .direnv .devenv
    .pixi .conda site-packages dist-packages __pypackages__ __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache
    .pytype .hypothesis .ipynb_checkpoints .nyc_output .gradle .idea .vs .metals .bloop .terraform .terragrunt-cache
    .next .nuxt .svelte-kit .angular .turbo .nx .parcel-cache .sass-cache .cache .ccache .eggs .dart_tool .stack-work
    dist-newstyle elm-stuff deriveddata .zig-cache .serverless .aws-sam cdk.out .aws .ssh .gnupg"""
)
ABOVE = re.compile(r"^(?:\.{0,2}/)+")  # what a path may begin with: `/`, `./`, `../`
BUILT = re.compile(  # paths of build output, amalgamations and stubs; sources may lie there, too
    r"(?i)(?:^|/)(?:dist|docs?/(?:.+/)?(?:_static|assets|js|scripts)|(?:lib[._-])?(?:cjs|commonjs|esm|umd)"
    r"|single[_-]?(?:header|include)s?)/|amalgamat|\.pyi$"
)
_MADE_DIRECTORIES = ("*.egg-info", "*.dist-info")
_DIRECTORIES_IN = {"cache": ".yarn", "unplugged": ".yarn", "bundle": "vendor"}
_MARKERS = {
    "pyvenv.cfg": "a Python environment",
    "conda-meta": "a conda environment",
    "Pods.xcodeproj": "CocoaPods' directory",
    "CACHEDIR.TAG": "a cache",
}
BARE = "version control: a bare repository"
_GIT_DIRECTORY = frozenset(("HEAD", "objects", "refs"))
_SECRETS = _words(
    """.env .env.* *.env .envrc *.pem *.key *.p8 *.p12 *.pfx *.pkcs12 *.jks *.jceks *.bks *.keystore *.kdb *.kdbx *.gpg
    *.ppk *.agekey id_rsa id_rsa[-_.]* id_dsa id_dsa[-_.]* id_ecdsa id_ecdsa[-_.]* id_ed25519 id_ed25519[-_.]*
    .netrc _netrc .npmrc .pypirc .pgpass pgpass.conf .my.cnf .mylogin.cnf .htpasswd .git-credentials .dockercfg
    .dockerconfigjson *.dockerconfigjson .s3cfg .boto .clasprc.json .databrickscfg rclone.conf .terraformrc
    terraform.rc credentials .credentials credentials.json .credentials.json credentials.*.json credentials.toml
    credentials.y*ml credentials.csv credentials*.enc *accesskeys.csv client_secret*.json service[-_]account*.json
    serviceaccount*.json *[-_]service[-_]account.json *serviceaccountkey.json *firebase-adminsdk*.json
    application_default_credentials.json auth.json secrets secrets.json secrets.toml .secrets .secrets.* secrets.y*ml
    secrets.*.y*ml secret.y*ml local.settings.json .vault_pass* .vault-pass* .vault-token vault_pass*
    kubeconfig *.kubeconfig kubeconfig.* *.tfvars *.tfvars.json *.tfstate *.tfstate.* *.ovpn"""
)
_SECRETS_IN = {
    "config": (".kube", ".bundle"),
    "config.json": (".docker",),
    "keys.txt": ("age",),
    "hosts.yml": ("gh",),
    "settings.xml": (".m2",),
}
# Examples and texts are no secrets, and neither is code that is named like one; but `.env.js` holds variables.
_EXAMPLES = _words("*.example *.sample *.template *.dist *.tmpl *.tpl *.j2 *.pub *.md *.rst *.d.ts *.baseline")
_CODE_SUFFIXES = _words(
    """py pyi rb go rs java kt kts scala js mjs cjs jsx ts mts cts tsx c cc cpp cxx h hh hpp cs fs swift m mm php lua sh
    bash zsh fish ps1 pl pm r jl ex exs erl hs clj dart zig vue svelte html css scss sql tf nix el vim"""
)
_LOCK_FILES = _words(
    """*.lock *.lockfile *.lock.json *.lock.hcl package-lock.json npm-shrinkwrap.json pnpm-lock.yaml *conda-lock.y*ml
    pylock.toml pylock.*.toml go.sum go.work.sum package.resolved cartfile.resolved gems.locked *.opam.locked
    cabal.project.freeze vcpkg-lock.json dub.selections.json maven_install.json project.assets.json"""
)
_BINARY_SUFFIXES = _words(
    """png jpg jpeg gif bmp ico icns webp avif tif tiff psd mp3 mp4 m4a ogg wav flac avi mov mkv webm pdf doc
    docx xls xlsx ppt pptx odt zip gz tgz bz2 xz zst 7z rar tar jar war ear class whl egg so dylib dll exe o a
    obj lib pyc pyo pyd wasm bin dat db sqlite sqlite3 parquet arrow feather npy npz pkl pt pth onnx
    safetensors gguf woff woff2 ttf otf eot"""
)
_GENERATED = _words("*.map *_pb2.py *_pb2.pyi *_pb2_grpc.py *.pb.go *.pb.cc *.pb.h *.g.dart .pnp.cjs .pnp.loader.mjs")
_MINIFIED = ("*.min.js", "*.min.mjs", "*.min.css")

_NOT_IN_MODULE = re.compile(r"(?:/(?:__init__|mod|index))?(?:\.\w+)?$")
_TEST = re.compile(r"((^|[/._-])(?i:tests?|specs?|testing|bench(marks?)?|examples?)|\wTests?)([/._-]|$)|\.t$")
_ASKS_FOR_TESTS = re.compile(
    r"(?i)(?<![a-z\d])(?:unit)?test(?:s|ing)?(?![a-z\d])|\btested\s*(?:[?.!]|$|by\b|in\b)|\bgetestet\b"
    r"|(?-i:\b[tT]est[A-Z]|\b[A-Z]\w*[a-z]Tests?\b)|\b(?:prueb|proba[rd])|(?<!ат)тест|(?<!コン)テスト|测试|測試"
    r"|\b(?:specs?|bench(?:marks?)?|(?<!for\s)example|examples)\b"
)

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
_SUSPECT = _any_of([*_SECRETS, *_SECRETS_IN, *(pattern for _, patterns in _RULES for pattern in patterns)])
_CODE = frozenset(_CODE_SUFFIXES)


def reason_against(name: str, is_dir: bool, parent: str = "") -> str | None:
    """Reason why a name, in a folder of that name, is left out by default, or None. Case does not matter."""
    lower = name.lower()
    known = _DIRECTORIES_IN if is_dir else _SECRETS_IN
    return _reason_against(name, lower, is_dir, parent.lower() if lower in known else "")


@lru_cache(100_000)  # every question asks for all names of a workspace
def _reason_against(name: str, lower: str, is_dir: bool, parent: str) -> str | None:
    if is_dir:
        known = lower in _DIRECTORIES or _match(lower, _MADE_DIRECTORIES) or _DIRECTORIES_IN.get(lower) == parent
        return f"a tool's own directory: {name}/" if known else None
    if _SUSPECT.match(lower) is None:  # 60 times as fast as each pattern for itself
        return None
    if pattern := _secret(lower, parent):
        return f"secret: matches {pattern!r}"
    reasons = (f"{kind}: matches {p!r}" for kind, patterns in _RULES if (p := _match(lower, patterns)))
    return next(reasons, None)


def reason_against_path(path: str) -> str | None:
    """Reason why a file, or a folder above it, is left out by default for its name, or None."""
    *folders, name = ("", *path.split("/"))
    reasons = (reason_against(folder, True, above) for above, folder in pairwise(folders))
    return next(filter(None, reasons), None) or reason_against(name, False, folders[-1])


def reason_for_marker(names: Set[str]) -> str | None:
    """Reason why a folder with entries of these names is left out by default, or None."""
    if names >= _GIT_DIRECTORY:
        return BARE
    return next((f"{kind}: has {marker}" for marker, kind in _MARKERS.items() if marker in names), None)


def is_bare(folder: Path) -> bool:
    """True for the folder of a bare repository."""
    return all((folder / name).exists() for name in _GIT_DIRECTORY)


def _secret(name: str, parent: str) -> str | None:
    if parent in _SECRETS_IN.get(name, ()):
        return f"{parent}/{name}"
    pattern = _match(name, _SECRETS)
    is_code = name.rpartition(".")[2] in _CODE and pattern != ".env.*"
    return None if pattern is None or is_code or _match(name, _EXAMPLES) else pattern


@lru_cache(100_000)
def is_test(path: str) -> bool:
    """True for a path where tests and examples lie, or that is named so."""
    return _TEST.search(path) is not None


def names_tests(text: str) -> bool:
    """True if words of a text name tests, examples or benchmarks."""
    return _ASKS_FOR_TESTS.search(text) is not None


def module_of(path: str) -> str:
    """`/my_pool/core` of `my-pool/core.py`, `/my_pool` of `my-pool/__init__.py`."""
    return "/" + _NOT_IN_MODULE.sub("", path).replace("-", "_")


def _match(name: str, patterns: tuple[str, ...]) -> str | None:
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
