#!/usr/bin/env bash
# Runs the main flows of the chat page in WebKitGTK (Tests/Browser/webkit), with the built server. Installs the browser,
# its driver and a virtual display on Debian. If that fails, it skips the tests and says so; in CI, it fails.
#
#   scripts/test-webkit.sh [ARGUMENT …]    passes the arguments to pytest
#
#   VENV=DIR       the directory of the virtual environment (default: .build/web-tools)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath -m "${VENV:-.build/web-tools}")
requirements=Tests/Browser/webkit/requirements.txt
if ! scripts/install-dependencies.sh WebKitWebDriver:webkit2gtk-driver xvfb-run:xvfb ||
    ! command -v WebKitWebDriver >/dev/null; then
    echo "The tests in WebKitGTK are skipped: the packages webkit2gtk-driver and xvfb can't be installed."
    [ -z "${CI:-}" ]
    exit
fi
if ! cmp -s $requirements "$venv/installed-webkit"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r $requirements
    cp $requirements "$venv/installed-webkit"
fi
cd Tests/Browser
PYTHONDONTWRITEBYTECODE=1 exec xvfb-run -a "$venv/bin/python" -m pytest -q -p no:cacheprovider \
    -W "ignore:setting remote_server_addr:DeprecationWarning" "$@" webkit
