"""Checks of Huawei v1 and v2 messages."""

from __future__ import annotations

import json
import re
from typing import Any

from .rules import Refused
from .shapes import Shape, anything, boolean, integer, is_https, is_within, json_object, misfit, number, text

WRONG_PARAMETER = "80100001"
WRONG_STRUCTURE = "80100003"
CATEGORIES = (
    "IM",
    "VOIP",
    "SUBSCRIPTION",
    "TRAVEL",
    "HEALTH",
    "WORK",
    "ACCOUNT",
    "EXPRESS",
    "FINANCE",
    "DEVICE_REMINDER",
    "MAIL",
    "PLAY_VOICE",
    "MARKETING",
)
LONGEST_TTL = 1_296_000

_TTL = re.compile(r"(\d+(\.\d{1,9})?)[sS]?")
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
_SECONDS = re.compile(r"\d+(\.\d{1,9})?[sS]?")
_TOPIC = re.compile(r"'[^']*'\s+in\s+topics")

_NOTIFICATION: Shape = {
    **dict.fromkeys(
        (
            "title",
            "body",
            "icon",
            "color",
            "sound",
            "tag",
            "group",
            "body_loc_key",
            "title_loc_key",
            "channel_id",
            "notify_summary",
            "ticker",
            "when",
            "image",
            "importance",
            "visibility",
            "big_title",
            "big_body",
            "profile_id",
        ),
        text,
    ),
    **dict.fromkeys(("default_sound", "foreground_show", "use_default_vibrate", "use_default_light"), boolean),
    **dict.fromkeys(("notify_id", "style", "auto_clear"), integer),
    **dict.fromkeys(("body_loc_args", "title_loc_args", "inbox_content", "vibrate_config"), [text]),
    "multi_lang_key": json_object,
    "click_action": {"type": integer, "intent": text, "action": text, "url": text},
    "badge": {"class": text, "add_num": integer, "set_num": integer},
    "light_settings": {
        "color": {"red": number, "green": number, "blue": number, "alpha": number},
        "light_on_duration": text,
        "light_off_duration": text,
    },
    "buttons": [{"name": text, "action_type": integer, "intent_type": integer, "intent": text, "data": text}],
}

BODY: Shape = {
    "validate_only": boolean,
    "review": [{"reviewer": text, "type": integer, "result": json_object}],
    "message": {
        "data": text,
        "token": [text],
        "topic": text,
        "condition": text,
        "notification": {"title": text, "body": text, "image": text},
        "android": {
            "collapse_key": anything,
            "ttl": text,
            "urgency": text,
            "category": text,
            "bi_tag": text,
            "receipt_id": text,
            "fast_app_target": integer,
            "target_user_type": integer,
            "data": text,
            "notification": _NOTIFICATION,
        },
    },
}


def status_of(code: str) -> int:
    """Returns the HTTP status of a business code, from item 90 of huawei.md."""
    if code in ("80000000", "80100000"):
        return 200
    return 401 if code.startswith("802") else 500 if code.startswith("81") else 400


def refused(rule: str, code: str = WRONG_STRUCTURE, detail: str = "") -> Refused:
    return Refused(rule, status_of(code), code, detail or rule.replace("-", " "))


def require(holds: Any, rule: str, detail: str = "") -> None:
    """Raises a refusal for a wrong structure unless the condition holds."""
    if not holds:
        raise refused(rule, detail=detail)


def check_types(body: dict[str, Any]) -> None:
    if path := misfit(body, BODY):
        raise refused("field-types", WRONG_PARAMETER, path)


def is_notification(message: dict[str, Any]) -> bool:
    return "notification" in message or "notification" in message.get("android", {})


def check(body: dict[str, Any], size: int) -> dict[str, Any]:
    """Checks a body with the correct types, and returns its message."""
    message = body.get("message")
    if message is None:
        raise refused("message-present", "80300010")
    _check_target(message)
    if size > 4096:
        raise refused("body-size", "80300008", f"{size} bytes without tokens")
    for review in body.get("review", []):
        whole = review.get("reviewer") == "tuibian" and review.get("type") == 0 and "result" in review
        require(whole, "review-form")
    android = message.get("android", {})
    _check_android(android)
    if is_notification(message):
        require("android" in message, "android-present")
        _check_data(message.get("data"))
        _check_notification(android.get("notification", {}), message.get("notification", {}))
    return message


def _check_target(message: dict[str, Any]) -> None:
    targets = [name for name in ("token", "topic", "condition") if message.get(name)]
    if not targets:
        raise refused("target-present", "80300010")
    require(len(targets) == 1, "one-target")
    if len(message.get("token", [])) > 1000:
        raise refused("token-count", "80300010")
    require(len(_TOPIC.findall(message.get("condition", ""))) <= 5, "condition-topics")


