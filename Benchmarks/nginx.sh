#!/usr/bin/env bash
# Installs nginx if it is missing. `scrollback-bench media` compares the server with nginx.
set -euo pipefail
command -v nginx >/dev/null && exit 0
[ -x /usr/sbin/nginx ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "nginx is missing and can't be installed without apt-get. Its figures are omitted."
    exit 0
fi
echo "Installing nginx."
# RUNLEVEL=1 prevents the package from starting its own service.
DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends nginx-light >/dev/null
