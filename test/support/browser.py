# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium by its DevTools protocol over a pipe: no driver, no port, no package.

Chromium started with ``--remote-debugging-pipe`` reads JSON messages from descriptor 3 and
writes to 4, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# The pipe has to have the numbers 3 and 4 in the browser.
_LAUNCHER = """
import os, sys
reads, writes, *command = sys.argv[1:]
spare = [os.dup(int(reads)), os.dup(int(writes))]
spare = [fd if fd > 4 else os.dup(os.dup(os.dup(fd))) for fd in spare]
os.dup2(spare[0], 3)
os.dup2(spare[1], 4)
os.execv(command[0], command)
"""


class BrowserError(Exception):
    """The browser ended, or did not answer."""


class EvaluationError(BrowserError):
    """JavaScript in the page raised an exception."""


class Browser:
    """A browser with one page.

    :param program: path of the browser
    :param profile: directory of its own
    :param options: more options of its command line
    :raises BrowserError: it does not start
    """

    def __init__(self, program: str, profile: Path, *options: str) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-extensions",
            "--force-color-profile=srgb",
            f"--user-data-dir={profile}",
            *options,
            "about:blank",
        ]
        launch = [sys.executable, "-c", _LAUNCHER, str(to_browser), str(from_browser), *command]
        self._log = (profile.parent / "browser.log").open("wb")
        self._process = subprocess.Popen(
            launch,
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "HOME": str(profile.parent)},
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        #: What the page complained about on its console, and exceptions.
        self.complaints: list[str] = []
        try:
            pages = self._call("Target.getTargets")["targetInfos"]
            (page,) = [found["targetId"] for found in pages if found["type"] == "page"]
            self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)[
                "sessionId"
            ]
            for domain in ("Page", "Runtime", "Log"):
                self._call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Go to a page."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=url)

    def leave(self) -> None:
        """Leave the page; what it complains about from now on is that of the next one."""
        self.open("about:blank")
        self.wait_for("location.href === 'about:blank'")
        self.complaints.clear()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise EvaluationError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The value of an expression as soon as it is true."""
        until = time.monotonic() + HANG_S
        while True:
            try:
                value = self.evaluate(expression)
            except EvaluationError as error:  # the page is still being loaded, perhaps
                value, found = None, str(error)
            else:
                found = ""
            if value:
                return value
            if time.monotonic() > until:
                raise BrowserError(f"never true: {expression}; {found} {self.complaints}")
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Move, press or release the mouse: ``mouseMoved``, ``mousePressed``, ``mouseReleased``."""
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture (PNG) of the whole page, or of the part in the window."""
        data = self._call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        os.close(self._write)
        self._write = -1
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        self._log.close()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        try:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserError(f"{method}: the browser has ended") from None
        until = time.monotonic() + HANG_S
        while True:
            answer = self._receive(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise EvaluationError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["params"]["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            if entry["level"] == "error":
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")

    def _receive(self, until: float) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            while b"\0" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise BrowserError("the browser does not answer")
                data = os.read(self._read, 1 << 20)
                if not data:
                    raise BrowserError("the browser has ended")
                self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found


def find_chromium() -> str | None:
    """The path of the browser; None: there is none."""
    return next((found for name in _PROGRAMS if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for the tests of one file."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium to show it")
    profile = tmp_path_factory.mktemp("browser") / "profile"
    profile.mkdir()
    try:
        made = Browser(program, profile)
    except BrowserError as error:
        pytest.skip(f"Chromium does not start here: {error}")
    yield made
    made.close()


@pytest.fixture
def browser(started_browser: Browser) -> Browser:
    """A browser that shows nothing and has complained about nothing."""
    started_browser.leave()
    return started_browser
