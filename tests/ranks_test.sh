#!/usr/bin/env bash
# An evaluation on three ranks gives what one process gives; a rank that dies ends the job, and the same command completes it; the work of one
# that hangs is done by the others.
# usage: ranks_test.sh BUOY
set -euo pipefail
buoy=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v mpirun >/dev/null || { echo "FAIL: mpirun is not installed"; exit 1; }
# Not through a pipe: grep would leave early, and under pipefail the one who still writes would count as failed.
[[ $(ldd "$buoy") == *libmpi* ]] || { echo "FAIL: this build has no MPI"; exit 1; }
. "$root/tests/ranks.sh"
eval_args=(eval --data "$root/data/micro_test.jsonl" --limit 10 --gen-length 16 --steps 8 --batch-size 1 --threads 1 --log-samples)
results() { sed 's/,"seconds":[^}]*//' "$1/samples.jsonl"; }
same() { cmp <(results "$1") <(results "$2") && cmp "$1/scores.csv" "$2/scores.csv"; }

"$buoy" "${eval_args[@]}" -o "$work/one" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
on 3 "$buoy" "${eval_args[@]}" -o "$work/three" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
same "$work/one" "$work/three" || { echo "FAIL: three ranks differ from one process"; exit 1; }

# A sweep, too, with a collection that every rank changes for itself, and an intervention.
sweep_args=(stress irrelevant=0,0.9 collection=as-is,changed --intervene mask-bos --data "$root/data/micro_test.jsonl" --limit 6 --k 3
            --gen-length 8 --steps 4 --batch-size 1 --threads 1 --log-samples)
"$buoy" "${sweep_args[@]}" -o "$work/sweep" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
on 3 "$buoy" "${sweep_args[@]}" -o "$work/sweeps" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmp <(results "$work/sweep") <(results "$work/sweeps") && cmp "$work/sweep/stress.csv" "$work/sweeps/stress.csv" ||
  { echo "FAIL: a sweep on three ranks differs from one process"; exit 1; }

# Kill a worker when something is stored.
on 3 "$buoy" "${eval_args[@]}" -o "$work/broken" >"$work/log" 2>&1 &
job=$!
worker=$(find_rank 2 $job "$work/broken")
python3 -B "$root/tests/kill_when_stored.py" "$work/broken/run.db" "$worker" 0 || { echo "FAIL: no kill"; cat "$work/log"; exit 1; }
wait $job && { echo "FAIL: the job went on without its rank"; exit 1; }
kept=$(stored "$work/broken")
[ "$kept" -gt 0 ] || { echo "FAIL: no sample was kept from the job that ended"; exit 1; }
grep -qE 'rank 2|signal 9|Killed' "$work/log" || { echo "FAIL: nothing says why the job ended"; cat "$work/log"; exit 1; }
on 3 "$buoy" "${eval_args[@]}" -o "$work/broken" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
same "$work/one" "$work/broken" || { echo "FAIL: the resumed job differs"; exit 1; }
grep -qE "run.db: $kept samples? w(as|ere) there already" "$work/log" || { echo "FAIL: the resumed job does not say what it found"; cat "$work/log"; exit 1; }

# A worker that hangs: the others do its work, and the job says so. Loading the model takes less than the time it is given.
on 3 "$buoy" "${eval_args[@]}" --rank-timeout 10 -o "$work/hung" >"$work/log" 2>&1 &
job=$!
worker=$(find_rank 2 $job "$work/hung")
python3 -B "$root/tests/kill_when_stored.py" "$work/hung/run.db" "$worker" 0 STOP || { echo "FAIL: no stop"; cat "$work/log"; exit 1; }
wait $job || { echo "FAIL: the job did not end well without a rank that hangs"; cat "$work/log"; exit 1; }
grep -q 'rank 2 gave no sign of life for 10 s; the other ranks do its work' "$work/log" || { echo "FAIL: nothing says that a rank hangs"; cat "$work/log"; exit 1; }
same "$work/one" "$work/hung" || { echo "FAIL: a job that lost a rank differs"; exit 1; }
gone() { [ ! -e "/proc/$worker" ] || [[ $(cat "/proc/$worker/stat" 2>/dev/null) == *") Z "* ]]; }
for ((i = 0; i < 300; i++)); do gone && break; sleep 0.1; done
gone || { echo "FAIL: the rank that hung is still there"; exit 1; }

# Where nobody is left to do it, or rank 0 hangs, the job ends with a line and keeps what it has.
for silent in 0 1; do
  on 2 "$buoy" "${eval_args[@]}" --rank-timeout 5 -o "$work/left$silent" >"$work/log" 2>&1 &
  job=$!
  rank=$(find_rank $silent $job "$work/left$silent")
  python3 -B "$root/tests/kill_when_stored.py" "$work/left$silent/run.db" "$rank" 0 STOP || { echo "FAIL: no stop"; cat "$work/log"; exit 1; }
  wait $job && { echo "FAIL: the job ended well though rank $silent hung"; exit 1; }
  grep -q "rank $((1 - silent)): rank $silent gave no sign of life for 5 s" "$work/log" || { echo "FAIL: nothing says that rank $silent hangs"; cat "$work/log"; exit 1; }
  [ "$(stored "$work/left$silent")" -gt 0 ] || { echo "FAIL: nothing was kept"; exit 1; }
done

# A rank that fails says which and why, and takes the others with it.
on 3 "$buoy" "${eval_args[@]}" --model nowhere -o "$work/none" >"$work/log" 2>&1 && { echo "FAIL: no error"; exit 1; }
grep -qE 'rank [0-2]: nowhere: no such model' "$work/log" || { cat "$work/log"; exit 1; }

# Ranks compare what they would work on before any work: one of them sees another data file.
mkdir "$work/zero" "$work/other"
for folder in zero other; do head -4 "$root/data/micro_test.jsonl" >"$work/$folder/data.jsonl"; done
sed -i '3s/"question":"/"question":"So: /' "$work/other/data.jsonl"
on 3 bash -c 'cd "$1/$([ "$OMPI_COMM_WORLD_RANK" = 2 ] && echo other || echo zero)" && shift && exec "$@"' _ "$work" \
  "$buoy" eval --data data.jsonl --gen-length 8 --steps 4 --threads 1 -o "$work/stale" >"$work/log" 2>&1 && { echo "FAIL: a rank with other data was not found out"; exit 1; }
grep -q 'rank 2 has other inputs than rank 0: /data/data was' "$work/log" || { cat "$work/log"; exit 1; }
[ ! -e "$work/stale" ] || { echo "FAIL: something was written before the ranks agreed"; exit 1; }

echo "3 ranks as 1 process; a killed rank ended the job after $kept samples, and it was completed; one that hung was done without"
