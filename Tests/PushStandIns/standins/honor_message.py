"""Checks of Honor messages."""

from __future__ import annotations

import re
from typing import Any

from .rules import Refused
from .shapes import Shape, anything, bytes_without, integer, is_https, is_within, misfit, text

WRONG_STRUCTURE = 80100003
LONGEST_TTL = 1_296_000

_TTL = re.compile(r"(\d+)s")

_TEXTS = ("title", "body", "image", "importance", "bigTitle", "bigBody", "tag", "group", "when")
BODY: Shape = {
    "data": text,
    "token": [text],
    "notification": {"title": text, "body": text, "image": text},
    "android": {
        "ttl": anything,
        "biTag": text,
        "data": text,
        "targetUserType": integer,
        "notification": {
            **dict.fromkeys(_TEXTS, text),
            "clickAction": {"type": integer, "intent": text, "action": text, "url": text},
            "style": integer,
            "notifyId": anything,
            "badge": {"addNum": integer, "setNum": integer, "badgeClass": text},
            "buttons": [{"name": text, "actionType": integer, "intentType": integer, "intent": text, "data": text}],
        },
    },
}


def refused(rule: str, code: int = WRONG_STRUCTURE, detail: str = "") -> Refused:
    """Returns a refusal. A code that is an HTTP status is also the status of the response."""
    status = code if 400 <= code <= 503 else 200
    return Refused(rule, status, str(code), detail or rule.replace("-", " "))


def require(holds: Any, rule: str, detail: str = "") -> None:
    """Raises a refusal for a wrong structure unless the condition holds."""
    if not holds:
        raise refused(rule, detail=detail)


def check(body: dict[str, Any], raw: bytes, service_right: bool) -> None:
    """Checks a body; raw is the unparsed body."""
    require("message" not in body and not _has_snake_names(body), "huawei-names")
    if path := misfit(body, BODY):
        raise refused("field-types", detail=path)
    _check_tokens(body.get("token", []), raw)
    android = body.get("android", {})
    _check_ttl(android.get("ttl", "86400s"))
    require(android.get("targetUserType", 0) in (0, 1), "target-user-type")
    shows = "notification" in body or "notification" in android
    require(shows or "data" in body or "data" in android, "content-present")
    if shows:
        _check_notification(android.get("notification", {}), body.get("notification", {}), service_right)


def _has_snake_names(value: Any) -> bool:
    """Returns whether the known part of an object has names in Huawei's snake_case."""
    if not isinstance(value, dict):
        return False
    return any("_" in name or _has_snake_names(inner) for name, inner in value.items())


def _check_tokens(tokens: list[str], raw: bytes) -> None:
    if not tokens:
        raise refused("token-present", 10300)
    if len(tokens) > 1000:
        raise refused("token-count", 80300010)
    if len(set(tokens)) != len(tokens):
        raise refused("token-duplicate", 80300006)
    size = bytes_without(raw, tokens)
    if size > 4096:
        raise refused("body-size", 80300008, f"{size} bytes without tokens")


def _check_ttl(ttl: Any) -> None:
    formed = _TTL.fullmatch(ttl) if isinstance(ttl, str) else None
    require(formed and int(formed.group(1)) <= LONGEST_TTL, "ttl")


def _check_notification(own: dict[str, Any], common: dict[str, Any], service_right: bool) -> None:
    both = {**common, **own}
    require(both.get("title") and both.get("body"), "title-and-body")
    _check_click(own.get("clickAction"))
    _check_importance(own.get("importance"), "image" in both, service_right)
    require(is_https(both.get("image", "https://a")), "image-https")
    style = own.get("style", 0)
    require(style in (0, 1), "style")
    require(style == 0 or (own.get("bigTitle") and own.get("bigBody")), "style-parts")
    badge = own.get("badge", {})
    require(is_within(badge.get("addNum", 1), 1, 99) and is_within(badge.get("setNum", 0), 0, 99), "badge-range")
    require(is_within(own.get("notifyId", -1), -(2**31), 2**31 - 1), "notify-id")
    _check_buttons(own.get("buttons", []))


def _check_click(click: dict[str, Any] | None) -> None:
    require(click is not None, "click-action-present")
    kind = click.get("type")
    require(kind in (1, 2, 3), "click-action-type")
    require(kind != 1 or click.get("intent") or click.get("action"), "click-action-target")
    require(kind != 2 or is_https(click.get("url", "")), "click-action-target")


def _check_importance(importance: str | None, has_image: bool, service_right: bool) -> None:
    require(importance in (None, "LOW", "NORMAL"), "importance")
    if importance == "NORMAL" and not service_right:
        raise refused("importance-right", 80200022)
    if importance == "LOW" and has_image:
        raise refused("image-marketing", 80200050)


def _check_buttons(buttons: list[dict[str, Any]]) -> None:
    require(len(buttons) <= 3, "buttons")
    for button in buttons:
        kind = button.get("actionType")
        require(kind in (0, 1, 2) and len(button.get("name", "")) <= 40, "buttons")
        require(kind != 1 or button.get("intentType") in (0, 1), "buttons")
        require(len(button.get("data", "")) <= 1024, "buttons")
