#include "wire.h"

#include "bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wire_connect(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)options.port)};
    inet_pton(AF_INET, options.host, &address.sin_addr);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0)
        fail("no server at %s:%d", options.host, options.port);
    int one = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return connection;
}

void wire_open(wire *w) {
    w->socket = wire_connect();
}

void wire_send(wire *w, const void *bytes, size_t count) {
    if (w->out_size + count > w->out_room) {
        w->out_room = (w->out_size + count) * 2 + 65536;
        w->out = realloc(w->out, w->out_room);
    }
    memcpy(w->out + w->out_size, bytes, count);
    w->out_size += count;
}

void wire_print(wire *w, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof text) fail("a command is too long");
    wire_send(w, text, (size_t)size);
}

void wire_flush(wire *w) {
    for (size_t sent = 0; sent < w->out_size;) {
        ssize_t count = send(w->socket, w->out + sent, w->out_size - sent, MSG_NOSIGNAL);
        if (count <= 0) fail("the server hung up");
        sent += (size_t)count;
    }
    w->out_size = 0;
}

static void receive(wire *w) {
    if (w->out_size) wire_flush(w);
    if (w->in_start) {
        memmove(w->in, w->in + w->in_start, w->in_end - w->in_start);
        w->in_end -= w->in_start;
        w->in_start = 0;
    }
    if (w->in_room - w->in_end < 32768) {
        w->in_room = w->in_room * 2 + 131072;
        w->in = realloc(w->in, w->in_room);
    }
    ssize_t count = recv(w->socket, w->in + w->in_end, w->in_room - w->in_end, 0);
    if (count <= 0) fail("the server hung up");
    w->in_end += (size_t)count;
}

char *wire_line(wire *w) {
    size_t seen = 0;
    while (1) {
        char *start = w->in ? w->in + w->in_start : NULL;
        size_t size = w->in_end - w->in_start;
        char *end = size > seen ? memchr(start + seen, '\n', size - seen) : NULL;
        if (end) {
            w->in_start += (size_t)(end - start) + 1;
            if (end > start && end[-1] == '\r') end--;
            *end = 0;
            return start;
        }
        seen = size;
        receive(w);
    }
}

char *wire_bytes(wire *w, size_t count) {
    while (w->in_end - w->in_start < count) receive(w);
    char *start = w->in + w->in_start;
    w->in_start += count;
    return start;
}

int wire_has_input(wire *w) {
    if (w->in_end > w->in_start) return 1;
    char byte;
    return recv(w->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
