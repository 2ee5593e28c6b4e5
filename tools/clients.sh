#!/bin/sh
# Tests the clients for Python and TypeScript, small applications that were written from the documents alone, and
# what watches the server, against a real server. Quiet when all is well, but for what the applications lack.
#
#   tools/clients.sh PATH-TO-HAVERSACK
#
# Needs Python 3.11 and Node 20.3, or newer. What is downloaded and built is kept in $HAVERSACK_CACHE, else
# ~/.cache/haversack; nothing is left in the checkout. Ends with 75 when packages cannot be had.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:?"say where the haversack program is"}
HAVERSACK_BIN=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
export HAVERSACK_BIN
cache=${HAVERSACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/haversack}/clients
mkdir -p "$cache"
log=$cache/log

# Runs a step; shows what it said only if it failed.
step() {
    name=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "failed: $name" >&2
        exit 1
    fi
}

# Runs a step that needs a registry.
install() {
    name=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "not tested, since packages cannot be had: $name" >&2
        exit 75
    fi
}

# Where promtool is, fetched from the system's packages when it is not installed.
find_promtool() {
    if command -v promtool; then return; fi
    folder=$cache/prometheus
    if [ ! -x "$folder/usr/bin/promtool" ] && command -v apt-get && command -v dpkg-deb; then
        mkdir -p "$folder"
        cd "$folder"
        apt-get update && apt-get download prometheus && dpkg-deb -x prometheus_*.deb .
    fi >"$log" 2>&1
    if [ -x "$folder/usr/bin/promtool" ]; then echo "$folder/usr/bin/promtool"; fi
}

python=$here/clients/python
pins=$python/requirements-test.txt
venv=$cache/python-$(cksum <"$pins" | cut -d ' ' -f 1)
if [ ! -e "$venv/done" ]; then
    rm -rf "$venv"
    install "python: venv" python3 -m venv "$venv"
    install "python: packages" "$venv/bin/pip" install --disable-pip-version-check -r "$pins"
    touch "$venv/done"
fi
export PYTHONDONTWRITEBYTECODE=1 MYPY_CACHE_DIR="$cache/mypy" RUFF_CACHE_DIR="$cache/ruff"
cd "$python"
step "python: ruff check" "$venv/bin/ruff" check .
step "python: ruff format" "$venv/bin/ruff" format --check .
step "python: make_sync" "$venv/bin/python" make_sync.py --check
step "python: mypy" "$venv/bin/mypy"
step "python: pytest" "$venv/bin/pytest"
step "python: wheel" "$venv/bin/hatchling" build --target wheel --directory "$cache/wheel"

cd "$here/clients/documents"
step "documents: ruff check" "$venv/bin/ruff" check .
step "documents: ruff format" "$venv/bin/ruff" format --check .
step "documents: applications" "$venv/bin/python" run.py "$HAVERSACK_BIN"
grep '^not yet ' "$log" >&2 || true

# npm writes beside package.json, so it works on a copy.
typescript=$cache/typescript
mkdir -p "$typescript"
for name in src test scripts; do rm -rf "${typescript:?}/$name"; done
cp -R "$here/clients/typescript/." "$typescript/"
cd "$typescript"
lock=$(cksum <package-lock.json)
if [ "$(cat "$cache/npm-done" 2>/dev/null || true)" != "$lock" ]; then
    install "typescript: npm ci" npm ci --no-audit --no-fund
    echo "$lock" >"$cache/npm-done"
fi
step "typescript: build" npm run build
step "typescript: test" npm test

cd "$here"
step "watching: figures" sh -c '
    set -eu
    data=$(mktemp -d)
    "$HAVERSACK_BIN" serve --listen 127.0.0.1:0 --data "$data" >"$data/out" 2>/dev/null &
    server=$!
    trap "kill $server; wait $server; rm -rf $data" EXIT
    url=
    while [ -z "$url" ]; do
        kill -0 $server
        sleep 0.2
        url=$(sed -n "s|^haversack listens on ||p" "$data/out")
    done
    "$0" -c "import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())" \
        "$url/metrics" >"$data/page"
    "$0" tools/watching.py "$data/page"
' "$venv/bin/python"
promtool=$(find_promtool || true)
if [ -n "$promtool" ]; then
    step "watching: alerts" "$promtool" check rules deploy/prometheus/alerts.yml
    step "watching: alerts" "$promtool" test rules deploy/prometheus/alerts_test.yml
else
    echo "not tested, since there is no promtool: alerts" >&2
fi
"$HAVERSACK_BIN" config check --config deploy/haversack.toml >"$cache/settings"
"$HAVERSACK_BIN" config check >"$cache/defaults"
step "settings: deploy/haversack.toml has the defaults" diff "$cache/settings" "$cache/defaults"
