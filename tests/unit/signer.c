/* actors/shard/wallet/signer.h: what is kept of signatures and certificates, and for how long. */
#include "actors/shard/wallet/signer.h"

#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "schemas/wallet/sealing.h"
#include "tests/unit/wallet_chain.h"

#include <criterion/criterion.h>

static struct signer *signer;
static struct buffer  out, room;
static const mono_us  now = {1000 * US_PER_SEC};

static void begin(void)
{
	cr_assert_eq(signer_open(&signer), OK);
}

static void forget_kept(void);

static void end(void)
{
	signer_close(&signer);
	forget_kept();
	chain_end();
	buffer_free(&out);
	buffer_free(&room);
}

TestSuite(signer, .init = begin, .fini = end);

/* Names are hashes; these share a slot of the table when `low` is the same. */
static const uint8_t *name_of(uint32_t low, uint32_t high)
{
	static uint8_t  names[4][SHA256_BYTES];
	static unsigned turn;
	uint8_t        *name = names[turn++ % 4];
	put_le32(name, low);
	put_le32(name + 4, high);
	return name;
}

static void keep(const uint8_t *name, mono_us at, const char *manifest, const char *signature)
{
	signer_keep(signer, name, at, &(struct signed_manifest){span_str(manifest), span_str(signature)});
}

static bool has(const uint8_t *name, mono_us at)
{
	struct signed_manifest found;
	return signer_find(signer, name, at, &found);
}

Test(signer, finds_what_was_signed)
{
	struct signed_manifest found;
	cr_expect_not(has(name_of(1, 1), now));
	keep(name_of(1, 1), now, "{}", "signature");
	keep(name_of(1, 2), now, "[]", "another");
	cr_assert(signer_find(signer, name_of(1, 1), now, &found));
	cr_expect(span_is(found.manifest, "{}") && span_is(found.signature, "signature"));
	cr_assert(signer_find(signer, name_of(1, 2), now, &found));
	cr_expect(span_is(found.manifest, "[]") && span_is(found.signature, "another"));
	keep(name_of(1, 1), now, "{1}", "newer");
	cr_assert(signer_find(signer, name_of(1, 1), now, &found));
	cr_expect(span_is(found.signature, "newer"));
}

Test(signer, forgets_after_a_minute)
{
	keep(name_of(1, 1), now, "{}", "s");
	cr_expect(has(name_of(1, 1), mono_after(now, (dur_us){PACKAGES_KEPT_S * US_PER_SEC})));
	cr_expect_not(has(name_of(1, 1), mono_after(now, (dur_us){PACKAGES_KEPT_S * US_PER_SEC + 1})));
	cr_expect_not(has(name_of(1, 1), now), "it has gone");
}

Test(signer, keeps_no_more_than_its_bound)
{
	static char large[1 << 20];
	memset(large, 'x', sizeof large - 1);
	for (uint32_t i = 0; i < 40; i++) {
		keep(name_of(i, 0), now, large, "s");
		cr_expect(has(name_of(0, 0), now), "in use, %u", i);
	}
	unsigned kept = 0;
	for (uint32_t i = 0; i < 40; i++)
		kept += has(name_of(i, 0), now);
	cr_expect(kept >= 14 && kept <= 16, "%u", kept);
	cr_expect(has(name_of(39, 0), now) && !has(name_of(1, 0), now), "the least used go");
}

/* ---- certificates ---- */

static const uint8_t wallet_key[SECRET_KEY_BYTES] = {7}, nonce[SECRET_NONCE_BYTES] = {9};

static struct span der_of_certificate(X509 *certificate)
{
	uint8_t *der = NULL;
	int      size = i2d_X509(certificate, &der);
	return span_of(der, (size_t)size);
}

static struct span der_of_key(EVP_PKEY *key)
{
	uint8_t *der = NULL;
	int      size = i2d_PrivateKey(key, &der);
	return span_of(der, (size_t)size);
}

/* What credentials point to, until a test ends. */
static struct span   ders[16];
static struct buffer seals[4];
static unsigned      der_count, seal_count;

static struct span kept(struct span der)
{
	must(der_count < sizeof ders / sizeof *ders);
	return ders[der_count++] = der;
}

static void forget_kept(void)
{
	while (der_count)
		OPENSSL_free((void *)ders[--der_count].at);
	while (seal_count)
		buffer_free(&seals[--seal_count]);
}

