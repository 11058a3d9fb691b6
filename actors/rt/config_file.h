#pragma once
#include "actors/rt/options.h"

/* A configuration file: a line each `name = value`, or a name alone; # begins a comment at the start of a line or after white
 * space, so that a value may contain one. */
enum { CONFIG_FILE_BYTES_MAX = 1 << 20 };

/* Reads the whole file into options->config_text, and sets config_is_dry. options_free() frees it, also after a failure, of
 * which `why` says what is wrong. Errors: ERR_BAD_OPTION. */
must_check enum err config_file_load(const char *path, struct options *options, char why[OPTION_WHY]);

struct config_line {
	unsigned number; /* from 1; 0 before the first */
	char    *name;   /* without white space around it */
	char    *value;  /* likewise; NULL: the line has no = */
};

/* The next line that is neither blank nor a comment. *rest is the text at first; it is cut into pieces. False: no more. */
bool config_file_next(char **rest, struct config_line *line);
