// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 2.0 for Co-Simulation around one C function. What stands before this file is generated from the
 * signature of the function (c_source.py): its variables, FMU_GUID, fmu_call() and fmu_begin().
 * There is one instance: the variables of a C file are those of the process.
 */
#include <stddef.h>
#include <string.h>

enum { FMU_OK = 0, FMU_ERROR = 3 };

static int fmu_taken;

#define FMI __attribute__((visibility("default")))

FMI const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI const char *fmi2GetVersion(void) { return "2.0"; }
FMI int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *categories) {
  (void)c, (void)on, (void)n, (void)categories;
  return FMU_OK;
}

FMI void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                          const void *callbacks, int visible, int logging) {
  (void)name, (void)resources, (void)callbacks, (void)visible, (void)logging;
  if (fmu_taken || type != 1 || guid == NULL || strcmp(guid, FMU_GUID) != 0) return NULL;
  fmu_taken = 1;
  fmu_begin();
  return &fmu_taken;
}
FMI void fmi2FreeInstance(void *c) {
  if (c != NULL) fmu_taken = 0;
}
FMI int fmi2SetupExperiment(void *c, int given, double tolerance, double start, int ends,
                            double stop) {
  (void)c, (void)given, (void)tolerance, (void)start, (void)ends, (void)stop;
  return FMU_OK;
}
FMI int fmi2EnterInitializationMode(void *c) { (void)c; return FMU_OK; }
FMI int fmi2ExitInitializationMode(void *c) { (void)c; return FMU_OK; }
FMI int fmi2Terminate(void *c) { (void)c; return FMU_OK; }
FMI int fmi2Reset(void *c) {
  (void)c;
  fmu_begin();
  return FMU_OK;
}

FMI int fmi2DoStep(void *c, double time, double size, int keeps) {
  (void)c, (void)time, (void)keeps;
  fmu_call(size);
  return FMU_OK;
}

static int is(unsigned reference, char kind) {
  return reference < sizeof fmu_variables / sizeof *fmu_variables &&
         fmu_variables[reference].kind == kind;
}

#define ACCESS(NAME, KIND, TYPE)                                                            \
  FMI int fmi2Get##NAME(void *c, const unsigned *which, size_t n, TYPE *values) {           \
    (void)c;                                                                                \
    for (size_t i = 0; i < n; ++i) {                                                        \
      if (!is(which[i], KIND)) return FMU_ERROR;                                            \
      values[i] = *(TYPE *)fmu_variables[which[i]].place;                                   \
    }                                                                                       \
    return FMU_OK;                                                                          \
  }                                                                                         \
  FMI int fmi2Set##NAME(void *c, const unsigned *which, size_t n, const TYPE *values) {     \
    (void)c;                                                                                \
    for (size_t i = 0; i < n; ++i) {                                                        \
      if (!is(which[i], KIND)) return FMU_ERROR;                                            \
      *(TYPE *)fmu_variables[which[i]].place = values[i];                                   \
    }                                                                                       \
    return FMU_OK;                                                                          \
  }

ACCESS(Real, 'r', double)
ACCESS(Integer, 'i', int)
ACCESS(Boolean, 'b', int)

FMI int fmi2GetString(void *c, const unsigned *which, size_t n, const char **values) {
  (void)c, (void)which, (void)values;
  return n == 0 ? FMU_OK : FMU_ERROR;
}
FMI int fmi2SetString(void *c, const unsigned *which, size_t n, const char *const *values) {
  (void)c, (void)which, (void)values;
  return n == 0 ? FMU_OK : FMU_ERROR;
}

/* What FMI wants to be there and this model does not offer. */
#define REFUSED(NAME) \
  FMI int NAME(void) { return FMU_ERROR; }
REFUSED(fmi2CancelStep)
REFUSED(fmi2GetStatus)
REFUSED(fmi2GetRealStatus)
REFUSED(fmi2GetIntegerStatus)
REFUSED(fmi2GetBooleanStatus)
REFUSED(fmi2GetStringStatus)
REFUSED(fmi2SetRealInputDerivatives)
REFUSED(fmi2GetRealOutputDerivatives)
REFUSED(fmi2GetDirectionalDerivative)
REFUSED(fmi2GetFMUstate)
REFUSED(fmi2SetFMUstate)
REFUSED(fmi2FreeFMUstate)
REFUSED(fmi2SerializedFMUstateSize)
REFUSED(fmi2SerializeFMUstate)
REFUSED(fmi2DeSerializeFMUstate)
