#pragma once
#include "actors/rt/channel.h"
#include "actors/supervisor/children.h"
#include "actors/supervisor/reload.h"

/* Where processes report and the CLI asks: the supervisor's channel and its sessions. One thread. */
struct status_server;

/* `children` and `reload` are borrowed for the server's life; `epoch` is this supervisor's. Errors: ERR_IO, ERR_NO_MEMORY. */
must_check enum err status_server_open(struct status_server **server, const char *endpoint, uint64_t epoch,
                                       struct children *children, struct reload *reload);
void                status_server_close(struct status_server **server);
int status_server_fd(const struct status_server *server); /* for the loop, with the channel's rule */

/* Once a turn: answers what has arrived, and a reload that all processes have taken. True: every process became ready for the
 * first time. */
bool status_server_pump(struct status_server *server, mono_us now);
/* Does a reload wait for the processes? */
bool status_server_waits(const struct status_server *server);
