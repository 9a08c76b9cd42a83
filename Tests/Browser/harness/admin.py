"""The admin page in a real browser."""

import json

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from harness.browser import Profile

expect.set_options(timeout=60_000)

VIOLATIONS = """
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", (event) => {
        violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
    });
"""


class AdminPage:
    """A tab with the admin page."""

    def __init__(self, browser, origin, key, **options):
        self.profile = Profile(browser, **options)
        self.profile.context.add_init_script(VIOLATIONS)
        self.origin, self.key = origin, key
        self.user = "admin"
        self.errors = []
        self.page = self.profile.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.goto(origin + "/admin")

    # What the operator does

    def sign_in(self, key=None):
        self.page.get_by_label("Admin key").fill(key or self.key)
        self.page.get_by_role("button", name="Sign in").click()
        return self

    def open(self, *path):
        """Opens a screen by its address. The page shows the earlier screen for a moment after the address changed."""
        address = "/".join(part.replace(":", "%3A").replace("/", "%2F") for part in path)
        self.page.goto(f"{self.origin}/admin#/{address}")
        current = self.page.get_by_label("Screens").locator("[aria-current=page]")
        expect(current).to_have_attribute("href", f"#/{path[0]}")
        expect(self.page.locator("main > *")).to_have_js_property("path", list(path[1:]))
        expect(self.page.locator("main h1")).to_be_visible()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def enter(self, label, number):
        """Replaces the number of a field. The driver of Firefox would add to it."""
        field = self.page.get_by_label(label)
        field.press("ControlOrMeta+a")
        field.press_sequentially(str(number))

    def confirm(self, name, **fields):
        """Answers the question that the page asks, after changing its fields."""
        dialog = self.page.get_by_role("dialog")
        for label, value in fields.items():
            control = dialog.get_by_label(label)
            control.select_option(value) if control.evaluate("it => it.tagName") == "SELECT" else control.fill(value)
        dialog.get_by_role("button", name=name, exact=True).click()

    # What the page shows

    def heading(self, text):
        expect(self.page.get_by_role("heading", level=1)).to_have_text(text)

    def says(self, text):
        expect(self.page.locator("main > * > .status")).to_have_text(text)

    def row(self, text):
        return self.page.get_by_role("row").filter(has_text=text)

    def check(self):
        """Checks that the page has no error, no violation of its policy, and nothing serious for axe."""
        assert self.page.evaluate("() => violations") == []
        # Answers with an error status are errors of the console too.
        assert [error for error in self.errors if "status of" not in error] == []
        found = Axe().run(self.page).response["violations"]
        serious = [item for item in found if item["impact"] in ("serious", "critical")]
        assert serious == [], json.dumps(serious, indent=1)

    def prepare_screenshot(self):
        """The page already shows what an operator sees. Returns what the browser logged."""
        return self.page.evaluate("() => violations")
