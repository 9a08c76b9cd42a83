"""The parts of the admin page about the server itself: nodes, backups, deliveries of webhooks, and the audit log."""

import http.server
import json
import threading
import time

from playwright.sync_api import expect

from harness.waiting import eventually

MARKUP = "<img src=x onerror=alert(1)>"
# A name that is written from right to left, before a number that is not.
HEBREW = "שרת 7"


# Nodes


def node(name, **changes):
    fields = {
        "id": name,
        "name": name,
        "address": f"http://{name}.example.org:8080",
        "version": "1.4.0",
        "connections": 0,
        "isLeader": False,
        "isDraining": False,
        "startedAt": "2026-11-28T00:00:00.000Z",
        "lagSeconds": 0.4,
    }
    return fields | changes


class Cluster:
    """Answers for several nodes, in place of the server, which is alone."""

    def __init__(self, admin, *nodes):
        self.nodes = list(nodes)
        self.bus_is_connected = True
        self.is_failing = False
        admin.page.route("**/v1/admin/nodes", self.answer)

    def answer(self, route):
        if self.is_failing:
            return route.fulfill(status=503, body="")
        cluster = {"nodes": self.nodes, "generation": "7", "busIsConnected": self.bus_is_connected}
        return route.fulfill(json=cluster)


def test_a_single_server_is_no_cluster(world):
    admin = world.admin_page().sign_in()
    assert world.server.call("GET", "/v1/admin/nodes")[0] == 409
    admin.open("nodes")
    expect(admin.page.get_by_text("This server works alone.")).to_be_visible()
    expect(admin.page.get_by_role("table")).to_have_count(0)
    expect(admin.page.get_by_role("alert")).to_have_count(0)
    admin.check()


def test_the_nodes_of_a_cluster_are_shown_and_stay_current(world):
    admin = world.admin_page()
    cluster = Cluster(
        admin,
        node("n2", connections=1200, isLeader=True, version="1.5.0"),
        node("n1", connections=34, lagSeconds=1.6),
        node(HEBREW, address=""),
        node(MARKUP, lagSeconds=12),
    )
    admin.sign_in()
    admin.open("nodes")
    for name, texts in {
        "n1.example.org": ["serving", "34", "2 s", "1.4.0", "http://n1.example.org:8080"],
        "n2.example.org": ["serving", "leads", "1,200", "1.5.0"],
        HEBREW: ["starting"],
        "onerror": ["behind", "12 s"],
    }.items():
        for text in texts:
            expect(admin.row(name)).to_contain_text(text)
    # Sorted by name, although the node that answers is the first one of the answer.
    assert admin.page.locator("tbody th").all_inner_texts() == [MARKUP, "n1", "n2", HEBREW]
    expect(admin.page.locator("bdi").filter(has_text=HEBREW)).to_have_count(1)
    expect(admin.page.get_by_text("3 of 4 nodes serve clients. 1,234 clients are connected.")).to_be_visible()
    warnings = admin.page.get_by_role("list", name="Warnings")
    expect(warnings.get_by_role("listitem")).to_have_count(1)
    expect(warnings).to_contain_text("has not read from the database for over 10 seconds.")
    admin.check()

    # Rows that did not change stay, so that a screen reader keeps its place.
    admin.row("n2.example.org").evaluate("it => { it.isKept = true }")
    cluster.nodes[1] = node("n1", connections=30, isDraining=True)
    cluster.bus_is_connected = False
    del cluster.nodes[3]
    expect(admin.row("n1.example.org")).to_contain_text("draining")
    expect(admin.row("onerror")).to_have_count(0)
    assert admin.row("n2.example.org").evaluate("it => it.isKept")
    expect(warnings.get_by_role("listitem")).to_have_count(1)
    expect(warnings).to_contain_text("n2")
    expect(warnings).to_contain_text("is not connected to NATS, and lists no other nodes.")
    cluster.bus_is_connected = True
    expect(warnings).to_have_count(0)
    admin.check()


