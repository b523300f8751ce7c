// What the C programs of the benchmark share: options, clocks, and the run of producers and consumers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a run is told on the command line. Counts are of messages.
typedef struct {
    const char *work;        // enqueue, settle, life, sync
    const char *database;    // SQLite: the file
    const char *schema;      // SQLite: the folder with the schema's files
    const char *host;        // servers: IPv4 address
    int port;                // servers
    const char *conninfo;    // PostgreSQL
    int producers, consumers;
    int batch;
    int payload;             // bytes
    int groups;              // keys that the messages take turns in, of which one is worked on at a time; 0: none
    int64_t count;
    int wait;                // how long a take waits for messages, in milliseconds; 0: for ever
    bool durable;            // whether an enqueue waits for the disk
    bool fresh;              // whether to prepare an empty queue first
} bench_options;

extern bench_options options;

/// Nanoseconds on CLOCK_MONOTONIC.
int64_t now_ns(void);
/// Microseconds since 1970.
int64_t wall_us(void);
/// Ends the program with a sentence.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The payload that every message has: options.payload bytes.
const char *payload_bytes(void);
/// The first of `count` keys, which follow each other. Each process begins elsewhere; a key modulo options.groups is a group.
int64_t next_key(int count);

/// A queue as the run sees it. Every call is made by one process at a time on a connection of its own.
typedef struct {
    const char *name;
    /// Prepares an empty queue. May be NULL.
    void (*prepare)(void);
    void *(*connect)(bool is_producer);
    /// Enqueues `count` messages; returns when they are accepted.
    void (*put)(void *connection, int count);
    /// Takes up to `max` messages; waits a moment when there are none, and returns how many it has.
    int (*take)(void *connection, int max);
    /// Settles everything that the last take gave.
    void (*settle)(void *connection);
} peer;

extern const peer sqlite_peer, redis_streams_peer, redis_lists_peer, beanstalkd_peer, nats_peer, postgres_peer,
    postgres_groups_peer, postgres_jobs_peer, rabbitmq_groups_peer;

/// Processes put and take options.count messages; prints the result.
void run_processes(const peer *peer);
/// One process puts, then takes and settles, in turn, as options.work says; prints the result.
void run_alone(const peer *peer);
/// How long it takes from a put in one process until another, idle one has the message.
void run_wake(const peer *peer);
/// Waits for messages until it is killed.
_Noreturn void run_idle(const peer *peer);
/// Flushes a file again and again; prints the result.
void run_sync(void);
/// options.producers connections to a server, each with one request at a time: options.count of them in all; prints the result.
void run_connections(const char *protocol);
/// Prints what a run of `count` calls gave, whose latencies in nanoseconds are given. Sorts them.
void print_result(int64_t count, double seconds, int64_t *latency);
