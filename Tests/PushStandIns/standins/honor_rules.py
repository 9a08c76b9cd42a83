"""The rules of Honor Push, from honor.md. Numbers in comments refer to its section 6.

No page of Honor was available, so nearly all rules are unverified.
"""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_GUIDE = "https://my.oschina.net/u/5873522/blog/10140231"
_FIELDS = (
    "github.com/zandala88/honor-push model.go (of https://developer.honor.com/cn/docs/11002/reference/downlink-message)"
)
_CODES = "code list of a Getui-based project"
_OTHER = "github.com/liyouping/pushapi honorpush"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _copied(name: str, text: str, source: str = _FIELDS, condition: Mark = _U, effect: Effect = Effect.REFUSE) -> Rule:
    """Returns a rule from copies of Honor's page, with an inferred response."""
    return Rule(name, text, source, condition, _U, effect)


RULES = RuleTable(
    "honor",
    [
        tls_only(_GUIDE),
        *HTTP1,
        # 1 to 7
        Rule("path-known", "POST goes to /api/v1/{appId}/sendMessage.", _GUIDE, _V, _U),
        Rule("authorization-present", "The Authorization header is present.", _GUIDE, _V, _U),
        Rule("authorization-bearer", "The Authorization header is Bearer, one space and a token.", _GUIDE, _V, _U),
        _copied("access-token-issued", "The access token was issued by the token endpoint.", _CODES),
        _copied("access-token-age", "The access token is not older than its expires_in.", _CODES),
        _copied("access-token-client", "The access token belongs to the app in the path.", "inferred"),
        _copied("timestamp-present", "The header timestamp is present.", _CODES),
        _copied("timestamp-form", "The header timestamp has 13 digits and is within ten minutes of now.", _CODES),
        _copied("app-known", "The path names a registered app.", _CODES),
        Rule("token-request", "A token request is a form with grant type, client id and secret.", _GUIDE, _V, _U),
        Rule("content-type", "The content type is application/json.", _GUIDE, _V, _U),
        _copied("json-form", "The body is a JSON object.", "inferred"),
        # 8 to 20
        _copied("token-present", "The list of tokens is present and not empty.", _CODES),
        _copied("token-count", "The request has at most 1000 tokens.", _CODES),
        _copied("token-duplicate", "No token is repeated.", _CODES),
        _copied("body-size", "The body has at most 4096 bytes.", _CODES),
        Rule("huawei-names", "Names are camelCase and there is no message wrapper.", _GUIDE, _V, _U),
        _copied("field-types", "Each member has its documented type."),
        _copied("content-present", "The message has data or a notification.", "inferred"),
        _copied("title-and-body", "A notification has a title and a body."),
        _copied("click-action-present", "A notification has a clickAction."),
        _copied("click-action-type", "clickAction.type is 1, 2 or 3."),
        _copied("click-action-target", "clickAction type 1 has an intent or action, type 2 an https url."),
        _copied("importance", "importance is LOW or NORMAL.", condition=_H),
        _copied(
            "importance-right",
            "NORMAL requires a right; the setting serviceRight defines whether the app has it.",
            _CODES,
        ),
        _copied("image-https", "An image is an https address.", condition=_H),
        _copied("image-marketing", "A message of importance LOW has no image.", _OTHER, _H),
        _copied("ttl", "ttl is a string with seconds and an s, at most 1296000s.", condition=_H),
        _copied("target-user-type", "targetUserType is 0 or 1."),
        _copied("style", "style is 0 or 1."),
        _copied("style-parts", "Style 1 has bigTitle and bigBody."),
        _copied("buttons", "A notification has at most three buttons, each in the documented form."),
        _copied("badge-range", "badge.addNum is 1 to 99 and badge.setNum 0 to 99."),
        _copied("notify-id", "notifyId is an integer of 32 bits.", condition=_H),
        # 21 to 23
        _copied("token-issued", "Each token was issued by the service.", f"{_OTHER}; {_CODES}"),
        _copied("device-unregistered", "The token is no longer valid.", f"{_OTHER}; {_CODES}", effect=Effect.ANSWER),
        _copied("flow-control", "The app does not exceed its rate; the setting requestsPerSecond defines it.", _CODES),
        _copied("test-messages", "An app sends at most 1000 test messages a day."),
    ],
)
