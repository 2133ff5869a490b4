// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 for Co-Simulation around one C function, as c_function.c is for FMI 2.0. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FMU_OK = 0, FMU_ERROR = 3 };
/* As in ros2_cosim/core/documents/fmi3.py. */
#define TIME_REFERENCE 4000000000u

static int fmu_taken;
static double fmu_time;

#define FMI __attribute__((visibility("default")))

FMI const char *fmi3GetVersion(void) { return "3.0"; }
FMI int fmi3SetDebugLogging(void *c, bool on, size_t n, const char *const *categories) {
  (void)c, (void)on, (void)n, (void)categories;
  return FMU_OK;
}

FMI void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources,
                                      bool visible, bool logging, bool events, bool early,
                                      const unsigned *required, size_t count, void *environment,
                                      void *log, void *update) {
  (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early;
  (void)required, (void)count, (void)environment, (void)log, (void)update;
  if (fmu_taken || token == NULL || strcmp(token, FMU_GUID) != 0) return NULL;
  fmu_taken = 1;
  fmu_begin();
  return &fmu_taken;
}
FMI void *fmi3InstantiateModelExchange(void) { return NULL; }
FMI void *fmi3InstantiateScheduledExecution(void) { return NULL; }
FMI void fmi3FreeInstance(void *c) {
  if (c != NULL) fmu_taken = 0;
}
FMI int fmi3EnterInitializationMode(void *c, bool given, double tolerance, double start, bool ends,
                                    double stop) {
  (void)c, (void)given, (void)tolerance, (void)ends, (void)stop;
  fmu_time = start;
  return FMU_OK;
}
FMI int fmi3ExitInitializationMode(void *c) { (void)c; return FMU_OK; }
FMI int fmi3Terminate(void *c) { (void)c; return FMU_OK; }
FMI int fmi3Reset(void *c) {
  (void)c;
  fmu_begin();
  return FMU_OK;
}

FMI int fmi3DoStep(void *c, double time, double size, bool keeps, bool *event, bool *terminated,
                   bool *early, double *last) {
  (void)c, (void)keeps;
  fmu_call(size);
  *event = *terminated = *early = false;
  *last = fmu_time = time + size;
  return FMU_OK;
}

static int is(unsigned reference, char kind) {
  return reference < sizeof fmu_variables / sizeof *fmu_variables &&
         fmu_variables[reference].kind == kind;
}

/* STORED is the type of the function's own variable. */
#define ACCESS(NAME, KIND, TYPE, STORED)                                                          \
  FMI int fmi3Get##NAME(void *c, const unsigned *which, size_t n, TYPE *values, size_t count) {   \
    (void)c, (void)count;                                                                         \
    for (size_t i = 0; i < n; ++i) {                                                              \
      if (KIND == 'r' && which[i] == TIME_REFERENCE) {                                            \
        values[i] = (TYPE)fmu_time;                                                               \
        continue;                                                                                 \
      }                                                                                           \
      if (!is(which[i], KIND)) return FMU_ERROR;                                                  \
      values[i] = (TYPE)*(STORED *)fmu_variables[which[i]].place;                                 \
    }                                                                                             \
    return FMU_OK;                                                                                \
  }                                                                                               \
  FMI int fmi3Set##NAME(void *c, const unsigned *which, size_t n, const TYPE *values,             \
                        size_t count) {                                                           \
    (void)c, (void)count;                                                                         \
    for (size_t i = 0; i < n; ++i) {                                                              \
      if (!is(which[i], KIND)) return FMU_ERROR;                                                  \
      *(STORED *)fmu_variables[which[i]].place = values[i];                                       \
    }                                                                                             \
    return FMU_OK;                                                                                \
  }

ACCESS(Float64, 'r', double, double)
ACCESS(Int32, 'i', int32_t, int)
ACCESS(Boolean, 'b', bool, int)

#define REFUSED(NAME) \
  FMI int NAME(void) { return FMU_ERROR; }
#include "fmi3_refused.h"
REFUSED(fmi3GetString) REFUSED(fmi3SetString)
