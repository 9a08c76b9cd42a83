"""The chat page against the real server, as users use it."""

import base64
import json
import os
import pathlib
import re
import struct
import uuid
import zlib

import pytest
from harness.browser import NAME, WEB, part
from harness.chat import AXE, ChatPage, expect
from harness.waiting import eventually

CREW = "Crew of the Albatross"
NAMES = {"alice": "Alice Marlow", "bob": "Bob Tern", "mei": "Mei Lan"}
PICTURES = pathlib.Path(__file__).parents[2] / "Fixtures" / "Pictures"


@pytest.fixture
def chat(world):
    """A server with three users in a group. No page may report an error or violate its content security policy."""
    server = world.server
    assert server.call("PUT", "/v1/settings", {"presence": True})[0] == 200
    for user, name in NAMES.items():
        assert server.call("PUT", f"/v1/users/{user}", {"name": name})[0] == 200
    body = {"name": CREW, "members": list(NAMES)}
    assert server.call("PUT", "/v1/conversations/group:crew", body)[0] in (200, 201)
    yield world
    for tab in world.tabs:
        assert (tab.errors, tab.violations) == ([], [])


@pytest.fixture
def demo(make_world):
    """A server that was started for a demonstration."""
    return make_world("--demo")


@pytest.fixture
def allowing(make_world):
    """A server that allows the pages of an app."""
    return make_world("--allow-origin", "http://127.0.0.1:9000")


def crew(world, *messages):
    for user, text in messages:
        world.server.send(user, "group:crew", text)


def opened(world, user, **options):
    """Opens the page of a user, with the crew's conversation."""
    page = ChatPage(world, user, **options)
    page.open(CREW)
    return page


def stored(world):
    return [message["content"]["text"] for message in world.server.history("mei", "group:crew")]


# Signing in


def test_the_token_leaves_the_address_at_once_and_no_request_contains_it(chat):
    crew(chat, ("bob", "hello"))
    alice = ChatPage(chat, "alice")
    expect(alice.entry(CREW)).to_be_visible()
    assert alice.page.url == chat.proxy.url + "/"
    alice.page.reload()
    expect(alice.entry(CREW)).to_be_visible()
    token = alice.page.evaluate("() => sessionStorage.getItem('scrollback-chat-token')")
    assert not [address for address in alice.addresses if token in address.split("#")[0]]
    assert token not in alice.page.evaluate("() => JSON.stringify(localStorage)")


def test_without_a_token_the_page_explains_how_to_sign_in(chat):
    page = ChatPage(chat, "alice", path="/")
    expect(page.page.get_by_text("scrollback token alice")).to_be_visible()
    page.page.get_by_label("Token").fill("nonsense")
    page.page.get_by_label("Token").press("Enter")
    expect(page.page.get_by_role("alert")).to_have_text("This is not a token.")
    page.page.get_by_label("Token").fill(chat.server.token("alice"))
    page.page.get_by_label("Token").press("Enter")
    expect(page.list.locator("h1")).to_have_text("Alice Marlow")


def test_signing_out_deletes_the_data_of_the_browser(chat):
    crew(chat, ("bob", "hello"))
    alice = opened(chat, "alice")
    expect(alice.message("hello")).to_be_visible()
    alice.page.get_by_role("button", name="Settings").click()
    alice.page.get_by_role("button", name=re.compile("Sign out")).click()
    expect(alice.page.get_by_label("Token")).to_be_visible()
    assert alice.page.evaluate("async () => (await indexedDB.databases()).length") == 0


def test_a_page_whose_parts_can_not_be_loaded_offers_to_load_them_again(chat):
    crew(chat, ("bob", "hello"))
    profile = chat.profile()
    profile.context.route(part("app"), lambda route: route.abort())
    alice = ChatPage(chat, "alice", profile=profile)
    expect(alice.page.get_by_role("alert")).to_have_text("The server can't be reached.")
    profile.context.unroute(part("app"))
    alice.page.get_by_role("button", name="Try now").click()
    alice.open(CREW)
    expect(alice.message("hello")).to_be_visible()


def test_conversations_open_although_their_part_of_the_page_could_not_be_loaded_at_first(chat):
    crew(chat, ("bob", "hello"))
    profile = chat.profile()
    profile.context.route(part("screens"), lambda route: route.abort())
    alice = ChatPage(chat, "alice", profile=profile)
    expect(alice.entry(CREW)).to_be_visible()
    expect(alice.bar).to_have_attribute("data-state", "online")
    profile.context.unroute(part("screens"))

    def is_shown():
        # The first time, the page may load itself again instead.
        alice.entry(CREW).locator("button").click()
        return alice.page.locator("conversation-view h2").is_visible()

    alice.until("the conversation is shown", is_shown)
    expect(alice.message("hello")).to_be_visible()


