"""Web Push: the registration with the server, and the service worker that shows notifications.

No push service is needed. The page has a stub of its `PushManager`, and the browser delivers pushes itself.
`test_push_delivery.py` has the tests with a push service.
"""

import json

import pytest

from harness.app import AppPages
from harness.browser import NAME, Tab, launch
from harness.waiting import eventually

KEY = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
OTHER_KEY = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
SERVICE = "https://updates.push.services.mozilla.com/wpush/v2/"

# A push service keeps one subscription for each registration of a service worker, here in the page's storage.
STUB = """
    const name = "test-subscription";
    const subscriptionOf = (value) => value && {
        endpoint: value.endpoint,
        toJSON: () => ({ endpoint: value.endpoint, keys: { p256dh: "p256dh of " + value.endpoint, auth: "secret" } }),
        unsubscribe: async () => (localStorage.removeItem(name), true),
    };
    const stored = () => JSON.parse(localStorage.getItem(name));
    PushManager.prototype.getSubscription = async () => subscriptionOf(stored());
    PushManager.prototype.subscribe = async ({ applicationServerKey: key }) => {
        if (globalThis.subscribeError) throw new DOMException("Stub.", subscribeError);
        if (stored() && stored().key !== key) throw new DOMException("Another key.", "InvalidStateError");
        const number = Number(localStorage.getItem("test-number")) + 1;
        localStorage.setItem("test-number", number);
        if (!stored()) localStorage.setItem(name, JSON.stringify({ key, endpoint: "SERVICE" + number }));
        return subscriptionOf(stored());
    };
""".replace("SERVICE", SERVICE)


@pytest.fixture(scope="module")
def browser(playwright):
    """A browser with notifications, which Chromium without its windows does not have."""
    browser = launch(playwright, chromium="chromium")
    yield browser
    browser.close()


@pytest.fixture
def app(make_world):
    """An app with a page and a service worker of its own, on an origin that the server allows."""
    pages = AppPages()
    world = make_world("--allow-origin", pages.url)
    pages.server = world.server
    yield App(world, pages.url)
    pages.stop()


class App:
    def __init__(self, world, address):
        self.world, self.server, self.address = world, world.server, address
        self.token = self.server.token("alice")

    def open(self, profile=None):
        """Opens a page of the app with a client of alice and a service worker."""
        if profile is None:
            profile = self.world.profile()
            profile.context.add_init_script(f"if (globalThis.PushManager) {{ {STUB} }}")
            profile.context.grant_permissions(["notifications"], origin=self.address)
        tab = Tab(profile, self.address, "alice", self.token, self.server.url)
        self.world.tabs.append(tab)
        tab.online()
        tab.run(
            """async () => {
                test.worker = await navigator.serviceWorker.register("/worker.js");
                test.client.push.state.subscribe((state) => (test.push = state));
            }"""
        )
        return tab

    def devices(self):
        status, answer = self.server.call("GET", "/v1/push/devices", token=self.token)
        assert status == 200, answer
        return answer["devices"]

    def endpoints(self):
        return [device["token"] for device in self.devices()]

    def has_endpoints(self, *endpoints):
        expected = [SERVICE + endpoint for endpoint in endpoints]
        eventually(f"the server has {expected}", lambda: self.endpoints() == expected)


def register(tab, key=KEY, **options):
    return tab.run(
        "([key, options]) => test.codeOf(() => test.client.push.register("
        "{ serviceWorker: test.worker, applicationServerKey: key, ...options }))",
        key,
        options,
    )


def has_state(tab, state):
    tab.until(f"the registration is {state}", lambda: tab.run("() => test.push.state") == state)


def test_a_browser_registers_with_the_server_until_it_unregisters(app):
    alice = app.open()
    has_state(alice, "off")
    assert register(alice, language="pt-BR") is None
    has_state(alice, "registered")
    (device,) = app.devices()
    keys = {"p256dh": f"p256dh of {SERVICE}1", "auth": "secret"}
    expected = {"service": "web", "token": SERVICE + "1", "language": "pt-BR", "keys": keys}
    assert device == {**expected, "device": device["device"]}
    alice.run("() => test.client.push.unregister()")
    has_state(alice, "off")
    assert app.devices() == [] and alice.run("() => localStorage.getItem('test-subscription')") is None


def test_a_registration_without_a_connection_is_sent_later(app):
    alice = app.open()
    app.server.kill()
    alice.until("the client notices", lambda: alice.connection != "online")
    assert register(alice) is None
    has_state(alice, "waiting")
    app.server.start()
    has_state(alice, "registered")
    assert app.endpoints() == [SERVICE + "1"]


