// PostgreSQL with SKIP LOCKED. A consumer's transaction is its lease: it deletes rows that nobody else has locked, and
// commits when they are done. Only enqueues wait for the disk.
//
// With groups a row's key is an advisory lock that goes with the transaction: the first row whose key nobody has is taken. A
// row that was gone when the lock came free is deleted by nobody, and the consumer looks again.

#include "postgres.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

PGresult *postgres_checked(PGconn *connection, PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail("postgres: %s", PQerrorMessage(connection));
    return result;
}

void postgres_execute(PGconn *connection, const char *sql) {
    PQclear(postgres_checked(connection, PQexec(connection, sql)));
}

PGconn *postgres_open(void) {
    PGconn *connection = PQconnectdb(options.conninfo);
    if (PQstatus(connection) != CONNECTION_OK) fail("postgres: %s", PQerrorMessage(connection));
    return connection;
}

static void prepare(void) {
    PGconn *connection = postgres_open();
    postgres_execute(connection, "SET client_min_messages = warning");
    postgres_execute(connection, "DROP TABLE IF EXISTS message");
    postgres_execute(connection, "CREATE TABLE message (id bigserial PRIMARY KEY,"
                                 " enqueued_at timestamptz NOT NULL DEFAULT now(), payload bytea NOT NULL,"
                                 " key bigint NOT NULL DEFAULT 0)"
                                 " WITH (autovacuum_vacuum_scale_factor = 0.01,"
                                 " autovacuum_vacuum_cost_delay = 0)");
    PQfinish(connection);
}

void *postgres_connect_to(bool is_producer, const char *put, const char *take) {
    PGconn *connection = postgres_open();
    if (is_producer) {
        PQclear(postgres_checked(connection, PQprepare(connection, "put", put, 0, NULL)));
    } else {
        postgres_execute(connection, "SET synchronous_commit = off");
        PQclear(postgres_checked(connection, PQprepare(connection, "take", take, 0, NULL)));
    }
    return connection;
}

static void *postgres_connect(bool is_producer) {
    return postgres_connect_to(
        is_producer, "INSERT INTO message (payload) SELECT unnest($1::bytea[])",
        "DELETE FROM message WHERE id = ANY (ARRAY(SELECT id FROM message ORDER BY id LIMIT $1::int"
        " FOR UPDATE SKIP LOCKED)) RETURNING id, payload");
}

static void *postgres_groups_connect(bool is_producer) {
    return postgres_connect_to(
        is_producer,
        "INSERT INTO message (payload, key) SELECT payload, (place + $2::bigint) % $3::bigint"
        " FROM unnest($1::bytea[]) WITH ORDINALITY AS row (payload, place)",
        "DELETE FROM message WHERE id = ANY (ARRAY(SELECT id FROM message WHERE pg_try_advisory_xact_lock(key)"
        " ORDER BY id LIMIT $1::int)) RETURNING id, payload");
}

// An array of bytea in PostgreSQL's binary format: dimensions, nulls, the type, length and first index; then each one's
// length and bytes.
void postgres_put(void *raw, int count) {
    size_t room = 20 + (size_t)count * (4 + (size_t)options.payload);
    static char *array;
    if (!array) {
        array = malloc(20 + (size_t)options.batch * (4 + (size_t)options.payload));
        const uint32_t head[] = {htonl(1), htonl(0), htonl(17), htonl((uint32_t)count), htonl(1)};
        memcpy(array, head, sizeof head);
        const uint32_t size = htonl((uint32_t)options.payload);
        for (int i = 0; i < count; i++) {
            char *place = array + 20 + (size_t)i * (4 + (size_t)options.payload);
            memcpy(place, &size, 4);
            memcpy(place + 4, payload_bytes(), (size_t)options.payload);
        }
    }
    char key[24], groups[16];
    snprintf(key, sizeof key, "%lld", (long long)next_key(count));
    snprintf(groups, sizeof groups, "%d", options.groups);
    const char *values[] = {array, key, groups};
    int sizes[] = {(int)room, 0, 0}, formats[] = {1, 0, 0};
    PQclear(postgres_checked(raw, PQexecPrepared(raw, "put", options.groups ? 3 : 1, values, sizes, formats, 0)));
}

static int take(void *raw, int max) {
    char number[16];
    snprintf(number, sizeof number, "%d", max);
    const char *values[] = {number};
    postgres_execute(raw, "BEGIN");
    PGresult *result = postgres_checked(raw, PQexecPrepared(raw, "take", 1, values, NULL, NULL, 1));
    int taken = PQntuples(result);
    PQclear(result);
    if (taken == 0) {
        postgres_execute(raw, "COMMIT");
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return taken;
}

static void settle(void *raw) { postgres_execute(raw, "COMMIT"); }

const peer postgres_peer = {"postgres", prepare, postgres_connect, postgres_put, take, settle};
const peer postgres_groups_peer = {"postgres-groups", prepare, postgres_groups_connect, postgres_put, take, settle};
