/* Identifiers as texts and back. All consist of fixed-length pieces, so reading compares lengths and alphabets: a
 * text of any other form names nothing, and is never an error of its own. */
#include "schemas/ids.h"
#include "schemas/crc32c.h"
#include "schemas/limits.h"
#include "schemas/sha256.h"

#include <stdio.h>

enum { ACCOUNT_PART = 16, SECRET_PART = 52, NUMBER_DIGITS_MAX = 10 };

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

static size_t base32_write(const uint8_t *bytes, size_t size, char *text)
{
	size_t   written = 0;
	uint32_t bits = 0;
	unsigned bit_count = 0;
	for (size_t i = 0; i < size; i++) {
		bits = bits << 8 | bytes[i];
		for (bit_count += 8; bit_count >= 5; bit_count -= 5)
			text[written++] = alphabet[bits >> (bit_count - 5) & 31];
	}
	if (bit_count > 0) text[written++] = alphabet[bits << (5 - bit_count) & 31];
	return written;
}

/* The value of each letter plus 1; 0: none. A table, since a branch would be mispredicted for every fifth letter of
 * a key. */
#define VALUE(letter, value) [letter] = (value) + 1
static const uint8_t values[256] = {
    VALUE('a', 0),  VALUE('b', 1),  VALUE('c', 2),  VALUE('d', 3),  VALUE('e', 4),  VALUE('f', 5),
    VALUE('g', 6),  VALUE('h', 7),  VALUE('i', 8),  VALUE('j', 9),  VALUE('k', 10), VALUE('l', 11),
    VALUE('m', 12), VALUE('n', 13), VALUE('o', 14), VALUE('p', 15), VALUE('q', 16), VALUE('r', 17),
    VALUE('s', 18), VALUE('t', 19), VALUE('u', 20), VALUE('v', 21), VALUE('w', 22), VALUE('x', 23),
    VALUE('y', 24), VALUE('z', 25), VALUE('2', 26), VALUE('3', 27), VALUE('4', 28), VALUE('5', 29),
    VALUE('6', 30), VALUE('7', 31),
};
#undef VALUE

static int base32_value(uint8_t letter)
{
	return values[letter] - 1;
}

static bool account_part_read(const uint8_t *text, struct account_id *id)
{
	uint32_t bits = 0;
	unsigned bit_count = 0, written = 0;
	for (size_t i = 0; i < ACCOUNT_PART; i++) {
		int value = base32_value(text[i]);
		if (value < 0) return false;
		bits = bits << 5 | (unsigned)value;
		bit_count += 5;
		if (bit_count < 8) continue;
		bit_count -= 8;
		id->b[written++] = (uint8_t)(bits >> bit_count);
	}
	return true;
}

void account_id_text(struct account_id id, char text[ACCOUNT_ID_TEXT])
{
	memcpy(text, "acc_", 4);
	size_t size = 4 + base32_write(id.b, sizeof(id.b), text + 4);
	text[size] = '\0';
}

bool account_id_read(struct span text, struct account_id *id)
{
	return text.size == ACCOUNT_ID_TEXT - 1 && memcmp(text.at, "acc_", 4) == 0 &&
	       account_part_read(text.at + 4, id);
}

void api_key_make(struct account_id account, const uint8_t random[32], char text[API_KEY_TEXT])
{
	char *to = text;
	memcpy(to, "sk_", 3);
	to += 3;
	to += base32_write(account.b, sizeof(account.b), to);
	*to++ = '_';
	to += base32_write(random, 32, to);
	*to = '\0';
}

bool api_key_read(struct span text, struct account_id *account, uint8_t hash[32])
{
	const size_t secret_at = 3 + ACCOUNT_PART + 1;
	if (text.size != API_KEY_TEXT - 1 || memcmp(text.at, "sk_", 3) != 0) return false;
	if (!account_part_read(text.at + 3, account) || text.at[secret_at - 1] != '_') return false;
	bool good = true;
	for (size_t i = secret_at; i < text.size; i++)
		good &= base32_value(text.at[i]) >= 0;
	if (!good) return false;
	struct span secret = span_of(text.at + secret_at, SECRET_PART);
	sha256_of(&secret, 1, hash);
	return true;
}

void template_id_text(struct account_id account, uint32_t number, char text[TEMPLATE_ID_TEXT])
{
	memcpy(text, "tpl_", 4);
	size_t size = 4 + base32_write(account.b, sizeof(account.b), text + 4);
	snprintf(text + size, TEMPLATE_ID_TEXT - size, "_%u", number);
}

