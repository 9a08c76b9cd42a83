"""The messages of FCM HTTP v1, from section 3 of fcm.md."""

from __future__ import annotations

from .protojson import (
    Boolean,
    Duration,
    Enumeration,
    Integer,
    Message,
    Number,
    Repeated,
    Struct,
    Text,
    Texts,
    Timestamp,
)

_FCM = "google.firebase.fcm.v1."

_LABEL = Message({"analytics_label": Text()})

_NOTIFICATION = Message({"title": Text(), "body": Text(), "image": Text()})

_LIGHT_SETTINGS = Message(
    {
        "color": Message({"red": Number(), "green": Number(), "blue": Number(), "alpha": Number()}),
        "light_on_duration": Duration(),
        "light_off_duration": Duration(),
    }
)

_ANDROID_NOTIFICATION = Message(
    {
        **dict.fromkeys(
            (
                "title",
                "body",
                "icon",
                "color",
                "sound",
                "tag",
                "click_action",
                "body_loc_key",
                "title_loc_key",
                "channel_id",
                "ticker",
                "image",
            ),
            Text(),
        ),
        **dict.fromkeys(("body_loc_args", "title_loc_args"), Repeated(Text())),
        **dict.fromkeys(
            (
                "sticky",
                "local_only",
                "default_sound",
                "default_vibrate_timings",
                "default_light_settings",
                "bypass_proxy_notification",
            ),
            Boolean(),
        ),
        "event_time": Timestamp(),
        "notification_priority": Enumeration(
            _FCM + "AndroidNotification.NotificationPriority",
            tuple(f"PRIORITY_{name}" for name in ("UNSPECIFIED", "MIN", "LOW", "DEFAULT", "HIGH", "MAX")),
        ),
        "vibrate_timings": Repeated(Duration()),
        "visibility": Enumeration(
            _FCM + "AndroidNotification.Visibility", ("VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET")
        ),
        "notification_count": Integer(),
        "light_settings": _LIGHT_SETTINGS,
        "proxy": Enumeration(
            _FCM + "AndroidNotification.Proxy", ("PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED")
        ),
    }
)

_ANDROID = Message(
    {
        "collapse_key": Text(),
        "priority": Enumeration(_FCM + "AndroidMessagePriority", ("NORMAL", "HIGH", "normal", "high")),
        "ttl": Duration(),
        "restricted_package_name": Text(),
        "data": Texts("data-values"),
        "notification": _ANDROID_NOTIFICATION,
        "fcm_options": _LABEL,
        "direct_boot_ok": Boolean(),
        "bandwidth_constrained_ok": Boolean(),
        "restricted_satellite_ok": Boolean(),
    }
)

_WEBPUSH = Message(
    {
        "headers": Texts("header-values"),
        "data": Texts("data-values"),
        "notification": Struct(),
        "fcm_options": Message({"link": Text(), "analytics_label": Text()}),
    }
)

_APNS = Message(
    {
        "headers": Texts("header-values"),
        "payload": Struct(),
        "fcm_options": Message({"analytics_label": Text(), "image": Text()}),
        "live_activity_token": Text(),
    }
)

REQUEST = Message(
    {
        "validate_only": Boolean(),
        "message": Message(
            {
                "name": Text(),
                "data": Texts("data-values"),
                "notification": _NOTIFICATION,
                "android": _ANDROID,
                "webpush": _WEBPUSH,
                "apns": _APNS,
                "fcm_options": _LABEL,
                "token": Text(),
                "topic": Text(),
                "condition": Text(),
            }
        ),
    }
)
