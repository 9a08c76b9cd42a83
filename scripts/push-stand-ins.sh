#!/usr/bin/env bash
# Installs the requirements of the push service stand-ins (Tests/PushStandIns) and of their tests if they are missing.
#
#   --test         also runs the tests of the stand-ins
#   VENV=DIR       the directory of the virtual environment (default: .build/push-stand-ins)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath -m "${VENV:-.build/push-stand-ins}")
if ! cmp -s <(cat Tests/PushStandIns/requirements*.txt) "$venv/installed"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r Tests/PushStandIns/requirements-dev.txt
    cat Tests/PushStandIns/requirements*.txt >"$venv/installed"
fi
if [ "${1:-}" = --test ]; then (cd Tests/PushStandIns && "$venv/bin/python" -m pytest -q -p no:cacheprovider); fi
