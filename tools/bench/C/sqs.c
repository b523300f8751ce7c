// sqs-floor PORT FILE: the least that a client of Amazon SQS costs a server. One thread answers CreateQueue, SendMessage,
// ReceiveMessage and DeleteMessage, each a transaction of raw SQLite on one table, on the disk before the answer. It checks nothing,
// and knows no names, rights, leases, history or other clients.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static sqlite3 *database;
static sqlite3_stmt *sending, *receiving, *deleting;
static int port;

static void check(int passed, const char *what) {
    if (passed) return;
    fprintf(stderr, "sqs-floor: %s: %s\n", what, database ? sqlite3_errmsg(database) : "failed");
    exit(1);
}

static void open_database(const char *path) {
    check(sqlite3_open(path, &database) == SQLITE_OK, "open");
    const char *setup = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                        "CREATE TABLE message (id INTEGER PRIMARY KEY, state INTEGER, body TEXT);"
                        "CREATE INDEX ready ON message (state, id)";
    check(sqlite3_exec(database, setup, NULL, NULL, NULL) == SQLITE_OK, "tables");
    const char *texts[] = {"INSERT INTO message (state, body) VALUES (0, ?1)",
                           "UPDATE message SET state = 1 WHERE id = (SELECT id FROM message WHERE state = 0 ORDER BY id LIMIT 1)"
                           " RETURNING id, body",
                           "DELETE FROM message WHERE id = ?1"};
    sqlite3_stmt **statements[] = {&sending, &receiving, &deleting};
    for (int i = 0; i < 3; i++)
        check(sqlite3_prepare_v2(database, texts[i], -1, statements[i], NULL) == SQLITE_OK, texts[i]);
}

// The text of a field of an object in JSON that has no escapes.
static const char *field(const char *body, const char *name, int *length) {
    const char *found = strstr(body, name);
    check(found != NULL, name);
    found = strchr(found + strlen(name) + 1, '"') + 1;
    *length = (int)strcspn(found, "\"");
    return found;
}

static int answer(const char *head, const char *body, char *json, size_t size) {
    int length;
    if (strstr(head, ".CreateQueue"))
        return snprintf(json, size, "{\"QueueUrl\":\"http://127.0.0.1:%d/0/sqs\"}", port);
    if (strstr(head, ".SendMessage")) {
        const char *text = field(body, "\"MessageBody\"", &length);
        sqlite3_bind_text(sending, 1, text, length, SQLITE_STATIC);
        check(sqlite3_step(sending) == SQLITE_DONE, "send");
        sqlite3_reset(sending);
        return snprintf(json, size, "{\"MessageId\":\"%lld\"}", (long long)sqlite3_last_insert_rowid(database));
    }
    if (strstr(head, ".ReceiveMessage")) {
        check(sqlite3_step(receiving) == SQLITE_ROW, "receive");
        int written = snprintf(json, size, "{\"Messages\":[{\"MessageId\":\"%s\",\"ReceiptHandle\":\"%s\",\"Body\":\"%s\"}]}",
                               (const char *)sqlite3_column_text(receiving, 0), (const char *)sqlite3_column_text(receiving, 0),
                               (const char *)sqlite3_column_text(receiving, 1));
        check(sqlite3_step(receiving) == SQLITE_DONE, "receive");
        sqlite3_reset(receiving);
        return written;
    }
    const char *handle = field(body, "\"ReceiptHandle\"", &length);
    sqlite3_bind_text(deleting, 1, handle, length, SQLITE_STATIC);
    check(sqlite3_step(deleting) == SQLITE_DONE, "delete");
    sqlite3_reset(deleting);
    return snprintf(json, size, "{}");
}

// Reads one request and answers it. The client sends the next one when it has the answer.
static int serve(int client) {
    static char request[1 << 16], json[1 << 16], response[(1 << 16) + 256];
    ssize_t have = 0, count;
    char *body = NULL;
    do {
        count = read(client, request + have, sizeof request - 1 - (size_t)have);
        if (count <= 0) return 0;
        request[have += count] = 0;
        char *end = strstr(request, "\r\n\r\n"), *length = strcasestr(request, "content-length:");
        body = end && end + 4 + (length ? atoi(length + 15) : 0) <= request + have ? end + 4 : NULL;
    } while (!body);
    body[-1] = 0;
    int size = answer(request, body, json, sizeof json);
    int whole = snprintf(response, sizeof response,
                         "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s", size, json);
    return write(client, response, (size_t)whole) == whole;
}

int main(int count, char **words) {
    check(count == 3, "usage: sqs-floor PORT FILE");
    port = atoi(words[1]);
    open_database(words[2]);
    int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0), yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    check(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 16) == 0, "listen");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    while (epoll_wait(poll, &event, 1, -1) == 1) {
        if (event.data.fd == listener) {
            event.data.fd = accept(listener, NULL, NULL);
            setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
        } else if (!serve(event.data.fd)) {
            close(event.data.fd);
        }
    }
    return 0;
}
