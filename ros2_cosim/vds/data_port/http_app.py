# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ASGI application of the data port: an API answers what comes over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from ros2_cosim.vds.data_port.api import REQUESTER, RequestApi
from ros2_cosim.vds.data_port.http_access import Access
from ros2_cosim.vds.data_port.routes import NO_CONTENT, HttpAnswer, error_answer

_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; base-uri 'none'"),
)


class HttpApp:
    """Answers requests. The API answers in threads, because it may wait.

    The state of a connection has the ``user`` of its peer, for ``REQUESTER``.
    """

    def __init__(self, api: RequestApi, access: Access) -> None:
        self._api = api
        self._access = access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, as ASGI 3 says; a refusal is the last answer on its connection."""
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = (scope["raw_path"] + query).decode("ascii")
        fields = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._access.refusal(scope["method"], target, fields)
        body, more = b"", refusal is None
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if refusal is not None:
            answer = refusal
        elif len(body) < int(fields.get("content-length", "0")):
            answer = error_answer(400, "body: shorter than announced")
        else:
            REQUESTER.set(scope["state"]["user"])
            answer = await asyncio.to_thread(self._api.answer, scope["method"], target, body)
        head = {"status": answer.status, "headers": headers_of(answer, refusal is not None)}
        await send({"type": "http.response.start", **head})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        # To end the connection before all of the request has come would discard the answer.
        while refusal is not None and (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.body"})


def headers_of(answer: HttpAnswer, is_last: bool) -> list[tuple[bytes, bytes]]:
    """The head of an answer; ``is_last``: whether the connection ends after it."""
    headers = [*_HEADERS]
    if answer != NO_CONTENT:
        headers.append(("Content-Type", answer.content_type))
        headers.append(("Content-Length", str(len(answer.body))))
    if answer.allow:
        headers.append(("Allow", answer.allow))
    if answer.status == 401:
        headers.append(("WWW-Authenticate", "Bearer"))
    if is_last:
        headers.append(("Connection", "close"))
    return [(name.encode(), value.encode()) for name, value in headers]
