#ifndef PENSTOCK_POSTGRES_MIGRATIONS_H
#define PENSTOCK_POSTGRES_MIGRATIONS_H

// A step of the schema in PostgreSQL: its name and its statements, as UTF-8 that ends with a zero.
struct penstock_postgres_migrations_step {
    const char *_Nonnull name;
    const char *_Nonnull sql;
};

// How many steps there are.
int penstock_postgres_migrations_step_count(void);

// The step at an index: 0 for step 1.
struct penstock_postgres_migrations_step penstock_postgres_migrations_step_at(int index);

#endif
