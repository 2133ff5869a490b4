# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Deterministic ROS 2 co-simulation for automated driving."""

from pkgutil import extend_path

# The generated ``ros2_cosim.msg`` package is installed beside this source tree when
# modules are imported from a checkout: both halves make up one package.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"

from ros2_cosim.compiled import install as _install_compiled

_install_compiled()
