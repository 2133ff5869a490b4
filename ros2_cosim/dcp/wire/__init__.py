# SPDX-License-Identifier: Apache-2.0
"""PDUs, values, states and transports of DCP 1.0."""
