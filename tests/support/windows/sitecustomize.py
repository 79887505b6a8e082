"""Python imports this first where this folder is on its path: the process takes the branches of Windows."""

import asyncio
import fcntl
import os
import subprocess  # noqa: F401 - before there is an `msvcrt`, by which it starts programs as Windows does
import sys
from types import SimpleNamespace

from winnow_engine import platform

platform.PLATFORM, platform.user = "win32", os.getuid  # files here have owners
locks = SimpleNamespace(LK_NBLCK=2, locking=lambda file, *_: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
sys.modules["msvcrt"] = locks  # type: ignore[assignment]
asyncio.SelectorEventLoop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler  # type: ignore[method-assign]