def test_a_registration_that_the_server_lost_is_sent_again(app):
    alice = app.open()
    register(alice)
    has_state(alice, "registered")
    (device,) = app.devices()
    app.server.call("DELETE", f"/v1/push/devices/{device['device']}", token=alice.token)
    assert app.devices() == []
    alice.load()
    app.has_endpoints("1")


@pytest.mark.parametrize("change", ["replaced", "ended"])
def test_a_subscription_that_the_browser_changed_is_registered_when_the_client_opens(app, change):
    alice = app.open()
    register(alice)
    has_state(alice, "registered")
    if change == "replaced":
        value = f"JSON.stringify({{ key: '{KEY}', endpoint: '{SERVICE}new' }})"
        alice.run(f"() => localStorage.setItem('test-subscription', {value})")
    else:
        alice.run("() => localStorage.removeItem('test-subscription')")
    alice.load()
    app.has_endpoints("new" if change == "replaced" else "2")


def test_a_client_without_the_service_worker_of_its_registration_unregisters(app):
    alice = app.open()
    register(alice)
    has_state(alice, "registered")
    alice.run("() => test.worker.unregister()")
    alice.load()
    app.has_endpoints()


def test_a_new_key_of_the_server_replaces_the_subscription(app):
    alice = app.open()
    register(alice)
    has_state(alice, "registered")
    assert register(alice, OTHER_KEY) is None
    app.has_endpoints("2")


def test_another_tab_registers_and_both_show_the_state(app):
    alice = app.open()
    other = app.open(profile=alice.profile)
    assert register(other) is None
    for tab in (alice, other):
        has_state(tab, "registered")
    assert len(app.devices()) == 1


def test_signing_out_ends_pushes(app):
    alice = app.open()
    register(alice)
    has_state(alice, "registered")
    # Signing out waits three seconds for the server, which a busy machine can exceed.
    extend = """() => {
        const { setTimeout } = globalThis;
        globalThis.setTimeout = (action, delay) => setTimeout(action, delay === 3_000 ? 60_000 : delay);
    }"""
    alice.run(extend)
    alice.run("() => test.client.signOut()")
    assert app.devices() == [] and alice.run("() => localStorage.getItem('test-subscription')") is None


def test_a_failed_registration_names_the_reason(app):
    alice = app.open()
    for answer in ("denied", "default"):
        alice.run("([answer]) => { Notification.requestPermission = async () => answer }", answer)
        assert register(alice) == "push-denied"
    alice.run("() => { Notification.requestPermission = async () => 'granted' }")
    for key in ("", KEY[:-1], KEY + "=", "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"):
        assert register(alice, key) == "invalid-parameter"
    missing = f"test.client.push.register({{ serviceWorker: undefined, applicationServerKey: '{KEY}' }})"
    assert alice.run(f"() => {missing}.catch((error) => error.parameter)") == "serviceWorker"
    for error, code in (("AbortError", "unreachable"), ("NotAllowedError", "push-denied")):
        alice.run("([error]) => { globalThis.subscribeError = error }", error)
        assert register(alice) == code
    alice.run("() => { delete globalThis.PushManager }")
    assert register(alice) == "push-unavailable"
    alice.run("() => { Object.defineProperty(globalThis, 'isSecureContext', { value: false }) }")
    assert register(alice) == "push-unavailable"
    assert app.devices() == []


def test_a_registration_that_the_server_rejects_shows_the_error(app):
    alice = app.open()
    register(alice, language="not a language")
    has_state(alice, "refused")
    assert alice.run("() => [test.push.error.code, test.push.error.parameter]") == ["invalid-parameter", "language"]
    register(alice)
    has_state(alice, "registered")


# The service worker

PUSH = {
    "title": "Bob",
    "body": "Land ahead",
    "tag": "0190c6f0-0000-7000-8000-000000000001",
    "badge": 3,
    "scrollback": {
        "conversation": "group:crew",
        "seq": 1,
        "epoch": "1",
        "message": "0190c6f0-0000-7000-8000-000000000001",
        "sender": "bob",
        "type": "text",
        "receiver": "alice",
    },
    "appData": "stations/7",
}

# Without a desktop, the browser closes some notifications at once, so that the worker records them. Only a real click
# lets a worker focus or open a window, and only an event of the browser can wait.
RECORDER = """() => {
    self.shown = new Map();
    self.focused = [];
    self.opened = [];
    const show = ServiceWorkerRegistration.prototype.showNotification;
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
        await show.call(this, title, options);
        const { body = "", tag, silent = false, data } = options;
        self.shown.set(tag, { title, body, tag, silent, data: structuredClone(data) });
    };
    WindowClient.prototype.focus = async function () { self.focused.push(this.url); };
    self.clients.openWindow = async (url) => void self.opened.push(url);
    self.click = async () => {
        const [[tag, { data }]] = self.shown;
        const promises = [];
        const event = Object.assign(new ExtendableEvent("notificationclick"), {
            notification: { data, close: () => self.shown.delete(tag) },
            waitUntil: (promise) => promises.push(promise),
        });
        self.dispatchEvent(event);
        await Promise.all(promises);
    };
}"""


