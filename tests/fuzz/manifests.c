/* The small text files that describe other files: identity, snapshot manifest, backup manifest,
 * clean-shutdown marker. The first byte selects the kind, and whether the checksum is corrected. Accepted
 * text equals, byte for byte, what would be written. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

#include "schemas/backup.h"
#include "schemas/crc32c.h"
#include "schemas/identity.h"
#include "schemas/lines.h"
#include "store/snapshot.h"
#include "store/clean_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK_BYTES = 256, MARK_CRC = 13 };

static struct buffer text, again;

/* A copy of exact size of text.at: the sanitizer detects a read of one byte more. */
static uint8_t *copy_of(struct span bytes)
{
	uint8_t *copy = malloc(bytes.size ? bytes.size : 1);
	must(copy);
	if (bytes.size) memcpy(copy, bytes.at, bytes.size);
	return copy;
}

static void check_identity(struct span bytes)
{
	struct identity identity;
	enum err        err = identity_read(bytes, &identity);
	must(err == OK || err == ERR_DAMAGED || err == ERR_UNSUPPORTED);
	if (err) return;
	identity_write(&identity, &again);
	must(span_equal(buffer_span(&again), bytes) || identity.version != IDENTITY_VERSION);
}

static void check_snapshot(struct span bytes)
{
	struct snapshot snapshot;
	enum err        err = snapshot_manifest_read(bytes, &snapshot);
	must(err == OK || err == ERR_DAMAGED || err == ERR_UNSUPPORTED);
	if (err) return;
	snapshot_manifest_write(&snapshot, &again);
	must(span_equal(buffer_span(&again), bytes));
}

static void check_backup(struct span bytes)
{
	static struct backup backup, other;
	enum err             err = backup_read(bytes, &backup);
	must(err == OK || err == ERR_DAMAGED || err == ERR_UNSUPPORTED);
	if (err) return;
	must(backup.shards >= 1 && backup.shards <= SHARDS_MAX);
	backup_write(&backup, &again);
	must(backup_read(buffer_span(&again), &other) == OK);
	must(backup.created.v - other.created.v < US_PER_MS); /* the only line with more than one form */
	other.created = backup.created;
	must(!memcmp(&backup, &other, sizeof backup));
}

static void check_trust(struct span bytes)
{
	static struct test_dir test_dir;
	bool                   present;
	enum clean_mark        trust;
	uint8_t               *left;
	if (!test_dir.fd) {
		test_dir_make(&test_dir);
		must(!mkdirat(test_dir.fd, "db", 0700));
		file_write(&test_dir, "db/data.mdb", 0, span_str("tables"));
	}
	(void)unlinkat(test_dir.fd, "trust", 0);
	file_write(&test_dir, "trust", 0, bytes);
	enum err err = clean_mark_read(test_dir.fd, &present, &trust);
	must((err == OK || err == ERR_UNSUPPORTED) && present);
	if (trust == CLEAN_MARK_NONE) return;
	must(clean_mark_write(test_dir.fd, trust == CLEAN_MARK_CLEAN) == OK);
	size_t size = file_read(&test_dir, "trust", &left);
	must(span_equal(span_of(left, size), bytes));
	free(left);
}

/* The checksum of everything before it, in the form of each kind. */
static struct span mend_lines(struct span bytes)
{
	buffer_clear(&text);
	buffer_append(&text, bytes.at, bytes.size);
	lines_end(&text);
	return buffer_span(&text);
}

static struct span mend_mark(struct span bytes)
{
	char   mark[MARK_BYTES] = {0};
	size_t room = MARK_BYTES - MARK_CRC - 2, size = bytes.size < room ? bytes.size : room;
	memcpy(mark, bytes.at, size);
	uint32_t crc = crc32c(0, mark, size);
	int      n = snprintf(mark + size, MARK_BYTES - size, " crc=%08x", crc);
	size += (size_t)n;
	snprintf(mark + size, MARK_BYTES - size, "%*s\n", (int)(MARK_BYTES - 2 - size), "");
	buffer_clear(&text);
	buffer_append(&text, mark, sizeof mark);
	return buffer_span(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const checks[])(struct span bytes) = {check_identity, check_snapshot, check_backup,
	                                                    check_trust};
	struct supply supply = {span_of(bytes, size)};
	uint8_t       how = supply_byte(&supply);
	unsigned      which = how / 2 % 4;
	struct span   input = supply_rest(&supply);
	if (how & 1) input = which == 3 ? mend_mark(input) : mend_lines(input);
	uint8_t *copy = copy_of(input);
	checks[which](span_of(copy, input.size));
	free(copy);
	return 0;
}
