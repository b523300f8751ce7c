#include "shared.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct bench_board {
    _Atomic int64_t done;
    _Atomic int64_t end;
};

static int64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t bench_now(void) { return read_clock(CLOCK_MONOTONIC); }

int64_t bench_cpu(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

bench_board *bench_board_open(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(descriptor, sizeof(bench_board)) == 0)
        memory = mmap(NULL, sizeof(bench_board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return memory == MAP_FAILED ? NULL : memory;
}

void bench_board_count(bench_board *board, int64_t goal) {
    if (atomic_fetch_add(&board->done, 1) + 1 == goal) atomic_store(&board->end, bench_now());
}

int64_t bench_board_done(const bench_board *board) { return atomic_load(&board->done); }

int64_t bench_board_end(const bench_board *board) { return atomic_load(&board->end); }

void bench_board_note(bench_board *board) {
    atomic_store(&board->end, bench_now());
    atomic_fetch_add(&board->done, 1);
}
