"""The rules of Mi Push, from xiaomi.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_DETAIL = "dev.mi.com/xiaomihyperos/documentation/detail?pId="
_PARAMETERS = _DETAIL + "1559"
_CODES = _DETAIL + "1560"
_LIMITS = _DETAIL + "1656"
_TEMPLATES = _DETAIL + "2314"
_REVOKE = _DETAIL + "2367"
_REGIONS = _DETAIL + "1696"
_COPY = "github.com/modood/pushapi xiaomipush/message.go"
_SDK = "github.com/ggg17226/xmpush-server-api-http2"
_AGGREGATOR = "docs.jiguang.cn, docs.getui.com"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _inferred(name: str, text: str, source: str = _PARAMETERS) -> Rule:
    """Returns a rule with a verified requirement and an inferred response."""
    return Rule(name, text, source, _V, _U)


def _copied(name: str, text: str, source: str = _COPY, effect: Effect = Effect.REFUSE) -> Rule:
    """Returns a rule that is only in copies of Xiaomi's page."""
    return Rule(name, text, source, _U, _U, effect)


RULES = RuleTable(
    "xiaomi",
    [
        tls_only(_PARAMETERS),
        *HTTP1,
        # 1 to 6
        _inferred(
            "path-known", "POST goes to /v2, /v3 or /v4/message/regid, or a revocation to /v3/message/regid/revoke."
        ),
        _inferred("form", "The body is form-urlencoded in UTF-8.", _SDK),
        _inferred(
            "authorization",
            "The Authorization header is key=, in lower case, and the app's secret.",
            f"{_PARAMETERS}; {_CODES}",
        ),
        _inferred("package-present", "restricted_package_name is present.", f"{_PARAMETERS}; {_CODES}"),
        _inferred("package-known", "restricted_package_name is the app's package.", f"{_PARAMETERS}; {_CODES}"),
        _inferred("one-package", "A v2 request has one package name only."),
        _inferred("registration-present", "registration_id is present and not empty.", f"{_PARAMETERS}; {_CODES}"),
        _copied(
            "registration-count",
            "The request has at most 1000 registration ids.",
            "cloud.tencent.com/document/product/548/41407",
        ),
        # 7 to 12
        _inferred("title-and-description", "A notification has a title and a description, not blank."),
        _inferred("title-length", "The title is shorter than 50 characters."),
        _inferred("description-length", "The description is shorter than 128 characters."),
        _copied("pass-through", "pass_through is 0 or 1."),
        _copied("notify-type", "notify_type is -1 or 0 to 7."),
        Rule("notify-id", "notify_id is 0 to 2147483647.", _COPY, _H, _U),
        _inferred("time-to-live", "time_to_live is a non-negative integer of milliseconds."),
        _inferred("payload-encoded", "payload is URL-encoded before the form encoding."),
        _copied("payload-size", "payload has at most 4096 characters.", "old SDK comments"),
        # 13 to 18
        _copied("extra-count", "The request has at most 10 own extra pairs."),
        _copied("extra-size", "Names and values of own extra pairs have at most 1024 characters."),
        Rule(
            "channel-present",
            "A message has extra.channel_id; the setting channelRequired changes this.",
            _AGGREGATOR,
            _H,
            _U,
        ),
        Rule("channel-known", "extra.channel_id is one of the app's channels.", f"{_TEMPLATES}; {_CODES}"),
        _inferred(
            "template-present", "A message of a private channel names a template and its parameters.", _TEMPLATES
        ),
        _inferred(
            "template-parameters",
            "The parameters match the template and have 1 to 128 characters each, without emoji.",
            _TEMPLATES,
        ),
        _copied("notify-effect", "extra.notify_effect is 1 to 3, with the required intent_uri or web_uri."),
        _copied("callback", "extra.callback is a URL."),
        _copied("callback-parameter", "extra.callback.param has at most 256 bytes."),
        _copied("jobkey", "extra.jobkey has at most 20 of the allowed characters."),
        # 19 to 23
        _copied("token-issued", "Each registration id was issued by the service.", f"third parties; {_CODES}"),
        _inferred("token-region", "Each registration id belongs to the host's region.", _REGIONS),
        _copied(
            "device-unregistered",
            "The registration id is no longer registered.",
            f"third parties; {_CODES}",
            Effect.ANSWER,
        ),
        Rule("daily-quota", "The app does not exceed its daily quota; the setting dailyQuota defines it.", _LIMITS),
        _copied(
            "flow-control",
            "The app does not exceed its rate; the setting requestsPerSecond defines it.",
            "a note of another chat server",
        ),
        _inferred("revoke-version", "A revocation uses v3; v1 and v2 end on 2026-12-01.", _REVOKE),
        _inferred("revoke-parameters", "A revocation names registration_ids, the package and notify_id.", _SDK),
    ],
)
