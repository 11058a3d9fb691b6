/* packages: how many packages for Apple's wallet a processor makes in a second, beside how often it signs with the same key. Both
 * run in turns on one thread, and processor time is counted, so that other work matters little.
 *
 *   packages [SECONDS]     of each; default 2
 *
 * Prints a line of JSON. A package is what the shard makes of one: pass.json, manifest and signature, with the sums of its
 * pictures at hand, and the parts that the HTTP process puts around its kit. */
#include "schemas/wallet/icon.h"
#include "schemas/wallet/package.h"
#include "schemas/wallet/pass_json.h"
#include "schemas/wallet/signature.h"

#include "schemas/err.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char file[] =
    "{\"name\":\"Card\",\"loyalty_type\":\"balance\",\"qr\":true,\"fields\":[{\"key\":\"holder\",\"type\":"
    "\"text\"},"
    "{\"key\":\"beans\",\"type\":\"number\",\"locked\":true},{\"key\":\"since\",\"type\":\"date\"},"
    "{\"key\":\"site\",\"type\":\"url\"}],\"appearance\":{\"background_color\":\"#2f4f4f\",\"title\":\"Demo "
    "cafe\"}}";

static struct template template;
static struct wallet_settings  settings;
static struct package_pictures pictures;
static struct package_kit      kit;
static struct wallet_signer   *signer;
static EVP_PKEY_CTX           *plain; /* signs a hash, and nothing else */
static struct arena            arena;
static struct buffer           pass_json, manifest, signature, between, behind;

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Takes the certificate. The bytes are the caller's. */
static struct span der_of_certificate(X509 *certificate)
{
	uint8_t *der = NULL;
	int      size = i2d_X509(certificate, &der);
	must(size > 0);
	X509_free(certificate);
	return span_of(der, (size_t)size);
}

static X509 *certify(EVP_PKEY *key, const char *name)
{
	X509 *made = X509_new();
	must(made && X509_set_version(made, 2) && X509_set_pubkey(made, key));
	ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
	X509_gmtime_adj(X509_getm_notBefore(made), 0);
	X509_gmtime_adj(X509_getm_notAfter(made), 86400);
	must(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
	                                (const unsigned char *)name, -1, -1, 0));
	X509_set_issuer_name(made, X509_get_subject_name(made));
	must(X509_sign(made, key, EVP_sha256()));
	return made;
}

static void begin(void)
{
	struct json      *json;
	struct file_fault fault;
	EVP_PKEY         *key = EVP_RSA_gen(2048);
	uint8_t          *der = NULL;
	int               size = i2d_PrivateKey(key, &der);
	struct span       certificate = der_of_certificate(certify(key, "pass.example.bench"));
	struct span       issuer = der_of_certificate(certify(key, "Imitated WWDR"));
	must(!json_parse(span_str(file), &arena, &json));
	must(!wallet_template_read(json, &template, &settings, &fault));
	must(!wallet_signer_open(certificate, span_of(der, (size_t)size), issuer, &signer));
	OPENSSL_free((void *)certificate.at);
	OPENSSL_free((void *)issuer.at);
	OPENSSL_free(der);
	plain = EVP_PKEY_CTX_new(key, NULL);
	EVP_PKEY_free(key);
	must(plain && EVP_PKEY_sign_init(plain) == 1);
	must(EVP_PKEY_CTX_set_rsa_padding(plain, RSA_PKCS1_PADDING) == 1);
	must(EVP_PKEY_CTX_set_signature_md(plain, EVP_sha256()) == 1);
	pictures.count = WALLET_ICONS;
	for (unsigned i = 0; i < WALLET_ICONS; i++)
		pictures.of[i] = package_picture_of(wallet_icons[i].file, wallet_icons[i].png);
	package_kit_of(&pictures, span_of(NULL, 0), &kit);
}

static void make_package(unsigned number)
{
	const struct wallet_pass pass = {.template = &template,
	                                 .settings = &settings,
	                                 .account_name = span_str("Demo cafe"),
	                                 .pass_type = span_str("pass.example.bench"),
	                                 .team = span_str("ABCDE12345"),
	                                 .serial = span_str("K9ydpZdMjBaxniYsEXl2yg"),
	                                 .auth = span_str("3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
	                                 .service_url = span_str("https://passes.example/wallet/apple/acc"),
	                                 .pass_id = span_str("ada"),
	                                 .visible = span_str("{\"holder\":\"Ada\",\"since\":\"2026-11-21\"}"),
	                                 .balance = number};
	struct buffer           *all[] = {&pass_json, &manifest, &signature, &between, &behind};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		buffer_clear(all[i]);
	must(!wallet_pass_json(&pass, &arena, &pass_json));
	package_manifest(&pictures, buffer_span(&pass_json), &manifest);
	must(!wallet_sign(signer, buffer_span(&manifest), (wall_us){INT64_C(1795600000) * US_PER_SEC},
	                  &signature));
	const struct package_own own = {buffer_span(&pass_json), buffer_span(&manifest),
	                                buffer_span(&signature)};
	package_write(&kit, &own, &between, &behind);
	must(!between.failed && !behind.failed);
	arena_reset(&arena);
}

static void sign_hash(unsigned number)
{
	uint8_t hash[32] = {(uint8_t)number}, signed_hash[256];
	size_t  size = sizeof signed_hash;
	must(EVP_PKEY_sign(plain, signed_hash, &size, hash, sizeof hash) == 1);
}

/* Runs `work` for a tenth of a second of processor time, and adds to both. */
static void turn(void (*work)(unsigned number), double *spent_s, unsigned *count)
{
	double begun = cpu_s(), now = begun;
	for (; now - begun < 0.1; now = cpu_s())
		work(++*count);
	*spent_s += now - begun;
}

int main(int argc, char **argv)
{
	double   seconds = argc > 1 ? strtod(argv[1], NULL) : 2, packages_s = 0, signing_s = 0;
	unsigned packages = 0, signings = 0;
	begin();
	while (packages_s < seconds) {
		turn(make_package, &packages_s, &packages);
		turn(sign_hash, &signing_s, &signings);
	}
	double made = packages / packages_s, signed_alone = signings / signing_s;
	printf("{\"packages_per_second\":%.0f,\"signatures_per_second\":%.0f,\"ratio\":%.2f,\"bytes\":%zu}\n",
	       made, signed_alone, made / signed_alone, pass_json.size + manifest.size + signature.size);
	return 0;
}
