// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 2.0 co-simulation with binary variables as OSMP packs them: answers with the bytes that it is
 * given, each raised by the number of the step.
 *
 * It keeps the address of an input and reads there in the step, as others do. Its answers are in two
 * buffers by turns, and are spoilt before they are freed: who looks too late finds something else.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { IN, OUT = 3, REQUEST = 6, CONFIG = 9, COUNT = 12, LIE, VALUES };

typedef struct {
    int value[VALUES];
    unsigned char *held[2], *request;
    size_t size[2];
} Model;

static unsigned char *pointer(Model *m, int at) {
    uint64_t low = (uint32_t)m->value[at], high = (uint32_t)m->value[at + 1];
    return (unsigned char *)(uintptr_t)(high << 32 | low);
}
static void point(Model *m, int at, unsigned char *to, size_t size) {
    m->value[at] = (int)(uint32_t)(uintptr_t)to;
    m->value[at + 1] = (int)(uint32_t)((uint64_t)(uintptr_t)to >> 32);
    m->value[at + 2] = (int)size;
}

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *where,
                      const void *callbacks, int visible, int logging) {
    return calloc(1, sizeof(Model));
}
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) { return 0; }
int fmi2EnterInitializationMode(void *c) {
    Model *m = c;
    m->request = malloc(2);
    memcpy(m->request, "R\xff", 2);
    point(m, REQUEST, m->request, 2);
    return 0;
}
int fmi2ExitInitializationMode(void *c) {
    Model *m = c;
    memset(m->request, 0, 2);
    free(m->request);
    m->request = NULL;
    m->value[REQUEST] = m->value[REQUEST + 1] = 1; /* nobody may look there any more */
    return 0;
}
int fmi2Terminate(void *c) { return 0; }
int fmi2Reset(void *c) {
    Model *m = c;
    free(m->held[0]);
    free(m->held[1]);
    free(m->request);
    memset(m, 0, sizeof *m);
    return 0;
}
void fmi2FreeInstance(void *c) { fmi2Reset(c); free(c); }
int fmi2SetInteger(void *c, const unsigned *vr, size_t n, const int *v) {
    for (size_t i = 0; i < n; i++) ((Model *)c)->value[vr[i]] = v[i];
    return 0;
}
int fmi2GetInteger(void *c, const unsigned *vr, size_t n, int *v) {
    for (size_t i = 0; i < n; i++) v[i] = ((Model *)c)->value[vr[i]];
    return 0;
}
int fmi2DoStep(void *c, double now, double step, int keep) {
    Model *m = c;
    unsigned char *from = pointer(m, IN), **held;
    size_t size = from == NULL ? 0 : (size_t)m->value[IN + 2], *former;
    int count = ++m->value[COUNT];
    held = &m->held[count & 1];
    former = &m->size[count & 1];
    if (*held != NULL) memset(*held, 0, *former);
    free(*held);
    *held = size == 0 ? NULL : malloc(size);
    for (size_t i = 0; i < size; i++) (*held)[i] = (unsigned char)(from[i] + count);
    *former = size;
    point(m, OUT, *held, m->value[LIE] ? (size_t)m->value[LIE] : size);
    return 0;
}
