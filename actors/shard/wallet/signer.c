/* The signer's memory. Signatures lie in a hash table by name, and in a list by last use. Parsed certificates are few: an array,
 * in which one that was not used for a while makes room, and the key of a former generation is dropped when the next one is asked
 * for. */
#include "actors/shard/wallet/signer.h"

#include "actors/rt/time.h"
#include "schemas/bytes.h"
#include "schemas/limits.h"
#include "schemas/wallet/package.h"
#include "schemas/wallet/sealing.h"

#include <stdlib.h>

enum { SLOTS = 4096, CERTIFICATES_MAX = 64, CERTIFICATE_IDLE_S = 600, KITS = 512 };

struct made {
	struct made *next;          /* of the same slot */
	struct made *newer, *older; /* by last use */
	mono_us      since;
	uint8_t      name[SHA256_BYTES];
	size_t       manifest_size, signature_size;
	uint8_t      bytes[]; /* of both */
};

struct certificate {
	struct account_id     account;
	uint64_t              number;
	uint32_t              generation;
	wall_us               put; /* generations begin again after a removal */
	mono_us               used;
	struct wallet_signer *parsed; /* NULL: the place is free */
};

/* A kit is kept until another one takes its place. */
struct known_kit {
	bool                    is_used;
	uint8_t                 facts[SHA256_BYTES];
	struct package_pictures pictures;
	struct package_kit      is;
};

struct signer {
	struct made       *slots[SLOTS], *newest, *oldest;
	size_t             bytes; /* of all that is kept */
	struct certificate certificates[CERTIFICATES_MAX];
	struct histogram   times;
	struct known_kit   kits[KITS];
};

enum err signer_open(struct signer **signer)
{
	*signer = calloc(1, sizeof **signer);
	return *signer ? OK : ERR_NO_MEMORY;
}

/* ---- signatures ---- */

static struct made **slot_of(struct signer *signer, const uint8_t name[SHA256_BYTES])
{
	return &signer->slots[get_le32(name) % SLOTS];
}

static size_t size_of(const struct made *made)
{
	return sizeof *made + made->manifest_size + made->signature_size;
}

static void unlink_made(struct signer *signer, struct made *made)
{
	*(made->newer ? &made->newer->older : &signer->newest) = made->older;
	*(made->older ? &made->older->newer : &signer->oldest) = made->newer;
}

static void link_made(struct signer *signer, struct made *made)
{
	made->newer = NULL;
	made->older = signer->newest;
	*(made->older ? &made->older->newer : &signer->oldest) = made;
	signer->newest = made;
}

static void drop(struct signer *signer, struct made *made)
{
	struct made **at = slot_of(signer, made->name);
	while (*at != made)
		at = &(*at)->next;
	*at = made->next;
	unlink_made(signer, made);
	signer->bytes -= size_of(made);
	free(made);
}

static struct made *find(struct signer *signer, const uint8_t name[SHA256_BYTES])
{
	struct made *made = *slot_of(signer, name);
	while (made && memcmp(made->name, name, SHA256_BYTES))
		made = made->next;
	return made;
}

bool signer_find(struct signer *signer, const uint8_t name[SHA256_BYTES], mono_us now,
                 struct signed_manifest *found)
{
	struct made *made = find(signer, name);
	if (!made) return false;
	if (mono_since(now, made->since).v > PACKAGES_KEPT_S * US_PER_SEC) {
		drop(signer, made);
		return false;
	}
	unlink_made(signer, made);
	link_made(signer, made);
	found->manifest = span_of(made->bytes, made->manifest_size);
	found->signature = span_of(made->bytes + made->manifest_size, made->signature_size);
	return true;
}

void signer_keep(struct signer *signer, const uint8_t name[SHA256_BYTES], mono_us now,
                 const struct signed_manifest *from)
{
	struct made *before = find(signer, name);
	if (before) drop(signer, before);
	struct made *made = malloc(sizeof *made + from->manifest.size + from->signature.size);
	if (!made) return;
	*made = (struct made){
	    .since = now, .manifest_size = from->manifest.size, .signature_size = from->signature.size};
	memcpy(made->name, name, SHA256_BYTES);
	memcpy(made->bytes, from->manifest.at, from->manifest.size);
	memcpy(made->bytes + from->manifest.size, from->signature.at, from->signature.size);
	struct made **slot = slot_of(signer, name);
	made->next = *slot;
	*slot = made;
	link_made(signer, made);
	signer->bytes += size_of(made);
	while (signer->bytes > PACKAGES_KEPT_BYTES_MAX)
		drop(signer, signer->oldest);
}

