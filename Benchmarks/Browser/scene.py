"""The server of the benchmark, its messages, and a browser that has them."""

import datetime
import json
import random
import subprocess

from harness.server import PROGRAM, Server

LONG = "group:long"
USERS = [f"user{number:02}" for number in range(20)]
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
WORDS = (
    "the ship sails at noon with a fair wind and we keep watch from the deck until the harbour light shows ahead "
    "so please check the ropes once more before the tide turns thank you"
).split()


class Scene:
    """A server with conversations of alice: many short ones, and a long one."""

    def __init__(self, folder, conversations, messages, origin):
        self.folder = folder
        self.random = random.Random(1)
        self.time = START
        self.imports = 0
        self.server = Server(folder, "--allow-origin", origin)
        self.conversations = [f"group{number:04}" for number in range(conversations)]
        for name in self.conversations:
            self.server.call("PUT", f"/v1/conversations/group:{name}", {"name": f"Crew of ship {name[-4:]}"})
        self.add([name for name in self.conversations for _ in range(3)], "Message")
        self.add(["long"] * messages, "Message")

    def text(self):
        return " ".join(self.random.choices(WORDS, k=self.random.choice([3, 5, 8, 12, 20, 40])))

    def add(self, groups, label, *arguments):
        """Imports one message for each name of a group. Each text begins with the label and a number."""
        self.imports += 1
        path = self.folder / f"import-{self.imports}.jsonl"
        known = {}
        with path.open("w") as file:
            for number, group in enumerate(groups, 1):
                self.time += datetime.timedelta(seconds=self.random.choice([5, 20, 400]))
                known[group] = known.get(group, 0) + 1
                # The second message makes alice a member.
                is_own = not arguments and (known[group] == 2 or self.random.random() < 0.05)
                row = {
                    "id": f"{self.imports}-{number}",
                    "channel": group,
                    "sender": "alice" if is_own else self.random.choice(USERS),
                    "time": self.time.isoformat().replace("+00:00", "Z"),
                    "text": f"{label} {number}: {self.text()}",
                }
                file.write(json.dumps(row) + "\n")
        subprocess.run(
            [PROGRAM, "import", path, "--server", self.server.url, "--data", self.server.folder / "data", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self):
        self.server.close()