/* A credential of a pass type with a key of its own. */
static void issue(struct wallet_credential *credential, uint64_t number, uint32_t generation)
{
	EVP_PKEY           *above = EVP_RSA_gen(2048), *key = EVP_EC_gen("P-256");
	const struct wanted authority = {.unit = "G4", .to_days = 10};
	X509               *wwdr = make_certificate(above, &authority);
	const struct wanted own = {.uid = "pass.example.shop",
	                           .unit = "ABCDE12345",
	                           .to_days = 10,
	                           .issuer = wwdr,
	                           .issuer_key = above};
	X509               *pass = make_certificate(key, &own);
	*credential = (struct wallet_credential){
	    .kind = WALLET_APPLE, .number = number, .generation = generation};
	credential->certificate = kept(der_of_certificate(pass));
	credential->issuer = kept(der_of_certificate(wwdr));
	struct wallet_keys keys = {.key = kept(der_of_key(key))};
	struct wallet_seal whose = {credential->account, credential->kind, number, generation};
	must(seal_count < sizeof seals / sizeof *seals);
	struct buffer *sealed = &seals[seal_count++];
	cr_assert_eq(wallet_seal(wallet_key, nonce, &whose, &keys, sealed), OK);
	credential->sealed = buffer_span(sealed);
	EVP_PKEY_free(above);
	EVP_PKEY_free(key);
}

static enum err sign(const struct wallet_credential *credential)
{
	const struct signing signing = {credential, wallet_key, {INT64_C(1795600000) * US_PER_SEC}};
	buffer_clear(&out);
	return signer_sign(signer, &signing, span_str("{}"), &out);
}

static bool out_has(struct span part)
{
	return memmem(out.at, out.size, part.at, part.size) != NULL;
}

Test(signer, signs_with_the_credential_that_it_is_given)
{
	struct wallet_credential first, second;
	struct histogram_copy    times = {.sum = 0};
	uint64_t                 count = 0;
	issue(&first, 1, 1);
	issue(&second, 2, 1);
	cr_assert_eq(sign(&first), OK);
	cr_expect(out_has(first.certificate) && out_has(first.issuer) && !out_has(second.certificate));
	cr_assert_eq(sign(&second), OK);
	cr_expect(out_has(second.certificate));
	histogram_sum(signer_times(signer), &times);
	for (unsigned i = 0; i <= SCALE_BOUNDS; i++)
		count += times.counts[i];
	cr_expect_eq(count, 2);
}

Test(signer, unseals_a_generation_once)
{
	struct wallet_credential first, renewed;
	issue(&first, 1, 1);
	issue(&renewed, 1, 2);
	cr_assert_eq(sign(&first), OK);
	struct wallet_credential damaged = first;
	damaged.sealed = span_str("nothing that opens");
	cr_expect_eq(sign(&damaged), OK, "it is kept");
	cr_assert_eq(sign(&renewed), OK);
	cr_expect(out_has(renewed.certificate) && !out_has(first.certificate));
	cr_expect_neq(sign(&damaged), OK, "a former generation is not kept");
	cr_assert_eq(sign(&renewed), OK);
}

Test(signer, a_key_under_another_master_key_does_not_open)
{
	static const uint8_t     other_key[SECRET_KEY_BYTES] = {8};
	struct wallet_credential credential;
	issue(&credential, 1, 1);
	const struct signing signing = {&credential, other_key, {0}};
	cr_expect_eq(signer_sign(signer, &signing, span_str("{}"), &out), ERR_SEALED);
	cr_expect_eq(sign(&credential), OK);
}

Test(signer, has_room_for_more_credentials_than_it_keeps)
{
	struct wallet_credential credential;
	issue(&credential, 1, 1);
	for (uint64_t number = 1; number <= 80; number++) {
		struct wallet_seal       whose = {credential.account, WALLET_APPLE, number, 1};
		struct wallet_credential again = credential;
		struct wallet_keys       keys;
		struct buffer            plain = {0}, sealed = {0};
		struct wallet_seal       first = {credential.account, WALLET_APPLE, 1, 1};
		cr_assert_eq(wallet_unseal(wallet_key, &first, credential.sealed, &plain, &keys), OK);
		cr_assert_eq(wallet_seal(wallet_key, nonce, &whose, &keys, &sealed), OK);
		again.number = number;
		again.sealed = buffer_span(&sealed);
		cr_assert_eq(sign(&again), OK);
		wallet_keys_forget(&plain);
		buffer_free(&sealed);
	}
}
