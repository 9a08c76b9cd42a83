"""The admin page against the built server."""

import http.server
import json
import os
import pathlib
import re
import threading

import pytest
from playwright.sync_api import expect

from harness.browser import NAME
from harness.server import ROOT

CREW = "group:crew"
MARKUP = "<img src=x onerror=alert(1)>"
# Names can't have characters that change the direction of text, but messages can.
HOSTILE = MARKUP + "\u202e<script>alert(2)</script>"


def community(world):
    """Three users in a group with a few messages, one of which is reported."""
    for user, name in (("alice", "Alice Marlow"), ("bob", "Bob Tern"), ("mei", MARKUP)):
        assert world.server.call("PUT", f"/v1/users/{user}", {"name": name})[0] == 200
    world.server.group("crew", "alice", "bob", "mei")
    assert world.server.call("PUT", f"/v1/conversations/{CREW}", {"name": "Crew of the Albatross"})[0] == 200
    texts = ["Is the new sail here?", "Yes, since Monday.", f"Buy cheap sails: {HOSTILE}", "Please stop, mei."]
    senders = ["alice", "bob", "mei", "alice"]
    sent = [world.server.send(sender, CREW, text) for sender, text in zip(senders, texts)]
    path = f"/v1/conversations/{CREW}/messages/{sent[2]['id']}/reports"
    body = {"reason": "spam", "text": "Third time today."}
    assert world.server.call("POST", path, body, world.server.token("alice"))[0] == 201
    return sent


def user_state(world, user):
    return world.server.call("GET", f"/v1/admin/users?prefix={user}")[1]["users"][0]["state"]


def settings(world):
    return world.server.call("GET", "/v1/settings")[1]


# Signing in


def test_the_page_refuses_wrong_keys_and_keeps_neither_key_nor_token(world):
    admin = world.admin_page()
    error = admin.page.locator(".field-error")
    for key, reason in (
        ("wrong", "You are not signed in. "),
        ("two words", "You are not signed in. The key has spaces"),
        (world.server.token("alice"), "You are not signed in. "),
    ):
        admin.sign_in(key)
        expect(error).to_contain_text(reason)
        expect(admin.page.get_by_label("Admin key")).to_be_focused()
    admin.sign_in()
    admin.heading("Overview")
    kept = """async () => [localStorage.length, sessionStorage.length, document.cookie, location.search,
        (await indexedDB.databases()).length, (await caches.keys()).length, document.querySelector("input")?.value]"""
    assert admin.page.evaluate(kept) == [0, 0, "", "", 0, 0, ""]
    admin.check()
    admin.page.reload()
    expect(admin.button("Sign in")).to_be_visible()


def test_an_expired_token_ends_the_session(world):
    admin = world.admin_page()
    body = {"user": "admin", "expiresIn": 1, "scopes": ["admin"]}
    admin.page.route(
        "**/v1/tokens",
        lambda route: route.fulfill(json=world.server.call("POST", "/v1/tokens", body)[1]),
    )
    admin.sign_in()
    expect(admin.page.get_by_text("The session has ended. Sign in to continue.")).to_be_visible()
    admin.page.unroute("**/v1/tokens")
    admin.sign_in()
    admin.heading("Overview")
    expect(admin.page.locator(".tile").first).to_be_visible()


def test_a_form_keeps_its_values_while_the_operator_signs_in_again(world):
    community(world)
    body = {"user": "operator", "scopes": ["admin"]}
    key = world.server.call("POST", "/v1/tokens", body)[1]["token"]
    admin = world.admin_page(key).sign_in()
    admin.open("bans")
    # Otherwise the request for the list could be the one that ends the session.
    expect(admin.page.get_by_text("No user is banned from the server.")).to_be_visible()
    admin.page.get_by_label("User ID").fill("mei")
    assert world.server.call("DELETE", "/v1/users/operator/tokens")[0] == 204
    admin.button("Ban…").click()
    admin.confirm("Ban")
    expect(admin.page.get_by_text("The session has ended. Sign in to continue.")).to_be_visible()
    admin.sign_in(world.server.call("POST", "/v1/tokens", body)[1]["token"])
    expect(admin.page.get_by_label("User ID")).to_have_value("mei")
    admin.button("Ban…").click()
    admin.confirm("Ban")
    admin.says("mei is banned from the server.")
    admin.button("Sign out").click()
    expect(admin.page.get_by_text("You are signed out.")).to_be_visible()
    expect(admin.page.locator("main")).to_be_empty()


