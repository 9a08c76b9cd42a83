#ifndef SQLITE_OPTIONS_H
#define SQLITE_OPTIONS_H

// Turns off SQLite's count of allocated memory. The count takes a global lock for each allocation, and nothing reads it.
// Has no effect after SQLite was used.
//
// In C because sqlite3_config has variable arguments.
void sqlite_options_disable_memory_statistics(void);

#endif
