# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: bag, summary, report."""
