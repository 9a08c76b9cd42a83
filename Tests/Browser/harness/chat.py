"""The chat page in a tab, as a user sees it."""

import importlib.resources

from harness.waiting import eventually
from playwright.sync_api import expect

# The accessibility checker, which its package has as one script.
AXE = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()

expect.set_options(timeout=60_000)


class ChatPage:
    """A tab with the chat page, signed in with a token in the address unless another path is given."""

    def __init__(self, world, user, profile=None, path=None):
        self.world, self.user = world, user
        self.profile = profile or world.profile()
        self.page = self.profile.context.new_page()
        self.errors, self.violations, self.addresses = [], [], []
        self.page.on("pageerror", lambda error: self._failed(str(error)))
        self.page.on("console", self._logged)
        self.page.on("request", lambda request: self.addresses.append(request.url))
        self.page.on("dialog", lambda dialog: dialog.accept())
        world.tabs.append(self)
        self.goto(f"/#token={world.server.token(user)}" if path is None else path)

    def _logged(self, message):
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            self.violations.append(message.text)
        elif message.type == "error" and "Failed to load resource" not in message.text:
            self._failed(message.text)

    def _failed(self, text):
        # Browsers log each attempt to connect that fails.
        if "/v1/connect" not in text:
            self.errors.append(text)

    def goto(self, path):
        def loaded():
            try:
                return self.page.goto(self.world.proxy.url + path) is not None
            except Exception as error:  # The network of the test may be down.
                if "ERR_" in str(error) or "NS_ERROR" in str(error):
                    return False
                raise

        eventually("the page loads", loaded)

    # Parts of the page

    @property
    def list(self):
        return self.page.locator("conversation-list")

    def entry(self, title):
        return self.list.locator("nav li").filter(has=self.page.locator(".title", has_text=title))

    @property
    def timeline(self):
        return self.page.locator("timeline-view")

    def message(self, text):
        return self.timeline.locator("li.message").filter(has_text=text)

    @property
    def composer(self):
        return self.page.locator("conversation-view textarea")

    @property
    def bar(self):
        return self.page.locator("connection-bar")

    @property
    def side(self):
        return self.page.locator("aside")

    def texts(self):
        return self.timeline.locator("li.message .text").all_text_contents()

    # What the user does

    def open(self, title):
        self.entry(title).locator("button").click()
        expect(self.page.locator("conversation-view h2")).to_contain_text(title)

    def send(self, text):
        self.composer.fill(text)
        self.composer.press("Enter")

    def act(self, text, label):
        """Presses a button of a message."""
        row = self.message(text)
        button = row.get_by_role("button", name=label, exact=True)

        def is_shown():
            # The page can replace the row, for example when it has loaded a name. The buttons are then gone.
            row.locator(".bubble").hover()
            return button.is_visible()

        self.until("the buttons are shown", is_shown)
        button.click()

    def until(self, what, condition):
        return eventually(f"{what} ({self.user})", condition)

    def prepare_screenshot(self):
        """The page already shows what a user sees. Returns what the browser logged."""
        return self.violations
