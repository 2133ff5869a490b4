# SPDX-License-Identifier: Apache-2.0
"""Messages between vehicles, and the radio that loses them."""
