/* Puts a package together of its kit and its three own files. */
#include "schemas/wallet/package.h"

#include "schemas/bytes.h"
#include "schemas/err.h"
#include "schemas/lines.h"

#include <openssl/evp.h>
#include <pthread.h>

static EVP_MD        *sha1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
	sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
	must(sha1 != NULL);
}

static void sha1_of(struct span bytes, uint8_t hash[PACKAGE_SHA1_BYTES])
{
	pthread_once(&once, begin);
	must(EVP_Digest(bytes.at, bytes.size, hash, NULL, sha1, NULL) == 1);
}

struct package_picture package_picture_of(const char *name, struct span bytes)
{
	struct package_picture picture = {.file = zip_file_of(name, bytes)};
	sha1_of(bytes, picture.sha1);
	return picture;
}

void package_kit_of(const struct package_pictures *pictures, struct span owner, struct package_kit *kit)
{
	enum { SUMS = 12, PIECES = 3 };
	uint8_t     sums[PACKAGE_PICTURES_MAX][SUMS];
	struct span pieces[1 + PIECES * PACKAGE_PICTURES_MAX] = {owner};
	unsigned    count = 1;
	*kit = (struct package_kit){.count = pictures->count};
	for (unsigned i = 0; i < pictures->count; i++) {
		const struct zip_file *file = &pictures->of[i].file;
		put_le32(sums[i], (uint32_t)strlen(file->name));
		put_le32(sums[i] + 4, file->size);
		put_le32(sums[i] + 8, file->crc);
		pieces[count++] = span_of(sums[i], SUMS);
		pieces[count++] = span_str(file->name);
		pieces[count++] = span_of(pictures->of[i].sha1, PACKAGE_SHA1_BYTES);
		kit->local_size += zip_local_size(file);
		kit->central_size += zip_central_size(file);
	}
	sha256_of(pieces, count, kit->hash);
}

void package_kit_write(const struct package_pictures *pictures, const struct span *bytes, struct buffer *out)
{
	uint32_t at = 0;
	for (unsigned i = 0; i < pictures->count; i++)
		zip_put_local(&pictures->of[i].file, bytes[i], out);
	for (unsigned i = 0; i < pictures->count; i++) {
		zip_put_central(&pictures->of[i].file, at, out);
		at += zip_local_size(&pictures->of[i].file);
	}
}

static void put_entry(const char *name, const uint8_t hash[PACKAGE_SHA1_BYTES], struct buffer *out)
{
	char hex[2 * PACKAGE_SHA1_BYTES + 1];
	hex_text(hash, PACKAGE_SHA1_BYTES, hex);
	buffer_byte(out, '"');
	buffer_text(out, name);
	buffer_text(out, "\":\"");
	buffer_text(out, hex);
	buffer_byte(out, '"');
}

void package_manifest(const struct package_pictures *pictures, struct span pass_json, struct buffer *out)
{
	uint8_t hash[PACKAGE_SHA1_BYTES];
	sha1_of(pass_json, hash);
	buffer_byte(out, '{');
	for (unsigned i = 0; i < pictures->count; i++) {
		put_entry(pictures->of[i].file.name, pictures->of[i].sha1, out);
		buffer_byte(out, ',');
	}
	put_entry("pass.json", hash, out);
	buffer_byte(out, '}');
}

static void own_files(const struct package_own *own, struct zip_file files[PACKAGE_OWN_FILES],
                      struct span bytes[PACKAGE_OWN_FILES])
{
	static const char *const names[PACKAGE_OWN_FILES] = {"pass.json", "manifest.json", "signature"};
	bytes[0] = own->pass_json;
	bytes[1] = own->manifest;
	bytes[2] = own->signature;
	for (unsigned i = 0; i < PACKAGE_OWN_FILES; i++)
		files[i] = zip_file_of(names[i], bytes[i]);
}

void package_write(const struct package_kit *kit, const struct package_own *own, struct buffer *between,
                   struct buffer *behind)
{
	struct zip_file files[PACKAGE_OWN_FILES];
	struct span     bytes[PACKAGE_OWN_FILES];
	uint32_t        at = kit->local_size, central = kit->central_size;
	own_files(own, files, bytes);
	for (unsigned i = 0; i < PACKAGE_OWN_FILES; i++) {
		zip_put_local(&files[i], bytes[i], between);
		zip_put_central(&files[i], at, behind);
		at += zip_local_size(&files[i]);
		central += zip_central_size(&files[i]);
	}
	zip_put_end((uint16_t)(kit->count + PACKAGE_OWN_FILES), central, at, behind);
}

uint64_t package_size(const struct package_kit *kit, const struct package_own *own)
{
	static const struct zip_file names[PACKAGE_OWN_FILES] = {
	    {.name = "pass.json"}, {.name = "manifest.json"}, {.name = "signature"}};
	uint64_t size = (uint64_t)kit->local_size + kit->central_size + own->pass_json.size +
	                own->manifest.size + own->signature.size + ZIP_END_BYTES;
	for (unsigned i = 0; i < PACKAGE_OWN_FILES; i++)
		size += zip_local_size(&names[i]) + zip_central_size(&names[i]);
	return size;
}
