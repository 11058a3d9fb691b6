/* openapi: prints the interface's OpenAPI document, the same as /openapi.json. Needs no service. */
#include "http/openapi.h"
#include "ops/cli/cli.h"

enum outcome openapi_alone(struct cli *cli)
{
	if (!args_end(&cli->args)) return MISUSED;
	openapi_write(&cli->out);
	return DONE;
}