@pytest.mark.skipif(WEB is not None, reason="The server itself must serve the page.")
def test_a_further_visit_loads_each_script_once_and_from_the_cache(chat):
    crew(chat, ("bob", "hello"))
    alice = ChatPage(chat, "alice")
    for visit in range(2):
        if visit > 0:
            alice.goto("/")
        alice.open(CREW)
        expect(alice.message("hello")).to_be_visible()
        expect(alice.bar).to_have_attribute("data-state", "online")
    scripts = alice.page.evaluate("""
        () => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
          .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])
    """)
    names = [name for name, _ in scripts]
    assert all(any(part(name).search(path) for path in names) for name in ("main", "app", "remote", "screens"))
    assert len(names) == len(set(names))
    assert [script for script in scripts if script[1] > 0] == []


# The list, the timeline and sending


def test_unread_messages_are_counted_marked_and_read(chat):
    crew(chat, ("bob", "one"), ("mei", "two"))
    alice = ChatPage(chat, "alice")
    expect(alice.entry(CREW).locator(".badge").first).to_contain_text("2")
    expect(alice.entry(CREW)).to_contain_text("Mei Lan: two")
    alice.open(CREW)
    expect(alice.timeline.locator(".separator.unread + li")).to_contain_text("one")
    expect(alice.timeline.locator(".separator.day")).to_contain_text("Today")
    expect(alice.entry(CREW).locator(".badge")).to_have_count(0)
    alice.until("the server knows", lambda: chat.server.head("alice", "group:crew")["unread"] == 0)
    expect(alice.timeline.locator(".separator.unread")).to_be_visible()


def test_two_users_chat(chat):
    crew(chat, ("mei", "hello"))
    alice, bob = opened(chat, "alice"), opened(chat, "bob")
    # Messages that arrive before a page is connected are not announced.
    bob.send("Hello from bob")
    expect(bob.message("Hello from bob").locator(".tick")).to_have_attribute("aria-label", "Sent")
    expect(alice.message("Hello from bob")).to_be_visible()
    alice.send("Hello from alice")
    expect(bob.message("Hello from alice")).to_be_visible()
    # The name may not be loaded yet.
    text = re.compile("(Alice Marlow|alice).*Hello from alice")
    expect(bob.page.locator("[aria-live=polite]").get_by_text(text)).to_be_attached()
    expect(alice.message("Hello from alice").locator(".tick")).to_have_attribute("aria-label", "Sent")
    assert stored(chat) == ["hello", "Hello from bob", "Hello from alice"]


def test_messages_sent_offline_are_shown_survive_a_reload_and_arrive_once(chat):
    crew(chat, ("bob", "hello"))
    alice = opened(chat, "alice")
    expect(alice.message("hello")).to_be_visible()
    chat.proxy.close_network()
    expect(alice.bar).to_contain_text("You are offline")
    alice.send("Written offline")
    expect(alice.message("Written offline").locator(".tick")).to_have_attribute("aria-label", "Not sent yet")
    crew(chat, ("bob", "Written meanwhile"))
    chat.proxy.open_network()
    alice.page.reload()
    alice.open(CREW)
    expect(alice.message("Written meanwhile")).to_be_visible()
    expect(alice.message("Written offline").locator(".tick")).to_have_attribute("aria-label", "Sent")
    expect(alice.bar).to_be_empty()
    assert sorted(stored(chat)) == ["Written meanwhile", "Written offline", "hello"]


def test_a_message_that_the_server_refuses_can_be_discarded(chat):
    crew(chat, ("bob", "hello"))
    alice = opened(chat, "alice")
    chat.server.call("PUT", "/v1/settings", {"bannedWords": {"words": ["treasure"], "action": "reject"}})
    alice.send("the treasure")
    expect(alice.message("the treasure")).to_contain_text("Not sent.")
    alice.message("the treasure").get_by_role("button", name="Discard").click()
    expect(alice.message("the treasure")).to_have_count(0)
    assert stored(chat) == ["hello"]