bool template_id_read(struct span text, struct account_id *account, uint32_t *number)
{
	const size_t number_at = 4 + ACCOUNT_PART + 1;
	if (text.size <= number_at || text.size > number_at + NUMBER_DIGITS_MAX) return false;
	if (memcmp(text.at, "tpl_", 4) != 0 || text.at[number_at - 1] != '_') return false;
	if (text.at[number_at] == '0') return false;
	uint64_t value = 0;
	for (size_t i = number_at; i < text.size; i++) {
		if (text.at[i] < '0' || text.at[i] > '9') return false;
		value = value * 10 + (uint64_t)(text.at[i] - '0');
	}
	if (value > UINT32_MAX || !account_part_read(text.at + 4, account)) return false;
	*number = (uint32_t)value;
	return true;
}

struct uuid uuid_v7(wall_us now, const uint8_t random[10])
{
	struct uuid id;
	uint64_t    ms = (uint64_t)(now.v / US_PER_MS), us = (uint64_t)(now.v % US_PER_MS);
	for (int i = 0; i < 6; i++)
		id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
	memcpy(id.b + 6, random, 10);
	id.b[6] = (uint8_t)(us >> 6);
	id.b[7] = (uint8_t)(us << 2 | (random[1] & 3));
	id.b[6] = (uint8_t)(0x70 | (id.b[6] & 0x0f));
	id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3f));
	return id;
}

wall_us uuid_time(struct uuid id)
{
	int64_t ms = 0;
	for (int i = 0; i < 6; i++)
		ms = ms << 8 | id.b[i];
	return (wall_us){ms * US_PER_MS + ((id.b[6] & 0x0f) << 6 | id.b[7] >> 2)};
}

static bool hyphen_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_text(struct uuid id, char text[UUID_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	char             *to = text;
	for (size_t i = 0; i < sizeof(id.b); i++) {
		if (hyphen_before(i)) *to++ = '-';
		*to++ = digits[id.b[i] >> 4];
		*to++ = digits[id.b[i] & 15];
	}
	*to = '\0';
}

static int hex_value(uint8_t letter)
{
	if (letter >= '0' && letter <= '9') return letter - '0';
	if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
	if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
	return -1;
}

bool uuid_read(struct span text, struct uuid *id)
{
	if (text.size != UUID_TEXT - 1) return false;
	const uint8_t *at = text.at;
	for (size_t i = 0; i < sizeof(id->b); i++, at += 2) {
		if (hyphen_before(i) && *at++ != '-') return false;
		int high = hex_value(at[0]), low = hex_value(at[1]);
		if (high < 0 || low < 0) return false;
		id->b[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* The code point at text[*at], moving past it; -1 if it is malformed. Overlong forms are malformed. */
static int32_t take_code_point(struct span text, size_t *at)
{
	uint8_t first = text.at[(*at)++];
	if (first < 0x80) return first;
	unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	if (first < 0xc2 || first > 0xf4 || text.size - *at < more) return -1;
	int32_t point = first & (0x3f >> more);
	for (unsigned i = 0; i < more; i++) {
		uint8_t next = text.at[(*at)++];
		if ((next & 0xc0) != 0x80) return -1;
		point = point << 6 | (next & 0x3f);
	}
	static const int32_t shortest[4] = {0, 0x80, 0x800, 0x10000};
	if (point < shortest[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return -1;
	return point;
}

bool text_is_plain(struct span text, size_t bytes_max)
{
	if (text.size < 1 || text.size > bytes_max) return false;
	for (size_t at = 0; at < text.size;) {
		int32_t point = take_code_point(text, &at);
		if (point < 0x20 || (point >= 0x7f && point <= 0x9f)) return false;
	}
	return true;
}

bool pass_id_is_valid(struct span text)
{
	/* As path segments, these names would be steps in the path. */
	return text_is_plain(text, PASS_ID_BYTES_MAX) && !span_is(text, ".") && !span_is(text, "..");
}

uint32_t account_slot(struct account_id account)
{
	return crc32c(0, account.b, sizeof(account.b)) % SLOT_COUNT;
}

uint32_t slot_shard(uint32_t slot, uint32_t shards)
{
	return slot * shards / SLOT_COUNT;
}
