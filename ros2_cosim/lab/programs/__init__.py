# SPDX-License-Identifier: Apache-2.0
"""Executables of the studies."""
