// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 2.0 co-simulation: a control law with a lag. Its state is the held demand, as a text of bytes.
 */
#include <stdlib.h>
#include <string.h>

typedef struct { double value[3]; double held; } Model;
/* value: 0 gap, 1 its rate, 2 demand */

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where,
                      const void *callbacks, int visible, int logging) {
    if (strcmp(guid, "refused") == 0) {
        void (*log)(void *, const char *, int, const char *, const char *, ...) =
            *(void (**)(void *, const char *, int, const char *, const char *, ...))callbacks;
        if (logging) log(NULL, name, 4, "logStatusFatal", "no licence on %s", "port 7");
        return NULL;
    }
    return calloc(1, sizeof(Model));
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) { return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { return 0; }
int fmi2Terminate(void *c) { return 0; }
int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *v) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->value[vr[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *v) {
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->value[vr[i]];
    return 0;
}
int fmi2DoStep(void *c, double now, double step, int keep) {
    Model *m = c;
    m->held += step * (0.2 * (m->value[0] - 30.0) + 0.7 * m->value[1] - m->held);
    m->value[2] = m->held;
    return 0;
}

int fmi2GetFMUstate(void *c, void **state) {
    if (*state == NULL) *state = malloc(sizeof(Model));
    memcpy(*state, c, sizeof(Model));
    return 0;
}
int fmi2SetFMUstate(void *c, void *state) { memcpy(c, state, sizeof(Model)); return 0; }
int fmi2FreeFMUstate(void *c, void **state) { free(*state); *state = NULL; return 0; }
int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) {
    *size = sizeof(Model);
    return 0;
}
int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t size) {
    memcpy(bytes, state, sizeof(Model));
    return size == sizeof(Model) ? 0 : 3;
}
int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **state) {
    if (size != sizeof(Model)) return 3;
    if (*state == NULL) *state = malloc(sizeof(Model));
    memcpy(*state, bytes, sizeof(Model));
    return 0;
}
