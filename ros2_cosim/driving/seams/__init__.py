# SPDX-License-Identifier: Apache-2.0
"""Seams between this project's records and the standard messages of ROS."""
