/* openapi: the document of the interface, as the service has it at /openapi.json. No service is asked. */
#include "http/openapi.h"
#include "ops/cli/cli.h"

enum outcome openapi_alone(struct cli *cli)
{
	if (!args_end(&cli->args)) return MISUSED;
	openapi_write(&cli->out);
	return DONE;
}
