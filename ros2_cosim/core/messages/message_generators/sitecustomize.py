# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Let ROS's message generators parse each definition once; Python imports this when it starts.

A package is built by ten generators, each a process, and each parses every definition with a
general parser, which takes two thirds of its time. Here the first one leaves what it has parsed in
a directory of the build for the others. Every other program passes through unchanged.
"""

import os
import sys

#: Names the directory; it belongs to one build.
DIRECTORY = "ROS2_COSIM_PARSED_DEFINITIONS"


def share_parsed_definitions(directory: str) -> None:
    """Replace the parser of this process by one that looks into ``directory`` first."""
    import fcntl
    import hashlib
    import pickle
    from pathlib import Path

    from rosidl_parser import parser

    parse = parser.parse_idl_string

    def parse_once(text: str, png_file: "str | None" = None) -> object:
        kept = Path(directory) / f"{hashlib.sha256(text.encode()).hexdigest()}.pickle"
        # Generators run at once: the others wait instead of parsing the same text.
        with open(Path(directory) / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if kept.exists():
                return pickle.loads(kept.read_bytes())
            content = parse(text, png_file=png_file)
            partial = kept.with_suffix(".partial")
            partial.write_bytes(pickle.dumps(content))
            partial.replace(kept)
            return content

    parser.parse_idl_string = parse_once


if os.environ.get(DIRECTORY) and "--generator-arguments-file" in sys.orig_argv:
    share_parsed_definitions(os.environ[DIRECTORY])
