"""The real repository the benchmarks and questions are about: click's source distribution, pinned by hash."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path

QUESTIONS = Path(__file__).parents[1] / "data" / "click_questions.json"


def fetch(into: Path) -> Path:
    """Download and unpack the sdist under `into`, unless it is there; returns its root."""
    wanted = json.loads(QUESTIONS.read_text())
    name = f"{wanted['repository']}-{wanted['version']}"
    root, archive = into / name, into / f"{name}.tar.gz"
    if not root.is_dir():
        requirement = f"{wanted['repository']}=={wanted['version']}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "click"]
        subprocess.run([*command, "--dest", str(into), requirement], check=True)
        assert hashlib.sha256(archive.read_bytes()).hexdigest() == wanted["sdist_sha256"]
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")
    return root
