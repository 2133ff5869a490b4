// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* FMI 3.0 with FMI-LS-BUS: a CAN node that sends a frame every period: its number, and how many
 * frames, confirmations and errors it has had. Its Tx clock is triggered, or counts down.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RX_DATA, TX_DATA, RX_CLOCK, TX_CLOCK, ID, PERIOD, RATE };
typedef struct {
    double time, period, next;
    uint32_t id, rate;
    bool pending, rx, told, configured, announced;
    uint8_t sent, frames, confirms, errors;
    uint8_t in[512], out[64];
    size_t size, length;
} Node;

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *where,
                                  bool visible, bool logging, bool events, bool early,
                                  const void *required, size_t count, void *environment,
                                  void *log, void *update) {
    Node *m = calloc(1, sizeof *m);
    m->id = 1;
    m->period = 0.01;
    return events ? m : NULL;
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool a, double b, double start, bool e, double f) {
    Node *m = c;
    m->time = start;
    m->next = m->period > 0 ? start + m->period : 1e9;
    m->pending = m->rate > 0;
    return 0;
}
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3EnterEventMode(void *c) { return 0; }
int fmi3EnterStepMode(void *c) { return 0; }
int fmi3Terminate(void *c) { return 0; }

int fmi3SetUInt32(void *c, const unsigned *vr, size_t n, const uint32_t *v, size_t nv) {
    if (vr[0] == ID) ((Node *)c)->id = v[0];
    else if (vr[0] == RATE) ((Node *)c)->rate = v[0];
    else return 3;
    return 0;
}
int fmi3SetFloat64(void *c, const unsigned *vr, size_t n, const double *v, size_t nv) {
    ((Node *)c)->period = v[0];
    return vr[0] == PERIOD ? 0 : 3;
}
int fmi3GetClock(void *c, const unsigned *vr, size_t n, bool *v) {
    Node *m = c;
    v[0] = m->pending;
    m->pending = false;
    return vr[0] == TX_CLOCK ? 0 : 3;
}
int fmi3SetClock(void *c, const unsigned *vr, size_t n, const bool *v) {
    if (vr[0] == RX_CLOCK) ((Node *)c)->rx = v[0];
    return 0;
}
int fmi3GetIntervalDecimal(void *c, const unsigned *vr, size_t n, double *interval, int *state) {
    Node *m = c;
    state[0] = m->announced ? 1 : 2;
    interval[0] = m->next - m->time;
    m->announced = true;
    return 0;
}
static void put(Node *m, uint32_t value, int bytes) {
    memcpy(m->out + m->length, &value, bytes);
    m->length += bytes;
}
int fmi3GetBinary(void *c, const unsigned *vr, size_t n, size_t *s, const uint8_t **v, size_t nv) {
    Node *m = c;
    m->length = 0;
    if (m->rate > 0 && !m->configured) {
        put(m, 0x40, 4), put(m, 13, 4), put(m, 1, 1), put(m, m->rate, 4);
        m->configured = true;
    }
    if (m->next <= m->time + 1e-9) {
        put(m, 0x10, 4), put(m, 20, 4), put(m, m->id, 4), put(m, 0, 2), put(m, 4, 2);
        put(m, m->sent++, 1), put(m, m->frames, 1), put(m, m->confirms, 1), put(m, m->errors, 1);
        m->next += m->period;
        m->announced = false;
    }
    s[0] = m->length;
    v[0] = m->out;
    return vr[0] == TX_DATA ? 0 : 3;
}
int fmi3SetBinary(void *c, const unsigned *vr, size_t n, const size_t *s, const uint8_t **v,
                  size_t nv) {
    Node *m = c;
    if (vr[0] != RX_DATA || !m->rx || s[0] > sizeof m->in) return 3;
    m->size = s[0];
    memcpy(m->in, v[0], s[0]);
    return 0;
}
int fmi3UpdateDiscreteStates(void *c, bool *again, bool *ends, bool *a, bool *b, bool *d,
                             double *next) {
    Node *m = c;
    size_t at = 0;
    while (m->rx && at + 8 <= m->size) {
        uint32_t head[2];
        memcpy(head, m->in + at, 8);
        m->frames += head[0] == 0x10;
        m->confirms += head[0] == 0x20;
        m->errors += head[0] == 0x31;
        at += head[1];
    }
    m->rx = false;
    *again = *ends = *a = *b = *d = false;
    return 0;
}
int fmi3DoStep(void *c, double now, double step, bool keep, bool *event, bool *terminate,
               bool *early, double *last) {
    Node *m = c;
    *last = m->time = now + step;
    *event = m->pending = m->next <= m->time + 1e-9;
    *terminate = *early = false;
    return 0;
}
