"""`python -m winnow_lsp` is the `winnow` command."""

import sys

from winnow_lsp.cli.main import main

sys.exit(main())
