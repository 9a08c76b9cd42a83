"""Checks of OPPO messages to one device."""

from __future__ import annotations

import re
from typing import Any

from .rules import Refused
from .shapes import Shape, anything, boolean, integer, misfit, text
from .strict_json import loads

LEVELS = (1, 2, 16)

_REGISTRATION = re.compile(r"((([0-9A-Za-z]{2,10})_)?(.*)_)?[0-9a-fA-F]{32}|[0-9a-fA-F]{24}")
_TIMESTAMP = re.compile(r"\d{13}")
_CAPITAL = re.compile(r"[A-Z]")

MESSAGE: Shape = {
    "target_type": integer,
    "target_value": text,
    "verify_registration_id": boolean,
    "notification": {
        **dict.fromkeys(
            (
                "title",
                "sub_title",
                "content",
                "app_message_id",
                "click_action_activity",
                "click_action_url",
                "action_parameters",
                "channel_id",
                "category",
                "call_back_url",
                "call_back_parameter",
                "private_msg_template_id",
                "small_picture_id",
                "big_picture_id",
            ),
            text,
        ),
        **dict.fromkeys(("style", "click_action_type", "show_time_type", "network_type"), integer),
        "off_line": boolean,
        "off_line_ttl": anything,
        "notify_id": anything,
        "notify_level": anything,
    },
}


def refused(rule: str, code: int, detail: str = "") -> Refused:
    return Refused(rule, 200, str(code), detail or rule.replace("-", " "))


def require(holds: Any, rule: str, code: int = 41, detail: str = "") -> None:
    """Raises a refusal with a code unless the condition holds."""
    if not holds:
        raise refused(rule, code, detail)


def _snake(value: Any) -> Any:
    """Returns the value with snake_case names. The page's sample has camelCase names."""
    if not isinstance(value, dict):
        return value
    return {
        _CAPITAL.sub(lambda letter: "_" + letter.group().lower(), name): _snake(item) for name, item in value.items()
    }


def target(message: Any) -> Any:
    """Returns the registration ID of a message that can be malformed."""
    return _snake(message).get("target_value", "") if isinstance(message, dict) else ""


def check(message: Any, categories: list[str], templates: list[str]) -> dict[str, Any]:
    """Checks a message, and returns it with snake_case names."""
    require(isinstance(message, dict), "message-json")
    message = _snake(message)
    parts = all(message.get(name) not in (None, "") for name in ("target_type", "target_value", "notification"))
    require(parts, "message-parts", 40)
    if path := misfit(message, MESSAGE):
        raise refused("field-types", 41, path)
    require(message["target_type"] in (2, 5), "target-type")
    value = message["target_value"]
    single = not re.search(r"[;,]", value)
    require(single and (message["target_type"] == 5 or _REGISTRATION.fullmatch(value)), "target-value", 10000, value)
    notification = message["notification"]
    _check_texts(notification)
    _check_click(notification)
    _check_delivery(notification)
    _check_class(notification, categories, templates)
    return message


def _check_texts(notification: dict[str, Any]) -> None:
    title, content = notification.get("title", ""), notification.get("content", "")
    require(title and content, "title-and-content", 40)
    require(len(title) <= 50, "title-length", detail=f"{len(title)} characters")
    require(len(notification.get("sub_title", "")) <= 10, "sub-title-length")
    style = notification.get("style", 1)
    require(style in (1, 2, 3), "style")
    pictures = "small_picture_id" in notification or "big_picture_id" in notification
    require(style != 3 and not pictures, "single-picture", 27)
    require(len(content) <= (128 if style == 2 else 50), "content-length", detail=f"{len(content)} characters")


def _check_click(notification: dict[str, Any]) -> None:
    kind = notification.get("click_action_type", 0)
    activity, address = notification.get("click_action_activity", ""), notification.get("click_action_url", "")
    require(kind in (0, 1, 2, 4, 5), "click-action")
    require(kind not in (1, 4) or activity, "click-action", 40)
    require(kind not in (2, 5) or address, "click-action", 40)
    require(len(activity) <= 500, "click-activity-length")
    require(len(address) <= 2000, "click-url-length")
    parameters = notification.get("action_parameters", "{}")
    try:
        loads(parameters or "{}")
    except ValueError as error:
        raise refused("action-parameters", 41, str(error)) from error
    require(len(parameters) <= 4000, "action-parameters")


def _check_delivery(notification: dict[str, Any]) -> None:
    ttl = notification.get("off_line_ttl", 0)
    require(integer(ttl) and ttl >= 0, "off-line-ttl")
    address, parameter = notification.get("call_back_url", ""), notification.get("call_back_parameter", "")
    require(len(address) <= 200 and len(parameter) <= 100, "callback")
    require(integer(notification.get("notify_id", 0)), "notify-id")
    if notification.get("show_time_type", 0) == 1:
        start, end = (str(notification.get(name, "")) for name in ("show_start_time", "show_end_time"))
        require(_TIMESTAMP.fullmatch(start) and _TIMESTAMP.fullmatch(end) and start < end, "show-time")


def _check_class(notification: dict[str, Any], categories: list[str], templates: list[str]) -> None:
    category = notification.get("category")
    if "notify_level" in notification:
        require(category, "notify-level-category", 67)
        require(notification["notify_level"] in LEVELS, "notify-level", 67)
    require(category is None or not categories or category in categories, "category", 67)
    template = notification.get("private_msg_template_id")
    require(category != "IM" or not templates or template in templates, "private-template")
