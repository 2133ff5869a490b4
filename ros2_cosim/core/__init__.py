# SPDX-License-Identifier: Apache-2.0
"""The run itself: time, messages, scenarios, records.

Every wing may use it, and it knows none of them.
"""
