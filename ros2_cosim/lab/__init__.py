# SPDX-License-Identifier: Apache-2.0
"""Many runs and what they show: sweeps, studies, reports, pages."""
