/* schemas/wallet/credential.h: what is put for Apple is judged by the chain that a test makes, each fault by its own sentence
 * and in the order of the header. */
#include "schemas/wallet/credential.h"
#include "schemas/wallet/keys.h"
#include "tests/unit/wallet_chain.h"

#include <criterion/criterion.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static EVP_PKEY          *key, *wwdr_key, *other_key, *weak_key, *p8, *other_curve;
static X509              *wwdr;
static struct apple_files files;
static struct arena       arena;
static wall_us            now;

static struct wallet_credential_read got;
static struct reason                 reason;
static char                          sentence[REASON_TEXT];

/* A pass type's certificate without a fault. */
static struct wanted good(void)
{
	return (struct wanted){.uid = "pass.example.shop",
	                       .unit = "ABCDE12345",
	                       .has_mark = true,
	                       .from_days = -1,
	                       .to_days = 300,
	                       .issuer = wwdr,
	                       .issuer_key = wwdr_key};
}

static void begin(void)
{
	key = EVP_RSA_gen(2048);
	wwdr_key = EVP_EC_gen("P-256");
	other_key = EVP_EC_gen("P-256"); /* quick to make, as the one above */
	weak_key = EVP_RSA_gen(1024);
	p8 = EVP_EC_gen("P-256");
	other_curve = EVP_EC_gen("P-384");
	now.v = (int64_t)time(NULL) * US_PER_SEC;
	wwdr = make_certificate(wwdr_key, &(struct wanted){.unit = "G4", .from_days = -2, .to_days = 900});
	struct wanted wanted = good();
	files = (struct apple_files){.certificate = pem_of_certificate(make_certificate(key, &wanted)),
	                             .key = pem_of_key(key, NULL),
	                             .wwdr = pem_of_certificate(wwdr)};
}

static void end(void)
{
	EVP_PKEY *keys[] = {key, wwdr_key, other_key, weak_key, p8, other_curve};
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		EVP_PKEY_free(keys[i]);
	chain_end();
	arena_free(&arena);
}

TestSuite(wallet_read, .init = begin, .fini = end);

static void expect(enum cause cause, const char *word)
{
	enum err err = apple_credential_read(&files, now, &arena, &got, &reason);
	reason_text(&reason, sentence);
	cr_expect_eq(reason.cause, cause, "%s, not %s: %s", cause_name(reason.cause), cause_name(cause),
	             sentence);
	cr_expect_eq(err, cause_err(cause));
	cr_expect(!cause || err == ERR_INVALID_INPUT);
	if (word) cr_expect(strstr(sentence, word), "\"%s\" has no %s", sentence, word);
	cr_expect_null(memmem(sentence, strlen(sentence), "PRIVATE", 7));
	wallet_read_forget(&got);
}

static void make(const struct wanted *wanted, EVP_PKEY *with)
{
	files.certificate = pem_of_certificate(make_certificate(with, wanted));
	files.key = pem_of_key(with, NULL);
}

Test(wallet_read, a_good_one_is_taken_apart)
{
	cr_assert_eq(apple_credential_read(&files, now, &arena, &got, &reason), OK);
	cr_expect(span_is(got.name, "pass.example.shop") && span_is(got.owner, "ABCDE12345"));
	cr_expect(got.warnings == 0 && !got.keys.p8.size && !got.key_id.size);
	cr_expect(llabs(got.not_after.v - now.v - 300 * 86400 * US_PER_SEC) < 10 * US_PER_SEC);
	cr_expect(llabs(got.not_before.v - now.v + 86400 * US_PER_SEC) < 10 * US_PER_SEC);
	cr_expect(llabs(got.issuer_not_after.v - now.v - 900 * 86400 * US_PER_SEC) < 10 * US_PER_SEC);
	bool      encrypted;
	X509     *again = certificate_of(got.certificate);
	EVP_PKEY *same = private_key_of(got.keys.key, &encrypted);
	cr_expect(again && same && X509_check_private_key(again, same) == 1);
	X509_free(again);
	EVP_PKEY_free(same);
	wallet_read_forget(&got);
	cr_expect_null(got.secret.at);
}

Test(wallet_read, files_may_be_der_and_have_more_in_them)
{
	struct buffer der = {0}, both = {0};
	X509         *certificate = certificate_of(files.certificate);
	int           size = i2d_X509(certificate, NULL);
	uint8_t      *at = buffer_reserve(&der, (size_t)size);
	der.size = (size_t)i2d_X509(certificate, &at);
	buffer_append(&both, files.certificate.at, files.certificate.size);
	buffer_append(&both, files.key.at, files.key.size);
	files.key = files.certificate = buffer_span(&both);
	expect(CAUSE_NONE, NULL);
	files.certificate = buffer_span(&der);
	expect(CAUSE_NONE, NULL);
	X509_free(certificate);
	buffer_free(&der);
	buffer_free(&both);
}

