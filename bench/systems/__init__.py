# SPDX-License-Identifier: Apache-2.0
"""Systems of other projects as plain nodes of rclpy, which know nothing of this project."""
