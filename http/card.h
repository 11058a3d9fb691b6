#pragma once
#include "schemas/arena.h"
#include "schemas/sha256.h"
#include "schemas/pass_view.h"

/* Whole documents of HTML: a pass as its holder sees it, and a few words for where there is none to see. They need
 * nothing from anywhere but their own images, no script and no attribute of style: all style is in two <style> elements, one that every
 * document shares and one with the card's colours. */
enum { CARD_STYLES = 2, CARD_HASH_TEXT = 44 + 1 };

struct card_hashes {
	bool has_images; /* it shows some, from where it is itself */
	char text[CARD_STYLES]
	         [CARD_HASH_TEXT]; /* base64 of each style's SHA-256, for the policy that allows no other */
};

/* Appends the document of a pass. `link` is the token that it is found by; `arena` is for the work. Errors: ERR_MALFORMED (no JSON where some should be),
 * ERR_NO_MEMORY. */
must_check enum err card_render(const struct pass_view *shown, struct span link, struct arena *arena,
                                struct buffer *out, struct card_hashes *hashes);

/* Appends the document for an answer of `status` that shows no pass. Errors: none but out->failed. */
void card_refusal(int status, struct buffer *out, struct card_hashes *hashes);
