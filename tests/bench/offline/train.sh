# Has questions written and trains adapters on them, on all GPUs. Says when each step began and ended.
#
# usage: bash tests/bench/offline/train.sh DATA.npz COMMITS.npz WORK STEP...      (in a shell that unpack.sh set up)
#
# COMMITS has the questions made of commits (`winnow train commits --alone`). Steps: `ask` for questions; `adapters` and
# `mean` for two adapters, trained on different questions, and what they are together; `reader` for a joint reader behind
# the mean. WORK gets the data sets and checkpoints; what is done there is not done again. WORK/results is to be taken
# away: the questions alone, adapters, profiles, the reader, losses and logs. WRITER and DRAFTER name the models, FEWER
# divides the number of questions, STEPS and MINUTES are how long an adapter and the reader are trained, READER_RANK is
# the rank of the reader's updates, READER_OPTIONS are its other ones, and RECOMPUTE is what makes a step fit into 80 GB.
set -uo pipefail
data=$1 commits=$2 work=$3 results=$3/results
writer=${WRITER:-qwen2.5-coder-1.5b} drafter=${DRAFTER:-qwen2.5-coder-0.5b} fewer=${FEWER:-1}
last=$(($(nvidia-smi -L 2>/dev/null | wc -l) > 1)) # the GPU that takes the second half of the work
mkdir -p "$results"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
shift 3

say() { echo "$(date +%T) after $SECONDS s: $*" | tee -a "$results/train.log"; }
# usage: step NAME FILE COMMAND...      (the command writes FILE.part, named like FILE, and maybe a record beside it)
step() {
  [ -e "$2" ] && return
  say "$1 begins"
  "${@:3}" >>"$results/$1.log" 2>&1 || { say "$1 failed with $?: $(tail -n 1 "$results/$1.log")" && return 1; }
  [ ! -e "${2%.*}.part.json" ] || mv "${2%.*}.part.json" "${2%.*}.json"
  mv "${2%.*}.part.${2##*.}" "$2" && say "$1 ends"
}
asked() { # usage: asked GPU KIND QUESTIONS
  CUDA_VISIBLE_DEVICES=$1 step "$2" "$results/$2.npz" python3 -m winnow_lsp train ask --alone --model "$writer" --kind "$2" \
    --questions $(($3 / fewer)) "$data" "$results/$2.part.npz"
}
ask() {
  { asked 0 asked 24000 && asked 0 changed 16000; } & # two at once, on one GPU too: a writer leaves it half idle
  { asked "$last" chained 12000 && asked "$last" reported 12000; } &
  wait
}
adapter() { # usage: adapter GPU NAME KIND=TURNS...      (kinds that were added)
  local turns=() questions=()
  for each in "${@:3}"; do
    turns+=(--turns "$each")
    [ "${each%=*}" = commit ] && questions+=("$commits") || questions+=("$results/${each%=*}.npz")
  done
  step "join-$2" "$work/$2.npz" python3 -m winnow_lsp train join "$work/$2.part.npz" "$data" "${questions[@]}" &&
    CUDA_VISIBLE_DEVICES=$1 step "$2" "$results/$2.safetensors" python3 -m winnow_lsp train run "$work/$2.npz" \
      "$results/$2.part.safetensors" --drafter "$drafter" --steps "${STEPS:-960}" --recompute "${RECOMPUTE:-3}" \
      --every "${EVERY:-100}" --checkpoint "$work/$2.pt" --profile "$results/profiles/$2" "${turns[@]}"
}
adapters() {
  adapter 0 one asked=6 chained=3 commit=2 &
  [ "$last" = 1 ] || wait
  adapter "$last" two asked=5 chained=3 commit=2 changed=3 reported=2 &
  wait
}

for name in "$@"; do
  case $name in
    ask | adapters) "$name" ;;
    mean) step mean "$results/mean.safetensors" python3 -m winnow_lsp train mean "$results/mean.part.safetensors" \
      "$results"/{one,two}.safetensors --drafter "$drafter" --profile "$results/profiles/mean" ;;
    reader) step reader "$results/reader.safetensors" python3 -m winnow_lsp train reader "$work/two.npz" \
      "$results/reader.part.safetensors" --minutes "${MINUTES:-6.8}" --rank "${READER_RANK:-16}" --drafter "$drafter" \
      --adapter "$results/mean.safetensors" \
      ${READER_OPTIONS:---model qwen2.5-coder-1.5b --layers 28 --batch 5 --learning-rate 0.0004 --asked 26000} ;;
    *) echo "no step $name" >&2 && exit 2 ;;
  esac
done
ls -l "$results"
