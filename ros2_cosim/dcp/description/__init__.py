# SPDX-License-Identifier: Apache-2.0
"""Slave descriptions: ``model`` as objects, ``parse`` and ``write`` as XML, ``read`` and
``package`` as files; ``check`` holds the rules of the standard, ``properties`` the optional checks
of values, ``data_report`` the log entry about losses.
"""
