#!/bin/sh
# Tries the server against its own OpenAPI document: every operation, requests that fit and requests
# that do not, every check. Nothing may answer with a status of 500 or more, with a status that is not
# documented, or in another shape than the document says.
#
#   tools/schemathesis.sh PATH-TO-HAVERSACK [OPTIONS OF SCHEMATHESIS]
#
# Needs Python 3.10 or newer. What is downloaded is kept in $HAVERSACK_CACHE, else ~/.cache/haversack.
set -eu

VERSION=4.32.5
here=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:?"say where the haversack program is"}
shift
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
cache=${HAVERSACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/haversack}
venv=$cache/schemathesis-$VERSION

if ! "$venv/bin/schemathesis" --version >/dev/null 2>&1; then
    mkdir -p "$cache"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION"
fi

work=$(mktemp -d)
: >"$work/out"
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT INT TERM

HAVERSACK_SERVER_AUTH=keys "$binary" serve --listen 127.0.0.1:0 --data "$work/data" \
    >"$work/out" 2>"$work/log" &
server=$!
url=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    url=$(sed -n 's|^haversack listens on \(http://.*\)$|\1|p' "$work/out")
    [ -n "$url" ] && break
    sleep 0.5
done
if [ -z "$url" ]; then
    echo "the server did not start:" >&2
    cat "$work/log" >&2
    exit 1
fi
key=$("$binary" key create schemathesis --scope admin --data "$work/data" 2>/dev/null)

filled=$(URL=$url KEY=$key "$venv/bin/python" "$here/tools/schemathesis_fill.py")
eval "$filled"
export RECEIPT_A RECEIPT_B

cd "$work"
status=0
"$venv/bin/schemathesis" --config-file "$here/tools/schemathesis.toml" run "$url/openapi.json" \
    --header "Authorization: Bearer $key" \
    --checks all \
    --max-examples 20 \
    --continue-on-failure \
    --seed 7 \
    --generation-database none \
    --no-color \
    "$@" >"$work/report" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
    cat "$work/report" >&2
    grep ' ERROR ' "$work/log" | tail -n 20 >&2 || true
    exit "$status"
fi
sed -n '/Test cases/,$p' "$work/report"
