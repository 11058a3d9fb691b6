#pragma once

/* A damaged or unreadable page of the tables causes SIGSEGV, SIGBUS, SIGFPE or SIGABRT. From now on each of these removes the
 * shard's clean-shutdown marker before it ends the process. Errors: none. */
void pages_watch(int shard_fd);
