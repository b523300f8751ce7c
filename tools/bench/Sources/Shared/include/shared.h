// What processes that are measured together share: a clock, and counters in a mapped file.
#pragma once

#include <stdint.h>

/// Counters in a file that several processes map.
typedef struct bench_board bench_board;

/// Nanoseconds on CLOCK_MONOTONIC, which all processes of the machine have in common.
int64_t bench_now(void);

/// Processor time that this process has used, in nanoseconds.
int64_t bench_cpu(void);

/// Maps the file at `path`; makes it when there is none. NULL on failure.
bench_board *bench_board_open(const char *path);

/// Counts one message done. Whoever counts the one that makes `goal` writes down the time.
void bench_board_count(bench_board *board, int64_t goal);

/// How many messages were counted.
int64_t bench_board_done(const bench_board *board);

/// When the goal was reached; 0 before that.
int64_t bench_board_end(const bench_board *board);

/// Notes the time, and then counts one message done.
void bench_board_note(bench_board *board);
