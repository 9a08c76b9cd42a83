#!/usr/bin/env bash
# Installs nginx where it is missing: it serves and receives files beside us in `scrollback-bench media`.
set -euo pipefail
command -v nginx >/dev/null && exit 0
[ -x /usr/sbin/nginx ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "no nginx, and no apt-get to install it: its figures are left out"
    exit 0
fi
echo "installing nginx"
# RUNLEVEL=1: the package's own service is not started.
DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends nginx-light >/dev/null
