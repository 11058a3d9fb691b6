/* Whom we believe. libcurl would read its bundle of certificates for each connection, or take the operator's instead of
 * the system's: here both are read into one store, which every connection shares. */
#include "actors/timer/trust.h"
#include "actors/rt/tls_pair.h"

#include <openssl/err.h>

enum err trust_open(X509_STORE **store, struct span ca)
{
	enum err err = ERR_NO_MEMORY;

	*store = X509_STORE_new();
	if (!*store || !X509_STORE_set_default_paths(*store)) goto out;
	if (ca.size && (err = tls_take_authorities(*store, ca))) goto out;
	/* An operator's file may hold an authority in the middle of a chain alone. */
	X509_STORE_set_flags(*store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	return OK;
out:
	ERR_clear_error();
	X509_STORE_free(*store);
	*store = NULL;
	return err;
}
