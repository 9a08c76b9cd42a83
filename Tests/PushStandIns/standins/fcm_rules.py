"""The rules of FCM, from fcm.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, HTTP2, tls_only

_FCM = "firebase.google.com/docs/cloud-messaging/"
_REST = "firebase.google.com/docs/reference/fcm/rest/v1/"
_MESSAGES = _REST + "projects.messages"
_SEND = _REST + "projects.messages/send"
_ERROR_CODE = _REST + "ErrorCode"
_V1 = _FCM + "send/v1-api"
_ERRORS = _FCM + "error-codes"
_MIGRATE = _FCM + "migrate-v1"
_TYPES = _FCM + "customize-messages/set-message-type"
_PRIORITY = _FCM + "customize-messages/setting-message-priority"
_COLLAPSIBLE = _FCM + "customize-messages/collapsible-message-types"
_QUOTAS = _FCM + "throttling-and-quotas"
_SCALE = _FCM + "scale-fcm"
_DELIVERY = _FCM + "understand-delivery"
_TOPICS = _FCM + "send-topic-messages"
_OAUTH = "developers.google.com/identity/protocols/oauth2/service-account"
_GOOGLE_AUTH = "github.com/googleapis/google-auth-library-python google/oauth2/_client.py"
_ADMIN_NODE = "github.com/firebase/firebase-admin-node src/messaging"
_TOOLS = "github.com/firebase/firebase-tools/pull/8586"
_RECORDINGS = "github.com/davideast/pyric packages/conformance/observations/messaging-admin"
_RECORDED = "answers recorded in several repositories"
_UNKNOWN_FIELD = "github.com/eladnava/fcm-v1-http2 issue 5"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _notice(name: str, text: str, source: str) -> Rule:
    return Rule(name, text, source, effect=Effect.NOTICE)


RULES = RuleTable(
    "fcm",
    [
        tls_only(_SEND),
        *HTTP1,
        *HTTP2,
        # Token endpoint: 1 to 10
        Rule("token-method", "The token request's method is POST.", _GOOGLE_AUTH, _U, _U),
        Rule("token-form", "The token request's body is form-urlencoded.", _GOOGLE_AUTH, _V, _H),
        Rule("token-grant-type", "grant_type is the JWT bearer URN.", _GOOGLE_AUTH, _V, _H),
        Rule("token-assertion", "assertion is a JSON Web Token.", _GOOGLE_AUTH, _V, _U),
        Rule("token-algorithm", "The assertion's alg is RS256.", _OAUTH, _V, _U),
        Rule("token-encoding", "The assertion is base64url without padding or line breaks.", _OAUTH),
        Rule("token-signature", "The assertion is signed with the service account's key.", _OAUTH),
        Rule("token-issuer", "iss is the e-mail address of a service account.", _GOOGLE_AUTH, _V, _H),
        Rule("token-audience", "aud is the address of the token endpoint.", _GOOGLE_AUTH, _V, _H),
        Rule("token-time-form", "iat and exp are whole seconds since 1970.", _GOOGLE_AUTH, _V, _U),
        Rule(
            "token-lifetime",
            "exp is after iat and at most 3600 seconds later; the service itself tolerates 65 minutes.",
            _OAUTH,
        ),
        Rule("token-expired", "exp is in the future.", _OAUTH),
        Rule("token-issue-time", "iat is at most 300 seconds in the future.", "third parties' statements", _U, _U),
        Rule("token-scope", "scope names at least one known scope, separated by spaces.", _OAUTH),
        Rule("token-subject", "sub is absent, because there is no domain-wide delegation.", _OAUTH, _V, _H),
        # Transport and credentials: 12 to 19
        Rule("path-known", "The path is /v1/projects/{project}/messages:send.", _SEND, _V, _U),
        Rule("legacy-path", "/fcm/send and /batch are gone.", _MIGRATE, _V, _H),
        Rule("method-post", "The method is POST.", _SEND, _V, _U),
        Rule("authorization-present", "The Authorization header is present.", _V1, _V, _H),
        Rule("authorization-bearer", "The Authorization header has the scheme Bearer.", _V1, _V, _H),
        Rule("access-token-issued", "The access token was issued by the token endpoint.", _V1, _V, _H),
        Rule("access-token-age", "The access token is not older than its expires_in.", _MIGRATE, _V, _H),
        Rule(
            "access-token-scope",
            "The access token's scope allows messaging.",
            f"{_SEND}; answer: other Google APIs",
            _V,
            _H,
        ),
        Rule("project-allowed", "The service account may send for the project in the path.", _V1, _V, _H),
        Rule("content-type", "The content type is application/json.", _V1, _V, _U),
        Rule(
            "query-parameter",
            "Query parameters are those common to Google's interfaces, with their values.",
            "googleapis/google-api-nodejs-client discovery/fcm-v1.json",
            _U,
            _U,
        ),
        # JSON form: 20 to 29
        Rule("json-form", "The body is a JSON object without duplicate members.", "protocol buffers JSON", _U, _U),
        Rule("unknown-field", "No object has a member that the interface does not name.", _UNKNOWN_FIELD, _H, _H),
        Rule("data-values", "All values of data are texts.", _V1),
        Rule("header-values", "All values of headers are texts.", _MESSAGES, _V, _U),
        Rule("field-type", "Each member has its documented type.", f"{_MESSAGES} and {_V1}"),
        Rule("enum-value", "An enumeration's value is one of its names.", _MESSAGES, _V, _U),
        Rule("duration-form", "A duration is seconds with up to nine decimals and an s.", _MESSAGES, _V, _H),
        Rule("timestamp-form", "A time is written as RFC 3339 says.", _MESSAGES, _V, _U),
        Rule("one-target", "Not more than one of token, topic and condition is present.", _TOOLS),
        Rule("message-present", "The request holds a message.", _SEND, _V, _U),
        # Message: 30 to 49
        Rule("target-present", "One of token, topic and condition is present.", _MESSAGES, _V, _H),
        Rule("token-well-formed", "The registration token has the form of one.", _RECORDINGS, _H),
        Rule("token-issued", "The registration token was issued by the service.", _ERRORS, _V, _U),
        Rule("sender-id", "The registration token belongs to the project.", _ERRORS),
        Rule("package-name", "restricted_package_name is the token's package.", _ERRORS),
        Rule(
            "topic-form",
            "A topic's name has only the allowed characters and no /topics/.",
            f"{_TOPICS} and {_MESSAGES}",
            _V,
            _H,
        ),
        Rule("condition-form", "A condition can be parsed.", _RECORDINGS, _H, _H),
        Rule("condition-topics", "A condition names at most five topics.", _TOPICS, _V, _U),
        Rule("ttl-range", "ttl is between 0 and 2419200 seconds.", _ERRORS),
        Rule(
            "reserved-data-key",
            "No data key is from or message_type, or starts with google. or gcm.notification.",
            f"{_MESSAGES} and {_ERRORS}",
            _V,
            _H,
        ),
        Rule(
            "payload-size",
            "What reaches the device has at most 4096 bytes as compact JSON; the service's own count is looser.",
            f"{_TYPES} and {_ERRORS}",
            _V,
            _H,
        ),
        Rule(
            "topic-payload-size",
            "What reaches the devices of a topic has at most 2048 bytes; a recording shows more being taken.",
            f"{_ERROR_CODE} and {_ERRORS}",
            _V,
            _U,
        ),
        Rule(
            "ios-background-priority",
            "A data-only message to an iOS device has apns-priority 5.",
            f"{_MESSAGES} and {_PRIORITY}",
        ),
        Rule("webpush-ttl", "The TTL among the web push headers is a whole number, not negative.", _RECORDINGS, _H, _H),
        Rule("webpush-link", "webpush.fcm_options.link is an https address.", _MESSAGES, _V, _U),
        Rule("analytics-label", "An analytics label has 1 to 50 of the allowed characters.", _DELIVERY, _V, _U),
        Rule("light-settings", "light_settings is whole and its colour parts are between 0 and 1.", _MESSAGES, _V, _U),
        Rule("color-form", "color is #rrggbb.", _MESSAGES, _V, _U),
        Rule("localisation-arguments", "Localisation arguments come with their key.", _ADMIN_NODE, _V, _U),
        Rule("live-activity-token", "live_activity_token comes with token.", _RECORDED, _H, _H),
        Rule(
            "apns-headers", "APNs accepts the APNs headers of a message to an iOS device.", _REST + "ApnsError", _V, _U
        ),
        # Pacing: 51, 52, 54
        Rule("project-quota", "A project sends at most 600,000 messages a minute.", _QUOTAS, _V, _H),
        Rule(
            "device-quota",
            "An Android device gets at most 240 messages a minute and 5,000 an hour.",
            f"{_QUOTAS} and {_ERRORS}",
        ),
        Rule(
            "retry-too-soon",
            "A message is repeated after Retry-After, else 60 seconds after a 429 or 10 seconds after a 5xx.",
            _SCALE,
            _V,
            _U,
        ),
        Rule(
            "retry-of-final-answer",
            "A message is not repeated unchanged after 400, 401, 403 or 404.",
            _SCALE,
            _V,
            _U,
        ),
        # State: 18, 32
        Rule("device-unregistered", "The registration token is no longer registered.", _ERRORS, effect=Effect.ANSWER),
        Rule("api-disabled", "The messaging API is disabled for the project.", _V1, _V, _H, Effect.ANSWER),
        # Accepted, but noticed: 53, 3.1.1, 3.9, 5.7
        _notice(
            "collapsible-burst",
            "Collapsible messages beyond a burst of 20 and one per three minutes are delayed.",
            _QUOTAS,
        ),
        _notice("collapse-key-ignored", "Notification messages ignore collapse_key.", _COLLAPSIBLE),
        _notice(
            "reserved-data-prefix",
            "Data keys should not start with google or gcm.",
            f"{_ERROR_CODE}, {_ERRORS} and {_TYPES}",
        ),
        _notice("image-address", "image is a URL; Google's libraries refuse other values.", _ADMIN_NODE),
        _notice(
            "web-direction",
            "dir is ltr, rtl or auto; Google's libraries refuse other values.",
            "github.com/firebase/firebase-admin-go messaging",
        ),
        _notice("access-token-reuse", "An access token is used until shortly before it expires.", _GOOGLE_AUTH),
    ],
)
