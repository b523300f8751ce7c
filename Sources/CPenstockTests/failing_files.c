#include "penstock_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stddef.h>
#include <unistd.h>

// What SQLite calls in place of open(2).
static int open_to_read(const char *path, int flags, int mode) {
    if ((flags & O_ACCMODE) == O_RDONLY) return open(path, flags, mode);
    errno = EIO;
    return -1;
}

static int removals_left;

// What SQLite calls in place of unlink(2).
static int fail_to_remove(const char *path) {
    if (--removals_left != 0) return unlink(path);
    errno = EIO;
    return -1;
}

static int replace(const char *name, sqlite3_syscall_ptr call) {
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    return files->xSetSystemCall(files, name, call) == SQLITE_OK ? 0 : -1;
}

int penstock_refuse_writes(void) { return replace("open", (sqlite3_syscall_ptr)open_to_read); }

int penstock_fail_removal(int number) {
    removals_left = number;
    return replace("unlink", (sqlite3_syscall_ptr)fail_to_remove);
}
