"""Pages of another origin than the server's."""

import pytest
from playwright.sync_api import Error

from harness.browser import WEB, Tab
from harness.proxy import Proxy
from harness.server import Server


@pytest.fixture
def servers(world, tmp_path_factory):
    """Starts a server that allows an origin, and returns a function that opens a page of any origin."""
    allowed = Server(tmp_path_factory.mktemp("allowed"), "--allow-origin", world.proxy.url)
    stranger = Proxy(world.server.port)
    allowed.group("crew", "alice", "bob")

    def open_page(origin):
        tab = Tab(world.profile(), origin, "alice", allowed.token("alice"), allowed.url)
        world.tabs.append(tab)
        return tab

    yield allowed, stranger.url, open_page
    stranger.stop()
    allowed.close()


def test_a_page_of_an_allowed_origin_uses_the_sdk_of_the_server(world, servers):
    server, _, open_page = servers
    alice = open_page(world.proxy.url)
    alice.online()
    alice.send("group:crew", "from another origin")
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert [message["sender"] for message in server.history("bob", "group:crew")] == ["alice"]


def test_a_page_of_another_origin_gets_neither_the_files_nor_a_connection(world, servers):
    server, stranger, open_page = servers
    if not WEB:
        with pytest.raises(Error, match="Failed to fetch|error loading"):
            open_page(stranger)
    page = world.profile().context.new_page()
    page.goto(stranger + "/healthz")
    result = page.evaluate(
        """(url) => new Promise((resolve) => {
            const socket = new WebSocket(url, "scrollback.v1.json");
            socket.onopen = () => resolve("open");
            socket.onclose = () => resolve("refused");
        })""",
        server.url.replace("http", "ws") + "/v1/connect",
    )
    assert result == "refused"
