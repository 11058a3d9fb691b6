#pragma once
#include <stdint.h>

/* A list of faults, one line of text each; beyond FAULTS_KEPT they are only counted. Zeroed is empty. Errors: none. */
enum { FAULTS_KEPT = 32, FAULT_TEXT = 200 };
struct faults {
	uint64_t count;
	char     texts[FAULTS_KEPT][FAULT_TEXT];
};

__attribute__((format(printf, 2, 3))) void fault(struct faults *faults, const char *format, ...);
/* Adds the faults of one part, with its name before them. */
void faults_add(struct faults *all, const struct faults *part, const char *name);
