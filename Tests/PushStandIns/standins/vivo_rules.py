"""The rules of vivo Push, from vivo.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_SDK = "vivo's Java server SDK, decompiled in a public repository"
_COPY = "github.com/modood/pushapi vivopush/message.go (of https://dev.vivo.com.cn/documentCenter/doc/362)"
_CODES = "a third party's code list"
_NOTE = "a note quoting https://dev.vivo.com.cn/documentCenter/doc/896"
_SERVICE = "comments of a third party's Go service"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _inferred(name: str, text: str, source: str = _SDK) -> Rule:
    """Returns a rule with a verified requirement and a response that is second-hand at best."""
    return Rule(name, text, source, _V, _U)


def _copied(name: str, text: str, source: str = _COPY, effect: Effect = Effect.REFUSE) -> Rule:
    """Returns a rule that is only in copies of vivo's pages."""
    return Rule(name, text, source, _U, _U, effect)


RULES = RuleTable(
    "vivo",
    [
        tls_only(_SDK),
        *HTTP1,
        # 1 to 5
        _inferred("path-known", "POST goes to /message/auth or /message/send."),
        _inferred("content-type", "The content type is application/json."),
        _inferred("json-form", "The body is a JSON object."),
        _inferred("sign-app-id-present", "A token request has appId."),
        _inferred("sign-app-id-known", "appId belongs to a registered app."),
        _inferred("sign-app-key-present", "A token request has appKey."),
        _inferred("sign-app-key-known", "appKey belongs to the app."),
        _inferred("sign-timestamp-present", "A token request has timestamp."),
        _copied("sign-timestamp", "timestamp is within ten minutes of now."),
        _inferred("sign-present", "A token request has sign."),
        _inferred("sign-value", "sign is the MD5 of appId, appKey, timestamp and secret in lower-case hexadecimal."),
        _copied("sign-rate", "An app requests at most ten tokens a second.", _NOTE),
        _inferred("auth-token-present", "The header authToken is present."),
        _copied("auth-token-issued", "authToken was issued by the service.", _CODES),
        _copied("auth-token-age", "authToken is not older than 24 hours."),
        _copied("app-id", "appId, if present, is the token's app.", _CODES),
        # 6 to 9
        Rule("target-present", "regId or alias is present.", _SDK),
        Rule("registration-form", "regId has 23 characters; the setting regIdLength changes it.", _SDK),
        Rule("alias-length", "alias has at most 40 characters.", _SDK),
        Rule("request-id-present", "requestId is present.", _SDK),
        Rule("request-id-length", "requestId has at most 64 characters.", _SDK),
        # 10 to 20
        Rule("title-present", "title is not blank.", _SDK),
        Rule("title-length", "title has at most 40 characters; non-ASCII characters count 2.", _SDK),
        Rule("content-present", "content is not blank.", _SDK),
        Rule("content-length", "content has at most 100 characters; non-ASCII characters count 2.", _SDK),
        Rule("notify-type", "notifyType is 1 to 4.", _SDK),
        Rule("skip-type", "skipType is 1 to 4.", _SDK),
        Rule("skip-content", "skipContent is present for skipType 2 to 4, and at most 1000 or 1024 long.", _SDK),
        Rule("time-to-live", "timeToLive is 60 to 604800; the setting longestTimeToLive changes the maximum.", _SDK),
        Rule("network-type", "networkType is -1 or 1.", _SDK),
        Rule("custom-map-count", "clientCustomMap has at most 10 pairs.", _SDK),
        Rule("custom-map-size", "clientCustomMap contains strings, at most 1024 characters in total.", _SDK),
        Rule("classification", "classification is 0 or 1.", _SDK),
        Rule("callback-length", "extra.callback has at most 128 characters.", _SDK),
        Rule("callback-parameter-length", "extra.callback.param has at most 64 characters.", _SDK),
        _copied("extra-known", "extra has no unknown members.", _CODES),
        # 21 to 26
        Rule("category", "category is upper case, and among the setting categories if it lists any.", _COPY, _H, _U),
        Rule(
            "category-class",
            "category matches classification; the setting categories defines the pairs.",
            _COPY,
            _H,
            _U,
        ),
        Rule("notify-id", "notifyId is 1 to 2147483647.", _COPY, _H, _U),
        _copied(
            "test-text", "A real message does not look like a test; requires the setting refuseTestTexts.", _SERVICE
        ),
        _copied("daily-quota", "The app does not exceed its quota; the setting dailyQuota defines it.", _CODES),
        _copied("flow-control", "The app does not exceed its rate; the setting requestsPerSecond defines it.", _CODES),
        _copied(
            "night-hours", "Operational messages are sent from 7 to 23 only; requires the setting nightHours.", _CODES
        ),
        # 7, 23, 24
        Rule("registration-issued", "regId was issued by the service.", _SDK, _V, _U),
        _copied(
            "device-unregistered", "The app was uninstalled or its data cleared.", f"{_CODES}; {_COPY}", Effect.ANSWER
        ),
        _copied("device-not-test", "A test message has a test user as its receiver.", _COPY, Effect.ANSWER),
    ],
)