def _check_data(data: str | None) -> None:
    try:
        json.loads(data or "{}")
    except ValueError as error:
        raise refused("data-json") from error


def _check_android(android: dict[str, Any]) -> None:
    if not is_within(android.get("collapse_key", -1), -1, 100):
        raise refused("collapse-key", "80100013")
    ttl = _TTL.fullmatch(android.get("ttl", "86400s"))
    require(ttl and float(ttl.group(1)) <= LONGEST_TTL, "ttl")
    require(android.get("urgency", "NORMAL") in ("HIGH", "NORMAL"), "urgency")
    require(android.get("category", "IM") in CATEGORIES, "category")
    require(android.get("fast_app_target", 2) in (1, 2), "fast-app-target")
    require(android.get("target_user_type", 0) in (0, 1), "target-user-type")


def _check_notification(own: dict[str, Any], common: dict[str, Any]) -> None:
    both = {**common, **own}
    require(both.get("title") and both.get("body"), "title-and-body")
    for holder in (own, common):
        require(is_https(holder.get("image", "https://a")), "image-https")
    _check_click(own.get("click_action"))
    importance = own.get("importance", "NORMAL")
    if importance not in ("LOW", "NORMAL"):
        raise refused("importance", "80300011" if importance == "HIGH" else WRONG_STRUCTURE, importance)
    visibilities = ("VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET")
    require(own.get("visibility", "PRIVATE") in visibilities, "visibility")
    require(_COLOR.fullmatch(own.get("color", "#000000")), "color")
    require(own.get("default_sound", True) or own.get("sound"), "sound")
    require(_WHEN.fullmatch(own.get("when", "2014-10-02T15:01:23Z")), "when")
    require(len(own.get("profile_id", "")) <= 64, "profile-id")
    require(own.get("auto_clear", 1) > 0, "auto-clear")
    _check_style(own)
    _check_badge(own.get("badge"))
    _check_languages(own)
    _check_vibration(own.get("vibrate_config", []))
    _check_light(own.get("light_settings"))
    _check_buttons(own.get("buttons", []))


def _check_click(click: dict[str, Any] | None) -> None:
    require(click is not None, "click-action-present")
    kind = click.get("type")
    require(kind in (1, 2, 3), "click-action-type")
    require(kind != 1 or click.get("intent") or click.get("action"), "click-action-target")
    require(kind != 2 or is_https(click.get("url", "")), "click-action-target")


def _check_style(own: dict[str, Any]) -> None:
    style = own.get("style", 0)
    require(style in (0, 1, 3), "style")
    require(style != 1 or (own.get("big_title") and own.get("big_body")), "style-parts")
    lines = own.get("inbox_content", [])
    require(style != 3 or (1 <= len(lines) <= 5 and all(len(line) <= 1024 for line in lines)), "style-parts")


def _check_badge(badge: dict[str, Any] | None) -> None:
    if badge is None:
        return
    require(is_within(badge.get("add_num", 1), 1, 99), "badge-range")
    require(is_within(badge.get("set_num", 0), 0, 99), "badge-range")
    require(badge.get("class"), "badge-class")


def _check_languages(own: dict[str, Any]) -> None:
    for part in ("title", "body"):
        require(not own.get(f"{part}_loc_args") or own.get(f"{part}_loc_key"), "localisation-arguments")
    languages = {name for texts in own.get("multi_lang_key", {}).values() if isinstance(texts, dict) for name in texts}
    require(len(languages) <= 3, "languages")


def _check_vibration(durations: list[str]) -> None:
    require(len(durations) <= 10, "vibration")
    for duration in durations:
        require(_SECONDS.fullmatch(duration) and 0 < float(duration.rstrip("sS")) <= 60, "vibration")


def _check_light(light: dict[str, Any] | None) -> None:
    if light is None:
        return
    require({"color", "light_on_duration", "light_off_duration"} <= light.keys(), "light-settings")
    require(all(0 <= part <= 1 for part in light["color"].values()), "light-settings")


def _check_buttons(buttons: list[dict[str, Any]]) -> None:
    require(len(buttons) <= 3, "buttons")
    for button in buttons:
        kind = button.get("action_type")
        require(len(button.get("name", "")) <= 40 and is_within(kind, 0, 4), "buttons")
        require(kind != 1 or button.get("intent_type") in (0, 1), "buttons")
        require(kind != 4 or button.get("data"), "buttons")
        require(len(button.get("data", "")) <= 1024, "buttons")
