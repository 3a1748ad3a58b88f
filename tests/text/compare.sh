#!/bin/sh
# Compares a built `buoy` with the reference implementations from npm. Usage: tests/text/compare.sh path/to/buoy [STRINGS]
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -x "$1" ]; then
  echo "usage: compare.sh path/to/buoy [STRINGS]" >&2
  exit 2
fi
buoy=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
cd -- "$(dirname -- "$0")"
# npm ci deletes what is there first; skip it when the lock file has not changed since.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  # Without them there is nothing to compare with here; what they once answered is in goldens/, which text_test reads.
  npm ci --no-audit --no-fund || { echo "compare.sh: skipped, npm could not fetch the reference implementations" >&2; exit 77; }
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
node compare_templates.mjs "$buoy" "$scratch"
node compare_tokenizers.mjs "$buoy" "$scratch" ${2:+"$2"}
