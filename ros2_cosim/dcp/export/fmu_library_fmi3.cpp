// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
// The library of an FMU that is a scenario: functions of FMI 3.0 for Co-Simulation.

#include "fmu_library.h"

namespace {

using Logger = void (*)(void *, int, const char *, const char *);

// As in ros2_cosim/core/documents/fmi3.py.
constexpr unsigned kTimeReference = 4000000000u;

void report(const Instance &instance, int status, const std::string &text) {
  reinterpret_cast<Logger>(const_cast<void *>(instance.logger))(
      instance.environment, status, "logStatusError", text.c_str());
}

}  // namespace

FMI const char *fmi3GetVersion() { return "3.0"; }
FMI int fmi3SetDebugLogging(void *, bool, size_t, const char *const *) { return kOk; }

FMI void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources,
                                      bool, bool, bool, bool, const unsigned *, size_t,
                                      void *environment, Logger logger, void *) {
  Instance *instance = new Instance;
  instance->name = name == nullptr ? "" : name;
  if (logger != nullptr) {
    instance->report = report;
    instance->logger = reinterpret_cast<const void *>(logger);
    instance->environment = environment;
  }
  std::string path = resources == nullptr ? "" : resources;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return instantiate(instance, path, token);
}
FMI void *fmi3InstantiateModelExchange() { return nullptr; }
FMI void *fmi3InstantiateScheduledExecution() { return nullptr; }
FMI void fmi3FreeInstance(void *c) {
  if (c != nullptr) end(static_cast<Instance *>(c));
}

FMI int fmi3EnterInitializationMode(void *c, bool, double, double start_time, bool, double) {
  const int status = setup(c, start_time);
  return status == kOk ? tell(c, 'N') : status;
}
FMI int fmi3ExitInitializationMode(void *c) { return begin(c); }
FMI int fmi3Terminate(void *c) { return tell(c, 'T'); }
FMI int fmi3Reset(void *c) { return tell(c, 'R'); }

FMI int fmi3GetFloat64(void *c, const unsigned *which, size_t n, double *values, size_t) {
  int status = kOk;
  for (size_t i = 0; i < n && status == kOk; ++i) {  // the time among them is known here
    if (which[i] == kTimeReference) {
      values[i] = static_cast<Instance *>(c)->time;
    } else {
      size_t until = i + 1;
      while (until < n && which[until] != kTimeReference) ++until;
      status = get<double>(c, 'r', which + i, until - i, values + i);
      i = until - 1;
    }
  }
  return status;
}
FMI int fmi3GetInt32(void *c, const unsigned *which, size_t n, int32_t *values, size_t) {
  return get<int32_t>(c, 'i', which, n, values);
}
FMI int fmi3GetBoolean(void *c, const unsigned *which, size_t n, bool *values, size_t) {
  return get<int32_t>(c, 'b', which, n, values);
}
FMI int fmi3GetString(void *c, const unsigned *which, size_t n, const char **values, size_t) {
  return get_texts(c, which, n, values);
}
FMI int fmi3SetFloat64(void *c, const unsigned *which, size_t n, const double *values, size_t) {
  return set<double>(c, '1', which, n, values);
}
FMI int fmi3SetInt32(void *c, const unsigned *which, size_t n, const int32_t *values, size_t) {
  return set<int32_t>(c, '2', which, n, values);
}
FMI int fmi3SetBoolean(void *c, const unsigned *which, size_t n, const bool *values, size_t) {
  return set<int32_t>(c, '3', which, n, values);
}
FMI int fmi3SetString(void *c, const unsigned *which, size_t n, const char *const *values,
                      size_t) {
  return set_texts(c, which, n, values);
}

FMI int fmi3DoStep(void *c, double time, double size, bool, bool *event, bool *terminated,
                   bool *early, double *last) {
  *event = *terminated = *early = false;
  *last = time;
  const int status = step(c, time, size);
  if (status == kOk) *last = time + size;
  return status;
}

#define REFUSED(NAME)   \
  FMI int NAME(void *c) { \
    return static_cast<Instance *>(c)->say(kError, std::string(#NAME) + ": not offered"); \
  }
#include "fmi3_refused.h"
