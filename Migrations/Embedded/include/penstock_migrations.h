#ifndef PENSTOCK_MIGRATIONS_H
#define PENSTOCK_MIGRATIONS_H

// A step of the schema: its name and its statements, as UTF-8 that ends with a zero.
struct penstock_migrations_step {
    const char *_Nonnull name;
    const char *_Nonnull sql;
};

// How many steps there are.
int penstock_migrations_step_count(void);

// The step at an index: 0 for step 1.
struct penstock_migrations_step penstock_migrations_step_at(int index);

// What all steps leave in a new file, as UTF-8 that ends with a zero.
const char *_Nonnull penstock_migrations_baseline(void);

#endif
