// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* The CACC of Ploeg et al. as C source: h du/dt = -u + kp e + kd de/dt + u_pred, solved exactly over a
 * step, as the control law ploeg_cacc (ros2_cosim/driving/controllers/ploeg.py) does.
 *
 *   cosim fmu config/laws/ploeg_cacc.c            an FMU, for this and other tools
 *   --controllers config/laws/ploeg_cacc.c        as the law of a scenario, without an FMU of your own
 *
 * Names are those of the measurement of a control law, with underscores.
 */
#include <math.h>

double kp = 0.2; /* [1/s^2] gain on the gap error */
double kd = 0.7; /* [1/s] gain on its derivative */

/* e**x by the same operations as in ros2_cosim.core.kernel.exactmath, so that the bits are the same.
 * Method: argument reduction by ln 2, then a rational approximation (FDLIBM, Sun Microsystems, 1993).
 */
static double exact_exp(double x) {
  static const double ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
  static const double p1 = 1.66666666666666019037e-01, p2 = -2.77777777770155933842e-03;
  static const double p3 = 6.61375632143793436117e-05, p4 = -1.65339022054652515390e-06;
  static const double p5 = 4.13813679705723846039e-08;
  double k, hi, lo, r, t, c;
  if (x < -700.0) return 0.0;
  k = floor(x * 1.44269504088896338700e00 + 0.5);
  hi = x - k * ln2_hi;
  lo = k * ln2_lo;
  r = hi - lo;
  t = r * r;
  c = r - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))));
  if (k == 0.0) return 1.0 - ((r * c) / (c - 2.0) - r);
  return ldexp(1.0 - ((lo - (r * c) / (2.0 - c)) - hi), (int)k);
}

/* Returns the demanded acceleration [m/s^2]. */
double demanded_acceleration(
    double dt,               /* [s] since the previous call */
    double gap,              /* [m] bumper to bumper */
    double gap_rate,         /* [m/s] speed of the object ahead minus own speed */
    double speed,            /* [m/s] own */
    double acceleration,     /* [m/s^2] own */
    double standstill_gap,   /* [m] r of the spacing policy r + h v */
    double time_gap,         /* [s] h of the spacing policy */
    double previous_command, /* [m/s^2] demanded last, after all limits */
    double predecessor_commanded_acceleration /* [m/s^2] by V2V */) {
  const double gap_error = gap - standstill_gap - time_gap * speed;
  const double wanted = (kp * gap_error + kd * (gap_rate - time_gap * acceleration)) +
                        predecessor_commanded_acceleration;
  const double share = 1.0 - exact_exp(-dt / time_gap);
  return previous_command + share * (wanted - previous_command);
}
