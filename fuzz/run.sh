#!/usr/bin/env bash
# Runs every fuzz target for SECONDS from its seeds: fuzz/run.sh SECONDS [BUILD_DIR]
# One line per target; exits 1 when one fails, and says where the input that broke it was kept. With BUOY_FUZZ_FOUND, a folder,
# what it finds is kept there and used again, and the number of runs is written to TARGET.runs in it.
set -u

if [[ $# -lt 1 || $# -gt 2 || ! $1 =~ ^[0-9]+$ ]]; then
  echo "usage: fuzz/run.sh SECONDS [BUILD_DIR]" >&2
  exit 2
fi
seconds=$1
here=$(cd "$(dirname "$0")" && pwd)
build=${2:-$here/../build/fuzz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fuzz_one() {  # source
  local target name binary corpus kept log runs coverage input
  target=$(basename "$1" .cc)
  name=${target#fuzz_}
  binary=$build/fuzz/$target
  if [[ ! -x $binary ]]; then
    echo "$target: not built ($binary); build with: cmake --preset fuzz && cmake --build --preset fuzz --target fuzz_targets"
    return 1
  fi
  corpus=${BUOY_FUZZ_FOUND:-$work}/$name
  kept=$build/fuzz/crashes/$name
  mkdir -p "$corpus" "$kept"
  [[ -d $here/corpus/$name ]] && cp -r "$here/corpus/$name/." "$corpus/"
  # A template may use up its two million steps, which takes the sanitizers many seconds.
  log=$build/fuzz/$target.log
  if "$binary" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=100 -print_final_stats=1 \
      -artifact_prefix="$kept/" "$corpus" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "$target: ok, $runs runs in $seconds s, $coverage edges covered"
    [[ -z ${BUOY_FUZZ_FOUND:-} ]] || echo "$runs" >>"$BUOY_FUZZ_FOUND/$target.runs"
  else
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "$target: FAILED, input kept in ${input:-nowhere (see the log)}, log in $log"
    return 1
  fi
}
export -f fuzz_one
export seconds here build work

# As many at once as there are cores.
printf '%s\0' "$here"/fuzz_*.cc | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz_one "$1"' fuzz
[[ $? == 0 ]]
