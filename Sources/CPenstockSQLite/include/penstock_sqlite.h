#ifndef PENSTOCK_SQLITE_H
#define PENSTOCK_SQLITE_H

#include <sqlite3.h>

// Whether this connection, when it is the last to close a database, leaves its write-ahead log as it is, or removes it. SQLite has it
// as a function with any number of arguments, which Swift cannot call.
int penstock_leave_write_ahead_log(sqlite3 *connection, int leaves);

// Whether the database's header says that it has a write-ahead log; also on a connection that was told that the file does not change.
// It is read by the descriptor that SQLite has: one that this process opens and closes takes all of SQLite's locks on the file along.
int penstock_has_write_ahead_log(sqlite3 *connection);

// To be called right before a COMMIT of a transaction that has written: what it appends to the write-ahead log goes there in one
// call of the system, in place of two for each page. Where that cannot be, nothing changes.
void penstock_begin_commit(sqlite3 *connection);

// To be called right after that COMMIT, whatever became of it.
void penstock_end_commit(sqlite3 *connection);

#endif
