#!/usr/bin/env bash
# Checks the browser SDK (Web) without a browser: format, lint rules, types, and the tests that run in deno.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/web-tools.sh deno fmt --check
scripts/web-tools.sh deno lint
scripts/web-tools.sh deno check --quiet --no-remote admin chat sdk tests
scripts/web-tools.sh deno test --quiet --no-check --no-remote --allow-read tests
