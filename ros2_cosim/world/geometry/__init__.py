# SPDX-License-Identifier: Apache-2.0
"""Frames, lanes and boxes: who is where, and how near."""
