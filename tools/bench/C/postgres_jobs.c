// PostgreSQL as the job queues on it are made, graphile-worker first: a claim is an update that says who has the row, counts
// the attempt and commits at once, so a job outlives its worker's connection; a second transaction deletes the row. Each
// enqueue notifies, and an idle worker listens.

#include "postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// How long an idle worker relies on notifications, in milliseconds.
static const int patience = 2000;

static char *claimed;  // The ids of the last take, as an array of PostgreSQL's.

static void prepare(void) {
    PGconn *connection = postgres_open();
    postgres_execute(connection, "SET client_min_messages = warning");
    postgres_execute(connection, "DROP TABLE IF EXISTS job");
    postgres_execute(connection, "CREATE TABLE job (id bigserial PRIMARY KEY, payload bytea NOT NULL,"
                                 " priority smallint NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(),"
                                 " attempts smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL DEFAULT 25,"
                                 " last_error text, created_at timestamptz NOT NULL DEFAULT now(),"
                                 " locked_at timestamptz, locked_by text)"
                                 " WITH (autovacuum_vacuum_scale_factor = 0.01,"
                                 " autovacuum_vacuum_cost_delay = 0)");
    postgres_execute(connection, "CREATE INDEX job_ready ON job (priority, run_at, id)"
                                 " WHERE locked_at IS NULL AND attempts < max_attempts");
    PQfinish(connection);
}

static void *jobs_connect(bool is_producer) {
    char take[600];
    snprintf(take, sizeof take,
             "UPDATE job SET attempts = attempts + 1, locked_at = now(), locked_by = 'worker-%d' WHERE id = ANY (ARRAY("
             "SELECT id FROM job WHERE locked_at IS NULL AND attempts < max_attempts AND run_at <= now()"
             " ORDER BY priority, run_at, id LIMIT $1::int FOR UPDATE SKIP LOCKED)) RETURNING id, payload",
             (int)getpid());
    PGconn *connection = postgres_connect_to(
        is_producer,
        "WITH added AS (INSERT INTO job (payload) SELECT unnest($1::bytea[]) RETURNING id)"
        " SELECT pg_notify('job', count(*)::text) FROM added",
        take);
    if (!is_producer) {
        claimed = malloc((size_t)options.batch * 21 + 2);
        PQclear(postgres_checked(
            connection, PQprepare(connection, "settle", "DELETE FROM job WHERE id = ANY ($1::bigint[])", 0, NULL)));
        postgres_execute(connection, "LISTEN job");
    }
    return connection;
}

// Waits until something was added since the last look, or patience ends.
static void wait_for_notice(PGconn *connection) {
    bool is_told = false;
    for (PGnotify *notice; (notice = PQnotifies(connection)); PQfreemem(notice)) is_told = true;
    if (is_told) return;
    struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
    poll(&socket, 1, patience);
    if (!PQconsumeInput(connection)) fail("postgres: %s", PQerrorMessage(connection));
}

static int take(void *raw, int max) {
    char number[16];
    snprintf(number, sizeof number, "%d", max);
    const char *values[] = {number};
    PGresult *result = postgres_checked(raw, PQexecPrepared(raw, "take", 1, values, NULL, NULL, 0));
    int taken = PQntuples(result);
    char *end = claimed;
    for (int row = 0; row < taken; row++) end += sprintf(end, "%c%s", row ? ',' : '{', PQgetvalue(result, row, 0));
    sprintf(end, "}");
    PQclear(result);
    if (taken == 0) wait_for_notice(raw);
    return taken;
}

static void settle(void *raw) {
    const char *values[] = {claimed};
    PQclear(postgres_checked(raw, PQexecPrepared(raw, "settle", 1, values, NULL, NULL, 0)));
}

const peer postgres_jobs_peer = {"postgres-jobs", prepare, jobs_connect, postgres_put, take, settle};
