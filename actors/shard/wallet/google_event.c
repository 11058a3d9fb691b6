/* What Google says of a pass: its holder has saved it, or deleted it. The signer's thread checks that it is Google who says it, which
 * takes long, and gives http a ticket; http brings the ticket to the writer, which knows it by its hash. */
#include "actors/shard/wallet/wallet.h"
#include "actors/shard/wallet/google.h"
#include "actors/shard/wallet/phone.h"
#include "schemas/api/google.h"
#include "schemas/bytes.h"
#include "schemas/hmac.h"
#include "schemas/wallet/google_callback.h"
#include "store/meta.h"

#include <openssl/crypto.h>

/* A ticket: number of the pass u32 | enum google_event u8 | end of the callback i64 | issuer u64 | hash, little-endian. */
enum { AT_EVENT = 4, AT_ENDS = 5, AT_ISSUER = 13, AT_HASH = 21 };
_Static_assert((int)AT_HASH + HMAC_BYTES == (int)GOOGLE_TICKET_BYTES, "a ticket has its hash");

static void hash_ticket(const struct request *request, const uint8_t *ticket, uint8_t hash[HMAC_BYTES])
{
	const struct span pieces[] = {span_str("event of Google's wallet"), span_of(ticket, AT_HASH),
	                              span_of(request->account->id.b, sizeof request->account->id.b)};
	hmac_sha256(request->facts->wallet_key, pieces, 3, hash);
}

/* WALLET_GOOGLE_CHECK --------------------------------------------------------------------------------------- */

/* Is it for one of these issuers? *issuer: its number; 0: for none. */
static enum err find_issuer(struct request *request, struct account_id owner,
                            const struct google_opened *opened, uint64_t *issuer)
{
	struct wallet_credential row = {.number = 0};
	struct buffer            room = {0};
	enum err                 err;
	*issuer = 0;
	while (!*issuer && !(err = wallet_credential_next(request->view, owner, &room, &row)))
		if (row.kind == WALLET_GOOGLE && google_callback_is_for(opened, row.name))
			*issuer = row.number;
	buffer_free(&room);
	return *issuer || err == ERR_NOT_FOUND ? OK : err;
}

/* Who is meant, and what it says. */
struct judged {
	struct google_callback callback;
	uint64_t               issuer;
	bool                   is_removed; /* no credential of that issuer is left */
};

/* An object's id: "{issuer}.{serial number}". */
static bool split_id(struct span object_id, struct span *issuer, struct span *serial)
{
	const uint8_t *dot = memchr(object_id.at, '.', object_id.size);
	if (!dot) return false;
	size_t size = (size_t)(dot - object_id.at);
	*issuer = span_of(object_id.at, size);
	*serial = span_of(dot + 1, object_id.size - size - 1);
	return true;
}

/* By the credentials that serve the account, also earlier ones: they speak of what was saved with them. What was saved with one that
 * was removed is deleted, too: then the object's id names the issuer. */
static enum err judge(struct request *request, struct span keys, struct span body, struct judged *judged)
{
	const struct google_judge by = {.roots = keys, .now_ms = request->wall.v / (US_PER_SEC / 1000)};
	struct google_opened      opened;
	struct span               named, serial;
	struct arena             *arena = view_arena(request->view);
	enum err                  err = google_callback_open(body, &by, arena, &opened);
	if (!err) err = find_issuer(request, request->account->id, &opened, &judged->issuer);
	if (!err && !judged->issuer) err = find_issuer(request, wallet_operator, &opened, &judged->issuer);
	if (!err) err = google_callback_message(&opened, by.now_ms, arena, &judged->callback);
	if (err || judged->issuer) return err;
	judged->is_removed = true;
	if (!split_id(judged->callback.object_id, &named, &serial)) return ERR_INVALID_REQUEST;
	judged->issuer = wallet_number(named);
	return google_callback_is_for(&opened, named) ? OK : ERR_INVALID_REQUEST;
}

/* The pass of the object. Errors: ERR_INVALID_REQUEST: none of the account, or of that issuer. */
static enum err find_pass(struct request *request, const struct judged *judged, struct hot_at *pass)
{
	struct wallet_google row;
	struct body          body;
	uint8_t              token[WALLET_TOKEN_BYTES];
	struct span          named, serial;
	if (!split_id(judged->callback.object_id, &named, &serial)) return ERR_INVALID_REQUEST;
	if (wallet_number(named) != judged->issuer) return ERR_INVALID_REQUEST;
	if (!wallet_serial_read(&request->facts->serials, serial, token)) return ERR_INVALID_REQUEST;
	enum err err = pass_of_token_bytes(request, token, pass, &body);
	if (err) return err == ERR_RESOURCE_NOT_FOUND ? ERR_INVALID_REQUEST : err;
	if (!judged->is_removed) return OK;
	row.pass_number = pass->number;
	err = wallet_google_row_get(request->view, pass->account, &row);
	if (err) return err == ERR_NOT_FOUND ? ERR_INVALID_REQUEST : err;
	return row.issuer == judged->issuer ? OK : ERR_INVALID_REQUEST;
}

