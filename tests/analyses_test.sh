#!/usr/bin/env bash
# Every number of buoy analyze against NumPy over the exported matrices, for bundled models, random models with experts, in blocks and with state
# space layers.
# usage: analyses_test.sh BUOY PYTHON
set -euo pipefail
buoy=$1
python=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAIL $*"; exit 1; }; }

failed=0
for kind in experts blocks; do
  "$python" -B "$root/tests/numpy/random_checkpoint.py" $kind "$root/models/mini-mdm" "$work/model-$kind"
done
"$python" -B "$root/tests/numpy/make_ssd_checkpoint.py" "$work/model-states" --layers ssd,attention,ssd --vocabulary 2048
cp "$root"/models/mini-mdm/tokenizer* "$work/model-states"
for model in mini-mdm mini-arm experts blocks states; do
  settings=(--gen-length 16 --limit 2 --per-head --record received,flow,answer,qk,keys)
  name=$model
  case $model in mini-mdm | states) settings+=(--steps 16) ;; esac
  [ $model = experts ] && settings=(--gen-length 8 --steps 6 --limit 2 --per-head --record received,flow,answer,qk,experts)
  [ $model = blocks ] && settings=(--gen-length 12 --limit 2 --per-head)
  [ -d "$work/model-$model" ] && name=$work/model-$model
  run "$buoy" trace --model "$name" --data "$root/data/micro_study.jsonl" "${settings[@]}" -o "$work/$model-traces"
  run "$buoy" analyze "$work/$model-traces" --format svg -o "$work/$model-tables"
  files=()
  for trace in "$work/$model-traces"/*.npz; do
    matrices=$work/$(basename "$trace" .npz)_attentions.npz
    run "$buoy" export "$trace" --model "$name" -o "$matrices"
    files+=("$trace" "$matrices")
  done
  echo "== $model"
  "$python" -B "$root/tests/numpy/compare.py" "$work/$model-tables" "${files[@]}" || failed=1
done

# The permutation test and the intervals need samples, not matrices.
echo "== tasks"
run "$buoy" trace --model mini-arm --data "$root/data/micro_test.jsonl" --gen-length 4 --limit 20 -o "$work/tasks"
run "$buoy" analyze "$work/tasks" --format svg -o "$work/tasks-tables"
"$python" -B "$root/tests/numpy/tasks.py" "$work/tasks-tables" || failed=1
echo "== intervals"
"$python" -B "$root/tests/numpy/intervals.py" "$work/tasks-tables" || failed=1
exit $failed
