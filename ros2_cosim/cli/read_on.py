# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the documentation says more about an error that newcomers meet.

Errors also come from other processes, as text. So a page is found by what an error says.
"""

from __future__ import annotations

import errno
import os

#: Words of an error -> page; the first ones that it has count.
PAGES = (
    ("control law", "docs/how-to/use-your-own-controller.md"),
    ("module:Class", "docs/tutorials/own-sensor.md"),
    ("which is not a model", "docs/tutorials/own-sensor.md"),
    ("unknown key", "docs/how-to/complete-scenarios-in-an-editor.md"),
    ("needs rclpy", "docs/installation.md"),
    ("CARLA at ", "docs/how-to/run-against-carla.md"),
    (os.strerror(errno.EADDRINUSE), "docs/security.md"),
    ("uses ROS domain", "docs/run-control.md#namespaces"),
    ("failed in its activation", "docs/run-control.md#when-something-fails"),
    ("keeps the run waiting", "docs/foreign-nodes.md#limits"),
    ("the foreign process", "docs/foreign-nodes.md#limits"),
    ("verdict not met", "docs/library.md#what-a-verdict-looks-at"),
    ("has not returned from its activation", "docs/how-to/find-out-why-a-run-stands-still.md"),
    ("no progress", "docs/how-to/find-out-why-a-run-stands-still.md"),
)


def page_about(error: str) -> str | None:
    """The page to read after an error; None: there is none in particular."""
    return next((page for words, page in PAGES if words in error), None)
