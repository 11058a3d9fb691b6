/* Pieces of JSON, and the types of schemas/objects.def as JSON Schema. */
#include "http/openapi_types.h"
#include "schemas/json.h"

#include <stdarg.h>
#include <stdio.h>

enum { PIECE_BYTES = 2048 };

/* --- JSON --- */

/* Writes a comma if the text so far ends a member or an item. */
static void separate(struct buffer *out, char next)
{
	bool begins = out->size == 0 || strchr("{[:,", out->at[out->size - 1]);
	if (!begins && next != '}' && next != ']') buffer_byte(out, ',');
}

void put(struct buffer *out, const char *format, ...)
{
	char    piece[PIECE_BYTES];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(piece, sizeof piece, format, arguments);
	va_end(arguments);
	must(size >= 0 && size < PIECE_BYTES);
	if (size == 0) return;
	separate(out, piece[0]);
	for (int i = 0; i < size; i++)
		buffer_byte(out, piece[i] == '\'' ? '"' : (uint8_t)piece[i]);
}

void put_text(struct buffer *out, const char *name, const char *text)
{
	put(out, "'%s':", name);
	json_quote(span_str(text), out);
}

void put_ref(struct buffer *out, const char *kind, const char *name)
{
	put(out, "'$ref':'#/components/%s/%s'", kind, name);
}

/* --- types --- */

void put_type(struct buffer *out, enum shape shape, bool nullable)
{
	const struct shape_row *row = shape_row(shape);
	if (row->kind == ROW_BASE) {
		if (!*row->text) return; /* anything */
		put(out, nullable ? "'type':['%s','null']" : "'type':'%s'", row->text);
		put(out, "%s", row->rest);
	} else if (nullable) {
		put(out, "'anyOf':[{");
		put_ref(out, "schemas", row->name);
		put(out, "},{'type':'null'}]");
	} else {
		put_ref(out, "schemas", row->name);
	}
}

static void put_member(struct buffer *out, const struct shape_row *member)
{
	put(out, "'%s':{", member->name);
	put_text(out, "description", member->text);
	if (member->how & LIST) put(out, "'type':'array','items':{");
	put_type(out, member->shape, member->how & NULLABLE);
	put(out, member->how & LIST ? "}}" : "}");
}

static void put_words(struct buffer *out, const struct shape_row *row)
{
	put(out, "'type':'string','enum':[");
	for (row++; row->kind == ROW_WORD; row++)
		put(out, "'%s'", row->text);
	put(out, "]");
}

static void put_object(struct buffer *out, const struct shape_row *row)
{
	const struct shape_row *first = row + 1;
	put(out, "'type':'object','properties':{");
	for (row = first; row->kind == ROW_MEMBER; row++)
		put_member(out, row);
	put(out, "},'required':[");
	for (row = first; row->kind == ROW_MEMBER; row++)
		if (!(row->how & SOMETIMES)) put(out, "'%s'", row->name);
	put(out, "]");
}

/* Does the document refer to that type so far? */
static bool is_mentioned(const struct buffer *out, const char *name)
{
	char reference[128];
	int  size = snprintf(reference, sizeof reference, "\"#/components/schemas/%s\"", name);
	must(size > 0 && size < (int)sizeof reference);
	return !out->failed && memmem(out->at, out->size, reference, (size_t)size);
}

void put_schemas(struct buffer *out)
{
	bool done[SHAPE_PLAIN] = {false}, more = true;
	while (more) {
		more = false;
		for (const struct shape_row *row = shape_rows(); row->kind != ROW_END; row++) {
			bool named = row->kind == ROW_WORDS || row->kind == ROW_OBJECT;
			if (!named || done[row->shape] || !is_mentioned(out, row->name)) continue;
			more = done[row->shape] = true;
			put(out, "'%s':{", row->name);
			put_text(out, "description", row->text);
			if (row->kind == ROW_WORDS)
				put_words(out, row);
			else
				put_object(out, row);
			put(out, "}");
		}
	}
}
