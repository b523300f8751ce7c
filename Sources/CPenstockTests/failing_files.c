#include "penstock_tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

// What SQLite calls in place of open(2).
static int open_to_read(const char *path, int flags, int mode) {
    if ((flags & O_ACCMODE) == O_RDONLY) return open(path, flags, mode);
    errno = EIO;
    return -1;
}

static int refused_version;

// What SQLite calls in place of pwrite(2). https://sqlite.org/fileformat.html: what the file's header begins with, and where the version is.
static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
    static const char start[] = "SQLite format 3";
    int is_header = offset == 0 && count >= 100 && memcmp(bytes, start, sizeof start) == 0;
    if (!is_header || ((const unsigned char *)bytes)[18] != refused_version) return pwrite(descriptor, bytes, count, offset);
    refused_version = 0;
    errno = EIO;
    return -1;
}

static int replace(const char *name, sqlite3_syscall_ptr call) {
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    return files->xSetSystemCall(files, name, call) == SQLITE_OK ? 0 : -1;
}

int penstock_refuse_writes(void) { return replace("open", (sqlite3_syscall_ptr)open_to_read); }

int penstock_refuse_header(int version) {
    refused_version = version;
    // Which of the two it calls is chosen as it is built.
    return replace("pwrite", (sqlite3_syscall_ptr)write_at) | replace("pwrite64", (sqlite3_syscall_ptr)write_at);
}
