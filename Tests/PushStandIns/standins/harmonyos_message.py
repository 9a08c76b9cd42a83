"""Checks of HarmonyOS Push Kit v3 messages."""

from __future__ import annotations

import re
from typing import Any

from .huawei_message import CATEGORIES as HUAWEI_CATEGORIES
from .rules import Refused
from .shapes import Shape, anything, boolean, integer, is_https, is_within, json_object, misfit, text

WRONG_STRUCTURE = "80100003"
CATEGORIES = (*HUAWEI_CATEGORIES, "MISS_CALL")
LONGEST_TTL = 1_296_000
LARGEST = 2**31 - 1

_MESSAGE_ID = re.compile(r"[A-Za-z0-9+/=_\-\s]{1,64}")

_NOTIFICATION: Shape = {
    **dict.fromkeys(
        ("category", "title", "body", "image", "bigTitle", "bigBody", "appMessageId", "profileId", "sound"), text
    ),
    "style": integer,
    "notifyId": anything,
    "inboxContent": [text],
    "clickAction": {"actionType": integer, "action": text, "uri": text, "data": json_object},
    "badge": {"addNum": integer, "setNum": integer},
    "soundDuration": integer,
    "foregroundShow": boolean,
}

BODY: Shape = {
    "payload": {"notification": _NOTIFICATION, "extraData": text, "proxyData": text},
    "target": {"token": [text]},
    "pushOptions": {
        "testMessage": boolean,
        "biTag": text,
        "receiptId": text,
        "backgroundMode": anything,
        "ttl": anything,
        "collapseKey": anything,
    },
}

REVOCATION: Shape = {"notifyId": anything, "token": [text]}


def status_of(code: str) -> int:
    """Returns the HTTP status of a business code, from item 72 of harmonyos.md."""
    if code in ("80000000", "80100000"):
        return 200
    if code.startswith("802") or code == "80300036":
        return 401
    return 500 if code.startswith("81") else 400


def refused(rule: str, code: str = WRONG_STRUCTURE, detail: str = "") -> Refused:
    return Refused(rule, status_of(code), code, detail or rule.replace("-", " "))


def require(holds: Any, rule: str, detail: str = "") -> None:
    """Raises a refusal for a wrong structure unless the condition holds."""
    if not holds:
        raise refused(rule, detail=detail)


def check_types(body: dict[str, Any], shape: Shape = BODY) -> None:
    if path := misfit(body, shape):
        raise refused("field-types", detail=path)


def check(body: dict[str, Any], push_type: str, size: int) -> None:
    """Checks a body with the correct types."""
    require("payload" in body and "target" in body, "payload-present")
    options = body.get("pushOptions", {})
    count = len(body["target"].get("token", []))
    if not 1 <= count <= (1 if push_type == "1" else 1000):
        raise refused("token-count", "80300010", f"{count} tokens")
    if options.get("testMessage", False) and count > 10:
        raise refused("test-token-count", "80300030", f"{count} tokens")
    if size > 4096:
        raise refused("body-size", "80300008", f"{size} bytes without tokens")
    _check_options(options)
    payload = body["payload"]
    if push_type in ("0", "2"):
        _check_notification(payload.get("notification", {}), push_type)
    if push_type in ("2", "6", "10"):
        _check_extra(payload, push_type)
    if push_type == "1":
        _check_form(payload)
    if push_type == "7":
        _check_activity(payload)


def _check_options(options: dict[str, Any]) -> None:
    require(is_within(options.get("ttl", 86400), 1, LONGEST_TTL), "ttl")
    require(is_within(options.get("collapseKey", -1), -1, 100), "collapse-key")
    require(is_within(options.get("backgroundMode", 0), 0, 1), "background-mode")
    require(len(options.get("biTag", "").encode()) <= 64, "bi-tag")


def _check_notification(notification: dict[str, Any], push_type: str) -> None:
    _check_badge(notification.get("badge", {}))
    if push_type == "0" and set(notification) == {"badge"}:
        return
    require(notification.get("category"), "category-present")
    category = notification["category"]
    require(category in CATEGORIES, "category", category)
    if push_type == "0" and category == "PLAY_VOICE":
        raise Refused("play-voice", 400, "80300007", "notSupportPlayVoice", {"illegal": "notSupportPlayVoice"})
    require(push_type == "0" or category == "PLAY_VOICE", "voice-category")
    require(notification.get("title") and notification.get("body"), "title-and-body")
    require("clickAction" in notification, "click-action-present")
    _check_click(notification["clickAction"])
    _check_style(notification)
    require(is_https(notification.get("image", "https://a")), "image-https")
    require(len(notification.get("profileId", "")) <= 64, "profile-id")
    require(_MESSAGE_ID.fullmatch(notification.get("appMessageId", "a")), "app-message-id")
    require(is_within(notification.get("notifyId", -1), -1, LARGEST), "notify-id")
    if "soundDuration" in notification:
        require("sound" in notification and 1 <= notification["soundDuration"] <= 60, "sound-duration")


def _check_badge(badge: dict[str, Any]) -> None:
    tip = "Illegal payload, badge addNum value ranges from 1 to 99"
    require(is_within(badge.get("addNum", 1), 1, 99), "badge-add", tip)
    require(is_within(badge.get("setNum", 0), 0, 99), "badge-set")


def _check_click(click: dict[str, Any]) -> None:
    kind = click.get("actionType")
    require(kind in (0, 1), "click-action-type")
    require(kind == 0 or click.get("action") or click.get("uri"), "click-action-target")


def _check_style(notification: dict[str, Any]) -> None:
    style = notification.get("style", 0)
    require(style in (0, 1, 3), "style")
    require(style != 1 or (notification.get("bigTitle") and notification.get("bigBody")), "style-parts")
    require(style != 3 or 1 <= len(notification.get("inboxContent", [])) <= 3, "style-parts")


def _check_extra(payload: dict[str, Any], push_type: str) -> None:
    holder = payload.get("notification", {}) if push_type == "2" and "extraData" not in payload else payload
    require(isinstance(holder.get("extraData"), str) and holder["extraData"], "extra-data")
    require(payload.get("proxyData", "ENABLE") == "ENABLE", "proxy-data")


def _check_form(payload: dict[str, Any]) -> None:
    texts = all(isinstance(payload.get(name), str) for name in ("moduleName", "formName", "abilityName"))
    data, images = payload.get("formData"), payload.get("images", [])
    require(texts and integer(payload.get("formId")) and is_within(payload.get("version"), 0, LARGEST), "form-parts")
    require(isinstance(data, dict) and all(value is not None for value in data.values()), "form-parts")
    require(isinstance(images, list) and len(images) <= 1, "form-parts")


def _check_activity(payload: dict[str, Any]) -> None:
    require(is_within(payload.get("activityId"), -LARGEST - 1, LARGEST), "activity-parts")
    require(is_within(payload.get("operation"), 0, 2), "activity-parts")
    require(isinstance(payload.get("event"), str) and isinstance(payload.get("activityData"), dict), "activity-parts")
