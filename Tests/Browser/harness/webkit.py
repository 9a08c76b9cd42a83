"""The chat page in WebKitGTK, which Playwright can't drive."""

import glob

from harness.waiting import eventually
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.webkitgtk.service import Service

BROWSERS = "/usr/lib/*/webkit2gtk-4.*/MiniBrowser"
# WebKitGTK has no log of the console for its driver.
COLLECT_ERRORS = """
    globalThis.errors = [];
    addEventListener("error", ({ message }) => errors.push(message));
    addEventListener("unhandledrejection", ({ reason }) => errors.push(String(reason)));
    addEventListener("securitypolicyviolation", (event) => errors.push(event.violatedDirective));
"""


def launch():
    """Starts the browser. Each start has a storage of its own."""
    options = webdriver.WebKitGTKOptions()
    options.binary_location = glob.glob(BROWSERS)[0]
    options.add_argument("--automation")
    return webdriver.WebKitGTK(options=options, service=Service("/usr/bin/WebKitWebDriver"))


class WebKitPage:
    """A tab with the chat page."""

    def __init__(self, driver, url, path):
        self.driver, self.url = driver, url
        self.window = driver.current_window_handle
        driver.get(url + path)
        driver.execute_script(COLLECT_ERRORS)

    def show(self):
        """Makes this tab the current one. Tests then act in it."""
        self.driver.switch_to.window(self.window)
        return self

    def reload(self):
        self.driver.refresh()
        self.driver.execute_script(COLLECT_ERRORS)

    def errors(self):
        return self.driver.execute_script("return errors")

    # What the page shows

    def until(self, what, condition):
        """Waits for a condition. The page can replace an element while the test reads it."""

        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False

        return eventually(what, holds)

    def find(self, selector, text=""):
        """Waits for an element that is shown and contains a text."""

        def found():
            elements = self.driver.find_elements(By.CSS_SELECTOR, selector)
            return next((it for it in elements if it.is_displayed() and text in it.get_attribute("textContent")), None)

        return self.until(f"{selector} with '{text}' is shown", found)

    def texts(self):
        """The texts of the messages in the window of the timeline."""
        script = "return [...document.querySelectorAll('timeline-view li.message .text')].map((it) => it.textContent)"
        return self.driver.execute_script(script)

    def message(self, text):
        return self.find("timeline-view li.message", text)

    def tick(self, text):
        """Waits for the state of an own message that is shown."""
        return self.message(text).find_element(By.CSS_SELECTOR, ".tick").get_attribute("aria-label")

    def has_gap(self):
        return self.driver.execute_script("return document.querySelector('timeline-view .gap') !== null")

    # What the user does

    def open(self, title):
        self.find("conversation-list nav li button", title).click()
        self.find("conversation-view h2", title)

    def send(self, text):
        self.find("conversation-view textarea").send_keys(text, Keys.ENTER)
