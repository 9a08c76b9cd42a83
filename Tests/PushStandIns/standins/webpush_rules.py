"""The rules of Web Push, from web-push.md. Numbers in comments refer to its section 7."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, HTTP2, tls_only

_PUSH = "rfc-editor.org/rfc/rfc8030 section "
_CODING = "rfc-editor.org/rfc/rfc8188 section "
_ENCRYPTION = "rfc-editor.org/rfc/rfc8291 section "
_VAPID = "rfc-editor.org/rfc/rfc8292 section "
_APPLE = "developer.apple.com/documentation/usernotifications/sending-web-push-notifications-in-web-apps-and-browsers"
_MOZILLA_ERRORS = "mozilla-services.github.io/autopush-rs/errors.html"
_MOZILLA_HTTP = "mozilla-services.github.io/autopush-rs/http.html"
_SHOW = "developer.mozilla.org/docs/Web/API/ServiceWorkerRegistration/showNotification"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


RULES = RuleTable(
    "webpush",
    [
        # 1, 17
        tls_only(_PUSH + "3 and 8"),
        *HTTP1,
        *HTTP2,
        # 2, 18
        Rule("subscription-issued", "The service issued the push address.", _PUSH + "7.3"),
        Rule("method-post", "The method is POST.", _APPLE),
        # 3 to 6, 19 to 21, 38
        Rule("ttl-present", "The TTL header is present.", _PUSH + "5.2"),
        Rule("ttl-form", "TTL is digits only.", f"{_PUSH}5.2; {_APPLE}; {_MOZILLA_ERRORS}"),
        Rule("ttl-positive", "TTL is not zero; only in the profile apple.", _APPLE, _U, _U),
        Rule("urgency-once", "The request has at most one Urgency.", _PUSH + "5.3"),
        Rule("urgency-value", "Urgency is very-low, low, normal or high.", _PUSH + "5.3", _V, _U),
        Rule("topic-form", "Topic has at most 32 characters of the URL-safe base64 alphabet.", _PUSH + "5.4"),
        Rule("topic-empty", "Topic is not empty.", "rfc-editor.org/rfc/rfc7230 (not read)", _U, _U),
        Rule("content-encoding", "A body has exactly one content coding, aes128gcm.", _ENCRYPTION + "4", _V, _U),
        Rule("receipt-link", "A receipt link, if present, was issued by the service.", _PUSH + "5.1"),
        # 7 to 14, 30 to 37
        Rule(
            "authorization-present", "A push to a restricted subscription has an Authorization header.", _VAPID + "4.2"
        ),
        Rule("authorization-scheme", "The Authorization header has the scheme vapid.", f"{_VAPID}3; {_APPLE}", _V, _U),
        Rule("vapid-parameters", "The parameters t and k are present.", _VAPID + "4.2"),
        Rule(
            "vapid-key-form",
            "k is an uncompressed P-256 point in base64url without padding.",
            f"{_VAPID}3.2; {_APPLE}; {_MOZILLA_HTTP}",
            _V,
            _U,
        ),
        Rule("vapid-token-readable", "t is a JSON Web Token.", _VAPID + "4.2"),
        Rule("vapid-algorithm", "The token's alg is ES256.", _VAPID + "2"),
        Rule(
            "vapid-signature-form",
            "The signature is R and S of 32 bytes each, not DER.",
            "rfc-editor.org/rfc/rfc7518 section 3.4, as quoted in repositories",
            _H,
        ),
        Rule("vapid-signature", "The signature verifies with k.", _VAPID + "4.2"),
        Rule("vapid-expiry-present", "exp is present and a number.", _VAPID + "2"),
        Rule("vapid-expired", "exp is in the future.", _VAPID + "4.2"),
        Rule("vapid-lifetime", "exp is at most 24 hours in the future.", _VAPID + "4.2"),
        Rule("vapid-audience", "aud includes the push address's origin.", _VAPID + "4.2"),
        Rule(
            "vapid-audience-form",
            "The origin in aud has no path, no trailing slash and no other port.",
            "rfc-editor.org/rfc/rfc6454 section 6.1 (not read)",
            _U,
            _U,
        ),
        Rule("vapid-subject", "sub is present and is a mailto: or https: address.", f"{_APPLE}; {_MOZILLA_HTTP}"),
        Rule(
            "vapid-subject-real",
            "sub is not at localhost, a .local domain or an address literal; only in the profile apple.",
            "github.com/web-push-libs/web-push issue 947",
            _H,
            _H,
        ),
        Rule("vapid-key-bound", "k is the key of the subscription.", _VAPID + "4.2"),
        Rule("vapid-key-distinct", "k is not the key in the body.", _VAPID + "3.2"),
        # 15, 22 to 29
        Rule("body-size", "The body has at most 4096 bytes; the setting maximumBytes changes it.", _PUSH + "7.2"),
        Rule("body-length", "A body has at least 103 bytes.", f"{_CODING}2; {_ENCRYPTION}4", _V, _U),
        Rule("key-id-form", "The body's key id is an uncompressed point of 65 bytes.", _ENCRYPTION + "4", _V, _U),
        Rule("key-id-point", "The body's key id is a point on P-256.", _ENCRYPTION + "7", _V, _U),
        Rule("record-size-minimum", "The record size is at least 18.", _CODING + "2.1", _V, _U),
        Rule("single-record", "The record size is greater than the record's length.", _ENCRYPTION + "4", _V, _U),
        Rule("decryption", "The record decrypts with the subscription's keys.", _ENCRYPTION + "4", _V, _U),
        Rule("delimiter", "The record's delimiter is 0x02.", f"{_ENCRYPTION}4; {_CODING}2", _V, _U),
        Rule("salt-fresh", "No salt is used for two messages.", _CODING + "2.1", _V, _U),
        Rule("key-fresh", "No key in a body is used for two messages.", _ENCRYPTION + "3.1", _V, _U),
        # 40, checked by the browser
        Rule(
            "notification-options",
            "Members of the payload named like options of showNotification have the types of these options.",
            _SHOW,
            _V,
            _U,
        ),
        # 16
        Rule(
            "push-rate", "A subscription gets at most pushesPerMinute pushes a minute, by that setting.", _PUSH + "8.4"
        ),
        # 2
        Rule(
            "subscription-gone",
            "The subscription has ended.",
            f"{_PUSH}7.3; {_APPLE}; {_MOZILLA_ERRORS}",
            effect=Effect.ANSWER,
        ),
        # 39, and sections 2 and 6
        Rule("vapid-token-reuse", "An origin gets at most one new token an hour.", _APPLE, effect=Effect.NOTICE),
        Rule(
            "topic-alphanumeric",
            "Topic has only letters and digits, which all services accept.",
            _MOZILLA_ERRORS,
            effect=Effect.NOTICE,
        ),
        Rule("retry-too-soon", "A sender waits at least for Retry-After.", _PUSH + "8.4", effect=Effect.NOTICE),
    ],
)
