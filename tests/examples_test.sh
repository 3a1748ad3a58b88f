#!/usr/bin/env bash
# The examples of every verb's help, pasted into bash as they stand: all of them are read by the command, those that take
# moments run. Those of models that are not bundled (/models/…) are only read. Then bash's completion, as bash calls it.
# usage: examples_test.sh BUOY SOURCE
set -u
buoy=$(readlink -f "$1")
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
note() { printf 'FAIL %s\n' "$1"; failures=$((failures + 1)); }

# The source root as an example finds it, without its being written to.
mkdir "$work/root" "$work/read" "$work/run"
for name in data docs models recipes tests tools; do ln -s "$source/$name" "$work/root/$name"; done
cd "$work/root" || exit 1
printf '#!/bin/sh\nexec "%s" --check-only "$@"\n' "$buoy" >"$work/read/buoy"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$buoy" >"$work/run/buoy"
printf '#!/bin/sh\nexit 0\n' | tee "$work/read/python3" >"$work/run/python3" # an example's own tools need PyTorch
chmod +x "$work"/*/buoy "$work"/*/python3

# examples VERB: one per line, lines that the help has broken joined again
examples() {
  "$buoy" help "$1" >"$work/help"
  sed -n '/^Examples:$/,$ { /^Examples:$/d; s/^  *//; p; }' "$work/help" | sed -e ':a' -e '/\\$/ { N; s/ *\\\n */ /; ta; }'
}

quick=' generate forward attention tokenize trace index export inspect verify world completion manual help '
"$buoy" help | sed -n '/^Verbs:$/,/^$/ s/^  \([a-z]*\) .*/\1/p' >"$work/verbs"
[ "$(wc -l <"$work/verbs")" -ge 19 ] || note "the help lists only $(wc -l <"$work/verbs") verbs"
read_count=0 run_count=0
while read -r verb; do
  examples "$verb" >"$work/examples"
  [ -s "$work/examples" ] || note "$verb has no examples"
  while IFS= read -r line; do
    read_count=$((read_count + 1))
    PATH=$work/read:$PATH bash -c "$line" >"$work/out" 2>&1 </dev/null || note "cannot be read: $line: $(cat "$work/out")"
    case "$line" in *'/models/'* | *'llama.npz'*) continue ;; esac
    case "$quick" in *" $verb "*) ;; *) continue ;; esac
    run_count=$((run_count + 1))
    PATH=$work/run:$PATH bash -c "$line" >"$work/out" 2>&1 </dev/null || note "does not run: $line: $(tail -1 "$work/out")"
  done <"$work/examples"
done <"$work/verbs"

# complete WORDS…: what bash offers for the last word
eval "$("$buoy" completion bash)"
complete_words() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _buoy
  echo "${COMPREPLY[*]}"
}
offers() {  # EXPECTED WORDS…
  local expected=$1 got
  shift
  got=$(complete_words "$@")
  [ "$got" = "$expected" ] || note "completion of \"$*\": \"$got\", expected \"$expected\""
}
offers 'generate' buoy gen
offers '--gen-length' buoy generate --gen-l
offers 'cpu cuda' buoy generate --device c
offers 'cpu cuda' buoy generate --device = c
offers 'drift,flow' buoy analyze --only drift,fl
offers 'search' buoy index micro.db sea
offers '--passage-words' buoy index micro.db add --pass
offers 'bash' buoy completion ba
offers 'study stress' buoy help st
complete -p buoy >/dev/null || note "bash knows no completion of buoy"

echo "$read_count examples read, $run_count run, $failures failures"
[ "$failures" = 0 ]
