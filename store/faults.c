/* A bounded list of faults: the first ones are kept, the rest only counted, so that a ruined disk costs no more
 * memory than a sound one. */
#include "store/faults.h"

#include <stdarg.h>
#include <stdio.h>

void fault(struct faults *faults, const char *format, ...)
{
	va_list args;
	if (faults->count++ >= FAULTS_KEPT) return;
	va_start(args, format);
	vsnprintf(faults->texts[faults->count - 1], FAULT_TEXT, format, args);
	va_end(args);
}

void faults_add(struct faults *all, const struct faults *part, const char *name)
{
	for (uint64_t i = 0; i < part->count && i < FAULTS_KEPT; i++)
		fault(all, "%s: %.150s", name, part->texts[i]);
	if (part->count > FAULTS_KEPT) all->count += part->count - FAULTS_KEPT;
}
