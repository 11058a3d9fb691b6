/* Writes the interface's OpenAPI document from tables to a buffer.
 *
 * Every refusal is a response below `components`: one for each set of codes that an operation answers with the same status.
 * Paths are written first, and note which sets exist. A set of errors is a mask of their numbers. */
#include "http/openapi.h"
#include "http/openapi_types.h"
#include "http/route.h"
#include "schemas/arguments.h"
#include "schemas/json.h"

#include <ctype.h>
#include <stdio.h>

enum { REFUSALS_MAX = 128 };

struct document {
	struct buffer *out;
	uint64_t       refusals[REFUSALS_MAX]; /* sets found so far */
	unsigned       refusal_count;
};

/* --- request fields --- */

static void put_range(struct buffer *out, const struct field *field, const struct shown_argument *shown)
{
	long long max = shown->characters ? shown->characters : field->max;
	bool      is_text = field->type == TYPE_STRING || (field->type == TYPE_VALUE && shown->characters);
	if (field->type == TYPE_INTEGER) {
		put(out, "'minimum':%lld", (long long)field->min);
		if (field->max < INT64_MAX) put(out, "'maximum':%lld", (long long)field->max);
	} else if (is_text) {
		long long min = field->min == 0 && field->need == NEED_REQUIRED ? 1 : field->min;
		if (min > 0) put(out, "'minLength':%lld", min);
		if (max > 0) put(out, "'maxLength':%lld", max);
	}
}

/* In a body, null is as good as leaving a member out; a platform that is not one has an error of its own. */
static bool takes_null(const struct field *field)
{
	return field->source == FROM_BODY && field->need == NEED_OPTIONAL && field->type != TYPE_PLATFORM;
}

static void put_field_type(struct buffer *out, const struct field *field, const struct shown_argument *shown)
{
	static const enum shape shapes[] = {
	    [TYPE_STRING] = SHAPE_STRING,  [TYPE_INTEGER] = SHAPE_INTEGER,   [TYPE_BOOLEAN] = SHAPE_BOOLEAN,
	    [TYPE_OBJECT] = SHAPE_MAP,     [TYPE_NULLABLE] = SHAPE_MAP,      [TYPE_BYTES] = SHAPE_STRING,
	    [TYPE_STRINGS] = SHAPE_STRING, [TYPE_TIME] = SHAPE_TIME,         [TYPE_VALUE] = SHAPE_STRING,
	    [TYPE_UUID] = SHAPE_UUID,      [TYPE_PLATFORM] = SHAPE_Platform,
	};
	enum shape shape = shown->shape == SHAPE_PLAIN ? shapes[field->type] : shown->shape;
	bool       repeats = field->type == TYPE_STRINGS;
	if (repeats) put(out, "'type':'array','items':{");
	put_type(out, shape, takes_null(field));
	put_range(out, field, shown);
	if (repeats) put(out, "}");
	if (*shown->standing) put(out, "'default':%s", shown->standing);
}

static void put_parameter(struct buffer *out, const struct field *field, const struct shown_argument *shown)
{
	bool in_path = field->source == FROM_PATH;
	put(out, "{'name':'%s','in':'%s'", field->name, in_path ? "path" : "query");
	put_text(out, "description", shown->about);
	if (in_path) put(out, "'required':true");
	if (field->type == TYPE_STRINGS) put(out, "'style':'form','explode':true");
	put(out, "'schema':{");
	put_field_type(out, field, shown);
	put(out, "}}");
}

static void put_parameters(struct buffer *out, const struct route *route)
{
	unsigned            count;
	const struct field *fields = message_fields(route->message, &count);
	put(out, "'parameters':[");
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == FROM_PATH || fields[i].source == FROM_QUERY)
			put_parameter(out, &fields[i], argument_shown(route->message, i));
	if (operation_traits(route) & WRITES) put(out, "{'$ref':'#/components/parameters/IdempotencyKey'}");
	put(out, "{'$ref':'#/components/parameters/RequestId'}]");
}

/* PASS_CREATE: passCreate. */
static void operation_id(const char *name, char id[64])
{
	bool   upper = false;
	size_t size = 0;
	for (; *name && size < 63; name++) {
		if (*name != '_') id[size++] = (char)(upper ? *name : tolower(*name));
		upper = *name == '_';
	}
	id[size] = '\0';
}

/* PASS_CREATE: PassCreateRequest, the name of its body. */
static void request_name(const struct route *route, char name[80])
{
	char id[64];
	operation_id(message_row(route->message)->name, id);
	snprintf(name, 80, "%c%sRequest", toupper(id[0]), id + 1);
}

