// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* A mass that a force moves: the component of every_key.ssd. */
static double v = 0.0;
void reset(void) { v = 0.0; }
/* Returns the speed [m/s]. */
double speed(double dt, double force /* [N] */) { return v += force * dt; }
