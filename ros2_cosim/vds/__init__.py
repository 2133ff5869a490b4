# SPDX-License-Identifier: Apache-2.0
"""The vehicle simulator over UDP (VDS1): sessions, run modes, data port, dashboard."""
