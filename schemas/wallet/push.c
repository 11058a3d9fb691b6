/* Records of WALLET_LEASE and WALLET_REPORT: fixed places, little-endian. */
#include "schemas/wallet/push.h"

#include "schemas/bytes.h"
#include "schemas/sha256.h"

enum { ACCOUNT = sizeof(struct account_id) };
_Static_assert(ACCOUNT + 40 == PUSH_LEASE_BYTES, "a lease has room");
_Static_assert(ACCOUNT + 4 + PUSH_DEVICE_BYTES + 8 + 16 + 8 == PUSH_GONE_BYTES,
               "a phone that is gone has room");
_Static_assert(1 + ACCOUNT + 20 + PUSH_REASON_TEXT == PUSH_COMPLAINT_BYTES, "a complaint has room");

void push_token_hash(struct span push_token, uint8_t hash[16])
{
	uint8_t whole[SHA256_BYTES];
	sha256_of(&push_token, 1, whole);
	memcpy(hash, whole, 16);
}

void push_lease_write(const struct push_lease *lease, uint8_t bytes[PUSH_LEASE_BYTES])
{
	uint8_t *at = bytes + ACCOUNT;
	memset(bytes, 0, PUSH_LEASE_BYTES);
	memcpy(bytes, lease->account.b, ACCOUNT);
	put_le32(at, lease->pass_number);
	put_le64(at + 4, lease->head);
	put_le32(at + 12, lease->look);
	put_le64(at + 16, lease->token);
	put_le64(at + 24, (uint64_t)lease->since.v);
	put_le64(at + 32, (uint64_t)lease->leased.v);
}

void push_lease_read(const uint8_t bytes[PUSH_LEASE_BYTES], struct push_lease *lease)
{
	const uint8_t *at = bytes + ACCOUNT;
	memcpy(lease->account.b, bytes, ACCOUNT);
	lease->pass_number = get_le32(at);
	lease->head = get_le64(at + 4);
	lease->look = get_le32(at + 12);
	lease->token = get_le64(at + 16);
	lease->since.v = (int64_t)get_le64(at + 24);
	lease->leased.v = (int64_t)get_le64(at + 32);
}

void push_report_write(const struct push_report *report, uint8_t bytes[PUSH_REPORT_BYTES])
{
	push_lease_write(&report->lease, bytes);
	bytes[PUSH_LEASE_BYTES] = (uint8_t)report->fate;
}

bool push_report_read(const uint8_t bytes[PUSH_REPORT_BYTES], struct push_report *report)
{
	push_lease_read(bytes, &report->lease);
	report->fate = (enum push_fate)bytes[PUSH_LEASE_BYTES];
	return report->fate >= PUSH_DONE && report->fate < PUSH_FATES;
}

void push_gone_write(const struct push_gone *gone, uint8_t bytes[PUSH_GONE_BYTES])
{
	uint8_t *at = bytes + ACCOUNT;
	memset(bytes, 0, PUSH_GONE_BYTES);
	memcpy(bytes, gone->account.b, ACCOUNT);
	put_le32(at, gone->pass_number);
	memcpy(at + 4, gone->device, PUSH_DEVICE_BYTES);
	put_le64(at + 20, gone->credential);
	memcpy(at + 28, gone->token_hash, sizeof gone->token_hash);
	put_le64(at + 44, (uint64_t)gone->at_ms);
}

void push_gone_read(const uint8_t bytes[PUSH_GONE_BYTES], struct push_gone *gone)
{
	const uint8_t *at = bytes + ACCOUNT;
	memcpy(gone->account.b, bytes, ACCOUNT);
	gone->pass_number = get_le32(at);
	memcpy(gone->device, at + 4, PUSH_DEVICE_BYTES);
	gone->credential = get_le64(at + 20);
	memcpy(gone->token_hash, at + 28, sizeof gone->token_hash);
	gone->at_ms = (int64_t)get_le64(at + 44);
}

/* In the byte of a complaint's kind. */
enum { REHEARSED = 0x80 };

void push_complaint_write(const struct push_complaint *complaint, uint8_t bytes[PUSH_COMPLAINT_BYTES])
{
	uint8_t *at = bytes + 1 + ACCOUNT;
	memset(bytes, 0, PUSH_COMPLAINT_BYTES);
	bytes[0] = (uint8_t)((unsigned)complaint->kind | (complaint->is_rehearsed ? REHEARSED : 0));
	memcpy(bytes + 1, complaint->account.b, ACCOUNT);
	put_le64(at, complaint->number);
	put_le32(at + 8, complaint->generation);
	put_le64(at + 12, (uint64_t)complaint->put.v);
	memcpy(at + 20, complaint->reason, strnlen(complaint->reason, PUSH_REASON_TEXT - 1));
}

bool push_complaint_read(const uint8_t bytes[PUSH_COMPLAINT_BYTES], struct push_complaint *complaint)
{
	const uint8_t *at = bytes + 1 + ACCOUNT;
	complaint->kind = (enum push_complaint_kind)(bytes[0] & ~REHEARSED);
	complaint->is_rehearsed = bytes[0] & REHEARSED;
	memcpy(complaint->account.b, bytes + 1, ACCOUNT);
	complaint->number = get_le64(at);
	complaint->generation = get_le32(at + 8);
	complaint->put.v = (int64_t)get_le64(at + 12);
	memcpy(complaint->reason, at + 20, PUSH_REASON_TEXT);
	if (complaint->kind < PUSH_WORKS || complaint->kind >= PUSH_COMPLAINT_KINDS) return false;
	if (complaint->reason[PUSH_REASON_TEXT - 1]) return false;
	for (const char *c = complaint->reason; *c; c++)
		if (*c < ' ' || *c > '~') return false;
	return true;
}
