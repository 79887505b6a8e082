"""Single GPU ops, which `winnow bench kernels` measures, and their run under compute-sanitizer."""
