#!/usr/bin/env bash
# Builds the explorer's page from web/src into buoy/serve/page, where it is committed. Needs esbuild (Debian's package).
set -euo pipefail
cd "$(dirname "$0")"

out=${1:-../buoy/serve/page}
command -v esbuild >/dev/null || { echo "build.sh: no esbuild here; install the package esbuild" >&2; exit 1; }
mkdir -p "$out"
hash=$(./source_hash.sh)
esbuild src/main.ts --bundle --minify --charset=utf8 --target=es2021 --format=iife --log-level=warning --outfile="$out/app.js.new"
esbuild src/app.css --minify --charset=utf8 --log-level=warning --outfile="$out/app.css.new"
{ printf '// Buoy explorer, built from web/src %s by esbuild %s\n' "$hash" "$(esbuild --version)"; cat "$out/app.js.new"; } >"$out/app.js"
mv "$out/app.css.new" "$out/app.css"
rm "$out/app.js.new"
cp src/index.html "$out/index.html"
