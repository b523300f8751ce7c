#include "penstock_system.h"

#include <stdlib.h>

#if defined(__GLIBC__)

static int count_of_arguments;
static char **first_argument;

static void keep_arguments(int count, char **arguments, char **variables) {
    (void)variables;
    count_of_arguments = count;
    first_argument = arguments;
}

// glibc calls what stands in this section before main, with the arguments of main; other libraries give it none. The section is named by
// hand, as a function with the attribute `constructor` is one without arguments to some compilers.
__attribute__((section(".init_array"), used))
static void (*keeper)(int, char **, char **) = keep_arguments;

char **penstock_arguments(int *count) {
    *count = count_of_arguments;
    return first_argument;
}

#else

char **penstock_arguments(int *count) {
    *count = 0;
    return NULL;
}

#endif
