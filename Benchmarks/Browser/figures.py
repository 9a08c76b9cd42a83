"""The figures of the benchmark."""

import statistics


def summary(values):
    """The median and the 95th percentile."""
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 1),
        "p95": round(ordered[max(0, -(-len(ordered) * 95 // 100) - 1)], 1),
    }


class Figures:
    def __init__(self):
        self.rows = []

    def add(self, name, unit, values, goal=None, bare=None):
        """Adds a figure. A goal is met if the 95th percentile is not above it."""
        row = {"name": name, "unit": unit, "count": len(values), **summary(values), "goal": goal}
        row["isMet"] = None if goal is None else row["p95"] <= goal
        row["bare"] = None if bare is None else summary(bare)
        self.rows.append(row)

    def table(self):
        """The figures as a table of Markdown."""
        lines = ["| | goal | p50 | p95 | page without scripts |", "|---|---|---|---|---|"]
        for row in self.rows:
            unit = f" {row['unit']}" if row["unit"] else ""
            goal = "" if row["goal"] is None else f"≤ {row['goal']}{unit}: {'met' if row['isMet'] else 'missed'}"
            bare = "" if row["bare"] is None else f"{row['bare']['p50']}, {row['bare']['p95']}{unit}"
            lines.append(f"| {row['name']} | {goal} | {row['p50']}{unit} | {row['p95']}{unit} | {bare} |")
        return "\n".join(lines)
