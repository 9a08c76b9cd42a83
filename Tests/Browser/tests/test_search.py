"""A seeded search: random histories of two users, several tabs and devices, and a network and a server that fail.

SCROLLBACK_BROWSER_SEEDS is the number of histories, and SCROLLBACK_SEED repeats one of them.
"""

import os
import random

import pytest

from harness.browser import Tab

SEEDS = [int(os.environ["SCROLLBACK_SEED"])] if "SCROLLBACK_SEED" in os.environ else range(
    int(os.environ.get("SCROLLBACK_BROWSER_SEEDS", "200"))
)
STEPS = 30


class Device:
    """A browser of a user with a network of its own, and one or two tabs."""

    def __init__(self, world, number, user):
        self.user, self.token = user, world.server.token(user)
        self.profile, self.proxy = world.device(number)
        self.proxy.open_network()
        self.tabs = []
        self.open_tab(world)

    def open_tab(self, world):
        self.tabs.append(Tab(self.profile, self.proxy.url, self.user, self.token))
        world.tabs.append(self.tabs[-1])


class History:
    def __init__(self, world, seed):
        self.world, self.random, self.seed = world, random.Random(seed), seed
        self.users = [f"alice-{seed}", f"bob-{seed}"]
        self.group = f"group:crew-{seed}"
        world.server.group(f"crew-{seed}", *self.users)
        self.devices = [Device(world, number, user) for number, user in enumerate([*self.users, self.users[0]])]
        self.log = []
        # The messages whose `send` succeeded, and those of a tab that was closed before.
        self.sent, self.maybe_sent, self.recalled = {}, set(), set()
        self.number = 0

    def conversation(self, user):
        """The conversation of a step: the group, or the direct conversation of the two users."""
        peer = self.users[1] if user == self.users[0] else self.users[0]
        return self.random.choice([self.group, f"direct:{peer}"])

    def run(self):
        for _ in range(STEPS):
            device = self.random.choice(self.devices)
            tab = self.random.choice(device.tabs)
            step = self.random.choice(
                ["send"] * 8 + ["edit", "react", "recall", "read", "read", "cut", "cut", "offline", "offline"]
                + ["online", "reload", "tab", "close", "crash", "older", "watch", "restart"]
            )
            self.log.append((step, self.devices.index(device), device.tabs.index(tab)))
            getattr(self, step)(device, tab)

    def send(self, device, tab):
        self.number += 1
        text = f"{self.seed}.{self.number}"
        id = tab.send(self.conversation(device.user), text)
        self.sent[id] = (device.user, text)

    def own(self, tab, conversation):
        """A message of the user that a tab shows, or None."""
        tab.watch(conversation)
        own = [item for item in tab.items(conversation) if item["sender"] in (None, tab.user) and item["text"]]
        own = [item for item in own if item["type"] != "gap"]
        return self.random.choice(own) if own else None

    def change(self, tab, script, changes=()):
        conversation = self.conversation(tab.user)
        item = self.own(tab, conversation)
        if item:
            tab.run(f"async ([conversation, id]) => {{ const c = test.client.conversation(conversation); {script} }}",
                    conversation, item["id"])
        return item

    def edit(self, device, tab):
        self.number += 1
        self.change(tab, f"await c.edit(id, '{self.seed}.{self.number}.edited')")

    def react(self, device, tab):
        self.change(tab, "await c.react(id, '👍')")

    def recall(self, device, tab):
        if item := self.change(tab, "await c.recall(id)"):
            self.recalled.add(item["id"])

    def read(self, device, tab):
        tab.run("([id]) => test.client.conversation(id).markRead()", self.conversation(device.user))

    def older(self, device, tab):
        conversation = self.conversation(device.user)
        tab.watch(conversation)
        tab.run("([id]) => { test.timeline(id).loadOlder().catch(() => {}) }", conversation)

    def watch(self, device, tab):
        tab.watch(self.conversation(device.user))

    def cut(self, device, tab):
        device.proxy.cut()

    def offline(self, device, tab):
        device.proxy.close_network()

    def online(self, device, tab):
        device.proxy.open_network()

    def reload(self, device, tab):
        # The page comes from the server.
        device.proxy.open_network()
        tab.load()

    def tab(self, device, tab):
        if len(device.tabs) < 2:
            device.proxy.open_network()
            device.open_tab(self.world)

    def close(self, device, tab):
        if len(device.tabs) == 2:
            device.tabs.remove(tab)
            tab.close()

    def crash(self, device, tab):
        """Closes a tab while it sends."""
        self.number += 1
        text = f"{self.seed}.{self.number}"
        tab.run("([id, text]) => { test.send(id, text) }", self.conversation(device.user), text)
        self.maybe_sent.add(text)
        device.tabs.remove(tab)
        tab.close()
        if not device.tabs:
            device.proxy.open_network()
            device.open_tab(self.world)

    def restart(self, device, tab):
        self.world.server.kill()
        self.world.server.start()

    # The end

    def check(self):
        for device in self.devices:
            device.proxy.open_network()
        for device in self.devices:
            for tab in device.tabs:
                # The client then does not wait for its next attempt.
                tab.run("() => { dispatchEvent(new Event('online')) }")
                tab.online()
                tab.until("everything is answered", lambda tab=tab: all(item["code"] for item in tab.queue()))
                # Another device can have made the same reaction, or recalled the message.
                assert all(item["type"] != "send" and item["code"] == "conflict" for item in tab.queue()), tab.queue()
        stored = {}
        for user, peer in [self.users, self.users[::-1]]:
            for conversation in (self.group, f"direct:{peer}"):
                stored[user, conversation] = self.world.server.history(user, conversation)
        messages = [m for (user, _), found in stored.items() if user == self.users[0] for m in found]
        self.check_sends(messages)
        for device in self.devices:
            for tab in device.tabs:
                for (user, conversation), found in stored.items():
                    if user == device.user:
                        self.check_screen(tab, conversation, found)
                assert tab.run("() => test.violations()") == []
                assert tab.errors == []

    def check_sends(self, messages):
        ids = [message["id"] for message in messages]
        assert len(ids) == len(set(ids)), "A message is stored twice."
        lost = [text for id, (_, text) in self.sent.items() if id not in ids and id not in self.recalled]
        assert lost == [], "Messages are lost."
        first = [message["content"]["text"] for message in messages if message.get("content") and message["rev"] == 0]
        assert all(first.count(text) <= 1 for text in self.maybe_sent), "A message of a closed tab is stored twice."

    def check_screen(self, tab, conversation, found):
        def shown(message):
            actions = [(action["value"], action["count"]) for action in message.get("actions", [])]
            return message["id"], (message.get("content") or {}).get("text"), actions

        def screen():
            return [
                (item["id"], item["text"], [(action["value"], action["count"]) for action in item["actions"]])
                for item in tab.items(conversation)
            ]

        expected = [shown(message) for message in found]
        tab.watch(conversation)
        try:
            tab.until(f"{conversation} equals the server", lambda: screen() == expected)
        except AssertionError as error:
            only = [message for message in expected if message not in screen()]
            other = [message for message in screen() if message not in expected]
            raise AssertionError(f"{error} Only the server has {only}, and only the screen shows {other}.") from error

        def unread():
            # A tab sends its reads in the background, so the server's count can still change.
            return self.world.server.head(tab.user, conversation)["unread"] if found else None

        tab.until(f"{conversation} has the server's count", lambda: tab.unread(conversation) == unread())


@pytest.mark.parametrize("seed", SEEDS)
def test_every_screen_equals_the_server_after_a_random_history(shared_world, seed):
    history = History(shared_world, seed)
    try:
        history.run()
        history.check()
    except BaseException:
        print(f"Repeat it with SCROLLBACK_SEED={seed}.", *history.log, sep="\n")
        raise