def test_an_unreachable_server_is_an_error_with_a_remedy(world):
    admin = world.admin_page().sign_in()
    admin.open("users")
    world.server.kill()
    admin.button("Search").click()
    expect(admin.page.get_by_role("alert")).to_have_text(
        'The list "Users" was not loaded. The server can\'t be reached. '
        "Check that it runs and that you are online, and try again."
    )


# Screens


def test_the_overview_shows_numbers_and_disconnects_a_device(world):
    community(world)
    alice = world.tab("alice")
    alice.online()
    admin = world.admin_page().sign_in()
    tile = admin.page.locator(".tile").filter(has=admin.page.get_by_role("heading", name="Connections"))
    expect(tile.locator(".value")).to_have_text("1")
    commits = admin.page.locator(".tile").filter(has_text="Commit latency")
    # A commit on a busy machine can take longer than the last bound of the histogram.
    expect(commits.locator(".value")).to_have_text(re.compile("≤ .+|over 1 s"))
    expect(admin.page.locator(".tile").filter(has_text="Requests").locator(".value")).to_contain_text("/s")
    since = world.server.call("GET", "/v1/admin/connections")[1]["connections"][0]["since"]
    admin.row("alice").get_by_role("button", name="Disconnect").click()
    admin.confirm("Disconnect")
    expect(admin.page.locator(".status")).to_contain_text("is disconnected.")

    def connects_again():
        connections = world.server.call("GET", "/v1/admin/connections")[1]["connections"]
        return [entry["since"] > since for entry in connections] == [True]

    alice.until("the device connects again", connects_again)
    admin.check()


def test_users_are_searched_changed_and_exported(world):
    community(world)
    admin = world.admin_page().sign_in()
    admin.open("users")
    expect(admin.row("Alice Marlow")).to_be_visible()
    admin.page.get_by_label("User ID begins with").fill("bo")
    admin.button("Search").click()
    expect(admin.row("Alice Marlow")).to_be_hidden()
    admin.page.get_by_role("link", name="bob").click()
    admin.heading("bob")
    expect(admin.page.get_by_label("Name")).to_have_value("Bob Tern")
    expect(admin.row("Crew of the Albatross")).to_be_visible()

    admin.page.get_by_label("Name").fill("Bob T.")
    admin.page.get_by_label("Picture").fill("ftp://example.org/bob.png")
    admin.button("Save the profile").click()
    expect(admin.page.locator(".field-error:visible")).to_contain_text("avatar")
    expect(admin.page.get_by_label("Picture")).to_be_focused()
    admin.page.get_by_label("Picture").fill("https://example.org/bob.png")
    admin.button("Save the profile").click()
    admin.says("The profile is saved.")
    profile = world.server.call("GET", "/v1/users/bob")[1]
    assert (profile["name"], profile["avatar"]) == ("Bob T.", "https://example.org/bob.png")

    admin.button("Deactivate").click()
    admin.confirm("Cancel")
    assert user_state(world, "bob") == "active"
    admin.button("Deactivate").click()
    admin.confirm("Deactivate")
    admin.says("bob is deactivated.")
    assert user_state(world, "bob") == "deactivated"
    admin.button("Activate").click()
    admin.says("bob is active.")

    token = world.server.token("bob")
    admin.button("Sign out").nth(1).click()
    admin.confirm("Sign out")
    admin.says("bob is signed out on all devices.")
    assert world.server.call("GET", "/v1/me", token=token)[0] == 401

    if NAME == "chromium":  # The driver of Firefox does not report downloads.
        with admin.page.expect_download() as download:
            admin.button("Export").click()
        assert download.value.suggested_filename == "bob.jsonl"
        lines = [json.loads(line) for line in pathlib.Path(download.value.path()).read_text().splitlines()]
        assert any("Yes, since Monday." in json.dumps(line) for line in lines)
    else:
        admin.button("Export").click()
    expect(admin.page.locator(".status")).to_contain_text("The data about bob is in the file bob.jsonl.")
    admin.check()


def test_a_user_is_erased_with_progress(world):
    community(world)
    admin = world.admin_page().sign_in()
    admin.open("users", "mei")
    admin.button("Erase").click()
    admin.confirm("Erase", **{"The user's messages": "erase"})
    expect(admin.page.locator(".progress")).to_contain_text("Erased: 1 conversations, 1 messages")
    assert [user["user"] for user in world.server.call("GET", "/v1/admin/users")[1]["users"]] == ["alice", "bob"]
    assert [message.get("deleted", False) for message in world.server.history("alice", CREW)] == [0, 0, 1, 0]
    admin.check()


