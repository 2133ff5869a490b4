# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One bring-up of a run for every caller, and what belongs to it: domains, processes, watching."""
