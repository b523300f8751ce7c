// A connection to a server: what is to be sent gathers, and goes out when an answer is read.
#pragma once

#include <stddef.h>

typedef struct {
    int socket;
    char *out, *in;
    size_t out_size, out_room, in_start, in_end, in_room;
} wire;

/// A socket that is connected to options.host and options.port, and sends at once what it is given.
int wire_connect(void);
/// Connects to options.host and options.port.
void wire_open(wire *w);
void wire_send(wire *w, const void *bytes, size_t count);
void wire_print(wire *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Sends what has gathered.
void wire_flush(wire *w);
/// Reads a line, without its end; valid until the next read.
char *wire_line(wire *w);
/// Reads `count` bytes; valid until the next read.
char *wire_bytes(wire *w, size_t count);
/// Whether something was received that nobody has read yet.
int wire_has_input(wire *w);