def test_a_conversation_is_changed(world):
    community(world)
    admin = world.admin_page().sign_in()
    admin.open("conversations")
    admin.page.get_by_label("Kind").select_option("group")
    admin.page.get_by_role("link", name=CREW).click()
    admin.heading(CREW)
    admin.page.get_by_label("Retention").fill("soon")
    admin.page.get_by_label("Frozen").check()
    admin.button("Save the settings").click()
    expect(admin.page.locator(".field-error:visible")).to_contain_text("retentionDays")
    expect(admin.page.get_by_label("Retention")).to_be_focused()
    admin.page.get_by_label("Retention").fill("90")
    admin.button("Save the settings").click()
    admin.says("The settings are saved.")
    changed = world.server.call("GET", f"/v1/conversations/{CREW}")[1]["settings"]
    assert (changed["retentionDays"], changed["frozen"]) == (90, True)

    admin.page.get_by_label("Role of bob").select_option("moderator")
    admin.says("bob has the role moderator.")
    admin.row("mei").get_by_role("button", name="Mute").click()
    expect(admin.row("mei")).to_contain_text("until unmuted")
    admin.row("mei").get_by_role("button", name="Remove").click()
    admin.confirm("Remove")
    expect(admin.row("mei")).to_be_hidden()
    admin.page.get_by_label("User ID").fill("dora")
    admin.button("Add").click()
    admin.says("dora is a member.")
    admin.row("dora").get_by_role("button", name="Ban").click()
    admin.confirm("Ban", Reason="spam")
    admin.says(f"dora is banned from {CREW}.")
    expect(admin.row("dora").get_by_role("button", name="Lift the ban")).to_be_visible()
    members = world.server.call("GET", f"/v1/conversations/{CREW}/members")[1]["members"]
    assert [(member["user"], member["role"]) for member in members] == [("alice", "member"), ("bob", "moderator")]
    admin.check()
    admin.button("Delete").click()
    admin.confirm("Delete")
    admin.heading("Conversations")
    expect(admin.page.get_by_text("No conversation matches.")).to_be_visible()


def test_a_report_shows_its_context_and_is_decided(world):
    sent = community(world)
    admin = world.admin_page().sign_in()
    admin.open("reports")
    expect(admin.row("Report 1")).to_contain_text("spam")
    admin.page.get_by_role("link", name="Report 1").click()
    messages = admin.page.locator(".message")
    expect(messages).to_have_count(4)
    expect(messages.nth(2)).to_contain_text(f"Buy cheap sails: {HOSTILE}")
    expect(admin.page.locator(".reported")).to_have_count(1)
    admin.check()
    admin.button("Delete the message").click()
    admin.confirm("Delete")
    admin.says("The message is deleted.")
    expect(messages.nth(2)).to_contain_text("(deleted)")
    expect(admin.page.locator(".facts").first).to_contain_text("Buy cheap sails")
    admin.button("Ban from the conversation").click()
    admin.confirm("Ban", Duration="86400", Reason="spam")
    admin.says(f"mei is banned from {CREW}.")
    admin.page.get_by_label("Note").fill("Deleted and banned for a day.")
    admin.button("Close the report").click()
    admin.says("The report is closed.")
    report = world.server.call("GET", "/v1/reports/1")[1]
    assert (report["state"], report["note"]) == ("closed", "Deleted and banned for a day.")
    assert world.server.call("GET", f"/v1/conversations/{CREW}/messages/{sent[2]['id']}")[1]["deleted"]
    assert world.server.call("GET", f"/v1/conversations/{CREW}/bans")[1]["bans"][0]["user"] == "mei"
    admin.open("reports")
    expect(admin.page.get_by_text("No report is here.")).to_be_visible()


