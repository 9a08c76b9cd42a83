#!/usr/bin/env bash
# Runs a PostgreSQL primary with a synchronous standby for tests, without waiting for the disk.
#
# Usage: scripts/postgres-pair.sh COMMAND FOLDER
#
#   start              creates and starts both servers; FOLDER/url then has the URL of the database on the primary
#   pause-standby      pauses the standby, so that commits wait for it
#   continue-standby   continues the standby
#   stop-standby       stops the standby, so that it lacks later commits
#   fail-over          kills the primary, starts the standby if it is stopped, makes it the primary, and starts the
#                      killed server again as its standby
#   set-asynchronous   lets commits on the primary end without the standby
#   stop               kills both servers
#
# The servers are called a and b. FOLDER must be an existing folder with a path of at most 90 bytes. The servers listen
# only on Unix sockets in it.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2; exit 2; }
command=$1 folder=$(realpath "$2")
. "$(dirname "$0")/server-tools.sh"
declare -A port=([a]=5433 [b]=5434)

other() { if [ "$1" = a ]; then echo b; else echo a; fi; }
control() { as_user "$(bin)/pg_ctl" --silent --pgdata="$folder/$1" "${@:2}"; }
psql() {
    as_user "$(bin)/psql" --quiet --tuples-only --no-align --host="$folder" --port="${port[$1]}" \
        --username=scrollback --dbname=postgres "${@:2}"
}
start_server() { control "$1" --wait --log="$folder/$1.log" --options="--port=${port[$1]}" start; }

# Sends SIGKILL to all processes of a server and waits for their end: a process that lives on could still commit.
kill_server() {
    local main all
    local file=$folder/$1/postmaster.pid memory
    main=$(head -1 "$file" 2>/dev/null) || return 0
    # Another process can have the number of a server that has ended.
    [ "$(readlink "/proc/$main/cwd")" = "$folder/$1" ] || return 0
    # The main process can't start others while it is stopped.
    kill -STOP "$main" 2>/dev/null || return 0
    all="$main $(pgrep --parent "$main" | tr '\n' ' ' || true)"
    memory=$(sed -n 7p "$file" | awk '{ print $2 }')
    # Some have already ended.
    kill -KILL $all 2>/dev/null || true
    for process in $all; do
        while kill -0 "$process" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$process/status" 2>/dev/null; do
            sleep 0.02
        done
    done
    # A killed server leaves its shared memory.
    [ -z "$memory" ] || ipcrm -m "$memory" 2>/dev/null || true
    # PostgreSQL takes a process that nothing has waited for yet for a running one.
    rm -f "$folder/.s.PGSQL.${port[$1]}" "$folder/.s.PGSQL.${port[$1]}.lock" "$file"
}

# Sends SIGNAL to all processes of a server, first to the main process, which starts the others.
signal_server() {
    local main
    main=$(head -1 "$folder/$1/postmaster.pid")
    kill "-$2" "$main"
    # Some may have already ended.
    kill "-$2" $(pgrep --parent "$main") 2>/dev/null || true
}

# Makes SERVER the standby of PRIMARY, and commits wait for it from then on.
attach() {
    local primary=$1 server=$2
    rm -rf "${folder:?}/$server"
    as_user "$(bin)/pg_basebackup" --pgdata="$folder/$server" --host="$folder" --port="${port[$primary]}" \
        --username=scrollback --checkpoint=fast --wal-method=stream --write-recovery-conf --no-sync
    # Commits wait until the standby has connected.
    set_synchronous "$primary" '*'
    start_server "$server"
    until [ "$(psql "$primary" -c "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")" = 1 ]; do
        sleep 0.05
    done
}

# Sets for which standbys commits wait: '*' or none.
set_synchronous() {
    psql "$1" -c "ALTER SYSTEM SET synchronous_standby_names = '$2'" -c "SELECT pg_reload_conf()" >/dev/null
}

case $command in
start)
    install_postgres
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; fi
    create_server "$folder/a" "$folder"
    start_server a
    create_database "$folder" "${port[a]}"
    echo a >"$folder/primary"
    attach a b
    servers="host=$folder,$folder&port=${port[a]},${port[b]}"
    echo "postgres://scrollback@/scrollback?$servers&target_session_attrs=read-write" >"$folder/url"
    ;;
pause-standby) signal_server "$(other "$(cat "$folder/primary")")" STOP ;;
continue-standby) signal_server "$(other "$(cat "$folder/primary")")" CONT ;;
stop-standby) control "$(other "$(cat "$folder/primary")")" --wait stop ;;
fail-over)
    old=$(cat "$folder/primary")
    new=$(other "$old")
    kill_server "$old"
    control "$new" status >/dev/null || start_server "$new"
    control "$new" --wait promote
    # The new primary has no standby yet. Its changes must not wait for one.
    set_synchronous "$new" ''
    echo "$new" >"$folder/primary"
    attach "$new" "$old"
    ;;
set-asynchronous)
    primary=$(cat "$folder/primary")
    set_synchronous "$primary" ''
    until [ -z "$(psql "$primary" -c "SHOW synchronous_standby_names")" ]; do sleep 0.05; done
    ;;
stop) for server in a b; do kill_server "$server"; done ;;
*)
    commands="start, pause-standby, continue-standby, stop-standby, fail-over, set-asynchronous or stop"
    echo "There is no command $command. Use $commands." >&2
    exit 2
    ;;
esac
