# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``: thin, above all other rooms."""
