import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.browser import WEB  # noqa: E402
from harness.front import Front  # noqa: E402
from harness.server import ROOT, Server  # noqa: E402
from harness.webkit import WebKitPage, launch  # noqa: E402


class World:
    """A server, a network that can fail, and a browser."""

    def __init__(self, folder, *arguments):
        self.server = Server(folder, *arguments)
        self.front = Front(self.server.port, WEB)
        self.driver = launch()
        self.pages = []

    def page(self, user=None):
        """Opens the chat page, in a new tab if one is open. With a user, the address has their token."""
        if self.pages:
            self.driver.switch_to.new_window("tab")
        path = "/" if user is None else f"/#token={self.server.token(user)}"
        self.pages.append(WebKitPage(self.driver, self.front.url, path))
        return self.pages[-1]

    def close(self):
        self.driver.quit()
        self.front.stop()
        self.server.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    setattr(item, f"report_{call.when}", outcome.get_result())


@pytest.fixture
def make_world(tmp_path, request):
    worlds = []

    def make(*arguments):
        worlds.append(World(tmp_path, *arguments))
        return worlds[-1]

    yield make
    report = getattr(request.node, "report_call", None)
    for world in worlds:
        if report is not None and report.failed:
            folder = ROOT / ".build/browser-failures"
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{request.node.name}-webkit.png"
            world.driver.save_screenshot(str(path))
            print(f"Screenshot: {path}\n{world.server.report()}")
        world.close()


@pytest.fixture
def world(make_world):
    return make_world()
