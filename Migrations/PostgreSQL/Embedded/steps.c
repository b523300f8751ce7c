// The SQL files, as they are, in the program. As arrays in Swift they took the compiler half a minute.
#include "penstock_postgres_migrations.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char step_0001[] = {
#embed "../SQL/0001_functions.sql" suffix(, 0)
};
static const char step_0002[] = {
#embed "../SQL/0002_log.sql" suffix(, 0)
};
static const char step_0003[] = {
#embed "../SQL/0003_line.sql" suffix(, 0)
};
static const char step_0004[] = {
#embed "../SQL/0004_workers.sql" suffix(, 0)
};
static const char step_0005[] = {
#embed "../SQL/0005_workflows.sql" suffix(, 0)
};
static const char step_0006[] = {
#embed "../SQL/0006_groups.sql" suffix(, 0)
};
static const char step_0007[] = {
#embed "../SQL/0007_schedules.sql" suffix(, 0)
};
static const char step_0008[] = {
#embed "../SQL/0008_views.sql" suffix(, 0)
};
static const char step_0009[] = {
#embed "../SQL/0009_more_views.sql" suffix(, 0)
};
static const char step_0010[] = {
#embed "../SQL/0010_insert.sql" suffix(, 0)
};
static const char step_0011[] = {
#embed "../SQL/0011_enqueue.sql" suffix(, 0)
};
static const char step_0012[] = {
#embed "../SQL/0012_schedule_insert.sql" suffix(, 0)
};
static const char step_0013[] = {
#embed "../SQL/0013_servers.sql" suffix(, 0)
};
static const char step_0014[] = {
#embed "../SQL/0014_old_snapshots.sql" suffix(, 0)
};
static const char step_0015[] = {
#embed "../SQL/0015_settles.sql" suffix(, 0)
};
static const char step_0016[] = {
#embed "../SQL/0016_copy.sql" suffix(, 0)
};
static const char step_0017[] = {
#embed "../SQL/0017_handover.sql" suffix(, 0)
};
static const char step_0018[] = {
#embed "../SQL/0018_moments.sql" suffix(, 0)
};
static const char step_0019[] = {
#embed "../SQL/0019_checks.sql" suffix(, 0)
};
static const char step_0020[] = {
#embed "../SQL/0020_texts.sql" suffix(, 0)
};
static const char step_0021[] = {
#embed "../SQL/0021_settings.sql" suffix(, 0)
};
static const char step_0022[] = {
#embed "../SQL/0022_locked_looks.sql" suffix(, 0)
};
static const char step_0023[] = {
#embed "../SQL/0023_other_sessions.sql" suffix(, 0)
};
static const char step_0024[] = {
#embed "../SQL/0024_collations.sql" suffix(, 0)
};
static const char step_0025[] = {
#embed "../SQL/0025_log_readers.sql" suffix(, 0)
};

// In order: the first one is step 1.
static const struct penstock_postgres_migrations_step steps[] = {
    {"functions", step_0001},
    {"log", step_0002},
    {"line", step_0003},
    {"workers", step_0004},
    {"workflows", step_0005},
    {"groups", step_0006},
    {"schedules", step_0007},
    {"views", step_0008},
    {"more_views", step_0009},
    {"insert", step_0010},
    {"enqueue", step_0011},
    {"schedule_insert", step_0012},
    {"servers", step_0013},
    {"old_snapshots", step_0014},
    {"settles", step_0015},
    {"copy", step_0016},
    {"handover", step_0017},
    {"moments", step_0018},
    {"checks", step_0019},
    {"texts", step_0020},
    {"settings", step_0021},
    {"locked_looks", step_0022},
    {"other_sessions", step_0023},
    {"collations", step_0024},
    {"log_readers", step_0025},
};

int penstock_postgres_migrations_step_count(void) { return (int)(sizeof steps / sizeof steps[0]); }

struct penstock_postgres_migrations_step penstock_postgres_migrations_step_at(int index) { return steps[index]; }
