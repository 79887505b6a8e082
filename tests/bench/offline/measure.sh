# Measures figures that need a GPU, and writes each into a file of its own.
#
# usage: bash tests/bench/offline/measure.sh RESULTS STEP...       (in a shell that unpack.sh set up)
#
# A process with the drafter takes 4 GB of memory; JOBS (8) of them run at a time. Steps that time something (speed,
# agreement, reread, decode, verification) need the machine for themselves. TARGET names the target, DRAFT a draft for
# it, METHODS the methods of the answers, DATA the training data, READER a reader that is judged, MODEL whose layers it
# has, and DEVELOPMENT the data that judges variants of the training.
set -uo pipefail
results=$1 jobs=${JOBS:-8} target=${TARGET:-qwen2.5-coder-1.5b} draft=${DRAFT:-qwen2.5-coder-0.5b}
mkdir -p "$results"
shift

winnow() { python3 -m winnow_lsp "$@"; }
relevance() { winnow bench relevance --jobs "$jobs" --json "${@:2}" >"$results/relevance-$1.json"; }
# One process for each size and pattern of tests. usage: needles NAME SIZES PATTERNS OPTION...     (a pattern a line)
needles() {
  for size in $2; do while read -r test; do printf '%s\t%s\0' "$size" "$test"; done <<<"$3"; done |
    xargs -0 -P "$jobs" -I{} bash -c 'IFS=$'"'\t'"' read -r size test <<<"{}" && out=$0-$size-${test//[^a-z_]/-}.json &&
      python3 -m winnow_lsp bench needles --test "$test" --tokens "$size" --json "$@" >"$out"' "$results/$1" "${@:4}"
}

# The shipped profile, with a reader that reads so much or without one, in a folder. usage: using none|TOKENS FOLDER
using() {
  python3 - "$@" <<'PYTHON'
import json, shutil, sys
from pathlib import Path
from winnow_engine.drafter.profiles import SHIPPED

use, folder = sys.argv[1], Path(sys.argv[2], "drafter")
shutil.copytree(SHIPPED / "qwen2.5-coder-0.5b", folder, dirs_exist_ok=True)
document = json.loads((folder / "profile.json").read_text())
reader = document.pop("reader")
if use != "none":
    document["reader"] = reader | {"tokens": int(use)}
(folder / "profile.json").write_text(json.dumps(document))
PYTHON
}

answers() {
  for method in ${METHODS:-full-context Winnow BM25 MiniLM}; do
    # MiniLM runs on the processor, where four processes with a thread for every core each would wait for one another.
    OPENBLAS_NUM_THREADS=6 winnow bench answers --method "${method//-/ }" --target "$target" --json \
      --out "$results/answers-$method.jsonl" >"$results/answers-$method.json" &
  done
  wait
}

step() {
  case $1 in
    speed) winnow bench kernels --json >"$results/kernels.json" && winnow bench drafter --json >"$results/drafter.json" ;;
    checkers) for tool in memcheck racecheck; do compute-sanitizer --tool "$tool" python3 tests/bench/sanitize.py; done ;;
    agreement) # of what both have: only a GPU runs the reader
      using none "$results/profiles-none" &&
        WINNOW_PROFILES_DIR=$results/profiles-none python3 -m winnow_research.studies.agreement &&
        cp results/agreement.json "$results" ;;
    calibrate) winnow calibrate --thorough --jobs "$jobs" --out "$results/profile.json" ;;
    judge) relevance development --split development --method profile --method Winnow --tokens 128k &&
      relevance calibration --split calibration --task real --method profile --method Winnow --tokens 128k &&
      python3 tests/bench/offline/rule.py "$results"/relevance-{development,calibration}.json | tee "$results/rule" ;;
    test)
      for size in 128k 32k; do relevance "$size" --method profile --method Winnow --tokens "$size"; done
      for seed in 1 2; do relevance "128k-$seed" --method Winnow --tokens 128k --seed "$seed"; done ;;
    large) relevance 512k --task describe --method BM25 --method profile --method Winnow --tokens 512k ;;
    levels)
      study() { python3 -m "winnow_research.studies.$1" "${@:2}" --name "$1-$name" && cp "results/$1-$name.json" "$results"; }
      name=10m study large_search --tokens 10m --exhaustive && name=100m study large_search --vectors 100m &&
        name=joined study two_levels --split calibration --joined 10m &&
        name=tasks study two_levels --split development --tokens 128k 512k --questions 8 --jobs "$jobs" ;;
    rivals)
      for size in 128k 32k; do
        relevance "rivals-$size" --method BM25 --method symbols --method MiniLM --method "words + MiniLM" \
          --method "one head" --tokens "$size"
      done ;;
    bug) relevance bug --task bug --tokens 128k --method profile --method Winnow ;;
    published) relevance published --method SpecPrefill --method pflash --tokens 32k --questions 3 ;;
    joint)
      judged=(--reader "${READER:-$results/reader.safetensors}" --model "${MODEL:-qwen2.5-coder-1.5b}")
      joint() { python3 -m winnow_research.studies.joint_reader "$1" "${RECORDS:-/tmp/winnow-records}" "${@:2}"; }
      joint record --jobs "$jobs" && joint read "${judged[@]}" &&
        cp "${RECORDS:-/tmp/winnow-records}"/reader-*.pickle "$results" &&
        python3 -m winnow_research.studies.reader_float16 "${RECORDS:-/tmp/winnow-records}" \
          "${judged[@]}" && cp results/reader-float16.json "$results" ;;
    reread)
      for use in none 16000; do
        using "$use" "$results/profiles-$use" && WINNOW_PROFILES_DIR=$results/profiles-$use \
          python3 -m winnow_research.studies.select_speed && cp results/select-speed.json "$results/reread-$use.json"
      done ;;
    variants)
      python3 -m winnow_research.studies.variants "$DATA" "$DEVELOPMENT" recipe seed=1 layers=12 full outline segment=1024 &&
        cp results/variants.json "$results" ;;
    needles)
      needles needles "8k 16k 32k 64k 128k" "$(printf '*: %s\n' {code,prose}' in '{code,prose})" --trials 14 ;;
    ruler)
      needles ruler "4k 8k 16k 32k" "$(printf 'ruler %s\n' 'niah_s*' 'niah_multik*' niah_multivalue niah_multiquery vt cwe fwe)" \
        --trials 4 --budget 2600 --target "$target" ;;
    answers) answers ;;
    decode) winnow bench decode --target "$target" --draft auto --draft lookup --draft "$draft" --out "$results/decode.json" ;;
    verification) python3 -m winnow_research.studies.verification "$target" && cp results/verification.json "$results" ;;
    *) echo "no step $1" >&2 && return 2 ;;
  esac
}

for name in "$@"; do
  started=$SECONDS
  step "$name" >>"$results/$name.log" 2>&1
  echo "$name ended with $? after $((SECONDS - started)) s"
done
