#!/usr/bin/env bash
# Measures the fastest peer: ejabberd with its archive in SQLite (WAL, synchronous=FULL). Takes about six minutes.
#
# The configuration and the load generator of ejabberd are in a folder that is not part of this repository. It has
# server.sh, which starts and stops the server, the loads run_a.sh to run_de.sh, and src/xmppbench.c. Without it, the
# script measures nothing and succeeds.
#
#   Benchmarks/peers.sh [FOLDER]        that folder (default: $SCROLLBACK_PEERS, or ../shared/peers)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-${SCROLLBACK_PEERS:-../shared/peers}}
if [ ! -d "$folder" ]; then
    echo "$folder does not exist. ejabberd is not measured. Set SCROLLBACK_PEERS to the folder of its load generator."
    exit 0
fi
server=ejabberd-sqlitewal
root=$(mktemp -d)
finish() {
    "$root/harness/server.sh" stop "$server" >/dev/null 2>&1 || true
    rm -rf "$root"
}
trap finish EXIT
if ! command -v ejabberdctl >/dev/null; then
    echo "Installing ejabberd."
    # RUNLEVEL=1 prevents the package from starting its own service.
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends \
        ejabberd erlang-p1-sqlite3 libsqlite3-dev sqlite3 gcc strace bc >/dev/null
fi
cp -r "$folder" "$root/harness"
grep -rl '@PEERS_ROOT@' "$root/harness" | xargs sed -i "s#@PEERS_ROOT@#$root#g"
mkdir -p "$root/harness/bin" "$root/data"
gcc -O2 -o "$root/harness/bin/xmppbench" "$root/harness/src/xmppbench.c"
for part in "run_a.sh $server" "run_b.sh $server" "run_c.sh $server 20000" "run_de.sh $server"; do
    echo "== ejabberd: $part"
    # shellcheck disable=SC2086
    (cd "$root/harness" && PARTS='d e' timeout 600 ./$part) 2>&1 | cut -c1-220 || echo "$part did not finish."
done
