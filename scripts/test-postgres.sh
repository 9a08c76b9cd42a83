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
bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1; }
# PostgreSQL refuses to run as root.
as_user() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
control() { (cd / && as_user "$(bin)/pg_ctl" --silent --pgdata="$dir/data" "$@"); }

if [ "${1:-}" = --stop ]; then
    rm -f "$link/url"
    [ ! -e "$dir/data/postmaster.pid" ] || control --mode=fast --wait stop
    exit
fi
if [ -z "$(bin)" ]; then
    command -v apt-get >/dev/null || { echo "Install PostgreSQL 14 or newer." >&2; exit 1; }
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "Installing postgresql." >&2
    $sudo apt-get update -qq
    # The package would start a server of its own.
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends postgresql-common
    echo "create_main_cluster = false" | $sudo tee -a /etc/postgresql-common/createcluster.conf >/dev/null
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends postgresql
fi
prepare() {
    mkdir -p "$dir"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; fi
}
prepare
if [ ${#dir} -gt 90 ] || ! (cd / && as_user test -w "$dir"); then
    dir=/tmp/scrollback-postgres-$(echo "$link" | cksum | cut -d ' ' -f 1)
    prepare
    echo "$dir" >"$link/location"
fi
if [ ! -e "$dir/data/PG_VERSION" ]; then
    rm -rf "$dir/data"
    (cd / && as_user "$(bin)/initdb" --pgdata="$dir/data" --username=scrollback --auth=trust --encoding=UTF8 \
        --locale=C.UTF-8 --no-sync >/dev/null)
    cat >>"$dir/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$dir'
max_connections = 300
fsync = off
END
fi
control status >/dev/null || control --wait --log="$dir/log" start
psql() { (cd / && as_user "$(bin)/psql" --quiet --tuples-only --no-align --host="$dir" --username=scrollback "$@"); }
[ -n "$(psql postgres -c "SELECT 1 FROM pg_database WHERE datname = 'scrollback'")" ] ||
    psql postgres -c "CREATE DATABASE scrollback"
echo "postgres://scrollback@/scrollback?host=$dir" >"$link/url"
