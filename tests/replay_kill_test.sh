#!/usr/bin/env bash
# A replay killed three times at random moments, while it searches and while it answers, keeps what it had stored and ends with the same
# bytes as one that ran through; a stream that has grown goes on, one whose past has changed is refused.
# usage: replay_kill_test.sh BUOY
set -euo pipefail
buoy=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {  # OUTPUT [EVENTS]
  exec "$buoy" replay "${2:-$work/events.jsonl}" --limit 16 --gen-length 12 --steps 8 --batch-size 2 --log-samples -o "$1" >"$1.log" 2>&1
}
results() { sed 's/,"seconds":[^}]*//' "$1/samples.jsonl"; }
stored() { python3 -c "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from samples').fetchone()[0])" "$1/run.db"; }
expect() {  # PATTERN FILE
  grep -qE "$1" "$2" || { echo "FAIL: no line like \"$1\" in:"; cat "$2"; exit 1; }
}

"$buoy" world --events 90 --seed 5 --subjects 12 --questions 0.5 -o "$work/events.jsonl" 2>/dev/null
(run "$work/whole") || { cat "$work/whole.log"; exit 1; }

# At the very beginning: while the stream is read and searched.
(run "$work/broken") &
pid=$!
python3 - "$work/broken/run.db" <<'END'
import os, random, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.001)
time.sleep(random.uniform(0, 0.05))
END
kill -9 $pid
wait $pid 2>/dev/null || true
kills=1
before=0
while [ $kills -lt 3 ]; do
  (run "$work/broken") &
  pid=$!
  python3 -B "$root/tests/kill_when_stored.py" "$work/broken/run.db" $pid $before || { echo "FAIL: after $kills kills"; cat "$work/broken.log"; exit 1; }
  wait $pid 2>/dev/null || true
  before=$(stored "$work/broken")
  kills=$((kills + 1))
done
[ ! -e "$work/broken/report.html" ] || { echo "FAIL: the run was over before its last kill"; exit 1; }
(run "$work/broken") || { cat "$work/broken.log"; exit 1; }
expect "$before samples were there already" "$work/broken.log"
cmp <(results "$work/whole") <(results "$work/broken") || { echo "FAIL: the samples differ"; exit 1; }
for file in replay.csv figures/timeline.svg figures/changes.svg; do
  [ -e "$work/whole/$file" ] || continue
  cmp "$work/whole/$file" "$work/broken/$file" || { echo "FAIL: $file differs"; exit 1; }
done
[ -e "$work/whole/replay.csv" ] || { echo "FAIL: no replay.csv"; exit 1; }
[ -z "$(find "$work/broken" -name 'replay-collection*')" ] || { echo "FAIL: the collection was left behind"; exit 1; }
echo "$kills kills, $before samples kept from the broken runs, $(results "$work/broken" | wc -l) in the end: the same as unbroken"

# The past changed: refused by name, nothing lost. The same stream with a torn end: refused by line.
mkdir "$work/changed"
sed '3s/"text":"/"text":"So: /' "$work/events.jsonl" >"$work/changed/events.jsonl"
(run "$work/whole" "$work/changed/events.jsonl") && { echo "FAIL: a changed past was accepted"; exit 1; }
expect 'begun with other data: 16 items have changed: "q-5-00000" of events' "$work/whole.log"
head -c -20 "$work/events.jsonl" >"$work/changed/events.jsonl"
"$buoy" replay "$work/changed/events.jsonl" -o "$work/torn" >"$work/torn.log" 2>&1 && { echo "FAIL: a torn stream was accepted"; exit 1; }
expect 'events.jsonl: line 90: .*this is the last line: it may be cut off' "$work/torn.log"
echo "changed past, torn end: refused"
