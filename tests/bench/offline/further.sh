# Has questions about several places written, and trains an adapter further on them. Says when each step began and ended.
#
# usage: bash tests/bench/offline/further.sh DATA.npz ADAPTER.safetensors WORK      (in a shell that unpack.sh set up)
#
# DATA has the questions made of commits (`winnow train commits`). WORK gets the data sets and the checkpoint, from which
# another run goes on, and WORK/results what is to be taken away: the adapter, its profile, losses and logs. WRITER and
# DRAFTER name the models, ASKED, CHAINED and STEPS how much is done, RECOMPUTE what makes a step fit into 80 GB.
set -uo pipefail
data=$1 adapter=$2 work=$3 results=$3/results
writer=${WRITER:-qwen2.5-coder-1.5b} drafter=${DRAFTER:-qwen2.5-coder-0.5b}
mkdir -p "$results"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

say() { echo "$(date +%T) after $SECONDS s: $*" | tee -a "$results/further.log"; }
# A step that is done is not done again. usage: step NAME FILE COMMAND...      (which writes FILE.part, named like FILE)
step() {
  [ -e "$2" ] && return
  say "$1 begins"
  "${@:3}" >>"$results/$1.log" 2>&1 || { say "$1 failed with $?: $(tail -n 1 "$results/$1.log")" && return 1; }
  mv "${2%.*}.part.${2##*.}" "$2" && say "$1 ends"
}
ask() { CUDA_VISIBLE_DEVICES=$1 python3 -m winnow_lsp train ask --model "$writer" --kind "$2" --questions "$3" "$data" "$4"; }
further() {
  local processes=()
  [ "${GPUS:-1}" -gt 1 ] && processes=(torchrun --nproc-per-node "$GPUS") || processes=(python3)
  "${processes[@]}" -m winnow_lsp train run "$work/joined.npz" "$1" --drafter "$drafter" --from "$adapter" \
    --steps "${STEPS:-300}" --learning-rate 2e-4 --recompute "${RECOMPUTE:-3}" --every 50 --checkpoint "$work/further.pt" \
    --turns asked=5 --turns chained=6 --turns commit=3 --turns cursor=1 --turns describe=1 --turns multi=1 \
    --profile "$results/profiles/further"
}

last=$(($(nvidia-smi -L 2>/dev/null | wc -l) > 1))
if [ "$last" = 1 ]; then
  step chained "$work/chained.npz" ask 1 chained "${CHAINED:-12000}" "$work/chained.part.npz" &
  step asked "$work/asked.npz" ask 0 asked "${ASKED:-24000}" "$work/asked.part.npz"
  wait
else
  step chained "$work/chained.npz" ask 0 chained "${CHAINED:-12000}" "$work/chained.part.npz"
  step asked "$work/asked.npz" ask 0 asked "${ASKED:-24000}" "$work/asked.part.npz"
fi
step join "$work/joined.npz" python3 -m winnow_lsp train join "$work/joined.part.npz" "$work/asked.npz" "$work/chained.npz" &&
  step train "$work/further.safetensors" further "$work/further.part.safetensors" &&
  cp "$work/further.part.json" "$results/further.json"
ls -l "$results" "$results/profiles/further" 2>/dev/null
