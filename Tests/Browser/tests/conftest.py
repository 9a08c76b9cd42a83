import pathlib
import sys

import pytest
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.admin import AdminPage  # noqa: E402
from harness.browser import NAME, Profile, Tab, launch  # noqa: E402
from harness.proxy import Proxy  # noqa: E402
from harness.server import ROOT, Server  # noqa: E402


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright):
    browser = launch(playwright)
    yield browser
    browser.close()


class World:
    """A server, a network that can fail, and the users' browsers."""

    def __init__(self, browser, folder, *arguments, **options):
        self.browser = browser
        self.server = Server(folder, *arguments, **options)
        self.proxies = []
        self.profiles = []
        self.tabs = []
        self.devices = []
        self.proxy = self.network()

    def network(self):
        """A network of its own, such as that of one device."""
        self.proxies.append(Proxy(self.server.port))
        return self.proxies[-1]

    def profile(self, **options):
        self.profiles.append(Profile(self.browser, **options))
        return self.profiles[-1]

    def device(self, number):
        """The profile and the network of a device that all tests of the module use: it has the files of the SDK."""
        while len(self.devices) <= number:
            self.devices.append((Profile(self.browser), Proxy(self.server.port)))
        return self.devices[number]

    def tab(self, user, profile=None, origin=None):
        """Opens a tab, in a new profile unless one is given. Its connection goes through the proxy."""
        tab = Tab(profile or self.profile(), origin or self.proxy.url, user, self.server.token(user))
        self.tabs.append(tab)
        return tab

    def admin_page(self, key=None, **options):
        """Opens the admin page in a new profile."""
        page = AdminPage(self.browser, self.server.url, key or self.server.admin, **options)
        self.profiles.append(page.profile)
        self.tabs.append(page)
        return page

    def close_browsers(self):
        """Ends the users' browsers and their networks. The server continues, and so do devices of the module."""
        for tab in self.tabs:
            tab.page.close()
        for profile in self.profiles:
            profile.close()
        for proxy in self.proxies:
            proxy.stop()
        self.profiles, self.proxies, self.tabs = [], [], []

    def close(self):
        self.close_browsers()
        for profile, proxy in self.devices:
            profile.close()
            proxy.stop()
        self.server.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    setattr(item, f"report_{call.when}", outcome.get_result())


def report_failure(world, node):
    """Saves screenshots of the tabs if the test failed."""
    report = getattr(node, "report_call", None)
    if report is not None and report.failed:
        save_screenshots(world, node.name.replace("/", "-"))


def save_screenshots(world, name):
    folder = ROOT / ".build/browser-failures"
    folder.mkdir(parents=True, exist_ok=True)
    for number, tab in enumerate(world.tabs):
        if tab.page.is_closed():
            continue
        state = tab.prepare_screenshot()
        path = folder / f"{name}-{NAME}-{number}-{tab.user}.png"
        tab.page.screenshot(path=path)
        print(f"Screenshot: {path}\nState: {state}\nErrors: {tab.errors}")
    print(world.server.report())


@pytest.fixture
def make_world(browser, tmp_path, request):
    """Starts a server with options, and ends it after the test."""
    worlds = []

    def make(*arguments, browser=browser, **options):
        worlds.append(World(browser, tmp_path, *arguments, **options))
        return worlds[-1]

    yield make
    for world in worlds:
        report_failure(world, request.node)
        world.close()


@pytest.fixture
def world(make_world):
    return make_world()


@pytest.fixture(scope="module")
def world_of_module(browser, tmp_path_factory):
    """A server for all tests of a module."""
    world = World(browser, tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture
def shared_world(world_of_module, request):
    """A server that earlier tests have used. The test needs users and conversations of its own."""
    if world_of_module.server.process.poll() is not None:
        world_of_module.server.start()
    world_of_module.proxy = world_of_module.network()
    yield world_of_module
    report_failure(world_of_module, request.node)
    world_of_module.close_browsers()
