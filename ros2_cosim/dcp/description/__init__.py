# SPDX-License-Identifier: Apache-2.0
"""Slave descriptions.

``model`` is a description as objects, ``parse`` and ``write`` are its XML, ``read`` and ``package``
its files. ``check`` holds the rules of the standard, ``properties`` the optional checks of values,
``data_report`` the log entry about losses.
"""
