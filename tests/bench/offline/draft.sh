# Trains a draft for the default target on a GPU, and measures it there and on the machine's processor.
#
# usage: bash tests/bench/offline/draft.sh RESULTS STEP...      (what first_token.sh's `with` runs)
#
# Steps: `train`, for MINUTES, a draft of LAYERS on so many ANSWERS, or the recipe's (the prompts came as the part
# prompts-00); `bench` on the GPU; `cpu` on the first CORES (16) of the processor, with the build of llama.cpp in
# CPU_LLAMA. WORK (/tmp/winnow-draft) has what is made; RESULTS gets the draft in pieces that are small enough to be taken
# away, its curve and the figures.
set -uo pipefail
results=$1 work=${WORK:-/tmp/winnow-draft} offline=${OFFLINE:-/tmp/winnow-offline} target=qwen2.5-coder-1.5b
cores=${CORES:-16}
mkdir -p "$results" "$work"
shift

bench() { # usage: bench NAME OPTION...
  python3 -m winnow_lsp bench decode --target "$target" --out "$results/decode-$1.json" "${@:2}" >"$results/decode-$1.txt"
}

train() {
  cp -n "$offline/parts/prompts-00" "$work/prompts.npz"
  python3 -m winnow_lsp train draft "$work/prompts.npz" "$work/draft.gguf" --minutes "${MINUTES:-9}" \
    ${LAYERS:+--layers "$LAYERS"} ${ANSWERS:+--answers "$ANSWERS"} \
    2>&1 | tee -a "$results/train.log" && cp "$work/draft.json" "$results" && take
}

on_processor() { # in a subshell: the build for processors takes the other one's place
  (
    mkdir -p "$work/site" && cp -r "$offline/llama/site/." "$work/site" && ln -sfn "$CPU_LLAMA" "$work/site/llama_cpp/lib" || exit
    export CUDA_VISIBLE_DEVICES='' LLAMA_CPP_LIB_PATH=$CPU_LLAMA PYTHONPATH=$work/site:$PYTHONPATH
    taskset -cp "0-$((cores - 1))" "$BASHPID" >/dev/null
    bench "cpu-$cores" --threads "$cores" --draft auto --draft "$work/draft.gguf" --prompts "${PROMPTS:-4}"
  )
}

take() { # both files of the draft, in pieces of 15 MiB
  split --bytes 15M --numeric-suffixes "$work/draft.gguf" "$results/draft.gguf-" &&
    split --bytes 15M --numeric-suffixes "$work/draft.safetensors" "$results/draft.safetensors-"
}

for name in "$@"; do
  case $name in
    train | take) "$name" ;;
    bench) bench gpu --draft auto --draft "$work/draft.gguf" --prompts "${PROMPTS:-8}" ;;
    cpu) on_processor ;;
    *) echo "no step $name" >&2 && exit 2 ;;
  esac
  echo "$name ended with $?"
done
