// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* The vehicle of the study, with the equations and the bits of vehicle.py. */
static double place_x, place_y, heading, velocity, turning;

void reset(void) { place_x = place_y = heading = velocity = turning = 0.0; }

static void sine_cosine(double a, double *sine, double *cosine) {
  double z = a * a, r, w = 1.0 - 0.5 * z;
  r = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
  r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * r);
  *sine = a + z * a * (-1.66666666666666324348e-01 + z * r);
  r = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11);
  r = z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * r));
  r = z * (4.16666666666666019037e-02 + r);
  *cosine = w + (((1.0 - w) - 0.5 * z) + z * r);
}

/* Returns the speed [m/s]. */
double speed(double dt, double throttle, double brake, double wheel /* [rad] */, double *x /* [m] */,
             double *y /* [m] */, double *qz, double *less /* 1 - qw */, double *yaw_rate /* [rad/s] */) {
  double limit = 90e3 / (velocity > 1.0 ? velocity : 1.0), share, steady, sine, cosine;
  double force = throttle * (limit < 6000.0 ? limit : 6000.0) - brake * 12000.0;
  if (velocity > 0.0) force -= 150.0 + 0.4 * velocity * velocity;
  velocity = velocity + dt * force / 1500.0;
  if (!(velocity > 0.0)) velocity = 0.0;
  share = velocity / 22.0;
  steady = velocity * wheel / (2.7 * (1.0 + share * share));
  turning += dt / 0.15 * (steady - turning);
  heading += dt * turning;
  sine_cosine(0.5 * heading, &sine, &cosine);
  place_x += dt * velocity * (1.0 - 2.0 * sine * sine);
  place_y += dt * velocity * (2.0 * sine * cosine);
  *x = place_x, *y = place_y, *qz = sine, *less = 1.0 - cosine, *yaw_rate = turning;
  return velocity;
}
