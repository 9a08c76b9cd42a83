"""Checks of FCM messages after JSON parsing."""

from __future__ import annotations

import re
from typing import Any

from .apns import fault_in_delivery_headers
from .rules import Refused
from .strict_json import dumps

MAXIMUM_BYTES = 4096
MAXIMUM_TOPIC_BYTES = 2048
LONGEST_TTL = 2_419_200

_DETAIL = "type.googleapis.com/google.firebase.fcm.v1."
_TOKEN = re.compile(r"[A-Za-z0-9_-]+:[A-Za-z0-9_-]+")
_TOPIC = re.compile(r"[a-zA-Z0-9\-_.~%]+")
_LABEL = re.compile(r"[a-zA-Z0-9\-_.~%]{1,50}")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_CONDITION_TOKEN = re.compile(r"\s*('[a-zA-Z0-9\-_.~%]+'\s+in\s+topics|&&|\|\||!|\(|\))\s*")
_ARGUMENT = "Request contains an invalid argument."


def fcm_error(code: str) -> dict[str, str]:
    return {"@type": _DETAIL + "FcmError", "errorCode": code}


def bad_request(field: str | None, description: str) -> dict[str, Any]:
    violations = [{"field": field, "description": description}] if field else []
    return {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}


def refused(
    rule: str, status: int, canonical: str, message: str, details: list[dict[str, Any]] | None = None
) -> Refused:
    """Returns a refusal in the form of Google's error model."""
    return Refused(rule, status, canonical, message, {"details": details or []})


def invalid(rule: str, message: str = _ARGUMENT, field: str | None = None) -> Refused:
    details = [fcm_error("INVALID_ARGUMENT")]
    if field:
        details.insert(0, bad_request(field, message))
    return refused(rule, 400, "INVALID_ARGUMENT", message, details)


def check(message: dict[str, Any]) -> None:
    """Checks everything that does not depend on the device."""
    _check_target(message)
    _check_data(message)
    _check_android(message.get("android", {}))
    _check_web(message.get("webpush", {}))
    _check_labels(message)


def _check_target(message: dict[str, Any]) -> None:
    targets = [name for name in ("token", "topic", "condition") if name in message]
    if len(targets) > 1:
        raise refused(
            "one-target",
            400,
            "INVALID_ARGUMENT",
            f"oneof field 'target' is already set. Cannot set '{targets[1]}'",
            [bad_request("message", "more than one target")],
        )
    if not targets or not message[targets[0]]:
        rule = "live-activity-token" if message.get("apns", {}).get("live_activity_token") else "target-present"
        raise invalid(rule, "Recipient of the message is not set.", "message")
    if "token" in message and not _TOKEN.fullmatch(message["token"]):
        text = "The registration token is not a valid FCM registration token"
        raise invalid("token-well-formed", text, "message.token")
    if "topic" in message and not _TOPIC.fullmatch(message["topic"]):
        raise invalid("topic-form", "Topic name contains invalid characters.", "message")
    if "condition" in message:
        _check_condition(message["condition"])


def _check_condition(condition: str) -> None:
    tokens, position = [], 0
    while position < len(condition):
        found = _CONDITION_TOKEN.match(condition, position)
        if found is None:
            raise refused("condition-form", 400, "INVALID_ARGUMENT", _ARGUMENT)
        tokens.append(found.group(1))
        position = found.end()
    if not _is_condition(tokens):
        raise refused("condition-form", 400, "INVALID_ARGUMENT", _ARGUMENT)
    if sum(token.startswith("'") for token in tokens) > 5:
        raise invalid("condition-topics", "A condition may name at most five topics.", "message")


def _is_condition(tokens: list[str]) -> bool:
    """Returns whether the tokens form one expression: alternating operands and operators, balanced parentheses."""
    depth, operand_wanted = 0, True
    for token in tokens:
        if operand_wanted:
            if token == "(":
                depth += 1
            elif token.startswith("'"):
                operand_wanted = False
            elif token != "!":
                return False
        elif token == ")":
            depth -= 1
        elif token in ("&&", "||"):
            operand_wanted = True
        else:
            return False
        if depth < 0:
            return False
    return depth == 0 and not operand_wanted


def _check_data(message: dict[str, Any]) -> None:
    for holder in (message, message.get("android", {}), message.get("webpush", {})):
        for key in holder.get("data", {}):
            if key in ("from", "message_type") or key.startswith(("google.", "gcm.notification.")):
                raise invalid("reserved-data-key", f"Invalid data payload key: {key}")


