/* WALLET_LIST: which passes of a phone have changed since it last asked. Answers nil, or [tag, tokens of their links]: http makes
 * serial numbers of these. */
#include "actors/shard/wallet/phone.h"

#include "schemas/api/phone.h"
#include "schemas/bytes.h"
#include "schemas/wallet/tag.h"

/* One pass type may serve several accounts, and a phone may bring one the tag of another. */
static uint64_t lineage_of(const struct request *request)
{
	const uint8_t *account = request->account->id.b;
	return request->facts->lineage ^ get_be64(account) ^
	       get_be64(account + sizeof(struct account_id) - 8);
}

/* What the phone knows, if its tag is ours: a newer one than there is comes from a restored directory's future. */
static bool read_known(const struct msgpack_object *text, const struct wallet_tag *now,
                       struct wallet_tag *known)
{
	return arg_present(text) && wallet_tag_read(arg_span(text), known) &&
	       known->lineage == now->lineage && known->seq <= now->seq && known->look <= now->look;
}

/* Appends the token of a pass, if it has changed. */
static enum err add_pass(struct request *request, uint32_t number, const struct wallet_tag *known,
                         struct buffer *tokens)
{
	struct hot_at pass;
	struct body   body;
	uint32_t      look;
	wall_us       changed;
	enum err      err = hot_get(request->view, request->account->id, number, &pass);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	err = account_template_look(request->account, request->view, pass.now.template, &look, &changed);
	if (err) return err == ERR_NOT_FOUND ? ERR_DAMAGED : err;
	if (known && pass.now.ledger_head <= known->seq && look <= known->look) return OK;
	struct buffer room = {0};
	err = pass_body_in(request, &pass, &room, &body);
	if (!err && pass.now.flags & HOT_ERASED) err = phone_erased_token(request, &pass, body.token);
	if (!err) buffer_append(tokens, body.token, TOKEN_BYTES);
	buffer_free(&room);
	return err == ERR_NOT_FOUND ? OK : err; /* its phones are being forgotten */
}

static enum err collect(struct request *request, struct registration *row, const struct wallet_tag *known,
                        struct buffer *tokens)
{
	uint32_t rows = 0, rows_max = request->list_rows_max;
	enum err err = registration_device_first(request->view, request->account->id, row);
	while (!err && tokens->size < WALLET_LIST_MAX * TOKEN_BYTES) {
		if (rows_max && rows++ == rows_max) return ERR_PARKED;
		if ((err = add_pass(request, row->pass_number, known, tokens))) return err;
		err = registration_device_next(request->view, request->account->id, row);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Without a certificate that holds, no package can be fetched: a phone that got a list would not ask for those passes again. */
static enum err is_served(struct request *request, struct span type, bool *served)
{
	struct wallet_credential row;
	enum err                 err = phone_credential(request, type, &row);
	*served = false;
	if (err) return err == ERR_UNAUTHENTICATED ? OK : err;
	*served = wallet_is_on(&request->account->row, WALLET_APPLE) &&
	          !wallet_credential_ended(&row, request->now);
	return OK;
}

enum err on_WALLET_LIST(struct request *request, struct outcome *outcome)
{
	const msgpack_object *args = request->args;
	const struct account *account = request->account;
	struct wallet_tag     known, now = {.lineage = lineage_of(request), .look = account->row.looks};
	struct registration   row = {.credential = wallet_number(arg_span(&args[ARG_WALLET_LIST_type]))};
	struct buffer         tokens = {0};
	char                  text[WALLET_TAG_TEXT];
	msgpack_packer        pk = buffer_packer(outcome->payload);
	bool                  served;
	registration_device(arg_span(&args[ARG_WALLET_LIST_device]), row.device);
	enum err err = is_served(request, arg_span(&args[ARG_WALLET_LIST_type]), &served);
	if (!err && served && !(err = ledger_last(request->view, account->id, &now.seq))) {
		bool is_known = read_known(&args[ARG_WALLET_LIST_tag], &now, &known);
		err = collect(request, &row, is_known ? &known : NULL, &tokens);
	}
	if (!err && tokens.failed) err = ERR_NO_MEMORY;
	if (!err && tokens.size) {
		wallet_tag_text(&now, text);
		msgpack_pack_array(&pk, 2);
		pack_text(&pk, text);
		pack_bin(&pk, buffer_span(&tokens));
	} else if (!err) {
		msgpack_pack_nil(&pk);
	}
	buffer_free(&tokens);
	return err;
}
