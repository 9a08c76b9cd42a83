"""The rules of Huawei Push Kit v1 and v2, from huawei.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_SEND = "https://developer.huawei.com/consumer/cn/doc/HMSCore-References/https-send-api-0000001050986197"
_SIX_CODES = "https://blog.csdn.net/HUAWEI_HMSCore/article/details/125866284"
_JAVA = "github.com/HMS-Core/hms-push-serverdemo-java"
_GO = "github.com/HMS-Core/hms-push-serverdemo-go"

_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _inferred(name: str, text: str, source: str = _SEND) -> Rule:
    """Returns a rule with a verified requirement and an inferred response."""
    return Rule(name, text, source, _V, _U)


RULES = RuleTable(
    "huawei",
    [
        tls_only(_SEND, version_stated=True),
        *HTTP1,
        # 1 to 5, 24
        Rule("path-known", "POST goes to /v1/{clientId}/messages:send or /v2/{projectId}/messages:send.", _SEND),
        _inferred("content-type", "The content type is application/json."),
        Rule("authorization-present", "The Authorization header is present.", f"{_SEND}; {_SIX_CODES}"),
        Rule(
            "authorization-bearer",
            "The Authorization header is Bearer, one space and a token.",
            f"{_SEND}; {_SIX_CODES}",
        ),
        Rule("access-token-issued", "The access token was issued by the token endpoint.", f"{_SEND}; {_SIX_CODES}"),
        Rule("access-token-client", "The access token belongs to the app in the path.", f"{_SEND}; {_SIX_CODES}"),
        Rule("access-token-age", "The access token is not older than an hour.", f"{_SEND}; {_SIX_CODES}"),
        _inferred("token-request", "A token request is a form with grant type, client id and secret.", _JAVA),
        Rule("app-known", "The path names a registered app that may push.", _SEND),
        # 6 to 9, 21
        _inferred("json-form", "The body is a JSON object."),
        _inferred("field-types", "Each member has its documented type."),
        Rule("message-present", "The body holds a message.", _SIX_CODES),
        Rule("target-present", "The message has a token list that is not empty, a topic or a condition.", _SIX_CODES),
        Rule("token-count", "The message has at most 1000 tokens.", f"{_SEND}; {_SIX_CODES}"),
        _inferred("one-target", "Only one of token, topic and condition is present."),
        Rule("body-size", "The body without its tokens has at most 4096 bytes.", _SEND),
        _inferred("condition-topics", "A condition names at most five topics."),
        _inferred("review-form", "Each review has reviewer tuibian, type 0 and a result."),
        _inferred("data-json", "The data of a notification message is a string with JSON."),
        _inferred("android-present", "A notification message has an android object."),
        # 10 to 12 and section 3, 26 to 33
        Rule("collapse-key", "collapse_key is an integer from -1 to 100.", f"{_SEND}; {_JAVA}"),
        _inferred("ttl", "ttl is a string with seconds, at most 1296000.", f"{_SEND}; {_JAVA}"),
        _inferred("urgency", "urgency is HIGH or NORMAL."),
        _inferred("category", "category is one of the documented classes."),
        _inferred("fast-app-target", "fast_app_target is 1 or 2."),
        _inferred("target-user-type", "target_user_type is 0 or 1."),
        # 13 to 20 and section 3, 36 to 54
        _inferred("title-and-body", "A notification message has a title and a body."),
        _inferred("click-action-present", "A notification message has a click_action."),
        _inferred("click-action-type", "click_action.type is 1, 2 or 3."),
        _inferred("click-action-target", "click_action type 1 has an intent or action, type 2 an https url."),
        _inferred("importance", "importance is LOW or NORMAL."),
        _inferred("visibility", "visibility is one of its four names."),
        _inferred("color", "color is #RRGGBB."),
        _inferred("sound", "With default_sound false, sound is set.", _GO),
        _inferred("style", "style is 0, 1 or 3."),
        _inferred("style-parts", "Style 1 has big_title and big_body; style 3 has 1 to 5 inbox lines of at most 1024."),
        _inferred("badge-range", "badge.add_num is 1 to 99 and badge.set_num 0 to 99."),
        _inferred("badge-class", "A badge has a class."),
        _inferred("image-https", "An image is an https address."),
        _inferred("when", "when is a UTC time."),
        _inferred("localisation-arguments", "Localization arguments are present only with their key.", _JAVA),
        _inferred("languages", "multi_lang_key has at most three languages."),
        _inferred("vibration", "vibrate_config has at most 10 durations, each over 0 and at most 60 seconds."),
        _inferred("light-settings", "light_settings has a color and both durations; color components are 0 to 1."),
        _inferred("buttons", "A notification has at most three buttons, each in the documented form."),
        _inferred("profile-id", "profile_id has at most 64 characters."),
        _inferred("auto-clear", "auto_clear is a positive integer.", _JAVA),
        # 22, 23
        Rule("token-issued", "Each token was issued to the app.", f"{_SEND}; {_SIX_CODES}"),
        Rule("device-unregistered", "The token is no longer valid.", f"{_SEND}; {_SIX_CODES}", effect=Effect.ANSWER),
        # 25 and section 5
        Rule("flow-control", "The app does not exceed its rate; the setting requestsPerSecond defines it.", _SEND),
        _inferred("test-messages", "An app sends at most 500 test messages a day."),
    ],
)
