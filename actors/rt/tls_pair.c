/* PEM texts, into OpenSSL. The supervisor reads the files once and passes on their contents: a restarted process gets what was
 * valid, whatever happened to the files. */
#include "actors/rt/tls_pair.h"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* OpenSSL calls it for an encrypted key's passphrase. -1: unknown. */
static int no_passphrase(char *text, int size, int writes, void *user)
{
	(void)text, (void)size, (void)writes, (void)user;
	return -1;
}

/* OpenSSL's most frequent errors in plain words. */
static const char *plain_words(unsigned long error)
{
	static const struct {
		int         lib, reason;
		const char *words;
	} known[] = {
	    {ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ, "is encrypted: a key without a passphrase is wanted"},
	    {ERR_LIB_CRYPTO, ERR_R_INTERRUPTED_OR_CANCELLED,
	     "is encrypted: a key without a passphrase is wanted"},
	    {ERR_LIB_PEM, PEM_R_BAD_BASE64_DECODE, "holds a damaged PEM block"},
	    {ERR_LIB_PEM, PEM_R_BAD_END_LINE, "holds a PEM block that is cut off"},
	    {ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH, "does not belong to the certificate of --tls-cert"},
	    {ERR_LIB_X509, X509_R_KEY_TYPE_MISMATCH, "does not belong to the certificate of --tls-cert"},
	    {ERR_LIB_SSL, SSL_R_EE_KEY_TOO_SMALL, "has a key that is too small to be safe"},
	    {ERR_LIB_SSL, SSL_R_CA_MD_TOO_WEAK, "is signed with a hash that is too weak to be safe"},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (ERR_GET_LIB(error) == known[i].lib && ERR_GET_REASON(error) == known[i].reason)
			return known[i].words;
	return "cannot be used";
}

/* Files of other forms, as editors and other programs save certificates and keys. NULL: it is none of these. */
static const char *other_form(struct span text)
{
	if (text.size >= 2 && (!memcmp(text.at, "\xff\xfe", 2) || !memcmp(text.at, "\xfe\xff", 2)))
		return "is UTF-16 text: save it as UTF-8";
	if (text.size >= 2 && text.at[0] == 0x30 && text.at[1] & 0x80)
		return "is binary (DER, or PKCS #12 as .pfx and .p12): convert it to PEM with openssl";
	return NULL;
}

/* The first error in OpenSSL's queue is the cause, the later ones its layers. OpenSSL's words follow ours. `none`: the text
 * for a PEM without such a block. */
static enum err refuse(char why[TLS_WHY], struct span pem, const char *block, const char *none)
{
	bool        is_there = pem.size && memmem(pem.at, pem.size, block, strlen(block));
	const char *words = is_there ? plain_words(ERR_peek_error()) : none;
	const char *form = is_there ? NULL : other_form(pem);
	const char *reason = form ? NULL : ERR_reason_error_string(ERR_peek_error());

	if (form) words = form;
	if (reason)
		snprintf(why, TLS_WHY, "%s (%s)", words, reason);
	else
		snprintf(why, TLS_WHY, "%s", words);
	ERR_clear_error();
	return ERR_BAD_OPTION;
}

static BIO *open_text(struct span pem)
{
	BIO *bio = BIO_new_mem_buf(pem.at, (int)pem.size);

	ERR_clear_error();
	must(bio);
	return bio;
}

static bool is_end(void)
{
	unsigned long error = ERR_peek_last_error();

	return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/* Clients refuse a longer list in a handshake, where each certificate comes with its size and that of its extensions. */
static enum err judge_size(SSL_CTX *tls, char why[TLS_WHY])
{
	enum { LIST_BYTES = 4, EACH_BYTES = 5 };
	STACK_OF(X509) *chain = NULL;
	unsigned count = 1;
	size_t   bytes = LIST_BYTES + EACH_BYTES + (size_t)i2d_X509(SSL_CTX_get0_certificate(tls), NULL);

	(void)SSL_CTX_get0_chain_certs(tls, &chain);
	for (X509 *one; (one = sk_X509_value(chain, (int)count - 1)); count++)
		bytes += EACH_BYTES + (size_t)i2d_X509(one, NULL);
	if (bytes <= SSL_MAX_CERT_LIST_DEFAULT) return OK;
	snprintf(why, TLS_WHY, "has a chain of %u certificates, %zu bytes: clients take at most %d", count,
	         bytes, SSL_MAX_CERT_LIST_DEFAULT);
	return ERR_BAD_OPTION;
}

enum err tls_take_certificate(SSL_CTX *tls, struct span pem, char why[TLS_WHY])
{
	BIO  *bio = open_text(pem);
	X509 *one = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL);
	bool  good = one && SSL_CTX_use_certificate(tls, one) == 1 && SSL_CTX_clear_chain_certs(tls);

	X509_free(one);
	while (good && (one = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL))) {
		good = SSL_CTX_add0_chain_cert(tls, one); /* takes ownership */
		if (!good) X509_free(one);
	}
	good = good && is_end();
	BIO_free(bio);
	if (!good) return refuse(why, pem, "CERTIFICATE-----", "holds no PEM certificate");
	ERR_clear_error();
	return judge_size(tls, why);
}

