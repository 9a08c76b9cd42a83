#!/usr/bin/env python3
"""Runs an S3 server for tests until SIGTERM: OpenStack Swift with its S3 interface, on a loopback address.

It checks signatures, and has multipart uploads, ranges, and lists with continuation. `scripts/test-s3.sh` installs and
starts it. The argument is the directory of the server. Its file `url` has the value for `scrollback serve --files`
while the server runs. The access key is `test:tester`, and the secret key is `testing`.
"""

import base64
import email.utils
import hmac
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import xattr
from swift.common.ring import RingBuilder

BUCKET = "scrollback"
ACCOUNT, USER, SECRET = "test", "tester", "testing"
# The order in which they start: the proxy needs the others.
SERVERS = ("account", "container", "object", "proxy")
FILTERS = ("catch_errors", "gatekeeper", "healthcheck", "listing_formats", "s3api", "tempauth", "slo", "dlo")
# On a busy machine, the default times would be too short: an object that the container server does not learn of within
# a second is missing in lists, and the proxy avoids a server that was slow a few times.
PATIENCE = (
    "conn_timeout = 30", "node_timeout = 60", "container_update_timeout = 60", "error_suppression_limit = 1000000")
OPTIONS = {
    "tempauth": f"user_{ACCOUNT}_{USER} = {SECRET} .admin",
    "s3api": "s3_acl = false",
}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def write(path, *lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def section(name, *lines):
    return "\n".join((f"[{name}]",) + lines)


def configure(folder, ports):
    """Writes the settings and the rings, which say where the data of each kind is stored: on one "disk" here."""
    config, disk = os.path.join(folder, "config"), os.path.join(folder, "disks", "disk")
    os.makedirs(config)
    os.makedirs(disk)
    write(
        os.path.join(config, "swift.conf"),
        section("swift-hash", "swift_hash_path_suffix = tests"),
        section("storage-policy:0", "name = single", "default = yes"))
    for server in SERVERS:
        common = section(
            "DEFAULT", "bind_ip = 127.0.0.1", f"bind_port = {ports[server]}", f"swift_dir = {config}",
            f"devices = {os.path.dirname(disk)}", "mount_check = false", "workers = 0", "log_level = WARNING",
            # By default, a disk that is 99 % full accepts nothing.
            "fallocate_reserve = 0", f"user = {os.environ.get('USER') or 'root'}")
        if server == "proxy":
            pipeline = " ".join(FILTERS) + " proxy-server"
            filters = [
                section(f"filter:{name}", f"use = egg:swift#{name}", OPTIONS.get(name, "")) for name in FILTERS]
            app = section(
                "app:proxy-server", "use = egg:swift#proxy", "account_autocreate = true", *PATIENCE)
            write(os.path.join(config, "proxy.conf"), common, section("pipeline:main", f"pipeline = {pipeline}"), app,
                  *filters)
            continue
        write(
            os.path.join(config, f"{server}.conf"), common,
            section("pipeline:main", f"pipeline = {server}-server"),
            section(f"app:{server}-server", f"use = egg:swift#{server}", *PATIENCE))
        ring = RingBuilder(4, 1, 1)
        ring.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": ports[server], "device": "disk",
                      "weight": 1, "replication_ip": "127.0.0.1", "replication_port": ports[server]})
        ring.rebalance()
        ring.get_ring().save(os.path.join(config, f"{server}.ring.gz"))


def wait_until_ready(server, port, process):
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit(f"The {server} server of Swift does not start.")


def make_bucket(port):
    """Creates the bucket with a request that is signed with Signature Version 2, which takes few lines."""
    date = email.utils.formatdate(usegmt=True)
    signed = hmac.digest(SECRET.encode(), f"PUT\n\n\n{date}\n/{BUCKET}".encode(), "sha1")
    authorization = f"AWS {ACCOUNT}:{USER}:{base64.b64encode(signed).decode()}"
    put = urllib.request.Request(
        f"http://127.0.0.1:{port}/{BUCKET}", method="PUT", headers={"Date": date, "Authorization": authorization})
    urllib.request.urlopen(put, timeout=60).close()


def data_folder(folder):
    """Returns a folder whose file system has the extended attributes that Swift needs."""
    for parent in (folder, None):
        data = tempfile.mkdtemp(prefix="scrollback-s3-", dir=parent)
        try:
            xattr.setxattr(data, "user.test", b"1")
            return data
        except OSError:
            os.rmdir(data)
    sys.exit("No file system with extended attributes was found: use another directory with DIR=….")


def main():
    folder = os.path.abspath(sys.argv[1])
    url = os.path.join(folder, "url")
    data = data_folder(folder)
    # Without it, the finally clauses would not run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = []
    try:
        ports = dict(zip(SERVERS, free_ports(len(SERVERS))))
        configure(data, ports)
        for server in SERVERS:
            program = os.path.join(os.path.dirname(sys.executable), f"swift-{server}-server")
            config = os.path.join(data, "config", f"{server}.conf")
            with open(os.path.join(folder, f"{server}.log"), "w", encoding="utf-8") as log:
                processes.append(subprocess.Popen(
                    [sys.executable, program, config, "--verbose"], stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        for server, process in zip(SERVERS, processes):
            wait_until_ready(server, ports[server], process)
        make_bucket(ports["proxy"])
        write(url + ".new", f"s3://{BUCKET}?endpoint=http://127.0.0.1:{ports['proxy']}&region=us-east-1")
        os.rename(url + ".new", url)
        while all(process.poll() is None for process in processes):
            time.sleep(1)
    finally:
        if os.path.exists(url):
            os.remove(url)
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
