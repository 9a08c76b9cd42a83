#include "sqlite_options.h"
#include <sqlite3.h>

void sqlite_options_disable_memory_statistics(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
