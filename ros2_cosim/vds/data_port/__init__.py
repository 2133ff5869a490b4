# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""JSON over HTTP for a run: settings, control, telemetry and the dashboard's page."""
