// peers: runs work against a queue from C. Prints one line of JSON.
//
//   peers alone|processes|wake|idle|sync|connections NAME --work enqueue|settle|life --batch N --count N ...

#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bench_options options = {
    .work = "life", .host = "127.0.0.1", .producers = 8, .consumers = 4, .batch = 1, .payload = 200, .count = 1000,
    .wait = 1000, .durable = true, .fresh = true};

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t wall_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "peers: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

const char *payload_bytes(void) {
    static char *bytes;
    if (!bytes) {
        bytes = malloc((size_t)options.payload + 1);
        for (int i = 0; i < options.payload; i++) bytes[i] = (char)('a' + i % 26);
        bytes[options.payload] = 0;
    }
    return bytes;
}

int64_t next_key(int count) {
    static int64_t next = -1;
    if (next < 0) next = (int64_t)getpid() * 7919;
    next += count;
    return next - count;
}

int main(int count, char **words) {
    if (count < 3) fail("usage: peers alone|processes|wake|idle|sync|connections NAME [--OPTION VALUE]...");
    for (int i = 3; i + 1 < count; i += 2) {
        const char *name = words[i], *value = words[i + 1];
        if (!strcmp(name, "--work")) options.work = value;
        else if (!strcmp(name, "--db")) options.database = value;
        else if (!strcmp(name, "--schema")) options.schema = value;
        else if (!strcmp(name, "--host")) options.host = value;
        else if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--conninfo")) options.conninfo = value;
        else if (!strcmp(name, "--producers")) options.producers = atoi(value);
        else if (!strcmp(name, "--consumers")) options.consumers = atoi(value);
        else if (!strcmp(name, "--batch")) options.batch = atoi(value);
        else if (!strcmp(name, "--payload")) options.payload = atoi(value);
        else if (!strcmp(name, "--groups")) options.groups = atoi(value);
        else if (!strcmp(name, "--count")) options.count = atoll(value);
        else if (!strcmp(name, "--durable")) options.durable = atoi(value) != 0;
        else if (!strcmp(name, "--wait")) options.wait = atoi(value);
        else if (!strcmp(name, "--fresh")) options.fresh = atoi(value) != 0;
        else fail("there is no option %s", name);
    }
    const char *mode = words[1], *name = words[2];
    if (!strcmp(mode, "sync")) {
        run_sync();
        return 0;
    }
    if (!strcmp(mode, "connections")) {
        run_connections(name);
        return 0;
    }
    const peer *peers[] = {
        &sqlite_peer, &redis_streams_peer, &redis_lists_peer, &beanstalkd_peer, &nats_peer,
#ifdef WITH_POSTGRES
        &postgres_peer, &postgres_groups_peer, &postgres_jobs_peer,
#endif
#ifdef WITH_RABBITMQ
        &rabbitmq_groups_peer,
#endif
    };
    const peer *peer = NULL;
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        if (!strcmp(peers[i]->name, name)) peer = peers[i];
    }
    if (!peer) fail("there is no peer %s in this build", name);
    if (!strcmp(mode, "alone")) run_alone(peer);
    else if (!strcmp(mode, "processes")) run_processes(peer);
    else if (!strcmp(mode, "wake")) run_wake(peer);
    else if (!strcmp(mode, "idle")) run_idle(peer);
    else fail("there is no mode %s", mode);
    return 0;
}
