import os
from pathlib import Path

from winnow_engine.models.cache import default_directory


def on_windows(cache: Path) -> dict[str, str]:
    """The environment of processes that take the branches of Windows, with the user's cache folder below `cache`."""
    paths = f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(cache), "WINNOW_MODELS_DIR": str(default_directory())}
