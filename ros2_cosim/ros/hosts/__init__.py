# SPDX-License-Identifier: Apache-2.0
"""Runs whose processes are on several hosts."""
