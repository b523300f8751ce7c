#define _GNU_SOURCE
#include "penstock_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#if defined(__linux__)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

// https://man7.org/linux/man-pages/man2/futex.2.html. Not FUTEX_PRIVATE_FLAG: the memory is shared between processes.
int penstock_futex_wait(uint32_t *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    if (syscall(SYS_futex, word, FUTEX_WAIT, expected, &limit, NULL, 0) == 0) return 0;
    return errno == EAGAIN ? 0 : errno;
}

void penstock_futex_wake(uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#elif defined(__APPLE__)

#include <os/clock.h>
#include <os/os_sync_wait_on_address.h>

int penstock_futex_wait(uint32_t *word, uint32_t expected, int64_t nanoseconds) {
    int waiters = os_sync_wait_on_address_with_timeout(
        word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_SHARED, OS_CLOCK_MACH_ABSOLUTE_TIME,
        (uint64_t)nanoseconds);
    return waiters >= 0 ? 0 : errno;
}

void penstock_futex_wake(uint32_t *word) {
    os_sync_wake_by_address_any(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_SHARED);
}

#else

// No such call: a short sleep, after which the caller looks again.
int penstock_futex_wait(uint32_t *word, uint32_t expected, int64_t nanoseconds) {
    (void)word;
    (void)expected;
    int64_t pause = nanoseconds < 1000000 ? nanoseconds : 1000000;
    struct timespec limit = {.tv_sec = 0, .tv_nsec = pause};
    nanosleep(&limit, NULL);
    return ETIMEDOUT;
}

void penstock_futex_wake(uint32_t *word) {
    (void)word;
}

#endif

struct start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *run(void *passed) {
    struct start start = *(struct start *)passed;
    free(passed);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), start.name);
#elif defined(__APPLE__)
    pthread_setname_np(start.name);
#endif
    start.body(start.context);
    return NULL;
}

int penstock_start_thread(const char *name, size_t stack_bytes, void (*body)(void *), void *context) {
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return ENOMEM;
    start->body = body;
    start->context = context;
    strncpy(start->name, name, sizeof start->name - 1);
    start->name[sizeof start->name - 1] = 0;

    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    int failure = pthread_create(&thread, &attributes, run, start);
    pthread_attr_destroy(&attributes);
    if (failure != 0) free(start);
    return failure;
}

// The threads wait to read it, and go on all at once when the one that makes them lets go of it.
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

static void *pass(void *unused) {
    pthread_rwlock_rdlock(&gate);
    pthread_rwlock_unlock(&gate);
    return unused;
}

int penstock_count_threads(int count) {
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (threads == NULL) return 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    // They call nothing that could pass the end of it.
    pthread_attr_setguardsize(&attributes, 0);
    int made = 0;
    pthread_rwlock_wrlock(&gate);
    while (made < count && pthread_create(&threads[made], &attributes, pass, NULL) == 0) made++;
    pthread_rwlock_unlock(&gate);
    for (int index = 0; index < made; index++) pthread_join(threads[index], NULL);
    pthread_attr_destroy(&attributes);
    free(threads);
    return made;
}

void penstock_use_one_arena(void) {
#if defined(__GLIBC__)
    mallopt(M_ARENA_MAX, 1);
#endif
}

// Since Linux 6.13 a file whose times somebody has asked for, as stat does, gets a time of its own with its next write
// (https://docs.kernel.org/filesystems/multigrain-ts.html). That goes through the file system's journal, for which a flush waits.
int penstock_file_number(const char *path, uint64_t *device, uint64_t *number) {
#if defined(STATX_INO)
    struct statx found;
    if (statx(AT_FDCWD, path, 0, STATX_INO, &found) == 0) {
        *device = makedev(found.stx_dev_major, found.stx_dev_minor);
        *number = found.stx_ino;
        return 0;
    }
    // A sandbox that does not know the call refuses it.
    if (errno != ENOSYS && errno != EPERM) return -1;
#endif
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    *device = (uint64_t)status.st_dev;
    *number = (uint64_t)status.st_ino;
    return 0;
}

