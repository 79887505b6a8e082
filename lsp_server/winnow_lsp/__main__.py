"""The `winnow` command, which is `python -m winnow_lsp`, too."""

import gc
import signal
import sys


def run() -> int:
    """Run the command. Ctrl-C ends the process without a traceback as long as nothing else can be done about it."""
    gc.set_threshold(50_000)  # with 700, loading the drafter for the first time takes 900 collections, 0.7 s
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else a shell's background job
    if heeds:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from winnow_lsp.cli.main import main

    if heeds:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
