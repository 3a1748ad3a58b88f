#!/usr/bin/env bash
# Makes every number of docs/findings.md about the set of four: questions, study, scores, stress, interventions, tables.
#   training/findings.sh OUTPUT [--set DIRECTORY]… [--items 240] [--stress-items 100] [--twins 3] [--buoy COMMAND] [--print]
# A set is a folder with mini-mdm, mini-arm, mini-ssm and mini-hybrid, as checkpoints or as training/run.sh leaves them (mini-mdm-1/checkpoint,
# mini-mdm-2/checkpoint …); all that are found are models of the same kinds. Default: models/. Kinds that no set has are left out.
# --print shows the commands and runs none. The same command goes on where it stopped. Ends with OUTPUT/findings.md.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
usage() { sed -n '2,7s/^# \{0,2\}//p' "$0"; exit "$1"; }
[ $# -gt 0 ] || usage 2
case $1 in -h | --help) usage 0 ;; -*) usage 2 ;; esac
out=$1
shift
sets=() items=240 stress=100 twins=3 buoy=$here/build/release/buoy print=
while [ $# -gt 0 ]; do
  case $1 in
    --print) print=1 && shift && continue ;;
    --set | --items | --stress-items | --twins | --buoy)
      [ $# -gt 1 ] || { echo "findings.sh: $1 needs a value" >&2; exit 2; } ;;
    *) echo "findings.sh: unknown flag $1" >&2; exit 2 ;;
  esac
  case $1 in
    --set) sets+=("$2") ;;
    --items) items=$2 ;;
    --stress-items) stress=$2 ;;
    --twins) twins=$2 ;;
    --buoy) buoy=$2 ;;
  esac
  shift 2
done
[ ${#sets[@]} -gt 0 ] || sets=("$here/models")
mkdir -p "$out/models"

run() {
  printf '%s\n' "\$ ${*/#$buoy/buoy}"
  [ -n "$print" ] || "$@"
}

# Models of one kind need names of their own: folders mini-mdm-1, mini-mdm-2 … of links to what the sets hold (a link to a
# folder would have the name of that folder).
models=() kinds=() steps=() twice=()
for kind in mdm arm ssm hybrid; do
  members= number=0
  for set in "${sets[@]}"; do
    for from in "$(cd "$set" && pwd)/mini-$kind"{,-[0-9],-[0-9][0-9]}{,/checkpoint}; do
      [ -f "$from/config.json" ] || continue
      number=$((number + 1))
      link=$out/models/mini-$kind-$number
      rm -rf "$link"
      cp -rsT "$from" "$link"
      models+=(--model "$link")
      members=$members${members:+,}$link
    done
  done
  [ -n "$members" ] || continue
  kinds+=(--kind-of "mini-$kind=$members")
  [ "$kind" = arm ] || steps=(--steps 16) twice=(--steps 32)  # mean nothing to causal models alone
done
[ ${#models[@]} -gt 0 ] || { echo "findings.sh: no set holds mini-mdm, mini-arm, mini-ssm or mini-hybrid" >&2; exit 1; }

# Three of four answers are whole sentences, as in the first findings; then memory without passages beside looking up, and levels with room to lose.
mixed=long,long,long,single,long,long,long,multihop,long,long,long,slot,long,long,long,reverse
run "$buoy" world --seed 41 --task $mixed --world both --passages 6 -n "$items" -o "$out/items.jsonl"
run "$buoy" world --seed 42 --task all --world known -k 0 -n "$items" -o "$out/memory.jsonl"
run "$buoy" world --seed 42 --task all --world novel -k 5 -n "$items" -o "$out/lookup.jsonl"
run "$buoy" world --seed 43 --task all --level middle -n "$items" -o "$out/lookup-middle.jsonl"
run "$buoy" world --seed 44 --task several --level easy -n "$items" -o "$out/several-easy.jsonl"
run "$buoy" world --seed 44 --task several --level middle -n "$items" -o "$out/several-middle.jsonl"
run "$buoy" world --seed 45 --task multihop,chain --level middle -n "$stress" -o "$out/chains-middle.jsonl"
run "$buoy" study "${models[@]}" "${kinds[@]}" --data "$out/items.jsonl" --limit "$items" --stress-limit "$stress" --twins "$twins" -o "$out/study"
run "$buoy" eval "${models[@]}" --data "$out/memory.jsonl" --data "$out/lookup.jsonl" --data "$out/lookup-middle.jsonl" "${steps[@]}" -o "$out/scores"
run "$buoy" eval "${models[@]}" --data "$out/several-easy.jsonl" --data "$out/several-middle.jsonl" --gen-length 64 "${twice[@]}" -o "$out/scores-several"
run "$buoy" stress irrelevant near-duplicates typos gold-position split-sentences passages --k 10 "${models[@]}" --data "$out/lookup.jsonl" --limit "$stress" "${steps[@]}" -o "$out/stress"
run "$buoy" stress irrelevant=0,0.8 near-duplicates=0,4 typos=0,0.1 gold-position=1,8,15 hop-distance=0,8 split-sentences passages=3,8,15 --k 15 "${models[@]}" --data "$out/chains-middle.jsonl" "${steps[@]}" -o "$out/stress-chains"
run "$buoy" intervene mask-bos mask-anchors=1,2,5,10 pin-anchors=steps,layers cut-heads=8 "${models[@]}" --data "$out/items.jsonl" --limit "$stress" --gen-length 16 -o "$out/intervene"
if [ -n "$print" ]; then
  echo "\$ python3 training/findings.py $out > $out/findings.md"
else
  python3 "$here/training/findings.py" "$out" > "$out/findings.md"
  echo "$out/findings.md"
fi
