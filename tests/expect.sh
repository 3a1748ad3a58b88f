# For tests of the command: a scratch folder, and what a command must do. Sourced, with buoy set.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
count=0

note() { printf 'FAIL %s\n' "$1"; failures=$((failures + 1)); }

# expect CODE PATTERN ARGS…: the exit code (the limit ends a hang, it judges no speed), a line of output or error that matches, no control character, one line for an error
expect() {
  local code=$1 pattern=$2 output status
  shift 2
  count=$((count + 1))
  output=$(timeout -s KILL 900 "$buoy" "$@" 2>&1 </dev/null)
  status=$?
  [ "$status" = "$code" ] || note "buoy $*: exit code $status, expected $code: $output"
  grep -qE -- "$pattern" <<<"$output" || note "buoy $*: no line like \"$pattern\" in: $output"
  if LC_ALL=C grep -q $'[\x01-\x08\x0b\x0c\x0e-\x1f]' <<<"$output"; then note "buoy $*: a control character in: $output"; fi
  if [ "$code" != 0 ] && [ "$(wc -l <<<"$output")" -gt 2 ]; then note "buoy $*: more than one line: $output"; fi
}