def _check_android(android: dict[str, Any]) -> None:
    ttl = android.get("ttl", 0)
    if not 0 <= ttl <= LONGEST_TTL:
        raise invalid("ttl-range", "ttl is out of range", "message.android.ttl")
    notification = android.get("notification", {})
    if "color" in notification and not _COLOR.fullmatch(notification["color"]):
        raise invalid("color-form", "color is not #rrggbb", "message.android.notification.color")
    for part in ("title", "body"):
        if notification.get(f"{part}_loc_args") and not notification.get(f"{part}_loc_key"):
            field = f"message.android.notification.{part}_loc_args"
            raise invalid("localisation-arguments", f"{part}_loc_args without {part}_loc_key", field)
    if "light_settings" in notification:
        _check_light(notification["light_settings"])


def _check_light(light: dict[str, Any]) -> None:
    field = "message.android.notification.light_settings"
    if not {"color", "light_on_duration", "light_off_duration"} <= light.keys():
        raise invalid("light-settings", "light_settings is not whole", field)
    if not all(0 <= part <= 1 for part in light["color"].values()):
        raise invalid("light-settings", "a colour part is not between 0 and 1", field)


def _check_web(web: dict[str, Any]) -> None:
    headers = {name.lower(): value for name, value in web.get("headers", {}).items()}
    if not re.fullmatch(r"[0-9]+", headers.get("ttl", "0")):
        raise invalid("webpush-ttl", "TTL must be a non-negative integer.", "message.webpush.headers.TTL")
    link = web.get("fcm_options", {}).get("link")
    if link is not None and not link.startswith("https://"):
        raise invalid("webpush-link", "link is not an https address", "message.webpush.fcm_options.link")


def _check_labels(message: dict[str, Any]) -> None:
    for holder in (message, *(message.get(name, {}) for name in ("android", "webpush", "apns"))):
        label = holder.get("fcm_options", {}).get("analytics_label")
        if label is not None and not _LABEL.fullmatch(label):
            raise invalid("analytics-label", "invalid analytics_label")


def notification(message: dict[str, Any], platform: str) -> dict[str, Any]:
    """Returns the notification for a device of the platform, after overrides."""
    common = message.get("notification", {})
    if platform == "ios":
        return common
    own = message.get("webpush" if platform == "web" else "android", {}).get("notification", {})
    return {**common, **own}


def data(message: dict[str, Any], platform: str) -> dict[str, Any]:
    """Returns the data for a device of the platform, after overrides."""
    if platform == "ios":
        return {**message.get("data", {}), **message.get("apns", {}).get("payload", {})}
    own = message.get("webpush" if platform == "web" else "android", {}).get("data")
    return message.get("data", {}) if own is None else own


def check_size(message: dict[str, Any], platform: str) -> None:
    parts = [part for part in (notification(message, platform), data(message, platform)) if part]
    size = sum(len(dumps(part).encode()) for part in parts)
    limit = MAXIMUM_BYTES if "token" in message else MAXIMUM_TOPIC_BYTES
    if size > limit:
        raise refused(
            "payload-size" if "token" in message else "topic-payload-size",
            400,
            "INVALID_ARGUMENT",
            "Message is too large. The maximum is 4K (4096 bytes).",
            [bad_request(None, ""), fcm_error("INVALID_ARGUMENT")],
        )


def check_ios(message: dict[str, Any]) -> None:
    """Checks that APNs would accept a message to an iOS device."""
    apns = message.get("apns", {})
    headers = {name.lower(): value for name, value in apns.get("headers", {}).items()}
    aps = apns.get("payload", {}).get("aps", {})
    shows = "notification" in message or (isinstance(aps, dict) and aps.keys() & {"alert", "badge", "sound"})
    if not shows and headers.get("apns-priority") != "5":
        raise invalid("ios-background-priority")
    if broken := fault_in_delivery_headers(headers.get):
        error = invalid("apns-headers")
        error.extra["details"].append({"@type": _DETAIL + "ApnsError", "statusCode": 400, "reason": broken[1]})
        raise error


def notices(message: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the problems of an accepted message."""
    found = []
    android, web = message.get("android", {}), message.get("webpush", {})
    keys = [*message.get("data", {}), *android.get("data", {}), *web.get("data", {})]
    if reserved := [key for key in keys if key.startswith(("google", "gcm"))]:
        found.append(("reserved-data-prefix", ", ".join(reserved)))
    if "collapse_key" in android and ("notification" in message or "notification" in android):
        found.append(("collapse-key-ignored", android["collapse_key"]))
    images = [
        holder.get("image", "https:") for holder in (message.get("notification", {}), android.get("notification", {}))
    ]
    if bad := [image for image in images if not image.startswith(("https:", "http:"))]:
        found.append(("image-address", ", ".join(bad)))
    direction = web.get("notification", {}).get("dir", "auto")
    if direction not in ("ltr", "rtl", "auto"):
        found.append(("web-direction", str(direction)))
    return found
