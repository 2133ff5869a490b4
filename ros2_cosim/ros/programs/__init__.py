# SPDX-License-Identifier: Apache-2.0

from ros2_cosim.requirements import check_for_program

check_for_program()
