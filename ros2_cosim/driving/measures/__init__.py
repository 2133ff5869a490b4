# SPDX-License-Identifier: Apache-2.0
"""What a bag tells of the driving."""
