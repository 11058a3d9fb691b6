#pragma once
#include "schemas/err.h"
#include "schemas/span.h"

/* An output for whole lines that never makes the writer wait, whatever reads at the other end.
 *
 * outlet_open() replaces `fd` depending on its kind, in this process and those that it starts later. The earlier open file
 * description, which the operator's shell and others share, is unchanged:
 *   a regular file, /dev/null   kept: writes to it do not wait for a reader
 *   a pipe                      the same pipe, opened again for this service alone, non-blocking
 *   anything else (a terminal, a socket, a pipe that cannot be opened)
 *                               our own pipe, non-blocking; a thread passes the lines on, and may wait
 * A pipe takes a line of up to PIPE_BUF bytes whole or not at all. Output of libraries to `fd` does not wait either. Once a
 * process, before other threads are started. Errors: ERR_IO: nothing changed. */
must_check enum err outlet_open(int fd);

/* Writes one line with its newline, at most PIPE_BUF bytes. A full file may take a part: the next line then starts on a new
 * line. False: not written. Any thread. */
bool outlet_write(int fd, struct span line);

/* At the end: waits until the thread, if any, has passed on what came so far, at most `ms`. */
void outlet_settle(int ms);

/* Writes `text` to `fd` in its own thread, which waits for a reader as long as needed. The caller does not wait. */
void outlet_tell_once(int fd, const char *text);