static bool requires_member(const struct route *route)
{
	unsigned            count;
	const struct field *fields = message_fields(route->message, &count);
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == FROM_BODY && fields[i].need == NEED_REQUIRED) return true;
	return false;
}

static void put_body(struct buffer *out, const struct route *route)
{
	char name[80];
	if (!arguments_have_body(route->message)) return;
	request_name(route, name);
	put(out, "'requestBody':{'content':{'application/json':{'schema':{");
	put_ref(out, "schemas", name);
	put(out, "}}},'required':%s}", requires_member(route) ? "true" : "false");
}

static void put_request(struct buffer *out, const struct route *route)
{
	char                name[80];
	unsigned            count;
	const struct field *fields = message_fields(route->message, &count);
	request_name(route, name);
	put(out, "'%s':{'type':'object','additionalProperties':false,'properties':{", name);
	for (unsigned i = 0; i < count; i++) {
		if (fields[i].source != FROM_BODY) continue;
		const struct shown_argument *shown = argument_shown(route->message, i);
		put(out, "'%s':{", fields[i].name);
		put_text(out, "description", shown->about);
		put_field_type(out, &fields[i], shown);
		put(out, "}");
	}
	put(out, "},'required':[");
	for (unsigned i = 0; i < count; i++)
		if (fields[i].source == FROM_BODY && fields[i].need == NEED_REQUIRED)
			put(out, "'%s'", fields[i].name);
	put(out, "]}");
}

/* --- answers --- */

static void put_header_refs(struct buffer *out, const char *const *names)
{
	put(out, "'headers':{");
	for (; *names; names++) {
		put(out, "'%s':{", *names);
		put_ref(out, "headers", *names);
		put(out, "}");
	}
	put(out, "}");
}

static void put_success(struct buffer *out, const struct route *route, int status)
{
	const struct operation *operation = operation_of(route);
	const char             *headers[5] = {"X-Request-Id"};
	unsigned                count = 1;
	const char             *about = status == 201   ? "It has been created."
	                                : status == 202 ? "Accepted: it will not be lost, and the work goes on."
	                                : status == 204 ? "Done."
	                                                : "The answer.";
	if (operation_traits(route) & WRITES) headers[count++] = "Idempotency-Replayed";
	if (route->answer == ANSWER_LIST) headers[count++] = "X-Total-Count";
	if (route->answer == ANSWER_LIST) headers[count++] = "X-Has-More";
	put(out, "'%d':{", status);
	put_text(out, "description", about);
	put_header_refs(out, headers);
	if (route->answer != ANSWER_NONE) {
		bool is_array = route->answer == ANSWER_LIST || route->answer == ANSWER_ARRAY;
		put(out, "'content':{'application/json':{'schema':{");
		if (is_array) put(out, "'type':'array','items':{");
		put_type(out, operation->answer, false);
		put(out, is_array ? "}}}}" : "}}}");
	}
	put(out, "}");
}

/* The name of a set: its codes. */
static void put_codes(struct buffer *out, uint64_t refusal)
{
	bool more = false;
	for (unsigned err = 1; err < ERR_INTERFACE_COUNT; err++) {
		if (!(refusal & UINT64_C(1) << err)) continue;
		if (more) buffer_byte(out, '-');
		buffer_text(out, err_code((enum err)err));
		more = true;
	}
}

static void put_refusals(struct document *document, uint64_t errors)
{
	struct buffer *out = document->out;
	while (errors) {
		int      status = err_http((enum err)__builtin_ctzll(errors));
		uint64_t refusal = errors & errors_of_status(status);
		unsigned i = 0;
		errors &= ~refusal;
		while (i < document->refusal_count && document->refusals[i] != refusal)
			i++;
		must(i < REFUSALS_MAX);
		document->refusals[i] = refusal;
		if (i == document->refusal_count) document->refusal_count++;
		put(out, "'%d':{'$ref':'#/components/responses/", status);
		put_codes(out, refusal);
		buffer_text(out, "\"}");
	}
}

static void put_examples(struct buffer *out, uint64_t refusal)
{
	put(out, "'examples':{");
	for (unsigned err = 1; err < ERR_INTERFACE_COUNT; err++) {
		if (!(refusal & UINT64_C(1) << err)) continue;
		const char *code = err_code((enum err)err);
		put(out, "'%s':{'value':{'code':'%s'", code, code);
		put_text(out, "message", err_message((enum err)err));
		put(out, "'request_id':'9e9884c3c343a63f'}}");
	}
	put(out, "}");
}

