# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sockets of every protocol: one reactor with one waker, TCP connections, UDP sockets.

This package contains no protocol and imports only the standard library.
"""
