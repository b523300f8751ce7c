// Raw SQLite with Penstock's own tables: the least that the same work on the same layout costs.
//
// One set of statements, prepared once. Sequence numbers and depths are read and written once a transaction, as
// Penstock does. Between processes SQLite's busy timeout decides.

#include "bench.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BEGIN, COMMIT, READ_STATE, WRITE_STATE, WRITE_DEPTH, INSERT_LOG, INSERT_READY, SELECT_DUE, SELECT_READY,
    DELETE_READY, INSERT_LEASE, READ_LOG, READ_LEASE, DELETE_LEASE, INSERT_OUTCOME, ANY_READY, STATEMENTS
};

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [READ_STATE] = "SELECT last_sequence, policy_version FROM penstock_state WHERE id = 1",
    [WRITE_STATE] = "UPDATE penstock_state SET last_sequence = ?1 WHERE id = 1",
    [WRITE_DEPTH] = "UPDATE penstock_depth SET ready = ready + ?2, leased = leased + ?3, kept = kept + ?4,"
                    " enqueued_total = enqueued_total + ?5, done_total = done_total + ?4 WHERE queue_id = ?1",
    [INSERT_LOG] = "INSERT INTO penstock_log (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key,"
                   " headers, origin, payload) VALUES (?1, 1, ?2, 0, NULL, NULL, NULL, NULL, ?3)",
    [INSERT_READY] = "INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)"
                     " VALUES (1, 0, 0, ?1, 0, 0, 0)",
    [SELECT_DUE] = "SELECT sequence FROM penstock_scheduled WHERE queue_id = 1 AND due_at <= ?1"
                   " ORDER BY due_at, sequence LIMIT 1000",
    [SELECT_READY] = "SELECT sequence, priority, attempt, forgiven, marks FROM penstock_ready"
                     " WHERE queue_id = 1 ORDER BY priority DESC, turn, sequence LIMIT ?1",
    [DELETE_READY] = "DELETE FROM penstock_ready WHERE queue_id = 1 AND priority = 0 AND turn = 0 AND sequence <= ?1",
    [INSERT_LEASE] = "INSERT INTO penstock_lease (sequence, queue_id, token, worker_id, claimed_at, deadline, priority,"
                     " attempt, forgiven, marks) VALUES (?1, 1, ?2, 1, ?3, ?4, 0, 1, 0, 0)",
    [READ_LOG] = "SELECT enqueued_at, headers, origin, payload FROM penstock_log WHERE sequence = ?1",
    [READ_LEASE] = "SELECT queue_id, token, worker_id, claimed_at, priority, attempt, forgiven, marks"
                   " FROM penstock_lease WHERE sequence = ?1",
    [DELETE_LEASE] = "DELETE FROM penstock_lease WHERE sequence = ?1",
    [INSERT_OUTCOME] = "INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)"
                       " VALUES (1, ?1, 'done', NULL, 1, ?2)",
    [ANY_READY] = "SELECT 1 FROM penstock_ready WHERE queue_id = 1 LIMIT 1",
};

typedef struct {
    sqlite3 *database;
    sqlite3_stmt *statement[STATEMENTS];
    int level;               // what PRAGMA synchronous is
    uint64_t random;
    int64_t *sequence, *token;
    int taken;
    char *copy;              // where a payload goes
} connection;

static void check(connection *c, int code) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) fail("sqlite: %s", sqlite3_errmsg(c->database));
}

static void execute(sqlite3 *database, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) fail("sqlite: %s: %.60s", message, sql);
}

static bool step(connection *c, int index) {
    int code = sqlite3_step(c->statement[index]);
    check(c, code);
    return code == SQLITE_ROW;
}

static void run(connection *c, int index) {
    step(c, index);
    check(c, sqlite3_reset(c->statement[index]));
}

static void bind(connection *c, int index, int place, int64_t value) {
    sqlite3_bind_int64(c->statement[index], place, value);
}

