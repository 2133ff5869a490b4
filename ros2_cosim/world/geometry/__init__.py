# SPDX-License-Identifier: Apache-2.0
"""Frames, lanes and boxes: what is where, and how near."""
