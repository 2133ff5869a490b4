# SPDX-License-Identifier: Apache-2.0
"""Starts the interpreter anew with the libraries of the ROS wheels, before their own module does.

That one, ``ros_wheels_bootstrapper``, looks for them with :mod:`pathlib`, in a twentieth of the
time of a short run. The site module of each interpreter of ``.venv`` imports this file.
"""

import os
import sys

if "_ROS_WHEELS_BOOTSTRAP_COMPLETE" not in os.environ:
    place = os.path.dirname(os.path.abspath(__file__))
    found = [os.path.join(sys.prefix, "lib")]
    found += [
        os.path.join(place, name)
        for name in sorted(os.listdir(place))
        if name.startswith("ros_") and name.endswith(".libs")
    ]
    found += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(found)
    os.environ["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    os.execv(sys.executable, sys.orig_argv)
