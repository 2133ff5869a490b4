// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
// The library of an FMU that is a scenario: functions of FMI 2.0 for Co-Simulation.

#include "fmu_library.h"

namespace {

using Logger = void (*)(void *, const char *, int, const char *, const char *, ...);

struct Callbacks {
  Logger logger;
  void *(*allocate)(size_t, size_t);
  void (*release)(void *);
  void (*step_finished)(void *, int);
  void *environment;
};

void report(const Instance &instance, int status, const std::string &text) {
  std::string format;  // not every importer passes arguments on: the text is the format
  for (char c : text) format += c == '%' ? std::string("%%") : std::string(1, c);
  reinterpret_cast<Logger>(const_cast<void *>(instance.logger))(
      instance.environment, instance.name.c_str(), status, "logStatusError", format.c_str());
}

// The path of a file: URI.
std::string path_of(const char *location) {
  std::string uri = location == nullptr ? "" : location;
  for (const char *prefix : {"file://localhost", "file://", "file:"}) {
    if (uri.rfind(prefix, 0) == 0) {
      uri.erase(0, std::strlen(prefix));
      break;
    }
  }
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size()) {
      path += static_cast<char>(std::strtol(uri.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      path += uri[i];
    }
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

FMI const char *fmi2GetTypesPlatform() { return "default"; }
FMI const char *fmi2GetVersion() { return "2.0"; }

FMI void *fmi2Instantiate(const char *name, int type, const char *guid, const char *location,
                          const Callbacks *callbacks, int, int) {
  Instance *instance = new Instance;
  instance->name = name == nullptr ? "" : name;
  if (callbacks != nullptr && callbacks->logger != nullptr) {
    instance->report = report;
    instance->logger = reinterpret_cast<const void *>(callbacks->logger);
    instance->environment = callbacks->environment;
  }
  if (type == 1) return instantiate(instance, path_of(location), guid);
  instance->say(kError, "fmi2Instantiate: the FMU is for co-simulation");
  end(instance);
  return nullptr;
}

FMI void fmi2FreeInstance(void *c) {
  if (c != nullptr) end(static_cast<Instance *>(c));
}

FMI int fmi2SetDebugLogging(void *, int, size_t, const char *const *) { return kOk; }

FMI int fmi2SetupExperiment(void *c, int, double, double start_time, int, double) {
  return setup(c, start_time);
}

FMI int fmi2EnterInitializationMode(void *c) { return tell(c, 'N'); }
FMI int fmi2ExitInitializationMode(void *c) { return begin(c); }
FMI int fmi2Terminate(void *c) { return tell(c, 'T'); }
FMI int fmi2Reset(void *c) { return tell(c, 'R'); }

FMI int fmi2GetReal(void *c, const unsigned *which, size_t n, double *values) {
  return get<double>(c, 'r', which, n, values);
}
FMI int fmi2GetInteger(void *c, const unsigned *which, size_t n, int *values) {
  return get<int>(c, 'i', which, n, values);
}
FMI int fmi2GetBoolean(void *c, const unsigned *which, size_t n, int *values) {
  return get<int>(c, 'b', which, n, values);
}
FMI int fmi2GetString(void *c, const unsigned *which, size_t n, const char **values) {
  return get_texts(c, which, n, values);
}

FMI int fmi2SetReal(void *c, const unsigned *which, size_t n, const double *values) {
  return set<double>(c, '1', which, n, values);
}
FMI int fmi2SetInteger(void *c, const unsigned *which, size_t n, const int *values) {
  return set<int>(c, '2', which, n, values);
}
FMI int fmi2SetBoolean(void *c, const unsigned *which, size_t n, const int *values) {
  return set<int>(c, '3', which, n, values);
}
FMI int fmi2SetString(void *c, const unsigned *which, size_t n, const char *const *values) {
  return set_texts(c, which, n, values);
}

FMI int fmi2DoStep(void *c, double time, double size, int) { return step(c, time, size); }

FMI int fmi2CancelStep(void *c) { return refuse(c, "fmi2CancelStep"); }
FMI int fmi2GetStatus(void *c, int, int *) { return refuse(c, "fmi2GetStatus"); }
FMI int fmi2GetRealStatus(void *c, int, double *) { return refuse(c, "fmi2GetRealStatus"); }
FMI int fmi2GetIntegerStatus(void *c, int, int *) { return refuse(c, "fmi2GetIntegerStatus"); }
FMI int fmi2GetBooleanStatus(void *c, int, int *) { return refuse(c, "fmi2GetBooleanStatus"); }
FMI int fmi2GetStringStatus(void *c, int, const char **) {
  return refuse(c, "fmi2GetStringStatus");
}
FMI int fmi2SetRealInputDerivatives(void *c, const unsigned *, size_t, const int *,
                                    const double *) {
  return refuse(c, "fmi2SetRealInputDerivatives");
}
FMI int fmi2GetRealOutputDerivatives(void *c, const unsigned *, size_t, const int *, double *) {
  return refuse(c, "fmi2GetRealOutputDerivatives");
}
FMI int fmi2GetDirectionalDerivative(void *c, const unsigned *, size_t, const unsigned *, size_t,
                                     const double *, double *) {
  return refuse(c, "fmi2GetDirectionalDerivative");
}
FMI int fmi2GetFMUstate(void *c, void **) { return refuse(c, "fmi2GetFMUstate"); }
FMI int fmi2SetFMUstate(void *c, void *) { return refuse(c, "fmi2SetFMUstate"); }
FMI int fmi2FreeFMUstate(void *c, void **) { return refuse(c, "fmi2FreeFMUstate"); }
FMI int fmi2SerializedFMUstateSize(void *c, void *, size_t *) {
  return refuse(c, "fmi2SerializedFMUstateSize");
}
FMI int fmi2SerializeFMUstate(void *c, void *, char *, size_t) {
  return refuse(c, "fmi2SerializeFMUstate");
}
FMI int fmi2DeSerializeFMUstate(void *c, const char *, size_t, void **) {
  return refuse(c, "fmi2DeSerializeFMUstate");
}
