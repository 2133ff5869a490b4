# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``: thin, above all other rooms."""

from ros2_cosim.requirements import check_for_program

check_for_program()