/* The descriptions of the set's codes. */
static void put_meaning(struct buffer *out, uint64_t refusal)
{
	char   text[1024];
	size_t size = 0;
	for (unsigned err = 1; err < ERR_INTERFACE_COUNT; err++) {
		if (!(refusal & UINT64_C(1) << err)) continue;
		int more = snprintf(text + size, sizeof text - size, "%s%s", size ? " " : "",
		                    err_message((enum err)err));
		must(more > 0 && (size_t)more < sizeof text - size);
		size += (size_t)more;
	}
	put_text(out, "description", text);
}

static void put_refusal(struct buffer *out, uint64_t refusal)
{
	int         status = err_http((enum err)__builtin_ctzll(refusal));
	const char *headers[3] = {"X-Request-Id"};
	if (status == 401) headers[1] = "WWW-Authenticate";
	if (status == 429 || status == 503) headers[1] = "Retry-After";
	put(out, "'");
	put_codes(out, refusal);
	buffer_text(out, "\":{");
	put_meaning(out, refusal);
	put_header_refs(out, headers);
	put(out, "'content':{'application/json':{'schema':{'allOf':[{'$ref':'#/components/schemas/Error'},"
	         "{'type':'object','properties':{'code':{'type':'string','enum':[");
	for (unsigned err = 1; err < ERR_INTERFACE_COUNT; err++)
		if (refusal & UINT64_C(1) << err) put(out, "'%s'", err_code((enum err)err));
	put(out, "]}}}]}");
	put_examples(out, refusal);
	put(out, "}}}");
}

/* --- operations --- */

static void put_operation(struct document *document, const struct route *route)
{
	static const char *const methods[METHOD_COUNT] = {"get", "post", "put", "patch", "delete"};
	struct buffer           *out = document->out;
	const struct operation  *operation = operation_of(route);
	char                     id[64];
	operation_id(message_row(route->message)->name, id);
	put(out, "'%s':{'operationId':'%s','tags':['%s']", methods[route->method], id, operation->tag);
	put_text(out, "summary", operation->summary);
	put_parameters(out, route);
	put_body(out, route);
	put(out, "'responses':{");
	put_success(out, route, route->status);
	if (route->answer == ANSWER_BEGUN) put_success(out, route, 202);
	put_refusals(document, operation_errors(route));
	put(out, "}}");
}

static bool is_public(const struct route *route)
{
	return operation_of(route);
}

/* Is this the path's first row? Then all rows of the path are written. */
static bool begins_path(unsigned index)
{
	for (unsigned i = 0; i < index; i++)
		if (is_public(route_row(i)) && !strcmp(route_row(i)->path, route_row(index)->path))
			return false;
	return is_public(route_row(index));
}

static void put_paths(struct document *document)
{
	put(document->out, "'paths':{");
	for (unsigned first = 0; first < ROUTE_COUNT; first++) {
		if (!begins_path(first)) continue;
		put(document->out, "'%s':{", route_row(first)->path);
		for (unsigned i = first; i < ROUTE_COUNT; i++)
			if (is_public(route_row(i)) && !strcmp(route_row(i)->path, route_row(first)->path))
				put_operation(document, route_row(i));
		put(document->out, "}");
	}
	put(document->out, "}");
}

/* --- webhooks --- */

/* The requests that the service sends to an endpoint. */
static void put_webhooks(struct buffer *out)
{
	static const struct {
		const char *kind, *name, *body;
	} events[] = {
#define E(NAME, text, subject, rules) {text, #NAME, BODY_##subject},
#define BODY_PASS                     "PassEvent"
#define BODY_SCAN                     "ScanEvent"
#include "schemas/events.def"
#undef E
#undef BODY_PASS
#undef BODY_SCAN
	};
	static const char *const parameters[] = {"WebhookId", "WebhookTimestamp", "WebhookSignature"};
	put(out, "'webhooks':{");
	for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
		char id[64];
		operation_id(events[i].name, id);
		put(out, "'%s':{'post':{'operationId':'%sEvent','tags':['Webhooks']", events[i].kind, id);
		put(out, "'summary':'Is sent to subscriptions for %s','security':[],'parameters':[",
		    events[i].kind);
		for (unsigned j = 0; j < sizeof parameters / sizeof *parameters; j++) {
			put(out, "{");
			put_ref(out, "parameters", parameters[j]);
			put(out, "}");
		}
		put(out, "],'requestBody':{'required':true,'content':{'application/json':{'schema':{");
		put_ref(out, "schemas", events[i].body);
		put(out,
		    "}}}},'responses':{'2XX':{'description':'It has arrived.'},"
		    "'default':{'description':'It is sent again later, up to %d attempts in all.'}}}}",
		    DELIVERY_ATTEMPTS_MAX);
	}
	put(out, "}");
}

