#!/usr/bin/env bash
# A study killed at random moments ends with the same numbers as one that ran through, and goes on where it was.
# usage: study_kill_test.sh BUOY
set -euo pipefail
buoy=$1
items=20
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {  # OUTPUT [flags]
  local output=$1
  shift
  exec "$buoy" study --model mini-arm --only drift --format svg --limit $items --gen-length 8 --batch-size 2 "$@" -o "$output" >"$output.log" 2>&1
}
traces() { find "$work/broken/traces" -name '*.npz' 2>/dev/null | wc -l; }

(run "$work/whole")
[ ! -e "$work/whole/traces" ] || { echo "FAIL: the traces stayed"; exit 1; }
kills=2
before=0
for kill in $(seq $kills); do
  (run "$work/broken") &
  pid=$!
  enough=$((before + 4 < items ? before + 4 : items))
  deadline=$((SECONDS + 300))
  while kill -0 $pid 2>/dev/null && [ "$(traces)" -lt $enough ] && [ $SECONDS -lt $deadline ]; do sleep 0.02; done
  kill -9 $pid 2>/dev/null || { echo "FAIL: the study was over before kill $kill"; cat "$work/broken.log"; exit 1; }
  wait $pid 2>/dev/null || true
  now=$(traces)
  [ "$now" -ge $enough ] || { echo "FAIL: $enough traces or more before kill $kill, $now after"; exit 1; }
  before=$now
done
(run "$work/broken") || { cat "$work/broken.log"; exit 1; }
grep -qE "(^|[^0-9])$before traces were there already" "$work/broken.log" || { echo "FAIL: not all $before traces were taken over"; cat "$work/broken.log"; exit 1; }
for file in "$work"/whole/*.csv; do
  cmp "$file" "$work/broken/$(basename "$file")" || { echo "FAIL: $(basename "$file") differs"; exit 1; }
done
[ ! -e "$work/broken/traces" ] || { echo "FAIL: the traces stayed"; exit 1; }

items=5
# Kept traces are taken over. A study of other settings, of other answers or of other gold passages is refused by name, and replaced where that is
# said; then nothing of the old one is taken over.
cp "$root/data/micro_test.jsonl" "$work/data.jsonl"
kept() { (run "$work/kept" --keep-traces --data "$work/data.jsonl" "$@") || { cat "$work/kept.log"; exit 1; }; }
fresh() { ! grep -q "traces were there already" "$work/kept.log" || { echo "FAIL: traces of $1 were taken over"; exit 1; }; }
kept
kept
grep -q "$items traces were there already" "$work/kept.log" || { echo "FAIL: kept traces were not taken over"; exit 1; }
refused() {  # WHAT FLAGS…
  local what=$1
  shift
  (run "$work/kept" --keep-traces --data "$work/data.jsonl" "$@") && { echo "FAIL: other $what was not refused"; exit 1; }
  grep -qE "kept: holds results of something else: /inputs/$what.* --overwrite replaces it" "$work/kept.log" || { cat "$work/kept.log"; exit 1; }
  kept "$@" --overwrite
  fresh "other $what"
}
refused models/mini-arm/sampler/temperature --temperature 0.5
sed -i 's/"answers": *\["/&not /' "$work/data.jsonl"
refused data/data/hash --temperature 0.5
sed -i 's/"gold": *true/"gold":false/' "$work/data.jsonl"
refused data/data/hash --temperature 0.5
echo "$kills kills, $before traces kept from the broken runs: the same numbers as unbroken"