def test_an_error_of_the_list_of_nodes_ends_with_the_next_answer(world):
    admin = world.admin_page()
    cluster = Cluster(admin, node("n1", isLeader=True), node("n2"))
    admin.sign_in()
    admin.open("nodes")
    expect(admin.row("n1.example.org")).to_be_visible()
    cluster.is_failing = True
    expect(admin.page.get_by_role("alert")).to_contain_text("The list of nodes is not current. ")
    expect(admin.row("n1.example.org")).to_be_visible()
    cluster.is_failing = False
    expect(admin.page.get_by_role("alert")).to_have_count(0)
    admin.check()


# Backups


def backup_section(admin):
    return admin.page.locator("main section").filter(has=admin.page.get_by_role("heading", name="Backups"))


def test_the_operator_starts_a_backup(make_world, tmp_path):
    folder = tmp_path / "backups"
    world = make_world("--backups", str(folder))
    world.server.group("crew", "alice")
    world.server.send("alice", "group:crew", "Is the new sail here?")
    admin = world.admin_page().sign_in()
    section = backup_section(admin)
    expect(section).to_contain_text("The folder for backups has no backup yet.")
    expect(section.get_by_role("progressbar")).to_be_hidden()
    admin.check()

    admin.button("Back up now").click()
    expect(section.get_by_role("status")).to_contain_text("is complete.")
    expect(admin.button("Back up now")).to_be_focused()
    listed = world.server.call("GET", "/v1/admin/backups")[1]
    assert len(listed["backups"]) == 1 and "running" not in listed and "failure" not in listed, listed
    backup = listed["backups"][0]
    assert [it.name for it in folder.iterdir()] == [backup["name"]]
    assert (folder / backup["name"] / "backup.json").exists()
    for text in (backup["name"], "Last backup", "without media files"):
        expect(section).to_contain_text(text)
    expect(section).not_to_contain_text("has no backup yet")
    admin.check()

    # The second backup has another name only in the next second.
    eventually("the second passes", lambda: time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime()) > backup["name"])
    admin.button("Back up now").click()
    eventually("there are two backups", lambda: len(list(folder.glob("*/backup.json"))) == 2)
    expect(section).to_contain_text(world.server.call("GET", "/v1/admin/backups")[1]["backups"][0]["name"])
    admin.open("audit")
    expect(admin.row("Start a backup")).to_have_count(2)
    expect(admin.row(backup["name"])).to_have_count(1)


def test_a_server_without_a_folder_for_backups_names_the_option(world):
    admin = world.admin_page().sign_in()
    section = backup_section(admin)
    expect(section).to_contain_text("Start it with --backups")
    expect(admin.button("Back up now")).to_have_count(0)
    expect(admin.page.get_by_role("alert")).to_have_count(0)
    admin.check()


def test_a_folder_for_backups_that_can_not_be_written_is_an_error(make_world, tmp_path):
    folder = tmp_path / "backups"
    world = make_world("--backups", str(folder))
    admin = world.admin_page().sign_in()
    section = backup_section(admin)
    expect(admin.button("Back up now")).to_be_visible()
    folder.rmdir()
    expect(section).to_contain_text(f"The folder of --backups can't be written ({folder}): No such file or directory.")
    expect(admin.button("Back up now")).to_have_count(0)
    folder.mkdir()
    expect(admin.button("Back up now")).to_be_visible()
    expect(section).not_to_contain_text("can't be written")
    admin.check()


