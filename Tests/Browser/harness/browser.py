"""Pages of a real browser that use the SDK."""

import functools
import os
import pathlib
import re

from harness.waiting import eventually

FOLDER = pathlib.Path(__file__).resolve().parents[1]
SOURCES = FOLDER.parents[1] / "Web"
# The check of logs that the tests of the state machines use, for page.js.
INVARIANTS = (SOURCES / "tests/invariants.js").read_text().replace("export function", "function") + "\n"
# The folder Web or Web/bundle, to test changed files without a build. By default the server's own files are tested.
WEB = os.environ.get("SCROLLBACK_WEB")
NAME = os.environ.get("SCROLLBACK_BROWSER", "chromium")


def launch(playwright, chromium="chromium-headless-shell"):
    """Starts the browser of the tests. Chromium without its windows loads a page in a third of the time."""
    if NAME == "firefox":
        return launch_firefox(playwright)
    return playwright.chromium.launch(executable_path=f"/usr/bin/{chromium}")


def launch_firefox(playwright, preferences=None):
    path = "/usr/bin/firefox-esr"
    return playwright.firefox.launch(channel="moz-firefox", executable_path=path, firefox_user_prefs=preferences)


TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
# What Sources/ScrollbackServer/HTTP/WebFile.swift sends with a page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
    "connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'"
)


def part(name):
    """A pattern of the address of a module that a page loads later. In the bundle, its name has a hash."""
    return re.compile(rf"/{name}(-[0-9A-Z]{{8}})?\.js$")


@functools.cache
def source_url():
    """The address of a server of the sources, for tests of modules that no app can import."""
    # It imports this module.
    from harness.front import Front

    return Front(None, SOURCES).url


def serve_from_folder(route):
    if route.request.url.startswith(source_url()):
        return route.continue_()
    path = pathlib.Path(WEB) / (route.request.url.split("/", 3)[3].split("#")[0] or "chat/index.html")
    if path.is_dir():
        path /= "index.html"
    if path.is_file():
        # The server names the origins that it allows.
        headers = {"Content-Type": TYPES[path.suffix], "Access-Control-Allow-Origin": "*"}
        if path.suffix == ".html":
            headers["Content-Security-Policy"] = POLICY
        route.fulfill(headers=headers, body=path.read_text())
    elif path.name == "demo.json":
        route.continue_()
    else:
        route.fulfill(status=404)


# The driver of Firefox reports a logged error as "Error", without its text.
LOG_TEXTS = """
    const { error } = console;
    const textOf = (part) => part instanceof Error ? `${part.name}: ${part.message} (${part.stack})` : part;
    console.error = (...parts) => error.apply(console, parts.map(textOf));
"""


class Profile:
    """A browser profile: the tabs share their storage."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(60_000)
        self.pages = []
        name = browser.browser_type.name
        if name == "chromium":  # It does not know that pages that a test fulfills are from this computer.
            self.context.grant_permissions(["local-network-access"])
        if name == "firefox":
            self.context.add_init_script(LOG_TEXTS)
        if WEB:
            pages = re.compile(r"^https?://[^/]+/((admin|chat|chunks|sdk)(/.*)?(#.*)?)?$")
            self.context.route(pages, serve_from_folder)

    def close(self):
        self.context.close()


class Tab:
    """A page with a client of one user."""

    def __init__(self, profile, origin, user, token, server=None):
        """Opens a page of `origin` with a client of `server`, by default of the same origin."""
        self.profile, self.origin, self.user, self.token = profile, origin, user, token
        self.server = server or origin
        self.errors = []
        self.page = profile.context.new_page()
        profile.pages.append(self.page)
        self.page.on("pageerror", lambda error: self._failed(str(error)))
        self.page.on("console", lambda message: self._log(message))
        self.load()

    def _failed(self, error):
        # Firefox reports each connection that the test cuts.
        if "ws://" not in error:
            self.errors.append(error)

    def _log(self, message):
        if message.type == "error" and "Scrollback" in message.text:
            self.errors.append(message.text)

    def load(self):
        """Opens the page, or loads it again. Any response of the server is a page of its origin."""
        eventually("the page loads", self._goto)
        script = "async ([server, sources]) => {" + INVARIANTS + (FOLDER / "page.js").read_text() + "}"
        self.page.evaluate(script, [self.server, source_url()])
        self.page.evaluate("([user, token]) => test.open(user, token)", [self.user, self.token])

    def _goto(self):
        try:
            return self.page.goto(self.origin + "/healthz") is not None
        except Exception as error:  # The network of the test may be down.
            if "ERR_" in str(error) or "NS_ERROR" in str(error):
                return False
            raise

    def run(self, script, *arguments):
        return self.page.evaluate(script, list(arguments))

    # What the page shows

    def watch(self, conversation, **options):
        self.run("([id, options]) => test.watch(id, options)", conversation, options)

    def items(self, conversation):
        return self.run("([id]) => test.items(id)", conversation)

    def texts(self, conversation):
        return [item["text"] for item in self.items(conversation)]

    def recent(self, conversation):
        return self.run("([id]) => test.recent(id)", conversation)

    def unread(self, conversation):
        entry = self.recent(conversation)
        return entry and entry["unread"]

    @property
    def connection(self):
        return self.run("() => test.connection?.state")

    # What the user does

    def send(self, conversation, text):
        return self.run("([id, text]) => test.send(id, text)", conversation, text)

    def unsent(self):
        return self.run("() => test.client.unsentCount()")

    def queue(self):
        return self.run("() => test.queue()")

    def until(self, what, condition, seconds=60):
        return eventually(f"{what} ({self.user})", condition, seconds)

    def online(self):
        self.until("the client is online", lambda: self.connection == "online")

    def close(self):
        self.page.close()

    def prepare_screenshot(self):
        """Shows the client's list, because the page itself shows nothing. Returns the client's state."""
        self.run("() => (document.body.textContent = JSON.stringify(globalThis.test?.list ?? null, null, 1))")
        return self.run("() => JSON.stringify([globalThis.test?.connection, globalThis.test?.client?.storage.value])")
