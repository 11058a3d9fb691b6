/* schemas/wallet/sealing.h: keys open for the owner and generation of their sealing, and for no other. */
#include "schemas/wallet/sealing.h"

#include <criterion/criterion.h>

static const uint8_t key[SECRET_KEY_BYTES] = {1}, other_key[SECRET_KEY_BYTES] = {2},
                     nonce[SECRET_NONCE_BYTES] = {3};
static const struct wallet_seal whose = {{{4}}, WALLET_APPLE, 5, 6};

static struct span sealed_of(struct span of_certificate, struct span p8, struct buffer *room)
{
	struct wallet_keys keys = {of_certificate, p8};
	cr_assert_eq(wallet_seal(key, nonce, &whose, &keys, room), OK);
	return buffer_span(room);
}

Test(wallet_sealing, keys_open_as_they_were_sealed)
{
	static const char *const p8s[] = {"", "another key"};
	for (unsigned i = 0; i < 2; i++) {
		struct buffer      room = {0}, plain = {0};
		struct wallet_keys keys;
		struct span        sealed = sealed_of(span_str("a private key"), span_str(p8s[i]), &room);
		cr_assert_eq(wallet_unseal(key, &whose, sealed, &plain, &keys), OK);
		cr_expect(span_is(keys.key, "a private key") && span_is(keys.p8, p8s[i]));
		cr_expect_null(memmem(sealed.at, sealed.size, "private", 7));
		wallet_keys_forget(&plain);
		buffer_free(&room);
	}
}

static void expect_closed(const uint8_t with[SECRET_KEY_BYTES], struct wallet_seal as, struct span sealed)
{
	struct buffer      plain = {0};
	struct wallet_keys keys;
	cr_expect_eq(wallet_unseal(with, &as, sealed, &plain, &keys), ERR_SEALED);
	wallet_keys_forget(&plain);
}

Test(wallet_sealing, a_copy_elsewhere_does_not_open)
{
	struct buffer      room = {0}, plain = {0};
	struct wallet_keys keys;
	struct span        sealed = sealed_of(span_str("key"), span_str("p8"), &room);
	struct wallet_seal as = whose;
	expect_closed(other_key, whose, sealed);
	as.account.b[9] = 1;
	expect_closed(key, as, sealed);
	as = whose;
	as.kind = WALLET_GOOGLE;
	expect_closed(key, as, sealed);
	as = whose;
	as.number++;
	expect_closed(key, as, sealed);
	as = whose;
	as.generation++;
	expect_closed(key, as, sealed);
	room.at[room.size - 1] ^= 1;
	expect_closed(key, whose, sealed);
	cr_expect_eq(wallet_unseal(key, &whose, span_of(sealed.at, SECRET_SEAL_BYTES + 1), &plain, &keys),
	             ERR_DAMAGED);
	buffer_free(&room);
}

Test(wallet_sealing, a_key_beyond_its_size_is_refused)
{
	struct buffer      room = {0};
	struct wallet_keys keys = {span_of("", 65536), span_of("", 0)};
	cr_expect_eq(wallet_seal(key, nonce, &whose, &keys, &room), ERR_TOO_LARGE);
}
