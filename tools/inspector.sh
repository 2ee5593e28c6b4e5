#!/bin/sh
# Tests the inspector in a real browser against a real server that holds hostile texts. Quiet when all is well.
#
#   tools/inspector.sh PATH-TO-HAVERSACK [FOLDER-FOR-PICTURES]
#
# Needs Node 20.3 or newer and Chromium ($CHROMIUM, else `chromium` on the path). What is downloaded is kept in
# $HAVERSACK_CACHE, else ~/.cache/haversack; nothing is left in the checkout. Ends with 75 when packages or the
# browser cannot be had.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:?"say where the haversack program is"}
HAVERSACK_BIN=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
PICTURES=
if [ -n "${2:-}" ]; then
    mkdir -p "$2"
    PICTURES=$(cd "$2" && pwd)
fi
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
export HAVERSACK_BIN PICTURES CHROMIUM
if [ -z "$CHROMIUM" ]; then
    echo "not tested, since there is no Chromium: apt-get install chromium" >&2
    exit 75
fi

# npm writes beside package.json, so it works on a copy.
cache=${HAVERSACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/haversack}/inspector
mkdir -p "$cache"
log=$cache/log
cp "$here"/tools/inspector/* "$cache/"
cd "$cache"
lock=$(cksum <package-lock.json)
if [ "$(cat npm-done 2>/dev/null || true)" != "$lock" ]; then
    if ! npm ci --no-audit --no-fund >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "not tested, since packages cannot be had: npm ci" >&2
        exit 75
    fi
    echo "$lock" >npm-done
fi
if ! node test.mjs >"$log" 2>&1; then
    cat "$log" >&2
    echo "failed: inspector" >&2
    exit 1
fi
