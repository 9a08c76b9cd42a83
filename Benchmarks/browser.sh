#!/usr/bin/env bash
# Measures the chat page in Chromium. Installs the browser and its driver if they are missing.
#
#   Benchmarks/browser.sh [OPTION …]    --help lists the options
#
#   VENV=DIR    the directory of the virtual environment (default: .build/web-tools)
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/web-tools.sh --browsers
PYTHONDONTWRITEBYTECODE=1 exec "$(realpath -m "${VENV:-.build/web-tools}")/bin/python" Benchmarks/Browser/main.py "$@"
