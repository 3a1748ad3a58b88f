#!/usr/bin/env bash
# Traces and studies on two and three ranks have the bytes of one process; ranks that would trace something else are found out.
# usage: ranks_study_test.sh BUOY
set -euo pipefail
buoy=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$root/tests/ranks.sh"
launch() { on "$@" >"$work/log" 2>&1 || complain "${*:2}"; }  # RANKS COMMAND…
alone() { "$@" >"$work/log" 2>&1 || { echo "FAIL: $*"; cat "$work/log"; exit 1; }; }
same() {  # FOLDER FOLDER FILES…: by name, in the first
  local one=$1 many=$2
  shift 2
  for file in "$@"; do cmp "$one/$file" "$many/$file" || { echo "FAIL: $file differs on several ranks"; exit 1; }; done
}
files() { (cd "$1" && find . -name "$2" | sort); }

trace=(trace --data "$root/data/micro_test.jsonl" --limit 5 --gen-length 8 --steps 4 --batch-size 1 --threads 1)
alone "$buoy" "${trace[@]}" -o "$work/traces1"
for ranks in 2 3; do
  launch $ranks "$buoy" "${trace[@]}" -o "$work/traces$ranks"
  [ "$(files "$work/traces1" '*')" = "$(files "$work/traces$ranks" '*')" ] || { echo "FAIL: $ranks ranks wrote other files"; exit 1; }
  same "$work/traces1" "$work/traces$ranks" $(files "$work/traces1" '*.npz')
done
[ "$(files "$work/traces1" '*.npz' | wc -l)" = 5 ] || { echo "FAIL: not five traces"; exit 1; }

# What is there is taken over by any number of ranks, and said.
rm "$work/traces3/$(files "$work/traces1" '*.npz' | sed -n 2p)"
launch 3 "$buoy" "${trace[@]}" -o "$work/traces3"
grep -q '4 of 5 traces were there already' "$work/log" || { echo "FAIL: a resumed job does not say what it found"; cat "$work/log"; exit 1; }
same "$work/traces1" "$work/traces3" $(files "$work/traces1" '*.npz')

quick=(study --quick --limit 3 --gen-length 6 --steps 3 --batch-size 1 --threads 1 --figures drift --format svg)
alone "$buoy" "${quick[@]}" -o "$work/quick1"
launch 2 "$buoy" "${quick[@]}" -o "$work/quick2"
same "$work/quick1" "$work/quick2" $(files "$work/quick1" '*.csv')
whole=(study -m mini-arm --limit 2 --gen-length 6 --batch-size 1 --threads 1 --twins 1 --figures drift --format svg)
alone "$buoy" "${whole[@]}" -o "$work/whole1"
launch 3 "$buoy" "${whole[@]}" -o "$work/whole3"
same "$work/whole1" "$work/whole3" $(files "$work/whole1" '*.csv')
for file in claims.csv samples.csv summaries.csv; do
  [ -s "$work/whole3/$file" ] || { echo "FAIL: a study on three ranks did not write $file"; exit 1; }
done
[ ! -e "$work/whole3/traces" ] && [ ! -e "$work/whole3/twins" ] || { echo "FAIL: traces or twins stayed"; exit 1; }

# Ranks compare what they would trace before anything is written: one of them sees another data file.
mkdir "$work/zero" "$work/other"
for folder in zero other; do head -3 "$root/data/micro_test.jsonl" >"$work/$folder/data.jsonl"; done
sed -i '2s/"question":"/"question":"So: /' "$work/other/data.jsonl"
for verb in trace study; do
  on 3 \
    bash -c 'cd "$1/$([ "$OMPI_COMM_WORLD_RANK" = 2 ] && echo other || echo zero)" && shift && exec "$@"' _ "$work" \
    "$buoy" $verb --data data.jsonl --gen-length 4 --threads 1 -o "$work/stale" >"$work/log" 2>&1 &&
    { echo "FAIL: $verb: a rank with other data was not found out"; exit 1; }
  grep -qE 'rank 2 has other inputs than rank 0: /(data/data|examples)/hash was' "$work/log" || { cat "$work/log"; exit 1; }
  [ ! -e "$work/stale" ] || { echo "FAIL: $verb wrote something before the ranks agreed"; exit 1; }
done
echo "traces and studies on 2 and 3 ranks: the bytes of one process"
