#!/usr/bin/env bash
# Installs the load balancer for tests with several servers, Debian's HAProxy, if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/server-tools.sh
[ -x /usr/sbin/haproxy ] || install_packages haproxy
