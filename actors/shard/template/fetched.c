/* TEMPLATE_FETCHED, by the shard itself: the images of a template are there, or are given up. */
#include "actors/shard/command.h"

#include "schemas/api/template.h"
#include "store/issuing.h"

enum err on_TEMPLATE_FETCHED(struct request *request, struct outcome *outcome)
{
	uint32_t number = (uint32_t)arg_integer(&request->args[ARG_TEMPLATE_FETCHED_number], 0);
	(void)outcome;
	return template_images_del(request->view, request->account->id, number);
}