class Worker:
    """The service worker of a page, to which the browser delivers pushes."""

    def __init__(self, tab):
        self.tab = tab
        context = tab.profile.context
        self.session = context.new_cdp_session(tab.page)
        registrations = []
        self.session.on(
            "ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"])
        )
        self.session.send("ServiceWorker.enable")

        def has_started():
            tab.run("() => 0")
            return registrations and context.service_workers

        eventually("the service worker has started", has_started)
        self.registration = registrations[-1]["registrationId"]
        self.worker = context.service_workers[-1]
        self.worker.evaluate(RECORDER)

    def push(self, payload):
        data = payload if isinstance(payload, str) else json.dumps(payload)
        arguments = {"origin": self.tab.origin, "registrationId": self.registration, "data": data}
        self.session.send("ServiceWorker.deliverPushMessage", arguments)

    def notifications(self):
        return self.worker.evaluate("() => [...self.shown.values()]")

    def shows(self, **members):
        def is_shown():
            shown = self.notifications()
            return len(shown) == 1 and shown[0] == {**shown[0], **members}

        eventually(f"the notification has {members}", is_shown)

    def click(self):
        self.worker.evaluate("() => self.click()")
        assert self.notifications() == []
        return self.worker.evaluate("() => [self.focused, self.opened]")


chromium_only = pytest.mark.skipif(NAME != "chromium", reason="only Chromium delivers pushes for a test")


@pytest.fixture
def worker(app):
    alice = app.open()
    alice.run("() => navigator.serviceWorker.ready.then(() => {})")
    alice.run("() => { test.clicks = []; test.client.push.onClick((click) => test.clicks.push(click)) }")
    return Worker(alice)


@chromium_only
def test_a_push_is_shown_and_a_recall_replaces_it(worker):
    worker.push(PUSH)
    data = {"scrollback": PUSH["scrollback"], "appData": "stations/7"}
    worker.shows(title="Bob", body="Land ahead", tag=PUSH["tag"], silent=False, data=data)
    recall = {"body": "recalled", "tag": PUSH["tag"], "silent": True, "replaces": True}
    worker.push({**recall, "scrollback": {**PUSH["scrollback"], "recalled": True}})
    worker.shows(title="recalled", body="", silent=True)


@chromium_only
def test_a_push_of_another_server_is_left_to_the_app(worker):
    worker.worker.evaluate(
        """() => {
            self.received = [];
            self.addEventListener("push", ({ data }) => self.received.push(data.text()));
        }"""
    )
    for text in ("not JSON", '{"title":"other"}', "null"):
        worker.push(text)
    eventually("the app got the pushes", lambda: len(worker.worker.evaluate("() => self.received")) == 3)
    worker.push(PUSH)
    worker.shows(title="Bob")


@chromium_only
def test_a_click_shows_an_open_page_of_the_app_and_names_the_conversation(worker):
    worker.push(PUSH)
    worker.shows(title="Bob")
    assert worker.click() == [[worker.tab.page.url], []]
    click = {"conversation": "group:crew", "message": PUSH["tag"], "data": "stations/7"}
    worker.tab.until("the page gets the click", lambda: worker.tab.run("() => test.clicks") == [click])
    worker.push({**PUSH, "scrollback": {**PUSH["scrollback"], "receiver": "bob"}})
    worker.shows(title="Bob")
    worker.click()
    worker.push(PUSH)
    worker.shows(title="Bob")
    worker.click()
    worker.tab.until("only clicks for the user arrive", lambda: worker.tab.run("() => test.clicks") == [click, click])


@chromium_only
def test_a_click_opens_the_link_unless_its_page_is_open(worker):
    def pushed(link):
        worker.push({**PUSH, "scrollback": {**PUSH["scrollback"], "link": link}})
        worker.shows(title="Bob")
        return worker.click()

    address = worker.tab.origin
    other = f"{address}/chat#/group%3Acrew"
    assert pushed(other) == [[], [other]]
    assert pushed(f"{address}/healthz#/group%3Acrew") == [[worker.tab.page.url], [other]]
    assert pushed("myapp://chat/group%3Acrew") == [[worker.tab.page.url] * 2, [other]]
