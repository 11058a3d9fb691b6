/* Settings that change while threads serve. At most two exist, the current and the previous one. The next is not read until
 * every thread uses the current one. */
#include "http/live.h"
#include "actors/rt/log.h"
#include "actors/rt/tls_pair.h"
#include "http/access_log.h"
#include "http/tls.h"

#include <stdio.h>
#include <stdlib.h>

static void live_free(struct live **live_p)
{
	struct live *live = *live_p;

	*live_p = NULL;
	if (!live) return;
	SSL_CTX_free(live->tls);
	settings_free(&live->settings);
	free(live);
}

/* The file may have been rotated, or be another one. An unused log is closed when no thread uses it. */
static enum err take_access_log(struct service *service, struct live *live)
{
	const char *path = live->settings.options.access_log;
	enum err    err = OK;

	if (path && service->access)
		err = access_log_reopen(service->access, path);
	else if (path)
		err = access_log_open(path, &service->access);
	if (path && !err) live->access = service->access;
	return err;
}

/* NULL: none has arrived, or it is unusable, which is logged. */
static struct live *take(struct service *service, struct child *child, enum err *err)
{
	struct live *live = calloc(1, sizeof *live);
	struct span  cert;

	*err = live ? ERR_PEER_GONE : ERR_NO_MEMORY;
	if (!live || !child_take_settings(child, &live->settings)) goto out;
	snprintf(live->keep_alive, sizeof live->keep_alive, "timeout=%lld",
	         (long long)(live->settings.options.keep_alive.v / US_PER_SEC));
	cert = live->settings.files[SETTINGS_CERT];
	*err = cert.size ? tls_open(cert, live->settings.files[SETTINGS_KEY], &live->tls) : OK;
	if (!*err) *err = take_access_log(service, live);
	if (*err) log_warn("settings_unusable", "code=%s", err_code(*err));
	if (live->tls) live->certificate_ends_s = tls_validity(live->tls).not_after.v / US_PER_SEC;
out:
	if (*err) live_free(&live);
	return live;
}

enum err live_begin(struct service *service, struct child *child)
{
	enum err     err;
	struct live *live = take(service, child, &err);

	if (!live) return err;
	atomic_store(&service->live, live);
	child_settled(child, &live->settings);
	return OK;
}

static bool all_go_by(const struct service *service, const struct live *live)
{
	for (unsigned i = 0; i < service->thread_count; i++)
		if (atomic_load_explicit(&service->threads[i].goes_by, memory_order_acquire) != live)
			return false;
	return true;
}

void live_turn(struct service *service, struct child *child, struct live **before)
{
	struct live *live = atomic_load(&service->live), *fresh;
	enum err     err;

	if (*before && all_go_by(service, live)) {
		if (!live->access) access_log_close(&service->access);
		child_settled(child, &live->settings);
		live_free(before);
	}
	if (*before || !(fresh = take(service, child, &err))) return;
	atomic_store_explicit(&service->live, fresh, memory_order_release);
	*before = live;
	threads_wake(service);
}

void live_end(struct service *service, struct live **before)
{
	struct live *live = atomic_exchange(&service->live, NULL);

	live_free(before);
	live_free(&live);
}
