#!/usr/bin/env bash
# The committed page is the one that web/src builds: by the hash that it names, and to the byte where the same esbuild is at hand.
set -euo pipefail
cd "$(dirname "$0")/.."

page=../buoy/serve/page
first=$(head -n 1 "$page/app.js")
named=$(sed -nE 's/^.* built from web\/src ([0-9a-f]{64}) by esbuild ([0-9.]+)$/\1 \2/p' <<<"$first")
[ -n "$named" ] || { echo "app.js begins with \"${first:0:80}\", expected the hash of its source" >&2; exit 1; }
read -r hash version <<<"$named"
now=$(./source_hash.sh)
[ "$hash" = "$now" ] || { echo "the page was built from web/src $hash, which is now $now: run web/build.sh and commit" >&2; exit 1; }
cmp src/index.html "$page/index.html"

have=$(command -v esbuild >/dev/null && esbuild --version || echo none)
if [ "$have" != "$version" ]; then
  echo "hash agrees; bytes are not compared: esbuild $have here, $version built the page"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
./build.sh "$scratch"
for file in index.html app.js app.css; do cmp "$scratch/$file" "$page/$file"; done
echo "the page is what its source builds, byte for byte"
