// The SQL files, as they are, in the program. As arrays in Swift they took the compiler half a minute.
#include "penstock_migrations.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char step_0001[] = {
#embed "../SQL/0001_log.sql" suffix(, 0)
};
static const char step_0002[] = {
#embed "../SQL/0002_line.sql" suffix(, 0)
};
static const char step_0003[] = {
#embed "../SQL/0003_workers.sql" suffix(, 0)
};
static const char step_0004[] = {
#embed "../SQL/0004_views.sql" suffix(, 0)
};
static const char step_0005[] = {
#embed "../SQL/0005_insert.sql" suffix(, 0)
};
static const char step_0006[] = {
#embed "../SQL/0006_cursor.sql" suffix(, 0)
};
static const char step_0007[] = {
#embed "../SQL/0007_handover.sql" suffix(, 0)
};
static const char step_0008[] = {
#embed "../SQL/0008_deletion.sql" suffix(, 0)
};
static const char step_0009[] = {
#embed "../SQL/0009_answers.sql" suffix(, 0)
};
static const char step_0010[] = {
#embed "../SQL/0010_quarantine.sql" suffix(, 0)
};
static const char step_0011[] = {
#embed "../SQL/0011_schedules.sql" suffix(, 0)
};
static const char step_0012[] = {
#embed "../SQL/0012_pending.sql" suffix(, 0)
};
static const char step_0013[] = {
#embed "../SQL/0013_workflows.sql" suffix(, 0)
};
static const char step_0014[] = {
#embed "../SQL/0014_groups.sql" suffix(, 0)
};
static const char step_0015[] = {
#embed "../SQL/0015_group_insert.sql" suffix(, 0)
};
static const char step_0016[] = {
#embed "../SQL/0016_group_views.sql" suffix(, 0)
};
static const char step_0017[] = {
#embed "../SQL/0017_running.sql" suffix(, 0)
};
static const char step_0018[] = {
#embed "../SQL/0018_turns.sql" suffix(, 0)
};
static const char step_0019[] = {
#embed "../SQL/0019_starts.sql" suffix(, 0)
};
static const char step_0020[] = {
#embed "../SQL/0020_start_views.sql" suffix(, 0)
};
static const char step_0021[] = {
#embed "../SQL/0021_start_insert.sql" suffix(, 0)
};
static const char step_0022[] = {
#embed "../SQL/0022_schedule_starts.sql" suffix(, 0)
};
static const char step_0023[] = {
#embed "../SQL/0023_rates.sql" suffix(, 0)
};
static const char step_0024[] = {
#embed "../SQL/0024_remote_workers.sql" suffix(, 0)
};
static const char step_0025[] = {
#embed "../SQL/0025_group_starts.sql" suffix(, 0)
};
static const char step_0026[] = {
#embed "../SQL/0026_inspecting.sql" suffix(, 0)
};
static const char step_0027[] = {
#embed "../SQL/0027_latencies.sql" suffix(, 0)
};
static const char step_0028[] = {
#embed "../SQL/0028_copy.sql" suffix(, 0)
};
static const char step_0029[] = {
#embed "../SQL/0029_inserts.sql" suffix(, 0)
};
static const char step_0030[] = {
#embed "../SQL/0030_checks.sql" suffix(, 0)
};
static const char step_0031[] = {
#embed "../SQL/0031_moved_schedules.sql" suffix(, 0)
};
static const char step_0032[] = {
#embed "../SQL/0032_conflicts.sql" suffix(, 0)
};
static const char step_0033[] = {
#embed "../SQL/0033_log_readers.sql" suffix(, 0)
};
static const char baseline[] = {
#embed "../Baseline/baseline.sql" suffix(, 0)
};

// In order: the first one is step 1.
static const struct penstock_migrations_step steps[] = {
    {"log", step_0001},
    {"line", step_0002},
    {"workers", step_0003},
    {"views", step_0004},
    {"insert", step_0005},
    {"cursor", step_0006},
    {"handover", step_0007},
    {"deletion", step_0008},
    {"answers", step_0009},
    {"quarantine", step_0010},
    {"schedules", step_0011},
    {"pending", step_0012},
    {"workflows", step_0013},
    {"groups", step_0014},
    {"group_insert", step_0015},
    {"group_views", step_0016},
    {"running", step_0017},
    {"turns", step_0018},
    {"starts", step_0019},
    {"start_views", step_0020},
    {"start_insert", step_0021},
    {"schedule_starts", step_0022},
    {"rates", step_0023},
    {"remote_workers", step_0024},
    {"group_starts", step_0025},
    {"inspecting", step_0026},
    {"latencies", step_0027},
    {"copy", step_0028},
    {"inserts", step_0029},
    {"checks", step_0030},
    {"moved_schedules", step_0031},
    {"conflicts", step_0032},
    {"log_readers", step_0033},
};

int penstock_migrations_step_count(void) { return (int)(sizeof steps / sizeof steps[0]); }

struct penstock_migrations_step penstock_migrations_step_at(int index) { return steps[index]; }

const char *penstock_migrations_baseline(void) { return baseline; }
