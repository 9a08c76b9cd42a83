#!/usr/bin/env bash
# Installs the tools of the browser SDK (Web) if they are missing, and runs one of them:
#
#   scripts/web-tools.sh                  only installs the tools
#   scripts/web-tools.sh deno ARGUMENTS   runs deno in the folder Web
#
#   VENV=DIR       the directory of the virtual environment (default: .build/web-tools)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath -m "${VENV:-.build/web-tools}")
if ! cmp -s Web/requirements.txt "$venv/installed"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r Web/requirements.txt
    cp Web/requirements.txt "$venv/installed"
fi
if [ $# -gt 0 ]; then
    cd Web
    DENO_NO_UPDATE_CHECK=1 exec "$venv/bin/$1" "${@:2}"
fi
