"""The screens of the admin page about the server itself: nodes, deliveries of webhooks, and the audit log."""

from playwright.sync_api import expect

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
