# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What DCP 1.0 defines: PDUs, values, states and transports, and descriptions of slaves.

``slave_description`` is a description as objects, ``parse_description`` and ``write_description``
are its XML, ``read_description`` and ``slave_package`` its files. ``check_description`` holds the
rules of the standard, ``property_checks`` the optional checks of values, ``data_report`` the log
entry about losses.
"""
