# SPDX-License-Identifier: Apache-2.0
"""Object sensors and the tracker behind them."""
