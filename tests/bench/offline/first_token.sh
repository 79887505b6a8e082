# Runs `winnow bench ttft` and `winnow bench index` on a GPU machine without a network, from what pack_first_token.py
# packed.
#
# usage: bash tests/bench/offline/first_token.sh keep FOLDER...     collect the parts that came with this call
#        bash tests/bench/offline/first_token.sh check              say whether the GPU and its libraries are usable
#        bash tests/bench/offline/first_token.sh run RESULTS STEP...
#        bash tests/bench/offline/first_token.sh with RESULTS COMMAND...     for instance python3 -m a study
#
# Each step writes files of its own into RESULTS. OFFLINE (/tmp/winnow-offline) holds what is unpacked, for all calls on
# one machine. A step ends after LIMIT (540) seconds; what was measured until then is in its files. First tokens are
# about REPOSITORY (fastify). WITHOUT_GPU=1 and LLAMA_CPP_LIB_PATH try all this on a machine without one.
set -uo pipefail
offline=${OFFLINE:-/tmp/winnow-offline} limit=${LIMIT:-540} parts=${OFFLINE:-/tmp/winnow-offline}/parts

keep() {
  mkdir -p "$parts"
  for folder; do cp "$folder"/* "$parts"; done
  ls -l "$parts"
}

libraries() { # the folders of CUDA's runtime and cuBLAS, for llama.cpp
  python3 - <<'PYTHON'
import glob, sys

roots = [f"{path}/nvidia" for path in sys.path if path] + glob.glob("/usr/local/cuda*")
found = {path.rsplit("/", 1)[0] for root in roots for name in ("libcudart.so.13", "libcublas.so.13")
         for path in glob.glob(f"{root}/**/{name}", recursive=True)}
print(":".join(sorted(found)))
PYTHON
}

usable() { python3 -c 'from winnow_cuda.device import availability as a; print(a().reason); raise SystemExit(not a().usable)'; }

prepare() {
  export WINNOW_CACHE_DIR=$offline/cache WINNOW_REPOSITORIES_DIR=$offline/repositories PYTHONUNBUFFERED=1
  export WINNOW_MODELS_DIR=$offline/models
  export PYTHONPATH=$PWD/cuda:$PWD/engine:$PWD/lsp_server:$offline/site:$offline/llama/site
  export LLAMA_CPP_LIB_PATH=${LLAMA_CPP_LIB_PATH:-$offline/llama/lib}
  LD_LIBRARY_PATH=$(libraries):${LD_LIBRARY_PATH:-} && export LD_LIBRARY_PATH
  [ -e "$offline/ready" ] || unpack || return
  ln -sfn "$LLAMA_CPP_LIB_PATH" "$offline/llama/site/llama_cpp/lib" # not all of it is found by the variable
  [ -d "$WINNOW_MODELS_DIR" ] || name_models || return
  if [ -e "$parts/histories-00" ] && [ ! -e "$offline/older" ]; then
    cat "$parts"/histories-* | tar -xJf - -C "$offline" && touch "$offline/older"
  fi
  [ -n "${WITHOUT_GPU:-}" ] || usable || { # this machine's NumPy may be too new for its numba-cuda
    python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$offline/site" "$offline"/numpy/*.whl
    usable
  }
}

unpack() {
  mkdir -p "$offline/llama"
  cat "$parts"/needed-* | tar -xzf - -C "$offline" && tar -xJf "$offline/llama.tar.xz" -C "$offline/llama" &&
    for name in ggml ggml-base; do ln -sfn "lib$name.so.0" "$offline/llama/lib/lib$name.so"; done &&
    python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$offline/site" "$offline"/wheels/*.whl &&
    touch "$offline/ready"
}

name_models() { # the drafter, and the target if it came, put together under their names
  cat "$parts"/upper-* >"$offline/upper.gguf" && python3 - "$offline" "$parts" <<'PYTHON'
import os, shutil, sys
from pathlib import Path
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET, find
from winnow_research.first_token.gguf_copy import joined

drafter, target, folder, parts = find(DEFAULT_DRAFTER), find(DEFAULT_TARGET), *map(Path, sys.argv[1:])
unfinished = folder / "models.part"
unfinished.mkdir(exist_ok=True)
joined([folder / "lower.gguf", folder / "upper.gguf"], unfinished / drafter.file)
os.truncate(unfinished / drafter.file, drafter.bytes)  # as long as the registry says
if found := sorted(parts.glob(f"{target.file.partition('.')[0]}-[0-9]*")):
    with (unfinished / target.file).open("wb") as whole:
        for part in found:
            shutil.copyfileobj(part.open("rb"), whole, 1 << 24)
unfinished.rename(folder / "models")
PYTHON
}

ttft() { # usage: ttft NAME OPTION...
  timeout "$limit" python3 -m winnow_lsp bench ttft --synthetic qwen3.6-27b --repository "${REPOSITORY:-fastify}" \
    --out "$results/ttft-$1.json" --figure "$results/ttft-$1.svg" "${@:2}"
}

step() {
  case $1 in
    small) ttft small --contexts 16k,32k,64k --row winnow --row vanilla --vanilla-seconds 75 ;;
    large) ttft large --contexts 128k --row winnow --row vanilla --vanilla-seconds 150 ;;
    sweep) ttft sweep --contexts 32k --row vanilla --row sweep --vanilla-seconds 0 ;; # vanilla once, for the figure
    joint) ttft joint --contexts 32k,128k --row joint --repetitions 3 ;;
    index) timeout "$limit" python3 -m winnow_lsp bench index --sizes 100k,1m,10m --out "$results/index.json" ;;
    simulated) timeout "$limit" python3 -m winnow_lsp bench index --sizes 1m --simulate 10m,100m \
      --out "$results/index-simulated.json" ;;
    *) echo "no step $1" >&2 && return 2 ;;
  esac
}

run() {
  results=$1
  mkdir -p "$results"
  prepare || return
  for name in "${@:2}"; do
    started=$SECONDS
    step "$name" 2>&1 | tee "$results/$name.log"
    echo "$name ended with ${PIPESTATUS[0]} after $((SECONDS - started)) s"
  done
}

with() {
  results=$1
  mkdir -p "$results"
  prepare || return
  timeout "$limit" "${@:2}"
  [ ! -d results ] || cp results/*.json "$results"
}

case ${1:-} in
  keep | run | with) "$@" ;;
  check) nvidia-smi --query-gpu=name,memory.total --format=csv,noheader; PYTHONPATH=$PWD/cuda usable; libraries ;;
  *) sed -n '4,7p' "$0" >&2 && exit 2 ;;
esac
