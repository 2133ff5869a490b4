// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 co-simulation: a control law with a lag. Its state is the held demand, as a text of bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double value[3]; double held; } Model;
/* value: 0 gap, 1 its rate, 2 demand */

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *where,
                                  bool visible, bool logging, bool events, bool early,
                                  const void *required, size_t count, void *environment,
                                  void *log, void *update) {
    return calloc(1, sizeof(Model));
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool a, double b, double d, bool e, double f) { return 0; }
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3Terminate(void *c) { return 0; }
int fmi3SetFloat64(void *c, const unsigned *vr, size_t n, const double *v, size_t nv) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->value[vr[i]] = v[i];
    return 0;
}
int fmi3GetFloat64(void *c, const unsigned *vr, size_t n, double *v, size_t nv) {
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->value[vr[i]];
    return 0;
}
int fmi3DoStep(void *c, double now, double step, bool keep, bool *event, bool *terminate,
               bool *early, double *last) {
    Model *m = c;
    m->held += step * (0.2 * (m->value[0] - 30.0) + 0.7 * m->value[1] - m->held);
    m->value[2] = m->held;
    *event = *terminate = *early = false;
    *last = now + step;
    return 0;
}

int fmi3GetFMUState(void *c, void **state) {
    if (*state == NULL) *state = malloc(sizeof(Model));
    memcpy(*state, c, sizeof(Model));
    return 0;
}
int fmi3SetFMUState(void *c, void *state) { memcpy(c, state, sizeof(Model)); return 0; }
int fmi3FreeFMUState(void *c, void **state) { free(*state); *state = NULL; return 0; }
int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size) {
    *size = sizeof(Model);
    return 0;
}
int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t size) {
    memcpy(bytes, state, sizeof(Model));
    return size == sizeof(Model) ? 0 : 3;
}
int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t size, void **state) {
    if (size != sizeof(Model)) return 3;
    if (*state == NULL) *state = malloc(sizeof(Model));
    memcpy(*state, bytes, sizeof(Model));
    return 0;
}
