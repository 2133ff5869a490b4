// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 co-simulation with event mode, clocks, early return and intermediate update, and the same
 * clocks for model exchange and scheduled execution. It is strict: what a mode does not allow is an error.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 1, ASKED, LATER, OUT, EVERY_COUNT, ASKED_SUM, ADD, LATER_COUNT, MODE, MODES, X, NAMES,
       JOINED, BLOBS, TURNED, N, RETURNS, FLAGS, NOT_FLAGS, SMALL, SAME_SMALL };
enum { INIT, EVENT, STEP, INTERMEDIATE, SCHEDULED };
typedef void (*Update)(void *, double, bool, bool, bool, bool, bool *, double *);
typedef struct {
    double time, countdown;
    int32_t counts[32];
    int mode, active, given, total, qualifier;
    bool out, scheduled, flags[3], events, early;
    int8_t small[2];
    char names[2][16], joined[2][16];
    uint8_t blobs[2][16], turned[2][16];
    size_t sizes[2];
    Update update;
} Model;

static void start(Model *m) {
    bool scheduled = m->scheduled, events = m->events, early = m->early;
    Update update = m->update;
    memset(m, 0, sizeof *m);
    m->scheduled = scheduled, m->events = events, m->early = early, m->update = update;
    m->small[0] = -128, m->small[1] = 127, m->flags[0] = m->flags[2] = true;
}
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *where,
                                  bool visible, bool logging, bool events, bool early,
                                  const unsigned *required, size_t count, void *environment,
                                  void *log, Update update) {
    Model *m = calloc(1, sizeof *m);
    m->events = events, m->early = early, m->update = count == 1 && required[0] == X ? update : 0;
    start(m);
    return m;
}
void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *where,
                                        bool visible, bool logging, void *environment, void *log,
                                        void *update, void *lock, void *unlock) {
    Model *m = calloc(1, sizeof *m);
    m->scheduled = true;
    start(m);
    return m;
}
void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *where,
                                   bool visible, bool logging, void *environment, void *log) {
    Model *m = calloc(1, sizeof *m);
    m->events = true;
    start(m);
    return m;
}
int fmi3EnterContinuousTimeMode(void *c) { ((Model *)c)->mode = STEP; return 0; }
int fmi3SetTime(void *c, double time) { ((Model *)c)->time = time; return 0; }
int fmi3GetNumberOfContinuousStates(void *c, size_t *n) { *n = 0; return 0; }
int fmi3GetNumberOfEventIndicators(void *c, size_t *n) { *n = 0; return 0; }
int fmi3GetEventIndicators(void *c, double *z, size_t n) { return 0; }
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool a, double b, double d, bool e, double f) { return 0; }
int fmi3ExitInitializationMode(void *c) {
    Model *m = c;
    m->mode = m->scheduled ? SCHEDULED : m->events ? EVENT : STEP;
    return 0;
}
int fmi3Terminate(void *c) { return 0; }
int fmi3Reset(void *c) { start(c); return 0; }
int fmi3EnterEventMode(void *c) { ((Model *)c)->mode = EVENT; return 0; }
int fmi3EnterStepMode(void *c) { ((Model *)c)->mode = STEP; return 0; }

