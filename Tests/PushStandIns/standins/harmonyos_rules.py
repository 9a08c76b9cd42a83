"""The rules of HarmonyOS Push Kit v3, from harmonyos.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_DOC = "developer.huawei.com/consumer/cn/doc/"
_STRUCT = _DOC + "harmonyos-references/push-scenariozed-api-request-struct"
_PARAMETERS = _DOC + "harmonyos-references/push-scenariozed-api-request-param"
_RESPONSE = _DOC + "harmonyos-references/push-scenariozed-api-response"
_JWT = _DOC + "harmonyos-guides/push-jwt-token"
_REVOKE = _DOC + "harmonyos-references/push-msg-revoke"
_FREQUENCY = _DOC + "harmonyos-references/push-msg-freq-control"
_BADGE = _DOC + "harmonyos-guides/push-send-badge"
_INTRO = _DOC + "references/api/push-scenariozed-api-intro"

_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _inferred(name: str, text: str, source: str = _PARAMETERS) -> Rule:
    """Returns a rule with a verified requirement and an inferred response."""
    return Rule(name, text, source, _V, _U)


RULES = RuleTable(
    "harmonyos",
    [
        tls_only(_REVOKE, version_stated=True),
        *HTTP1,
        # 1
        Rule("path-known", "POST goes to /v3/{projectId}/messages:send or /v1/{clientId}/messages:revoke.", _RESPONSE),
        _inferred("content-type", "The content type is application/json.", _STRUCT),
        # 2 to 6
        Rule("authorization-present", "The Authorization header is present.", _RESPONSE),
        Rule("authorization-bearer", "The Authorization header is Bearer, one space and a token.", _RESPONSE),
        Rule("token-readable", "The token is a JSON Web Token, not an opaque one.", _RESPONSE),
        Rule("token-algorithm", "The token's alg is PS256.", f"{_JWT}; {_RESPONSE}"),
        Rule("token-type", "The token's typ is JWT.", f"{_JWT}; {_RESPONSE}"),
        Rule("token-key", "kid is the id of a service account's key.", f"{_JWT}; {_RESPONSE}"),
        Rule("token-signature", "The token is signed with the service account's key.", f"{_JWT}; {_RESPONSE}"),
        Rule("token-issuer", "iss is the service account's sub_account.", f"{_JWT}; {_RESPONSE}"),
        Rule(
            "token-audience",
            "aud is exactly https://oauth-login.cloud.huawei.com/oauth2/v3/token.",
            f"{_JWT}; {_RESPONSE}",
        ),
        _inferred("token-times", "iat and exp are seconds, and exp is after iat.", _JWT),
        Rule("token-age", "exp is in the future.", _RESPONSE),
        Rule("token-lifetime", "The token is valid for at most one day.", _RESPONSE),
        Rule("token-project", "The service account belongs to the project in the path.", _RESPONSE),
        # 7 to 12, 29
        Rule("push-type", "The header push-type is 0, 1, 2, 6, 7 or 10.", f"{_REVOKE}; {_STRUCT}"),
        _inferred("json-form", "The body is a JSON object.", _STRUCT),
        _inferred("field-types", "Each member has its documented type."),
        _inferred("payload-present", "The body holds payload and target.", _STRUCT),
        Rule(
            "token-count", "The request has 1 to 1000 tokens, for push-type 1 exactly one.", f"{_RESPONSE}; {_REVOKE}"
        ),
        Rule("test-token-count", "A test message has at most 10 tokens.", _RESPONSE),
        Rule("test-rate", "A project sends at most 1000 test messages a day.", f"{_RESPONSE}; {_FREQUENCY}"),
        Rule("body-size", "The body without its tokens has at most 4096 bytes.", f"{_RESPONSE}; {_INTRO}"),
        Rule("flow-control", "The app does not exceed its rate; the setting devicesPerSecond defines it.", _FREQUENCY),
        # 13 to 15
        _inferred("category-present", "An alert has a category."),
        _inferred(
            "title-and-body",
            "An alert has title and body; only a badge message has neither.",
            f"{_PARAMETERS}; {_BADGE}",
        ),
        _inferred("click-action-present", "An alert has a clickAction."),
        _inferred("category", "category is one of the documented classes."),
        Rule("play-voice", "PLAY_VOICE is only for push-type 2.", _RESPONSE),
        # 16 to 24
        Rule("badge-add", "badge.addNum is 1 to 99.", _RESPONSE),
        _inferred("badge-set", "badge.setNum is 0 to 99."),
        _inferred("ttl", "ttl is an integer from 1 to 1296000."),
        _inferred("collapse-key", "collapseKey is an integer from -1 to 100."),
        _inferred("background-mode", "backgroundMode is 0 or 1."),
        _inferred("bi-tag", "biTag has at most 64 bytes."),
        _inferred("profile-id", "profileId has at most 64 characters."),
        _inferred("app-message-id", "appMessageId has 1 to 64 of the allowed characters."),
        _inferred("notify-id", "notifyId is an integer from -1 to 2147483647."),
        _inferred("style", "style is 0, 1 or 3."),
        _inferred("style-parts", "Style 1 has bigTitle and bigBody, style 3 has 1 to 3 lines of inboxContent."),
        _inferred("click-action-type", "clickAction.actionType is 0 or 1."),
        _inferred("click-action-target", "clickAction of actionType 1 has an action or uri."),
        _inferred("sound-duration", "soundDuration is 1 to 60, and only with sound."),
        _inferred("image-https", "An image is an https address."),
        # 25 and section 3, 36 to 40
        _inferred("extra-data", "Messages of push-type 2, 6 and 10 have extraData."),
        _inferred("proxy-data", "proxyData is ENABLE."),
        _inferred("voice-category", "A message of push-type 2 has the category PLAY_VOICE."),
        _inferred("form-parts", "A widget update has all its members, in range, and at most one image."),
        _inferred("activity-parts", "A live view has activityId, operation 0 to 2, event and activityData."),
        # 26, 27
        Rule("type-right", "The app has the right to the push-type; the setting rights lists its rights.", _RESPONSE),
        Rule("token-issued", "Each token was issued by the service.", _RESPONSE),
        Rule("token-of-project", "Each token's app is in the project.", _RESPONSE),
        Rule("device-unregistered", "The token is no longer reachable.", _RESPONSE, _V, _U, Effect.ANSWER),
        # 28
        Rule("revoke-push-type", "A revocation has push-type 0 or 2.", _REVOKE),
        Rule("revoke-token-count", "A revocation has 1 to 1000 tokens.", _REVOKE),
        Rule("revoke-client", "The path of a revocation holds a client id, not a project id.", _REVOKE),
        Rule("revoke-one-app", "The tokens of a revocation belong to one app.", _REVOKE),
        Rule("revoke-token-app", "The tokens of a revocation belong to the app in the path.", _REVOKE),
        Rule("revoke-notify-id", "A revocation has a notifyId from 0 to 2147483647.", _REVOKE),
        # Section 2, 9
        Rule("token-hour", "exp is iat plus 3600 seconds.", _JWT, effect=Effect.NOTICE),
    ],
)
