# SPDX-License-Identifier: Apache-2.0
"""Errors of remote calls."""

from ros2_cosim.kernel.errors import CosimError


class CallError(CosimError):
    """A call cannot be carried out; a remote client sees the text."""


class UnknownMethodError(CosimError):
    """The server has no method of this name."""
