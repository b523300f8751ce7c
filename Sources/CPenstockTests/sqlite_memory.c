#include "penstock_tests.h"

#include <sqlite3.h>

// SQLite counts the memory that all connections of a process use, under one lock. Tests that run side by side open files all the
// time, and would wait for it a third of theirs. It can only be told before its first use: so when the tests are loaded.
__attribute__((constructor)) static void stop_counting_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
