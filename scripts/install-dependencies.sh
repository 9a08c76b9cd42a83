#!/usr/bin/env bash
# Installs missing system libraries that the build requires. On macOS, Xcode includes all of them except libpq and
# cnats.
# Usage: scripts/install-dependencies.sh [PROGRAM[:PACKAGE] …]
#   PROGRAM  another program that is required, from the package of the same name unless another one is given
set -euo pipefail
[ "$(uname)" = Linux ] || exit 0
missing=()
[ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
[ -e /usr/include/gd.h ] || missing+=(libgd-dev)
[ -e /usr/include/postgresql/libpq-fe.h ] || [ -e /usr/include/libpq-fe.h ] || missing+=(libpq-dev)
[ -e /usr/include/nats/nats.h ] || missing+=(libnats-dev)
[ -e /usr/include/expat.h ] || missing+=(libexpat1-dev)
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
command -v openssl >/dev/null || missing+=(openssl)
for program in "$@"; do command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}"); done
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "Install SQLite 3, libgd, libpq, cnats, expat and zlib with their headers, openssl${*:+, }${*##*:}." >&2
    exit 1
fi
echo "Installing ${missing[*]}." >&2
sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq "${missing[@]}"
