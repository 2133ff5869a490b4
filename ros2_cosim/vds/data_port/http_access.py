# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which requests the data port lets in, by their heads.

A page of another origin can neither read nor command: answers carry no permission for it, a body
must be declared as JSON, and on the loopback address the host name of the request must be that of
the loopback.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping

from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.vds.data_port.routes import JSON_TYPE, HttpAnswer, error_answer, parts_of

MAX_BODY = 16_384
#: What a Host may be (RFC 9110, 7.2): no user.
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[!$&'()*+,;=._~%0-9A-Za-z-]*)(:[0-9]*)?")


class Access:
    """Lets requests in.

    :param token: required in every request except for what is open; None: not at all
    :param is_open: whether a path needs no token
    :param loopback: whether the port listens at a loopback address
    """

    def __init__(self, token: str | None, is_open: Callable[[str], bool], loopback: bool) -> None:
        self._token = token
        self._is_open = is_open
        self._loopback_only = loopback and token is None

    def refusal(self, method: str, target: str, fields: Mapping[str, str]) -> HttpAnswer | None:
        """The answer to a request that is not let in; None: it is.

        :param fields: of its head, as h11 has checked them; the names are in lower case
        """
        host, origin = fields.get("host", ""), fields.get("origin")
        if not _AUTHORITY.fullmatch(host):
            allowed = "allowed are a name or an address, and a port"
            return error_answer(400, f"Host: found {host[:60]!r}; {allowed}")
        if "transfer-encoding" in fields:
            return error_answer(411, "Content-Length: needed, as a number of bytes")
        length = int(fields.get("content-length", "0"))
        if length > MAX_BODY:
            return error_answer(413, f"body: found {length} bytes; allowed are at most {MAX_BODY}")
        address = parts_of(f"//{host}")
        if self._loopback_only and not (address and is_loopback(address.hostname or "")):
            return error_answer(403, f"Host: found {host[:60]!r}; allowed is this machine's own")
        page = None if origin is None else parts_of(origin)
        if origin is not None and (page is None or page.netloc != host):
            return error_answer(403, f"Origin: found {origin[:60]!r}; allowed is the port's own")
        given = fields.get("authorization", "").encode()
        wanted = None if self._is_open(target) else self._token
        if wanted is not None and not hmac.compare_digest(given, f"Bearer {wanted}".encode()):
            return error_answer(401, "Authorization: allowed is 'Bearer' with the port's token")
        found = fields.get("content-type", "").partition(";")[0].strip().lower()
        if method == "POST" and found != JSON_TYPE:
            return error_answer(415, f"Content-Type: found {found[:60]}; allowed is {JSON_TYPE}")
        return None
