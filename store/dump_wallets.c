/* Values of the tables of wallets. */
#include "store/dump_inside.h"

#include "store/registration.h"
#include "store/wallet_credential.h"
#include "store/wallet_due.h"
#include "store/wallet_google.h"
#include "store/wallet_class.h"
#include "store/wallet_message.h"

static struct span rest_of(struct span key)
{
	size_t account = sizeof(struct account_id);
	return key.size < account ? span_of(NULL, 0) : span_of(key.at + account, key.size - account);
}

static bool show_current(struct buffer *out, struct span value)
{
	uint64_t number;
	if (wallet_current_read(value, &number)) return false;
	dump_count(out, "current", number);
	return true;
}

/* Certificates are public, but long and of no use here. */
bool dump_wallet_credential(struct buffer *out, struct span key, struct span value)
{
	struct wallet_credential row;
	if (!wallet_key_read(rest_of(key), &row.kind, &row.number)) return false;
	if (!row.number) return show_current(out, value);
	if (wallet_credential_read(value, &row)) return false;
	dump_span(out, "name", row.name);
	dump_span(out, "owner", row.owner);
	dump_count(out, "generation", row.generation);
	dump_count(out, "warnings", row.warnings);
	dump_time(out, "put", row.put);
	dump_time(out, "not_before", row.not_before);
	dump_time(out, "not_after", row.not_after);
	dump_time(out, "issuer_not_after", row.issuer_not_after);
	dump_time(out, "rests_until", row.rests_until);
	dump_count(out, "rest_s", row.rest_s);
	dump_span(out, "key_id", row.key_id);
	dump_count(out, "certificate_bytes", row.certificate.size);
	dump_count(out, "issuer_bytes", row.issuer.size);
	dump_span(out, "token_uri", row.token_uri);
	dump_span(out, "last_error", row.last_error);
	dump_hidden(out, "keys", row.sealed.size);
	return true;
}

/* A push token lets its owner wake a phone. */
bool dump_registration(struct buffer *out, struct span key, struct span value)
{
	struct registration row;
	if (registration_read(rest_of(key), value, &row)) return false;
	dump_time(out, "since", row.since);
	dump_hidden(out, "push_token", row.push_token.size);
	return true;
}

bool dump_wallet_due(struct buffer *out, struct span key, struct span value)
{
	struct wallet_due row;
	if (wallet_due_read(key, value, &row)) return false;
	dump_time(out, "due", row.due);
	if (row.since.v) dump_time(out, "since", row.since);
	dump_count(out, "tries", row.tries);
	dump_count(out, "flags", row.flags);
	dump_count(out, "position", row.position);
	return true;
}

bool dump_wallet_message(struct buffer *out, struct span key, struct span value)
{
	struct wallet_message row;
	if (wallet_message_read(rest_of(key), value, &row)) return false;
	dump_count(out, "notification", row.notification);
	dump_count(out, "flags", row.flags);
	return true;
}

bool dump_wallet_class(struct buffer *out, struct span key, struct span value)
{
	struct wallet_class row;
	if (wallet_class_read(rest_of(key), value, &row)) return false;
	dump_count(out, "issuer", row.issuer);
	return true;
}

bool dump_wallet_google(struct buffer *out, struct span key, struct span value)
{
	struct wallet_google row;
	if (wallet_google_row_read(rest_of(key), value, &row)) return false;
	dump_count(out, "state", row.state);
	dump_count(out, "issuer", row.issuer);
	dump_count(out, "callback_ms", (uint64_t)row.callback_ms);
	dump_count(out, "message", row.message);
	dump_time(out, "notice", row.notices[WALLET_GOOGLE_NOTICES - 1]);
	return true;
}
