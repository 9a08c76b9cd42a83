"""Waits for conditions. No test waits for a time."""

import time


def eventually(what, condition, seconds=60):
    """Returns the first true result of `condition`, which is called again and again."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {seconds} s. The last result: {result!r}")
        time.sleep(0.02)
