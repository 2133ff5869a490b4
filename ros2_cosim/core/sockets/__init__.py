# SPDX-License-Identifier: Apache-2.0
"""Sockets of every protocol: one reactor with one waker, TCP connections, UDP sockets.

This room knows no protocol and imports the standard library alone.
"""
