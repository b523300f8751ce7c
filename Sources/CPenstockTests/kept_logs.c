#include "penstock_tests.h"

#include <sqlite3.h>
#include <string.h>

#if defined(__APPLE__)

void penstock_keep_logs(void) {}

#else

// SQLite calls it for each connection that is opened, before the program has it.
static int keep_log(sqlite3 *connection, char **message, const void *functions) {
    (void)message;
    (void)functions;
    const char *path = sqlite3_db_filename(connection, "main");
    int persists = 1;
    if (path != NULL && strstr(path, "kept-log") != NULL)
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &persists);
    return SQLITE_OK;
}

void penstock_keep_logs(void) { sqlite3_auto_extension((void (*)(void))keep_log); }

#endif
