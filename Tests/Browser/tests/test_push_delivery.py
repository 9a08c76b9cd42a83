"""Web Push from the sender of a message to the notification, in Firefox.

A push service on this computer connects the server and the browser. Chromium has no setting for another push service.
"""

import base64
import json
import time

import pytest

from harness.app import AppPages
from harness.browser import Tab, launch_firefox
from harness.push import PushService
from harness.waiting import eventually

PRIVATE_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
PUBLIC_KEY = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
SUBJECT = "mailto:push@example.com"
DAY = 86_400


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = PushService(tmp_path_factory.mktemp("push"))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def firefox(playwright, service):
    """A browser that uses the push service."""
    firefox = launch_firefox(playwright, service.preferences)
    yield firefox
    firefox.close()


@pytest.fixture
def app(make_world, firefox, service, tmp_path):
    pages = AppPages()
    credentials = tmp_path / "push.json"
    web = {"privateKey": PRIVATE_KEY, "subject": SUBJECT, "hosts": [service.host]}
    credentials.write_text(json.dumps({"push": {"services": {"web": web}}}))
    world = make_world(
        *("--allow-origin", pages.url, "--push-credentials", str(credentials)),
        browser=firefox,
        environment={"SCROLLBACK_PUSH_AUTHORITIES": str(service.certificate)},
    )
    pages.server = world.server
    yield App(world, pages.url)
    pages.stop()


class App:
    """An app of alice and bob, in which alice gets pushes."""

    def __init__(self, world, address):
        self.world, self.server, self.address = world, world.server, address
        self.server.group("crew", "alice", "bob")

    def register(self):
        """Opens a page of the app, and registers the browser as a user does. Returns the page and the endpoint."""
        profile = self.world.profile()
        profile.context.grant_permissions(["notifications"], origin=self.address)
        token = self.server.token("alice")
        alice = Tab(profile, self.address, "alice", token, self.server.url)
        self.world.tabs.append(alice)
        alice.online()
        alice.run(
            """async ([applicationServerKey]) => {
                const serviceWorker = await navigator.serviceWorker.register("/worker.js");
                test.client.push.state.subscribe(({ state }) => (test.push = state));
                const button = document.body.appendChild(document.createElement("button"));
                button.onclick = () => test.client.push.register({ serviceWorker, applicationServerKey });
            }""",
            PUBLIC_KEY,
        )
        alice.page.get_by_role("button").click()
        alice.until("the browser is registered", lambda: alice.run("() => test.push") == "registered")
        (device,) = self.devices()
        return alice, device["token"]

    def devices(self):
        return self.server.call("GET", "/v1/push/devices", token=self.server.token("alice"))[1]["devices"]

    def close(self, alice):
        """Closes the only page of the app. The server then sends pushes instead."""
        alice.close()
        assert alice.profile.context.pages == []
        connections = "/v1/admin/connections?user=alice"
        eventually("alice is offline", lambda: self.server.call("GET", connections)[1]["connections"] == [])

    def send(self, text):
        """Sends a message as bob. Its notification stays until the user closes it."""
        options = {"ios": {"interruption": "time-sensitive"}}
        return self.server.send("bob", "group:crew", text, push=options)["id"]

    def notifications(self, alice):
        """Opens a page without a client of the SDK. Returns a function that lists the notifications."""
        page = alice.profile.context.new_page()
        page.goto(self.address)
        script = """async () => {
            const registration = await navigator.serviceWorker.ready;
            const notifications = await registration.getNotifications();
            return notifications.map(({ title, body, tag, data }) => ({ title, body, tag, data }));
        }"""
        return lambda: page.evaluate(script)


def claims_of(authorization):
    """Returns the claims of VAPID credentials (RFC 8292) with the server's key. Their signature is not verified."""
    scheme, parameters = authorization.split(" ", 1)
    values = dict(parameter.strip().split("=", 1) for parameter in parameters.split(","))
    assert (scheme, values["k"]) == ("vapid", PUBLIC_KEY)
    return json.loads(base64.urlsafe_b64decode(values["t"].split(".")[1] + "=="))


def test_firefox_shows_a_message_while_no_page_is_open(app, service):
    alice, endpoint = app.register()
    app.close(alice)
    message = app.send("Land ahead")
    (push,) = eventually("a push arrives", lambda: [it for it in service.pushes if it.endpoint == endpoint])
    eventually("Firefox acknowledges the push", lambda: push.code)
    assert push.code == 100
    assert 6 * DAY < int(push.headers["ttl"]) <= 7 * DAY
    assert (push.headers["urgency"], push.headers["topic"]) == ("high", message.replace("-", ""))
    claims = claims_of(push.headers["authorization"])
    assert (claims["aud"], claims["sub"]) == (f"https://{service.host}", SUBJECT)
    assert time.time() < claims["exp"] <= time.time() + DAY

    shown = app.notifications(alice)
    (notification,) = eventually("the notification is shown", shown)
    assert (notification["title"], notification["body"]) == ("crew", "bob: Land ahead")
    assert notification["tag"] == notification["data"]["scrollback"]["message"] == message


def test_firefox_replaces_the_notification_of_a_recalled_message(app):
    alice, _ = app.register()
    app.close(alice)
    message = app.send("Land ahead")
    shown = app.notifications(alice)
    eventually("the notification is shown", shown)
    path = f"/v1/conversations/group:crew/messages/{message}"
    assert app.server.call("DELETE", path, token=app.server.token("bob"))[0] == 200

    def texts():
        return [notification["body"] for notification in shown()]

    eventually("the notification is replaced", lambda: texts() == ["bob recalled a message"])


def test_unregistering_ends_the_subscription_of_the_browser(app, service):
    alice, endpoint = app.register()
    assert endpoint in service.endpoints
    alice.run("() => test.client.push.unregister()")
    alice.until("the registration has ended", lambda: alice.run("() => test.push") == "off")
    assert app.devices() == []
    eventually("Firefox ends the subscription", lambda: endpoint not in service.endpoints)
