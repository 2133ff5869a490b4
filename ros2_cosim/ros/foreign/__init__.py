# SPDX-License-Identifier: Apache-2.0
"""Nodes of others as participants."""
