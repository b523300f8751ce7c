// The files of the dashboard, as they are, in the program. SwiftPM's own way (`embedInCode`) is one build system's: Xcode has none, nor has
// Swift 6.4 by default.
#include "penstock_dashboard.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char audit_mustache[] = {
#embed "../Resources/audit.mustache" suffix(, 0)
};
static const char charts_mustache[] = {
#embed "../Resources/charts.mustache" suffix(, 0)
};
static const char dead_mustache[] = {
#embed "../Resources/dead.mustache" suffix(, 0)
};
static const char doctor_mustache[] = {
#embed "../Resources/doctor.mustache" suffix(, 0)
};
static const char layout_mustache[] = {
#embed "../Resources/layout.mustache" suffix(, 0)
};
static const char log_mustache[] = {
#embed "../Resources/log.mustache" suffix(, 0)
};
static const char login_mustache[] = {
#embed "../Resources/login.mustache" suffix(, 0)
};
static const char message_mustache[] = {
#embed "../Resources/message.mustache" suffix(, 0)
};
static const char messages_mustache[] = {
#embed "../Resources/messages.mustache" suffix(, 0)
};
static const char overview_mustache[] = {
#embed "../Resources/overview.mustache" suffix(, 0)
};
static const char policy_mustache[] = {
#embed "../Resources/policy.mustache" suffix(, 0)
};
static const char policyFields_mustache[] = {
#embed "../Resources/policyFields.mustache" suffix(, 0)
};
static const char problem_mustache[] = {
#embed "../Resources/problem.mustache" suffix(, 0)
};
static const char queue_mustache[] = {
#embed "../Resources/queue.mustache" suffix(, 0)
};
static const char queueNew_mustache[] = {
#embed "../Resources/queueNew.mustache" suffix(, 0)
};
static const char schedule_mustache[] = {
#embed "../Resources/schedule.mustache" suffix(, 0)
};
static const char schedules_mustache[] = {
#embed "../Resources/schedules.mustache" suffix(, 0)
};
static const char script_js[] = {
#embed "../Resources/script.js" suffix(, 0)
};
static const char style_css[] = {
#embed "../Resources/style.css" suffix(, 0)
};
static const char tiles_mustache[] = {
#embed "../Resources/tiles.mustache" suffix(, 0)
};
static const char workers_mustache[] = {
#embed "../Resources/workers.mustache" suffix(, 0)
};
static const char workflow_mustache[] = {
#embed "../Resources/workflow.mustache" suffix(, 0)
};
static const char workflows_mustache[] = {
#embed "../Resources/workflows.mustache" suffix(, 0)
};

static const struct penstock_dashboard_file files[] = {
    {"audit.mustache", audit_mustache},
    {"charts.mustache", charts_mustache},
    {"dead.mustache", dead_mustache},
    {"doctor.mustache", doctor_mustache},
    {"layout.mustache", layout_mustache},
    {"log.mustache", log_mustache},
    {"login.mustache", login_mustache},
    {"message.mustache", message_mustache},
    {"messages.mustache", messages_mustache},
    {"overview.mustache", overview_mustache},
    {"policy.mustache", policy_mustache},
    {"policyFields.mustache", policyFields_mustache},
    {"problem.mustache", problem_mustache},
    {"queue.mustache", queue_mustache},
    {"queueNew.mustache", queueNew_mustache},
    {"schedule.mustache", schedule_mustache},
    {"schedules.mustache", schedules_mustache},
    {"script.js", script_js},
    {"style.css", style_css},
    {"tiles.mustache", tiles_mustache},
    {"workers.mustache", workers_mustache},
    {"workflow.mustache", workflow_mustache},
    {"workflows.mustache", workflows_mustache},
};

int penstock_dashboard_file_count(void) { return (int)(sizeof files / sizeof files[0]); }

struct penstock_dashboard_file penstock_dashboard_file_at(int index) { return files[index]; }
