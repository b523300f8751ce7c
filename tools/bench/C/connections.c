// Many connections of one process, each of which sends the same request again when it has its answer: the same generator of
// load for servers that speak HTTP and for redis.

#include "bench.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// How a server's answers are told apart.
typedef struct {
    const char *name;
    // Writes the request into `bytes`, and returns how many bytes it has.
    size_t (*request)(char *bytes, size_t room);
    // How many of the bytes received are one whole answer; 0: it is not whole. Ends the program when it is an error.
    size_t (*answer)(const char *bytes, size_t count);
} protocol;

typedef struct {
    int socket;
    size_t count;
    int64_t began;
    char in[16384];
} connection;

static size_t http_request(char *bytes, size_t room) {
    int count = snprintf(
        bytes, room,
        "POST /v1/queues/bench/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
        "Content-Length: %d\r\n\r\n%s", options.payload, payload_bytes());
    return (size_t)count < room ? (size_t)count : 0;
}

static size_t http_answer(const char *bytes, size_t count) {
    const char *head = memmem(bytes, count, "\r\n\r\n", 4);
    if (!head) return 0;
    if (strncmp(bytes, "HTTP/1.1 201", 12) != 0) fail("http: %.*s", (int)(count < 300 ? count : 300), bytes);
    const char *length = strcasestr(bytes, "content-length:");
    if (!length || length > head) fail("http: an answer does not say how long it is");
    size_t whole = (size_t)(head - bytes) + 4 + (size_t)atoll(length + strlen("content-length:"));
    return count >= whole ? whole : 0;
}

static size_t redis_request(char *bytes, size_t room) {
    int count = snprintf(
        bytes, room, "*5\r\n$4\r\nXADD\r\n$1\r\nq\r\n$1\r\n*\r\n$1\r\np\r\n$%d\r\n%s\r\n", options.payload, payload_bytes());
    return (size_t)count < room ? (size_t)count : 0;
}

static size_t redis_answer(const char *bytes, size_t count) {
    const char *line = memmem(bytes, count, "\r\n", 2);
    if (!line) return 0;
    if (*bytes != '$') fail("redis: %.*s", (int)(line - bytes), bytes);
    size_t whole = (size_t)(line - bytes) + 2 + (size_t)atoll(bytes + 1) + 2;
    return count >= whole ? whole : 0;
}

static const protocol protocols[] = {
    {"http", http_request, http_answer},
    {"redis", redis_request, redis_answer},
};

static void send_whole(connection *c, const char *bytes, size_t count) {
    c->began = now_ns();
    // A request is far smaller than what the system takes at once.
    if (send(c->socket, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) fail("the server hung up");
}

void run_connections(const char *name) {
    const protocol *protocol = NULL;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        if (!strcmp(protocols[i].name, name)) protocol = &protocols[i];
    }
    if (!protocol) fail("there is no protocol %s", name);
    size_t room = (size_t)options.payload + 1024;
    char *request = malloc(room);
    size_t size = protocol->request(request, room);
    connection *connections = calloc((size_t)options.producers, sizeof *connections);
    int64_t *latency = malloc((size_t)options.count * sizeof *latency);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.producers; i++) {
        connections[i].socket = wire_connect();
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].socket, &event);
    }
    int64_t began = now_ns(), sent = 0, answered = 0;
    for (int i = 0; i < options.producers && sent < options.count; i++, sent++) send_whole(&connections[i], request, size);
    while (answered < options.count) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait failed");
        for (int i = 0; i < ready; i++) {
            connection *c = events[i].data.ptr;
            ssize_t count = recv(c->socket, c->in + c->count, sizeof c->in - c->count - 1, 0);
            if (count <= 0) fail("the server hung up");
            c->count += (size_t)count;
            c->in[c->count] = 0;
            size_t whole = protocol->answer(c->in, c->count);
            if (!whole) continue;
            latency[answered++] = now_ns() - c->began;
            memmove(c->in, c->in + whole, c->count - whole);
            c->count -= whole;
            if (sent < options.count) {
                sent++;
                send_whole(c, request, size);
            }
        }
    }
    print_result(options.count, (double)(now_ns() - began) / 1e9, latency);
}
