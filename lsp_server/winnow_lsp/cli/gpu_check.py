"""Checks that the target decodes on the GPU beside the resident drafter, in a child process, which may crash.

`python -m winnow_lsp.cli.gpu_check` is that child; it heeds the user's settings.
"""

from __future__ import annotations

import sys
from contextlib import closing

from winnow_engine.core import Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import WinnowError
from winnow_engine.models.cache import locate
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.selfcheck import BuildCheck, run_child
from winnow_engine.targets.opening import local_options, open_target
from winnow_engine.targets.remote.address import is_url
from winnow_engine.targets.residency import gpu_bytes
from winnow_engine.targets.suggesting import resolved
from winnow_lsp.cli.setting_options import user_settings
from winnow_lsp.host.settings import Settings

_TIMEOUT_S = 900  # kernels may have to be compiled, and a large target read
_QUESTION = [Message("user", "Write the numbers from one to fifty, in words.")]


def check_gpu() -> BuildCheck:
    """Decode in a child process."""
    return run_child(__name__, timeout_s=_TIMEOUT_S)


def main() -> int:
    """Run as the child: print one line, and return 0 if both models were on the GPU."""
    models = resolved(Settings.of(user_settings()).models)
    if is_url(models.target):
        print("the target is a server, which decodes where it is")
        return 0
    options = local_options(models)  # before the drafter takes its memory
    drafter = Drafter(locate(models.drafter))
    with closing(open_target(models, options)) as target:
        answer = target.generate(Request(target.chat_prompt(_QUESTION), Sampling(max_tokens=64)))
        free, _ = gpu_bytes()
    left = "" if free is None else f"; {free / 1e9:.1f} GB of the GPU left"
    print(
        f"drafter {drafter.place}, target {target.place}: decoded {answer.decode_tokens} tokens of {models.target}, "
        f"{answer.decode_tokens_per_s:,.0f} a second{left}"
    )
    return 0 if drafter.place == "resident" and target.place != "cpu" else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WinnowError as error:
        sys.exit(str(error))
