#!/usr/bin/env bash
# Prints the SHA-256 of everything that the page is built from: app.js names the one that it was built from.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C
sha256sum build.sh src/* | sha256sum | cut -d' ' -f1
