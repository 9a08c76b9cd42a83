"""Checks of APNs payloads."""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)


def is_number(value: Any) -> bool:
    return isinstance(value, NUMBER) and not isinstance(value, bool)


def is_one(value: Any) -> bool:
    return is_number(value) and value == 1


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


APS = {
    "alert": lambda value: isinstance(value, (dict, str)),
    "badge": is_number,
    "sound": lambda value: isinstance(value, (dict, str)),
    "thread-id": is_text,
    "category": is_text,
    "content-available": is_one,
    "mutable-content": is_one,
    "target-content-id": is_text,
    "interruption-level": is_text,
    "relevance-score": is_number,
    "filter-criteria": is_text,
    "stale-date": is_number,
    "timestamp": is_number,
    "dismissal-date": is_number,
    "event": lambda value: value in ("start", "update", "end"),
    "content-state": is_object,
    "attributes": is_object,
    "attributes-type": is_text,
    "input-push-channel": is_text,
    "input-push-token": is_one,
}

_LOCALISED = ("title", "body")
ALERT = {
    **dict.fromkeys(
        ("title", "subtitle", "body", "launch-image", "title-loc-key", "subtitle-loc-key", "loc-key"), is_text
    ),
    **dict.fromkeys(("title-loc-args", "subtitle-loc-args", "loc-args"), is_texts),
}

SOUND = {
    "critical": lambda value: is_number(value) and value in (0, 1),
    "name": is_text,
    "volume": lambda value: is_number(value) and 0 <= value <= 1,
}

INTERRUPTION_LEVELS = ("passive", "active", "time-sensitive", "critical")


def fault(aps: dict[str, Any], push_type: str) -> tuple[str, str] | None:
    """Returns the rule that an aps object violates and the member that violates it."""
    for name, value in aps.items():
        if (check := APS.get(name)) is not None and not check(value):
            return "aps-types", name
    alert, sound = aps.get("alert"), aps.get("sound")
    if isinstance(alert, dict) and (member := _alert_fault(alert, push_type)):
        return "alert-types", member
    if isinstance(sound, dict):
        for name, check in SOUND.items():
            if name in sound and not check(sound[name]):
                return "sound-types", name
    if aps.get("interruption-level", "active") not in INTERRUPTION_LEVELS:
        return "interruption-level", str(aps["interruption-level"])
    if push_type != "liveactivity" and not 0 <= aps.get("relevance-score", 0) <= 1:
        return "relevance-score", str(aps["relevance-score"])
    return _purpose_fault(aps, push_type)


def _alert_fault(alert: dict[str, Any], push_type: str) -> str | None:
    for name, check in ALERT.items():
        if name in alert and not check(alert[name]):
            localised = push_type == "liveactivity" and name in _LOCALISED and isinstance(alert[name], dict)
            if not localised:
                return name
    return None


def _purpose_fault(aps: dict[str, Any], push_type: str) -> tuple[str, str] | None:
    """Checks that the payload matches the push type."""
    shows = "alert" in aps or "badge" in aps or "sound" in aps
    if push_type == "background" and (shows or "content-available" not in aps):
        return "background-payload", "shows something, or lacks content-available"
    if push_type == "alert" and not shows:
        return "alert-payload", "neither alert, badge nor sound"
    return None


def runs_extension(aps: dict[str, Any]) -> bool:
    """Returns whether the device would run the notification service extension."""
    alert = aps.get("alert")
    return isinstance(alert, dict) and any(
        name in alert for name in ("title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key")
    )
