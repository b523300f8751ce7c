#define _GNU_SOURCE
#include "penstock_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

int penstock_start_child(
    char *const words[], char *const variables[], const int files[3], const char *folder, int ownGroup, pid_t *id) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int number = 0; number < 3; number++) {
        if (files[number] >= 0) {
            posix_spawn_file_actions_adddup2(&actions, files[number], number);
        } else {
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0);
        }
    }
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    // Threads of tests may have signals blocked, or ignored, which a process would begin with.
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    if (ownGroup) {
        flags |= POSIX_SPAWN_SETPGROUP;
        posix_spawnattr_setpgroup(&attributes, 0);
    }
    posix_spawnattr_setflags(&attributes, flags);
    int failure = posix_spawn(id, words[0], &actions, &attributes, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}
