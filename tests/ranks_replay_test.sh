#!/usr/bin/env bash
# A replay on two ranks has the bytes of one process; the work of a rank that hangs is done by the others; one that is killed ends the
# job, and the same command completes it; a rank that reads another stream is found out before anything is written.
# usage: ranks_replay_test.sh BUOY
set -euo pipefail
buoy=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/ranks.sh"
# What a stored run comes to: answers with their passages, all tables and figures; only timings may differ.
same() {  # FOLDER FOLDER
  cmp <(sed 's/,"seconds":[^}]*//' "$1/samples.jsonl") <(sed 's/,"seconds":[^}]*//' "$2/samples.jsonl") || return 1
  local file
  for file in $(cd "$1" && find . -name '*.csv' -o -name '*.svg' | sort); do cmp "$1/$file" "$2/$file" || return 1; done
}

"$buoy" world --events 90 --seed 5 --subjects 12 --questions 0.5 -o "$work/events.jsonl" 2>/dev/null
replay=(replay "$work/events.jsonl" --limit 10 --gen-length 8 --steps 4 --batch-size 1 --threads 1 --trace --log-samples)
"$buoy" "${replay[@]}" -o "$work/one" >"$work/log" 2>&1 || complain "one process"
[ "$(wc -l <"$work/one/samples.jsonl")" -ge 20 ] || complain "fewer answers than questions of two models"
[ -s "$work/one/replay.csv" ] && [ -s "$work/one/figures/timeline.svg" ] || complain "no table or no figure"
on 2 "$buoy" "${replay[@]}" -o "$work/two" >"$work/log" 2>&1 || complain "two ranks"
same "$work/one" "$work/two" || complain "two ranks differ from one process"
[ -z "$(find "$work/two" -name 'replay-collection*')" ] || complain "a collection was left behind"

# A worker that is killed ends the job with a line that says so; the same command goes on from what was kept.
on 3 "$buoy" "${replay[@]}" -o "$work/broken" >"$work/log" 2>&1 &
job=$!
worker=$(find_rank 2 $job "$work/broken")
python3 -B "$root/tests/kill_when_stored.py" "$work/broken/run.db" "$worker" 0 || complain "no kill"
wait $job && complain "the job went on without its rank"
grep -qE 'rank 2|signal 9|Killed' "$work/log" || complain "nothing says why the job ended"
kept=$(stored "$work/broken")
[ "$kept" -gt 0 ] || complain "nothing was kept"
on 2 "$buoy" "${replay[@]}" -o "$work/broken" >"$work/log" 2>&1 || complain "the job was not completed"
grep -qE "run.db: $kept samples? w(as|ere) there already" "$work/log" || complain "the resumed job does not say what it found"
same "$work/one" "$work/broken" || complain "the resumed job differs"

# A worker that hangs: the other does its work, and the job says so.
on 3 "$buoy" "${replay[@]}" --rank-timeout 5 -o "$work/hung" >"$work/log" 2>&1 &
job=$!
worker=$(find_rank 2 $job "$work/hung")
python3 -B "$root/tests/kill_when_stored.py" "$work/hung/run.db" "$worker" 0 STOP || complain "no stop"
wait $job || complain "the job did not end well without a rank that hangs"
grep -q 'rank 2 gave no sign of life for 5 s; the other ranks do its work' "$work/log" || complain "nothing says that a rank hangs"
same "$work/one" "$work/hung" || complain "a job that lost a rank differs"

# A stale stream on one of the ranks.
mkdir "$work/zero" "$work/other"
cp "$work/events.jsonl" "$work/zero"
sed '3s/"text":"/"text":"So: /' "$work/events.jsonl" >"$work/other/events.jsonl"
on 2 bash -c 'cd "$1/$([ "$OMPI_COMM_WORLD_RANK" = 1 ] && echo other || echo zero)" && shift && exec "$@"' _ "$work" \
  "$buoy" replay events.jsonl --limit 2 --gen-length 4 --threads 1 -o "$work/stale" >"$work/log" 2>&1 && complain "a rank with another stream was not found out"
grep -q 'rank 1 has other inputs than rank 0: /data/events was' "$work/log" || complain "nothing says in what the ranks differ"
[ ! -e "$work/stale" ] || complain "something was written before the ranks agreed"

echo "a replay on 2 ranks: the bytes of one process; killed after $kept answers and completed; a hung rank's work done"
