#pragma once

/* A page of the tables that is not what it says, or that the disk cannot give any more, shows as SIGSEGV, SIGBUS, SIGFPE or
 * SIGABRT: from now on each takes the clean mark of the shard away before it ends the process. Errors: none. */
void pages_watch(int shard_fd);
