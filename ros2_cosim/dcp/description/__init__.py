# SPDX-License-Identifier: Apache-2.0
"""Slave descriptions: model, files, checks."""
