# What the tests of several ranks share; sourced with $work set. A script that sources it has its log in $work/log.
as_root=()
[ "$(id -u)" != 0 ] || as_root=(--allow-run-as-root)
on() { mpirun --oversubscribe -n "$1" "${as_root[@]}" "${@:2}"; }  # RANKS COMMAND…
complain() { echo "FAIL: $1" >&2; cat "$work/log" >&2; exit 1; }
find_rank() {  # NUMBER JOB PLACE: the process of a rank, once it is there
  local deadline=$((SECONDS + 300)) p
  while kill -0 "$2" 2>/dev/null && [ $SECONDS -lt $deadline ]; do
    for p in $(pgrep -f "$3"); do
      if grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$p/environ" 2>/dev/null; then echo "$p"; return; fi
    done
    sleep 0.02
  done
  complain "found no rank $1"
}
# How many samples a run has stored.
stored() { python3 -c "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from samples').fetchone()[0])" "$1/run.db"; }
