#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What the processes of a run share. The latencies of the calls of put follow it.
typedef struct {
    _Atomic int ready;
    _Atomic bool go;
    _Atomic int64_t done, end;
    _Atomic int64_t sent_at, returned_at, taken_at;
    int64_t latency[];
} board;

static board *make_board(int64_t latencies) {
    size_t size = sizeof(board) + (size_t)latencies * sizeof(int64_t);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for %lld latencies", (long long)latencies);
    return memory;
}

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

// The percentiles in microseconds, as an object of JSON. Sorts `values`.
static void print_latency(const char *name, int64_t *values, int64_t count) {
    if (count < 1) return;
    qsort(values, (size_t)count, sizeof *values, by_size);
    const double at[] = {0.5, 0.99, 0.999, 1};
    const char *names[] = {"p50", "p99", "p999", "max"};
    printf(", \"%s\": {", name);
    for (int i = 0; i < 4; i++) {
        int64_t index = (int64_t)(at[i] * (double)count);
        if (index >= count) index = count - 1;
        printf("%s\"%s\": %.1f", i ? ", " : "", names[i], (double)values[index] / 1000);
    }
    printf("}");
}

void run_processes(const peer *peer) {
    int64_t calls = (options.count + options.batch - 1) / options.batch;
    int64_t count = calls * options.batch;
    board *board = make_board(calls);
    if (options.fresh && peer->prepare) peer->prepare();
    int processes = options.producers + options.consumers;
    pid_t children[processes];
    for (int process = 0; process < processes; process++) {
        pid_t child = fork();
        if (child < 0) fail("fork failed");
        children[process] = child;
        if (child > 0) continue;
        bool is_producer = process < options.producers;
        void *connection = peer->connect(is_producer);
        atomic_fetch_add(&board->ready, 1);
        while (!atomic_load(&board->go)) usleep(200);
        if (is_producer) {
            for (int64_t call = process; call < calls; call += options.producers) {
                int64_t began = now_ns();
                peer->put(connection, options.batch);
                board->latency[call] = now_ns() - began;
            }
        } else {
            while (atomic_load(&board->done) < count) {
                int taken = peer->take(connection, options.batch);
                if (taken == 0) continue;
                peer->settle(connection);
                if (atomic_fetch_add(&board->done, taken) + taken >= count) atomic_store(&board->end, now_ns());
            }
        }
        _exit(0);
    }
    while (atomic_load(&board->ready) < processes) {
        int status;
        pid_t gone = waitpid(-1, &status, WNOHANG);
        if (gone > 0) fail("%s: a process could not connect", peer->name);
        usleep(1000);
    }
    int64_t began = now_ns();
    atomic_store(&board->go, true);
    for (int process = 0; process < options.producers; process++) {
        int status;
        if (waitpid(children[process], &status, 0) < 0 || status != 0) fail("%s: a producer failed", peer->name);
    }
    int64_t end = now_ns();
    if (options.consumers) {
        while (!(end = atomic_load(&board->end))) {
            int status;
            if (waitpid(-1, &status, WNOHANG) > 0 && status != 0) fail("%s: a consumer failed", peer->name);
            usleep(1000);
        }
        // Those that wait for a message wait for one that will not come.
        for (int process = options.producers; process < processes; process++) {
            kill(children[process], SIGKILL);
            waitpid(children[process], NULL, 0);
        }
    }
    // Of the processes of this run: a server's own is not among it.
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"messages\": %lld, \"seconds\": %.6f, \"cpu\": %.6f", (long long)count, (double)(end - began) / 1e9, cpu);
    print_latency("latency", board->latency, calls);
    printf("}\n");
}