Test(wallet_read, what_cannot_be_read)
{
	struct apple_files whole = files;
	struct span        garbage[] = {span_str(""), span_str("garbage"), span_of("\x30\x82\1\1\1", 5)};
	for (unsigned i = 0; i < 3; i++) {
		files.certificate = garbage[i];
		expect(CAUSE_CERTIFICATE_UNREADABLE, "certificate cannot be read");
		files = whole;
		files.key = garbage[i];
		expect(CAUSE_KEY_UNREADABLE, "key cannot be read");
		files = whole;
		files.wwdr = garbage[i];
		expect(CAUSE_WWDR_UNREADABLE, "WWDR certificate cannot be read");
		files = whole;
		if (i) files.p8 = garbage[i], files.p8_id = span_str("ABC123DEFG");
		expect(i ? CAUSE_KEY_UNREADABLE : CAUSE_NONE, i ? "`p8`" : NULL);
		files = whole;
	}
	files.key = pem_of_key(key, "secret");
	expect(CAUSE_KEY_ENCRYPTED, "key is encrypted");
	files.key = files.certificate;
	expect(CAUSE_KEY_UNREADABLE, "key");
}

Test(wallet_read, names_of_the_certificate)
{
	static const struct {
		const char *uid, *unit;
		enum cause  cause;
		const char *word;
	} cases[] = {
	    {NULL, "ABCDE12345", CAUSE_CERTIFICATE_TYPE, "pass."},
	    {"com.example", "ABCDE12345", CAUSE_CERTIFICATE_TYPE, "UID"},
	    {"pass.", "ABCDE12345", CAUSE_CERTIFICATE_TYPE, "UID"},
	    {"Pass.example", "ABCDE12345", CAUSE_CERTIFICATE_TYPE, "pass."},
	    {"pass.example", NULL, CAUSE_CERTIFICATE_TEAM, "OU"},
	    {"pass.example", "ABCDE1234", CAUSE_CERTIFICATE_TEAM, "OU"},
	    {"pass.example", "ABCDE123456", CAUSE_CERTIFICATE_TEAM, "OU"},
	    {NULL, NULL, CAUSE_CERTIFICATE_TYPE, "pass."},
	    {"pass.example", "ABCDE12345", CAUSE_NONE, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct wanted wanted = good();
		wanted.uid = cases[i].uid;
		wanted.unit = cases[i].unit;
		make(&wanted, key);
		expect(cases[i].cause, cases[i].word);
	}
}

Test(wallet_read, who_issued_it)
{
	struct wanted stranger = {.unit = "G4", .from_days = -2, .to_days = 900};
	files.wwdr = pem_of_certificate(
	    make_certificate(other_key, &stranger)); /* the same name, another key */
	expect(CAUSE_WWDR_OTHER, "WWDR");
	files.wwdr = files.certificate;
	expect(CAUSE_WWDR_OTHER, "WWDR");
}

Test(wallet_read, times_of_either)
{
	struct wanted wanted = good();
	wanted.to_days = 0;
	now.v += US_PER_SEC * 60;
	make(&wanted, key);
	expect(CAUSE_CERTIFICATE_EXPIRED, "expired");
	wanted.to_days = 30;
	wanted.from_days = 1;
	make(&wanted, key);
	expect(CAUSE_CERTIFICATE_EARLY, "not valid before");
	make(&(struct wanted){.uid = "pass.a",
	                      .unit = "ABCDE12345",
	                      .from_days = -1,
	                      .to_days = 950,
	                      .issuer = wwdr,
	                      .issuer_key = wwdr_key},
	     key);
	expect(CAUSE_NONE, NULL);
	now.v += 920 * 86400 * US_PER_SEC;
	expect(CAUSE_WWDR_EXPIRED, "WWDR certificate has expired");
	now.v -= 922 * 86400 * US_PER_SEC;
	expect(CAUSE_CERTIFICATE_EARLY, NULL);
}

Test(wallet_read, strength)
{
	struct wanted wanted = good();
	make(&wanted, weak_key);
	expect(CAUSE_KEY_WEAK, "2048");
	make(&wanted, other_key);
	expect(CAUSE_NONE, NULL);
	make(&wanted, other_curve);
	expect(CAUSE_KEY_WEAK, "P-256");
}

Test(wallet_read, a_p8_key_and_its_id)
{
	files.p8 = pem_of_key(p8, NULL);
	expect(CAUSE_P8_ALONE, "p8");
	files.p8_id = span_str("ABC123DEFG");
	expect(CAUSE_NONE, NULL);
	cr_assert_eq(apple_credential_read(&files, now, &arena, &got, &reason), OK);
	cr_expect(got.keys.p8.size > 100 && span_is(got.key_id, "ABC123DEFG"));
	wallet_read_forget(&got);
	files.p8_id = span_str("ABC 123");
	expect(CAUSE_P8_ID, "p8");
	files.p8_id = span_str("ABC123DEFG");
	files.p8 = pem_of_key(other_curve, NULL);
	expect(CAUSE_P8_CURVE, "p8");
	files.p8 = pem_of_key(key, NULL);
	expect(CAUSE_P8_CURVE, "p8");
	files.p8 = span_str("");
	expect(CAUSE_P8_ALONE, "p8");
}

/* Each fault with all those that come later in the order. */
Test(wallet_read, the_first_fault_in_order_is_named)
{
	struct wanted wanted = {.uid = "x", .unit = "y", .from_days = -9, .to_days = 0};
	now.v += 60 * US_PER_SEC;
	files.certificate = pem_of_certificate(make_certificate(weak_key, &wanted));
	files.key = span_str("");
	expect(CAUSE_KEY_UNREADABLE, NULL);
	files.key = pem_of_key(key, NULL);
	expect(CAUSE_KEY_OTHER, "key does not belong");
	files.key = pem_of_key(weak_key, NULL);
	expect(CAUSE_CERTIFICATE_TYPE, NULL);
	wanted.uid = "pass.x";
	make(&wanted, weak_key);
	expect(CAUSE_CERTIFICATE_TEAM, NULL);
	wanted.unit = "ABCDE12345";
	make(&wanted, weak_key);
	expect(CAUSE_WWDR_OTHER, NULL);
	wanted.issuer = wwdr;
	wanted.issuer_key = wwdr_key;
	make(&wanted, weak_key);
	expect(CAUSE_CERTIFICATE_EXPIRED, NULL);
	wanted.to_days = 2;
	make(&wanted, weak_key);
	expect(CAUSE_KEY_WEAK, NULL);
}

static unsigned warnings_with(bool has_mark, const char *unit)
{
	struct wanted ca = {.unit = unit, .from_days = -2, .to_days = 900}, wanted = good();
	X509         *issuer = make_certificate(wwdr_key, &ca);
	wanted.has_mark = has_mark;
	wanted.issuer = issuer;
	make(&wanted, key);
	files.wwdr = pem_of_certificate(issuer);
	expect(CAUSE_NONE, NULL);
	return got.warnings;
}

Test(wallet_read, warnings)
{
	cr_expect_eq(warnings_with(true, "G4"), 0);
	cr_expect_eq(warnings_with(true, NULL), 0, "no OU says nothing");
	cr_expect_eq(warnings_with(true, "G6"), WALLET_WARNS_ISSUER);
	cr_expect_eq(warnings_with(false, "G3"), WALLET_WARNS_ISSUER | WALLET_WARNS_EXTENSION);
	cr_expect(strstr(wallet_warning_text(WALLET_WARNS_ISSUER), "G4"));
	cr_expect(strstr(wallet_warning_text(WALLET_WARNS_EXTENSION), PASS_MARK));
}

/* PKCS#12 -------------------------------------------------------------------------------------------------- */

static struct span p12_of(int cipher, EVP_PKEY *with, X509 *certificate)
{
	BIO    *bio = new_text();
	PKCS12 *p12 = PKCS12_create("word", "name", with, certificate, NULL, cipher, cipher, 0, 0, 0);
	must(p12 && i2d_PKCS12_bio(bio, p12));
	PKCS12_free(p12);
	return text_of(bio);
}

static enum cause open_it(struct span file, const char *password)
{
	struct buffer certificate = {0}, opened = {0};
	enum err      err = p12_open(file, password, &certificate, &opened, &reason);
	cr_expect_eq(err, cause_err(reason.cause));
	if (!err) {
		files.certificate = buffer_span(&certificate);
		files.key = buffer_span(&opened);
		expect(CAUSE_NONE, NULL);
		reason.cause = CAUSE_NONE;
	}
	buffer_free(&certificate);
	buffer_free(&opened);
	return reason.cause;
}

Test(wallet_read, a_p12_file_has_both)
{
	X509       *certificate = certificate_of(files.certificate);
	struct span file = p12_of(0, key, certificate);
	cr_expect_eq(open_it(file, "word"), CAUSE_NONE);
	cr_expect_eq(open_it(file, "other"), CAUSE_P12_PASSWORD);
	cr_expect_eq(open_it(file, ""), CAUSE_P12_PASSWORD);
	cr_expect_eq(open_it(span_str("garbage"), "word"), CAUSE_P12_FORM);
	cr_expect_eq(open_it(span_of(file.at, file.size - 9), "word"), CAUSE_P12_FORM);
	cr_expect_eq(open_it(span_of("", 0), "word"), CAUSE_P12_FORM);
	cr_expect_eq(open_it(p12_of(0, NULL, certificate), "word"), CAUSE_P12_PARTS);
	X509_free(certificate);
}

/* Google --------------------------------------------------------------------------------------------------- */

static char account_file[4096];

/* `change` replaces the member of that name; NULL: none. */
static struct span google_file(EVP_PKEY *with, const char *member, const char *value)
{
	struct span   pem = pem_of_key(with, NULL);
	struct buffer escaped = {0};
	const char   *names[] = {"type", "private_key_id", "private_key", "client_email", "token_uri"};
	size_t        used = 0;
	for (size_t i = 0; i < pem.size; i++)
		pem.at[i] == '\n' ? buffer_text(&escaped, "\\n") : buffer_append(&escaped, pem.at + i, 1);
	buffer_byte(&escaped, 0);
	const char *values[] = {"service_account", "abc", (char *)escaped.at,
	                        "shop@example.iam.gserviceaccount.com",
	                        "https://oauth2.googleapis.com/token"};
	for (unsigned i = 0; i < 5; i++) {
		const char *chosen = member && !strcmp(member, names[i]) ? value : values[i];
		used += (size_t)snprintf(account_file + used, sizeof account_file - used, "%c\"%s\":\"%s\"",
		                         i ? ',' : '{', names[i], chosen);
	}
	snprintf(account_file + used, sizeof account_file - used, "}");
	buffer_free(&escaped);
	return span_str(account_file);
}

static void expect_google(struct span file, const char *issuer, enum cause cause, const char *word)
{
	struct google_files google = {file, span_str(issuer)};
	enum err            err = google_credential_read(&google, &arena, &got, &reason);
	reason_text(&reason, sentence);
	cr_expect(reason.cause == cause && err == cause_err(cause), "%s: %s", issuer, sentence);
	cr_expect(!cause || err == ERR_INVALID_INPUT);
	if (word) cr_expect(strstr(sentence, word), "\"%s\" has no %s", sentence, word);
	if (!cause) cr_expect(span_is(got.name, issuer) && got.keys.key.size > 1000 && !got.warnings);
	wallet_read_forget(&got);
}

Test(wallet_read, a_service_account)
{
	static const struct {
		const char *member, *value;
	} bad[] = {{"type", "user"},
	           {"client_email", "nobody"},
	           {"client_email", ""},
	           {"private_key", "garbage"},
	           {"token_uri", "http://oauth2.googleapis.com/token"},
	           {"token_uri", "https://evilgoogleapis.com/token"},
	           {"token_uri", "https://googleapis.com.evil.example/token"},
	           {"token_uri", "https://a@oauth2.googleapis.com/"},
	           {"token_uri", "https://oauth2.googleapis.com:8443/token"}};
	expect_google(google_file(key, NULL, NULL), "3388000000012345678", CAUSE_NONE, NULL);
	cr_expect(span_is(got.owner, "shop@example.iam.gserviceaccount.com"));
	expect_google(google_file(key, "token_uri", "https://googleapis.com/token"), "1", CAUSE_NONE, NULL);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_google(google_file(key, bad[i].member, bad[i].value), "1", CAUSE_ACCOUNT_FILE_MEMBER,
		              bad[i].member);
	expect_google(google_file(p8, NULL, NULL), "1", CAUSE_ACCOUNT_FILE_MEMBER, "private_key");
	expect_google(google_file(weak_key, NULL, NULL), "1", CAUSE_KEY_WEAK, "2048");
	expect_google(span_str("garbage"), "1", CAUSE_ACCOUNT_FILE_FORM, "service_account");
	expect_google(span_str("[]"), "1", CAUSE_ACCOUNT_FILE_FORM, "service_account");
	struct span              file = google_file(key, NULL, NULL);
	static const char *const issuers[] = {"", "12a", "123456789012345678901", "-1"};
	for (unsigned i = 0; i < 4; i++)
		expect_google(file, issuers[i], CAUSE_ISSUER_FORM, "issuer");
	expect_google(file, "12345678901234567890", CAUSE_NONE, NULL);
}
