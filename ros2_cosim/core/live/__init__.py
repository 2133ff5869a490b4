# SPDX-License-Identifier: Apache-2.0
"""The messages of a run for viewers outside, while it runs, in every shape."""
