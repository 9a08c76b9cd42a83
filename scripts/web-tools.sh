#!/usr/bin/env bash
# Installs the tools of the browser SDK (Web) if they are missing, and runs one of them:
#
#   scripts/web-tools.sh                  only installs the tools
#   scripts/web-tools.sh deno ARGUMENTS   runs deno in the folder Web
#   scripts/web-tools.sh --browsers       installs Chromium, Firefox and their driver for Tests/Browser, on Debian
#   scripts/web-tools.sh --test           runs the tests of Tests/Browser. Without the browsers, it skips them and says
#                                         so; in CI, it installs the browsers.
#
#   VENV=DIR       the directory of the virtual environment (default: .build/web-tools)
#   PROCESSES=N    the number of processes that run tests, at most 10 (default: 3)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath -m "${VENV:-.build/web-tools}")
missing=()
for browser in chromium chromium-headless-shell firefox-esr; do
    command -v $browser >/dev/null || missing+=("$browser")
done
if [ "${1:-}" = --test ] && [ ${#missing[@]} -gt 0 ] && [ -z "${CI:-}" ]; then
    echo "The tests of the browser SDK are skipped: ${missing[*]} missing. Run scripts/web-tools.sh --browsers."
    exit 0
fi
if ! cmp -s Web/requirements.txt "$venv/installed"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r Web/requirements.txt
    cp Web/requirements.txt "$venv/installed"
fi
if [[ "${1:-}" =~ ^--(browsers|test)$ ]]; then
    [ ${#missing[@]} -eq 0 ] || scripts/install-dependencies.sh "${missing[@]}"
    if ! cmp -s Tests/Browser/requirements.txt "$venv/installed-browsers"; then
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r Tests/Browser/requirements.txt
        cp Tests/Browser/requirements.txt "$venv/installed-browsers"
    fi
    [ "$1" = --test ] || exit 0
    cd Tests/Browser
    export PYTHONDONTWRITEBYTECODE=1
    # The tests mostly wait for the browser, so several processes share the cores.
    run_tests() {
        "$venv/bin/python" -m pytest -q -p no:cacheprovider -n "${PROCESSES:-3}" --dist worksteal tests "$@"
    }
    run_tests --durations=10
    # The long tests run everything but the search in Firefox too.
    [ -z "${SCROLLBACK_LONG:-}" ] || SCROLLBACK_BROWSER=firefox run_tests --ignore tests/test_search.py
    exit 0
fi
if [ $# -gt 0 ]; then
    cd Web
    DENO_NO_UPDATE_CHECK=1 exec "$venv/bin/$1" "${@:2}"
fi
