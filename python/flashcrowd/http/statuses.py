"""The meaning of a status code for a download: by its class, for any number (RFC 9110, 15)."""

from __future__ import annotations

_FINAL = frozenset((501, 505, 510, 511))
"""Of the server errors, those that another try will not end otherwise."""
_LATER = frozenset((408, 421, 425, 429))
"""Of the client errors, those after which the same request may be answered."""
_NO_FILE = frozenset((201, 202, 203, 204, 205, 206, 207, 208, 226))
"""Of the successes, those whose body is not the file as it is at the server."""
_STAYS = frozenset((304, 305, 306))
"""Of the redirections, those that lead nowhere."""
_NAMED = {
    201: "made something (201), and gives no file",
    202: "works on it and gives no file yet (202)",
    203: "something in between has changed the file (203)",
    204: "has no content (204)",
    205: "has no content (205)",
    401: "asks who you are (401); name user and password in the address, or --header",
    403: "is not for everybody (403); --header names what a server wants to see",
    404: "is not there (404); is the address right?",
    407: "the proxy asks who you are (407); name user and password in its address",
    410: "is no longer there (410)",
    511: "the network asks for a login first (511); open a page in a browser",
}


def whole(status: int) -> bool:
    """Whether the body is the file: 200, and a success that is not known (15: it is a 200)."""
    return 200 <= status < 300 and status not in _NO_FILE


def redirects(status: int) -> bool:
    """Whether Location says where the file is."""
    return 300 <= status < 400 and status not in _STAYS


def later(status: int) -> bool:
    """Whether the same request may be answered later; a status that cannot be is a 5xx."""
    return status in _LATER or (not 100 <= status < 500 and status not in _FINAL)


def no_ranges(status: int) -> bool:
    """Whether a server that knows no ranges, or not several, answers so: 400, 416, 501.

    A client error that is not known is a 400.
    """
    return status in (400, 416, 501) or 452 <= status < 500


def refusal(status: int) -> str:
    """The message about a status that ends a download."""
    return _NAMED.get(status, f"the server answers {status}")
