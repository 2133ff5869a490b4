# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts the interpreter anew with the libraries of the ROS wheels, before their own module does.

That one, ``ros_wheels_bootstrapper``, looks for them with :mod:`pathlib`, in a twentieth of the
time of a short run. The site module of each interpreter of ``.venv`` imports this file.
"""

import os
import sys

if "_ROS_WHEELS_BOOTSTRAP_COMPLETE" not in os.environ:
    place = os.path.dirname(os.path.abspath(__file__))
    names = [n for n in sorted(os.listdir(place)) if n[:4] == "ros_" and n[-5:] == ".libs"]
    found = [f"{sys.prefix}/lib", *(f"{place}/{name}" for name in names)]
    found += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    more = {"LD_LIBRARY_PATH": ":".join(found), "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **more})
