"""`winnow/server`: what this process is, and which models it has loaded."""

from __future__ import annotations

import os
from typing import Any

import psutil

from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire.messages import SERVER


def register(server: WinnowServer) -> None:
    """Offer the request."""

    @server.feature(SERVER)
    def about(_params: None) -> dict[str, Any]:
        process = psutil.Process()
        return {
            "process": os.getpid(),
            "startedAt": process.create_time(),
            "memoryBytes": process.memory_info().rss,
            "models": [
                {
                    "drafter": engine.drafter.name,
                    "target": engine.target.name,
                    "questions": engine.queue.running + engine.queue.waiting,
                    "busy": engine.queue.busy,
                }
                for engine in server.engines.loaded
            ],
        }
