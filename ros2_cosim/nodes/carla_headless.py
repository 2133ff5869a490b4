# SPDX-License-Identifier: Apache-2.0
"""The headless CARLA-compatible server (not a ROS node: it speaks CARLA's client protocol).

The options are those of ``cosim carla-headless``.
"""

from ros2_cosim.carla_headless.__main__ import main

if __name__ == "__main__":
    main()
