# SPDX-License-Identifier: Apache-2.0
"""Measures of the driving in a bag."""