/* ---- kits ---- */

bool signer_find_kit(const struct signer *signer, const uint8_t facts[SHA256_BYTES],
                     struct package_pictures *pictures, struct package_kit *kit)
{
	const struct known_kit *known = &signer->kits[get_le32(facts) % KITS];
	if (!known->is_used || memcmp(known->facts, facts, SHA256_BYTES)) return false;
	*pictures = known->pictures;
	*kit = known->is;
	return true;
}

void signer_keep_kit(struct signer *signer, const uint8_t facts[SHA256_BYTES],
                     const struct package_pictures *pictures, const struct package_kit *kit)
{
	struct known_kit *known = &signer->kits[get_le32(facts) % KITS];
	*known = (struct known_kit){.is_used = true, .pictures = *pictures, .is = *kit};
	memcpy(known->facts, facts, SHA256_BYTES);
}

/* ---- certificates ---- */

static bool is_of(const struct certificate *at, const struct wallet_credential *credential)
{
	return at->parsed && at->number == credential->number &&
	       account_same(at->account, credential->account);
}

/* The credential's place, or the one that it takes: a free one, or else that of the least recently used. */
static struct certificate *place_of(struct signer *signer, const struct wallet_credential *credential,
                                    mono_us now)
{
	struct certificate *best = &signer->certificates[0];
	for (unsigned i = 0; i < CERTIFICATES_MAX; i++) {
		struct certificate *at = &signer->certificates[i];
		if (is_of(at, credential)) return at;
		if (at->parsed && mono_since(now, at->used).v > CERTIFICATE_IDLE_S * US_PER_SEC)
			wallet_signer_free(&at->parsed);
		if (best->parsed && (!at->parsed || at->used.v < best->used.v)) best = at;
	}
	return best;
}

static enum err parse(const struct wallet_credential *credential, const uint8_t wallet_key[SECRET_KEY_BYTES],
                      struct wallet_signer **parsed)
{
	const struct wallet_seal whose = {credential->account, credential->kind, credential->number,
	                                  credential->generation};
	struct wallet_keys       keys;
	struct buffer            plain = {0};
	enum err                 err = wallet_unseal(wallet_key, &whose, credential->sealed, &plain, &keys);
	if (!err) err = wallet_signer_open(credential->certificate, keys.key, credential->issuer, parsed);
	wallet_keys_forget(&plain);
	return err;
}

static enum err find_certificate(struct signer *signer, const struct signing *signing, mono_us now,
                                 struct wallet_signer **certificate)
{
	const struct wallet_credential *credential = signing->credential;
	struct certificate             *at = place_of(signer, credential, now);
	bool is_it = is_of(at, credential) && at->generation == credential->generation &&
	             at->put.v == credential->put.v;
	if (!is_it) {
		wallet_signer_free(&at->parsed);
		enum err err = parse(credential, signing->wallet_key, &at->parsed);
		if (err) return err;
		at->account = credential->account;
		at->number = credential->number;
		at->generation = credential->generation;
		at->put = credential->put;
	}
	at->used = now;
	*certificate = at->parsed;
	return OK;
}

enum err signer_sign(struct signer *signer, const struct signing *signing, struct span manifest,
                     struct buffer *out)
{
	struct wallet_signer *certificate;
	mono_us               begun = time_mono();
	enum err              err = find_certificate(signer, signing, begun, &certificate);
	if (!err) err = wallet_sign(certificate, manifest, signing->at, out);
	if (!err) histogram_add(&signer->times, &scale_us, mono_since(time_mono(), begun).v);
	return err;
}

const struct histogram *signer_times(const struct signer *signer)
{
	return &signer->times;
}

void signer_close(struct signer **signer_p)
{
	struct signer *signer = *signer_p;
	*signer_p = NULL;
	if (!signer) return;
	while (signer->oldest)
		drop(signer, signer->oldest);
	for (unsigned i = 0; i < CERTIFICATES_MAX; i++)
		wallet_signer_free(&signer->certificates[i].parsed);
	free(signer);
}