enum err tls_take_key(SSL_CTX *tls, struct span pem, char why[TLS_WHY])
{
	BIO      *bio = open_text(pem);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	bool      good = key && SSL_CTX_use_PrivateKey(tls, key) == 1 && SSL_CTX_check_private_key(tls) == 1;

	EVP_PKEY_free(key);
	BIO_free(bio);
	return good ? OK : refuse(why, pem, "PRIVATE KEY-----", "holds no PEM private key");
}

/* What one side has written becomes what the other reads. */
static SSL *side_of(SSL_CTX *tls, BIO *in, BIO *out)
{
	SSL *side = SSL_new(tls);

	if (!side) return NULL;
	BIO_up_ref(in);
	BIO_up_ref(out);
	SSL_set_bio(side, in, out);
	return side;
}

enum err tls_rehearse(SSL_CTX *tls, char why[TLS_WHY])
{
	enum { ROUNDS = 8 };
	SSL_CTX *client_tls = SSL_CTX_new(TLS_client_method());
	BIO     *to_server = BIO_new(BIO_s_mem()), *to_client = BIO_new(BIO_s_mem());
	SSL     *server, *client;
	bool     good = false;

	must(client_tls && to_server && to_client);
	server = side_of(tls, to_server, to_client);
	client = side_of(client_tls, to_client, to_server);
	must(server && client);
	SSL_set_accept_state(server);
	SSL_set_connect_state(client);
	ERR_clear_error();
	for (int i = 0; i < ROUNDS && !good; i++) {
		bool is_done = SSL_do_handshake(client) == 1;
		int  end = SSL_do_handshake(server);

		good = is_done && end == 1;
		if (end != 1 && SSL_get_error(server, end) == SSL_ERROR_SSL) break; /* it knows why */
	}
	SSL_free(server);
	SSL_free(client);
	BIO_free(to_server);
	BIO_free(to_client);
	SSL_CTX_free(client_tls);
	if (!good) {
		const char *reason = ERR_reason_error_string(ERR_peek_error());

		snprintf(why, TLS_WHY, "has a key with which no client can connect (%s)",
		         reason ? reason : "the handshake does not end");
	}
	ERR_clear_error();
	return good ? OK : ERR_BAD_OPTION;
}

static wall_us time_of(const ASN1_TIME *at)
{
	struct tm tm = {0};

	if (!at || !ASN1_TIME_to_tm(at, &tm)) return (wall_us){0};
	return (wall_us){(int64_t)timegm(&tm) * US_PER_SEC};
}

struct tls_validity tls_validity(const SSL_CTX *tls)
{
	const X509 *certificate = SSL_CTX_get0_certificate(tls);

	if (!certificate) return (struct tls_validity){{0}, {0}};
	return (struct tls_validity){time_of(X509_get0_notBefore(certificate)),
	                             time_of(X509_get0_notAfter(certificate))};
}

enum err tls_take_authorities(X509_STORE *store, struct span pem, char why[TLS_WHY])
{
	BIO     *bio = open_text(pem);
	X509    *one;
	unsigned count = 0;
	bool     good = true;

	while (good && (one = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL))) {
		good = X509_STORE_add_cert(store, one);
		X509_free(one);
		count++;
	}
	good = good && count && is_end();
	BIO_free(bio);
	if (!good) return refuse(why, pem, "CERTIFICATE-----", "holds no PEM certificate");
	ERR_clear_error();
	return OK;
}

/* A bundle in one file, or a directory of certificates named by their hashes ("5ad8a5d6.0"). */
bool tls_has_roots(void)
{
	struct stat    st;
	struct dirent *entry;
	DIR           *dir;
	bool           found = false;

	if (!stat(X509_get_default_cert_file(), &st) && st.st_size > 0) return true;
	if (!(dir = opendir(X509_get_default_cert_dir()))) return false;
	while (!found && (entry = readdir(dir)))
		found = strlen(entry->d_name) > 9 && strspn(entry->d_name, "0123456789abcdef") == 8 &&
		        entry->d_name[8] == '.';
	closedir(dir);
	return found;
}
