#pragma once
#include "actors/rt/channel.h"
#include "actors/rt/datadir.h"
#include "schemas/clock.h"

/* The file in DIR/run by which other processes find a bound channel. A cleaner of temporary files may remove it while the
 * service runs. The channel keeps its connections then, but no process can open another one. */
struct socket_file {
	struct channel *channel; /* borrowed */
	char            endpoint[ENDPOINT_TEXT];
	mono_us         look_due;
	unsigned        rebound;     /* times, in this process */
	bool            is_given_up; /* it was logged that the file cannot be made */
};

/* Binds the channel, which the caller closes, and names its file. Errors: as channel_bind(). */
must_check enum err socket_file_bind(struct socket_file *file, const char *endpoint,
                                     struct channel **channel);

/* Once a turn: about once a second it makes a removed file again, and logs that. Errors: none: a file that cannot be made is
 * logged once. */
void socket_file_look(struct socket_file *file, mono_us now);
