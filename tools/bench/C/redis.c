// redis, by its own protocol: streams with a consumer group, and lists with a list for each consumer's work.

#include "bench.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    wire wire;
    char name[32];
    char (*id)[48];
    int taken;
} connection;

static void word(wire *w, const char *bytes, size_t size) {
    wire_print(w, "$%zu\r\n", size);
    wire_send(w, bytes, size);
    wire_send(w, "\r\n", 2);
}

static void command(wire *w, int count, const char *const *words) {
    wire_print(w, "*%d\r\n", count);
    for (int i = 0; i < count; i++) word(w, words[i], strlen(words[i]));
}

// Reads an answer of whatever kind and drops it. Returns what a number, an array or a string says of itself: its
// value, or its length; -1 for none.
static long long skip(wire *w) {
    char *line = wire_line(w);
    if (*line == '-') fail("redis: %s", line + 1);
    if (*line == '+') return 0;
    long long number = atoll(line + 1);
    if (*line == '$' && number >= 0) wire_bytes(w, (size_t)number + 2);
    if (*line == '*') {
        for (long long i = 0; i < number; i++) skip(w);
    }
    return number;
}

static connection *open_connection(void) {
    connection *c = calloc(1, sizeof *c);
    wire_open(&c->wire);
    snprintf(c->name, sizeof c->name, "c%d", (int)getpid());
    c->id = calloc((size_t)options.batch, sizeof *c->id);
    return c;
}

static void *redis_connect(bool is_producer) {
    (void)is_producer;
    return open_connection();
}

static void prepare_streams(void) {
    connection *c = open_connection();
    command(&c->wire, 1, (const char *[]){"FLUSHALL"});
    command(&c->wire, 6, (const char *[]){"XGROUP", "CREATE", "q", "g", "$", "MKSTREAM"});
    skip(&c->wire);
    skip(&c->wire);
    close(c->wire.socket);
}

static void put_streams(void *raw, int count) {
    connection *c = raw;
    for (int i = 0; i < count; i++) {
        wire_print(&c->wire, "*5\r\n$4\r\nXADD\r\n$1\r\nq\r\n$1\r\n*\r\n$1\r\np\r\n");
        word(&c->wire, payload_bytes(), (size_t)options.payload);
    }
    for (int i = 0; i < count; i++) skip(&c->wire);
}

static int take_streams(void *raw, int max) {
    connection *c = raw;
    char limit[16], wait[16];
    snprintf(limit, sizeof limit, "%d", max);
    snprintf(wait, sizeof wait, "%d", options.wait);
    command(&c->wire, 11, (const char *[]){
        "XREADGROUP", "GROUP", "g", c->name, "COUNT", limit, "BLOCK", wait, "STREAMS", "q", ">"});
    c->taken = 0;
    char *line = wire_line(&c->wire);
    if (*line == '-') fail("redis: %s", line + 1);
    if (atoll(line + 1) < 1) return 0;
    wire_line(&c->wire);                                   // the stream: name and messages
    skip(&c->wire);
    long long messages = atoll(wire_line(&c->wire) + 1);
    for (long long i = 0; i < messages; i++) {
        wire_line(&c->wire);                               // a message: id and fields
        size_t size = (size_t)atoll(wire_line(&c->wire) + 1);
        char *id = wire_bytes(&c->wire, size + 2);
        snprintf(c->id[c->taken], sizeof *c->id, "%.*s", (int)size, id);
        c->taken++;
        skip(&c->wire);
    }
    return c->taken;
}

static void settle_streams(void *raw) {
    connection *c = raw;
    wire_print(&c->wire, "*%d\r\n$4\r\nXACK\r\n$1\r\nq\r\n$1\r\ng\r\n", c->taken + 3);
    for (int i = 0; i < c->taken; i++) word(&c->wire, c->id[i], strlen(c->id[i]));
    if (skip(&c->wire) != c->taken) fail("redis: a message was not acknowledged");
}

static void prepare_lists(void) {
    connection *c = open_connection();
    command(&c->wire, 1, (const char *[]){"FLUSHALL"});
    skip(&c->wire);
    close(c->wire.socket);
}

static void put_lists(void *raw, int count) {
    connection *c = raw;
    wire_print(&c->wire, "*%d\r\n$5\r\nLPUSH\r\n$1\r\nq\r\n", count + 2);
    for (int i = 0; i < count; i++) word(&c->wire, payload_bytes(), (size_t)options.payload);
    skip(&c->wire);
}

static int take_lists(void *raw, int max) {
    connection *c = raw;
    c->taken = 0;
    if (max > 1) {
        for (int i = 0; i < max; i++)
            command(&c->wire, 5, (const char *[]){"LMOVE", "q", c->name, "RIGHT", "LEFT"});
        for (int i = 0; i < max; i++) c->taken += skip(&c->wire) >= 0;
        if (c->taken) return c->taken;
    }
    command(&c->wire, 6, (const char *[]){"BLMOVE", "q", c->name, "RIGHT", "LEFT", "1"});
    c->taken = skip(&c->wire) >= 0;
    return c->taken;
}

// The list holds only what this consumer works on, and all of it is done.
static void settle_lists(void *raw) {
    connection *c = raw;
    command(&c->wire, 2, (const char *[]){"DEL", c->name});
    if (skip(&c->wire) != 1) fail("redis: the work in progress was not there");
}

const peer redis_streams_peer = {
    "redis-streams", prepare_streams, redis_connect, put_streams, take_streams, settle_streams};
const peer redis_lists_peer = {"redis-lists", prepare_lists, redis_connect, put_lists, take_lists, settle_lists};
