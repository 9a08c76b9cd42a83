#!/usr/bin/env bash
# Installs what the stand-ins for push services need (Tests/PushStandIns), where it is not there yet.
#
#   --test         also runs the stand-ins' own tests
#   VENV=DIR       where it goes (default: .build/push-stand-ins)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath -m "${VENV:-.build/push-stand-ins}")
wanted=Tests/PushStandIns/requirements.txt
[ "${1:-}" = --test ] && wanted=Tests/PushStandIns/requirements-dev.txt
if ! cmp -s <(cat Tests/PushStandIns/requirements*.txt; echo "$wanted") "$venv/installed"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
    (cat Tests/PushStandIns/requirements*.txt; echo "$wanted") >"$venv/installed"
fi
if [ "${1:-}" = --test ]; then (cd Tests/PushStandIns && "$venv/bin/python" -m pytest -q -p no:cacheprovider); fi
