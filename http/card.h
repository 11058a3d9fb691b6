#pragma once
#include "http/agent.h"
#include "schemas/arena.h"
#include "schemas/sha256.h"
#include "schemas/pass_view.h"

/* Complete HTML documents: a pass as its holder sees it, and messages in place of one. They load only their own images and
 * have no scripts or style attributes. All style is in two <style> elements: one common to all documents, and one with the
 * card's colours. */
enum { CARD_STYLES = 2, CARD_HASH_TEXT = 44 + 1 };

struct card_hashes {
	bool has_images; /* it has images, loaded from its own site */
	/* Base64 of each style's SHA-256, for the content security policy. */
	char text[CARD_STYLES][CARD_HASH_TEXT];
};

/* The reader of the document. `link` is the token in its path. */
struct card_reader {
	struct span link;
	enum agent  agent;
	bool        badges[WALLET_KIND_END]; /* by kind: the operator has an image for its button */
};

/* Appends the document of a pass; `arena` is scratch memory. Errors: ERR_MALFORMED (invalid JSON), ERR_NO_MEMORY. */
must_check enum err card_render(const struct pass_view *shown, const struct card_reader *reader,
                                struct arena *arena, struct buffer *out, struct card_hashes *hashes);

/* Appends the document for an answer of `status` that shows no pass. Errors: only out->failed. */
void card_refusal(int status, struct buffer *out, struct card_hashes *hashes);
