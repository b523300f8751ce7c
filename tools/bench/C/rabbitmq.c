// RabbitMQ with a quorum queue for each group, of which one consumer at a time is active. Publishers wait for the
// broker's confirmation; acknowledgements are not answered, as in its usual clients.

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <amqp.h>
#include <amqp_tcp_socket.h>

static const amqp_channel_t channel = 1;

typedef struct {
    amqp_connection_state_t broker;
    uint64_t published;      // number of the last message that was published, which the broker counts as well
    uint64_t last;           // tag of the last message that was taken
} connection;

static void check(amqp_connection_state_t broker, const char *what) {
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(broker);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) fail("rabbitmq: %s failed", what);
}

static amqp_bytes_t queue_name(int group, char name[24]) {
    snprintf(name, 24, "group %d", group);
    return amqp_cstring_bytes(name);
}

static amqp_connection_state_t open_connection(void) {
    amqp_connection_state_t broker = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(broker);
    if (!socket || amqp_socket_open(socket, options.host, options.port) != AMQP_STATUS_OK) {
        fail("rabbitmq: no connection to port %d", options.port);
    }
    amqp_rpc_reply_t login = amqp_login(broker, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    if (login.reply_type != AMQP_RESPONSE_NORMAL) fail("rabbitmq: login failed");
    amqp_channel_open(broker, channel);
    check(broker, "opening a channel");
    return broker;
}

static void prepare(void) {
    amqp_connection_state_t broker = open_connection();
    amqp_table_entry_t entries[] = {
        {.key = amqp_cstring_bytes("x-queue-type"),
         .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("quorum")}},
        {.key = amqp_cstring_bytes("x-single-active-consumer"),
         .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}},
    };
    amqp_table_t arguments = {.num_entries = 2, .entries = entries};
    for (int group = 0; group < options.groups; group++) {
        char name[24];
        amqp_queue_declare(broker, channel, queue_name(group, name), 0, 1, 0, 0, arguments);
        check(broker, "declaring a queue");
    }
    amqp_connection_close(broker, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(broker);
}

static void *rabbitmq_connect(bool is_producer) {
    connection *c = calloc(1, sizeof *c);
    c->broker = open_connection();
    if (is_producer) {
        amqp_confirm_select(c->broker, channel);
        check(c->broker, "asking for confirmations");
        return c;
    }
    amqp_basic_qos(c->broker, channel, 0, (uint16_t)options.batch, 0);
    check(c->broker, "setting the prefetch");
    // Who subscribes first is the active one, so each consumer begins with groups of its own.
    int first = (int)((int64_t)getpid() % options.consumers * options.groups / options.consumers);
    for (int i = 0; i < options.groups; i++) {
        char name[24];
        amqp_basic_consume(
            c->broker, channel, queue_name((first + i) % options.groups, name), amqp_empty_bytes, 0, 0, 0,
            amqp_empty_table);
        check(c->broker, "subscribing");
    }
    return c;
}

static void await_confirmations(connection *c, int count) {
    uint64_t first = c->published - (uint64_t)count + 1;
    bool confirmed[count];
    memset(confirmed, 0, sizeof confirmed);
    for (int left = count; left > 0;) {
        amqp_frame_t frame;
        if (amqp_simple_wait_frame(c->broker, &frame) != AMQP_STATUS_OK) fail("rabbitmq: the connection is gone");
        if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
            fail("rabbitmq: a message was not confirmed");
        }
        amqp_basic_ack_t *ack = frame.payload.method.decoded;
        for (uint64_t tag = ack->multiple ? first : ack->delivery_tag; tag <= ack->delivery_tag; tag++) {
            if (confirmed[tag - first]) continue;
            confirmed[tag - first] = true;
            left--;
        }
    }
    amqp_maybe_release_buffers(c->broker);
}

static void put(void *raw, int count) {
    connection *c = raw;
    int64_t key = next_key(count);
    amqp_basic_properties_t persistent = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = 2};
    amqp_bytes_t body = {.len = (size_t)options.payload, .bytes = (void *)payload_bytes()};
    for (int i = 0; i < count; i++) {
        char name[24];
        amqp_bytes_t queue = queue_name((int)((key + i) % options.groups), name);
        int status = amqp_basic_publish(c->broker, channel, amqp_empty_bytes, queue, 0, 0, &persistent, body);
        if (status != AMQP_STATUS_OK) fail("rabbitmq: %s", amqp_error_string2(status));
    }
    c->published += (uint64_t)count;
    await_confirmations(c, count);
}

static int take(void *raw, int max) {
    connection *c = raw;
    int taken = 0;
    while (taken < max) {
        // The first may take its time; others only if they are here.
        struct timeval wait = {.tv_sec = taken ? 0 : options.wait / 1000, .tv_usec = taken ? 0 : options.wait % 1000 * 1000};
        amqp_envelope_t envelope;
        amqp_rpc_reply_t reply = amqp_consume_message(c->broker, &envelope, &wait, 0);
        if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
            if (reply.library_error == AMQP_STATUS_TIMEOUT) break;
            fail("rabbitmq: the connection is gone");
        }
        c->last = envelope.delivery_tag;
        amqp_destroy_envelope(&envelope);
        taken++;
    }
    amqp_maybe_release_buffers(c->broker);
    return taken;
}

static void settle(void *raw) {
    connection *c = raw;
    if (amqp_basic_ack(c->broker, channel, c->last, 1) != AMQP_STATUS_OK) fail("rabbitmq: the connection is gone");
}

const peer rabbitmq_groups_peer = {"rabbitmq-groups", prepare, rabbitmq_connect, put, take, settle};
