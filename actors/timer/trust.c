/* Trusted authorities. libcurl would read its certificate bundle for each connection, or use the operator's instead of the
 * system's. Here both are read into one store that all connections share. OpenSSL reads the system's file once and searches
 * its folder for each missing authority, so only a new file needs a new store. Existing connections keep the earlier one.
 *
 * The system's file has some 150 certificates, and to read them is the longest part of the start of this process. The first
 * connection that needs them reads them. */
#include "actors/timer/trust.h"
#include "actors/rt/tls_pair.h"
#include "actors/timer/marks.h"
#include "schemas/buffer.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

enum { MARKS = 2 };

struct trust {
	X509_STORE      *store;
	bool             has_system; /* the system's authorities have been read into the store */
	struct buffer    ca;         /* the operator's PEM text */
	bool             is_empty;
	mono_us          look_due;
	struct file_mark marks[MARKS];
};

static void read_marks(struct file_mark marks[MARKS])
{
	file_marks((const char *[]){X509_get_default_cert_file(), X509_get_default_cert_dir()}, MARKS, marks);
}

static enum err make_store(struct span ca, X509_STORE **made)
{
	X509_STORE *store = X509_STORE_new();
	enum err    err = ERR_NO_MEMORY;
	char        why[TLS_WHY];

	if (!store) goto out;
	if (ca.size && (err = tls_take_authorities(store, ca, why)))
		goto out; /* the supervisor has read it too */
	/* An operator's file may contain just an intermediate authority. */
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	*made = store;
	store = NULL;
	err = OK;
out:
	ERR_clear_error();
	X509_STORE_free(store);
	return err;
}

/* Connections keep the earlier store as long as they live. */
static void take_store(struct trust *trust, X509_STORE *store)
{
	X509_STORE_free(trust->store);
	trust->store = store;
	trust->has_system = false;
	trust->is_empty = trust->ca.size == 0 && !tls_has_roots();
}

void trust_turn(struct trust *trust, mono_us now)
{
	struct file_mark marks[MARKS];
	X509_STORE      *store;

	if (now.v < trust->look_due.v) return;
	trust->look_due = mono_after(now, (dur_us){TRUST_LOOK_MS * US_PER_MS});
	read_marks(marks);
	if (!memcmp(marks, trust->marks, sizeof marks) || make_store(buffer_span(&trust->ca), &store)) return;
	memcpy(trust->marks, marks, sizeof marks);
	take_store(trust, store);
}

enum err trust_change(struct trust *trust, struct span ca)
{
	struct buffer copy = {0};
	X509_STORE   *store;
	enum err      err = make_store(ca, &store);

	if (err) return err;
	buffer_append(&copy, ca.at, ca.size);
	if (copy.failed) {
		X509_STORE_free(store);
		buffer_free(&copy);
		return ERR_NO_MEMORY;
	}
	buffer_free(&trust->ca);
	trust->ca = copy;
	take_store(trust, store);
	return OK;
}

enum err trust_open(struct trust **opened, struct span ca)
{
	struct trust *trust = *opened = calloc(1, sizeof *trust);
	enum err      err = ERR_NO_MEMORY;

	if (!trust) return err;
	read_marks(trust->marks);
	if ((err = trust_change(trust, ca))) trust_close(opened);
	return err;
}

void trust_close(struct trust **closed)
{
	struct trust *trust = *closed;

	*closed = NULL;
	if (!trust) return;
	X509_STORE_free(trust->store);
	buffer_free(&trust->ca);
	free(trust);
}

X509_STORE *trust_store(struct trust *trust)
{
	/* Without memory for them the next connection tries again; this one trusts fewer authorities. */
	if (!trust->has_system) trust->has_system = X509_STORE_set_default_paths(trust->store) == 1;
	ERR_clear_error();
	return trust->store;
}

bool trust_is_empty(const struct trust *trust)
{
	return trust->is_empty;
}
