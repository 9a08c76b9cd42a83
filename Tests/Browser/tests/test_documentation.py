"""The page of Documentation/web.md, as a reader would try it."""

import http.server
import re
import threading

import pytest
from playwright.sync_api import expect

from harness.browser import WEB, serve_from_folder
from harness.server import ROOT, Server, free_port


@pytest.fixture
def demo(tmp_path):
    """Starts the demo server, and a server of the page on an allowed origin."""
    port = free_port()
    server = Server(tmp_path, "--demo", "--allow-origin", f"http://localhost:{port}")
    source, *_ = re.findall(r"```html\n(.+?)```", (ROOT / "Documentation/web.md").read_text(), re.S)
    page = source.replace("TOKEN", server.token("alice")).replace("http://127.0.0.1:8080", server.url)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    pages = http.server.ThreadingHTTPServer(("localhost", port), Handler)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    yield server, f"http://localhost:{port}"
    pages.shutdown()
    server.close()


def test_the_page_of_the_documentation_shows_a_chat_and_sends_once(browser, demo):
    server, address = demo
    context = browser.new_context()
    if WEB:
        context.route(re.compile("/(chunks|sdk)/"), serve_from_folder)
    page = context.new_page()
    page.goto(address)
    lines = page.locator("#messages li")
    expect(lines.first).to_be_visible(timeout=60_000)
    server.kill()
    page.fill("#text", "sent while the server is down")
    page.click("button")
    expect(lines.last).to_contain_text("sent while the server is down (")
    server.start()
    page.goto(address)
    expect(lines.last).to_have_text("alice: sent while the server is down", timeout=60_000)
    sent = [message["content"]["text"] for message in server.history("alice", "group:albatross")]
    assert sent.count("sent while the server is down") == 1
    context.close()