def test_the_progress_and_the_failure_of_a_backup_are_shown(world):
    admin = world.admin_page()
    name, last = "2026-11-29T023000Z", "2026-11-28T023000Z"
    earlier = {"name": last, "createdAt": "2026-11-28T02:30:00.000Z", "bytes": 3 << 20}
    answer = {"backups": [earlier | {"conversations": 12, "messages": 3456}], "includesFiles": False}
    running = {"name": name, "startedAt": "2026-11-29T02:30:00.000Z", "copiedBytes": 0}
    starts = []

    def serve(route):
        if route.request.method == "GET":
            return route.fulfill(json=answer)
        starts.append(route.request.post_data)
        answer["running"] = running
        return route.fulfill(status=202, json=running)

    admin.page.route("**/v1/admin/backups", serve)
    admin.sign_in()
    section = backup_section(admin)
    for text in (last, "3,456", "12", "3.0 MiB, without media files", "The files are in an S3 store"):
        expect(section).to_contain_text(text)
    status, bar = section.get_by_role("status"), section.get_by_role("progressbar")
    admin.button("Back up now").click()
    expect(status).to_contain_text(f"The backup {name} is running. The server copies the database.")
    expect(bar).to_be_visible()
    # A click while a backup runs does nothing.
    expect(admin.button("Back up now")).to_have_attribute("aria-disabled", "true")
    admin.button("Back up now").click(force=True)
    answer["running"] = running | {"copiedBytes": 1 << 20, "totalBytes": 4 << 20}
    expect(section).to_contain_text("1.0 MiB of 4.0 MiB")
    expect(bar).to_have_js_property("position", 0.25)
    admin.check()
    answer["running"] = running | {"copiedBytes": 4 << 20, "totalBytes": 4 << 20}
    expect(status).to_contain_text("The database is copied, and files and checksums follow.")
    del answer["running"]
    answer["failure"] = {"name": name, "failedAt": "2026-11-29T02:31:00.000Z", "error": f"No space is left {MARKUP}"}
    expect(status).to_contain_text(f"The backup {name} failed at ")
    expect(status).to_contain_text(f"No space is left {MARKUP}.")
    expect(bar).to_be_hidden()
    expect(admin.button("Back up now")).to_have_attribute("aria-disabled", "false")
    assert starts == [None]
    admin.check()

    del answer["failure"]
    answer["backups"].insert(0, earlier | {"name": name, "conversations": 12, "messages": 3460})
    expect(status).to_contain_text(f"The backup {name} is complete.")
    expect(section).to_contain_text("3,460")

    def refuse(route):
        if route.request.method == "GET":
            return route.fulfill(json=answer)
        detail = f"The backup {last} is running. Wait until it ends."
        problem = {"code": "conflict", "detail": detail, "status": 409}
        return route.fulfill(status=409, json=problem)

    admin.page.unroute("**/v1/admin/backups")
    admin.page.route("**/v1/admin/backups", refuse)
    admin.button("Back up now").click()
    expect(admin.page.get_by_role("alert")).to_have_text(
        f"The backup was not started. The backup {last} is running. Wait until it ends."
    )


# Deliveries of webhooks


