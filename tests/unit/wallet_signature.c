/* schemas/wallet/signature.h: a signature over a chain made for the test, verified by the openssl program. */
#include "schemas/wallet/signature.h"

#include "tests/unit/support.h"
#include "tests/unit/wallet_programs.h"

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* A certificate with its key, in DER and as objects. */
struct issued {
	X509     *certificate;
	EVP_PKEY *key;
	uint8_t  *der[2];
	int       size[2];
};

static void issue(struct issued *to, const char *name, const struct issued *issuer, bool is_rsa)
{
	static long serial;
	X509       *x = to->certificate = X509_new();
	to->key = is_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
	X509_set_pubkey(x, to->key);
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const uint8_t *)name, -1,
	                           -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer->certificate : x));
	X509_EXTENSION *basic = X509V3_EXT_conf_nid(
	    NULL, NULL, NID_basic_constraints, issuer && issuer->der[0] ? "CA:FALSE" : "critical,CA:TRUE");
	X509_add_ext(x, basic, -1);
	X509_EXTENSION_free(basic);
	cr_assert(X509_sign(x, issuer ? issuer->key : to->key, EVP_sha256()));
	to->size[0] = i2d_X509(x, &to->der[0]);
	to->size[1] = i2d_PrivateKey(to->key, &to->der[1]);
}

static struct issued         root, wwdr, pass;
static struct wallet_signer *signer;
static struct test_dir       dir;
static struct buffer         der;
static const wall_us         at = {INT64_C(1795600000) * US_PER_SEC + 5};
static const char            manifest[] = "{\"pass.json\":\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"}";

static struct span part(const struct issued *issued, unsigned which)
{
	return span_of(issued->der[which], (size_t)issued->size[which]);
}

static void begin(void)
{
	test_dir_make(&dir);
	issue(&root, "Root", NULL, true);
	struct issued above = root;
	above.der[0] = NULL; /* so that it is a CA, too */
	issue(&wwdr, "Imitated WWDR", &above, true);
}

static void drop(struct issued *issued)
{
	X509_free(issued->certificate);
	EVP_PKEY_free(issued->key);
	OPENSSL_free(issued->der[0]);
	OPENSSL_free(issued->der[1]);
	*issued = (struct issued){0};
}

static void end(void)
{
	drop(&root);
	drop(&wwdr);
	drop(&pass);
	wallet_signer_free(&signer);
	buffer_free(&der);
	test_dir_remove(&dir);
}

TestSuite(wallet_signature, .init = begin, .fini = end);

static void sign(void)
{
	cr_assert_eq(wallet_signer_open(part(&pass, 0), part(&pass, 1), part(&wwdr, 0), &signer), OK);
	buffer_clear(&der);
	cr_assert_eq(wallet_sign(signer, span_str(manifest), at, &der), OK);
}

static const char *path(const char *name)
{
	static char     texts[4][700];
	static unsigned turn;
	char           *text = texts[turn++ % 4];
	snprintf(text, sizeof texts[0], "%s/%s", dir.path, name);
	return text;
}

/* What the openssl program says of the signature and this manifest; 0: it holds. */
static int verify(const char *text)
{
	FILE *file = fopen(path("root.pem"), "w");
	cr_assert(file && PEM_write_X509(file, root.certificate));
	fclose(file);
	file_write(&dir, "s", 0, buffer_span(&der));
	file_write(&dir, "m", 0, span_str(text));
	return run_program((const char *const[]){"openssl", "cms", "-verify", "-binary", "-purpose", "any",
	                                         "-inform", "DER", "-in", path("s"), "-content", path("m"),
	                                         "-CAfile", path("root.pem"), NULL});
}

Test(wallet_signature, is_verified_by_openssl)
{
	issue(&pass, "pass.example.stampede", &wwdr, true);
	sign();
	cr_expect_eq(verify(manifest), 0);
	cr_expect_neq(verify("{\"pass.json\":\"da39a3ee5e6b4b0d3255bfef95601890afd80708\"}"), 0,
	              "a planted fault is noticed");
}

Test(wallet_signature, may_be_of_an_elliptic_curve)
{
	issue(&pass, "pass.example.stampede", &wwdr, false);
	sign();
	cr_expect_eq(verify(manifest), 0);
}

Test(wallet_signature, is_the_same_again_by_rsa)
{
	struct buffer again = {0};
	issue(&pass, "pass.example.stampede", &wwdr, true);
	sign();
	cr_assert_eq(wallet_sign(signer, span_str(manifest), at, &again), OK);
	cr_expect(span_equal(buffer_span(&der), buffer_span(&again)));
	buffer_free(&again);
}

Test(wallet_signature, has_the_time_and_both_certificates)
{
	issue(&pass, "pass.example.stampede", &wwdr, true);
	sign();
	/* UTCTime, of 13 bytes */
	cr_expect(memmem(der.at, der.size,
	                 "\x17\x0d"
	                 "261125094640Z",
	                 15));
	cr_expect(memmem(der.at, der.size, pass.der[0], (size_t)pass.size[0]));
	cr_expect(memmem(der.at, der.size, wwdr.der[0], (size_t)wwdr.size[0]));
	cr_expect_null(memmem(der.at, der.size, manifest, sizeof manifest - 1), "it is detached");
}

Test(wallet_signature, needs_a_key_that_belongs_to_its_certificate)
{
	struct issued other = {0};
	issue(&pass, "pass.example.stampede", &wwdr, true);
	issue(&other, "other", &wwdr, true);
	cr_expect_eq(wallet_signer_open(part(&pass, 0), part(&other, 1), part(&wwdr, 0), &signer),
	             ERR_DAMAGED);
	cr_expect_null(signer);
	cr_expect_eq(wallet_signer_open(part(&pass, 0), part(&pass, 0), part(&wwdr, 0), &signer),
	             ERR_DAMAGED);
	cr_expect_eq(wallet_signer_open(span_str("x"), part(&pass, 1), part(&wwdr, 0), &signer), ERR_DAMAGED);
	cr_expect_eq(wallet_signer_open(part(&pass, 0), part(&pass, 1), span_of(NULL, 0), &signer),
	             ERR_DAMAGED);
	drop(&other);
}