int penstock_file_birth(const char *path, uint64_t *number, int64_t *nanoseconds) {
#if defined(STATX_BTIME)
    struct statx found;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &found) != 0 || !(found.stx_mask & STATX_BTIME)) return -1;
    *number = found.stx_ino;
    *nanoseconds = found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec;
#elif defined(__APPLE__)
    struct stat found;
    if (stat(path, &found) != 0) return -1;
    *number = found.st_ino;
    *nanoseconds = found.st_birthtimespec.tv_sec * 1000000000 + found.st_birthtimespec.tv_nsec;
#else
    return -1;
#endif
    return 0;
}

#if defined(STATX_BTIME) && !defined(STATX_ATTR_MOUNT_ROOT)
// Linux 5.8; headers may be older than the kernel.
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif

int penstock_is_mounted(const char *path) {
#if defined(STATX_ATTR_MOUNT_ROOT)
    struct statx found;
    if (statx(AT_FDCWD, path, 0, STATX_TYPE, &found) != 0) return 0;
    // Older kernels do not know it, and set neither.
    return (found.stx_attributes & found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
#else
    (void)path;
    return 0;
#endif
}

int penstock_rename_new(const char *from, const char *to) {
#if defined(__linux__)
    // RENAME_NOREPLACE of renameat2(2), which not every C library has.
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1U);
#elif defined(__APPLE__)
    return renamex_np(from, to, RENAME_EXCL);
#else
    (void)from;
    (void)to;
    errno = ENOTSUP;
    return -1;
#endif
}

extern char **environ;

char **penstock_environment(void) {
    return environ;
}

int penstock_memory_file(void) {
#if defined(__linux__)
    return memfd_create("penstock", MFD_CLOEXEC);
#else
    return -1;
#endif
}

void penstock_share_nice_value(int process) {
#if defined(__linux__)
    // Of the process: its first thread's. Dispatch gives its own threads other ones where it may.
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid());
    if (getpriority(PRIO_PROCESS, (id_t)process) != nice) setpriority(PRIO_PROCESS, (id_t)process, nice);
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return;
    for (struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads)) {
        id_t thread = (id_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && getpriority(PRIO_PROCESS, thread) != nice) setpriority(PRIO_PROCESS, thread, nice);
    }
    closedir(threads);
#else
    (void)process;
#endif
}

int penstock_open_path(const char *path) {
#if defined(__linux__)
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
#else
    (void)path;
    errno = ENOTSUP;
    return -1;
#endif
}

int penstock_change_owner(int descriptor, uint32_t user, uint32_t group) {
#if defined(__linux__)
    return fchownat(descriptor, "", user, group, AT_EMPTY_PATH);
#else
    return fchown(descriptor, user, group);
#endif
}

// getgrouplist(3) has another type for the numbers of groups there.
#if defined(__APPLE__)
typedef int group_number;
#else
typedef gid_t group_number;
#endif
// As many groups as a user can have on Linux (NGROUPS_MAX).
#define GROUPS_MAX 65536

int penstock_is_member(uint32_t user, uint32_t group) {
    char text[16384];
    struct passwd entry, *found = NULL;
    if (getpwuid_r((uid_t)user, &entry, text, sizeof text, &found) != 0 || found == NULL) return 0;
    for (int capacity = 64; capacity <= GROUPS_MAX; capacity *= 4) {
        group_number *groups = malloc(sizeof *groups * (size_t)capacity);
        if (groups == NULL) return 0;
        int count = capacity;
        int is_whole = getgrouplist(entry.pw_name, (group_number)entry.pw_gid, groups, &count) >= 0;
        int is_member = 0;
        for (int i = 0; is_whole && i < count; i++) is_member |= (uint32_t)groups[i] == group;
        free(groups);
        if (is_whole) return is_member;
    }
    return 0;
}

int penstock_change_mode(int descriptor, uint32_t mode) {
#if defined(__linux__)
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return chmod(path, mode);
#else
    return fchmod(descriptor, (mode_t)mode);
#endif
}

int penstock_handles(int signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) != 0) return 0;
    return (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}