/* --- the document --- */

static const char about[] =
    "Digital wallet passes, their loyalty balance, rewards and webhooks.\n\n"
    "HEAD works wherever GET does. An unknown path is 404 ROUTE_NOT_FOUND; a method that a path does not "
    "take is "
    "405 METHOD_NOT_ALLOWED, with those that it takes in Allow. In a body, null for an optional member is as "
    "good as "
    "leaving it out, unless said otherwise. Queries also take 1, 0, t and f as booleans. Refusals change "
    "nothing; "
    "after 504 OUTCOME_UNKNOWN nobody can tell, and a retry with the same Idempotency-Key is safe.";

static const char fixed_components[] =
    "'securitySchemes':{'ApiKey':{'type':'http','scheme':'bearer','description':'An API key of the "
    "account.'}},"
    "'parameters':{'IdempotencyKey':{'name':'Idempotency-Key','in':'header','description':"
    "'A retry with the same key is answered as the first request was, and changes nothing more.',"
    "'schema':{'type':'string','minLength':1,'maxLength':%d,'pattern':'^[!-~]+$'}},"
    "'RequestId':{'name':'X-Request-Id','in':'header','description':'Comes back with the answer.',"
    "'schema':{'type':'string','maxLength':%d}},"
    "'WebhookId':{'name':'Service-Webhook-Id','in':'header','required':true,'description':'The id of the "
    "event; also as webhook-id.','schema':{'type':'string'}},"
    "'WebhookTimestamp':{'name':'Service-Webhook-Timestamp','in':'header','required':true,'description':"
    "'Time of this attempt in seconds since 1970; also as webhook-timestamp.',"
    "'schema':{'type':'integer','format':'int64'}},"
    "'WebhookSignature':{'name':'Service-Webhook-Signature','in':'header','required':true,'description':"
    "'Signatures, separated by spaces: each is v1, a comma, and the base64 of HMAC-SHA256 over "
    "ID.TIMESTAMP.BODY. Also as webhook-signature.',"
    "'schema':{'type':'string'}}}";

static const char *const headers[][3] = {
    {"X-Request-Id", "The caller's, or one of the service's.", "'string'"},
    {"Idempotency-Replayed", "This is the answer to an earlier request with the same Idempotency-Key.",
     "'string','enum':['true']"},
    {"X-Total-Count", "How many there are in all pages.", "'integer','format':'int64','minimum':0"},
    {"X-Has-More", "Whether there are more after this page.", "'boolean'"},
    {"Retry-After", "Seconds to wait.", "'integer','format':'int64','minimum':1"},
    {"WWW-Authenticate", "How to authenticate.", "'string','enum':['Bearer']"},
};

static void put_headers(struct buffer *out)
{
	put(out, "'headers':{");
	for (unsigned i = 0; i < sizeof headers / sizeof *headers; i++) {
		put(out, "'%s':{", headers[i][0]);
		put_text(out, "description", headers[i][1]);
		if (i != 1) put(out, "'required':true"); /* all but Idempotency-Replayed */
		put(out, "'schema':{'type':%s}}", headers[i][2]);
	}
	put(out, "}");
}

void openapi_write(struct buffer *out)
{
	struct document document = {.out = out};
	buffer_clear(out);
	put(out, "{'openapi':'3.1.0','info':{'title':'Stampede','version':'1'");
	put_text(out, "description", about);
	put(out, "'license':{'name':'Apache 2.0','identifier':'Apache-2.0'}},'servers':[{'url':'/'}],"
	         "'security':[{'ApiKey':[]}],'tags':[");
	for (const struct tag *tag = tags(); tag->name; tag++) {
		put(out, "{'name':'%s'", tag->name);
		put_text(out, "description", tag->about);
		put(out, "}");
	}
	put(out, "]");
	put_paths(&document);
	put_webhooks(out);
	put(out, "'components':{");
	put(out, fixed_components, IDEMPOTENCY_KEY_BYTES_MAX, REQUEST_ID_BYTES_MAX);
	put_headers(out);
	put(out, "'responses':{");
	for (unsigned i = 0; i < document.refusal_count; i++)
		put_refusal(out, document.refusals[i]);
	put(out, "},'schemas':{");
	for (unsigned i = 0; i < ROUTE_COUNT; i++)
		if (is_public(route_row(i)) && arguments_have_body(route_row(i)->message))
			put_request(out, route_row(i));
	put_schemas(out);
	put(out, "}}}");
}
