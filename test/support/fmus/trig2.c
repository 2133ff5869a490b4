// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 2.0 co-simulation: y = amplitude * sin(u + phase), x' = u, and one variable per other type.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { double real[6]; int integer[2]; int boolean[2]; char text[2][64]; } Model;
/* real: 0 u, 1 y, 2 amplitude, 3 phase, 4 x, 5 doubled (calculated parameter) */

static void start(Model *m) {
    memset(m, 0, sizeof *m);
    m->real[2] = 1.0;
    m->integer[0] = 7;
    strcpy(m->text[0], "hello");
}

static void outputs(Model *m) {
    m->real[1] = m->real[2] * sin(m->real[0] + m->real[3]);
    m->real[5] = 2.0 * m->real[2];
    m->integer[1] = m->integer[0] + 1;
    m->boolean[1] = !m->boolean[0];
    strcpy(m->text[1], m->text[0]);
}

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where,
                      const void *callbacks, int visible, int logging) {
    if (strcmp(guid, "{trig2}")) return NULL;
    Model *m = malloc(sizeof *m);
    start(m);
    return m;
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) { return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { return 0; }
int fmi2Terminate(void *c) { return 0; }
int fmi2Reset(void *c) { start(c); return 0; }

int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *v) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->real[vr[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *v) {
    outputs(c);
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->real[vr[i]];
    return 0;
}
int fmi2SetInteger(void *c, const unsigned *vr, size_t n, const int *v) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->integer[vr[i]] = v[i];
    return 0;
}
int fmi2GetInteger(void *c, const unsigned *vr, size_t n, int *v) {
    outputs(c);
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->integer[vr[i]];
    return 0;
}
int fmi2SetBoolean(void *c, const unsigned *vr, size_t n, const int *v) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->boolean[vr[i]] = v[i];
    return 0;
}
int fmi2GetBoolean(void *c, const unsigned *vr, size_t n, int *v) {
    outputs(c);
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->boolean[vr[i]];
    return 0;
}
int fmi2SetString(void *c, const unsigned *vr, size_t n, const char **v) {
    for (size_t i = 0; i < n; i++) strncpy(((Model *)c)->text[vr[i]], v[i], 63);
    return 0;
}
int fmi2GetString(void *c, const unsigned *vr, size_t n, const char **v) {
    outputs(c);
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->text[vr[i]];
    return 0;
}
int fmi2DoStep(void *c, double now, double step, int keep) {
    Model *m = c;
    if (m->real[0] == 1e9) raise(SIGSEGV);      /* a crash */
    if (m->real[0] == 2e9) for (;;) pause(); /* it does not return */
    if (m->real[0] > 1e6) return 3; /* an input that the model cannot take */
    if (m->real[0] < -1e6) return 2; /* the model ends the simulation */
    m->real[4] += step * m->real[0];
    return 0;
}

int fmi2GetBooleanStatus(void *c, int kind, int *value) { *value = kind == 3; return 0; }