static void tick(Model *m, unsigned clock) {
    m->active |= 1 << clock;
    if (clock == EVERY) m->counts[EVERY_COUNT]++;
    if (clock == ASKED) m->counts[ASKED_SUM] += m->given;
    if (clock == LATER) m->counts[LATER_COUNT]++;
    if (clock == EVERY && m->counts[EVERY_COUNT] == 2) m->countdown = 0.0625, m->qualifier = 2;
    if (++m->total % 3 == 0) m->out = true;
}
int fmi3SetClock(void *c, const unsigned *vr, size_t n, const bool *v) {
    Model *m = c;
    for (size_t i = 0; i < n; i++) m->active |= v[i] << vr[i];
    return m->mode == EVENT ? 0 : 3;
}
int fmi3GetClock(void *c, const unsigned *vr, size_t n, bool *v) {
    Model *m = c;
    if (m->mode == EVENT)  /* the parts run when their results are asked for */
        for (unsigned clock = EVERY; clock <= LATER; clock++)
            if (m->active >> clock & 1 && !(m->active >> clock & 256)) {
                tick(m, clock);
                m->active |= 256 << clock;
            }
    v[0] = m->out;
    m->out = false;
    return m->mode == EVENT || m->mode == SCHEDULED ? 0 : 3;
}
int fmi3ActivateModelPartition(void *c, unsigned vr, double time) {
    Model *m = c;
    m->time = time, m->active = 0;
    tick(m, vr);
    return 0;
}
int fmi3GetIntervalDecimal(void *c, const unsigned *vr, size_t n, double *v, int *qualifier) {
    Model *m = c;
    v[0] = m->countdown, qualifier[0] = m->qualifier;
    if (m->qualifier == 2) m->qualifier = 1;
    return vr[0] == LATER ? 0 : 3;
}
int fmi3UpdateDiscreteStates(void *c, bool *needed, bool *terminate, bool *nominals, bool *values,
                             bool *defined, double *next) {
    Model *m = c;
    *needed = *terminate = *nominals = *values = *defined = false;
    m->active = 0;
    return m->mode == EVENT ? 0 : 3;
}
int fmi3DoStep(void *c, double now, double size, bool no, bool *event, bool *terminate, bool *early,
               double *last) {
    Model *m = c;
    double end = now + size, middle = now + size / 2, hurdle = (floor(now / 0.375) + 1) * 0.375;
    bool asked = false;
    *event = *terminate = *early = false;
    if (m->mode != STEP || fabs(now - m->time) > 1e-9) return 3;
    if (m->update) {
        double at = end;
        m->mode = INTERMEDIATE, m->time = middle;
        m->update(0, middle, false, true, true, m->early, &asked, &at);
        m->mode = STEP;
        if (asked) end = at, *early = true;
    }
    if (m->events && m->early && hurdle < end)
        end = hurdle, *early = *event = true;
    if (*early) m->counts[RETURNS]++;
    *last = m->time = end;
    *terminate = end >= 5.0;
    return 0;
}
int fmi3SetInt32(void *c, const unsigned *vr, size_t n, const int32_t *v, size_t nv) {
    Model *m = c;
    if (vr[0] == ADD) m->given = v[0];
    if (vr[0] == ADD && m->mode == EVENT && !(m->active >> ASKED & 1)) return 3;
    if (vr[0] == MODE && m->mode != INIT) m->counts[MODES]++;
    return m->mode == STEP ? 3 : 0;
}
int fmi3GetInt32(void *c, const unsigned *vr, size_t n, int32_t *v, size_t nv) {
    Model *m = c;
    bool clocked = vr[0] == EVERY_COUNT || vr[0] == ASKED_SUM || vr[0] == LATER_COUNT;
    unsigned clock = vr[0] == EVERY_COUNT ? EVERY : vr[0] == ASKED_SUM ? ASKED : LATER;
    if (clocked && m->mode != INIT && !(m->active >> clock & 1)) return 3;
    v[0] = m->counts[vr[0]];
    return 0;
}
int fmi3GetFloat64(void *c, const unsigned *vr, size_t n, double *v, size_t nv) {
    v[0] = ((Model *)c)->time;
    return 0;
}
int fmi3SetInt8(void *c, const unsigned *vr, size_t n, const int8_t *v, size_t nv) {
    memcpy(((Model *)c)->small, v, nv);
    return nv == 2 ? 0 : 3;
}
int fmi3GetInt8(void *c, const unsigned *vr, size_t n, int8_t *v, size_t nv) {
    memcpy(v, ((Model *)c)->small, nv);
    return nv == 2 ? 0 : 3;
}
int fmi3SetBoolean(void *c, const unsigned *vr, size_t n, const bool *v, size_t nv) {
    memcpy(((Model *)c)->flags, v, nv);
    return nv == 3 && ((Model *)c)->mode != STEP ? 0 : 3;
}
int fmi3GetBoolean(void *c, const unsigned *vr, size_t n, bool *v, size_t nv) {
    for (size_t i = 0; i < nv; i++) v[i] = !((Model *)c)->flags[i];
    return nv == 3 ? 0 : 3;
}
int fmi3SetString(void *c, const unsigned *vr, size_t n, const char *const *v, size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < nv; i++) strncpy(m->names[i], v[i], 15);
    return nv == 2 && m->mode != STEP ? 0 : 3;
}
int fmi3GetString(void *c, const unsigned *vr, size_t n, const char **v, size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < nv; i++) {
        strcpy(m->joined[i], m->names[0]);
        strcpy(m->joined[i] + strlen(m->joined[i]), m->names[i]);
        v[i] = m->joined[i];
    }
    return nv == 2 ? 0 : 3;
}
int fmi3SetBinary(void *c, const unsigned *vr, size_t n, const size_t *sizes,
                  const uint8_t *const *v, size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < nv; i++) memcpy(m->blobs[i], v[i], m->sizes[i] = sizes[i]);
    return nv == 2 && m->mode != STEP ? 0 : 3;
}
int fmi3GetBinary(void *c, const unsigned *vr, size_t n, size_t *sizes, const uint8_t **v,
                  size_t nv) {
    Model *m = c;
    for (size_t i = 0; i < nv; i++) {
        for (size_t k = 0; k < m->sizes[i]; k++) m->turned[i][k] = m->blobs[i][m->sizes[i] - 1 - k];
        sizes[i] = m->sizes[i], v[i] = m->turned[i];
    }
    return nv == 2 ? 0 : 3;
}
