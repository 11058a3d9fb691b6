#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* A way out for whole lines that never makes who writes wait, whoever reads at the other end.
 *
 * outlet_open() looks at what `fd` is, and puts something in its place, in this process and in those that it starts from
 * then on; the open file description that was there is shared with the operator's shell and others, and stays as it is:
 *   a regular file, /dev/null   stays: such a write waits for nobody who reads
 *   a pipe                      the same pipe, opened once more for this service alone, non-blocking
 *   anything else (a terminal, a socket, a pipe that may not be opened)
 *                               a pipe of our own, non-blocking; a thread passes on what comes there, and may wait
 * A pipe takes a line of up to PIPE_BUF bytes whole or not at all; whatever else is printed there by a library does not
 * wait either. Once a process, before other threads are started. Errors: ERR_IO: it is as it was. */
must_check enum err outlet_open(int fd);

/* Writes one line, with its newline, of at most PIPE_BUF bytes. A file that is full may take a part: the next line then
 * begins on a line of its own. false: it has not been written. Any thread. */
bool outlet_write(int fd, struct span line);

/* Waits until the thread, if there is one, has passed on what came so far, but no longer than `ms`: for the end. */
void outlet_settle(int ms);

/* Writes `text` to `fd` in a thread of its own: it waits for a reader as long as it takes, and nobody waits for it. */
void outlet_tell_once(int fd, const char *text);
