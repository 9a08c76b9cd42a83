"""Checks of vivo messages to one device."""

from __future__ import annotations

import re
from typing import Any

from .rules import Refused

_TEST_LIKE = re.compile(r"[\W\dA-Za-z_]*")
_SKIP_LIMITS = {2: (1000, 10061, 10062), 3: (1024, 10063, 10064), 4: (1024, 10068, 10069)}
_EXTRAS = frozenset(("callback", "callback.param", "callback.id"))
_LONGEST_CUSTOM = 1024


def refused(rule: str, code: int, detail: str = "") -> Refused:
    return Refused(rule, 200, str(code), detail or rule.replace("-", " "))


def require(holds: Any, rule: str, code: int, detail: str = "") -> None:
    """Raises a refusal with a code unless the condition holds."""
    if not holds:
        raise refused(rule, code, detail)


def whole(value: Any) -> int | None:
    """Returns the value as an integer. A string of digits is accepted, because senders report that it works."""
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def width(text: str) -> int:
    """Returns the length of a text by the counting rule of the SDK."""
    return sum(1 if character.isascii() else 2 for character in text)


def check(body: dict[str, Any], longest_ttl: int, registration_length: int) -> None:
    _check_target(body, registration_length)
    request_id = _text(body, "requestId")
    require(request_id, "request-id-present", 10352)
    require(len(request_id) <= 64, "request-id-length", 10353)
    title, content = _text(body, "title"), _text(body, "content")
    require(title.strip(), "title-present", 10055)
    require(width(title) <= 40, "title-length", 10056, f"counts {width(title)}")
    require(content.strip(), "content-present", 10057)
    require(width(content) <= 100, "content-length", 10058, f"counts {width(content)}")
    require(whole(body.get("notifyType")) in (1, 2, 3, 4), "notify-type", 10054)
    _check_skip(body)
    ttl = whole(body.get("timeToLive", 0))
    require(ttl is not None and (ttl == 0 or 60 <= ttl <= longest_ttl), "time-to-live", 10059)
    require(whole(body.get("networkType", -1)) in (-1, 1), "network-type", 10065)
    _check_custom(body.get("clientCustomMap", {}))
    require(whole(body.get("classification", 0)) in (0, 1), "classification", 11000)
    _check_extra(body.get("extra", {}))
    notify_id = whole(body.get("notifyId", 1))
    require(notify_id is not None and 1 <= notify_id <= 2**31 - 1, "notify-id", 10095)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    return value if isinstance(value, str) else ""


def _check_target(body: dict[str, Any], registration_length: int) -> None:
    registration, alias = _text(body, "regId"), _text(body, "alias")
    require(registration or alias, "target-present", 10050)
    require(not registration or len(registration) == registration_length, "registration-form", 10302)
    require(len(alias) <= 40, "alias-length", 10301)


def _check_skip(body: dict[str, Any]) -> None:
    kind, content = whole(body.get("skipType")), _text(body, "skipContent")
    require(kind in (1, 2, 3, 4), "skip-type", 10060)
    if kind in _SKIP_LIMITS:
        limit, empty, too_long = _SKIP_LIMITS[kind]
        require(content, "skip-content", empty)
        require(len(content) <= limit, "skip-content", too_long)


def _check_custom(custom: Any) -> None:
    require(isinstance(custom, dict), "custom-map-size", 10067)
    require(len(custom) <= 10, "custom-map-count", 10066)
    require(all(isinstance(value, str) for value in custom.values()), "custom-map-size", 10067)
    require(sum(len(name) + len(value) for name, value in custom.items()) <= _LONGEST_CUSTOM, "custom-map-size", 10067)


def _check_extra(extra: Any) -> None:
    require(isinstance(extra, dict) and extra.keys() <= _EXTRAS, "extra-known", 10304)
    require(len(_text(extra, "callback")) <= 128, "callback-length", 10305)
    require(len(_text(extra, "callback.param")) <= 64, "callback-parameter-length", 10306)


def check_category(body: dict[str, Any], categories: dict[str, int]) -> None:
    """Checks that the category is known, if the setting lists any, and matches the classification."""
    category = body.get("category")
    if category is None:
        return
    known = isinstance(category, str) and category == category.upper() and (not categories or category in categories)
    require(known, "category", 10096)
    if "classification" in body and category in categories:
        require(whole(body["classification"]) == categories[category], "category-class", 10097)


def looks_like_test(body: dict[str, Any]) -> bool:
    texts = (_text(body, "title"), _text(body, "content"))
    return any(_TEST_LIKE.fullmatch(text) or "测试" in text or "test" in text.lower() for text in texts)
