#ifndef PENSTOCK_TESTS_H
#define PENSTOCK_TESTS_H

#include <sys/types.h>

/// Starts a process that has nothing open of this one but three files.
///
/// `words` and `variables` end with a null. A number of `files` below 0 stands for nothing to read or write. A process in a group of its
/// own does not get the signals that are sent to this one's group, as a terminal does. Returns 0, or the number of an error.
int penstock_start_child(
    char *const words[], char *const variables[], const int files[3], const char *folder, int ownGroup, pid_t *id);

/// Has SQLite in this process keep the write-ahead log of each file whose name has `kept-log` in it when its last connection closes, as
/// Apple's does of every file.
void penstock_keep_logs(void);

/// Has the system refuse SQLite in this process each file that it opens to write, with an error of the disk. Returns 0.
int penstock_refuse_writes(void);

/// Has the first write of a file's header that says `version` fail for SQLite in this process with an error of the disk: 2 for a file with a
/// write-ahead log, 1 for one without. Returns 0.
int penstock_refuse_header(int version);

#endif
