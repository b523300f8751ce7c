// What the peers on PostgreSQL share: connections, and the put of an array of payloads.
#pragma once

#include "bench.h"

#include <libpq-fe.h>

/// A connection to options.conninfo.
PGconn *postgres_open(void);
/// Ends the program unless the server did what it was asked to.
PGresult *postgres_checked(PGconn *connection, PGresult *result);
void postgres_execute(PGconn *connection, const char *sql);

/// A connection with the statement `put` of a producer, or `take` of a consumer, whose commits wait for no disk.
void *postgres_connect_to(bool is_producer, const char *put, const char *take);
/// Executes `put` with `count` payloads as its array of bytea.
void postgres_put(void *connection, int count);
