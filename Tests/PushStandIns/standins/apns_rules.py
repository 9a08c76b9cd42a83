"""The rules of APNs, from apns.md. Numbers in comments refer to its section 7."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP2, tls_only

_USERNOTIFICATIONS = "developer.apple.com/documentation/usernotifications/"
_SENDING = _USERNOTIFICATIONS + "sending-notification-requests-to-apns"
_RESPONSES = _USERNOTIFICATIONS + "handling-notification-responses-from-apns"
_CONNECTION = _USERNOTIFICATIONS + "establishing-a-connection-to-apns"
_TOKENS = _USERNOTIFICATIONS + "establishing-a-token-based-connection-to-apns"
_PAYLOAD = _USERNOTIFICATIONS + "generating-a-remote-notification"
_BACKGROUND = _USERNOTIFICATIONS + "pushing-background-updates-to-your-app"
_EXTENSION = _USERNOTIFICATIONS + "modifying-content-in-newly-delivered-notifications"
_ARCHIVE = "developer.apple.com/library/archive/…/RemoteNotificationsPG/CommunicatingwithAPNs.html"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _notice(name: str, text: str, source: str, condition: Mark = _V) -> Rule:
    return Rule(name, text, source, condition, effect=Effect.NOTICE)


RULES = RuleTable(
    "apns",
    [
        # Transport: 28, 29, 30
        tls_only(_SENDING, version_stated=True),
        Rule("http2-only", "The connection speaks HTTP/2, agreed by ALPN.", _SENDING, answer=_U),
        *HTTP2,
        # Method and path: 1 to 5
        Rule("method-post", "The method is POST.", _RESPONSES),
        Rule("path-form", "The path is /3/device/ and a device token.", _RESPONSES),
        Rule("device-token-present", "The path holds a device token.", _RESPONSES),
        Rule("device-token-hexadecimal", "The device token is hexadecimal, of any even length.", _RESPONSES),
        Rule("device-token-issued", "The device token was issued by the service.", _RESPONSES),
        Rule("device-token-environment", "The device token belongs to the host's environment.", _RESPONSES),
        Rule("device-token-topic", "The device token was issued for the topic.", _RESPONSES),
        # Authentication: 8 to 14, 37 to 39
        Rule("authorization-present", "The authorization header is present and not empty.", _RESPONSES),
        Rule("authorization-bearer", "The authorization header has the scheme bearer.", _SENDING, answer=_U),
        Rule("provider-token-readable", "The provider token is a JSON Web Token.", _RESPONSES),
        Rule("provider-token-algorithm", "The provider token's alg is ES256.", f"{_TOKENS} and {_ARCHIVE}"),
        Rule("provider-token-signature", "The provider token is signed with the key that kid names.", _RESPONSES),
        Rule(
            "provider-token-signature-form",
            "The signature is R and S of 32 bytes each, not DER.",
            "www.rfc-editor.org/rfc/rfc7518 section 3.4, as quoted in repositories",
            _H,
        ),
        Rule("provider-token-identifiers", "kid and iss are strings of 10 characters.", _TOKENS, answer=_U),
        Rule("provider-token-team", "iss is the team that the key belongs to.", _TOKENS, answer=_U),
        Rule(
            "provider-token-issue-time",
            "iat is a number of seconds, at most one hour in the future.",
            _TOKENS,
            answer=_U,
        ),
        Rule("provider-token-age", "iat is not more than one hour old.", _TOKENS),
        Rule(
            "provider-token-renewal",
            "A connection gets a new provider token at most once every 20 minutes.",
            f"{_TOKENS} and {_RESPONSES}",
        ),
        Rule("key-environment", "The key is for the host's environment.", _RESPONSES),
        Rule("key-related", "All keys used on one connection are related to the first.", _RESPONSES),
        Rule("connection-team", "All provider tokens on one connection belong to one team.", _TOKENS, answer=_U),
        # Headers: 15 to 23, 31, 34 to 36
        Rule("headers-once", "No authorization or apns- header is repeated.", _RESPONSES),
        Rule("topic-present", "The apns-topic header is present.", _RESPONSES),
        Rule("topic-form", "The topic is a bundle identifier with an optional suffix.", _RESPONSES),
        Rule("topic-owned", "The topic belongs to the team and is allowed for the key.", _RESPONSES),
        Rule("apns-id-form", "apns-id is a UUID in 8-4-4-4-12 form.", _RESPONSES),
        Rule("apns-id-lower-case", "apns-id has lower-case digits.", _SENDING, answer=_U),
        Rule("expiration-form", "apns-expiration is a non-negative integer.", _RESPONSES),
        Rule("priority-value", "apns-priority is 1, 5 or 10.", f"{_RESPONSES} and {_SENDING}"),
        Rule("collapse-id-length", "apns-collapse-id has at most 64 bytes.", f"{_RESPONSES} and {_SENDING}"),
        Rule("push-type-known", "apns-push-type is one of the documented types.", f"{_RESPONSES} and {_SENDING}"),
        Rule("push-type-present", "The apns-push-type header is sent with each push.", _SENDING, answer=_U),
        Rule("push-type-topic", "The topic has the suffix that the push type requires.", _SENDING, answer=_U),
        Rule("background-priority", "A background push has apns-priority 5.", _SENDING, answer=_U),
        Rule("push-type-priority", "Live Activity and location pushes have priority 5 or 10.", _SENDING, answer=_U),
        Rule(
            "push-to-talk-delivery",
            "A Push to Talk push has priority 10 and expiration 0.",
            "Apple's page Creating a Push to Talk app, as quoted in a repository",
            _H,
            _U,
        ),
        # Body: 24, 25, 32, 33, 40 to 43
        Rule("payload-present", "The body is not empty.", _RESPONSES),
        Rule("payload-size", "The body has at most 4096 bytes, 5120 for VoIP.", f"{_RESPONSES} and {_SENDING}"),
        Rule("payload-uncompressed", "The body is not compressed: no content-encoding.", _SENDING, answer=_U),
        Rule("payload-json", "The body is a JSON object.", _PAYLOAD, answer=_U),
        Rule("payload-aps", "The body has an aps object, except for VoIP pushes.", _PAYLOAD, answer=_U),
        Rule("aps-types", "The members of aps have their documented types and values.", _PAYLOAD, answer=_U),
        Rule("alert-types", "The members of alert have their documented types.", _PAYLOAD, answer=_U),
        Rule(
            "sound-types", "The members of a sound object have their documented types and range.", _PAYLOAD, answer=_U
        ),
        Rule(
            "interruption-level",
            "interruption-level is passive, active, time-sensitive or critical.",
            _PAYLOAD,
            answer=_U,
        ),
        Rule(
            "relevance-score",
            "relevance-score is between 0 and 1, except for Live Activities.",
            _PAYLOAD,
            answer=_U,
        ),
        Rule(
            "background-payload",
            "A background push has content-available 1 and no alert, badge or sound.",
            f"{_BACKGROUND} and {_SENDING}",
            answer=_U,
        ),
        Rule("alert-payload", "An alert push has an alert, a badge or a sound.", _SENDING, answer=_U),
        # Pacing: 26
        Rule(
            "pushes-in-a-row",
            "One device gets a limited number of consecutive pushes; the setting pushesInARow defines it.",
            _RESPONSES,
        ),
        # Device state: 6, 7
        Rule(
            "device-unregistered",
            "The device token is no longer active for the topic.",
            _RESPONSES,
            effect=Effect.ANSWER,
        ),
        Rule("device-expired", "The device token has expired.", _RESPONSES, effect=Effect.ANSWER),
        # Accepted, but noticed: 44 to 48, and section 5
        _notice("own-keys-in-aps", "Own keys are siblings of aps; APNs ignores own keys inside it.", _PAYLOAD),
        _notice("mutable-content-alert", "mutable-content requires an alert object with text.", _EXTENSION),
        _notice(
            "expiration-past",
            "A non-zero apns-expiration is in the future; otherwise APNs does not store the push.",
            _SENDING,
            _U,
        ),
        _notice("background-rate", "One device gets at most three background pushes an hour.", _BACKGROUND),
        _notice("connection-per-push", "Connections are reused for several pushes.", f"{_SENDING} and {_CONNECTION}"),
        _notice("priority-frame", "The sender sends no PRIORITY frames.", _SENDING),
        _notice(
            "final-answer-repeated",
            "The sender does not push again to a device token that was invalid or unregistered.",
            _RESPONSES,
        ),
        _notice(
            "server-error-retry", "A push is repeated at the earliest 15 minutes after a 5xx response.", _RESPONSES
        ),
    ],
)