static void settings(sqlite3 *database) {
    sqlite3_busy_timeout(database, 60000);
    execute(database, "PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4000;"
                      " PRAGMA cache_size = -16384");
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void prepare(void) {
    char path[4096];
    const char *ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", options.database, ends[i]);
        unlink(path);
    }
    sqlite3 *database;
    if (sqlite3_open(options.database, &database) != SQLITE_OK) fail("%s cannot be opened", options.database);
    execute(database, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    struct dirent **files;
    int count = scandir(options.schema, &files, NULL, by_name);
    if (count < 0) fail("%s cannot be read", options.schema);
    for (int i = 0; i < count; i++) {
        if (!strstr(files[i]->d_name, ".sql")) continue;
        snprintf(path, sizeof path, "%s/%s", options.schema, files[i]->d_name);
        FILE *file = fopen(path, "r");
        if (!file) fail("%s cannot be read", path);
        static char text[1 << 20];
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        execute(database, text);
    }
    execute(database, "INSERT INTO penstock_queue (name) VALUES ('bench')");
    sqlite3_close(database);
}

static void *sqlite_connect(bool is_producer) {
    (void)is_producer;
    connection *c = calloc(1, sizeof *c);
    if (sqlite3_open(options.database, &c->database) != SQLITE_OK) fail("%s cannot be opened", options.database);
    settings(c->database);
    c->level = 2;
    c->random = (uint64_t)now_ns() * 2654435761u | 1;
    c->sequence = calloc((size_t)options.batch, sizeof *c->sequence);
    c->token = calloc((size_t)options.batch, sizeof *c->token);
    c->copy = malloc((size_t)options.payload + 1);
    for (int i = 0; i < STATEMENTS; i++)
        check(c, sqlite3_prepare_v3(c->database, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statement[i], NULL));
    return c;
}

// FULL flushes the write-ahead log at COMMIT; NORMAL does not.
static void set_level(connection *c, int level) {
    if (c->level == level) return;
    execute(c->database, level == 2 ? "PRAGMA synchronous = 2" : "PRAGMA synchronous = 1");
    c->level = level;
}

static int64_t begin(connection *c) {
    run(c, BEGIN);
    step(c, READ_STATE);
    int64_t last = sqlite3_column_int64(c->statement[READ_STATE], 0);
    sqlite3_reset(c->statement[READ_STATE]);
    return last;
}

static void commit(connection *c, int64_t ready, int64_t leased, int64_t kept, int64_t enqueued) {
    int64_t values[] = {1, ready, leased, kept, enqueued};
    for (int i = 0; i < 5; i++) bind(c, WRITE_DEPTH, i + 1, values[i]);
    run(c, WRITE_DEPTH);
    run(c, COMMIT);
}

static void put(void *raw, int count) {
    connection *c = raw;
    set_level(c, options.durable ? 2 : 1);
    int64_t last = begin(c), now = wall_us();
    for (int i = 0; i < count; i++) {
        last++;
        bind(c, INSERT_LOG, 1, last);
        bind(c, INSERT_LOG, 2, now);
        sqlite3_bind_blob(c->statement[INSERT_LOG], 3, payload_bytes(), options.payload, SQLITE_STATIC);
        run(c, INSERT_LOG);
        bind(c, INSERT_READY, 1, last);
        run(c, INSERT_READY);
    }
    bind(c, WRITE_STATE, 1, last);
    run(c, WRITE_STATE);
    commit(c, count, 0, 0, count);
}

static int take(void *raw, int max) {
    connection *c = raw;
    c->taken = 0;
    // Nobody takes the lock for nothing.
    bool any = step(c, ANY_READY);
    sqlite3_reset(c->statement[ANY_READY]);
    if (!any) {
        usleep(1000);
        return 0;
    }
    set_level(c, 1);
    begin(c);
    int64_t now = wall_us();
    bind(c, SELECT_DUE, 1, now);
    run(c, SELECT_DUE);
    bind(c, SELECT_READY, 1, max);
    while (step(c, SELECT_READY)) c->sequence[c->taken++] = sqlite3_column_int64(c->statement[SELECT_READY], 0);
    sqlite3_reset(c->statement[SELECT_READY]);
    for (int i = 0; i < c->taken; i++) {
        c->random ^= c->random << 13, c->random ^= c->random >> 7, c->random ^= c->random << 17;
        c->token[i] = (int64_t)c->random;
        int64_t values[] = {c->sequence[i], c->token[i], now, now + 30000000};
        for (int place = 0; place < 4; place++) bind(c, INSERT_LEASE, place + 1, values[place]);
        run(c, INSERT_LEASE);
        bind(c, READ_LOG, 1, c->sequence[i]);
        if (!step(c, READ_LOG)) fail("a message is not in the log");
        int bytes = sqlite3_column_bytes(c->statement[READ_LOG], 3);
        memcpy(c->copy, sqlite3_column_blob(c->statement[READ_LOG], 3),
               (size_t)(bytes < options.payload ? bytes : options.payload));
        sqlite3_reset(c->statement[READ_LOG]);
    }
    if (c->taken) {
        bind(c, DELETE_READY, 1, c->sequence[c->taken - 1]);
        run(c, DELETE_READY);
    }
    commit(c, -c->taken, c->taken, 0, 0);
    return c->taken;
}

static void settle(void *raw) {
    connection *c = raw;
    set_level(c, 1);
    begin(c);
    int64_t now = wall_us();
    for (int i = 0; i < c->taken; i++) {
        bind(c, READ_LEASE, 1, c->sequence[i]);
        if (!step(c, READ_LEASE) || sqlite3_column_int64(c->statement[READ_LEASE], 1) != c->token[i])
            fail("a lease is gone");
        sqlite3_reset(c->statement[READ_LEASE]);
        bind(c, DELETE_LEASE, 1, c->sequence[i]);
        run(c, DELETE_LEASE);
        bind(c, INSERT_OUTCOME, 1, c->sequence[i]);
        bind(c, INSERT_OUTCOME, 2, now);
        run(c, INSERT_OUTCOME);
    }
    commit(c, 0, -c->taken, c->taken, 0);
}

const peer sqlite_peer = {"sqlite", prepare, sqlite_connect, put, take, settle};
