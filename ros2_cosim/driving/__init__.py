# SPDX-License-Identifier: Apache-2.0
"""What drives and judges: control laws, sensors, V2V, manoeuvres, referee, OpenSCENARIO."""
