// beanstalkd, by its own protocol. Batches are commands sent without waiting for each answer.

#include "bench.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    wire wire;
    long long *id;
    int taken;
} connection;

static void *beanstalkd_connect(bool is_producer) {
    (void)is_producer;
    connection *c = calloc(1, sizeof *c);
    wire_open(&c->wire);
    c->id = calloc((size_t)options.batch, sizeof *c->id);
    return c;
}

static void put(void *raw, int count) {
    connection *c = raw;
    for (int i = 0; i < count; i++) {
        wire_print(&c->wire, "put 0 0 60 %d\r\n", options.payload);
        wire_send(&c->wire, payload_bytes(), (size_t)options.payload);
        wire_send(&c->wire, "\r\n", 2);
    }
    for (int i = 0; i < count; i++) {
        char *line = wire_line(&c->wire);
        if (strncmp(line, "INSERTED", 8)) fail("beanstalkd: %s", line);
    }
}

static void answer(connection *c) {
    char *line = wire_line(&c->wire);
    size_t size;
    if (sscanf(line, "RESERVED %lld %zu", &c->id[c->taken], &size) == 2) {
        wire_bytes(&c->wire, size + 2);
        c->taken++;
    } else if (strncmp(line, "TIMED_OUT", 9)) {
        fail("beanstalkd: %s", line);
    }
}

static int take(void *raw, int max) {
    connection *c = raw;
    c->taken = 0;
    if (max > 1) {
        for (int i = 0; i < max; i++) wire_print(&c->wire, "reserve-with-timeout 0\r\n");
        for (int i = 0; i < max; i++) answer(c);
        if (c->taken) return c->taken;
    }
    wire_print(&c->wire, "reserve-with-timeout 1\r\n");
    answer(c);
    return c->taken;
}

static void settle(void *raw) {
    connection *c = raw;
    for (int i = 0; i < c->taken; i++) wire_print(&c->wire, "delete %lld\r\n", c->id[i]);
    for (int i = 0; i < c->taken; i++) {
        char *line = wire_line(&c->wire);
        if (strcmp(line, "DELETED")) fail("beanstalkd: %s", line);
    }
}

const peer beanstalkd_peer = {"beanstalkd", NULL, beanstalkd_connect, put, take, settle};