class Receiver:
    """A program that receives events. It answers with `status`."""

    def __init__(self):
        self.status = 200
        self.events = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if receiver.status == 200:
                    receiver.events += body["events"]
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.settings = {
            "url": f"http://127.0.0.1:{self.server.server_port}/",
            "secret": "0123456789abcdef",
            "events": ["message"],
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def deliveries(world, webhook="after"):
    status, answer = world.server.call("GET", f"/v1/webhooks/{webhook}/deliveries")
    assert status == 200, answer
    return answer["deliveries"]


def test_the_delivery_log_shows_failures_and_sends_events_again(world):
    with Receiver() as receiver:
        receiver.status = 500
        webhooks = {"after": receiver.settings, "subscriptions": {"archive": receiver.settings}}
        assert world.server.call("PUT", "/v1/settings", {"webhooks": webhooks})[0] == 200
        world.server.group("crew", "alice")
        world.server.send("alice", "group:crew", "Is the new sail here?")
        for name in ("after", "archive"):
            eventually(f"a delivery to {name} fails", lambda: "error" in deliveries(world, name)[0])

        admin = world.admin_page().sign_in()
        admin.open("webhooks")
        for name in ("after", "archive"):
            row = admin.row("The webhook answered with status 500.").filter(has_text=name)
            expect(row).to_contain_text("failing")
            expect(row).to_contain_text(receiver.settings["url"])
        admin.check()
        admin.page.get_by_role("link", name="after", exact=True).click()
        admin.heading("Deliveries to after")
        row = admin.row("group:crew")
        expect(row).to_contain_text("pending")
        expect(row).to_contain_text("The webhook answered with status 500.")
        expect(admin.button("Send again")).to_have_count(0)

        receiver.status = 200
        # The server tries again within a minute.
        eventually("the event is delivered", lambda: deliveries(world)[0]["state"] == "delivered", seconds=120)
        admin.button("Refresh").click()
        expect(row).to_contain_text("delivered")
        admin.page.get_by_label("State").select_option("pending")
        expect(admin.page.get_by_text("No delivery is here.")).to_be_visible()
        admin.page.get_by_label("State").select_option("")

        number = deliveries(world)[0]["number"]
        first = deliveries(world)[0]["delivery"]
        admin.button("Send again").click()
        admin.confirm("Cancel")
        assert len(deliveries(world)) == 1
        admin.button("Send again").click()
        admin.confirm("Send again")
        admin.says("1 event is sent again.")
        eventually("the event arrives again", lambda: [it for it in receiver.events if it.get("replayOf") == first])
        expect(admin.row("sent again")).to_have_count(1)
        # The server sends a repetition no third time.
        expect(admin.button("Send again")).to_have_count(1)
        admin.check()

        admin.enter("First number", number + 1000)
        admin.enter("Last number", number)
        admin.button("Send again…").click()
        admin.confirm("Send again")
        expect(admin.page.locator(".field-error:visible")).to_contain_text("through")
        expect(admin.page.get_by_label("Last number")).to_be_focused()
        admin.enter("First number", number)
        admin.enter("Last number", number + 1000)
        admin.button("Send again…").click()
        admin.confirm("Send again")
        admin.says("1 event is sent again.")
        expect(admin.row("sent again")).to_have_count(2)


def test_the_delivery_log_shows_texts_of_others_as_text_and_more_pages(world):
    admin = world.admin_page()
    queries = []
    entry = {"event": MARKUP, "conversation": f"group:{HEBREW}", "state": "pending", "attempts": 1200, "error": MARKUP}

    def answer(route):
        queries.append(route.request.url.partition("?")[2])
        if "cursor=" in queries[-1]:
            return route.fulfill(json={"deliveries": [entry | {"number": 1, "delivery": "a-1"}]})
        return route.fulfill(json={"deliveries": [entry | {"number": 2, "delivery": "a-2"}], "cursor": "2"})

    admin.page.route("**/v1/webhooks/archive/deliveries*", answer)
    admin.sign_in()
    admin.open("webhooks", "archive")
    rows = admin.page.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.locator("bdi").filter(has_text=MARKUP)).to_have_count(2)
    expect(rows.locator("bdi").filter(has_text=HEBREW)).to_have_count(1)
    expect(rows).to_contain_text("1,200")
    admin.button("Show more").click()
    expect(rows).to_have_count(2)
    assert queries == ["limit=50", "cursor=2&limit=50"]
    expect(admin.button("Show more")).to_be_hidden()
    admin.check()


def test_a_range_that_is_sent_again_in_part_says_where_it_ended(world):
    admin = world.admin_page()
    answers = [{"count": 100, "next": 301}, None]

    def answer(route):
        result = answers.pop(0)
        return route.fulfill(json=result) if result else route.fulfill(status=503, body="")

    admin.page.route("**/v1/webhooks/archive/deliveries*", lambda route: route.fulfill(json={"deliveries": []}))
    admin.page.route("**/v1/webhooks/archive/replay", answer)
    admin.sign_in()
    admin.open("webhooks", "archive")
    # The driver of Firefox does not report the bodies of requests.
    admin.page.evaluate("""() => {
        const { fetch } = globalThis;
        globalThis.bodies = [];
        globalThis.fetch = (address, options) => {
            if (String(address).endsWith("/replay")) bodies.push(JSON.parse(options.body));
            return fetch(address, options);
        };
    }""")
    admin.enter("First number", 201)
    admin.enter("Last number", 900)
    admin.button("Send again…").click()
    admin.confirm("Send again")
    expect(admin.page.get_by_role("alert")).to_contain_text("Not all events were sent again. ")
    expect(admin.page.get_by_role("alert")).to_contain_text("The 100 events below number 301 are sent again.")
    assert admin.page.evaluate("() => bodies") == [{"from": 201, "through": 900}, {"from": 301, "through": 900}]


