"""The main flows of the chat page in WebKitGTK. The tests of Chromium and Firefox cover the rest."""

import pytest
from selenium.webdriver.common.by import By

CREW = "Crew of the Albatross"


@pytest.fixture
def chat(world):
    """A server with two users in a group. No page may report an error or violate its content security policy."""
    body = {"name": CREW, "members": ["alice", "bob"]}
    assert world.server.call("PUT", "/v1/conversations/group:crew", body)[0] in (200, 201)
    world.server.send("bob", "group:crew", "hello")
    yield world
    for page in world.pages:
        if page.window in world.driver.window_handles:
            assert page.show().errors() == []


def stored(world):
    return [message["content"]["text"] for message in world.server.history("bob", "group:crew")]


def test_a_demonstration_connects_two_users_and_a_user_of_it_can_sign_in(make_world):
    world = make_world("--demo")
    page = world.page()
    dots = (By.CSS_SELECTOR, ".demo-dot.is-online")
    page.until("both users are online", lambda: len(world.driver.find_elements(*dots)) == 2)
    alice = world.page("alice")
    alice.open(CREW)
    alice.until("messages are shown", alice.texts)
    assert alice.errors() == []


def test_a_user_signs_in_sends_and_receives(chat):
    page = chat.page()
    page.find("input").send_keys(chat.server.token("alice"))
    page.find("button[type=submit], form button").click()
    page.open(CREW)
    page.message("hello")
    page.send("Hello from WebKit")
    page.until("the message is sent", lambda: page.tick("Hello from WebKit") == "Sent")
    chat.server.send("bob", "group:crew", "Hello from bob")
    page.message("Hello from bob")
    assert stored(chat) == ["hello", "Hello from WebKit", "Hello from bob"]


def test_a_reload_without_a_connection_shows_the_stored_messages_and_sends_later(chat):
    page = chat.page("alice")
    page.open(CREW)
    page.message("hello")
    chat.front.go_offline()
    page.reload()
    page.find("connection-bar", "offline")
    page.open(CREW)
    page.message("hello")
    page.send("Written offline")
    page.until("the message is shown", lambda: page.tick("Written offline") == "Not sent yet")
    page.reload()
    page.open(CREW)
    page.until("the message is still shown", lambda: page.tick("Written offline") == "Not sent yet")
    chat.front.go_online()
    page.until("the message is sent", lambda: page.tick("Written offline") == "Sent")
    assert stored(chat) == ["hello", "Written offline"]


def test_messages_that_were_missed_appear_without_a_gap(chat):
    page = chat.page("alice")
    page.open(CREW)
    page.message("hello")
    chat.front.go_offline()
    page.find("connection-bar", "offline")
    token = chat.server.token("bob")
    texts = [f"Missed {number}" for number in range(150)]
    for text in texts:
        chat.server.send("bob", "group:crew", text, token)
    chat.front.go_online()
    page.until("all messages are shown", lambda: page.texts() == ["hello", *texts] and not page.has_gap())
    page.message("Missed 149")


def test_two_tabs_share_an_outbox_and_one_takes_over_when_the_other_closes(chat):
    first = chat.page("alice")
    first.open(CREW)
    second = chat.page("alice")
    second.open(CREW)
    second.message("hello")
    chat.front.go_offline()
    second.find("connection-bar", "offline")
    second.send("From the second tab")
    first.show().until("both show it", lambda: first.tick("From the second tab") == "Not sent yet")
    first.send("From the first tab")
    second.show().until("both show it", lambda: second.tick("From the first tab") == "Not sent yet")
    chat.front.go_online()
    second.until("it is sent", lambda: second.tick("From the first tab") == "Sent")
    first.show().until("both show it", lambda: first.tick("From the second tab") == "Sent")
    chat.driver.close()
    second.show().send("From the remaining tab")
    second.until("it is sent", lambda: second.tick("From the remaining tab") == "Sent")
    assert stored(chat) == ["hello", "From the second tab", "From the first tab", "From the remaining tab"]