def test_scrolling_up_loads_the_whole_history_without_a_gap(chat):
    server = chat.server
    imported(server, 400)
    alice = opened(chat, "alice")
    scroller = alice.timeline.locator(".scroller")
    to_newest = alice.timeline.locator("button.to-newest")

    def at_the_end():
        # The page can hide the button at any moment, because it follows new messages at the end of the list.
        to_newest.evaluate_all("(buttons) => buttons.forEach((button) => button.hidden || button.click())")
        return "Message 400" in alice.texts()

    alice.until("the newest message is shown", at_the_end)

    def at_the_top():
        scroller.evaluate("(scroller) => scroller.scrollTo(0, 0)")
        return "Message 1" in alice.texts()

    alice.until("the first message is loaded", at_the_top)
    expect(alice.timeline.locator(".gap")).to_have_count(0)
    numbers = [int(text.split()[1]) for text in alice.texts()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    alice.until("the newest message is shown again", at_the_end)


def imported(server, count):
    token = server.token("bob")
    for number in range(1, count + 1):
        body = {"id": f"00000000-0000-4000-8000-{number:012}", "type": "text", "content": {"text": f"Message {number}"}}
        assert server.call("POST", "/v1/conversations/group:crew/messages", body, token)[0] == 201


def test_an_open_conversation_shows_the_newest_message_after_each_outage(chat):
    crew(chat, ("bob", "hello"))
    alice = opened(chat, "alice")
    expect(alice.message("hello")).to_be_visible()
    token = chat.server.token("bob")
    for outage in range(3):
        chat.proxy.close_network()
        expect(alice.bar).to_contain_text("You are offline")
        for number in range(450):
            chat.server.send("bob", "group:crew", f"Outage {outage}: {number}", token)
        chat.proxy.open_network()
        expect(alice.message(f"Outage {outage}: 449")).to_be_in_viewport()
        expect(alice.timeline.locator(".gap")).to_have_count(0)


def test_a_draft_is_kept_for_each_conversation(chat):
    crew(chat, ("bob", "hello"))
    chat.server.send("bob", "direct:alice", "psst")
    alice = opened(chat, "alice")
    alice.composer.fill("An unfinished thought")
    alice.open("Bob Tern")
    expect(alice.entry(CREW)).to_contain_text("Draft: An unfinished thought")
    expect(alice.composer).to_have_value("")
    alice.page.reload()
    alice.open(CREW)
    expect(alice.composer).to_have_value("An unfinished thought")


def test_a_draft_continues_on_another_device(chat):
    crew(chat, ("bob", "hello"))
    first, second = opened(chat, "alice"), opened(chat, "alice")
    first.composer.fill("Begun here")
    expect(second.composer).to_have_value("Begun here")
    second.composer.press("End")
    second.composer.press_sequentially(", ended there")
    expect(first.composer).to_have_value("Begun here, ended there")
    second.composer.press("Enter")
    expect(first.composer).to_have_value("")
    expect(first.entry(CREW)).not_to_contain_text("Draft:")
    first.act("Begun here, ended there", "Edit")
    expect(first.composer).to_have_value("Begun here, ended there")
    first.composer.press("Escape")
    expect(first.composer).to_have_value("")


# Changing messages


def test_messages_are_edited_answered_and_deleted(chat):
    crew(chat, ("bob", "Where is the helm?"))
    alice, bob = opened(chat, "alice"), opened(chat, "bob")
    alice.send("Aft, of course")
    expect(bob.message("Aft, of course")).to_be_visible()
    expect(alice.message("Aft, of course").locator(".tick")).to_have_attribute("aria-label", "Sent")
    alice.composer.press("ArrowUp")
    alice.send("Aft, as always")
    expect(bob.message("Aft, as always")).to_contain_text("edited")
    bob.act("Aft, as always", "React")
    bob.page.get_by_role("button", name="React 👍").click()
    expect(alice.message("Aft, as always").locator(".reactions button")).to_contain_text("👍")
    alice.message("Aft, as always").locator(".reactions button").click()
    expect(bob.message("Aft, as always").locator(".reactions button")).to_contain_text("2")
    alice.act("Aft, as always", "Delete for everyone")
    expect(bob.timeline.get_by_text("This message was deleted.")).to_be_visible()
    bob.act("Where is the helm?", "Pin")
    expect(alice.message("Where is the helm?").locator(".pinned")).to_be_visible()
    alice.page.get_by_role("button", name="Details").click()
    expect(alice.side.get_by_role("heading", name="Pinned messages")).to_be_visible()
    expect(alice.side).to_contain_text("Where is the helm?")


def test_replies_form_a_thread(chat):
    crew(chat, ("bob", "Where is the helm?"))
    alice, bob = opened(chat, "alice"), opened(chat, "bob")
    alice.act("Where is the helm?", "Reply")
    alice.send("Aft")
    bob.timeline.get_by_role("button", name="1 reply").click()
    expect(bob.side.locator("li.message").filter(has_text="Aft")).to_be_visible()
    bob.side.locator("textarea").fill("Thank you")
    bob.side.locator("textarea").press("Enter")
    expect(bob.side.locator("li.message").filter(has_text="Thank you")).to_be_visible()
    expect(alice.timeline.get_by_role("button", name="2 replies")).to_be_visible()
    alice.message("Thank you").locator(".quote").click()
    expect(alice.side.locator("li.message")).to_have_count(3)


def test_threads_show_their_unread_replies_and_opening_one_reads_it(chat):
    root = chat.server.send("alice", "group:crew", "Where to?")["id"]
    # Reading the conversation reads its threads, so the replies are far below the first unread message.
    imported(chat.server, 60)
    for text in ("North", "East"):
        chat.server.send("bob", "group:crew", text, replyTo=root)
    alice = opened(chat, "alice")
    unread = alice.page.get_by_text("2 unread messages", exact=True)
    expect(alice.timeline.locator(".replies").get_by_text("2 unread messages", exact=True)).to_be_attached()
    button = alice.page.get_by_role("button", name="Threads")
    expect(button.locator(".badge")).to_contain_text("2")
    button.click()
    thread = alice.side.get_by_role("button", name=re.compile("Where to"))
    expect(thread).to_contain_text("Bob Tern: East")
    alice.side.get_by_label("Only threads that you follow").check()
    thread.click()
    expect(alice.side.locator("li.message")).to_have_count(3)
    expect(button.locator(".badge")).to_have_count(0)
    expect(unread).to_have_count(0)
    follow = alice.side.get_by_role("button", name="Follow this thread")
    expect(follow).to_have_attribute("aria-pressed", "true")
    follow.click()
    expect(follow).to_have_attribute("aria-pressed", "false")
    alice.side.get_by_role("button", name="Close").click()
    button.click()
    alice.side.get_by_label("Only threads that you follow").check()
    expect(alice.side.get_by_text("No threads yet.")).to_be_visible()


def test_mentions_are_completed_and_counted(chat):
    crew(chat, ("mei", "hello"))
    bob, alice = opened(chat, "bob"), ChatPage(chat, "alice")
    bob.composer.press_sequentially("Ask @al")
    expect(bob.page.get_by_role("option", name="Alice Marlow")).to_be_visible()
    bob.composer.press("Enter")
    expect(bob.composer).to_have_value("Ask @alice ")
    bob.composer.press_sequentially("please")
    bob.composer.press("Enter")
    expect(alice.entry(CREW).get_by_label("mentions you")).to_be_visible()
    alice.open(CREW)
    expect(alice.message("Ask").locator(".mention")).to_have_text("@alice")


def test_votes_of_a_poll_are_counted(chat):
    crew(chat, ("mei", "hello"))
    alice, bob = opened(chat, "alice"), opened(chat, "bob")
    alice.page.get_by_role("button", name="New poll").click()
    alice.page.get_by_label("Question").fill("When do we leave?")
    alice.page.get_by_label("Options, one a line").fill("At dawn\nAt noon")
    alice.page.get_by_role("dialog").get_by_role("button", name="Send").click()
    bob.timeline.get_by_role("button", name="At dawn").click()
    dawn = alice.timeline.get_by_role("button", name="At dawn")
    expect(dawn).to_contain_text("1 vote")
    dawn.click()
    expect(bob.timeline.get_by_role("button", name="At dawn")).to_contain_text("2 votes")


# People


def test_typing_presence_and_receipts_are_shown(chat):
    chat.server.send("bob", "direct:alice", "psst")
    alice = ChatPage(chat, "alice")
    alice.open("Bob Tern")
    bob = ChatPage(chat, "bob")
    bob.open("Alice Marlow")
    expect(alice.entry("Bob Tern").get_by_label("online")).to_be_visible()

    def is_typing():
        # A typing signal ends after a few seconds, and a busy machine can miss it.
        bob.composer.press_sequentially("I")
        return alice.page.get_by_text(re.compile("Bob Tern.* is typing…")).is_visible()

    alice.until("alice sees that bob is typing", is_typing)
    bob.send("I am here")
    expect(alice.message("I am here")).to_be_visible()
    expect(bob.message("I am here").locator(".tick")).to_have_attribute("aria-label", "Read")


def test_groups_are_made_and_left(chat):
    alice = ChatPage(chat, "alice")
    expect(alice.bar).to_be_empty()
    alice.page.get_by_role("button", name="New conversation").click()
    alice.page.get_by_label("User names").fill("bob, mei")
    alice.page.get_by_label("Name of the group").fill("Sails")
    alice.page.get_by_role("button", name="Start").click()
    alice.send("Who mends them?")
    bob = ChatPage(chat, "bob")
    bob.open("Sails")
    expect(bob.message("Who mends them?")).to_be_visible()
    bob.page.get_by_role("button", name="Details").click()
    expect(bob.side.get_by_role("heading", name="Members (3)")).to_be_visible()
    bob.side.get_by_role("button", name="Leave conversation").click()
    expect(bob.page.get_by_text("Choose a conversation.")).to_be_visible()
    alice.page.get_by_role("button", name="Details").click()
    expect(alice.side.get_by_role("heading", name="Members (2)")).to_be_visible()


def test_an_invitation_is_accepted(chat):
    alice = ChatPage(chat, "alice")
    alice.page.get_by_role("button", name="New conversation").click()
    alice.page.get_by_label("User names").fill("mei")
    alice.page.get_by_label("Name of the group").fill("Sails")
    alice.page.get_by_role("button", name="Start").click()
    alice.send("hello")
    expect(alice.message("hello").locator(".tick")).to_have_attribute("aria-label", "Sent")
    bob = ChatPage(chat, "bob")
    expect(bob.bar).to_be_empty()
    alice.page.get_by_role("button", name="Details").click()
    alice.side.get_by_label("User name").fill("bob")
    alice.side.get_by_role("button", name="Invite").click()
    bob.page.get_by_role("button", name="Join").click()
    expect(bob.page.locator("conversation-view h2")).to_contain_text("Sails")
    alice.send("Welcome")
    expect(bob.message("Welcome")).to_be_visible()


# Search and files


def test_a_search_hit_is_shown_in_its_conversation(chat):
    imported(chat.server, 200)
    hit = chat.server.send("mei", "group:crew", "The treasure is below deck")["id"]
    for _ in range(60):
        crew(chat, ("bob", "nothing"))
    chat.server.wait_for_index("alice", "treasure")
    alice = ChatPage(chat, "alice")
    alice.page.keyboard.press("Control+k")
    alice.page.get_by_label("Search all conversations").fill("treasure")
    alice.page.keyboard.press("Enter")
    expect(alice.side.locator("mark")).to_have_text("treasure")
    alice.side.locator(".hits button").click()
    marked = alice.message("The treasure").and_(alice.page.locator(".is-hit"))
    expect(marked).to_be_in_viewport()
    # The mark stays when the message is drawn again.
    path = f"/v1/conversations/group:crew/messages/{hit}/actions"
    body = {"type": "reaction", "value": "👍"}
    assert chat.server.call("POST", path, body, chat.server.token("bob"))[0] in (200, 201)
    expect(marked.locator(".reactions button")).to_contain_text("👍")


def picture(width, height):
    """A PNG of one colour."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x22\x57\xc5" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_pictures_and_files_are_sent(chat):
    crew(chat, ("mei", "hello"))
    alice, bob = opened(chat, "alice"), opened(chat, "bob")
    files = [
        {"name": "sail.png", "mimeType": "image/png", "buffer": picture(320, 200)},
        {"name": "log.txt", "mimeType": "text/plain", "buffer": b"Day 1: calm."},
    ]
    alice.page.locator("conversation-view input[type=file]").set_input_files(files)
    expect(alice.page.get_by_label("Files to send").locator("img")).to_have_count(1)
    alice.composer.press("Enter")
    image = bob.timeline.get_by_role("img", name="sail.png")
    bob.until("the picture is shown", lambda: image.evaluate("(image) => image.naturalWidth") == 320)
    file = bob.timeline.get_by_role("button", name="log.txt")
    expect(file).to_be_visible()
    if NAME != "firefox":  # Its driver reports no download of a page's own data.
        with bob.page.expect_download() as download:
            file.click()
        assert open(download.value.path(), "rb").read() == b"Day 1: calm."
    expect(alice.page.get_by_label("Files to send")).to_be_hidden()
    image.click()
    expect(bob.page.get_by_role("dialog").get_by_role("img", name="sail.png")).to_be_visible()


def test_an_upload_shows_its_progress_and_can_be_cancelled(chat):
    crew(chat, ("mei", "hello"))
    alice = opened(chat, "alice")
    chat.proxy.hold_after(1_000_000)
    file = {"name": "film.bin", "mimeType": "application/octet-stream", "buffer": bytes(3_000_000)}
    alice.page.locator("conversation-view input[type=file]").set_input_files([file])
    alice.composer.press("Enter")
    row = alice.timeline.locator("li.pending")
    progress = row.get_by_role("progressbar", name=re.compile("Upload of .*film.bin"))
    alice.until("the progress is shown", lambda: progress.evaluate("({ value }) => value") > 0.2)
    row.get_by_role("button", name=re.compile("Remove .*film.bin")).click()
    expect(row).to_have_count(0)
    chat.proxy.release()
    alice.composer.fill("without a film")
    alice.composer.press("Enter")
    alice.until("the text is sent", lambda: stored(chat) == ["hello", "without a film"])


# Settings


def test_theme_and_language_are_kept(chat):
    crew(chat, ("bob", "hello"))
    alice = ChatPage(chat, "alice")
    alice.page.get_by_role("button", name="Settings").click()
    alice.page.get_by_label("Theme").select_option("Dark")
    color = "() => getComputedStyle(document.documentElement).backgroundColor"
    alice.until("the page is dark", lambda: alice.page.evaluate(color) == "rgb(21, 24, 29)")
    alice.page.get_by_label("Language").select_option("简体中文")
    expect(alice.page.get_by_role("button", name="设置")).to_be_visible()
    assert alice.page.evaluate("() => document.documentElement.lang") == "zh-Hans"
    assert alice.page.evaluate(color) == "rgb(21, 24, 29)"


# Keyboard


def test_the_whole_chat_works_by_keyboard(chat):
    crew(chat, ("mei", "first"), ("bob", "second"))
    alice = ChatPage(chat, "alice")
    keyboard = alice.page.keyboard
    expect(alice.entry(CREW)).to_be_visible()
    focused = alice.page.locator(":focus")

    def tab_to(label):
        for _ in range(30):
            keyboard.press("Tab")
            if label in (focused.get_attribute("aria-label") or focused.inner_text()):
                return
        raise AssertionError(f"Tab does not reach {label}")

    tab_to(CREW)
    keyboard.press("Enter")
    expect(alice.composer).to_be_focused()
    keyboard.type("third")
    keyboard.press("Enter")
    expect(alice.message("third").locator(".tick")).to_have_attribute("aria-label", "Sent")
    keyboard.press("Shift+Tab")
    for _ in range(10):
        if focused.get_attribute("aria-label") == "Messages":
            break
        keyboard.press("Shift+Tab")
    keyboard.press("ArrowUp")
    expect(alice.message("third")).to_be_focused()
    keyboard.press("ArrowUp")
    expect(alice.message("second")).to_be_focused()
    keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-label", "React")
    keyboard.press("Enter")
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    expect(alice.message("second").locator(".reactions")).to_contain_text("❤️")
    expect(alice.message("second")).to_be_focused()
    keyboard.press("r")
    expect(alice.composer).to_be_focused()
    keyboard.type("reply")
    keyboard.press("Enter")
    expect(alice.message("reply").locator(".quote")).to_contain_text("second")
    chat.server.wait_for_index("alice", "first")
    keyboard.press("Control+k")
    expect(alice.page.get_by_label("Search all conversations")).to_be_focused()
    keyboard.type("first")
    keyboard.press("Enter")
    expect(alice.side.locator("mark")).to_have_text("first")
    keyboard.press("Escape")
    expect(alice.side.locator("section")).to_have_count(0)


# Hostile content

HOSTILE = [
    "<img src=x onerror=\"document.title='hacked'\">",
    "<svg onload=\"document.title='hacked'\"></svg><script>document.title='hacked'</script>",
    "javascript:alert(1) data:text/html,<b>x</b> file:///etc/passwd",
    "‮txt.exe‬ and ⁦⁦⁦ unbalanced ‮",
    "https://example.org/<script>alert(1)</script>",
]


def test_what_users_write_stays_text(chat):
    long_word = "w" * 100_000
    crew(chat, *[("bob", text) for text in HOSTILE], ("bob", long_word))
    chat.server.call("PUT", "/v1/users/bob", {"name": "<b>Bob</b>‮"})
    alice = opened(chat, "alice", profile=chat.profile(viewport={"width": 900, "height": 700}))
    expect(alice.message("wwww")).to_be_visible()
    alice.until("all texts are shown", lambda: set(HOSTILE) <= set(alice.texts()))
    assert "hacked" not in alice.page.title()
    links = alice.timeline.locator("a")
    assert links.evaluate_all("(links) => links.map((link) => [link.href, link.rel])") == [
        ["https://example.org/", "noopener noreferrer nofollow"]
    ]
    wide = "() => document.documentElement.scrollWidth > innerWidth || [...document.querySelectorAll('.bubble')].some("
    wide += "(bubble) => bubble.getBoundingClientRect().right > innerWidth)"
    assert not alice.page.evaluate(wide)
    sender = alice.timeline.locator(".sender").first
    assert sender.evaluate("(name) => name.children.length") == 0


def test_a_link_preview_shows_the_host_of_its_page_and_no_markup(chat):
    crew(chat, ("mei", "hello"))
    body = {"id": str(uuid.uuid4()), "type": "text", "content": forecast("<b>Your bank</b>")}
    path = "/v1/conversations/group:crew/messages"
    assert chat.server.call("POST", path, body, chat.server.token("mei"))[0] == 201
    preview = opened(chat, "alice").timeline.locator(".preview")
    expect(preview).to_contain_text("<b>Your bank</b>")
    expect(preview).to_contain_text("Example · example.org")
    assert preview.get_attribute("href") == "https://example.org/forecast"
    assert preview.get_attribute("rel") == "noopener noreferrer nofollow"
    expect(preview.locator("img")).not_to_have_js_property("naturalWidth", 0)
    other = {**body["content"], "linkPreview": {"url": "https://bank.example/", "title": "Bank"}}
    refused = {"id": str(uuid.uuid4()), "type": "text", "content": other}
    assert chat.server.call("POST", path, refused, chat.server.token("mei"))[0] == 422


def test_many_reactions_break_nothing(chat):
    crew(chat, ("bob", "react to this"))
    message = chat.server.history("alice", "group:crew")[0]["id"]
    for user in NAMES:
        token = chat.server.token(user)
        for number in range(30):
            path = f"/v1/conversations/group:crew/messages/{message}/actions"
            body = {"type": "reaction", "value": f"<b>{number}</b>" + "x" * 100}
            assert chat.server.call("POST", path, body, token)[0] in (200, 201)
    alice = opened(chat, "alice")
    expect(alice.message("react to this").locator(".reactions button")).to_have_count(20)
    assert not alice.page.evaluate("() => document.documentElement.scrollWidth > innerWidth")


# Screens


def test_a_phone_shows_one_column_at_a_time(chat):
    crew(chat, ("bob", "hello"))
    alice = ChatPage(chat, "alice", profile=chat.profile(viewport={"width": 360, "height": 640}, has_touch=True))
    alice.open(CREW)
    expect(alice.list).to_be_hidden()
    alice.page.get_by_role("button", name="Details").click()
    expect(alice.timeline).to_be_hidden()
    alice.side.get_by_role("button", name="Close").click()
    expect(alice.message("hello")).to_be_visible()
    assert not alice.page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    alice.page.get_by_role("button", name="Back to the list").click()
    expect(alice.entry(CREW)).to_be_visible()


def audit(page):
    """The serious findings of axe. It only reads the page, so the content security policy does not apply to it."""
    page.page.evaluate(AXE + "; undefined")
    result = page.page.evaluate("async () => await axe.run(document, { resultTypes: ['violations'] })")
    return [
        (finding["id"], [node["html"][:200] for node in finding["nodes"]])
        for finding in result["violations"]
        if finding["impact"] in ("serious", "critical")
    ]


def forecast(title):
    """The content of a text that mentions alice, with the preview of its link."""
    link = "https://example.org/forecast"
    preview = {"url": link, "title": title, "description": "North-west 4, later 6. Showers.", "site": "Example"}
    picture = base64.b64encode((PICTURES / "private.jpg").read_bytes()).decode()
    return {"text": f"@alice, the forecast: {link}", "linkPreview": {**preview, "picture": picture}}


def filled(world):
    """Gives the conversation one of everything."""
    crew(world, ("bob", "Good morning! The tide is at 06:40, see you at the quay."), ("mei", "I bring the new lines."))
    ids = [message["id"] for message in world.server.history("alice", "group:crew")]
    path = "/v1/conversations/group:crew/messages"
    for user, value in (("mei", "👍"), ("alice", "👍"), ("mei", "🎉")):
        body = {"type": "reaction", "value": value}
        assert world.server.call("POST", f"{path}/{ids[0]}/actions", body, world.server.token(user))[0] in (200, 201)
    options = {"text": "When do we leave?", "options": ["At dawn", "At noon", "In the evening"]}
    messages = [
        ("alice", {"type": "text", "content": {"text": "Thank you, Mei!"}, "replyTo": ids[1]}),
        ("bob", {"type": "poll", "content": options}),
        ("mei", {"type": "text", "content": forecast("Weather of the coast"), "mentions": {"users": ["alice"]}}),
        ("bob", {"type": "text", "content": {"text": "I look at the bilge pump after lunch."}}),
    ]
    for number, (user, body) in enumerate(messages):
        body["id"] = f"00000000-0000-4000-8000-{number:012}"
        assert world.server.call("POST", path, body, world.server.token(user))[0] == 201
    vote = {"type": "vote", "value": "0"}
    for user in ("alice", "mei"):
        poll = f"{path}/00000000-0000-4000-8000-000000000001/actions"
        assert world.server.call("POST", poll, vote, world.server.token(user))[0] in (200, 201)
    world.server.send("bob", "direct:alice", "Could you look at the ferry's timetable before noon?")
    world.server.send("mei", "direct:alice", "Photos of the regatta are on the board.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_screen(chat, theme):
    filled(chat)
    chat.server.wait_for_index("alice", "morning")
    alice = ChatPage(chat, "alice", path="/")
    expect(alice.page.get_by_label("Token")).to_be_visible()
    assert audit(alice) == []
    alice.page.evaluate("(theme) => localStorage.setItem('scrollback-chat', JSON.stringify({ theme }))", theme)
    alice.goto("/healthz")
    alice.goto(f"/#token={chat.server.token('alice')}")
    expect(alice.entry(CREW)).to_be_visible()
    alice.open(CREW)
    alice.message("Good morning").locator(".bubble").hover()
    expect(alice.page.get_by_role("toolbar")).to_be_visible()
    assert audit(alice) == []
    alice.timeline.get_by_role("button", name="1 reply").click()
    expect(alice.side.locator("li.message")).to_have_count(2)
    assert audit(alice) == []
    alice.page.get_by_role("button", name="Details").click()
    expect(alice.side.get_by_role("heading", name="Members (3)")).to_be_visible()
    assert audit(alice) == []
    alice.page.get_by_label("Search all conversations").fill("morning")
    alice.page.keyboard.press("Enter")
    expect(alice.side.locator("mark")).to_be_visible()
    assert audit(alice) == []
    for name in ("Settings", "New conversation", "New poll"):
        alice.page.get_by_role("button", name=name).click()
        expect(alice.page.get_by_role("dialog", name=name)).to_be_visible()
        assert audit(alice) == []
        alice.page.keyboard.press("Escape")
    chat.proxy.close_network()
    expect(alice.bar).to_contain_text("You are offline")
    assert audit(alice) == []


SCREENS = {
    "light": {"viewport": {"width": 1100, "height": 720}},
    "dark": {"viewport": {"width": 1100, "height": 720}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 760}},
    "right-to-left": {"viewport": {"width": 1100, "height": 720}},
}


@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_fits_its_width(chat, name):
    """With `SCROLLBACK_SCREENSHOTS` set to a folder, it stores the pictures of the documentation there."""
    filled(chat)
    if name == "dark" and NAME == "firefox":
        pytest.skip("The driver of Firefox does not emulate a dark system.")
    alice = ChatPage(chat, "alice", profile=chat.profile(**SCREENS[name]))
    if name == "right-to-left":
        alice.page.evaluate("() => (document.documentElement.dir = 'rtl')")
    alice.open(CREW)
    expect(alice.message("Good morning")).to_be_visible()
    newest = alice.message("I look at the bilge pump")
    newest.scroll_into_view_if_needed()
    expect(newest).to_be_in_viewport()
    expect(alice.timeline.locator(".poll")).to_contain_text("2 votes")
    overflow = """() => [...document.querySelectorAll('button, textarea, .bubble, .line, h1, h2')].filter((element) => {
        const { left, right, width } = element.getBoundingClientRect();
        return width > 1 && (left < -1 || right > innerWidth + 1);
    }).map((element) => element.outerHTML.slice(0, 100))"""
    assert alice.page.evaluate(overflow) == []
    if folder := os.environ.get("SCROLLBACK_SCREENSHOTS"):
        alice.page.screenshot(path=pathlib.Path(folder) / f"chat-{name}.png")


# The demonstration and embedding


@pytest.mark.skipif(WEB is not None, reason="The server itself must serve the page.")
def test_a_demonstration_shows_two_users_whose_connections_can_be_disturbed(demo):
    page = demo.profile(viewport={"width": 1400, "height": 760}).context.new_page()
    page.goto(demo.server.url + "/")

    def device(name):
        section = page.get_by_role("region", name=name, exact=True)
        return section, section.frame_locator("iframe")

    (alice, in_alice), (bob, in_bob) = device("alice"), device("bob")
    for frame in (in_alice, in_bob):
        frame.locator("nav li", has_text="Albatross").locator("button").click()
        expect(frame.locator("timeline-view li.message").first).to_be_attached()
    alice.get_by_role("button", name="Go offline").click()
    expect(in_alice.locator("connection-bar")).to_contain_text("You are offline")
    in_alice.locator("textarea").fill("Sent while offline")
    in_alice.locator("textarea").press("Enter")
    mine = in_alice.locator("li.message", has_text="Sent while offline")
    expect(mine.locator(".tick")).to_have_attribute("aria-label", "Not sent yet")
    bob.get_by_role("button", name="Cut the connection").click()
    in_bob.locator("textarea").fill("From bob")
    in_bob.locator("textarea").press("Enter")
    page.get_by_role("button", name="Another device").click()
    other, in_other = device("⁨alice⁩, second device")
    in_other.locator("nav li", has_text="Albatross").locator("button").click()
    expect(in_other.locator("li.message", has_text="From bob")).to_be_visible()
    expect(in_alice.locator("li.message", has_text="From bob")).to_have_count(0)
    alice.get_by_role("button", name="Go online").click()
    for frame in (in_alice, in_bob, in_other):
        expect(frame.locator("li.message", has_text="From bob")).to_have_count(1)
        expect(frame.locator("li.message", has_text="Sent while offline")).to_have_count(1)
    expect(mine.locator(".tick")).to_have_attribute("aria-label", "Sent")


EMBEDDING = """<!doctype html><title>App</title><scrollback-chat server="{server}/"></scrollback-chat><output></output>
<script type="module">
  import "{server}/chat/embed.js";
  const chat = document.querySelector("scrollback-chat");
  chat.addEventListener("statechange", ({{ detail }}) => (document.querySelector("output").value = detail.connection));
  chat.token = async () => "{token}";
</script>"""


@pytest.mark.skipif(WEB is not None, reason="The server itself must serve the page.")
def test_only_a_page_of_an_allowed_origin_can_embed_the_chat(allowing):
    page = allowing.profile().context.new_page()
    html = EMBEDDING.format(server=allowing.server.url, token=allowing.server.token("alice"))
    addresses = re.compile(r"^http://127\.0\.0\.1:(9000|9001)/$")
    page.route(addresses, lambda route: route.fulfill(content_type="text/html", body=html))
    page.goto("http://127.0.0.1:9000/")
    expect(page.frame_locator("iframe").locator("conversation-list h1")).to_have_text("alice")
    expect(page.locator("output")).to_have_text("online")
    page.add_init_script("addEventListener('error', ({ target }) => (globalThis.refused = target.type), true)")
    page.goto("http://127.0.0.1:9001/")
    eventually("the script is refused", lambda: page.evaluate("() => globalThis.refused") == "module")
    expect(page.locator("output")).to_be_empty()
