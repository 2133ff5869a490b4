# SPDX-License-Identifier: Apache-2.0
"""Pages about runs: one run, several side by side, two compared."""