# The audit log


def test_the_audit_log_is_shown_and_filtered(world):
    world.server.group("crew", "alice", "bob")
    member = "/v1/conversations/group:crew/members/bob"
    for method, path, body in (
        ("PUT", member, {"role": "moderator"}),
        ("PUT", "/v1/bans/mei", {"reason": "spam"}),
        ("PUT", "/v1/settings", {"auditDays": 30}),
    ):
        status, answer = world.server.call(method, path, body)
        assert status < 300, answer
    admin = world.admin_page().sign_in()
    admin.open("audit")
    for action, texts in {
        "Change a role": ["admin", "bob", "group:crew"],
        "Ban": ["admin", "mei"],
        "Change settings": ["admin", "auditDays"],
    }.items():
        for text in texts:
            expect(admin.row(action)).to_contain_text(text)
    # Signing in to the page issues a token.
    expect(admin.row("Issue a token").first).to_contain_text("admin")
    admin.check()

    rows = admin.page.locator("tbody tr")
    action = admin.page.get_by_label("Action")
    action.select_option("ban")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("mei")
    action.select_option("")
    expect(admin.row("Change settings")).to_be_visible()
    admin.page.get_by_label("Concerns the user").fill("bob")
    admin.button("Search").click()
    expect(admin.row("Ban")).to_have_count(0)
    expect(admin.row("Change a role")).to_have_count(1)
    admin.page.get_by_label("By the user").fill("alice")
    admin.button("Search").click()
    expect(admin.page.get_by_text("No act matches.")).to_be_visible()

    admin.page.get_by_label("By the user").fill("a" * 200)
    admin.button("Search").click()
    expect(admin.page.locator(".field-error:visible")).to_contain_text("actor")
    expect(admin.page.get_by_label("By the user")).to_be_focused()
    admin.page.get_by_label("By the user").fill("")
    admin.page.get_by_label("In the conversation").fill("group:none")
    admin.button("Search").click()
    expect(admin.page.get_by_role("alert")).to_contain_text('The list "Audit log" was not loaded. ')
    admin.page.get_by_label("In the conversation").fill("group:crew")
    admin.button("Search").click()
    admin.row("Change a role").get_by_role("link", name="group:crew").click()
    admin.heading("group:crew")


def test_the_audit_log_offers_each_action_that_the_server_records(world):
    admin = world.admin_page().sign_in()
    admin.open("audit")
    parameters = world.server.call("GET", "/openapi.json")[1]["paths"]["/v1/audit"]["get"]["parameters"]
    recorded = next(it["schema"]["enum"] for it in parameters if it["name"] == "action")
    offered = admin.page.get_by_label("Action").locator("option").evaluate_all("all => all.map((it) => it.value)")
    assert offered == ["", *recorded]


def test_the_audit_log_shows_unknown_actions_and_texts_as_text(world):
    admin = world.admin_page()
    texts = {"actor": HEBREW, "action": MARKUP, "detail": MARKUP, "key": "k1"}
    act = {"number": 9, "at": "2026-11-28T00:00:00.000Z"} | texts
    admin.page.route("**/v1/audit*", lambda route: route.fulfill(json={"acts": [act]}))
    admin.sign_in()
    admin.open("audit")
    row = admin.row("k1")
    expect(row.locator("bdi").filter(has_text=MARKUP)).to_have_count(2)
    expect(row.get_by_role("link", name=HEBREW)).to_be_visible()
    admin.check()
