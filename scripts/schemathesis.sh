#!/usr/bin/env bash
# Tests a running server against its own OpenAPI document, as a user and as an administrator. Fails if a response is not
# described in the document, if a response is a 5xx, or if a request without a valid token is accepted. Connects only to
# 127.0.0.1.
#
#   SECONDS_EACH=40     the time limit for each of the two users, in seconds
#   SCROLLBACK_SEED=1   the seed of the generated requests (make test-long uses a random one)
#   SCROLLBACK=PATH     the program (default: .build/debug/scrollback)
#   VENV=DIR            the directory where schemathesis is installed (default: .build/schemathesis)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
seconds=${SECONDS_EACH:-40}
scrollback=$(realpath -m "${SCROLLBACK:-.build/debug/scrollback}")
venv=$(realpath -m "${VENV:-.build/schemathesis}")

if [ ! -x "$scrollback" ]; then
    echo "error: $scrollback does not exist: run swift build --product scrollback" >&2
    exit 1
fi
if [ ! -x "$venv/bin/schemathesis" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis==4.32.5'
fi

folder=$(mktemp -d)
touch "$folder/out"
"$scrollback" serve --demo --data "$folder/data" --port 0 --send-rate 0 --write-rate 0 --read-rate 0 \
    --lookup-rate 0 --search-rate 0 >"$folder/out" 2>"$folder/log" &
server=$!
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 300); do
    address=$(sed -n 's/^listening on //p' "$folder/out")
    [ -n "$address" ] && break
    kill -0 $server 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$address" ] || { echo "error: the server did not start" >&2; exit 1; }

# Create the group and the message that the document's examples refer to.
admin="Authorization: Bearer $(cat "$folder/data/admin.key")"
json='Content-Type: application/json'
id=0198f3c2-7c1e-7000-8000-0123456789ab
curl -sf -X PUT -H "$admin" -H "$json" -d '{"members":["alice","bob"]}' \
    "$address/v1/conversations/group:swift" >/dev/null
curl -sf -H "$admin" -H "$json" -d "{\"id\":\"$id\",\"type\":\"text\",\"content\":{\"text\":\"hi\"}}" \
    "$address/v1/conversations/group:swift/messages" >/dev/null

failed=0
cd "$folder" # schemathesis writes files to the current directory
run() { # NAME TOKEN
    echo "== as $1"
    "$venv/bin/schemathesis" --config-file "$root/scripts/schemathesis.toml" run "$address/openapi.json" \
        --header "Authorization: Bearer $2" --checks all --max-time "$seconds" --continue-on-failure \
        --seed "${SCROLLBACK_SEED:-1}" --generation-database none --request-timeout 10 --warnings off --no-color ||
        failed=1
    code=$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $2" "$address/v1/me")
    # If a request revoked the token, all later responses would be 401 and the run would pass without testing anything.
    if [ "$code" != 200 ]; then
        echo "error: the token of $1 is rejected after the run with $code: the run is not conclusive" >&2
        failed=1
    fi
}
run alice "$("$scrollback" token alice --data "$folder/data")"
run root "$("$scrollback" token root --admin --data "$folder/data")"

metrics=$(curl -s -H "$admin" "$address/metrics")
grep -E '^scrollback_http_(requests|failures)_total' <<<"$metrics"
if ! grep -q '^scrollback_http_failures_total 0$' <<<"$metrics"; then
    echo "error: some responses were 5xx" >&2
    failed=1
fi
if grep -E ' (error|critical) ' "$folder/log" >&2; then failed=1; fi
kill -TERM $server
wait $server || { echo "error: the server did not exit with 0" >&2; failed=1; }
exit $failed
