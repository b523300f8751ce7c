#ifndef PENSTOCK_SYSTEM_H
#define PENSTOCK_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

// Calls of the operating system that Swift cannot make.

// Sleeping on a word of memory that several processes share. Whatever the word holds, these calls do no harm.

// Sleeps while *word is `expected`, for at most so many nanoseconds by a clock that nobody sets. Returns 0 when it was
// woken or the word is another; another number when the time is over, or for no reason.
int penstock_futex_wait(uint32_t *word, uint32_t expected, int64_t nanoseconds);

// Wakes one thread, of any process, that sleeps on the word.
void penstock_futex_wake(uint32_t *word);

// Runs `body` with `context` on a thread of its own, of that name (15 bytes at most, for debuggers) and size of stack (0:
// the system's). Returns 0, or why no thread can be made, an errno.
int penstock_start_thread(const char *name, size_t stack_bytes, void (*body)(void *), void *context);

// Makes up to `count` threads that are there at the same time, and ends them. Returns how many the system has made.
int penstock_count_threads(int count);

// Which file is at `path`, links followed: the numbers of its device and of the file there. Its times are not asked for, which would have the
// next flush of what is written there wait longer. Returns 0; -1 and says why in errno.
int penstock_file_number(const char *path, uint64_t *device, uint64_t *number);

// Of the file at `path`: its number, and when it was made, in nanoseconds since 1970. Returns 0; -1 when there is none,
// or when its file system does not know when it was made.
int penstock_file_birth(const char *path, uint64_t *number, int64_t *nanoseconds);

// Whether the file at `path` is itself a place where something is mounted: then it lies in another folder than this name says. Returns 0
// also where the system does not say.
int penstock_is_mounted(const char *path);

// Gives what is at `from` the name `to` in one step, if nothing has it. Returns 0; -1 and says why in errno: EEXIST where something has it,
// another number also where the system or the file system knows no such step.
int penstock_rename_new(const char *from, const char *to);

// What is at `path`, a link as well, without opening it: for its status and the two calls below. Closing the descriptor takes no locks of
// this process along, as that of an open file would. Returns -1 and says why in errno; ENOTSUP where the system has no such thing.
int penstock_open_path(const char *path);
int penstock_change_owner(int descriptor, uint32_t user, uint32_t group);
int penstock_change_mode(int descriptor, uint32_t mode);

// Whether the system knows the user as a member of the group, by its first group or another one. Returns 0 also of a user that it does not
// know.
int penstock_is_member(uint32_t user, uint32_t group);

// Has all threads that are made from now on take memory from where the first one does. With glibc each thread has an arena of its
// own otherwise, and asks the system for nearly every page of it.
void penstock_use_one_arena(void);

// The words that this process was started with, its own name first, and how many they are. They stay where they are. NULL where the C library
// does not say.
char **penstock_arguments(int *count);

// This process's environment: `NAME=value` each, NULL behind the last one. Nothing of this program changes it.
char **penstock_environment(void);

// A file in memory that has no name, and is gone with its last descriptor; -1 where there are none.
int penstock_memory_file(void);

// Gives a process, and each thread of this one, the nice value that this process was started with or was given since.
void penstock_share_nice_value(int process);

// Whether this process handles a signal by a function of its own.
int penstock_handles(int signal);

#endif
