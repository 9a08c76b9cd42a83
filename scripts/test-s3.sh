#!/usr/bin/env bash
# Starts an S3 server for tests (Tests/S3Server), and installs it first if it is missing.
#
# The server listens only on a loopback address, and deletes its data when it stops.
#   --stop         stops the server
#   DIR=…          the directory of the server (default: .build/test-s3)
# DIR/url has the value of the option `--files` while the server runs.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(realpath -m "${DIR:-.build/test-s3}")
venv=$dir/venv
# The recorded process, if it still runs. Another process can have its number after a restart of the machine.
running() {
    local pid
    pid=$(cat "$dir/pid" 2>/dev/null) && grep -qz "Tests/S3Server/server.py" "/proc/$pid/cmdline" 2>/dev/null &&
        echo "$pid"
}

if [ "${1:-}" = --stop ]; then
    if pid=$(running); then
        kill "$pid"
        while running >/dev/null; do sleep 0.1; done
    fi
    rm -f "$dir/url" "$dir/pid"
    exit
fi
if ! cmp -s Tests/S3Server/requirements.txt "$venv/installed"; then
    mkdir -p "$dir"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r Tests/S3Server/requirements.txt
    cp Tests/S3Server/requirements.txt "$venv/installed"
fi
if ! running >/dev/null; then
    rm -f "$dir/url"
    setsid "$venv/bin/python" Tests/S3Server/server.py "$dir" </dev/null >"$dir/log" 2>&1 &
    echo $! >"$dir/pid"
fi
until [ -e "$dir/url" ]; do
    # Not `running`: a process that has just been forked has the name of this script.
    kill -0 "$(cat "$dir/pid")" 2>/dev/null || { cat "$dir/log" "$dir"/*.log >&2; exit 1; }
    sleep 0.05
done
