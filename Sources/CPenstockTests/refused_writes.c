#include "penstock_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stddef.h>

// What SQLite calls in place of open(2).
static int open_to_read(const char *path, int flags, int mode) {
    if ((flags & O_ACCMODE) == O_RDONLY) return open(path, flags, mode);
    errno = EIO;
    return -1;
}

int penstock_refuse_writes(void) {
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    return files->xSetSystemCall(files, "open", (sqlite3_syscall_ptr)open_to_read) == SQLITE_OK ? 0 : -1;
}
