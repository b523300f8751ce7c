#ifndef PENSTOCK_DASHBOARD_H
#define PENSTOCK_DASHBOARD_H

// A file of the dashboard: its name and its text, as UTF-8 that ends with a zero.
struct penstock_dashboard_file {
    const char *_Nonnull name;
    const char *_Nonnull text;
};

// How many files there are.
int penstock_dashboard_file_count(void);

// The file at an index, from 0 on.
struct penstock_dashboard_file penstock_dashboard_file_at(int index);

#endif
