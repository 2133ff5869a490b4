# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program: runs the module named by the first argument as ``python -m`` does.

In contrast to ``python -m`` neither the working directory nor that of this file is searched for
modules; see :func:`ros2_cosim.core.documents.installed.module_command`. Nothing may be imported
before the first entry of the search path is gone, except what is built into Python.
"""

import sys


def _run() -> None:
    # As ``-P`` (Python 3.11) does: then Python has not put this file's directory there.
    if sys.version_info < (3, 11) or not sys.flags.safe_path:
        del sys.path[0]
    del sys.argv[0]
    try:
        import runpy

        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        # The module does not handle it yet: it has begun nothing that it would have to end.
        sys.exit(0)


if __name__ == "__main__":
    _run()
