#!/usr/bin/env bash
# Starts a PostgreSQL server for tests, and installs Debian's PostgreSQL first if it is missing.
#
# The server listens only on a Unix socket in its directory, and does not wait for the disk. Its data may be deleted
# after --stop.
#   --stop         stops the server
#   DIR=…          the directory of the server (default: .build/test-postgres). If PostgreSQL's user may not enter it,
#                  or its path is too long for a socket, the server runs in a directory below /tmp.
# DIR/url has the URL of the database while the server runs.
set -euo pipefail
cd "$(dirname "$0")/.."
link=$(realpath -m "${DIR:-.build/test-postgres}")
dir=$(cat "$link/location" 2>/dev/null || echo "$link")
. scripts/server-tools.sh
control() { as_user "$(bin)/pg_ctl" --silent --pgdata="$dir/data" "$@"; }

if [ "${1:-}" = --stop ]; then
    rm -f "$link/url"
    [ ! -e "$dir/data/postmaster.pid" ] || control --mode=fast --wait stop
    exit
fi
install_postgres
prepare() {
    mkdir -p "$dir"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; fi
}
prepare
if [ ${#dir} -gt 90 ] || ! as_user test -w "$dir"; then
    dir=/tmp/scrollback-postgres-$(echo "$link" | cksum | cut -d ' ' -f 1)
    prepare
    echo "$dir" >"$link/location"
fi
[ -e "$dir/data/PG_VERSION" ] || create_server "$dir/data" "$dir"
control status >/dev/null || control --wait --log="$dir/log" start
create_database "$dir" 5432
echo "postgres://scrollback@/scrollback?host=$dir" >"$link/url"
