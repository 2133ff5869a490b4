# SPDX-License-Identifier: Apache-2.0
"""Files as every room reads and writes them: checked settings, strict YAML, JSON and XML."""
