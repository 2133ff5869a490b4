// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 2.0 model exchange: a ball that bounces, and at 1 s is kicked up by a time event. */
#include <stdlib.h>
#include <string.h>

typedef struct { double time, h, v, g, e; int events, mode, kicked; } Model;
typedef struct { int needed, terminate, nominals, values, defined; double next; } Info;
enum { INIT, EVENT, CONTINUOUS };

static void start(Model *m) {
    memset(m, 0, sizeof *m);
    m->h = 1.0, m->g = -8.0, m->e = 0.5;
}
void *fmi2Instantiate(const char *n, int type, const char *g, const char *r, const void *f, int v,
                      int l) {
    Model *m = malloc(sizeof *m);
    start(m);
    return type == 0 ? m : 0;
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) { return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { ((Model *)c)->mode = EVENT; return 0; }
int fmi2Terminate(void *c) { return 0; }
int fmi2Reset(void *c) { start(c); return 0; }
int fmi2EnterEventMode(void *c) { ((Model *)c)->mode = EVENT; return 0; }
int fmi2EnterContinuousTimeMode(void *c) { ((Model *)c)->mode = CONTINUOUS; return 0; }
int fmi2SetTime(void *c, double t) { ((Model *)c)->time = t; return 0; }
int fmi2SetContinuousStates(void *c, const double *x, size_t n) {
    Model *m = c;
    m->h = x[0], m->v = x[1];
    return m->mode == CONTINUOUS ? 0 : 3;
}
int fmi2GetContinuousStates(void *c, double *x, size_t n) {
    x[0] = ((Model *)c)->h, x[1] = ((Model *)c)->v;
    return 0;
}
int fmi2GetNominalsOfContinuousStates(void *c, double *x, size_t n) { x[0] = x[1] = 1; return 0; }
int fmi2GetDerivatives(void *c, double *x, size_t n) {
    Model *m = c;
    x[0] = m->v, x[1] = m->g;
    return m->g > 1e3 ? 3 : 0;
}
int fmi2GetEventIndicators(void *c, double *z, size_t n) { z[0] = ((Model *)c)->h; return 0; }
int fmi2NewDiscreteStates(void *c, Info *info) {
    Model *m = c;
    memset(info, 0, sizeof *info);
    if (m->mode != EVENT) return 3;
    if (m->h <= 0 && m->v < 0) m->v *= -m->e, m->h = 0, ++m->events, info->values = 1;
    if (!m->kicked && m->time >= 1.0) m->v = 4, m->kicked = 1, ++m->events, info->values = 1;
    if (!m->kicked) info->defined = 1, info->next = 1.0;
    info->terminate = m->g == 0.0;
    return 0;
}
int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *v) {
    Model *m = c;
    if (vr[0] < 3 || vr[0] > 4 || m->mode == CONTINUOUS) return 3;
    *(vr[0] == 3 ? &m->g : &m->e) = v[0];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *v) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) v[i] = vr[i] == 0 ? m->h : m->v;
    return 0;
}
int fmi2GetInteger(void *c, const unsigned *vr, size_t n, int *v) {
    v[0] = ((Model *)c)->events;
    return 0;
}
