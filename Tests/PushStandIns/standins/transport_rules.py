"""Rules of the transports, for all services that use them."""

from __future__ import annotations

from .rules import Effect, Mark, Rule

_RFC9113 = "www.rfc-editor.org/rfc/rfc9113"

HTTP2 = [
    Rule(
        "malformed-http2",
        "HTTP/2 messages have lower-case field names, no connection-specific fields, each pseudo-header once "
        "and before the others, and a content-length equal to the DATA sum.",
        f"{_RFC9113} sections 8.1.1, 8.2, 8.3",
    ),
    Rule(
        "stream-limit",
        "The number of open streams does not exceed SETTINGS_MAX_CONCURRENT_STREAMS.",
        f"{_RFC9113} section 5.1.2",
    ),
    Rule(
        "stream-before-settings",
        "A stream over the limit that the sender has not acknowledged yet is refused with REFUSED_STREAM and "
        "may be sent again.",
        f"{_RFC9113} sections 5.1.2, 8.7",
        Mark.SECOND_HAND,
        effect=Effect.NOTICE,
    ),
]

HTTP1 = [
    Rule(
        "malformed-http1",
        "HTTP/1.1 messages are well formed.",
        "www.rfc-editor.org/rfc/rfc9112 (not read for the documents)",
        Mark.UNVERIFIED,
        Mark.UNVERIFIED,
    )
]


def tls_only(source: str, version_stated: bool = False) -> Rule:
    """Returns the rule that the connection uses TLS. The stand-in always requires version 1.2 or later."""
    text = "The connection is TLS, version 1.2 or later." if version_stated else "The connection is TLS."
    return Rule("tls-only", text, source, Mark.VERIFIED, Mark.UNVERIFIED, Effect.TRANSPORT)
