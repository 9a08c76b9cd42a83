"""The rules of OPPO Push, from oppo.md. Numbers in comments refer to its section 6."""

from __future__ import annotations

from .rules import Effect, Mark, Rule, RuleTable
from .transport_rules import HTTP1, tls_only

_CODES = "open.oppomobile.com, page of addresses, common parameters and return codes"
_AUTH = "https://open.oppomobile.com/new/developmentDoc/info?id=11234"
_SINGLE = "https://open.oppomobile.com/new/developmentDoc/info?id=11238"
_RECEIPTS = "https://open.oppomobile.com/new/developmentDoc/info?id=11239"
_SDK = "OPPO's Java server SDK, decompiled in a public repository"
_COPY = "github.com/modood/pushapi oppopush/message.go"

_H = Mark.SECOND_HAND
_U = Mark.UNVERIFIED
_V = Mark.VERIFIED


def _copied(name: str, text: str, source: str = _COPY, effect: Effect = Effect.REFUSE) -> Rule:
    """Returns a rule that is only in copies of OPPO's pages, or inferred."""
    return Rule(name, text, source, _U, _U, effect)


RULES = RuleTable(
    "oppo",
    [
        tls_only(_CODES),
        *HTTP1,
        # 1 to 5
        Rule("method-post", "The method is POST.", _CODES),
        Rule("path-known", "The path is one of the documented ones.", _CODES),
        Rule("sign-app-key-present", "A token request has app_key.", f"{_CODES}; {_AUTH}"),
        Rule("sign-app-key-known", "app_key belongs to a registered app.", f"{_CODES}; {_AUTH}"),
        Rule("sign-present", "A token request has sign.", f"{_CODES}; {_AUTH}"),
        Rule(
            "sign-value",
            "sign is the SHA-256 of app_key, timestamp and master secret in lower-case hexadecimal.",
            f"{_CODES}; {_AUTH}",
        ),
        Rule("sign-timestamp-present", "A token request has timestamp.", f"{_CODES}; {_AUTH}"),
        Rule("sign-timestamp", "timestamp has 13 digits and is within the last ten minutes.", f"{_CODES}; {_AUTH}"),
        Rule("form", "The body is form-urlencoded in UTF-8.", f"{_CODES}; {_SINGLE}"),
        Rule("auth-token-present", "The form has auth_token.", _CODES),
        Rule("auth-token-issued", "auth_token was issued by the service.", _CODES),
        Rule("auth-token-age", "auth_token is not older than 24 hours.", _CODES),
        # 6 to 9
        Rule("message-present", "The form has message.", _CODES),
        Rule("message-json", "message is a JSON object.", _CODES),
        Rule("message-parts", "The message has target_type, target_value and notification.", f"{_CODES}; {_SINGLE}"),
        Rule("target-type", "target_type is 2 or 5.", f"{_CODES}; {_SINGLE}"),
        Rule("target-value", "target_value is one registration id in its form.", f"{_SINGLE}; {_SDK}"),
        # 10 to 22
        Rule("title-and-content", "A notification has title and content.", f"{_CODES}; {_SDK}"),
        Rule("title-length", "title has at most 50 characters.", f"{_SDK}; {_CODES}"),
        Rule("sub-title-length", "sub_title has at most 10 characters.", f"{_SDK}; {_CODES}"),
        _copied("content-length", "content has at most 50 characters for style 1, 128 for style 2."),
        _copied("style", "style is 1, 2 or 3."),
        _copied("single-picture", "A single push has no pictures and no style 3."),
        _copied("click-action", "click_action_type is 0, 1, 2, 4 or 5, with the required activity or url."),
        Rule("click-activity-length", "click_action_activity has at most 500 characters.", f"{_SDK}; {_CODES}"),
        _copied("click-url-length", "click_action_url has at most 2000 characters."),
        _copied("action-parameters", "action_parameters is a string with JSON of at most 4000 characters."),
        Rule("off-line-ttl", "off_line_ttl is a non-negative integer.", f"{_SDK}; {_CODES}"),
        Rule(
            "callback", "call_back_url has at most 200 characters, call_back_parameter 100.", f"{_RECEIPTS}; {_CODES}"
        ),
        Rule("notify-level-category", "notify_level is present only with a category.", f"{_COPY}; {_CODES}", _H),
        _copied("notify-level", "notify_level is 1, 2 or 16.", f"{_COPY}; {_CODES}"),
        _copied("category", "category is one of the setting categories, if it lists any.", f"{_COPY}; {_CODES}"),
        _copied(
            "private-template",
            "Category IM names a template, if the setting privateTemplates lists any.",
            "a support note",
        ),
        _copied("show-time", "show_time_type 1 has a start before an end."),
        _copied("notify-id", "notify_id is an integer.", _SINGLE),
        _copied("field-types", "Each member has its documented type."),
        # 23, 24
        Rule("batch-count", "A batch has 1 to 1000 messages.", f"{_SINGLE}; {_CODES}"),
        # 25 to 27
        Rule(
            "token-region",
            "A registration id belongs to the host's region; the setting overseas defines it.",
            _CODES,
            _V,
            _U,
        ),
        _copied("token-issued", "A registration id was issued by the service.", "inferred"),
        _copied(
            "device-unregistered",
            "The service accepts an unregistered id and reports it only in a receipt.",
            f"{_RECEIPTS}; inferred",
            Effect.ANSWER,
        ),
        Rule("daily-limit", "The app does not exceed its daily limit; the setting dailyLimit defines it.", _CODES),
        Rule("flow-control", "The app does not exceed its rate; the setting requestsPerSecond defines it.", _CODES),
    ],
)
