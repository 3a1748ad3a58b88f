#!/usr/bin/env bash
# tools/kill_night finds nothing in runs as they are, and finds what a command does that loses, changes or doubles what was stored.
# usage: kill_night_test.sh BUOY
set -euo pipefail
buoy=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

# The command with a fault, in runs that are killed only: those that are left alone say what must come out.
cat >"$work/buoy" <<END
#!/usr/bin/env bash
[[ \$1 == eval && \$PWD == *-run* ]] || exec "$buoy" "\$@"
python3 - "\$FAULT" before <<'PY'
import os, sqlite3, sys
if sys.argv[1] in ("change", "lose") and os.path.exists("out/run.db"):
    c = sqlite3.connect("out/run.db")
    if c.execute("select count(*) from sqlite_master where name = 'samples'").fetchone()[0]:
        c.execute("update samples set answer = 'x'" if sys.argv[1] == "change" else "update samples set sample = sample || '-'")
        c.commit()
PY
"$buoy" "\$@" || exit \$?
[ "\$FAULT" != double ] || tail -n 1 out/samples.jsonl >>out/samples.jsonl
[ "\$FAULT" != forget ] || rm out/scores.csv
END
chmod +x "$work/buoy"

night() { python3 -B "$root/tools/kill_night" --only eval --processes 1 --jobs 1 --kills 3 --seed 5 "$@" >"$work/out" 2>&1; }
night --buoy "$buoy" --full 0.3 || { echo "FAIL: something was found where nothing is"; cat "$work/out"; exit 1; }
grep -qE 'lost 0, doubled 0, differ 0, hung 0' "$work/out" || { cat "$work/out"; exit 1; }
for case in "change differ" "lose (lost|differ)" "double doubled" "forget differ"; do
  read -r fault found <<<"$case"
  FAULT=$fault night --buoy "$work/buoy" --full 0 && { echo "FAIL: the fault \"$fault\" was not found"; cat "$work/out"; exit 1; }
  grep -qE "kill_night: eval, 1 processes: $found" "$work/out" || { echo "FAIL: \"$fault\" was not called $found"; cat "$work/out"; exit 1; }
done
echo "a night of kills finds nothing where nothing is, and all four faults"
