#include "actors/rt/needs.h"
#include "actors/rt/log.h"
#include "schemas/libcurl.h"

enum err needs_libcurl(void)
{
	const char *fault;

	if (libcurl_load(&fault)) return OK;
	log_fatal("libcurl_missing", "error=\"%s\" reason=\"install libcurl4\"", fault);
	return ERR_UNSUPPORTED;
}
