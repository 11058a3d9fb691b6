/* wallet apple put, wallet google put: the files are read here, and judged by the shards. */
#include "ops/cli/wallet.h"
#include "schemas/api/wallet.h"
#include "schemas/wallet/keys.h"
#include "schemas/wallet/sealing.h"

#include <string.h>

/* Apple ---------------------------------------------------------------------------------------------------- */

struct apple {
	const char   *cert_path, *key_path, *p12_path, *password_path, *wwdr_path, *p8_path, *p8_id;
	struct buffer cert, key, wwdr, p8;
};

static void pack_file(const struct buffer *file, msgpack_packer *packer)
{
	file->size ? pack_bin(packer, buffer_span(file)) : (void)msgpack_pack_nil(packer);
}

static void pack_how(bool judge, int64_t generation, msgpack_packer *packer)
{
	judge ? msgpack_pack_true(packer) : msgpack_pack_false(packer);
	generation ? (void)msgpack_pack_int64(packer, generation) : (void)msgpack_pack_nil(packer);
}

/* In the order of the rows in schemas/api/wallet.def. */
static void pack_apple(const void *user, bool judge, int64_t generation, msgpack_packer *packer)
{
	const struct apple *apple = user;

	msgpack_pack_array(packer, ARGS_WALLET_APPLE_PUT);
	pack_bin(packer, buffer_span(&apple->cert));
	pack_bin(packer, buffer_span(&apple->key));
	pack_bin(packer, buffer_span(&apple->wwdr));
	pack_file(&apple->p8, packer);
	if (apple->p8_id)
		pack_bin(packer, span_str(apple->p8_id));
	else
		msgpack_pack_nil(packer);
	pack_how(judge, generation, packer);
}

static void take_apple(struct cli *cli, struct apple *apple)
{
	apple->cert_path = args_option(&cli->args, "--cert");
	apple->key_path = args_option(&cli->args, "--key");
	apple->p12_path = args_option(&cli->args, "--p12");
	apple->password_path = args_option(&cli->args, "--password-file");
	apple->wwdr_path = args_option(&cli->args, "--wwdr");
	apple->p8_path = args_option(&cli->args, "--p8");
	apple->p8_id = args_option(&cli->args, "--p8-id");
}

/* Options that go together; NULL: they do. */
static const char *misfit(const struct apple *apple)
{
	if (apple->cert_path && !apple->key_path) return "--cert wants --key";
	if (apple->cert_path && apple->password_path) return "--password-file goes with --p12";
	if (apple->p12_path && apple->key_path) return "--p12 has the key: leave out --key";
	if (apple->p12_path && !apple->password_path) return "--p12 wants --password-file";
	if (!apple->p8_path != !apple->p8_id) return "--p8 and --p8-id go together";
	return NULL;
}

/* The password is the file's first line. */
static enum outcome open_p12(struct cli *cli, struct apple *apple)
{
	struct buffer file = {0}, password = {0};
	struct reason reason = {.cause = CAUSE_NONE};
	enum err      err;
	enum outcome  outcome = wallet_file_read(cli, "p12", apple->p12_path, &file);

	if (outcome == DONE)
		outcome = wallet_file_read(cli, "password_file", apple->password_path, &password);
	if (outcome != DONE) goto out;
	buffer_byte(&password, 0);
	if (!password.failed) password.at[strcspn((char *)password.at, "\r\n")] = 0;
	err = password.failed || !buffer_reserve(&apple->key, KEY_DER_BYTES_MAX)
	          ? ERR_NO_MEMORY
	          : p12_open(buffer_span(&file), (char *)password.at, &apple->cert, &apple->key, &reason);
	if (err) outcome = reason.cause ? cli_refuse(cli, &reason) : cli_fail(cli, err, NULL);
out:
	wallet_keys_forget(&file);
	wallet_keys_forget(&password);
	return outcome;
}

static enum outcome read_apple(struct cli *cli, struct apple *apple)
{
	enum outcome outcome = apple->p12_path
	                           ? open_p12(cli, apple)
	                           : wallet_file_read(cli, "cert", apple->cert_path, &apple->cert);

	if (outcome == DONE && apple->key_path)
		outcome = wallet_file_read(cli, "key", apple->key_path, &apple->key);
	if (outcome == DONE) outcome = wallet_file_read(cli, "wwdr", apple->wwdr_path, &apple->wwdr);
	if (outcome == DONE && apple->p8_path)
		outcome = wallet_file_read(cli, "p8", apple->p8_path, &apple->p8);
	return outcome;
}

enum outcome wallet_apple_put(struct cli *cli)
{
	struct apple            apple = {NULL};
	struct wallet_target    target;
	const struct wallet_put put = {MSG_WALLET_APPLE_PUT, WALLET_APPLE, pack_apple, &apple};

	take_apple(cli, &apple);
	const char  *why = misfit(&apple);
	enum outcome outcome = why ? wallet_misused(cli, why) : wallet_target_read(cli, &target);
	if (outcome == DONE) outcome = read_apple(cli, &apple);
	if (outcome == DONE) outcome = wallet_put(cli, &target, &put);
	wallet_keys_forget(&apple.key);
	wallet_keys_forget(&apple.p8);
	buffer_free(&apple.cert);
	buffer_free(&apple.wwdr);
	return outcome;
}

/* Google --------------------------------------------------------------------------------------------------- */

struct google {
	struct buffer service_account;
	const char   *issuer;
};

static void pack_google(const void *user, bool judge, int64_t generation, msgpack_packer *packer)
{
	const struct google *google = user;

	msgpack_pack_array(packer, ARGS_WALLET_GOOGLE_PUT);
	pack_bin(packer, buffer_span(&google->service_account));
	pack_bin(packer, span_str(google->issuer));
	pack_how(judge, generation, packer);
}

enum outcome wallet_google_put(struct cli *cli)
{
	struct google           google = {.issuer = NULL};
	struct wallet_target    target;
	const struct wallet_put put = {MSG_WALLET_GOOGLE_PUT, WALLET_GOOGLE, pack_google, &google};
	const char             *path = args_option(&cli->args, "--service-account");

	google.issuer = args_option(&cli->args, "--issuer");
	enum outcome outcome = wallet_target_read(cli, &target);
	if (outcome == DONE)
		outcome = wallet_file_read(cli, "service_account", path, &google.service_account);
	if (outcome == DONE) outcome = wallet_put(cli, &target, &put);
	wallet_keys_forget(&google.service_account);
	return outcome;
}
