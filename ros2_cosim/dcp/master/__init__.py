# SPDX-License-Identifier: Apache-2.0
"""A DCP master and its co-simulations."""
