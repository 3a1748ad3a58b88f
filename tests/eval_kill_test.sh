#!/usr/bin/env bash
# An evaluation killed three times at random moments keeps what it had stored and ends with the same results as one that ran through.
# usage: eval_kill_test.sh BUOY
set -euo pipefail
buoy=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {  # OUTPUT
  exec "$buoy" eval --data "$root/data/micro_test.jsonl" --limit 9 --gen-length 16 --steps 8 --batch-size 2 --log-samples \
    -o "$1" >"$1.log" 2>&1
}
results() { sed 's/,"seconds":[^}]*//' "$1/samples.jsonl"; }
stored() { python3 -c "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from samples').fetchone()[0])" "$1/run.db"; }

(run "$work/whole")
kills=0
before=0
while [ $kills -lt 3 ]; do
  (run "$work/broken") &
  pid=$!
  python3 -B "$root/tests/kill_when_stored.py" "$work/broken/run.db" $pid $before || { echo "FAIL: after $kills kills"; cat "$work/broken.log"; exit 1; }
  wait $pid 2>/dev/null || true
  now=$(stored "$work/broken")
  [ "$now" -gt "$before" ] || { echo "FAIL: $before samples before the kill, $now after"; exit 1; }
  before=$now
  kills=$((kills + 1))
done
[ ! -e "$work/broken/report.html" ] || { echo "FAIL: the run was over before its last kill"; exit 1; }
(run "$work/broken") || { cat "$work/broken.log"; exit 1; }
cmp <(results "$work/whole") <(results "$work/broken") || { echo "FAIL: the samples differ"; exit 1; }
cmp "$work/whole/scores.csv" "$work/broken/scores.csv" || { echo "FAIL: the scores differ"; exit 1; }
echo "$kills kills, $before samples kept from the broken runs, $(results "$work/broken" | wc -l) in the end: the same as unbroken"

# Two processes on one run: the second is told so. Settings and data that changed: refused, nothing lost.
expect() {  # PATTERN FILE
  grep -qE "$1" "$2" || { echo "FAIL: no line like \"$1\" in:"; cat "$2"; exit 1; }
}
exec 9<>"$work/whole/run.db.lock"
flock 9
(run "$work/whole") && { echo "FAIL: a locked run was opened"; exit 1; }
expect 'run.db: another process has this run open' "$work/whole.log"
exec 9>&-
head -20 "$root/data/micro_test.jsonl" >"$work/data.jsonl"
other() { "$buoy" eval --data "$work/data.jsonl" --limit 4 --gen-length 8 --model mini-arm -o "$work/other" >"$work/other.log" 2>&1; }
other
sed -i '1s/"question":"/"question":"So: /' "$work/data.jsonl"
other && { echo "FAIL: changed data was accepted"; exit 1; }
expect 'begun with other data: 1 item has changed: "micro-2026-000000" of data' "$work/other.log"
python3 -c "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('pragma user_version=9'); c.commit()" "$work/other/run.db"
other && { echo "FAIL: another version was accepted"; exit 1; }
expect 'is a run of version 9, expected 4' "$work/other.log"
echo "locked, changed data, other version: refused"
