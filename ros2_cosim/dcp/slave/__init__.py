# SPDX-License-Identifier: Apache-2.0
"""A DCP slave around a model."""
