"""Measures the chat page in Chromium, with a server and a browser profile on this machine.

  Benchmarks/browser.sh [OPTION …]

The server is .build/release/scrollback, or the program in SCROLLBACK_BINARY. Each figure has its goal, and a page
without scripts of Scrollback for comparison where one is possible:

  list       from the navigation to the drawn list, with all conversations in the browser's store
  scroll     scrolling through the stored messages of one conversation: time between frames, and memory
  missed     from connecting until the messages that the client missed are drawn
  keys       from a key to the drawn letter, and from Enter to the drawn message
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("SCROLLBACK_BINARY", str(ROOT / ".build/release/scrollback"))
sys.path.insert(0, str(ROOT / "Tests/Browser"))

from bare import BarePages  # noqa: E402
from figures import Figures  # noqa: E402
from harness.browser import WEB  # noqa: E402
from harness.front import Front  # noqa: E402
from harness.waiting import eventually  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from scene import LONG, Scene  # noqa: E402

NAVIGATION = "nav li"
TIMELINE = "timeline-view li.message"
SCROLLER = "timeline-view .scroller"
SCROLL = "([name, ...rest]) => probe.scroll(document.querySelector(name), ...rest)"
MEASURES = ("list", "scroll", "missed", "keys")


class Benchmark:
    """A browser profile that has stored everything, and the measures."""

    def __init__(self, options, playwright, folder):
        self.options = options
        self.figures = Figures()
        self.log(f"Starting a server with {options.conversations} conversations and {options.messages} messages.")
        self.bare = BarePages()
        self.scene = Scene(folder, options.conversations, options.messages, self.bare.url)
        self.token = self.scene.server.token("alice")
        self.front = Front(self.scene.server.port, WEB) if WEB else None
        self.url = self.front.url if WEB else self.scene.server.url
        self.context = playwright.chromium.launch_persistent_context(
            folder / "profile", executable_path="/usr/bin/chromium", viewport={"width": 1280, "height": 800}
        )
        self.context.set_default_timeout(600_000)
        self.context.add_init_script(path=FOLDER / "probe.js")

    def log(self, text):
        print(text, file=sys.stderr, flush=True)

    def close(self):
        self.context.close()
        if self.front:
            self.front.stop()
        self.scene.close()
        self.bare.close()

    # Pages

    def chat(self):
        """Opens the chat page in a new tab."""
        page = self.context.new_page()
        page.goto(f"{self.url}/#token={self.token}")
        # A locator would take processor time, because it searches the page again and again.
        page.evaluate("() => probe.list")
        return page

    def online(self, page):
        self.until(page, "the client is online", "app.client.connection.value.state === 'online'")

    def until(self, page, what, expression):
        script = f"() => {{ const app = document.querySelector('scrollback-app'); return {expression}; }}"
        eventually(what, lambda: page.evaluate(script), seconds=600)

    def open(self, page, conversation):
        page.evaluate("(id) => document.querySelector('scrollback-app').open(id)", conversation)
        page.locator(TIMELINE).first.wait_for()
        self.until(page, "the newest message is shown", f"!document.querySelector('{SCROLLER} .gap')")

    def store(self):
        """Lets the browser store all conversations and all messages."""
        start = time.monotonic()
        page = self.chat()
        self.online(page)
        total = self.options.conversations + 1
        page.evaluate(
            """async ([id, total]) => {
                const { client } = document.querySelector("scrollback-app");
                for await (const { conversations } of client.recents({ limit: total })) {
                    if (conversations.length === total) break;
                }
                let query = { before: "latest", limit: 100 };
                while (query) query = (await client.conversation(id).history(query)).older;
            }""",
            [LONG, total],
        )
        page.close()
        self.log(f"The browser stored everything in {time.monotonic() - start:.0f} s.")

    # Measures

    def measure_list(self):
        chat, scripts, bare = [], [], []
        for number in range(self.options.rounds + 1):
            page = self.chat()
            if number == 0:  # The browser has compiled and cached the scripts after the first time.
                page.locator(NAVIGATION).nth(min(99, self.options.conversations)).wait_for(state="attached")
                self.bare.copy("/list", page)
            else:
                chat.append(page.evaluate("() => probe.list"))
                scripts.append(page.evaluate("() => probe.scripts()"))
            page.close()
        for _ in range(self.options.rounds):
            page = self.context.new_page()
            page.goto(self.bare.url + "/list")
            bare.append(page.evaluate("() => probe.list"))
            page.close()
        stored = self.options.conversations + 1
        self.figures.add(f"first list, {stored:,} conversations stored", "ms", chat, 200, bare)
        self.figures.add("until the last script arrived", "ms", scripts)

    def measure_scroll(self):
        page = self.chat()
        self.online(page)
        self.open(page, LONG)
        session = self.context.new_cdp_session(page)
        session.send("Performance.enable")
        arguments = [SCROLLER, self.options.seconds, self.options.speed]
        intervals, stopped, memory = [], 0, []
        first = self.first_shown(page)
        for number in range(self.options.scrolls):
            run = page.evaluate(SCROLL, [*arguments, False])
            intervals += run["intervals"]
            stopped += run["stopped"]
            memory.append(self.memory(session))
            self.log(f"Scrolled {number + 1} of {self.options.scrolls} times, {memory[-1][0]:.1f} MiB.")
        passed = first - self.first_shown(page)
        self.bare.copy("/timeline", page)
        page.close()
        page = self.context.new_page()
        page.goto(self.bare.url + "/timeline")
        bare = page.evaluate(SCROLL, [*arguments, True])
        page.close()
        self.figures.add(f"time between frames, {passed:,} messages scrolled", "ms", intervals, 16.9, bare["intervals"])
        late = [100 * sum(value > 25 for value in values) / len(values) for values in (intervals, bare["intervals"])]
        self.figures.add("frames that were late", "%", late[:1], bare=late[1:])
        self.figures.add("frames at the end of the loaded messages", "%", [100 * stopped / len(intervals)])
        heaps = [heap for heap, _ in memory]
        self.figures.add("memory of the scripts after each scroll", "MiB", heaps)
        self.figures.add("growth of this from the first to the last scroll", "MiB", [heaps[-1] - heaps[0]], 1)
        self.figures.add("nodes of the document after each scroll", "", [nodes for _, nodes in memory])

    def first_shown(self, page):
        """The number of the oldest message of the window."""
        return int(page.locator(TIMELINE + " .text").first.text_content().split()[1].rstrip(":"))

    def memory(self, session):
        session.send("HeapProfiler.collectGarbage")
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        return metrics["JSHeapUsedSize"] / 2**20, metrics["Nodes"]

    def measure_missed(self):
        page = self.chat()
        self.online(page)
        self.open(page, LONG)
        one, whole, many, bare = [], [], [], []
        missed = self.options.missed
        groups = self.scene.conversations[:20]
        for number in range(self.options.rounds):
            screen, window = self.catch_up(page, ["long"] * missed, f"One{number}")
            one.append(screen)
            whole.append(window)
            bare.append(self.bare_missed())
            many.append(self.catch_up(page, groups * (missed // len(groups)), f"Many{number}")[0])
        page.close()
        self.figures.add(f"{missed:,} missed in the open conversation, on the screen", "ms", one, 300, bare)
        self.figures.add("until its window has 200 messages", "ms", whole)
        self.figures.add(f"{missed:,} missed in {len(groups)} conversations of the list", "ms", many, 300)

    def catch_up(self, page, groups, label):
        """Connects after messages were sent.

        Returns the times until the screen shows the newest ones, and until no part of the window is missing.
        """
        page.evaluate("() => document.querySelector('scrollback-app').client.disconnect()")
        self.until(page, "the client is offline", "app.client.connection.value.state === 'idle'")
        self.scene.add(groups, label, "--counts-unread")
        last = {group: f"{label} {number}:" for number, group in enumerate(groups, 1)}
        return page.evaluate(
            """async ([last, selector]) => {
                const { client, list } = document.querySelector("scrollback-app");
                const rows = document.querySelector("conversation-list nav ul").children;
                const isListed = () => {
                    for (const [index, text] of last.toReversed().entries()) {
                        if (!rows[index]?.querySelector(".summary").textContent.includes(text)) return false;
                    }
                    return true;
                };
                const isOpen = () => {
                    const row = [...document.querySelectorAll(selector)].at(-1);
                    if (!row?.textContent.includes(last[0])) return false;
                    const gaps = [...document.querySelectorAll("timeline-view .gap")];
                    return row.getBoundingClientRect().bottom <= innerHeight &&
                        gaps.every((gap) => gap.getBoundingClientRect().bottom < 0);
                };
                const isWhole = () => !document.querySelector("timeline-view .gap");
                const start = performance.now();
                client.connect();
                const screen = await probe.shown(() => isListed() && (last.length > 1 || isOpen()));
                const whole = await probe.shown(isWhole);
                return [screen - start, whole - start];
            }""",
            [list(last.values()), TIMELINE],
        )

    def bare_missed(self):
        page = self.context.new_page()
        page.goto(self.bare.url + "/missed")
        arguments = [self.scene.server.url, self.token, LONG, self.options.missed]
        result = page.evaluate("(arguments) => show(...arguments)", arguments)
        page.close()
        return result

    def measure_keys(self):
        page = self.chat()
        self.online(page)
        self.open(page, LONG)
        sent = []
        words = "the ship sails at noon with a fair wind".split()
        self.bare.copy("/keys", page)
        for number in range(self.options.rounds):
            text = f"{words[number % len(words)]} {number}"
            page.locator("conversation-view textarea").press_sequentially(text, delay=100)
            page.evaluate(
                """([text, selector]) => {
                    const isLast = () => [...document.querySelectorAll(selector)].at(-1)?.textContent.includes(text);
                    globalThis.sent = probe.sent(isLast);
                }""",
                [text, TIMELINE],
            )
            page.keyboard.press("Enter")
            sent.append(page.evaluate("() => sent"))
        keys = page.evaluate("() => probe.keys")
        page.close()
        page = self.context.new_page()
        page.goto(self.bare.url + "/keys")
        page.locator("conversation-view textarea").press_sequentially("x" * len(keys), delay=100)
        bare = page.evaluate("() => probe.keys")
        page.close()
        self.figures.add("key to drawn letter", "ms", keys, 50, bare)
        self.figures.add("Enter to drawn message", "ms", sent, 50)


def machine():
    """The processor, the number of cores, and the browser."""
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    version = subprocess.run(["chromium", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{len(names)} cores ({names[0]}), {platform.system()}, {version.split(' built')[0].strip()}"


def main():
    parser = argparse.ArgumentParser(
        prog="Benchmarks/browser.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"only these measures: {', '.join(MEASURES)}")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    parser.add_argument("--rounds", type=int, default=20, help="runs of list, missed and keys (default: 20)")
    parser.add_argument("--conversations", type=int, default=1000, help="stored conversations (default: 1000)")
    parser.add_argument("--messages", type=int, default=100_000, help="messages of the long one (default: 100000)")
    parser.add_argument("--missed", type=int, default=1000, help="messages that the client misses (default: 1000)")
    parser.add_argument("--scrolls", type=int, default=5, help="runs of scroll (default: 5)")
    parser.add_argument("--seconds", type=float, default=20, help="duration of a scroll in seconds (default: 20)")
    parser.add_argument("--speed", type=float, default=6000, help="pixels a second of a scroll (default: 6000)")
    options = parser.parse_args()
    if unknown := set(options.measures) - set(MEASURES):
        parser.error(f"unknown measures: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        benchmark = Benchmark(options, playwright, pathlib.Path(folder))
        try:
            benchmark.store()
            for name in options.measures or MEASURES:
                benchmark.log(f"Measuring {name}.")
                getattr(benchmark, f"measure_{name}")()
        finally:
            benchmark.close()
    date = datetime.date.today().isoformat()
    if options.json:
        print(json.dumps({"date": date, "machine": machine(), "figures": benchmark.figures.rows}, indent=1))
    else:
        print(f"{date}, {machine()}\n")
        print(benchmark.figures.table())


if __name__ == "__main__":
    main()
