# Figures that want a GPU, each into a file of its own.
#
# usage: bash tests/bench/offline/measure.sh RESULTS STEP...       (in a shell that unpack.sh set up)
#
# A process with the drafter takes 4 GB of memory: JOBS (8) of them run at a time. Steps that time something (speed, agreement,
# decode, verification) want the machine for themselves. TARGET names the target, DRAFT a draft for it, DATA the training data,
# DEVELOPMENT what variants of the training are judged by.
set -uo pipefail
results=$1 jobs=${JOBS:-8} target=${TARGET:-qwen2.5-coder-1.5b} draft=${DRAFT:-qwen2.5-coder-0.5b}
mkdir -p "$results"
shift

winnow() { python3 -m winnow_lsp "$@"; }
relevance() { winnow bench relevance --jobs "$jobs" --json "${@:2}" >"$results/relevance-$1.json"; }
needles() {
  for size in 8k 16k 32k 64k 128k; do
    for kind in 'code in code' 'prose in code' 'code in prose' 'prose in prose'; do printf '%s\t%s\0' "$size" "$kind"; done
  done | xargs -0 -P "$jobs" -I{} bash -c 'IFS=$'"'\t'"' read -r size kind <<<"{}"
    python3 -m winnow_lsp bench needles --test "*: $kind" --tokens "$size" --trials 14 --json >"$0/needles-$size-${kind// /-}.json"' "$results"
}

answers() {
  for row in "full context" Winnow BM25 MiniLM; do
    winnow bench answers --row "$row" --target "$target" --questions 9 --json >"$results/answers-${row// /-}.json" &
  done
  wait
}

step() {
  case $1 in
    speed) winnow bench kernels --json >"$results/kernels.json" && winnow bench drafter --json >"$results/drafter.json" ;;
    checkers) for tool in memcheck racecheck; do compute-sanitizer --tool "$tool" python3 tests/bench/sanitize.py; done ;;
    agreement) (cd tests/bench && python3 agreement.py) && cp tests/bench/results/agreement.json "$results" ;;
    calibrate) winnow calibrate --thorough --jobs "$jobs" --out "$results/profile.json" ;;
    development) relevance development --split development --row profile --row Winnow --tokens 128k ;;
    test) relevance 128k --row BM25 --row symbols --row profile --row Winnow --tokens 128k &&
      relevance 32k --row BM25 --row symbols --row profile --row Winnow --tokens 32k ;;
    large) relevance 512k --family describe --row BM25 --row profile --row Winnow --tokens 512k ;;
    rivals) relevance rivals --row MiniLM --row "one head" --row SpecPrefill --row pflash --tokens 32k --questions 8 ;;
    ask) winnow train ask "$DATA" "$results/asked.npz" &&
      winnow train ask --kind changed --questions 16000 "$results/asked.npz" "$results/changed.npz" &&
      winnow train ask --kind reported --questions 12000 "$results/changed.npz" "$results/reported.npz" ;;
    train) winnow train run "$results/asked.npz" "$results/one.safetensors" &&
      winnow train run --turns asked=5 --turns reported=2 --turns changed=3 "$results/reported.npz" "$results/two.safetensors" &&
      winnow train mean "$results/adapter.safetensors" "$results/one.safetensors" "$results/two.safetensors" ;;
    variants)
      (cd tests/bench && python3 variants.py "$DATA" "$DEVELOPMENT" recipe seed=1 layers=12 full outline segment=1024) &&
        cp tests/bench/results/variants.json "$results" ;;
    needles) needles ;;
    answers) answers ;;
    decode) winnow bench decode --target "$target" --draft auto --draft lookup --draft "$draft" --out "$results/decode.json" ;;
    verification) (cd tests/bench && python3 verification.py "$target") && cp tests/bench/results/verification.json "$results" ;;
    *) echo "no step $1" >&2 && return 2 ;;
  esac
}

for name in "$@"; do
  started=$SECONDS
  step "$name" >>"$results/$name.log" 2>&1
  echo "$name ended with $? after $((SECONDS - started)) s"
done