void run_alone(const peer *peer) {
    int64_t calls = (options.count + options.batch - 1) / options.batch;
    int64_t count = calls * options.batch;
    bool puts = strcmp(options.work, "settle") != 0, takes = strcmp(options.work, "enqueue") != 0;
    int64_t *latency = malloc((size_t)calls * sizeof *latency);
    if (options.fresh && peer->prepare) peer->prepare();
    void *connection = peer->connect(true);
    if (!puts) {
        for (int64_t left = count; left > 0; left -= 1000) peer->put(connection, left < 1000 ? (int)left : 1000);
    }
    double cpu = cpu_seconds();
    int64_t began = now_ns();
    for (int64_t call = 0; call < calls; call++) {
        int64_t at = now_ns();
        if (puts) peer->put(connection, options.batch);
        if (takes) {
            if (peer->take(connection, options.batch) != options.batch) fail("%s gave too few messages", peer->name);
            peer->settle(connection);
        }
        latency[call] = now_ns() - at;
    }
    double seconds = (double)(now_ns() - began) / 1e9;
    printf("{\"messages\": %lld, \"seconds\": %.6f, \"cpu\": %.6f", (long long)count, seconds, cpu_seconds() - cpu);
    print_latency("latency", latency, calls);
    printf("}\n");
}

void print_result(int64_t count, double seconds, int64_t *latency) {
    printf("{\"messages\": %lld, \"seconds\": %.6f, \"cpu\": %.6f", (long long)count, seconds, cpu_seconds());
    print_latency("latency", latency, count);
    printf("}\n");
}

void run_wake(const peer *peer) {
    board *board = make_board(0);
    if (options.fresh && peer->prepare) peer->prepare();
    pid_t child = fork();
    if (child == 0) {
        void *connection = peer->connect(false);
        atomic_fetch_add(&board->ready, 1);
        for (int64_t taken = 0; taken < options.count;) {
            if (peer->take(connection, 1) == 0) continue;
            atomic_store(&board->taken_at, now_ns());
            peer->settle(connection);
            taken++;
            atomic_store(&board->done, taken);
        }
        _exit(0);
    }
    void *connection = peer->connect(true);
    while (atomic_load(&board->ready) < 1) usleep(1000);
    int64_t *called = malloc((size_t)options.count * sizeof *called);
    int64_t *returned = malloc((size_t)options.count * sizeof *returned);
    for (int64_t round = 0; round < options.count; round++) {
        usleep(20000 + (useconds_t)(round * 7919 % 10000));
        int64_t began = now_ns();
        peer->put(connection, 1);
        int64_t ended = now_ns();
        while (atomic_load(&board->done) <= round) usleep(500);
        int64_t taken = atomic_load(&board->taken_at);
        called[round] = taken - began;
        returned[round] = taken > ended ? taken - ended : 0;
    }
    wait(NULL);
    printf("{\"messages\": %lld, \"seconds\": 1", (long long)options.count);
    print_latency("called", called, options.count);
    print_latency("returned", returned, options.count);
    printf("}\n");
}

void run_idle(const peer *peer) {
    if (options.fresh && peer->prepare) peer->prepare();
    void *connection = peer->connect(false);
    printf("ready\n");
    fflush(stdout);
    while (true) {
        if (peer->take(connection, 1)) peer->settle(connection);
    }
}

void run_sync(void) {
    int file = open(options.database, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail("%s cannot be made", options.database);
    char page[4096];
    memset(page, 'x', sizeof page);
    for (int i = 0; i < 4096; i++) {
        if (write(file, page, sizeof page) != sizeof page) fail("%s cannot be written", options.database);
    }
    if (fdatasync(file) != 0) fail("fdatasync failed");
    // As a write-ahead log that was begun anew: pages that are there already are written again, one after the other.
    int64_t began = now_ns();
    for (int64_t i = 0; i < options.count; i++) {
        if (pwrite(file, page, sizeof page, (off_t)(i % 4096) * 4096) != sizeof page) fail("pwrite failed");
        if (fdatasync(file) != 0) fail("fdatasync failed");
    }
    printf("{\"messages\": %lld, \"seconds\": %.6f}\n", (long long)options.count, (double)(now_ns() - began) / 1e9);
}
