// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 co-simulation: an array y[n] = gain * u[n] with n a structural parameter, other types. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1, GAIN, U, Y, SMALL_IN, SMALL_OUT, FLAG_IN, FLAG_OUT, TEXT_IN, TEXT_OUT, DATA_IN,
       DATA_OUT, TIME, NEGATIVE = 15 };
typedef struct {
    uint64_t n;
    double gain, u[16], y[16], time;
    uint8_t small;
    bool flag, negative, configuring;
    char text[64];
    uint8_t data[64];
    size_t size;
} Model;

static void start(Model *m) {
    memset(m, 0, sizeof *m);
    m->n = 2;
    m->gain = 1.0;
}

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *where,
                                  bool visible, bool logging, bool events, bool early,
                                  const void *required, size_t count, void *environment,
                                  void *log, void *update) {
    Model *m = malloc(sizeof *m);
    start(m);
    return m;
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool a, double b, double d, bool e, double f) { return 0; }
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3EnterConfigurationMode(void *c) { ((Model *)c)->configuring = true; return 0; }
int fmi3ExitConfigurationMode(void *c) { ((Model *)c)->configuring = false; return 0; }
int fmi3Terminate(void *c) { return 0; }
int fmi3Reset(void *c) { start(c); return 0; }

int fmi3SetFloat64(void *c, const unsigned *vr, size_t n, const double *v, size_t nv) {
    Model *m = c;
    if (vr[0] == GAIN) m->gain = v[0];
    else if (vr[0] == U && nv == m->n) memcpy(m->u, v, nv * sizeof *v);
    else return 3;
    return 0;
}
int fmi3GetFloat64(void *c, const unsigned *vr, size_t n, double *v, size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < m->n; i++) m->y[i] = (m->negative ? -m->gain : m->gain) * m->u[i];
    if (vr[0] == TIME) v[0] = m->time;
    else if (vr[0] == Y && nv == m->n) memcpy(v, m->y, nv * sizeof *v);
    else return 3;
    return 0;
}
int fmi3SetUInt64(void *c, const unsigned *vr, size_t n, const uint64_t *v, size_t nv) {
    ((Model *)c)->n = v[0];
    return v[0] > 16 ? 3 : 0;
}
int fmi3SetUInt8(void *c, const unsigned *vr, size_t n, const uint8_t *v, size_t nv) {
    ((Model *)c)->small = v[0];
    return 0;
}
int fmi3GetUInt8(void *c, const unsigned *vr, size_t n, uint8_t *v, size_t nv) {
    v[0] = (uint8_t)(((Model *)c)->small + 1);
    return 0;
}
int fmi3SetBoolean(void *c, const unsigned *vr, size_t n, const bool *v, size_t nv) {
    Model *m = c;
    if (vr[0] != NEGATIVE) {
        m->flag = v[0];
        return 0;
    }
    /* What a fresh instance has by itself need not be set. */
    if (!m->configuring || m->negative == v[0]) return 3;
    m->negative = v[0];
    return 0;
}
int fmi3GetBoolean(void *c, const unsigned *vr, size_t n, bool *v, size_t nv) {
    v[0] = !((Model *)c)->flag;
    return 0;
}
int fmi3SetString(void *c, const unsigned *vr, size_t n, const char **v, size_t nv) {
    strncpy(((Model *)c)->text, v[0], 63);
    return 0;
}
int fmi3GetString(void *c, const unsigned *vr, size_t n, const char **v, size_t nv) {
    v[0] = ((Model *)c)->text;
    return 0;
}
int fmi3SetBinary(void *c, const unsigned *vr, size_t n, const size_t *s, const uint8_t **v,
                  size_t nv) {
    Model *m = c;
    if (s[0] > 64) return 3;
    m->size = s[0];
    memcpy(m->data, v[0], s[0]);
    return 0;
}
int fmi3GetBinary(void *c, const unsigned *vr, size_t n, size_t *s, const uint8_t **v, size_t nv) {
    Model *m = c;
    s[0] = m->size;
    v[0] = m->data;
    return 0;
}
int fmi3DoStep(void *c, double now, double step, bool keep, bool *event, bool *terminate,
               bool *early, double *last) {
    Model *m = c;
    m->time = now + step;
    *event = *early = false;
    *terminate = m->time > 0.949;
    *last = m->time;
    return 0;
}
