/* Functions with the names of libcurl's, each of which passes its call on. They are the ones that the program uses: a further
 * one is a row here. */
#include "schemas/libcurl.h"
#include "schemas/err.h"

#include <assert.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef curl_easy_setopt /* macros that check the types of arguments; for callers they stay */
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* name, result, parameters, arguments */
#define LIBCURL_CALLS(X)                                                                                    \
	X(curl_easy_init, CURL *, (void), ())                                                               \
	X(curl_multi_init, CURLM *, (void), ())                                                             \
	X(curl_multi_cleanup, CURLMcode, (CURLM * multi), (multi))                                          \
	X(curl_multi_add_handle, CURLMcode, (CURLM * multi, CURL * easy), (multi, easy))                    \
	X(curl_multi_remove_handle, CURLMcode, (CURLM * multi, CURL * easy), (multi, easy))                 \
	X(curl_multi_assign, CURLMcode, (CURLM * multi, curl_socket_t fd, void *user), (multi, fd, user))   \
	X(curl_multi_info_read, CURLMsg *, (CURLM * multi, int *left), (multi, left))                       \
	X(curl_multi_socket_action, CURLMcode, (CURLM * multi, curl_socket_t fd, int events, int *running), \
	  (multi, fd, events, running))                                                                     \
	X(curl_slist_append, struct curl_slist *, (struct curl_slist * list, const char *text),             \
	  (list, text))                                                                                     \
	X(curl_url_get, CURLUcode, (CURLU * url, CURLUPart what, char **part, unsigned flags),              \
	  (url, what, part, flags))                                                                         \
	X(curl_url_set, CURLUcode, (CURLU * url, CURLUPart what, const char *part, unsigned flags),         \
	  (url, what, part, flags))

/* They free: without libcurl there is nothing to free. */
#define LIBCURL_FREES(X)                          \
	X(curl_easy_cleanup, CURL)                \
	X(curl_slist_free_all, struct curl_slist) \
	X(curl_url_cleanup, CURLU)                \
	X(curl_free, void)

/* Options and information: the third argument is a long, a curl_off_t or a pointer. All are passed alike, as the platforms do
 * on which they have one size. */
#define LIBCURL_OPTIONS(X)                                \
	X(curl_easy_setopt, CURLcode, CURL *, CURLoption) \
	X(curl_easy_getinfo, CURLcode, CURL *, CURLINFO)  \
	X(curl_multi_setopt, CURLMcode, CURLM *, CURLMoption)
static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
              "one size for all values");

/* A caller may begin with one of these, so they load the library. */
#define LIBCURL_FIRST(X)                       \
	X(curl_url, CURLU *, (void), (), NULL) \
	X(curl_global_init, CURLcode, (long flags), (flags), CURLE_FAILED_INIT)

static struct {
#define POINTER(name, ...) __typeof__(name) *name;
	LIBCURL_CALLS(POINTER)
	LIBCURL_FREES(POINTER)
	LIBCURL_OPTIONS(POINTER)
	LIBCURL_FIRST(POINTER)
#undef POINTER
} loaded;

static bool is_loaded;
static char why[256];

static bool find(void *library, const char *name, void *pointer)
{
	void *found = dlsym(library, name);

	memcpy(pointer, &found, sizeof found);
	return found != NULL;
}

static void load(void)
{
	void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

	is_loaded = library
#define FIND(name, ...) &&find(library, #name, &loaded.name)
	    LIBCURL_CALLS(FIND) LIBCURL_FREES(FIND) LIBCURL_OPTIONS(FIND) LIBCURL_FIRST(FIND);
#undef FIND
	if (!is_loaded) snprintf(why, sizeof why, "%s", dlerror());
}

bool libcurl_load(const char **fault)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	*fault = why;
	return is_loaded;
}

#define CALL(name, type, parameters, arguments) \
	type name parameters                    \
	{                                       \
		must(is_loaded);                \
		return loaded.name arguments;   \
	}
LIBCURL_CALLS(CALL)

#define FREE(name, type)                           \
	void name(type *freed)                     \
	{                                          \
		if (is_loaded) loaded.name(freed); \
	}
LIBCURL_FREES(FREE)

#define OPTION(name, type, handle, option)            \
	type name(handle on, option which, ...)       \
	{                                             \
		va_list list;                         \
		must(is_loaded);                      \
		va_start(list, which);                \
		void *value = va_arg(list, void *);   \
		va_end(list);                         \
		return loaded.name(on, which, value); \
	}
LIBCURL_OPTIONS(OPTION)

#define FIRST(name, type, parameters, arguments, failed)                      \
	type name parameters                                                  \
	{                                                                     \
		const char *fault;                                            \
		return libcurl_load(&fault) ? loaded.name arguments : failed; \
	}
LIBCURL_FIRST(FIRST)

#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
/* The leak check of gcc 12 misreads thread-local memory of libraries that are loaded later, and crashes at the process's end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "intercept_tls_get_addr=0";
}
#endif
