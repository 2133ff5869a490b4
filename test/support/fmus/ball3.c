// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 model exchange: a ball that bounces, and at 1 s is kicked up by a time event. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double time, h, v, g, e; int32_t events; int mode; bool kicked; } Model;
enum { INIT, EVENT, CONTINUOUS };

static void start(Model *m) {
    memset(m, 0, sizeof *m);
    m->h = 1.0, m->g = -8.0, m->e = 0.5;
}
void *fmi3InstantiateModelExchange(const char *n, const char *t, const char *r, bool v, bool l,
                                   void *e, void *log) {
    Model *m = malloc(sizeof *m);
    start(m);
    return m;
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool a, double b, double d, bool e, double f) { return 0; }
int fmi3ExitInitializationMode(void *c) { ((Model *)c)->mode = EVENT; return 0; }
int fmi3Terminate(void *c) { return 0; }
int fmi3Reset(void *c) { start(c); return 0; }
int fmi3EnterEventMode(void *c) { ((Model *)c)->mode = EVENT; return 0; }
int fmi3EnterContinuousTimeMode(void *c) { ((Model *)c)->mode = CONTINUOUS; return 0; }
int fmi3SetTime(void *c, double t) { ((Model *)c)->time = t; return 0; }
int fmi3GetNumberOfContinuousStates(void *c, size_t *n) { *n = 2; return 0; }
int fmi3GetNumberOfEventIndicators(void *c, size_t *n) { *n = 1; return 0; }
int fmi3SetContinuousStates(void *c, const double *x, size_t n) {
    Model *m = c;
    m->h = x[0], m->v = x[1];
    return m->mode == CONTINUOUS ? 0 : 3;
}
int fmi3GetContinuousStates(void *c, double *x, size_t n) {
    x[0] = ((Model *)c)->h, x[1] = ((Model *)c)->v;
    return 0;
}
int fmi3GetNominalsOfContinuousStates(void *c, double *x, size_t n) { x[0] = x[1] = 1; return 0; }
int fmi3GetContinuousStateDerivatives(void *c, double *x, size_t n) {
    Model *m = c;
    if (m->g == 666) *(volatile int *)0 = 0;  /* crash */
    x[0] = m->v, x[1] = m->g;
    return m->g > 1e3 ? 3 : 0;
}
int fmi3GetEventIndicators(void *c, double *z, size_t n) { z[0] = ((Model *)c)->h; return 0; }
int fmi3UpdateDiscreteStates(void *c, bool *needed, bool *terminate, bool *nominals, bool *values,
                             bool *defined, double *next) {
    Model *m = c;
    *needed = *nominals = *values = *defined = false;
    if (m->mode != EVENT) return 3;
    if (m->h <= 0 && m->v < 0) m->v *= -m->e, m->h = 0, ++m->events, *values = true;
    if (!m->kicked && m->time >= 1.0) m->v = 4, m->kicked = true, ++m->events, *values = true;
    if (!m->kicked) *defined = true, *next = 1.0;
    *terminate = m->g == 0.0;
    return 0;
}
int fmi3SetFloat64(void *c, const unsigned *vr, size_t n, const double *v, size_t nv) {
    Model *m = c;
    if (vr[0] < 3 || vr[0] > 4 || m->mode == CONTINUOUS) return 3;
    *(vr[0] == 3 ? &m->g : &m->e) = v[0];
    return 0;
}
int fmi3GetFloat64(void *c, const unsigned *vr, size_t n, double *v, size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) v[i] = vr[i] == 0 ? m->h : m->v;
    return 0;
}
int fmi3GetInt32(void *c, const unsigned *vr, size_t n, int32_t *v, size_t nv) {
    v[0] = ((Model *)c)->events;
    return 0;
}