def test_a_ban_is_set_and_lifted(world):
    community(world)
    admin = world.admin_page().sign_in()
    admin.open("bans")
    admin.page.get_by_label("User ID").fill("mei")
    admin.button("Ban…").click()
    admin.confirm("Ban", Duration="", Reason="<b>spam</b>")
    expect(admin.row("mei")).to_contain_text("without an end")
    expect(admin.row("mei")).to_contain_text("<b>spam</b>")
    assert world.server.call("GET", "/v1/bans")[1]["bans"][0]["reason"] == "<b>spam</b>"
    admin.check()
    admin.button("Lift the ban").click()
    admin.confirm("Lift the ban")
    expect(admin.page.get_by_text("No user is banned from the server.")).to_be_visible()
    admin.page.get_by_label("User ID").fill("admin")
    admin.button("Ban…").click()
    admin.confirm("Ban")
    expect(admin.page.get_by_role("alert")).to_contain_text("admin was not banned. ")


def test_settings_are_saved_and_refused_at_their_field(world):
    admin = world.admin_page().sign_in()
    admin.open("settings")
    history = admin.page.get_by_role("form", name="History")
    history.get_by_label("Message retention").fill("0")
    history.get_by_role("button", name="Save").click()
    expect(history.locator(".field-error:visible")).to_contain_text("retentionDays")
    expect(history.get_by_label("Message retention")).to_have_attribute("aria-invalid", "true")
    history.get_by_label("Message retention").fill("30")
    history.get_by_label("Count window").fill("")
    history.get_by_label("Recalls lower unread counts").uncheck()
    history.get_by_role("button", name="Save").click()
    admin.says('The settings "History" are saved.')
    saved = settings(world)
    assert (saved["retentionDays"], saved["countWindowDays"], saved["recallLowersUnread"]) == (30, None, False)
    words = admin.page.get_by_role("form", name="Banned words")
    words.get_by_label("Words", exact=True).fill("darn\n\n 坏话 ")
    words.get_by_label("Messages with a banned word").select_option("replace")
    words.get_by_role("button", name="Save").click()
    admin.says('The settings "Banned words" are saved.')
    assert settings(world)["bannedWords"] == {"words": ["darn", "坏话"], "action": "replace"}
    admin.check()


def test_webhooks_are_set_and_removed(world):
    admin = world.admin_page().sign_in()
    admin.open("webhooks")
    form = admin.page.get_by_role("form", name="After a message")
    form.get_by_label("Address").fill("https://example.org/hook")
    form.get_by_label("Secret").fill("short")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".field-error:visible")).to_contain_text("webhooks.after.secret")
    form.get_by_label("Secret").fill("0123456789abcdef")
    form.get_by_role("button", name="Save").click()
    admin.says('The webhook "After a message" is saved.')
    assert settings(world)["webhooks"]["after"]["url"] == "https://example.org/hook"
    expect(form.get_by_label("Secret")).to_have_value("")
    admin.check()
    form.get_by_role("button", name="Remove").click()
    admin.confirm("Remove")
    admin.says('The webhook "After a message" is removed.')
    assert settings(world)["webhooks"] == {"logHours": 24}


def test_a_test_push_shows_the_answer_of_the_service(world):
    community(world)
    admin = world.admin_page().sign_in()
    admin.open("push")
    admin.page.get_by_label("User ID").fill("alice")
    admin.button("Send a test push").click()
    expect(admin.page.locator(".field-error:visible")).to_contain_text("alice has no device")
    with push_receiver() as url:
        body = {"push": {"services": {"webhook": {"url": url, "secret": "0123456789abcdef"}}}}
        assert world.server.call("PUT", "/v1/settings", body)[0] == 200
        device = {"service": "webhook", "token": "a-token"}
        assert world.server.call("PUT", "/v1/push/devices/phone", device, world.server.token("alice"))[0] in (200, 201)
        admin.button("Send a test push").click()
        expect(admin.page.get_by_text("phone, webhook:")).to_contain_text("sent")
    form = admin.page.get_by_role("form", name="Settings")
    form.get_by_label("Texts").fill('{"de": {"image": "Foto"}}')
    form.get_by_label("Interval").fill("5000")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".field-error:visible")).to_contain_text("push.intervalSeconds")
    form.get_by_label("Interval").fill("5")
    form.get_by_role("button", name="Save").click()
    admin.says("The push settings are saved.")
    form.get_by_label("Texts").fill("")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_label("Texts")).to_have_value("{}")
    push = settings(world)["push"]
    assert (push["intervalSeconds"], push["texts"]) == (5, {})
    admin.check()


