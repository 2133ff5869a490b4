// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* The vehicle as an FMU (FMI 2.0, co-simulation), around vehicle.c. */
#include <stddef.h>
#include <string.h>
#include "vehicle.c"

static double values[9]; /* throttle, brake, wheel; x, y, qz, qw, yaw_rate, speed */

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *categories) { return 0; }
int fmi2Reset(void *c) {
  memset(values, 0, sizeof values);
  values[6] = 1.0;
  reset();
  return 0;
}
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                      const void *callbacks, int visible, int logging) {
  if (type != 1 || strcmp(guid, "{six-ways}") != 0) return NULL;
  fmi2Reset(values);
  return values;
}
void fmi2FreeInstance(void *c) {}
int fmi2SetupExperiment(void *c, int given, double tolerance, double start, int ends, double stop) {
  return 0;
}
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { return 0; }
int fmi2Terminate(void *c) { return 0; }
int fmi2SetReal(void *c, const unsigned *which, size_t n, const double *given) {
  for (size_t i = 0; i < n; ++i) values[which[i]] = given[i];
  return 0;
}
int fmi2GetReal(void *c, const unsigned *which, size_t n, double *found) {
  for (size_t i = 0; i < n; ++i) found[i] = values[which[i]];
  return 0;
}
#define NONE(NAME, ...) \
  int fmi2##NAME(void *c, __VA_ARGS__) { return 3; }
#define NO_ACCESS(NAME, TYPE) \
  NONE(Get##NAME, const unsigned *which, size_t n, TYPE *found) \
  NONE(Set##NAME, const unsigned *which, size_t n, const TYPE *given)
#define NO_STATUS(NAME, TYPE) NONE(Get##NAME, int kind, TYPE *found)
NO_ACCESS(Integer, int)
NO_ACCESS(Boolean, int)
NO_ACCESS(String, const char *)
NO_STATUS(Status, int)
NO_STATUS(RealStatus, double)
NO_STATUS(IntegerStatus, int)
NO_STATUS(BooleanStatus, int)
NO_STATUS(StringStatus, const char *)
NONE(GetFMUstate, void **state)
NONE(SetFMUstate, void *state)
NONE(FreeFMUstate, void **state)
NONE(SerializedFMUstateSize, void *state, size_t *size)
NONE(SerializeFMUstate, void *state, char *bytes, size_t size)
NONE(DeSerializeFMUstate, const char *bytes, size_t size, void **state)
NONE(GetDirectionalDerivative, const unsigned *unknown, size_t m, const unsigned *known, size_t n,
     const double *seed, double *found)
NONE(SetRealInputDerivatives, const unsigned *which, size_t n, const int *order, const double *given)
NONE(GetRealOutputDerivatives, const unsigned *which, size_t n, const int *order, double *found)
int fmi2CancelStep(void *c) { return 3; }
int fmi2DoStep(void *c, double time, double step, int keeps) {
  double *v = values;
  v[8] = speed(step, v[0], v[1], v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
  v[6] = 1.0 - v[6];
  return 0;
}
