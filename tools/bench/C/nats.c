// NATS JetStream, by its own protocol: a work-queue stream on files with a durable pull consumer. Every publish waits
// for its acknowledgement; acknowledgements of messages are sent as the usual clients do, without an answer.

#include "bench.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    wire wire;
    char inbox[64];
    char (*reply)[160];
    int taken;
    int asked;               // messages asked for that have not come
} connection;

static void *nats_connect(bool is_producer) {
    (void)is_producer;
    connection *c = calloc(1, sizeof *c);
    wire_open(&c->wire);
    c->reply = calloc((size_t)options.batch, sizeof *c->reply);
    snprintf(c->inbox, sizeof c->inbox, "_INBOX.%d", (int)getpid());
    wire_line(&c->wire);
    wire_print(&c->wire, "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\","
                         "\"protocol\":1,\"headers\":true}\r\nSUB %s 1\r\nPING\r\n", c->inbox);
    char *line = wire_line(&c->wire);
    if (strcmp(line, "PONG")) fail("nats: %s", line);
    return c;
}

// Reads the next message. Returns its size; `reply` gets where to acknowledge it. -1: a status instead of a message.
static long message(connection *c, char **body, char reply[160]) {
    while (1) {
        char *line = wire_line(&c->wire);
        if (!strcmp(line, "PING")) {
            wire_print(&c->wire, "PONG\r\n");
            continue;
        }
        if (!strcmp(line, "PONG")) continue;
        bool has_headers = !strncmp(line, "HMSG ", 5);
        if (!has_headers && strncmp(line, "MSG ", 4)) fail("nats: %s", line);
        char *words[6] = {0};
        int count = 0;
        for (char *rest = line, *one; count < 6 && (one = strtok_r(rest, " ", &rest));) words[count++] = one;
        // [H]MSG subject sid [reply] [header bytes] bytes
        bool has_reply = count == (has_headers ? 6 : 5);
        if (reply) snprintf(reply, 160, "%s", has_reply ? words[3] : "");
        size_t size = (size_t)atol(words[count - 1]);
        *body = wire_bytes(&c->wire, size + 2);
        return has_headers && !has_reply ? -1 : (long)size;
    }
}

static void request(connection *c, const char *subject, const char *body) {
    wire_print(&c->wire, "PUB %s %s %zu\r\n", subject, c->inbox, strlen(body));
    wire_print(&c->wire, "%s\r\n", body);
    char *answer;
    long size = message(c, &answer, NULL);
    if (size < 0) fail("nats: %s was refused", subject);
    answer[size] = 0;
    if (strstr(answer, "\"error\"") && !strstr(answer, "stream not found")) fail("nats: %s", answer);
}

static void prepare(void) {
    connection *c = nats_connect(true);
    request(c, "$JS.API.STREAM.DELETE.BENCH", "");
    request(c, "$JS.API.STREAM.CREATE.BENCH",
            "{\"name\":\"BENCH\",\"subjects\":[\"bench\"],\"retention\":\"workqueue\",\"storage\":\"file\","
            "\"num_replicas\":1,\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,"
            "\"discard\":\"old\"}");
    request(c, "$JS.API.CONSUMER.DURABLE.CREATE.BENCH.W",
            "{\"stream_name\":\"BENCH\",\"config\":{\"durable_name\":\"W\",\"deliver_policy\":\"all\","
            "\"ack_policy\":\"explicit\",\"max_ack_pending\":100000,\"replay_policy\":\"instant\"}}");
    close(c->wire.socket);
}

static void put(void *raw, int count) {
    connection *c = raw;
    for (int i = 0; i < count; i++) {
        wire_print(&c->wire, "PUB bench %s %d\r\n", c->inbox, options.payload);
        wire_send(&c->wire, payload_bytes(), (size_t)options.payload);
        wire_send(&c->wire, "\r\n", 2);
    }
    for (int i = 0; i < count; i++) {
        char *answer;
        long size = message(c, &answer, NULL);
        if (size < 0) fail("nats: a message was not stored");
        answer[size] = 0;
        if (strstr(answer, "\"error\"")) fail("nats: %s", answer);
    }
}

static int take(void *raw, int max) {
    connection *c = raw;
    c->taken = 0;
    if (c->asked == 0) {
        char body[64];
        snprintf(body, sizeof body, "{\"batch\":%d,\"expires\":1000000000}", max);
        wire_print(&c->wire, "PUB $JS.API.CONSUMER.MSG.NEXT.BENCH.W %s %zu\r\n%s\r\n", c->inbox, strlen(body), body);
        c->asked = max;
    }
    // The first one is waited for; what else is there already comes along.
    do {
        char *body;
        if (message(c, &body, c->reply[c->taken]) < 0) {
            c->asked = 0;
            break;
        }
        c->taken++;
        c->asked--;
    } while (c->asked > 0 && c->taken < max && wire_has_input(&c->wire));
    return c->taken;
}

static void settle(void *raw) {
    connection *c = raw;
    for (int i = 0; i < c->taken; i++) wire_print(&c->wire, "PUB %s 4\r\n+ACK\r\n", c->reply[i]);
    wire_flush(&c->wire);
}

const peer nats_peer = {"nats", prepare, nats_connect, put, take, settle};
