#!/usr/bin/env bash
# Every number of buoy analyze against NumPy over the exported matrices, for the bundled pair and a random model with state space
# layers.
# usage: analyses_test.sh BUOY PYTHON
set -euo pipefail
buoy=$1
python=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAIL $*"; exit 1; }; }

failed=0
"$python" -B "$root/tests/numpy/make_ssd_checkpoint.py" "$work/states" --layers ssd,attention,ssd --vocabulary 2048
cp "$root"/models/mini-mdm/tokenizer* "$work/states"
for model in mini-mdm mini-arm states; do
  path=$model
  settings=(--gen-length 16 --limit 2 --per-head --record received,flow,answer,qk,keys)
  [ $model = mini-arm ] || settings+=(--steps 16)
  [ $model = states ] && path=$work/states
  run "$buoy" trace --model "$path" --data "$root/data/micro_study.jsonl" "${settings[@]}" -o "$work/$model-traces"
  run "$buoy" analyze "$work/$model-traces" -o "$work/$model-tables"
  files=()
  for trace in "$work/$model-traces"/*.npz; do
    matrices=$work/$(basename "$trace" .npz)_attentions.npz
    run "$buoy" export "$trace" --model "$path" -o "$matrices"
    files+=("$trace" "$matrices")
  done
  echo "== $model"
  "$python" -B "$root/tests/numpy/compare.py" "$work/$model-tables" "${files[@]}" || failed=1
done

# The permutation test and the intervals need samples, not matrices.
echo "== tasks"
run "$buoy" trace --model mini-arm --data "$root/data/micro_test.jsonl" --gen-length 4 --limit 20 -o "$work/tasks"
run "$buoy" analyze "$work/tasks" -o "$work/tasks-tables"
"$python" -B "$root/tests/numpy/tasks.py" "$work/tasks-tables" || failed=1
echo "== intervals"
"$python" -B "$root/tests/numpy/intervals.py" "$work/tasks-tables" || failed=1
exit $failed
