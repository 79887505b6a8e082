# Unpacks what pack.py packed, and sets the shell up to run Winnow from this checkout with it.
#
# usage: . tests/bench/offline/unpack.sh PARTS [INTO]
offline=${2:-/tmp/winnow-offline}
if [ ! -e "$offline/ready" ]; then
  mkdir -p "$offline"
  cat "$1"/part-* | tar -xzf - -C "$offline" &&
    python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$offline/site" "$offline"/wheels/*.whl &&
    touch "$offline/ready"
fi
export WINNOW_REPOSITORIES_DIR=$offline/repositories WINNOW_MODELS_DIR=$offline/models
export XDG_CACHE_HOME=$offline/cache PYTHONPATH=$PWD/cuda:$PWD/engine:$PWD/lsp_server:$offline/site
