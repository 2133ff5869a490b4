# SPDX-License-Identifier: Apache-2.0
"""Looking at DCP traffic, and testing slaves."""
