# Functions for scripts that install and run servers for tests. It is sourced, not run.

# The folder of PostgreSQL's programs, of the newest installed version.
bin() { ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -1 | sed 's,/initdb$,,'; }

# PostgreSQL refuses to run as root.
as_user() { if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }

# Installs Debian's packages PACKAGE… without starting their services.
install_packages() {
    command -v apt-get >/dev/null || { echo "Install these packages: $*" >&2; return 1; }
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "Installing $*." >&2
    $sudo apt-get update -qq
    local policy=/usr/sbin/policy-rc.d status=0
    if [ -e $policy ]; then policy=""; else
        printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
        $sudo chmod +x $policy
    fi
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" || status=$?
    [ -z "$policy" ] || $sudo rm -f "$policy"
    return $status
}

install_postgres() {
    [ -z "$(bin)" ] || return 0
    # The package would create and start a server of its own.
    install_packages postgresql-common
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "create_main_cluster = false" | $sudo tee -a /etc/postgresql-common/createcluster.conf >/dev/null
    install_packages postgresql
}

# Creates the data directory DATA of a server with the socket folder FOLDER, which does not wait for the disk.
create_server() {
    local data=$1 folder=$2
    rm -rf "$data"
    as_user "$(bin)/initdb" --pgdata="$data" --username=scrollback --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
        --no-sync >/dev/null
    cat >>"$data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$folder'
max_connections = 300
dynamic_shared_memory_type = mmap
fsync = off
END
}

# Creates the database scrollback of the server at the socket of FOLDER and PORT, if it does not exist.
create_database() {
    local psql=("$(bin)/psql" --quiet --tuples-only --no-align --host="$1" --port="$2" --username=scrollback postgres)
    [ -n "$(as_user "${psql[@]}" -c "SELECT 1 FROM pg_database WHERE datname = 'scrollback'")" ] ||
        as_user "${psql[@]}" -c "CREATE DATABASE scrollback"
}
