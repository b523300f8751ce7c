#include <sqlite3.h>

// Whether this connection, when it is the last to close a database, leaves its write-ahead log as it is. SQLite has it as a
// function with any number of arguments, which Swift cannot call.
static inline int penstock_leave_write_ahead_log(sqlite3 *connection, int leaves) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves, (int *)0);
}