enum err on_WALLET_GOOGLE_CHECK(struct request *request, struct outcome *outcome)
{
	uint8_t        ticket[GOOGLE_TICKET_BYTES];
	struct span    keys, body = arg_span(&request->args[ARG_WALLET_GOOGLE_CHECK_body]);
	struct judged  judged = {.issuer = 0};
	struct hot_at  pass;
	msgpack_packer pk = buffer_packer(outcome->payload);
	enum err       err = google_keys_get(request->view, &keys);
	if (err) return err == ERR_NOT_FOUND ? ERR_OVERLOADED : err;
	if ((err = judge(request, keys, body, &judged))) return err;
	if ((err = find_pass(request, &judged, &pass))) return err;
	put_le32(ticket, pass.number);
	ticket[AT_EVENT] = (uint8_t)judged.callback.event;
	put_le64(ticket + AT_ENDS, (uint64_t)judged.callback.ends_ms);
	put_le64(ticket + AT_ISSUER, judged.issuer);
	hash_ticket(request, ticket, ticket + AT_HASH);
	pack_bin(&pk, span_of(ticket, sizeof ticket));
	return OK;
}

/* WALLET_GOOGLE_EVENT --------------------------------------------------------------------------------------- */

/* Google may not show an object yet that its own callback has just named. */
enum { FRESH_S = 600 };

/* A range read of its phones comes first. */
static enum err del(struct request *request, const struct hot_at *pass, bool has_phones)
{
	bool begins = !has_phones && pass->now.flags & HOT_BY_WALLET;
	return begins ? phone_removal_begin(request, pass) : OK;
}

enum err on_WALLET_GOOGLE_EVENT(struct request *request, struct outcome *outcome)
{
	struct span         ticket = arg_span(&request->args[ARG_WALLET_GOOGLE_EVENT_ticket]);
	uint8_t             hash[HMAC_BYTES];
	struct hot_at       pass;
	struct registration phone;
	(void)outcome;
	hash_ticket(request, ticket.at, hash);
	if (CRYPTO_memcmp(hash, ticket.at + AT_HASH, sizeof hash) != 0) return ERR_INVALID_REQUEST;
	struct wallet_google row = {.pass_number = get_le32(ticket.at)};
	int64_t              ends_ms = (int64_t)get_le64(ticket.at + AT_ENDS);
	enum err             err = wallet_google_row_get(request->view, request->account->id, &row);
	if (err && err != ERR_NOT_FOUND) return err;
	if (!err && ends_ms <= row.callback_ms) return OK; /* it comes twice, or late */
	if ((err = hot_get(request->view, request->account->id, row.pass_number, &pass)))
		return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (pass.now.flags & HOT_ERASED) return OK;
	phone.pass_number = pass.number;
	err = registration_first(request->view, pass.account, &phone);
	if (err && err != ERR_NOT_FOUND) return err;
	bool           has_phones = !err, saves = ticket.at[AT_EVENT] == GOOGLE_SAVED;
	const uint64_t issuer = get_le64(ticket.at + AT_ISSUER);
	/* A card of another issuer was deleted, of which nothing is known any more. */
	if (!saves && row.state && row.issuer != issuer) return OK;
	row.callback_ms = ends_ms;
	row.issuer = issuer;
	if (saves) {
		row.quiet.v = wallet_real_time(request).v + FRESH_S * US_PER_SEC;
		err = google_pass_saved(request, &pass, &row);
		/* An object that exists is not changed by another link: it gets what is true now. */
		return err ? err : wallet_changes_due(request, &pass, WALLET_DUE_GOOGLE);
	}
	unsigned was = row.state;
	row.state = WALLET_GOOGLE_GONE;
	err = google_row_change(request, &pass, &row, was);
	return err ? err : del(request, &pass, has_phones);
}

/* WALLET_GOOGLE_KEYS ---------------------------------------------------------------------------------------- */

/* The timer has fetched Google's root keys. */
enum err on_WALLET_GOOGLE_KEYS(struct request *request, struct outcome *outcome)
{
	struct span keys = arg_span(&request->args[ARG_WALLET_GOOGLE_KEYS_keys]), old;
	enum err    err = google_keys_get(request->view, &old);
	(void)outcome;
	if (!google_keys_are_some(keys, view_arena(request->view))) return ERR_INVALID_REQUEST;
	if (!err && span_equal(old, keys)) return OK;
	return err && err != ERR_NOT_FOUND ? err : google_keys_put(request->view, keys);
}