class push_receiver:
    """A program that accepts each push."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"results": []}')

        def log_message(self, *arguments):
            pass

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# All screens

# The folder for the images of the documentation.
SCREENSHOTS = os.environ.get("SCROLLBACK_SCREENSHOTS")
SCREENS = {
    "overview": ["overview"],
    "nodes": ["nodes"],
    "users": ["users"],
    "user": ["users", "alice"],
    "conversations": ["conversations"],
    "conversation": ["conversations", CREW],
    "reports": ["reports"],
    "report": ["reports", "1"],
    "bans": ["bans"],
    "audit": ["audit"],
    "settings": ["settings"],
    "webhooks": ["webhooks"],
    "deliveries": ["webhooks", "after"],
    "push": ["push"],
}


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_screen_is_accessible_fits_and_shows_texts_of_users_as_text(make_world, tmp_path, look):
    world = make_world("--backups", str(tmp_path / "backups"))
    community(world)
    assert world.server.call("POST", "/v1/admin/backups")[0] == 202
    assert world.server.call("PUT", "/v1/bans/mei", {"reason": MARKUP})[0] == 204
    for user in ("alice", "bob"):
        world.tab(user).online()
    options = {"viewport": {"width": 390, "height": 780} if look == "phone" else {"width": 1200, "height": 780}}
    if NAME == "chromium":  # Firefox ESR does not emulate a color scheme.
        options["color_scheme"] = "dark" if look == "dark" else "light"
    admin = world.admin_page(**options).sign_in()
    for name, path in SCREENS.items():
        if name == "webhooks":
            after = {"url": "http://127.0.0.1:1/", "secret": "0123456789abcdef"}
            assert world.server.call("PUT", "/v1/settings", {"webhooks": {"after": after}})[0] == 200
            world.server.send("alice", CREW, "The webhook does not receive this message.")
        admin.open(*path)
        contents = "main .tile, main tbody th, main .fields, main .facts, main form.card, main .alone"
        shown = admin.page.locator(contents).first
        expect(shown).to_be_visible()
        if name == "overview":
            expect(admin.page.locator("main section").filter(has_text="Last backup")).to_be_visible()
            expect(admin.page.locator(".tile").filter(has_text="Requests").locator(".value")).to_contain_text("/s")
        if name == "users":
            expect(admin.row("mei")).to_contain_text(MARKUP)
        if name in ("webhooks", "deliveries"):
            expect(admin.page.locator("main tbody tr")).to_have_count(1)
        if name == "report":
            expect(admin.page.locator(".message").nth(2)).to_contain_text(HOSTILE)
        admin.check()
        assert admin.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), name
        is_documented = name in ("overview", "report") or look == "light" and name in ("user", "settings")
        if SCREENSHOTS and NAME == "chromium" and is_documented:
            path = ROOT / SCREENSHOTS / f"admin-{name}{'' if look == 'light' else '-' + look}.png"
            admin.page.screenshot(path=path)


def test_a_user_is_deactivated_by_keyboard_alone(world):
    community(world)
    admin = world.admin_page()
    keyboard = admin.page.keyboard
    expect(admin.page.get_by_label("Admin key")).to_be_focused()
    keyboard.insert_text(world.server.admin)
    keyboard.press("Enter")
    admin.heading("Overview")
    expect(admin.page.get_by_role("heading", level=1)).to_be_focused()
    go_to(admin, "link", "Users", backwards=True)
    admin.heading("Users")
    expect(admin.row("bob")).to_be_visible()
    go_to(admin, "link", "bob")
    admin.heading("bob")
    expect(admin.button("Deactivate")).to_be_visible()
    go_to(admin, "button", "Deactivate")
    expect(admin.button("Cancel")).to_be_focused()
    keyboard.press("Escape")
    expect(admin.page.get_by_role("dialog")).to_have_count(0)
    expect(admin.button("Deactivate")).to_be_focused()
    keyboard.press("Enter")
    expect(admin.button("Cancel")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("Enter")
    admin.says("bob is deactivated.")
    assert user_state(world, "bob") == "deactivated"
    expect(admin.page.get_by_role("heading", level=1)).to_be_focused()


def go_to(admin, role, name, backwards=False):
    """Moves the focus with the tabulator key, and presses Enter."""
    target = admin.page.get_by_role(role, name=name, exact=True)
    for _ in range(60):
        admin.page.keyboard.press("Shift+Tab" if backwards else "Tab")
        if target.evaluate("it => it === document.activeElement"):
            admin.page.keyboard.press("Enter")
            return
    raise AssertionError(f"The {role} {name} is not in the order of the tabulator key.")
