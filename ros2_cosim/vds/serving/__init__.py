# SPDX-License-Identifier: Apache-2.0
"""The server of `cosim vds serve`: fleet, run mode, UDP ports and data port put together."""
