#include "penstock_sqlite.h"

#include <stddef.h>
#include <string.h>

// SQLite appends a page to its write-ahead log as a frame, in two calls of the system: 24 bytes, and the page. The 24 bytes begin
// with the page's number and, in the last frame of a transaction alone, the size of the database, which is never 0; see
// https://www.sqlite.org/fileformat2.html#the_write_ahead_log. Others see the frames only when SQLite has put them into the log's
// index, after the last one was written without an error. So within a COMMIT they can be gathered, and written when the last one comes.
//
// The file that SQLite has opened gets functions of ours before the system's. They do nothing but between penstock_begin_commit and
// the last frame: what a transaction spills before its COMMIT, and what is rolled back, is written as ever. An error is SQLite's to
// handle as if the last frame could not be written.

#define FRAME_HEADER_BYTES 24
// When so much is gathered, it is written: SQLite's file takes less than 128 KiB in one call (os_unix.c), and a frame has 64 KiB and
// 24 bytes at most.
#define GATHERED_BYTES_MAX (1 << 16)
#define CAPACITY (GATHERED_BYTES_MAX + (1 << 16) + FRAME_HEADER_BYTES)

typedef struct {
    // First, as a file's functions are found by their address.
    sqlite3_io_methods methods;
    const sqlite3_io_methods *system;
    int is_gathering;
    // Whether the last thing gathered is a frame's header, and whether it says that the frame is the last one.
    int is_page_next;
    int is_last;
    sqlite3_int64 offset;
    int count;
    unsigned char bytes[CAPACITY];
} log_file;

static log_file *log_of(sqlite3_file *file) { return (log_file *)file->pMethods; }

static int write_gathered(sqlite3_file *file, log_file *log) {
    if (log->count == 0) return SQLITE_OK;
    int count = log->count;
    log->count = 0;
    log->is_page_next = 0;
    return log->system->xWrite(file, log->bytes, count, log->offset);
}

// Whether there was room for it.
static int gather(log_file *log, const void *bytes, int count, sqlite3_int64 offset) {
    if (count > CAPACITY - log->count) return 0;
    if (log->count == 0) log->offset = offset;
    memcpy(log->bytes + log->count, bytes, (size_t)count);
    log->count += count;
    return 1;
}

static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    log_file *log = log_of(file);
    if (!log->is_gathering) return log->system->xWrite(file, bytes, count, offset);
    int follows = log->count == 0 || offset == log->offset + log->count;
    if (follows && !log->is_page_next && count == FRAME_HEADER_BYTES && gather(log, bytes, count, offset)) {
        const unsigned char *header = bytes;
        log->is_last = (header[4] | header[5] | header[6] | header[7]) != 0;
        log->is_page_next = 1;
        return SQLITE_OK;
    }
    if (follows && log->is_page_next && count > FRAME_HEADER_BYTES && gather(log, bytes, count, offset)) {
        log->is_page_next = 0;
        if (log->is_last) log->is_gathering = 0;
        return log->is_last || log->count >= GATHERED_BYTES_MAX ? write_gathered(file, log) : SQLITE_OK;
    }
    // A page of a frame that is there already, or the log's own header: in its turn.
    int result = write_gathered(file, log);
    return result == SQLITE_OK ? log->system->xWrite(file, bytes, count, offset) : result;
}

static int log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    log_file *log = log_of(file);
    int result = write_gathered(file, log);
    return result == SQLITE_OK ? log->system->xRead(file, bytes, count, offset) : result;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    log_file *log = log_of(file);
    int result = write_gathered(file, log);
    return result == SQLITE_OK ? log->system->xTruncate(file, size) : result;
}

static int log_sync(sqlite3_file *file, int flags) {
    log_file *log = log_of(file);
    int result = write_gathered(file, log);
    return result == SQLITE_OK ? log->system->xSync(file, flags) : result;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    log_file *log = log_of(file);
    int result = write_gathered(file, log);
    return result == SQLITE_OK ? log->system->xFileSize(file, size) : result;
}

static int log_close(sqlite3_file *file) {
    log_file *log = log_of(file);
    file->pMethods = log->system;
    sqlite3_free(log);
    return file->pMethods->xClose(file);
}

// The connection's write-ahead log, if it has one that is open.
static sqlite3_file *open_log(sqlite3 *connection) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK) return NULL;
    return file != NULL && file->pMethods != NULL ? file : NULL;
}

// Whether the database has a write-ahead log: SQLite gives the file of a rollback journal in the same way.
static int has_log(sqlite3 *connection) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(connection, "PRAGMA main.journal_mode", -1, &statement, NULL) != SQLITE_OK) return 0;
    int has = sqlite3_step(statement) == SQLITE_ROW
        && sqlite3_stricmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    sqlite3_finalize(statement);
    return has;
}

static int is_ours(const sqlite3_file *file) { return file->pMethods->xWrite == log_write; }

static int make_ours(sqlite3_file *file) {
    log_file *log = sqlite3_malloc64(sizeof(log_file));
    if (log == NULL) return 0;
    memset(log, 0, offsetof(log_file, bytes));
    const sqlite3_io_methods *system = file->pMethods;
    // A file of an older kind has fewer functions.
    size_t bytes = system->iVersion >= 3 ? sizeof(sqlite3_io_methods)
        : system->iVersion == 2          ? offsetof(sqlite3_io_methods, xFetch)
                                         : offsetof(sqlite3_io_methods, xShmMap);
    memcpy(&log->methods, system, bytes);
    log->methods.xClose = log_close;
    log->methods.xRead = log_read;
    log->methods.xWrite = log_write;
    log->methods.xTruncate = log_truncate;
    log->methods.xSync = log_sync;
    log->methods.xFileSize = log_size;
    log->system = system;
    file->pMethods = &log->methods;
    return 1;
}

void penstock_begin_commit(sqlite3 *connection) {
    sqlite3_file *file = open_log(connection);
    if (file == NULL) return;
    if (!is_ours(file) && !(has_log(connection) && make_ours(file))) return;
    log_of(file)->is_gathering = 1;
}

void penstock_end_commit(sqlite3 *connection) {
    sqlite3_file *file = open_log(connection);
    if (file == NULL || !is_ours(file)) return;
    log_file *log = log_of(file);
    log->is_gathering = 0;
    // A COMMIT that has failed before its last frame: nobody is to see the others, and the next transaction writes in their place.
    log->count = 0;
    log->is_page_next = 0;
}

int penstock_leave_write_ahead_log(sqlite3 *connection, int leaves) {
    // Apple's SQLite keeps the log and its index when the last connection closes, unless it is told otherwise.
    int persists = 0;
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &persists);
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves, (int *)0);
}

int penstock_has_write_ahead_log(sqlite3 *connection) {
    sqlite3_file *file = NULL;
    // https://sqlite.org/fileformat.html: the version that a reader has to know, 2 for write-ahead logs.
    unsigned char version = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return 0;
    if (file == NULL || file->pMethods == NULL) return 0;
    return file->pMethods->xRead(file, &version, 1, 19) == SQLITE_OK && version == 2;
}
